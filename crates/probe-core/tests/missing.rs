//! People with missing values: the answers are those of the model itself, with the gaps in place.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::evaluation::measure;
use probe_core::math::normal::{upper_quantile, upper_tail};
use probe_core::model::{Aggregate, Split, Tree, TreeRules, Trees};
use probe_core::{
    Actions, Answer, Engine, Error, Exact, Feature, FeatureLimits, Group, Linear, METHODS, Model,
    ModelInput, MonteCarlo, NoiseOn, Purpose, Reason, Rows, RowsMut, Schema, Seed, Setup, Space,
    Status, Stream,
};
use std::sync::Arc;

const GAP: f64 = f64::NAN;

/// A random tree with a default direction at every split; high values are mostly liked.
fn grow(d: usize, depth: usize, stream: &mut Stream) -> Tree {
    fn add(tree: &mut Tree, d: usize, depth: usize, merit: f64, stream: &mut Stream) -> usize {
        let leaf = depth == 0 || (depth < 3 && stream.below(5) == 0);
        let at = tree.push_leaf(0.1 * (merit + stream.normal()));
        tree.default_left.push(stream.below(2) == 0);
        if !leaf {
            (tree.feature[at], tree.threshold[at]) = (stream.below(d), stream.uniform());
            tree.left[at] = add(tree, d, depth - 1, merit - 1.0, stream) as i64;
            tree.right[at] = add(tree, d, depth - 1, merit + 1.0, stream) as i64;
        }
        at
    }
    let mut tree = Tree::default();
    add(&mut tree, d, depth, -0.5, stream);
    tree
}

fn ensemble(d: usize, n: usize, rules: TreeRules, stream: &mut Stream) -> Arc<Trees> {
    let trees = (0..n).map(|_| grow(d, 4, stream)).collect();
    Arc::new(Trees::new(d, trees, rules, 0.0).unwrap())
}

/// What boosting by summed leaves says, read off the arrays of the files.
fn walked(model: &Trees, x: &[f64]) -> f64 {
    model.trees().iter().fold(model.rules().base, |sum, tree| {
        let mut at = 0;
        while tree.left[at] >= 0 {
            let value = x[tree.feature[at]];
            let left =
                if value.is_nan() { tree.default_left[at] } else { value <= tree.threshold[at] };
            at = if left { tree.left[at] as usize } else { tree.right[at] as usize };
        }
        sum + tree.value[at]
    })
}

fn names(d: usize) -> Vec<String> {
    (0..d).map(|j| format!("x{j}")).collect()
}

fn setup(model: Arc<Trees>, max_rate: f64) -> Setup {
    let names = names(model.n_features());
    let mut setup = Setup::new(model, names, None, 0.1).unwrap();
    setup.max_rate = max_rate;
    setup
}

/// People whom the model denies, each with gaps at random, one at least.
fn denied(model: &Trees, n: usize, stream: &mut Stream) -> Vec<f64> {
    let d = model.n_features();
    let mut people = Vec::new();
    while people.len() < n * d {
        let mut x: Vec<f64> = (0..d).map(|_| stream.uniform()).collect();
        x[stream.below(d)] = GAP;
        for value in &mut x {
            if stream.below(4) == 0 {
                *value = GAP;
            }
        }
        if x.iter().any(|v| v.is_finite()) && walked(model, &x) <= 0.0 {
            people.extend(x);
        }
    }
    people
}

fn bits(row: &[f64]) -> Vec<u64> {
    row.iter().map(|v| v.to_bits()).collect()
}

fn answer(setup: Setup, person: &[f64]) -> Answer {
    let mut answer = Answer::new(person.len());
    Engine::new(setup).unwrap().session().recourse(person, &mut answer).unwrap();
    answer
}

#[test]
fn trees_without_a_feature_score_as_if_it_were_missing() {
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let d = 4;
    for aggregate in [Aggregate::Sum, Aggregate::Mean, Aggregate::Vote] {
        for (split, single) in [(Split::AtMost, false), (Split::Below, true)] {
            let model =
                ensemble(d, 12, TreeRules { split, single, aggregate, base: 0.0 }, &mut stream);
            let space = Space::new(vec![-0.3; d], vec![0.7; d], ModelInput::Raw);
            for pattern in 0..1_u32 << d {
                let gaps: Vec<bool> = (0..d).map(|j| pattern >> j & 1 == 1).collect();
                for (full, rest) in [
                    (Trees::clone(&model), model.without(&gaps)),
                    (model.rescaled(&space), model.rescaled(&space).without(&gaps)),
                    (model.rescaled(&space), model.without(&gaps).rescaled(&space)),
                ] {
                    for tree in rest.trees() {
                        let splits = (0..tree.left.len()).filter(|&i| tree.left[i] >= 0);
                        assert!(splits.into_iter().all(|i| !gaps[tree.feature[i]]));
                    }
                    for _ in 0..20 {
                        let other: Vec<f64> =
                            (0..d).map(|_| 2.0 * stream.uniform() - 0.5).collect();
                        let x: Vec<f64> =
                            (0..d).map(|j| if gaps[j] { GAP } else { other[j] }).collect();
                        let expected = full.score(&x).unwrap();
                        assert_eq!(rest.score(&other).unwrap().to_bits(), expected.to_bits());
                        assert_eq!(rest.score(&x).unwrap().to_bits(), expected.to_bits());
                    }
                }
            }
        }
    }
}

