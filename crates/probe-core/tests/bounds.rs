//! Bounds on what answers cost, for networks, trees and functions of rows: nothing that costs less
//! than the bound has a low enough rate, and where a proof says that there is no answer, a grid
//! over everything within reach has none.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::{
    Activation, Answer, BlackBox, Cost, Covariance, Dense, Engine, Gaussian, Linear, Mlp, Model,
    NoiseOn, Purpose, Reason, Rows, RowsMut, Seed, Setup, Status, Stream,
};
use probe_testkit::Stay;
use std::sync::Arc;

const DRAWS: usize = 2_000;

/// A small problem with a person who is refused.
struct Problem {
    setup: Setup,
    person: Vec<f64>,
}

impl Problem {
    fn random(case: u64) -> Self {
        let mut stream = Seed(31).stream(Purpose::Data, case);
        let d = 1 + stream.below(3);
        let person: Vec<f64> = (0..d).map(|_| stream.uniform()).collect();
        let model = refusing(case, &person, &mut stream);
        let names: Vec<String> = (0..d).map(|j| format!("x{j}")).collect();
        let mut setup = Setup::new(model, names, None, 0.1).unwrap();
        let weights = |stream: &mut Stream| (0..d).map(|_| 0.3 + stream.uniform()).collect();
        let norm = ["l1", "l2", "linf"][stream.below(3)];
        setup.cost = Cost::new(norm, weights(&mut stream), weights(&mut stream)).unwrap();
        setup.noise = Arc::new(noise(d, &mut stream));
        setup.noise_on = [NoiseOn::All, NoiseOn::Mutable][stream.below(2)];
        setup.max_rate = [0.05, 0.1, 0.3, 0.6][stream.below(4)];
        if stream.below(2) == 0 {
            setup.actions.intersect(0.0, 1.0).unwrap();
        }
        if d > 1 && stream.below(4) == 0 {
            setup.actions.fix(0);
        }
        if stream.below(5) == 0 {
            setup.actions = setup.actions.with_max_changes(Some(1));
        }
        Self { setup, person }
    }

    fn answer(&self, probe: bool) -> Answer {
        let setup = self.setup.clone();
        let engine = if probe { Engine::new(setup) } else { Engine::with_method(setup, &Stay) };
        engine.unwrap().recourse(Rows::single(&self.person)).unwrap().remove(0)
    }

    /// Whether the model accepts an admissible point.
    fn accepts(&self, point: &[f64]) -> bool {
        self.setup.actions.violations(&self.person, point).is_empty()
            && self.setup.model.score(point).unwrap() > 0.0
    }

    /// Whether `point` surely is an answer: its rate on these errors is below the target by more
    /// than 4.5 standard errors.
    fn is_answer(&self, point: &[f64], errors: &[f64]) -> bool {
        if !self.accepts(point) {
            return false;
        }
        let actions = &self.setup.actions;
        let noisy = |j| self.setup.noise_on == NoiseOn::All || actions.is_mutable_numeric(j);
        let d = point.len();
        let missed = |(i, e): (usize, &f64)| point[i % d] + if noisy(i % d) { *e } else { 0.0 };
        let rows: Vec<f64> = errors.iter().enumerate().map(missed).collect();
        let mut scores = vec![0.0; DRAWS];
        self.setup.model.score_batch(Rows::new(&rows, d).unwrap(), &mut scores).unwrap();
        let refused = scores.iter().filter(|score| **score <= 0.0).count() as f64;
        let (rate, r) = (refused / DRAWS as f64, self.setup.max_rate);
        rate + 4.5 * (r * (1.0 - r) / DRAWS as f64).sqrt() <= r
    }

    /// Whether rates are exact, so that boxes of the space are ruled out.
    fn is_divided(&self) -> bool {
        self.setup.model.as_trees().is_some()
    }

    fn errors(&self, case: u64) -> Vec<f64> {
        let d = self.person.len();
        let mut errors = vec![0.0; DRAWS * d];
        let mut stream = Seed(32).stream(Purpose::Data, case);
        self.setup.noise.sample_into(&mut stream, RowsMut::new(&mut errors, d).unwrap());
        errors
    }

    /// Points that cost a little less than `cost`: single features both ways, and others.
    fn cheaper(&self, cost: f64, stream: &mut Stream) -> Vec<Vec<f64>> {
        let d = self.person.len();
        let mut points = Vec::new();
        for k in 0..2 * d + 8 {
            let mut way: Vec<f64> = (0..d)
                .map(|j| match k {
                    k if k < 2 * d && k / 2 == j => [1.0, -1.0][k % 2],
                    k if k < 2 * d => 0.0,
                    _ => stream.normal(),
                })
                .collect();
            for (j, w) in way.iter_mut().enumerate() {
                *w = if self.setup.actions.is_mutable_numeric(j) { *w } else { 0.0 };
            }
            let to = |t: f64| -> Vec<f64> {
                self.person.iter().zip(&way).map(|(x, w)| x + t * w).collect()
            };
            let unit = self.setup.cost.between(&self.person, &to(1.0));
            if unit > 0.0 {
                points.push(to((1.0 - 1e-9) * cost / unit));
            }
        }
        points
    }

