//! Every entry of every registry, held to what its trait promises. A new entry is tested here
//! without a new line.

use probe_core::cost::{Item, NORMS, Norm, Scratch};
use probe_core::evaluation::{Case, METRICS, evaluate};
use probe_core::invalidation::RATES;
use probe_core::noise::NOISES;
use probe_core::{
    Actions, Answer, ClosedForm, Cost, Direction, Engine, Error, Estimate, Feature, FeatureLimits,
    Gaussian, Group, InvalidationRate, Linear, METHODS, Model, ModelInput, MonteCarlo, NoiseOn,
    Purpose, Query, Reason, Rows, RowsMut, Schema, Seed, Setup, Status, Stream, affine_rate,
};
use probe_testkit::{Absolute, MonteCarlo as Sampled, Relative, assert_close};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[test]
fn names_are_unique_and_say_what_the_item_says() {
    let unique = |kind: &str, names: Vec<&str>| {
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{kind}: {names:?}");
        assert!(
            names.iter().all(|n| !n.is_empty() && !n.contains(char::is_whitespace)),
            "{kind}: {names:?}"
        );
    };
    macro_rules! check {
        ($($registry:ident),*) => {$(
            unique(stringify!($registry), $registry.iter().map(|e| e.name).collect());
            for entry in $registry {
                assert!(!entry.reference.is_empty(), "{} has no reference", entry.name);
                assert_eq!(entry.item.name(), entry.name);
            }
        )*};
    }
    check!(NORMS, RATES, METHODS, METRICS);
    unique("NOISES", NOISES.iter().map(|e| e.name).collect());
    for entry in NOISES {
        let noise = entry.item.build(vec![0.1, 0.2], &BTreeMap::new()).unwrap();
        assert_eq!((noise.name(), noise.dim()), (entry.name, 2));
    }
}

fn stream(key: u64) -> Stream {
    Seed(5).stream(Purpose::Data, key)
}

fn cost_of(norm: &dyn Norm, items: &[Item], moves: &[f64]) -> f64 {
    norm.finish(items.iter().zip(moves).fold(0.0, |total, (it, u)| norm.add(total, it.weight * u)))
}

fn gain_of(items: &[Item], moves: &[f64]) -> f64 {
    items.iter().zip(moves).map(|(it, u)| it.gain * u).sum()
}

