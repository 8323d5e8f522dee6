//! The whole problem as one mixed-integer program, written from the instance and not from the
//! enumeration's view.

use super::lp::{optimum, sum_of};
use super::view::quantile;
use super::{OutOfScope, Reference};
use crate::instance::{Direction, Instance, Mask, Norm};
use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

/// The moves of one column, up and down.
struct Moves {
    up: Variable,
    down: Variable,
}

/// Solves l1 or linf with groups and limited changes as one MILP.
///
/// Out of scope: l2, noise on changed columns, and limited changes where a column has an infinite
/// interval (no big M).
pub fn solve_milp(instance: &Instance, norm: Norm) -> Result<Option<Reference>, OutOfScope> {
    let refuse = |why: &str| Err(OutOfScope(why.to_owned()));
    let n = instance.n_columns();
    let group_of = |j: usize| instance.groups.iter().position(|g| g.columns.contains(&j));
    let noisy: Vec<usize> = match (norm, instance.noise.mask) {
        (Norm::L2, _) => return refuse("l2 is not linear"),
        (_, Mask::Changed) => return refuse("the needed score depends on the changes"),
        (_, Mask::All) => (0..n).collect(),
        (_, Mask::Mutable) => {
            (0..n).filter(|&j| instance.features[j].mutable && group_of(j).is_none()).collect()
        }
    };
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let summed = if norm == Norm::L1 { 1.0 } else { 0.0 };
    let largest = problem.add_var(1.0 - summed, (0.0, f64::INFINITY));
    let (mut gains, mut counted, mut moves) = (Vec::new(), Vec::new(), Vec::new());
    for j in 0..n {
        let f = &instance.features[j];
        let (low, high) = match group_of(j) {
            // A grouped column's move is what its option indicator says; see below.
            Some(_) => (-instance.person[j], 1.0 - instance.person[j]),
            None => match room(instance, j) {
                Some(ends) => ends,
                None => return Ok(None),
            },
        };
        let up = problem.add_var(summed * f.cost_up, (low.max(0.0), high.max(0.0)));
        let down = problem.add_var(summed * f.cost_down, ((-high).max(0.0), (-low).max(0.0)));
        if norm == Norm::Linf {
            let terms = [(largest, 1.0), (up, -f.cost_up), (down, -f.cost_down)];
            problem.add_constraint(sum_of(&terms), ComparisonOp::Ge, 0.0);
        }
        gains.extend([(up, instance.weights[j]), (down, -instance.weights[j])]);
        if group_of(j).is_none() && instance.max_changes.is_some() && (low < 0.0 || high > 0.0) {
            if low.is_infinite() || high.is_infinite() {
                return refuse("limited changes in an infinite room");
            }
            let changes = problem.add_binary_var(0.0);
            problem.add_constraint(
                sum_of(&[(up, 1.0), (changes, -high.max(0.0))]),
                ComparisonOp::Le,
                0.0,
            );
            problem.add_constraint(
                sum_of(&[(down, 1.0), (changes, low.min(0.0))]),
                ComparisonOp::Le,
                0.0,
            );
            counted.push((changes, 1.0));
        }
        moves.push(Moves { up, down });
    }
    for group in &instance.groups {
        let fixed = group.columns.iter().any(|&c| !instance.features[c].mutable);
        let from = group.columns.iter().position(|&c| instance.person[c] == 1.0);
        let mut one = Vec::new();
        for (to, &c) in group.columns.iter().enumerate() {
            let takes = problem.add_binary_var(0.0);
            one.push((takes, 1.0));
            // The column ends at its indicator: x + up − down = takes.
            let ends = [(moves[c].up, 1.0), (moves[c].down, -1.0), (takes, -1.0)];
            problem.add_constraint(sum_of(&ends), ComparisonOp::Eq, -instance.person[c]);
            let allowed =
                group.allowed.is_empty() || from.is_some_and(|from| group.allowed[from][to]);
            if from == Some(to) {
                let leaves = problem.add_binary_var(0.0);
                problem.add_constraint(
                    sum_of(&[(takes, 1.0), (leaves, 1.0)]),
                    ComparisonOp::Eq,
                    1.0,
                );
                counted.push((leaves, 1.0));
            } else if fixed || !allowed {
                problem.add_constraint(sum_of(&[(takes, 1.0)]), ComparisonOp::Eq, 0.0);
            }
        }
        problem.add_constraint(sum_of(&one), ComparisonOp::Eq, 1.0);
    }
    if let Some(most) = instance.max_changes {
        problem.add_constraint(sum_of(&counted), ComparisonOp::Le, most as f64);
    }
    let missing = needed(instance, &noisy) - instance.score(&instance.person);
    problem.add_constraint(sum_of(&gains), ComparisonOp::Ge, missing);
    let Some(solution) = optimum(&problem)? else { return Ok(None) };
    let at = |(x, m): (&f64, &Moves)| x + solution.var_value(m.up) - solution.var_value(m.down);
    let point = instance.person.iter().zip(&moves).map(at).collect();
    Ok(Some(Reference { cost: solution.objective(), point }))
}

/// How far a numeric column may move down (negative or forced positive) and up.
fn room(instance: &Instance, j: usize) -> Option<(f64, f64)> {
    let (f, x) = (&instance.features[j], instance.person[j]);
    let (mut low, mut high) = (f.low - x, f.high - x);
    if !instance.strict {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    if !f.mutable || f.direction != Direction::Any {
        low = if f.mutable && f.direction == Direction::Decrease { low } else { low.max(0.0) };
        high = if f.mutable && f.direction == Direction::Increase { high } else { high.min(0.0) };
    }
    (low <= high).then_some((low, high))
}

/// The score that is enough, with a fixed set of noisy columns.
fn needed(instance: &Instance, noisy: &[usize]) -> f64 {
    let w = &instance.weights;
    let shift: f64 = noisy.iter().map(|&j| w[j] * instance.noise.mean[j]).sum();
    let pairs = noisy.iter().flat_map(|&i| noisy.iter().map(move |&j| (i, j)));
    let variance: f64 = pairs.map(|(i, j)| w[i] * instance.covariance(i, j) * w[j]).sum();
    let by_rate = quantile(instance.rate) * variance.max(0.0).sqrt() - shift;
    if by_rate > 0.0 && instance.rate < 0.5 { by_rate } else { by_rate.max(instance.least_score()) }
}