/// x0 decides where the step of x1 is: at 0.7 on its left, at 0.3 on its right.
fn two_steps(default_left: bool) -> Arc<Trees> {
    let tree = Tree {
        feature: vec![0, 1, 1, 0, 0, 0, 0],
        threshold: vec![0.5, 0.7, 0.3, 0.0, 0.0, 0.0, 0.0],
        left: vec![1, 3, 5, -1, -1, -1, -1],
        right: vec![2, 4, 6, -1, -1, -1, -1],
        value: vec![0.0, 0.0, 0.0, -1.0, 1.0, -1.0, 1.0],
        default_left: vec![default_left; 7],
    };
    Arc::new(Trees::new(2, vec![tree], TreeRules::default(), 0.0).unwrap())
}

/// Whatever the noise is on: x0 is not missed, so the cheapest answer is a known distance behind
/// the step.
#[test]
fn the_answer_to_a_step_is_known() {
    for (default_left, step) in [(true, 0.7), (false, 0.3)] {
        for noise_on in [NoiseOn::All, NoiseOn::Mutable, NoiseOn::Changed] {
            for max_rate in [0.35, 0.1] {
                let mut setup = setup(two_steps(default_left), max_rate);
                setup.noise_on = noise_on;
                // Bounds do not bind what is missing, and nothing moves it: neither 0 nor its own
                // value is inside.
                let far = FeatureLimits { low: 5.0, high: 6.0, ..FeatureLimits::default() };
                setup.actions =
                    Actions::new(vec![far, FeatureLimits::default()]).with_strict_bounds(true);
                setup.ranges = vec![Some([5.0, 6.0]); 2];
                let answer = answer(setup.clone(), &[GAP, 0.1]);
                assert_eq!((answer.status, answer.changed), (Status::Certified, 1), "{answer:?}");
                assert_eq!(bits(&answer.point[..1]), bits(&[GAP]));
                assert_eq!(answer.outside_range, Some(1), "only x1 is where nobody was");
                let rate = upper_tail((answer.point[1] - step) / 0.1);
                assert!(
                    rate <= max_rate && (answer.rate - rate).abs() < 1e-12,
                    "{answer:?} {rate}"
                );
                let (cost, least) =
                    (answer.cost.unwrap(), step - 0.1 + 0.1 * upper_quantile(max_rate));
                assert!(cost >= least - 1e-12 && cost < 1.04 * least, "{cost} {least}");
                // The rate of the same point, asked for by itself.
                let engine = Engine::without_method(setup).unwrap();
                let exact = Exact { boxes: 1 << 10 };
                let own = engine.rate(&answer.point, Some(&[GAP, 0.1]), &exact).unwrap();
                assert!(own.exact && (own.rate - rate).abs() < 1e-12, "{own:?} {rate}");
            }
        }
    }
}