#[test]
fn subgradients_agree_with_central_differences() {
    let mut draw = stream(0);
    for entry in NORMS {
        for _ in 0..200 {
            let mut weights = || (0..5).map(|_| 0.2 + draw.uniform()).collect::<Vec<_>>();
            let cost = Cost::new(entry.name, weights(), weights()).unwrap();
            let from: Vec<f64> = (0..5).map(|_| draw.normal()).collect();
            let to: Vec<f64> =
                from.iter().map(|x| x + (0.1 + draw.uniform()) * sign(&mut draw)).collect();
            let mut found = [0.0; 5];
            cost.subgradient(&from, &to, &mut found);
            for j in 0..5 {
                // Away from kinks: the error is h² plus rounding / h, both below 1e-9 at h = 1e-5.
                let at = |h: f64| {
                    let mut moved = to.clone();
                    moved[j] += h;
                    cost.between(&from, &moved)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                let kink = (at(2e-5) - 2.0 * at(0.0) + at(-2e-5)).abs() > 1e-7;
                if !kink {
                    assert_close!(found[j], slope, Absolute(1e-8), "{} feature {j}", entry.name);
                }
            }
        }
    }
}

fn sign(draw: &mut Stream) -> f64 {
    if draw.below(2) == 0 { 1.0 } else { -1.0 }
}

#[test]
fn cheapest_moves_are_those_found_by_hand() {
    let item = |gain: f64, start: f64, cap: f64| Item { gain, weight: 1.0, start, cap };
    let free = f64::INFINITY;
    let two = |first: f64, second: f64| vec![item(2.0, 0.0, first), item(1.0, 0.0, second)];
    let third = 5.0 / 3.0;
    // Items, gain needed, and the moves by norm.
    let cases = [
        (
            vec![Item { gain: 2.0, weight: 3.0, start: 0.0, cap: free }],
            4.0,
            [vec![2.0], vec![2.0], vec![2.0]],
        ),
        (two(1.0, free), 4.0, [vec![1.0, 2.0], vec![1.0, 2.0], vec![1.0, 2.0]]),
        (two(free, free), 5.0, [vec![2.5, 0.0], vec![2.0, 1.0], vec![third, third]]),
        (
            vec![item(2.0, 0.5, 1.0), item(1.0, 0.0, 1.0)],
            0.5,
            [vec![0.5, 0.0], vec![0.5, 0.0], vec![0.5, 0.0]],
        ),
    ];
    for (column, name) in ["l1", "l2", "linf"].into_iter().enumerate() {
        let norm = NORMS.iter().find(|e| e.name == name).expect("the norm is registered").item;
        let mut scratch = Scratch::default();
        for (items, needed, expected) in &cases {
            let mut moves = vec![0.0; items.len()];
            norm.prepare(items, &mut scratch);
            assert!(norm.cheapest(items, &scratch, *needed, &mut moves), "{name} {items:?}");
            for (found, by_hand) in moves.iter().zip(&expected[column]) {
                assert_close!(*found, *by_hand, Absolute(1e-14), "{name} {items:?}: {moves:?}");
            }
        }
        let (items, mut moves) = (two(1.0, 1.0), [0.0; 2]);
        norm.prepare(&items, &mut scratch);
        assert!(!norm.cheapest(&items, &scratch, 3.5, &mut moves), "{name}: caps gain only 3");
        assert_eq!(moves, [1.0, 1.0], "{name}: everything at its cap");
    }
}

/// Items in the order that [`Norm::prepare`] asks for.
fn random_items(draw: &mut Stream) -> Vec<Item> {
    let mut items: Vec<Item> = (0..1 + draw.below(5))
        .map(|_| Item {
            gain: 0.1 + draw.uniform(),
            weight: 0.1 + draw.uniform(),
            start: 0.0,
            cap: 2.0 * draw.uniform(),
        })
        .collect();
    items.sort_by(|a, b| (a.weight / a.gain).total_cmp(&(b.weight / b.gain)));
    items
}

#[test]
fn nothing_drawn_at_random_is_cheaper_than_the_cheapest_and_a_budget_buys_it_back() {
    let mut draw = stream(1);
    for entry in NORMS {
        let (norm, mut scratch) = (entry.item, Scratch::default());
        for _ in 0..300 {
            let items = random_items(&mut draw);
            let caps: Vec<f64> = items.iter().map(|it| it.cap).collect();
            let needed = draw.uniform() * gain_of(&items, &caps);
            let mut best = vec![0.0; items.len()];
            norm.prepare(&items, &mut scratch);
            assert!(norm.cheapest(&items, &scratch, needed, &mut best));
            let cost = cost_of(norm, &items, &best);
            assert!(gain_of(&items, &best) >= needed * (1.0 - 1e-14));
            assert_close!(
                norm.finish(norm.total_of(cost)),
                cost,
                Relative(1e-15),
                "{}",
                entry.name
            );
            for _ in 0..100 {
                let moves: Vec<f64> = caps.iter().map(|cap| cap * draw.uniform()).collect();
                let enough = gain_of(&items, &moves) >= needed;
                assert!(
                    !enough || cost_of(norm, &items, &moves) >= cost * (1.0 - 1e-12),
                    "{}",
                    entry.name
                );
            }
            let mut bought = vec![0.0; items.len()];
            norm.furthest(&items, 0.0, cost, &mut bought);
            assert!(cost_of(norm, &items, &bought) <= cost * (1.0 + 1e-12));
            assert_close!(gain_of(&items, &bought), needed, Absolute(1e-9), "{}", entry.name);
        }
    }
}

#[test]
fn noises_have_the_deviation_they_were_asked_for_and_repeat() {
    const N: usize = 200_000;
    let sd = [0.3, 0.05, 1.0];
    for entry in NOISES {
        let noise = entry.item.build(sd.to_vec(), &BTreeMap::new()).unwrap();
        let mut draws = vec![0.0; N * 3];
        noise.sample_into(&mut stream(2), RowsMut::new(&mut draws, 3).unwrap());
        let mut one_by_one = stream(2);
        for row in draws.chunks(3).take(100) {
            let mut single = [0.0; 3];
            noise.sample_into(&mut one_by_one, RowsMut::new(&mut single, 3).unwrap());
            assert_eq!(row, single, "{}: the batch size must not matter", entry.name);
        }
        // The mean of any product of draws, and four of its standard errors.
        let moment = |f: &dyn Fn(&[f64]) -> f64| {
            let mean = draws.chunks(3).map(f).sum::<f64>() / N as f64;
            let variance =
                draws.chunks(3).map(|row| (f(row) - mean).powi(2)).sum::<f64>() / N as f64;
            (mean, 4.0 * (variance / N as f64).sqrt())
        };
        for i in 0..3 {
            let (mean, allowed) = moment(&|row| row[i]);
            assert_close!(mean, 0.0, Absolute(allowed), "{} mean of {i}", entry.name);
            for j in 0..3 {
                let expected = if i == j { sd[i] * sd[i] } else { 0.0 };
                let (product, allowed) = moment(&|row| row[i] * row[j]);
                assert_close!(product, expected, Absolute(allowed), "{} {i} {j}", entry.name);
            }
        }
        let options = BTreeMap::from([("no-such-option".to_owned(), 1.0)]);
        assert!(
            entry.item.build(sd.to_vec(), &options).is_err(),
            "{}: unknown options fail",
            entry.name
        );
    }
}

#[test]
fn rates_agree_with_the_exact_rate_of_a_linear_score() {
    let model = Linear::new(vec![2.0, -1.0, 0.5], 0.0, 0.0).unwrap();
    let noise = Gaussian::isotropic(3, 0.1).unwrap();
    let active = [true, false, true];
    let mut served = BTreeSet::new();
    for entry in RATES {
        for (k, score) in [-0.3, 0.0, 0.1, 0.3].into_iter().enumerate() {
            let point = [0.5 * score, 0.0, 0.0];
            let query = Query { model: &model, noise: &noise, active: &active, point: &point };
            let truth = affine_rate(score, 0.0, 0.1 * 4.25_f64.sqrt());
            let found = match entry.item.estimate(&query, 0.999, &mut stream(k as u64)) {
                Ok(found) => found,
                // Estimators for other noise say so.
                Err(Error::Unsupported { .. }) => continue,
                Err(error) => panic!("{}: {error}", entry.name),
            };
            served.insert(entry.name);
            let Estimate { rate, std_error, lower, upper, exact } = found;
            assert!(lower <= rate && rate <= upper && std_error >= 0.0, "{}", entry.name);
            if exact {
                assert_eq!((lower, upper, std_error), (rate, rate, 0.0));
                assert_close!(rate, truth, Relative(1e-13), "{}", entry.name);
            } else {
                assert_close!(rate, truth, Absolute(4.0 * std_error), "{}", entry.name);
            }
        }
    }
    assert!(served.len() >= 5, "only {served:?} serve Gaussian noise");
}

const D: usize = 6;

/// Questions that every method is asked: noise masks × raw or scaled model input, with bounds,
/// directions and immutables.
fn setups() -> Vec<Setup> {
    let mut draw = stream(3);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * draw.normal()).collect();
    let features = (0..D).map(|j| Feature {
        mutable: j != 1,
        direction: if j == 2 && weights[j] > 0.0 { Direction::Increase } else { Direction::Any },
        min: Some(-3.0),
        max: if j == 4 { Some(12.0) } else { None },
        cost_up: Some(1.0 + j as f64),
        scale: Some([-2.0, 3.0 + j as f64]),
        ..Feature::numeric(&format!("x{j}"))
    });
    let mut schema = Schema::new(features.collect());
    let mut setups = Vec::new();
    for input in [ModelInput::Scaled, ModelInput::Raw] {
        schema.model_input = Some(input);
        let model = Arc::new(Linear::new(weights.clone(), -1.5, 0.25).expect("finite weights"));
        for noise_on in [NoiseOn::All, NoiseOn::Mutable, NoiseOn::Changed] {
            for norm in NORMS {
                let mut setup = Setup::new(model.clone(), schema.names(), Some(&schema), 0.1)
                    .expect("a valid set-up");
                setup.set_norm(norm.name).expect("a registered norm");
                setup.noise_on = noise_on;
                setups.push(setup);
            }
        }
    }
    setups
}

