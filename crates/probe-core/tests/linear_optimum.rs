//! The exact linear solver against independent references: 10,000 random instances with all costs,
//! bounds, directions, immutables, groups, limits on changes and noise masks. The references
//! enumerate or call an LP/MILP solver and share no code with the engine.

use probe_core as core;
use probe_core::{
    Actions, Answer, Cost, Engine, FeatureLimits, Gaussian, Linear, Purpose, Reason, Seed, Setup,
    Status,
};
use probe_testkit::checker;
use probe_testkit::{
    Direction, Group, Instance, Mask, Norm, Shape, Spread, Stay, best_rate, max_robust, solve,
};
use rayon::prelude::*;
use std::sync::Arc;

/// The instance as an engine would be given it, without a schema.
fn setup(instance: &Instance, norm: Norm) -> core::Result<Setup> {
    let n = instance.n_columns();
    let model = Arc::new(Linear::new(instance.weights.clone(), instance.bias, 0.0)?);
    let names = (0..n).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(model, names, None, 0.1)?;
    let rooms = instance.features.iter().map(|f| FeatureLimits {
        low: f.low,
        high: f.high,
        mutable: f.mutable,
        direction: match f.direction {
            Direction::Any => core::Direction::Any,
            Direction::Increase => core::Direction::Increase,
            Direction::Decrease => core::Direction::Decrease,
        },
    });
    let group = |g: &Group| core::Group::one_hot(g.columns.clone()).allowing(g.allowed.clone());
    setup.actions = Actions::new(rooms.collect())
        .with_groups(instance.groups.iter().map(group).collect())?
        .with_max_changes(instance.max_changes)
        .with_strict_bounds(instance.strict);
    let norm = match norm {
        Norm::L1 => "l1",
        Norm::L2 => "l2",
        Norm::Linf => "linf",
    };
    let (up, down) = instance.features.iter().map(|f| (f.cost_up, f.cost_down)).unzip();
    setup.cost = Cost::new(norm, up, down)?;
    let covariance = match &instance.noise.spread {
        Spread::Isotropic(sigma) => core::Covariance::Isotropic(*sigma),
        Spread::Diagonal(sd) => core::Covariance::Diagonal(sd.clone()),
        Spread::Full(rows) => core::Covariance::Full(rows.concat()),
    };
    setup.noise = Arc::new(Gaussian::new(instance.noise.mean.clone(), covariance)?);
    setup.noise_on = match instance.noise.mask {
        Mask::All => core::NoiseOn::All,
        Mask::Mutable => core::NoiseOn::Mutable,
        Mask::Changed => core::NoiseOn::Changed,
    };
    setup.max_rate = instance.rate;
    Ok(setup)
}

/// Correlated noise on the changed features is refused by name; everything else is in scope.
fn in_scope(instance: &Instance) -> bool {
    !(instance.noise.mask == Mask::Changed && matches!(instance.noise.spread, Spread::Full(_)))
}

fn instance(seed: u64) -> Instance {
    let mut stream = Seed(seed).stream(Purpose::Data, 2);
    (0..)
        .map(|_| Instance::random(&mut stream, Shape::default()))
        .find(in_scope)
        .expect("most are in scope")
}

fn answer(instance: &Instance, norm: Norm, budget: Option<f64>) -> Answer {
    let mut setup = setup(instance, norm).expect("a valid set-up");
    setup.budget = budget;
    let engine = Engine::new(setup).expect("a supported combination");
    let mut answer = Answer::new(instance.n_columns());
    engine.session().recourse(&instance.person, &mut answer).expect("an answer");
    answer
}

/// False for NaN.
fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance
}

