//! Random problems of each kind that an audit found faults in.

use crate::chance::{Chance, Family, Law};
use crate::own_model::{ACTIVATIONS, Node, Own, Shift};
use crate::subject::{Column, Part, Problem};
use probe_core::{Activation, Coding, NoiseOn};

const NORMS: [&str; 3] = ["l1", "l2", "linf"];
/// Points that tell which share of all points a model accepts.
const POINTS: usize = 300;

fn number(chance: &mut Chance) -> Column {
    let part =
        Part::Number { scale: [0.0, 1.0], low: Some(0.0), high: Some(1.0), step: None, way: 0.0 };
    Column { part, mutable: true, cost: chance.between(0.5, 2.0) }
}

/// A number with its own units, steps and limits.
fn any_number(chance: &mut Chance) -> Column {
    let width = chance.pick(&[1.0, 10.0, 50.0, 1000.0]);
    let zero = chance.pick(&[0.0, -0.35, 2.49, -12.0]);
    let (low, high) = chance.pick(&[(true, true), (true, true), (true, false), (false, true)]);
    let step = match chance.below(4) {
        0 => Some(width / chance.pick(&[4.0, 10.0, 25.0])),
        1 if (10.0..=50.0).contains(&width) => Some(1.0),
        _ => None,
    };
    let part = Part::Number {
        scale: [zero, zero + width],
        low: low.then_some(zero),
        high: high.then_some(zero + width),
        step,
        way: chance.pick(&[0.0, 0.0, 0.0, 1.0, -1.0]),
    };
    Column { part, mutable: !chance.one_in(8), cost: chance.between(0.5, 2.0) }
}

fn category(chance: &mut Chance, may_fail: bool) -> Column {
    let coding = chance.pick(&[Coding::Onehot, Coding::Onehot, Coding::Binary, Coding::Ordinal]);
    let n = if coding == Coding::Binary { 2 } else { 2 + chance.below(3) };
    let p_fail = if may_fail { chance.pick(&[0.0, 0.0, 0.03, 0.15]) } else { 0.0 };
    let part = Part::Category { coding, n, p_fail };
    Column { part, mutable: !chance.one_in(8), cost: chance.between(0.05, 0.6) }
}

/// A raw row anywhere within the limits.
fn anywhere(columns: &[Column], chance: &mut Chance) -> Vec<f64> {
    let value = |column: &Column| match column.part {
        Part::Number { scale: [zero, one], step, .. } => {
            let on_step = !chance.one_in(4);
            match step {
                Some(s) if on_step => {
                    let (first, last) = ((zero / s).ceil(), (one / s).floor());
                    s * (first + chance.below((last - first) as usize + 1) as f64)
                }
                _ => chance.between(zero, one),
            }
        }
        Part::Category { n, .. } => chance.below(n) as f64,
    };
    columns.iter().map(value).collect()
}

fn noise(chance: &mut Chance, n_columns: usize) -> Law {
    let family = match chance.below(7) {
        0 | 1 => Family::Gaussian,
        2 => Family::Uniform,
        3 => Family::Laplace,
        4 => Family::StudentT { df: chance.pick(&[3, 5, 8]) },
        5 => {
            Family::Effort { rho: chance.pick(&[0.0, 0.2, 0.4]), a: chance.pick(&[0.0, -0.2, 0.3]) }
        }
        _ => {
            let n = chance.pick(&[5, 20, 100]);
            let sd = chance.pick(&[0.03, 0.1, 0.2]);
            return Law::Residuals((0..n).map(|_| chance.normals(n_columns, sd)).collect());
        }
    };
    let correlated = family == Family::Gaussian && chance.one_in(3);
    let common = if correlated { 0.5 } else { 0.0 };
    Law::Family { family, sd: chance.pick(&[0.02, 0.05, 0.1, 0.2]), common }
}

/// Sets the model's threshold so that it accepts a random share of all points, and draws somebody
/// whom it rejects.
fn finish(mut problem: Problem, chance: &mut Chance) -> Option<Problem> {
    let rows: Vec<Vec<f64>> = (0..POINTS).map(|_| anywhere(&problem.columns, chance)).collect();
    let mut scores: Vec<f64> = rows.iter().map(|row| problem.score(row)).collect();
    scores.sort_by(f64::total_cmp);
    // Half of the models accept little.
    let accepted =
        if chance.one_in(2) { chance.between(0.01, 0.1) } else { chance.between(0.1, 0.7) };
    let at = ((1.0 - accepted) * POINTS as f64) as usize;
    problem.model.set_threshold(0.5 * (scores[at.min(POINTS - 1)] + scores[at.saturating_sub(1)]));
    (0..50)
        .map(|_| anywhere(&problem.columns, chance))
        .find(|row| problem.score(row) <= 0.0)
        .map(|person| Problem { person, ..problem })
}