fn people(n: usize) -> Vec<f64> {
    let mut draw = stream(4);
    (0..n * D).map(|_| -2.0 + 7.0 * draw.uniform()).collect()
}

fn answers_with(threads: usize, engine: &Engine, people: Rows<'_>) -> Vec<Answer> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| engine.recourse(people)).expect("answers")
}

fn check_answer(engine: &Engine, person: &[f64], answer: &Answer, sampled: bool) {
    let setup = engine.setup();
    for j in (0..D).filter(|&j| !setup.actions.room(j).mutable) {
        assert_eq!(answer.point[j].to_bits(), person[j].to_bits(), "feature {j} is immutable");
    }
    let scaled = |raw: &[f64]| {
        let mut out = vec![0.0; D];
        setup.space.scale_into(raw, &mut out);
        out
    };
    assert_eq!(setup.actions.violations(&scaled(person), &scaled(&answer.point)), []);
    if answer.status != Status::Certified {
        if answer.reason == Some(Reason::RateIgnored) {
            assert!(
                answer.status == Status::Found
                    && answer.score_after > 0.0
                    && answer.rate > setup.max_rate
            );
        }
        let by_a_hair =
            answer.status == Status::Found && answer.rate <= setup.max_rate * (1.0 + 1e-9);
        assert!(!by_a_hair, "a target must not be missed by rounding: {answer:?}");
        return;
    }
    assert!(engine.score(&answer.point).expect("a score") > 0.0 && answer.score_after > 0.0);
    let rate = |estimator: &dyn InvalidationRate| {
        engine.rate(&answer.point, Some(person), estimator).expect("a rate").rate
    };
    let exact = rate(&ClosedForm);
    assert!(answer.rate <= setup.max_rate && answer.rate_upper <= setup.max_rate);
    // A raw-input model is scored through its rescaled twin here, which rounds differently.
    assert_close!(exact, answer.rate, Relative(1e-11));
    if sampled {
        let n = 10_000;
        let drawn = rate(&MonteCarlo { samples: n });
        assert_close!(drawn, exact, Sampled { n, sigmas: 4.0 });
    }
}