/// What is wrong with the answer to this instance, if anything.
fn verify(seed: u64, norm: Norm) -> Result<Status, String> {
    let instance = instance(seed);
    let answer = answer(&instance, norm, None);
    let fail =
        |what: String| Err(format!("seed {seed} {norm:?}: {what}\n{instance:#?}\n{answer:#?}"));
    if answer.status == Status::Favourable {
        // Only people on the boundary itself may be seen as favourable, by the order of summation.
        let tie = answer.score_before <= 1e-14 * (1.0 + instance.bias.abs());
        return if tie { Ok(answer.status) } else { fail("not denied".to_owned()) };
    }
    let broken = checker::broken_rules(&instance, &answer.point);
    if answer.status != Status::None && !broken.is_empty() {
        return fail(format!("breaks {broken:?}"));
    }
    if !answer.proven {
        return fail("not proven".to_owned());
    }
    match (solve(&instance, norm), answer.status) {
        (Some(reference), Status::Certified) => {
            let cost = answer.cost.unwrap_or(f64::NAN);
            if answer.cost_lower.to_bits() != cost.to_bits() {
                return fail(format!("cost {cost}, but at least {}", answer.cost_lower));
            }
            let printed = checker::cost(&instance, &answer.point, norm);
            let rate = checker::rate(&instance, &answer.point);
            if !near(cost, reference.cost, 1e-9 * reference.cost.max(1.0)) {
                return fail(format!("cost {cost} but the optimum is {}", reference.cost));
            }
            if !near(cost, printed, 1e-12 * printed.max(1.0)) {
                return fail(format!("says cost {cost}, its point costs {printed}"));
            }
            if !(rate <= instance.rate + 1e-12 && answer.rate <= instance.rate) {
                return fail(format!("rate {rate}, says {}", answer.rate));
            }
            if answer.reason == Some(Reason::SearchLimit) {
                return fail("stopped at the node limit".to_owned());
            }
        }
        (None, Status::Found | Status::None) => {
            let best = best_rate(&instance);
            if answer.reason.is_none() || answer.cost_lower != 0.0 {
                return fail("no reason, or a bound on what there is not".to_owned());
            }
            if answer.status == Status::Found {
                // The reference may call a hair's breadth of favourable score none at all.
                let expected = best.map_or(1.0, |b| b.rate);
                if !near(answer.best_rate.unwrap_or(f64::NAN), expected, 1e-9) {
                    return fail(format!("best rate should be {expected}"));
                }
            }
        }
        (reference, status) => return fail(format!("{status:?}, reference {reference:?}")),
    }
    Ok(answer.status)
}

/// Runs `check` on `n` seeds in parallel and fails with the first message; returns how many were
/// certified.
fn all_pass(n: u64, check: impl Fn(u64) -> Result<Status, String> + Send + Sync) -> usize {
    let results: Vec<_> = (0..n).into_par_iter().map(check).collect();
    let failures: Vec<&String> = results.iter().filter_map(|r| r.as_ref().err()).collect();
    assert!(failures.is_empty(), "{} failures; first:\n{}", failures.len(), failures[0]);
    results.iter().filter(|r| matches!(r, Ok(Status::Certified))).count()
}

#[test]
fn equals_the_reference_on_ten_thousand_instances_per_cost() {
    for norm in Norm::ALL {
        let certified = all_pass(10_000, |seed| verify(seed, norm));
        assert!(
            certified > 5_000,
            "only {certified} had an answer: the instances have lost their bite"
        );
    }
}

/// What the engine proves without a solver: the share of the optimum that its bound comes to.
fn bound_without_solver(seed: u64, norm: Norm) -> Result<Option<f64>, String> {
    let instance = instance(seed);
    let setup = setup(&instance, norm).expect("a valid set-up");
    let engine = Engine::with_method(setup, &Stay).expect("a supported combination");
    let mut answer = Answer::new(instance.n_columns());
    engine.session().recourse(&instance.person, &mut answer).expect("an answer");
    let fail =
        |what: String| Err(format!("seed {seed} {norm:?}: {what}\n{instance:#?}\n{answer:#?}"));
    match (solve(&instance, norm), answer.status) {
        (_, Status::Favourable) => Ok(None),
        (_, _) if answer.proven && answer.cost_lower != 0.0 => fail("a bound on nothing".into()),
        (Some(reference), Status::None) if answer.proven => {
            fail(format!("proven, but {} does it", reference.cost))
        }
        (Some(reference), Status::None) => {
            if !(0.0..=reference.cost * (1.0 + 1e-12)).contains(&answer.cost_lower) {
                return fail(format!("the optimum is {}", reference.cost));
            }
            Ok((reference.cost > 0.0).then(|| answer.cost_lower / reference.cost))
        }
        (None, Status::None) if answer.proven || answer.reason == Some(Reason::NotFound) => {
            Ok(None)
        }
        (reference, _) => fail(format!("{reference:?}")),
    }
}

