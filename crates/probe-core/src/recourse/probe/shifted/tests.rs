use super::*;
use crate::cost::Cost;
use crate::model::{Linear, Model};
use crate::noise::{Covariance, Gaussian};
use crate::recourse::{Budget, MethodOptions, RecourseMethod, Reference, SearchEffort, method};
use crate::schema::{Actions, FeatureLimits, Grid};
use crate::seed::{Purpose, Seed, Stream};

const SIGMA: f64 = 0.1;

fn task(model: Linear, norm: &str, shift: ModelShift) -> Task {
    let n = model.n_features();
    Task {
        noise: Arc::new(Gaussian::isotropic(n, SIGMA).unwrap()),
        noise_on: NoiseOn::All,
        cost: Cost::uniform(norm, n).unwrap(),
        actions: Actions::free(n),
        shift: Some(shift),
        seed: Seed(0),
        options: MethodOptions::default(),
        effort: SearchEffort::Normal,
        left_out: None,
        reference: Reference::of_ranges(&vec![None; n], &Actions::free(n)),
        model: Arc::new(model),
    }
}

fn find(task: &Task, factual: &[f64], rate: f64) -> Proposal {
    let solver = method("probe").unwrap().prepare(&Arc::new(task.clone())).unwrap();
    let mut proposal = Proposal::new(factual.len());
    solver
        .worker()
        .find(&Ask::new(factual, Goal::Rate(rate), &Budget::default()), &mut proposal)
        .unwrap();
    proposal
}

fn rate_of(task: &Task, point: &[f64]) -> f64 {
    let linear = task.model.as_linear().unwrap();
    let active = vec![true; point.len()];
    ShiftedRate::new(linear, &*task.noise, &active, task.shift.unwrap()).unwrap().rate(point)
}

/// A model, a person whom it refuses, and sometimes a box.
fn instance(draw: &mut Stream, norm: &str, shift: ModelShift) -> (Task, Vec<f64>) {
    let d = 2 + draw.below(5);
    let weights: Vec<f64> = (0..d).map(|_| draw.normal()).collect();
    let factual: Vec<f64> = (0..d).map(|_| draw.normal()).collect();
    let score: f64 = weights.iter().zip(&factual).map(|(w, x)| w * x).sum();
    let model = Linear::new(weights, -score - 0.2 - draw.uniform(), 0.0).unwrap();
    let mut task = task(model, norm, shift);
    if draw.below(2) == 0 {
        let room =
            |x: &f64| FeatureLimits { low: x - 0.6, high: x + 0.6, ..FeatureLimits::default() };
        task.actions = Actions::new(factual.iter().map(room).collect());
    }
    (task, factual)
}