    /// A grid over everything that the person may become.
    fn grid(&self, each: &mut dyn FnMut(&[f64])) {
        const STEPS: usize = 12;
        let d = self.person.len();
        let ends: Vec<(f64, f64)> = (0..d)
            .map(|j| self.setup.actions.interval(j, self.person[j]).unwrap())
            .map(|(low, high)| (low.max(-6.0), high.min(6.0)))
            .collect();
        let mut point = vec![0.0; d];
        for k in 0..(STEPS + 1).pow(d as u32) {
            let mut rest = k;
            for (x, (low, high)) in point.iter_mut().zip(&ends) {
                *x = low + (high - low) * (rest % (STEPS + 1)) as f64 / STEPS as f64;
                rest /= STEPS + 1;
            }
            each(&point);
        }
    }
}

/// A model of one of five kinds that refuses the person.
fn refusing(case: u64, person: &[f64], stream: &mut Stream) -> Arc<dyn Model> {
    let d = person.len();
    let short = 0.02 + 0.4 * stream.uniform();
    let layer = |n_in: usize, n_out: usize, stream: &mut Stream| Dense {
        weight: (0..n_in * n_out).map(|_| stream.normal() / (n_in as f64).sqrt()).collect(),
        bias: (0..n_out).map(|_| 0.5 * stream.normal()).collect(),
    };
    match case % 5 {
        kind @ 0..=2 => {
            let activation = [Activation::Relu, Activation::Tanh, Activation::Relu][kind as usize];
            let mut layers = vec![layer(d, 6, stream), layer(6, 1, stream)];
            if kind == 2 {
                layers.insert(1, layer(6, 6, stream));
            }
            let plain = Mlp::new(layers.clone(), activation, 0.0).unwrap();
            let threshold = plain.score(person).unwrap() + short;
            Arc::new(Mlp::new(layers, activation, threshold).unwrap())
        }
        3 => {
            let tree = |stream: &mut Stream| Tree {
                feature: (0..7).map(|_| stream.below(d)).collect(),
                threshold: (0..7).map(|_| stream.uniform()).collect(),
                left: vec![1, 3, 5, -1, -1, -1, -1],
                right: vec![2, 4, 6, -1, -1, -1, -1],
                value: (0..7).map(|_| 0.5 * stream.normal()).collect(),
                ..Tree::default()
            };
            let trees: Vec<Tree> = (0..4).map(|_| tree(stream)).collect();
            let plain = Trees::new(d, trees.clone(), TreeRules::default(), 0.0).unwrap();
            let threshold = plain.score(person).unwrap() + short;
            Arc::new(Trees::new(d, trees, TreeRules::default(), threshold).unwrap())
        }
        _ => {
            // A straight score that nobody knows to be one: bounds are nearly reached.
            let weights: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
            let now: f64 = weights.iter().zip(person).map(|(w, x)| w * x).sum();
            let linear = Linear::new(weights, -now - short, 0.0).unwrap();
            let score = move |rows: Rows<'_>, scores: &mut [f64]| linear.score_batch(rows, scores);
            Arc::new(BlackBox::new(d, score).unwrap())
        }
    }
}

/// Independent noise, sometimes none on a feature, or correlated noise.
fn noise(d: usize, stream: &mut Stream) -> Gaussian {
    let mut sd: Vec<f64> = (0..d).map(|_| 0.05 + 0.25 * stream.uniform()).collect();
    let covariance = match stream.below(4) {
        0 => {
            let rho = 1.8 * stream.uniform() / d as f64 - 0.9 / d as f64;
            let of = |i: usize, j: usize| if i == j { 1.0 } else { rho } * sd[i] * sd[j];
            Covariance::Full((0..d * d).map(|k| of(k / d, k % d)).collect())
        }
        1 => {
            sd[0] = 0.0;
            Covariance::Diagonal(sd)
        }
        _ => Covariance::Diagonal(sd),
    };
    let mean = (0..d).map(|_| if stream.below(4) == 0 { 0.05 } else { 0.0 }).collect();
    Gaussian::new(mean, covariance).unwrap()
}

#[test]
fn nothing_cheaper_than_the_bound_is_an_answer_and_proofs_hold_on_a_grid() {
    let (mut bounds, mut accepted, mut none, mut unreachable) = (0, 0, 0, 0);
    for case in 0..4_000 {
        let problem = Problem::random(case);
        let answer = problem.answer(false);
        assert!(answer.cost_lower >= 0.0 && answer.status == Status::None, "{answer:?}");
        let errors = problem.errors(case);
        let mut stream = Seed(33).stream(Purpose::Data, case);
        bounds += usize::from(answer.cost_lower > 0.0);
        for point in problem.cheaper(answer.cost_lower, &mut stream) {
            accepted += usize::from(problem.accepts(&point));
            let wrong = problem.is_answer(&point, &errors);
            assert!(!wrong, "case {case}: {point:?} {answer:?}");
        }
        if !answer.proven {
            assert_eq!(answer.reason, Some(Reason::NotFound), "case {case}: {answer:?}");
            continue;
        }
        let by_rate = answer.reason == Some(Reason::RateNotReachable);
        *(if by_rate { &mut unreachable } else { &mut none }) += 1;
        problem.grid(&mut |point| {
            let wrong = match by_rate {
                true => problem.is_answer(point, &errors),
                false => problem.accepts(point),
            };
            assert!(!wrong, "case {case}: {point:?} {answer:?}");
        });
    }
    let counts = (bounds, accepted, none, unreachable);
    eprintln!("{counts:?}");
    assert!(bounds > 2_000 && accepted > 1_000 && none > 100 && unreachable > 5, "{counts:?}");
}