#[test]
fn methods_keep_the_rules_the_rate_and_the_bits() {
    for entry in METHODS {
        // Descent takes a thousand times as long as the exact solver.
        let data = people(if entry.name == "probe" { 300 } else { 30 });
        let people = Rows::new(&data, D).unwrap();
        let reversed: Vec<f64> = people.iter().rev().flatten().copied().collect();
        let (mut served, mut certified, mut flipped) = (0, 0, 0);
        for mut setup in setups() {
            setup.method = entry.name.to_owned();
            let engine = match Engine::new(setup) {
                Ok(engine) => engine,
                Err(Error::Unsupported { .. }) => continue,
                Err(error) => panic!("{}: {error}", entry.name),
            };
            served += 1;
            let answers = answers_with(1, &engine, people);
            assert_eq!(answers, answers_with(4, &engine, people), "{}: threads matter", entry.name);
            let mut backwards = answers_with(4, &engine, Rows::new(&reversed, D).unwrap());
            backwards.reverse();
            assert_eq!(answers, backwards, "{}: the order of people matters", entry.name);
            for (i, (person, answer)) in people.iter().zip(&answers).enumerate() {
                check_answer(&engine, person, answer, i < 10);
                certified += usize::from(answer.status == Status::Certified);
                // Some methods look for another decision, whatever its rate.
                flipped += usize::from(answer.reason == Some(Reason::RateIgnored));
            }
        }
        assert!(served > 0, "{} serves none of the questions", entry.name);
        assert!(certified + flipped > 0, "{} serves nobody", entry.name);
    }
}