#[test]
fn more_forced_moves_than_changes_allowed_are_infeasible() {
    let model = Arc::new(Linear::new(vec![1.0, 1.0], -1.0, 0.0).expect("a model"));
    let setup = Setup::builder(model, ["a", "b"]).sigma(0.1).build();
    let mut setup = setup.expect("a set-up");
    setup.actions.intersect(0.6, 1.0).expect("bounds");
    setup.actions = setup.actions.with_strict_bounds(true).with_max_changes(Some(1));
    for norm in ["l1", "l2", "linf"] {
        setup.set_norm(norm).expect("a norm");
        let engine = Engine::new(setup.clone()).expect("an engine");
        let mut answer = Answer::new(2);
        engine.session().recourse(&[0.2, 0.2], &mut answer).expect("an answer");
        let reason = Some(Reason::InfeasibleWithinMaxChanges);
        assert_eq!((answer.status, answer.reason, answer.proven), (Status::None, reason, true));
    }
}

#[test]
fn bounds_without_a_solver_are_never_above_the_optimum() {
    for norm in Norm::ALL {
        let found: Vec<_> =
            (0..4_000).into_par_iter().map(|seed| bound_without_solver(seed, norm)).collect();
        let failures: Vec<&String> = found.iter().filter_map(|r| r.as_ref().err()).collect();
        assert!(failures.is_empty(), "{} failures; first:\n{}", failures.len(), failures[0]);
        let mut shares: Vec<f64> = found.into_iter().filter_map(Result::ok).flatten().collect();
        shares.retain(|share| *share > 0.0);
        shares.sort_by(f64::total_cmp);
        let (n, best) = (shares.len(), shares.last().copied().unwrap_or_default());
        eprintln!("{norm:?}: {n} bounds, median share {}", shares[n / 2]);
        assert!(n > 800 && shares[n / 2] > 0.2 && best > 0.999, "{norm:?}: {n} bounds, {best}");
    }
}

/// The budget dual: no admissible point within the budget has a lower rate.
fn verify_budget(seed: u64, norm: Norm) -> Result<Status, String> {
    let instance = instance(seed);
    let budget = [0.05, 0.3, 1.0, 2.5][(seed % 4) as usize];
    let answer = answer(&instance, norm, Some(budget));
    let fail = |what: String| {
        Err(format!("seed {seed} {norm:?} budget {budget}: {what}\n{instance:#?}\n{answer:#?}"))
    };
    let best = max_robust(&instance, budget, norm).filter(|b| b.favourable);
    match (best, answer.status) {
        (_, Status::Favourable) => {}
        (Some(best), Status::Certified | Status::Found) => {
            let rate = checker::rate(&instance, &answer.point);
            if !near(rate, best.rate, 1e-9) {
                return fail(format!("rate {rate}, but {} is in reach", best.rate));
            }
            if checker::cost(&instance, &answer.point, norm) > budget * (1.0 + 1e-12) {
                return fail("over budget".to_owned());
            }
            let broken = checker::broken_rules(&instance, &answer.point);
            if !broken.is_empty() {
                return fail(format!("breaks {broken:?}"));
            }
        }
        (None, Status::None) => {}
        (best, status) => return fail(format!("{status:?}, reference {best:?}")),
    }
    Ok(answer.status)
}

#[test]
fn no_point_within_the_budget_is_more_robust() {
    for norm in Norm::ALL {
        all_pass(3_000, |seed| verify_budget(seed, norm));
    }
}

#[test]
fn a_frontier_is_its_single_answers() {
    let rates = [0.45, 0.35, 0.2, 0.1, 0.05, 0.01, 1e-6, 1e-12];
    let certified = all_pass(2_000, |seed| {
        let instance = instance(seed);
        let norm = Norm::ALL[(seed % 3) as usize];
        let engine =
            Engine::new(setup(&instance, norm).expect("a valid set-up")).expect("supported");
        let frontier = engine.session().frontier(&instance.person, &rates).expect("a frontier");
        let mut cheapest = 0.0;
        for (answer, rate) in frontier.iter().zip(rates) {
            let mut single = setup(&instance, norm).expect("a valid set-up");
            single.max_rate = rate;
            let mut expected = Answer::new(instance.n_columns());
            let single = Engine::new(single).expect("supported");
            single.session().recourse(&instance.person, &mut expected).expect("an answer");
            if *answer != expected {
                return Err(format!("seed {seed} r {rate}: {answer:?} but alone {expected:?}"));
            }
            let cost =
                answer.cost.filter(|_| answer.status == Status::Certified).unwrap_or(f64::INFINITY);
            if cost < cheapest {
                return Err(format!("seed {seed} r {rate}: cheaper than a laxer rate"));
            }
            cheapest = cost;
        }
        Ok(frontier[0].status)
    });
    assert!(certified > 1_000);
}