/// The least `l1` cost with $w^\top x + b \ge z\tau\sqrt{1 + \lVert x\rVert^2}$, by another way:
/// the root is the least over $S$ of half of $u/S + S$, and for given $S$ and multiplier the
/// features separate.
fn reference(task: &Task, factual: &[f64], z: f64, tau: f64) -> Option<f64> {
    let linear = task.model.as_linear().unwrap();
    let (w, b, d) = (linear.weights(), linear.bias(), factual.len());
    let point = |s: f64, nu: f64| -> Vec<f64> {
        let best = |j: usize| {
            let (low, high) = task.actions.interval(j, factual[j]).unwrap();
            // c|x - f| + ν (a x²/2 - w x): the unpenalised minimum is w/a, pulled towards f by 1/(ν
            // a).
            let a = z * tau * tau / s;
            let pulled = |sign: f64| (w[j] - sign / nu) / a;
            let x = if pulled(1.0) > factual[j] {
                pulled(1.0)
            } else if pulled(-1.0) < factual[j] {
                pulled(-1.0)
            } else {
                factual[j]
            };
            x.clamp(low, high)
        };
        (0..d).map(best).collect()
    };
    let score = |x: &[f64]| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b;
    let squares = |x: &[f64]| tau * tau * (1.0 + x.iter().map(|x| x * x).sum::<f64>());
    // The cost for a given S: the least multiplier that is feasible.
    let cost_at = |s: f64| {
        let feasible = |nu: f64| {
            let x = point(s, nu);
            score(&x) >= 0.5 * z * (squares(&x) / s + s)
        };
        let (mut low, mut high) = (1e-9_f64, 1e9_f64);
        if !feasible(high) {
            return f64::INFINITY;
        }
        for _ in 0..200 {
            let middle = (low * high).sqrt();
            if feasible(middle) { high = middle } else { low = middle }
        }
        task.cost.between(factual, &point(s, high))
    };
    // Convex in S where finite: a fine grid of logarithms, then golden section.
    let grid = |k: usize| 1e-2 * 1.05_f64.powi(k as i32);
    let best = (0..200).min_by(|&a, &b| cost_at(grid(a)).total_cmp(&cost_at(grid(b))))?;
    let (mut low, mut high) = (grid(best.saturating_sub(1)), grid(best + 1));
    for _ in 0..100 {
        let (a, b) = (high - 0.618 * (high - low), low + 0.618 * (high - low));
        if cost_at(a) <= cost_at(b) { high = b } else { low = a }
    }
    let cost = cost_at(0.5 * (low + high)).min(cost_at(grid(best)));
    cost.is_finite().then_some(cost)
}

#[test]
fn random_changes_cost_what_another_solver_finds() {
    let mut draw = Seed(3).stream(Purpose::Data, 0);
    let (mut compared, mut unreachable) = (0, 0);
    for i in 0..60 {
        let tau = [0.02, 0.1, 0.3][i % 3];
        let (mut task, factual) = instance(&mut draw, "l1", ModelShift::Gaussian(tau));
        // Without noise the score is normal, which is what the other solver knows.
        let exact = Covariance::Diagonal(vec![0.0; factual.len()]);
        task.noise = Arc::new(Gaussian::new(vec![0.0; factual.len()], exact).unwrap());
        let target = [0.35, 0.1, 0.03][i / 3 % 3];
        let found = find(&task, &factual, target);
        let least = reference(&task, &factual, upper_quantile(target), tau);
        assert_eq!(found.verdict == Verdict::Reached, least.is_some(), "{i}: {found:?} {least:?}");
        let Some(least) = least else {
            unreachable += 1;
            continue;
        };
        assert!(rate_of(&task, &found.point) <= target * (1.0 + 1e-12));
        let cost = task.cost.between(&factual, &found.point);
        assert!((cost - least).abs() <= 1e-6, "{i}: {cost} {least} tau {tau} r {target}");
        compared += 1;
    }
    assert!(compared >= 40 && unreachable >= 3, "{compared} {unreachable}");
}

/// Asserts that no point near `found`, drawn at random, is cheaper by 1e-6 and has the rate: near
/// is enough where the problem is convex.
fn assert_optimal(task: &Task, factual: &[f64], found: &[f64], target: f64, draw: &mut Stream) {
    let rate = rate_of(task, found);
    assert!(rate <= target * (1.0 + 1e-9) && rate > target * (1.0 - 1e-6), "{rate} for {target}");
    assert!(task.actions.violations(factual, found).is_empty());
    let cost = task.cost.between(factual, found);
    for scale in [0.3, 0.03, 0.003] {
        for _ in 0..300 {
            let mut other: Vec<f64> =
                found.iter().map(|x| x + scale * cost * draw.normal()).collect();
            task.actions.project(factual, &mut other);
            let shrink = (cost * (1.0 - 1e-6)) / task.cost.between(factual, &other);
            if shrink < 1.0 {
                other.iter_mut().zip(factual).for_each(|(y, x)| *y = x + shrink * (*y - x));
            }
            assert!(rate_of(task, &other) > target * (1.0 - 1e-9), "a cheaper point exists");
        }
    }
}