#[test]
fn metrics_are_defined_finite_and_repeatable() {
    let data = people(50);
    let people = Rows::new(&data, D).unwrap();
    for setup in setups() {
        let engine = Engine::new(setup).unwrap();
        let answers = engine.recourse(people).unwrap();
        let certified =
            answers.iter().position(|a| a.status == Status::Certified).expect("somebody");
        let case =
            Case { engine: &engine, person: people.row(certified), answer: &answers[certified] };
        for entry in METRICS {
            let value = entry.item.measure(&case).unwrap().expect("defined for a certified answer");
            assert!(value.is_finite() && value >= 0.0, "{} {value}", entry.name);
            assert_eq!(entry.item.measure(&case).unwrap(), Some(value), "{}", entry.name);
        }
        let summaries = evaluate(&engine, people, &answers).unwrap();
        assert_eq!(summaries.iter().map(|s| s.metric).collect::<Vec<_>>(), names_of_metrics());
    }
}

fn names_of_metrics() -> Vec<&'static str> {
    METRICS.iter().map(|e| e.name).collect()
}

#[test]
fn scores_do_not_depend_on_the_batch() {
    let data = people(40);
    let model = Linear::new((0..D).map(|j| 0.3 - 0.1 * j as f64).collect(), 0.1, 0.0).unwrap();
    let mut scores = vec![0.0; 40];
    model.score_batch(Rows::new(&data, D).unwrap(), &mut scores).unwrap();
    for (row, score) in data.chunks(D).zip(scores) {
        assert_eq!(model.score(row).unwrap().to_bits(), score.to_bits());
    }
}

fn room() -> impl Strategy<Value = FeatureLimits> {
    let side = || prop_oneof![Just(f64::INFINITY), 0.0..2.0f64];
    let direction =
        prop_oneof![Just(Direction::Any), Just(Direction::Increase), Just(Direction::Decrease)];
    (side(), side(), -1.0..1.0f64, any::<bool>(), direction).prop_map(
        |(down, up, middle, mutable, direction)| FeatureLimits {
            low: middle - down,
            high: middle + up,
            mutable,
            direction,
        },
    )
}

/// Three numeric features beside a one-hot group of three; any limits.
fn actions() -> impl Strategy<Value = Actions> {
    let allowed = prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(prop::collection::vec(any::<bool>(), 3), 3)
    ];
    (prop::collection::vec(room(), 6), allowed, prop::option::of(0..5usize), any::<bool>())
        .prop_map(|(rooms, allowed, k, strict)| {
            let group = Group::one_hot(vec![1, 3, 4]).allowing(allowed);
            let actions = Actions::new(rooms).with_groups(vec![group]).expect("a valid group");
            actions.with_max_changes(k).with_strict_bounds(strict)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn projections_are_admissible_and_idempotent(
        actions in actions(),
        mut from in prop::collection::vec(-2.0..2.0f64, 6),
        hot in 0..3usize,
        to in prop::collection::vec(-3.0..3.0f64, 6),
    ) {
        for (option, column) in [1, 3, 4].into_iter().enumerate() {
            from[column] = if option == hot { 1.0 } else { 0.0 };
        }
        let mut once = to;
        let possible = actions.project(&from, &mut once);
        prop_assert_eq!(possible, actions.violations(&from, &once).is_empty());
        let mut twice = once.clone();
        prop_assert_eq!(actions.project(&from, &mut twice), possible);
        prop_assert_eq!(twice, once);
        if !actions.is_strict() {
            prop_assert!(possible, "staying put is always admissible");
        }
    }
}
