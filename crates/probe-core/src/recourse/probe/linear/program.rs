//! The same problem where sums of features are limited: a linear program.
//!
//! Every feature that may change has a way up and a way down, each with its cost; one inequality
//! asks for the score, one or two for each relation. Under `l1` the costs add up, under `linf` a
//! variable is above all of them. A limit on the number of changes adds a switch per feature.
//! Groups stay as they are: whoever asks has chosen them. The solver is `microlp`.

use super::super::super::Task;
use super::Found;
use crate::schema::Tie;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, Variable};

/// Nodes of the branch and bound over switches.
const NODES: u64 = 20_000;
/// How far a feature without bounds may move where changes are limited: a switch needs an end.
const FAR: f64 = 1e3;

/// What is sought.
#[derive(Debug, Clone, Copy)]
enum Aim {
    /// The least cost that gains so much.
    Gain(f64),
    /// The largest gain that costs at most so much.
    Spend(f64),
}

/// One feature's ways.
struct Ways {
    feature: usize,
    interval: (f64, f64),
    up: Option<Variable>,
    down: Option<Variable>,
}

/// Writes the cheapest point, seen from `factual`, at which the affine function with `weights` has
/// gained `needed`.
pub(super) fn cheapest(
    task: &Task,
    factual: &[f64],
    weights: &[f64],
    needed: f64,
    interval: impl Fn(usize) -> Option<(f64, f64)>,
    point: &mut [f64],
) -> Found {
    solve(task, factual, weights, Aim::Gain(needed), &interval, point)
}

/// Writes the point at which the function is largest among those that cost at most `budget`;
/// without an end to it, false.
pub(super) fn furthest(
    task: &Task,
    factual: &[f64],
    weights: &[f64],
    budget: f64,
    interval: impl Fn(usize) -> Option<(f64, f64)>,
    point: &mut [f64],
) -> bool {
    solve(task, factual, weights, Aim::Spend(budget), &interval, point) != Found::Nothing
}

fn solve(
    task: &Task,
    factual: &[f64],
    weights: &[f64],
    aim: Aim,
    interval: &dyn Fn(usize) -> Option<(f64, f64)>,
    point: &mut [f64],
) -> Found {
    point.copy_from_slice(factual);
    let mut problem = Problem::new(match aim {
        Aim::Gain(_) => OptimizationDirection::Minimize,
        Aim::Spend(_) => OptimizationDirection::Maximize,
    });
    let summed = task.cost.norm().is_linear();
    let minimise = matches!(aim, Aim::Gain(_));
    let largest =
        (!summed).then(|| problem.add_var(if minimise { 1.0 } else { 0.0 }, (0.0, f64::INFINITY)));
    let limited = task.actions.max_changes().is_some();
    let mut ways = Vec::new();
    let (mut gained, mut spent, mut switches) =
        (LinearExpr::empty(), LinearExpr::empty(), LinearExpr::empty());
    for (j, &x) in factual.iter().enumerate() {
        let Some((mut low, mut high)) = interval(j) else { return Found::Nothing };
        if low == high && low == x || task.actions.is_grouped(j) {
            continue;
        }
        if limited {
            (low, high) = (low.max(x - FAR), high.min(x + FAR));
        }
        let mut way = |sign: f64, ends: (f64, f64)| {
            (ends.1 > 0.0).then(|| {
                let cost = task.cost.weight(j, sign);
                let price = match aim {
                    // Ties of the largest are broken by the sum.
                    Aim::Gain(_) => {
                        if summed {
                            cost
                        } else {
                            1e-6 * cost
                        }
                    }
                    Aim::Spend(_) => sign * weights[j],
                };
                let variable = problem.add_var(price, (ends.0.max(0.0), ends.1));
                gained.add(variable, sign * weights[j]);
                spent.add(variable, cost);
                if let Some(largest) = largest {
                    problem.add_constraint(
                        [(largest, 1.0), (variable, -cost)],
                        ComparisonOp::Ge,
                        0.0,
                    );
                }
                if limited {
                    let switch = problem.add_binary_var(0.0);
                    problem.add_constraint(
                        [(variable, 1.0), (switch, -ends.1)],
                        ComparisonOp::Le,
                        0.0,
                    );
                    switches.add(switch, 1.0);
                }
                variable
            })
        };
        let up = way(1.0, (low - x, high - x));
        let down = way(-1.0, (x - high, x - low));
        ways.push(Ways { feature: j, interval: (low, high), up, down });
    }
    match (aim, largest) {
        (Aim::Gain(needed), _) => problem.add_constraint(gained, ComparisonOp::Ge, needed),
        (Aim::Spend(budget), Some(largest)) if budget.is_finite() => {
            problem.add_constraint([(largest, 1.0)], ComparisonOp::Le, budget);
        }
        (Aim::Spend(budget), None) if budget.is_finite() => {
            problem.add_constraint(spent, ComparisonOp::Le, budget);
        }
        (Aim::Spend(_), _) => {}
    }
    if let Some(most) = task.actions.max_changes() {
        problem.add_constraint(switches, ComparisonOp::Le, most as f64);
    }
    for tie in task.actions.ties() {
        let (Tie::Sum { terms, equal, .. }, Some(room)) = (tie, tie.room(factual)) else {
            continue;
        };
        let mut sum = LinearExpr::empty();
        for &(c, k) in terms {
            for way in ways.iter().filter(|way| way.feature == c) {
                way.up.iter().for_each(|v| sum.add(*v, k));
                way.down.iter().for_each(|v| sum.add(*v, -k));
            }
        }
        let sign = if *equal { ComparisonOp::Eq } else { ComparisonOp::Le };
        problem.add_constraint(sum, sign, room);
    }
    let mut options = SolveOptions::default();
    options.node_limit = Some(NODES);
    let Ok(Ok(solution)) = problem.solve_with(options).map(|outcome| outcome.into_solution())
    else {
        return Found::Nothing;
    };
    let value = |variable: Option<Variable>| variable.map_or(0.0, |v| solution.var_value(v));
    for way in &ways {
        let moved = value(way.up) - value(way.down);
        // What the solver leaves of nothing is nothing.
        if moved.abs() > 1e-12 {
            point[way.feature] =
                (factual[way.feature] + moved).clamp(way.interval.0, way.interval.1);
        }
    }
    Found::Optimal
}