#[test]
fn answers_cost_no_less_than_their_bound_and_say_what_is_proven() {
    let (mut certified, mut bounds, mut proven) = (0, 0, 0);
    for case in 0..300 {
        let problem = Problem::random(case);
        let (answer, alone) = (problem.answer(true), problem.answer(false));
        // What is proven of the person does not depend on what was found.
        if answer.status == Status::Certified {
            certified += 1;
            bounds += usize::from(answer.cost_lower > 0.0);
            let cost = answer.cost.unwrap();
            if problem.is_divided() {
                // With an answer, less of the space is divided, and so more finely.
                assert!(answer.cost_lower <= cost, "case {case}: {answer:?}");
            } else {
                let lower = alone.cost_lower.min(cost);
                assert_eq!(answer.cost_lower, lower, "case {case}: {answer:?}");
            }
            assert!(!alone.proven && answer.proven == (cost <= 1e-6), "case {case}: {answer:?}");
        } else {
            proven += usize::from(answer.proven);
            assert_eq!(answer.cost_lower, alone.cost_lower, "case {case}: {answer:?}");
            assert_eq!(answer.proven, alone.proven, "case {case}: {answer:?}");
            let searched = [Reason::NotFound, Reason::NotCertified, Reason::SearchLimit];
            let unproven = searched.contains(&answer.reason.unwrap());
            assert_eq!(unproven, !answer.proven, "case {case}: {answer:?}");
        }
    }
    assert!(certified > 150 && bounds > 100 && proven > 10, "{certified} {bounds} {proven}");
}

/// Trees on one number that accept between the first two of these cuts and above the third, under
/// noise with a standard deviation of 0.1.
fn strip_and_more(cuts: [f64; 3]) -> Setup {
    let tree = Tree {
        feature: vec![0; 7],
        threshold: vec![cuts[1], cuts[0], cuts[2], 0.0, 0.0, 0.0, 0.0],
        left: vec![1, 3, 5, -1, -1, -1, -1],
        right: vec![2, 4, 6, -1, -1, -1, -1],
        value: vec![0.0, 0.0, 0.0, -1.0, 1.0, -1.0, 1.0],
        ..Tree::default()
    };
    // A second tree that changes nothing: rates of a single tree are computed in another way.
    let other = Tree { value: vec![0.0, 0.0, 0.0, -0.1, 0.1, -0.1, 0.1], ..tree.clone() };
    let model = Trees::new(1, vec![tree, other], TreeRules::default(), 0.0).unwrap();
    let mut setup = Setup::new(Arc::new(model), vec!["x".to_owned()], None, 0.1).unwrap();
    setup.max_rate = 0.1;
    setup
}

/// The strip makes the person's margin large, so that the distance alone says little. The cheapest
/// answer lies beyond it, where the upper accepted region starts: at the cut plus 1.2816 standard
/// deviations, the 90 % quantile of the normal distribution, as the strip is far away by then.
#[test]
fn boxes_rule_out_a_strip_that_is_too_narrow() {
    let setup = strip_and_more([0.1, 0.22, 1.0]);
    let engine = Engine::new(setup).unwrap();
    let answer = engine.recourse(Rows::single(&[0.0])).unwrap().remove(0);
    let least = 1.0 + 0.1 * 1.281_551_565_5;
    assert_eq!(answer.status, Status::Certified);
    assert!(answer.cost.unwrap() <= 1.001 * least, "{answer:?}");
    assert!(answer.cost_lower <= least && answer.cost_lower >= 0.985 * least, "{answer:?}");
}

/// Within the bounds only the strip is accepted: at its middle 0.16 the rate is 2 Φ(−0.6) = 0.549,
/// and nowhere lower.
#[test]
fn boxes_prove_that_no_rate_is_low_enough() {
    let mut setup = strip_and_more([0.1, 0.22, 1.9]);
    setup.actions.intersect(0.0, 1.0).unwrap();
    for (rate, reachable) in [(0.5, false), (0.56, true)] {
        setup.max_rate = rate;
        let engine = Engine::new(setup.clone()).unwrap();
        let answer = engine.recourse(Rows::single(&[0.0])).unwrap().remove(0);
        assert_eq!(answer.status == Status::Certified, reachable, "{answer:?}");
        if !reachable {
            assert_eq!(answer.reason, Some(Reason::RateNotReachable), "{answer:?}");
            assert!(answer.proven, "{answer:?}");
        }
    }
}