/// The stated rate holds on a million draws around the printed row, its gaps kept, scored by
/// walking the trees of the file.
#[test]
fn certified_rates_hold_with_the_gaps_in_place() {
    const DRAWS: usize = 1_000_000;
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    let d = 5;
    let model = ensemble(d, 20, TreeRules::default(), &mut stream);
    let people = denied(&model, 5, &mut stream);
    for (noise_on, max_rate) in
        [(NoiseOn::All, 0.1), (NoiseOn::Mutable, 0.3), (NoiseOn::Changed, 0.1)]
    {
        let mut setup = setup(model.clone(), max_rate);
        setup.noise_on = noise_on;
        let noise = setup.noise.clone();
        let engine = Engine::new(setup).unwrap();
        let rows = Rows::new(&people, d).unwrap();
        let answers = engine.recourse(rows).unwrap();
        let mut certified = 0;
        for (person, answer) in people.chunks_exact(d).zip(&answers) {
            assert_eq!(walked(&model, person).to_bits(), answer.score_before.to_bits());
            assert_eq!(walked(&model, &answer.point).to_bits(), answer.score_after.to_bits());
            let differs = |j: &usize| person[*j].to_bits() != answer.point[*j].to_bits();
            let changed: Vec<usize> = (0..d).filter(differs).collect();
            assert_eq!(changed.len(), answer.changed, "{person:?} {answer:?}");
            assert!(changed.iter().all(|&j| person[j].is_finite()), "{person:?} {answer:?}");
            if answer.status != Status::Certified {
                continue;
            }
            certified += 1;
            let moved: f64 = changed.iter().map(|&j| (answer.point[j] - person[j]).abs()).sum();
            assert!((answer.cost.unwrap() - moved).abs() < 1e-12);
            assert!(walked(&model, &answer.point) > 0.0);
            let mut draws = vec![0.0; DRAWS * d];
            noise.sample_into(&mut stream, RowsMut::new(&mut draws, d).unwrap());
            let mut x = vec![0.0; d];
            let refused = draws.chunks_exact(d).filter(|errors| {
                for j in 0..d {
                    let noisy = noise_on != NoiseOn::Changed || changed.contains(&j);
                    x[j] = answer.point[j] + if noisy { errors[j] } else { 0.0 };
                }
                walked(&model, &x) <= 0.0
            });
            let rate = refused.count() as f64 / DRAWS as f64;
            let error = (max_rate * (1.0 - max_rate) / DRAWS as f64).sqrt();
            assert!(rate <= max_rate + 4.0 * error, "{noise_on:?}: {rate} above {max_rate}");
        }
        assert!(certified >= 4, "{certified} of 5 with {noise_on:?}");
        // Measured from outside, with the gaps: nothing broken, and the same rates.
        for measured in measure(&engine, rows, &answers).unwrap() {
            let broken = measured.values.iter().flatten().any(|v| *v > 0.0);
            assert!(measured.metric != "violations" || !broken, "{measured:?}");
        }
    }
}

/// More sets of gaps than are kept, in any order, on any number of threads.
#[test]
fn the_same_bits_in_any_order_on_any_number_of_threads() {
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    let d = 6;
    let model = ensemble(d, 8, TreeRules::default(), &mut stream);
    let mut people = Vec::new();
    for pattern in 0..40_u32 {
        people.push(
            (0..d)
                .map(|j| if pattern >> j & 1 == 1 { GAP } else { 0.3 * stream.uniform() })
                .collect(),
        );
    }
    let answers = |threads: usize, people: &[Vec<f64>]| {
        let engine = Engine::new(setup(model.clone(), 0.3)).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| engine.recourse(Rows::new(&people.concat(), d).unwrap()).unwrap())
    };
    let backwards: Vec<Vec<f64>> = people.iter().rev().cloned().collect();
    let (one, many) = (answers(1, &people), answers(4, &[backwards.clone(), backwards].concat()));
    assert!(one.iter().filter(|a| a.status == Status::Certified).count() > 20);
    for (i, b) in many.iter().enumerate() {
        let a = &one[39 - i % 40];
        assert_eq!(
            (bits(&a.point), a.rate, a.rate_upper, a.status),
            (bits(&b.point), b.rate, b.rate_upper, b.status)
        );
    }
}

#[test]
fn a_frontier_keeps_the_gaps() {
    let setup = setup(two_steps(true), 0.1);
    let engine = Engine::new(setup).unwrap();
    let rates = [0.3, 0.1, 0.02];
    let front = engine.frontier(Rows::new(&[GAP, 0.1], 2).unwrap(), &rates).unwrap();
    for (answer, rate) in front[0].iter().zip(rates) {
        assert_eq!(
            (answer.status, answer.point[0].is_nan()),
            (Status::Certified, true),
            "{answer:?}"
        );
        let least = 0.6 + 0.1 * upper_quantile(rate);
        let cost = answer.cost.unwrap();
        assert!(cost >= least - 1e-12 && cost < 1.04 * least, "{cost} {least}");
    }
}