#[test]
fn nothing_drawn_at_random_is_cheaper() {
    let mut draw = Seed(4).stream(Purpose::Data, 0);
    for shift in [ModelShift::Bounded(0.2), ModelShift::Gaussian(0.1), ModelShift::Relative(0.2)] {
        let mut compared = 0;
        for i in 0..15 {
            let (task, factual) = instance(&mut draw, ["l1", "l2", "linf"][i % 3], shift);
            let target = [0.1, 0.3][i % 2];
            let found = find(&task, &factual, target);
            if found.verdict == Verdict::Reached {
                assert_optimal(&task, &factual, &found.point, target, &mut draw);
                compared += 1;
            }
        }
        assert!(compared >= 8, "{shift:?}: {compared}");
    }
}

#[test]
fn a_bounded_change_of_one_feature_by_hand() {
    // s = x - 1, ρ = 0.2, σ = 0.1: the weight may fall to 0.8, so 0.8 x - 1 ≥ z 0.1·0.8, or rise to
    // 1.2: x ≥ 1/1.2 + 0.1 z.
    let task = task(Linear::new(vec![1.0], -1.0, 0.0).unwrap(), "l1", ModelShift::Bounded(0.2));
    let found = find(&task, &[0.0], 0.1);
    let expected = 1.0 / 0.8 + 0.1 * upper_quantile(0.1);
    assert!((found.point[0] - expected).abs() < 1e-9, "{found:?}");
}

#[test]
fn a_change_larger_than_the_weights_leaves_no_recourse() {
    // The margin along w tends to |w|/τ = 0.5 at best, far below what a rate of 0.1 asks for.
    let task =
        task(Linear::new(vec![0.3, 0.4], -1.0, 0.0).unwrap(), "l1", ModelShift::Gaussian(1.0));
    let found = find(&task, &[0.0, 0.0], 0.1);
    assert!(matches!(found.verdict, Verdict::Short(Reason::RateNotReachable)), "{found:?}");
    let mut stuck = task.clone();
    (0..2).for_each(|j| stuck.actions.fix(j));
    assert_eq!(find(&stuck, &[0.0; 2], 0.1).verdict, Verdict::Short(Reason::NoAdmissibleMove));
}

/// The reason was "infeasible-within-bounds", without any bounds, because every point has a rate of
/// about one half.
#[test]
fn a_change_that_drowns_the_score_leaves_what_is_favourable() {
    for shift in [
        ModelShift::Gaussian(1e10),
        ModelShift::Gaussian(1e20),
        ModelShift::Gaussian(1e100),
        ModelShift::Relative(1e30),
        ModelShift::Bounded(1e20),
    ] {
        let mut task = task(Linear::new(vec![1.0, 2.0], -1.0, 0.0).unwrap(), "l1", shift);
        let found = find(&task, &[0.1, 0.1], 0.1);
        assert_eq!(found.verdict, Verdict::Short(Reason::RateNotReachable), "{shift:?}");
        let score = task.model.score(&found.point).unwrap();
        assert!(score > 0.0 && score.is_finite(), "{shift:?}: {score}");
        // With steps too, of which some are accepted.
        let grid = Some(Grid { zero: 0.0, step: 0.25 });
        task.actions = Actions::free(2).with_grids(vec![grid; 2]).unwrap();
        let found = find(&task, &[0.1, 0.1], 0.1);
        assert_eq!(found.verdict, Verdict::Short(Reason::RateNotReachable), "{shift:?}");
        assert!(task.model.score(&found.point).unwrap() > 0.0, "{shift:?}: {:?}", found.point);
        // Within bounds there may be nothing.
        let room = FeatureLimits { low: 0.0, high: 0.3, ..FeatureLimits::default() };
        task.actions = Actions::new(vec![room; 2]);
        let found = find(&task, &[0.1, 0.1], 0.1);
        assert_eq!(found.verdict, Verdict::Short(Reason::InfeasibleWithinBounds), "{shift:?}");
    }
    let active = [true; 2];
    let linear = Linear::new(vec![1.0, 2.0], -1.0, 0.0).unwrap();
    let noise = Gaussian::isotropic(2, SIGMA).unwrap();
    for shift in [ModelShift::Gaussian(1e200), ModelShift::Bounded(f64::MAX)] {
        assert!(ShiftedRate::new(&linear, &noise, &active, shift).is_err());
    }
}