fn problem(columns: Vec<Column>, model: Own, law: Law, chance: &mut Chance) -> Problem {
    let most = columns.len();
    Problem {
        columns,
        model,
        person: Vec::new(),
        law,
        noise_on: chance.pick(&[NoiseOn::All, NoiseOn::Mutable, NoiseOn::Changed]),
        shift: None,
        norm: chance.pick(&NORMS),
        rate: chance.pick(&[0.05, 0.1, 0.2, 0.35]),
        max_changes: chance.one_in(5).then(|| 1 + chance.below(most)),
        seed: chance.below(1000) as u64,
    }
}

fn any_model(n: usize, chance: &mut Chance) -> Own {
    match chance.below(2) {
        0 => Own::trees(n, chance),
        _ => {
            let activation = chance.pick(&ACTIVATIONS);
            Own::network(n, activation, chance)
        }
    }
}

/// Small networks in a box, under each family of noise and each cost.
pub(crate) fn networks(chance: &mut Chance) -> Option<Problem> {
    let n = 1 + chance.below(3);
    let columns = (0..n).map(|_| number(chance)).collect();
    let activation = chance.pick(&ACTIVATIONS);
    let model = Own::network(n, activation, chance);
    let law = noise(chance, n);
    finish(problem(columns, model, law, chance), chance)
}

/// Random forests and boosted trees of two to four features.
pub(crate) fn trees(chance: &mut Chance) -> Option<Problem> {
    let n = 2 + chance.below(3);
    let columns = (0..n).map(|_| number(chance)).collect();
    let model = Own::trees(n, chance);
    let law = noise(chance, n);
    finish(problem(columns, model, law, chance), chance)
}

/// Linear models under noise that grows with the change, residuals, and changes of the model; with
/// steps and categories.
pub(crate) fn linear(chance: &mut Chance) -> Option<Problem> {
    let mut columns: Vec<Column> = (0..1 + chance.below(3)).map(|_| any_number(chance)).collect();
    columns.extend((0..chance.below(3)).map(|_| category(chance, false)));
    let d = columns.iter().map(Column::n_columns).sum();
    let model = Own::linear(d, chance);
    let sd = chance.pick(&[0.02, 0.05, 0.1]);
    let of = |family| Law::Family { family, sd, common: 0.0 };
    let kind = chance.below(5);
    let law = match kind {
        0 => of(Family::Effort {
            rho: chance.pick(&[0.1, 0.2, 0.4]),
            a: chance.pick(&[0.0, -0.2, 0.3]),
        }),
        1 => {
            Law::Residuals((0..chance.pick(&[5, 20, 100])).map(|_| chance.normals(d, sd)).collect())
        }
        _ => of(Family::Gaussian),
    };
    let mut problem = problem(columns, model, law, chance);
    if kind >= 2 {
        problem.max_changes = None;
        problem.noise_on =
            if problem.noise_on == NoiseOn::Changed { NoiseOn::All } else { problem.noise_on };
        problem.shift = Some(match kind {
            2 => Shift::Gaussian(chance.pick(&[0.01, 0.1, 0.3])),
            3 => Shift::Relative(chance.pick(&[0.01, 0.1, 0.3])),
            _ => Shift::Bounded(chance.pick(&[0.01, 0.1, 0.3])),
        });
        if kind == 4 {
            problem.noise_on = NoiseOn::All;
        }
    }
    finish(problem, chance)
}

/// Linear models and networks that may change by little, much, or more than the score can hold.
pub(crate) fn shifts(chance: &mut Chance) -> Option<Problem> {
    let mut columns: Vec<Column> = (0..1 + chance.below(2)).map(|_| any_number(chance)).collect();
    columns.extend((0..chance.below(2)).map(|_| category(chance, false)));
    let d = columns.iter().map(Column::n_columns).sum();
    let linear = chance.one_in(2);
    let activation = chance.pick(&ACTIVATIONS);
    let model = if linear { Own::linear(d, chance) } else { Own::network(d, activation, chance) };
    let family =
        if linear { Family::Gaussian } else { chance.pick(&[Family::Gaussian, Family::Uniform]) };
    let law = Law::Family { family, sd: chance.pick(&[0.02, 0.1]), common: 0.0 };
    let size = match chance.below(4) {
        0 => chance.pick(&[1e3, 1e6, 1e20, 1e99]),
        _ => 10_f64.powf(chance.between(-2.5, 1.0)),
    };
    let mut problem = problem(columns, model, law, chance);
    problem.shift = Some(match chance.below(if linear { 3 } else { 2 }) {
        0 => Shift::Gaussian(size),
        1 => Shift::Relative(size),
        _ => Shift::Bounded(size),
    });
    if linear {
        problem.max_changes = None;
    }
    if problem.noise_on == NoiseOn::Changed || matches!(problem.shift, Some(Shift::Bounded(_))) {
        problem.noise_on = NoiseOn::All;
    }
    finish(problem, chance)
}