/// Raw input, other units: the gap is one in any of them.
#[test]
fn units_do_not_matter_to_what_is_missing() {
    let scaled = |name: &str, zero: f64, one: f64| Feature {
        scale: Some([zero, one]),
        ..Feature::numeric(name)
    };
    let mut schema = Schema::new(vec![scaled("x0", -2.0, 3.0), scaled("x1", 0.0, 10.0)]);
    schema.model_input = Some(ModelInput::Raw);
    let mut setup = Setup::new(two_steps(false), names(2), Some(&schema), 0.1).unwrap();
    setup.max_rate = 0.1;
    let answer = answer(setup, &[GAP, -4.0]);
    // The step is at 0.3 raw; a deviation of 0.1 scaled is 1 raw.
    let least = (0.3 + 4.0) / 10.0 + 0.1 * upper_quantile(0.1);
    assert_eq!(answer.status, Status::Certified, "{answer:?}");
    let cost = answer.cost.unwrap();
    assert!(cost >= least - 1e-12 && cost < 1.04 * least, "{cost} {least}");
    assert!(upper_tail((answer.point[1] - 0.3) / 1.0) <= 0.1);
}

/// The joint tolerance is shared out over the features that are missed: with x0 there are two,
/// without it one.
#[test]
fn tolerances_leave_out_what_is_missing() {
    let mut setup = setup(two_steps(true), 0.3);
    setup.tolerance = true;
    let engine = Engine::new(setup).unwrap();
    for (x0, noisy) in [(GAP, 1.0_f64), (0.1, 2.0)] {
        let person = [x0, 0.1];
        let mut answer = Answer::new(2);
        engine.session().recourse(&person, &mut answer).unwrap();
        let tolerance = engine.tolerance(&person, &answer).unwrap().unwrap();
        let slack = tolerance.at_target.iter().find(|slack| slack.feature == 1).unwrap();
        assert!(
            tolerance.kappa > 0.0
                && tolerance.at_target.iter().all(|s| x0.is_finite() || s.feature == 1)
        );
        assert!((slack.jointly * noisy.sqrt() - slack.alone).abs() < 1e-15, "{tolerance:?}");
    }
}

/// Of a category with a gap nothing changes; other categories do.
#[test]
fn a_category_with_a_gap_stays() {
    // Favourable where x3 = 1, or x1 = 1: columns 0 and 1 are one category, 2 and 3 another.
    let stump = |feature: usize| Tree {
        feature: vec![feature, 0, 0],
        threshold: vec![0.5, 0.0, 0.0],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, -1.0, 2.0],
        default_left: vec![true; 3],
    };
    let model =
        Arc::new(Trees::new(4, vec![stump(1), stump(3)], TreeRules::default(), 0.0).unwrap());
    let mut setup = setup(model, 0.1);
    let groups = vec![Group::one_hot(vec![0, 1]), Group::one_hot(vec![2, 3])];
    setup.actions = Actions::free(4).with_groups(groups).unwrap();
    setup.noise_on = NoiseOn::Mutable;
    for method in ["probe", "growing-spheres"] {
        setup.method = method.to_owned();
        let engine = Engine::new(setup.clone()).unwrap();
        let mut answer = Answer::new(4);
        for person in [[GAP, GAP, 1.0, 0.0], [1.0, GAP, 1.0, 0.0]] {
            engine.session().recourse(&person, &mut answer).unwrap();
            assert_eq!(bits(&answer.point[..2]), bits(&person[..2]), "{method}: {answer:?}");
            let broken = setup.actions.violations(&person, &answer.point);
            assert!(
                answer.status == Status::None || broken.is_empty(),
                "{method}: {answer:?} {broken:?}"
            );
        }
    }
}

#[test]
fn every_method_keeps_the_gaps_or_refuses() {
    let mut stream = Seed(4).stream(Purpose::Data, 0);
    let d = 4;
    let model = ensemble(d, 6, TreeRules::default(), &mut stream);
    let people = denied(&model, 3, &mut stream);
    let mut serving = Vec::new();
    for entry in METHODS {
        let mut setup = setup(model.clone(), 0.3);
        setup.method = entry.name.to_owned();
        let engine = match Engine::new(setup) {
            Ok(engine) => engine,
            Err(Error::Unsupported { .. }) => continue,
            Err(error) => panic!("{}: {error}", entry.name),
        };
        serving.push(entry.name);
        for (person, answer) in
            people.chunks_exact(d).zip(engine.recourse(Rows::new(&people, d).unwrap()).unwrap())
        {
            assert!(
                (0..d).all(|j| person[j].is_nan() == answer.point[j].is_nan()),
                "{}: {answer:?}",
                entry.name
            );
            let given = matches!(answer.status, Status::Certified | Status::Found);
            assert!(!given || walked(&model, &answer.point) > 0.0, "{}: {answer:?}", entry.name);
        }
    }
    for name in ["probe", "probe-tree", "growing-spheres"] {
        assert!(serving.contains(&name), "{serving:?}");
    }
}