#[test]
fn changes_of_any_size_are_told_apart_rightly() {
    let mut draw = Seed(6).stream(Purpose::Data, 0);
    let mut seen = [0; 3];
    for case in 0..400 {
        let size = 10.0_f64.powf(draw.uniform() * [3.0, 12.0, 100.0][case % 3] - 2.0);
        let shift = [ModelShift::Gaussian(size), ModelShift::Relative(size)][case / 3 % 2];
        let (task, factual) = instance(&mut draw, ["l1", "l2", "linf"][case % 3], shift);
        let target = [0.4, 0.1][case / 6 % 2];
        let found = find(&task, &factual, target);
        let linear = task.model.as_linear().unwrap();
        let bounds = |j: usize| task.actions.interval(j, factual[j]).unwrap();
        let ends = |j: usize| if linear.weights()[j] > 0.0 { bounds(j).1 } else { bounds(j).0 };
        let most = linear.score_row(&(0..factual.len()).map(ends).collect::<Vec<f64>>());
        let told = format!("case {case}: {shift:?}, {found:?}");
        let kind = match found.verdict {
            Verdict::Reached => 0,
            Verdict::Short(Reason::RateNotReachable) => 1,
            Verdict::Short(Reason::InfeasibleWithinBounds) => 2,
            Verdict::Short(_) => panic!("{told}"),
        };
        seen[kind] += 1;
        assert_eq!(kind == 2, most <= 1e-9, "{told}");
        assert!(kind == 2 || linear.score_row(&found.point) > 0.0, "{told}");
        if kind == 0 {
            assert!(rate_of(&task, &found.point) <= target * (1.0 + 1e-9), "{told}");
            continue;
        }
        // Nothing drawn at random has the rate, near or far, along the weights or not.
        for _ in 0..100 {
            let far = 10.0_f64.powf(6.0 * draw.uniform() - 3.0);
            let drift = draw.uniform();
            let mut other: Vec<f64> = (0..factual.len())
                .map(|j| factual[j] + far * (drift * linear.weights()[j] + 0.3 * draw.normal()))
                .collect();
            task.actions.project(&factual, &mut other);
            assert!(rate_of(&task, &other) > target * (1.0 - 1e-6), "{told}: {other:?}");
        }
    }
    assert!(seen.iter().all(|n| *n > 20), "{seen:?}");
}

#[test]
fn what_is_not_convex_or_not_linear_is_refused() {
    let linear = || Linear::new(vec![1.0, 2.0], 0.0, 0.0).unwrap();
    let probe: &dyn RecourseMethod = method("probe").unwrap();
    let refused = |change: &dyn Fn(&mut Task)| {
        let mut task = task(linear(), "l1", ModelShift::Gaussian(0.1));
        change(&mut task);
        probe.prepare(&Arc::new(task)).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|task| task.actions = Actions::free(2).with_max_changes(Some(1))));
    assert!(refused(&|task| task.noise_on = NoiseOn::Changed));
    let solver = probe.prepare(&Arc::new(task(linear(), "l1", ModelShift::Gaussian(0.1)))).unwrap();
    for goal in [Goal::Rate(0.5), Goal::Rate(1e-12), Goal::Budget(1.0)] {
        assert!(
            solver
                .worker()
                .find(&Ask::new(&[-1.0, 0.0], goal, &Budget::default()), &mut Proposal::new(2))
                .is_err()
        );
    }
}
