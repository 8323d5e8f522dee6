//! The cheapest admissible row, by the solver and by trying all.

use super::world::World;
use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::{Activation, Dense, Engine, Linear, Mlp, Model, Purpose, Rows, Seed, Setup, Status, Stream};
use std::sync::Arc;

const NORMS: [&str; 3] = ["l1", "l2", "linf"];

#[test]
fn the_cheapest_row_of_a_linear_model_is_found() {
    let (mut reached, mut refused) = (0, 0);
    for case in 0..1_000 {
        let mut stream = Seed(7).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let names = world.schema.column_names();
        let weights: Vec<f64> = names.iter().map(|_| 2.0 * stream.uniform() - 1.0).collect();
        let at = world.encoded(&world.person);
        let norm = case as usize % 3;
        let mut setup = Setup::new(
            Arc::new(Linear::new(weights.clone(), 0.0, 0.0).unwrap()),
            names.clone(),
            Some(&world.schema),
            0.1,
        )
        .unwrap();
        let mut scaled = vec![0.0; at.len()];
        setup.space.scale_into(&at, &mut scaled);
        let now: f64 = weights.iter().zip(&scaled).map(|(w, x)| w * x).sum();
        let bias = -now - 0.05 - 0.6 * stream.uniform();
        setup.model = Arc::new(Linear::new(weights.clone(), bias, 0.0).unwrap());
        setup.max_rate = [0.05, 0.1, 0.3][stream.below(3)];
        setup.set_norm(NORMS[norm]).unwrap();
        let most = if stream.below(3) == 0 { 1 + stream.below(2) } else { usize::MAX };
        setup.actions = setup.actions.with_max_changes((most != usize::MAX).then_some(most));
        let (r, space) = (setup.max_rate, setup.space.clone());
        let sd: f64 = (0..names.len())
            .filter(|&j| setup.actions.is_mutable_numeric(j))
            .map(|j| (0.1 * weights[j]).powi(2))
            .sum::<f64>()
            .sqrt();
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&at)).unwrap()[0];
        // Every row there is.
        let mut least = f64::INFINITY;
        world.rows(most, &mut |row| {
            space.scale_into(&world.encoded(row), &mut scaled);
            let score = bias + weights.iter().zip(&scaled).map(|(w, x)| w * x).sum::<f64>();
            let rate = if sd > 0.0 { probe_core::math::normal::upper_tail(score / sd) } else { 0.0 };
            if score > 1e-9 && rate <= r {
                least = least.min(world.costs(row)[norm]);
            }
        });
        if least.is_finite() {
            reached += 1;
            assert_eq!(answer.status, Status::Certified, "case {case}: brute force pays {least}, {answer:?}");
            let cost = answer.cost.unwrap();
            assert!(
                (cost - least).abs() <= 1e-9 * least.max(1.0),
                "case {case}: {cost}, brute force {least}"
            );
            let mut row = vec![0.0; world.person.len()];
            let encoding = world.encoding();
            encoding.decode_into(&answer.point, &mut row).unwrap();
            for (k, value) in row.iter().enumerate() {
                assert!(
                    world.values[k].contains(value),
                    "case {case}: feature {k} is {value}: {:?}",
                    world.values[k]
                );
            }
            let changed = row.iter().zip(&world.person).filter(|(a, b)| a != b).count();
            assert!(changed <= most && changed == answer.changed, "case {case}");
        } else {
            refused += 1;
            assert_ne!(answer.status, Status::Certified, "case {case}: brute force finds nothing");
            assert!(answer.reason.is_some());
        }
    }
    assert!(reached > 400 && refused > 50, "{reached} reached, {refused} refused");
}

/// A network whose score at `at` is minus `short`.
pub(crate) fn network(at: &[f64], short: f64, stream: &mut Stream) -> Arc<dyn Model> {
    let widths = [at.len(), 8, 1];
    let layer = |pair: &[usize], stream: &mut Stream| Dense {
        weight: (0..pair[0] * pair[1]).map(|_| stream.normal() * (2.0 / pair[0] as f64).sqrt()).collect(),
        bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
    };
    let layers: Vec<Dense> = widths.windows(2).map(|pair| layer(pair, stream)).collect();
    let plain = Mlp::new(layers.clone(), Activation::Relu, 0.0).unwrap();
    let score = plain.score(at).unwrap();
    Arc::new(Mlp::new(layers, Activation::Relu, score + short).unwrap())
}

/// Trees of depth two whose score at `at` is minus `short`.
pub(crate) fn trees(at: &[f64], short: f64, stream: &mut Stream) -> Arc<dyn Model> {
    let d = at.len();
    let tree = |stream: &mut Stream| Tree {
        feature: (0..7).map(|_| stream.below(d)).collect(),
        threshold: (0..7).map(|_| stream.uniform()).collect(),
        left: vec![1, 3, 5, -1, -1, -1, -1],
        right: vec![2, 4, 6, -1, -1, -1, -1],
        value: (0..7).map(|_| 0.3 * stream.normal()).collect(),
        ..Tree::default()
    };
    let trees: Vec<Tree> = (0..12).map(|_| tree(stream)).collect();
    let plain = Trees::new(d, trees.clone(), TreeRules::default(), 0.0).unwrap();
    let score = plain.score(at).unwrap();
    Arc::new(Trees::new(d, trees, TreeRules::default(), score + short).unwrap())
}

/// Makes a model whose score at a point is minus so much.
pub(crate) type Maker = fn(&[f64], f64, &mut Stream) -> Arc<dyn Model>;