/// Networks and trees with steps, whole numbers, categories, half-open ranges, directions, changes
/// that may fail and limits on the number of changes.
pub(crate) fn schemas(chance: &mut Chance) -> Option<Problem> {
    let mut columns: Vec<Column> = (0..1 + chance.below(3)).map(|_| any_number(chance)).collect();
    let may_fail = chance.one_in(2);
    columns.extend((0..chance.below(3)).map(|_| category(chance, may_fail)));
    let d = columns.iter().map(Column::n_columns).sum();
    let model = any_model(d, chance);
    let mut law = noise(chance, d);
    if may_fail && !matches!(law, Law::Family { family: Family::Gaussian, .. }) {
        law = Law::Family { family: Family::Gaussian, sd: 0.05, common: 0.0 };
    }
    let mut problem = problem(columns, model, law, chance);
    if problem.has_failures() && problem.noise_on == NoiseOn::Changed {
        problem.noise_on = NoiseOn::Mutable;
    }
    finish(problem, chance)
}

/// People who are rejected though most errors around them are accepted: their own rate is at most
/// the target.
pub(crate) fn low_own_rates(chance: &mut Chance) -> Option<Problem> {
    let mut problem = schemas(chance)?;
    if problem.shift.is_some() || !matches!(problem.law, Law::Family { .. }) {
        return None;
    }
    let Law::Family { sd, .. } = problem.law else { return None };
    // Somebody whom the model accepts, until a narrow pit is dug around them.
    let accepted = (0..200)
        .map(|_| anywhere(&problem.columns, chance))
        .find(|row| problem.score(row) > 0.0)?;
    let number = |column: &Column| matches!(column.part, Part::Number { .. }) && column.mutable;
    let numbers: Vec<usize> =
        (0..problem.columns.len()).filter(|k| number(&problem.columns[*k])).collect();
    let k = *numbers.get(chance.below(numbers.len().max(1)))?;
    let j: usize = problem.columns[..k].iter().map(Column::n_columns).sum();
    problem.person = accepted;
    let at = problem.encode(&problem.person)[j];
    let width = sd * chance.pick(&[1e-6, 0.01, 0.1]);
    dig(&mut problem.model, j, at, width);
    let draws = problem.draws(2_000, chance);
    let own = problem.rate(&problem.person.clone(), &draws, 2_000);
    (problem.score(&problem.person) <= 0.0 && own <= problem.rate).then_some(problem)
}

/// Makes the score very low within `width` of `at` in column `j`.
fn dig(model: &mut Own, j: usize, at: f64, width: f64) {
    const DEEP: f64 = 1e3;
    match model {
        Own::Linear { .. } => {}
        Own::Trees { trees, aggregate, threshold, .. } => {
            // As a sum, so that one tree can decide.
            if *aggregate != probe_core::model::Aggregate::Sum {
                let n = trees.len() as f64;
                let vote = *aggregate == probe_core::model::Aggregate::Vote;
                for node in trees.iter_mut().flatten() {
                    let leaf =
                        if vote { f64::from(u8::from(node.value > 0.5)) } else { node.value };
                    node.value = leaf / n;
                }
                *threshold += 0.5;
                *aggregate = probe_core::model::Aggregate::Sum;
            }
            trees.push(vec![
                Node::split(j, at - width, 1, 2),
                Node::leaf(0.0),
                Node::split(j, at + width, 3, 4),
                Node::leaf(-DEEP),
                Node::leaf(0.0),
            ]);
        }
        Own::Network { layers, activation, .. } => {
            // Three more rectifiers in the first layer, handed through the second if there is one.
            if *activation != Activation::Relu {
                return;
            }
            let n_in = layers[0].n_in;
            for (shift, _) in [(1.0, 1.0), (0.0, -2.0), (-1.0, 1.0)] {
                let mut weights = vec![0.0; n_in];
                weights[j] = 1.0 / width;
                layers[0].weight.extend(weights);
                layers[0].bias.push(shift - at / width);
            }
            let tent = [1.0, -2.0, 1.0];
            let last = layers.len() - 1;
            for (l, layer) in layers.iter_mut().enumerate().skip(1) {
                let n_out = layer.bias.len();
                let extra = if l == 1 { 3 } else { 1 };
                let old = layer.n_in;
                let mut weight = Vec::new();
                for unit in 0..n_out {
                    weight.extend_from_slice(&layer.weight[unit * old..(unit + 1) * old]);
                    let into = if l == last { -DEEP } else { 0.0 };
                    let shape: Vec<f64> = if l == 1 { tent.to_vec() } else { vec![1.0] };
                    weight.extend(shape.iter().map(|t| into * t));
                }
                layer.n_in = old + extra;
                if l < last {
                    weight.extend(vec![0.0; old]);
                    weight.extend(if l == 1 { tent.to_vec() } else { vec![1.0] });
                    layer.bias.push(0.0);
                }
                layer.weight = weight;
            }
        }
    }
}