#[test]
fn whoever_lacks_everything_is_told_where_that_leads() {
    let no = answer(setup(two_steps(true), 0.1), &[GAP, GAP]);
    assert_eq!((no.status, no.reason), (Status::None, Some(Reason::NoAdmissibleMove)), "{no:?}");
    let yes = answer(setup(two_steps(false), 0.1), &[GAP, GAP]);
    assert_eq!((yes.status, yes.rate, yes.cost), (Status::Favourable, 0.0, Some(0.0)), "{yes:?}");
    for answer in [no, yes] {
        assert!(answer.point.iter().all(|v| v.is_nan()) && answer.changed == 0);
    }
}

#[test]
fn what_the_model_does_not_take_is_refused_and_named() {
    let people = [0.1, 0.2, 0.1, GAP];
    let refused = |model: Arc<dyn Model>, people: &[f64]| {
        let engine = Engine::new(Setup::new(model, names(2), None, 0.1).unwrap()).unwrap();
        let whole = engine.recourse(Rows::new(people, 2).unwrap()).unwrap_err().to_string();
        let last = &people[people.len() - 2..];
        assert!(engine.session().recourse(last, &mut Answer::new(2)).is_err());
        assert!(engine.session().frontier(last, &[0.1]).is_err());
        assert!(engine.rate(last, None, &MonteCarlo { samples: 10 }).is_err());
        assert!(last.iter().any(|v| v.is_infinite()) || engine.score(last).is_err());
        whole
    };
    let linear = Arc::new(Linear::new(vec![1.0, 1.0], -1.0, 0.0).unwrap());
    let message = refused(linear, &people);
    assert!(message.contains("row 1, feature 'x1'") && message.contains("kind trees"), "{message}");
    let mut plain = two_steps(true).trees()[0].clone();
    plain.default_left.clear();
    let plain = Arc::new(Trees::new(2, vec![plain], TreeRules::default(), 0.0).unwrap());
    let message = refused(plain, &people);
    assert!(message.contains("feature 'x1'") && message.contains("default direction"), "{message}");
    let message = refused(two_steps(true), &[0.1, 0.2, GAP, f64::INFINITY]);
    assert!(message.contains("row 1, feature 'x1': inf is not a finite number"), "{message}");
}

#[test]
fn a_gap_of_the_person_is_one_of_the_point() {
    let engine = Engine::without_method(setup(two_steps(true), 0.1)).unwrap();
    let estimator = MonteCarlo { samples: 10 };
    let message = |point: &[f64], from: &[f64]| {
        engine.rate(point, Some(from), &estimator).unwrap_err().to_string()
    };
    let text = message(&[0.2, 0.9], &[GAP, 0.1]);
    assert!(text.contains("'x0', which the point has and the person has not"), "{text}");
    let text = message(&[GAP, 0.9], &[0.2, 0.1]);
    assert!(text.contains("'x0', which the person has and the point has not"), "{text}");
    assert!(engine.rate(&[GAP, 0.9], None, &estimator).is_ok());
}

/// A feature that is tied to a missing one stays, but people miss it all the same: the rate is that
/// without the relation.
#[test]
fn what_is_tied_to_a_gap_keeps_its_noise() {
    let mut stream = Seed(77).stream(Purpose::Data, 0);
    let model = ensemble(3, 30, TreeRules::default(), &mut stream);
    let schema = |rules: &[&str]| {
        let mut schema = Schema::new(names(3).iter().map(|name| Feature::numeric(name)).collect());
        let rule = |text: &&str| probe_core::schema::Relation {
            rule: Some((*text).to_owned()),
            ..probe_core::schema::Relation::default()
        };
        schema.relations = rules.iter().map(rule).collect();
        schema
    };
    let engine = |rules: &[&str]| {
        let mut setup = Setup::new(model.clone(), names(3), Some(&schema(rules)), 0.1).unwrap();
        setup.max_rate = 0.2;
        Engine::new(setup).unwrap()
    };
    let (tied, free) = (engine(&["x1 <= x0"]), engine(&[]));
    let mut certified = 0;
    for _ in 0..60 {
        let person = [stream.uniform(), GAP, stream.uniform()];
        let answer = &tied.recourse(Rows::single(&person)).unwrap()[0];
        assert_eq!(answer.point[0], person[0]);
        if answer.status == Status::Certified {
            certified += 1;
            let rate =
                free.rate(&answer.point, Some(&person), &Exact { boxes: 1 << 10 }).unwrap().rate;
            assert!((rate - answer.rate).abs() < 1e-9 && rate <= 0.2, "{rate} {answer:?}");
        }
    }
    assert!(certified > 5, "{certified}");
}