/// An instance with unit weights, noise on changed features, and the given bounds, costs and
/// deviations.
fn noisy_changes(
    low: &[f64],
    high: &[f64],
    costs: &[f64],
    sd: &[f64],
    bias: f64,
    strict: bool,
    rate: f64,
) -> Instance {
    let n = high.len();
    let mut instance = Instance::free(&vec![1.0; n], bias, &vec![0.0; n], 0.1, rate);
    for j in 0..n {
        let feature = &mut instance.features[j];
        (feature.low, feature.high) = (low[j], high[j]);
        (feature.cost_up, feature.cost_down) = (costs[j], costs[j]);
    }
    instance.noise.spread = Spread::Diagonal(sd.to_vec());
    instance.noise.mask = Mask::Changed;
    instance.strict = strict;
    instance
}

#[test]
fn items_that_may_stay_do_not_count_as_full_in_the_noise_bound() {
    // Features without noise may stay; features with a forced start may stay at it. Counting either
    // at its cap once made the bound on the noise to come too small, and cut off the optimum.
    let silent = noisy_changes(
        &[f64::NEG_INFINITY; 5],
        &[2.4, 2.3, 1.4, 1.4, 0.4],
        &[2.6, 6.2, 0.8, 1.8, 1.7],
        &[0.0, 0.0, 0.3, 0.4, 0.2],
        -1.5,
        false,
        0.1,
    );
    let forced = noisy_changes(
        &[0.1, 0.1, -1.0, -1.0, -1.0],
        &[0.9, 1.0, 1.4, 1.4, 0.5],
        &[7.6, 5.9, 2.0, 0.8, 1.0],
        &[0.1, 0.3, 0.6, 0.4, 0.3],
        -1.28,
        true,
        0.05,
    );
    for instance in [silent, forced] {
        let found = answer(&instance, Norm::L1, None);
        let reference = solve(&instance, Norm::L1).expect("an optimum");
        assert!(
            near(found.cost.unwrap_or(f64::NAN), reference.cost, 1e-9),
            "{found:?} {reference:?}"
        );
    }
}

#[test]
fn equal_features_do_not_multiply_the_search() {
    // Twenty interchangeable features: without symmetry the search would not end.
    let mut instance = Instance::free(&[1.0; 20], -5.0, &[0.0; 20], 0.1, 0.1);
    instance.features.iter_mut().for_each(|f| (f.low, f.high) = (0.0, 1.0));
    instance.max_changes = Some(10);
    let found = answer(&instance, Norm::L2, None);
    // By symmetry each of ten features moves by a tenth of what is needed.
    let needed = 5.0 + 1.281_551_565_544_600_4 * 0.1 * 20.0_f64.sqrt();
    assert_eq!((found.status, found.reason, found.changed), (Status::Certified, None, 10));
    assert!(near(found.cost.unwrap_or(f64::NAN), needed / 10.0_f64.sqrt(), 1e-9));
}

#[test]
fn a_bound_that_rounds_across_spaces_is_still_reached() {
    // scaled = (raw + 5) / 6.297: the raw bound is near zero, where raw ulps are finer than scaled
    // ones.
    let mut feature = core::Feature::numeric("a");
    (feature.center, feature.scale_by) = (Some(-5.0), Some(6.297));
    let schema = core::Schema::new(vec![feature, core::Feature::numeric("b")]);
    let model = Arc::new(Linear::new(vec![2.0, 1.0], -2.04, 0.0).expect("a model"));
    let mut setup = Setup::new(model, schema.names(), Some(&schema), 0.01).expect("a set-up");
    setup.actions.intersect(-5.0, 0.87).expect("bounds");
    let engine = Engine::new(setup).expect("supported");
    let mut found = Answer::new(2);
    engine.session().recourse(&[-5.0, 0.0], &mut found).expect("an answer");
    assert_eq!(found.status, Status::Certified, "{found:?}");
}