/// How many of the cases had an answer that was within 5 % of the cheapest row, and how many had one at all.
fn compare(n_cases: u64, make: Maker) -> (usize, usize) {
    const DRAWS: usize = 4_000;
    let (mut good, mut all) = (0, 0);
    for case in 0..n_cases {
        let mut stream = Seed(8).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let names = world.schema.column_names();
        let at = world.encoded(&world.person);
        let space = world.encoding().columns().space();
        let mut scaled = vec![0.0; at.len()];
        space.scale_into(&at, &mut scaled);
        let model = make(&scaled, 0.05 + 0.3 * stream.uniform(), &mut stream);
        let mut setup = Setup::new(Arc::clone(&model), names.clone(), Some(&world.schema), 0.1).unwrap();
        let r = [0.1, 0.3][stream.below(2)];
        setup.max_rate = r;
        let active: Vec<bool> = (0..names.len()).map(|j| setup.actions.is_mutable_numeric(j)).collect();
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&at)).unwrap()[0];
        let errors: Vec<f64> = (0..DRAWS * names.len()).map(|_| 0.1 * stream.normal()).collect();
        // Clearly favourable rows by trying out, cheapest first; the smallest rates that 4,000 draws tell from r.
        let mut least = f64::INFINITY;
        world.rows(usize::MAX, &mut |row| {
            let cost = world.costs(row)[0];
            space.scale_into(&world.encoded(row), &mut scaled);
            if cost >= least || model.score(&scaled).unwrap() <= 1e-9 {
                return;
            }
            let mut noisy = scaled.clone();
            let refused = errors.chunks(names.len()).filter(|errors| {
                for j in 0..names.len() {
                    noisy[j] = scaled[j] + if active[j] { errors[j] } else { 0.0 };
                }
                model.score(&noisy).unwrap() <= 0.0
            });
            if (refused.count() as f64) < 0.8 * r * DRAWS as f64 {
                least = cost;
            }
        });
        if answer.status == Status::Certified {
            let mut row = vec![0.0; world.person.len()];
            world.encoding().decode_into(&answer.point, &mut row).unwrap();
            for (k, value) in row.iter().enumerate() {
                assert!(world.values[k].contains(value), "case {case}: feature {k} is {value}");
            }
            let cost = world.costs(&row)[0];
            assert!((answer.cost.unwrap() - cost).abs() < 1e-9, "case {case}");
        }
        if least.is_finite() {
            all += 1;
            let near = answer.status == Status::Certified && answer.cost.unwrap() <= 1.05 * least + 1e-9;
            if !near {
                eprintln!(
                    "case {case}: {:?} {:?} {:?}, brute force {least}",
                    answer.status, answer.reason, answer.cost
                );
            }
            good += usize::from(near);
        }
    }
    (good, all)
}

#[test]
fn answers_on_networks_are_near_the_cheapest_row() {
    let (good, all) = compare(300, network);
    eprintln!("{good} of {all}");
    assert!(all > 100 && good as f64 >= 0.97 * all as f64, "{good} of {all} within 5 %");
}

#[test]
fn answers_on_trees_are_near_the_cheapest_row() {
    let (good, all) = compare(150, trees);
    eprintln!("{good} of {all}");
    assert!(all > 50 && good as f64 >= 0.97 * all as f64, "{good} of {all} within 5 %");
}

#[test]
fn a_model_that_may_change_has_categories_and_steps_too() {
    let mut known = probe_core::invalidation::RATES.iter();
    let estimator = known.find(|entry| entry.name == "closed-form").unwrap().item;
    let (mut reached, mut refused) = (0, 0);
    for case in 0..150 {
        let mut stream = Seed(9).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let names = world.schema.column_names();
        let weights: Vec<f64> = names.iter().map(|_| 2.0 * stream.uniform() - 1.0).collect();
        let at = world.encoded(&world.person);
        let model = |bias: f64| Arc::new(Linear::new(weights.clone(), bias, 0.0).unwrap());
        let mut setup = Setup::new(model(0.0), names.clone(), Some(&world.schema), 0.1).unwrap();
        let mut scaled = vec![0.0; at.len()];
        setup.space.scale_into(&at, &mut scaled);
        let now: f64 = weights.iter().zip(&scaled).map(|(w, x)| w * x).sum();
        setup.model = model(-now - 0.05 - 0.3 * stream.uniform());
        setup.max_rate = 0.3;
        setup.shift = Some(probe_core::ModelShift::Gaussian(0.05));
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&at)).unwrap()[0];
        let mut least = f64::INFINITY;
        world.rows(usize::MAX, &mut |row| {
            let point = world.encoded(row);
            let cost = world.costs(row)[0];
            if cost < least && engine.score(&point).unwrap() > 1e-9 {
                let rate = engine.rate(&point, Some(&at), estimator).unwrap().rate;
                least = if rate <= 0.3 * (1.0 - 1e-9) { cost } else { least };
            }
        });
        if least.is_finite() {
            reached += 1;
            assert_eq!(answer.status, Status::Certified, "case {case}: brute force pays {least}, {answer:?}");
            let cost = answer.cost.unwrap();
            assert!(cost <= least + 1e-6, "case {case}: {cost}, brute force {least}");
        } else {
            refused += 1;
            assert!(answer.reason.is_some(), "case {case}: {answer:?}");
        }
    }
    assert!(reached > 40 && refused > 10, "{reached} {refused}");
}
