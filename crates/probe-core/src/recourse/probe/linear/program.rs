//! The problem as a linear program, for relations that limit sums of features.
//!
//! Every feature that may change has a variable for its move up and one for its move down, each
//! with its cost. One inequality requires the score, and one or two express each relation. Under
//! `l1` the costs add up; under `linf` a variable bounds all of them. A limit on the number of
//! changes adds a binary variable (a switch) per feature. Groups stay as they are, because the
//! caller has chosen them. The solver is `microlp`.

use super::super::super::Task;
use super::Found;
use crate::schema::Tie;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, Variable};

/// Nodes of the branch and bound over switches.
const NODES: u64 = 20_000;
/// How far a feature without bounds may move if the number of changes is limited, because a switch
/// needs a bound.
const FAR: f64 = 1e3;
/// Weight of the sum of all costs under `linf`. It breaks ties of the largest cost.
const BREAKS_TIES: f64 = 1e-6;

/// The goal.
#[derive(Debug, Clone, Copy)]
enum Aim {
    /// The least cost that gains this much.
    Gain(f64),
    /// The largest gain that costs at most this.
    Spend(f64),
}

/// The variables of one feature.
struct Moves {
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

/// Writes the point at which the function is largest among those that cost at most `budget`; false
/// if it is unbounded.
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

/// A lower bound on the cost of every point, if the program found a point of this `cost`. Under
/// `linf` the tie-breaking sum makes the difference.
pub(super) fn least(task: &Task, cost: f64) -> f64 {
    cost / (1.0 + BREAKS_TIES * task.cost.n_features() as f64)
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
    let mut program = Program::new(task, factual, weights, aim);
    for j in 0..factual.len() {
        let Some(limits) = interval(j) else { return Found::Nothing };
        program.add_feature(j, limits);
    }
    program.solve(point)
}

/// The linear program of one person, feature by feature.
struct Program<'a> {
    task: &'a Task,
    factual: &'a [f64],
    weights: &'a [f64],
    aim: Aim,
    problem: Problem,
    /// Under `linf`: a variable above the cost of every change.
    largest: Option<Variable>,
    /// Sums over all changes: what they gain, what they cost, and how many there are.
    gained: LinearExpr,
    spent: LinearExpr,
    switches: LinearExpr,
    features: Vec<Moves>,
}

impl<'a> Program<'a> {
    fn new(task: &'a Task, factual: &'a [f64], weights: &'a [f64], aim: Aim) -> Self {
        let (direction, price) = match aim {
            Aim::Gain(_) => (OptimizationDirection::Minimize, 1.0),
            Aim::Spend(_) => (OptimizationDirection::Maximize, 0.0),
        };
        let mut problem = Problem::new(direction);
        let summed = task.cost.norm().is_linear();
        let largest = (!summed).then(|| problem.add_var(price, (0.0, f64::INFINITY)));
        Self {
            task,
            factual,
            weights,
            aim,
            problem,
            largest,
            gained: LinearExpr::empty(),
            spent: LinearExpr::empty(),
            switches: LinearExpr::empty(),
            features: Vec::new(),
        }
    }

    /// Adds the moves up and down of a feature that may change within `limits`.
    fn add_feature(&mut self, j: usize, limits: (f64, f64)) {
        let (x, (mut low, mut high)) = (self.factual[j], limits);
        if low == high && low == x || self.task.actions.is_grouped(j) {
            return;
        }
        if self.task.actions.max_changes().is_some() {
            (low, high) = (low.max(x - FAR), high.min(x + FAR));
        }
        let up = self.add_move(j, 1.0, (low - x, high - x));
        let down = self.add_move(j, -1.0, (x - high, x - low));
        self.features.push(Moves { feature: j, interval: (low, high), up, down });
    }

    /// Adds a change of feature `j` in the direction of `sign`, whose length is between `ends`.
    fn add_move(&mut self, j: usize, sign: f64, ends: (f64, f64)) -> Option<Variable> {
        if ends.1 <= 0.0 || ends.1.is_nan() {
            return None;
        }
        let cost = self.task.cost.weight(j, sign);
        let price = match (self.aim, self.largest) {
            (Aim::Gain(_), None) => cost,
            // The sum breaks ties of the largest cost.
            (Aim::Gain(_), Some(_)) => BREAKS_TIES * cost,
            (Aim::Spend(_), _) => sign * self.weights[j],
        };
        let variable = self.problem.add_var(price, (ends.0.max(0.0), ends.1));
        self.gained.add(variable, sign * self.weights[j]);
        self.spent.add(variable, cost);
        if let Some(largest) = self.largest {
            let above = [(largest, 1.0), (variable, -cost)];
            self.problem.add_constraint(above, ComparisonOp::Ge, 0.0);
        }
        if self.task.actions.max_changes().is_some() {
            let switch = self.problem.add_binary_var(0.0);
            let off = [(variable, 1.0), (switch, -ends.1)];
            self.problem.add_constraint(off, ComparisonOp::Le, 0.0);
            self.switches.add(switch, 1.0);
        }
        Some(variable)
    }

    /// Adds the limits on all features together, solves, and writes the solution to `point`.
    fn solve(mut self, point: &mut [f64]) -> Found {
        let problem = &mut self.problem;
        match (self.aim, self.largest) {
            (Aim::Gain(needed), _) => problem.add_constraint(self.gained, ComparisonOp::Ge, needed),
            (Aim::Spend(budget), Some(largest)) if budget.is_finite() => {
                problem.add_constraint([(largest, 1.0)], ComparisonOp::Le, budget);
            }
            (Aim::Spend(budget), None) if budget.is_finite() => {
                problem.add_constraint(self.spent, ComparisonOp::Le, budget);
            }
            (Aim::Spend(_), _) => {}
        }
        if let Some(most) = self.task.actions.max_changes() {
            problem.add_constraint(self.switches, ComparisonOp::Le, most as f64);
        }
        limit_sums(problem, self.task, self.factual, &self.features);
        let mut options = SolveOptions::default();
        options.node_limit = Some(NODES);
        let Ok(Ok(solution)) =
            self.problem.solve_with(options).map(|outcome| outcome.into_solution())
        else {
            return Found::Nothing;
        };
        let value = |variable: Option<Variable>| variable.map_or(0.0, |v| solution.var_value(v));
        for moves in &self.features {
            let moved = value(moves.up) - value(moves.down);
            // A smaller change is a rounding error of the solver.
            if moved.abs() > 1e-12 {
                point[moves.feature] =
                    (self.factual[moves.feature] + moved).clamp(moves.interval.0, moves.interval.1);
            }
        }
        Found::Optimal
    }
}

/// Adds the limits that relations of the schema put on sums of features.
fn limit_sums(problem: &mut Problem, task: &Task, factual: &[f64], features: &[Moves]) {
    for tie in task.actions.ties() {
        let (Tie::Sum { terms, equal, .. }, Some(room)) = (tie, tie.room(factual)) else {
            continue;
        };
        let mut sum = LinearExpr::empty();
        for &(c, k) in terms {
            for moves in features.iter().filter(|moves| moves.feature == c) {
                moves.up.iter().for_each(|v| sum.add(*v, k));
                moves.down.iter().for_each(|v| sum.add(*v, -k));
            }
        }
        let sign = if *equal { ComparisonOp::Eq } else { ComparisonOp::Le };
        problem.add_constraint(sum, sign, room);
    }
}
