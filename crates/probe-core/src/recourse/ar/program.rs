//! The integer program: the cheapest action on a grid with a favourable affine score.
//!
//! A feature that may help has a switch and a whole number: switched on, it goes to its first grid point in the direction that gains
//! score, and so many steps further. An option of a one-hot group has a switch, at most one of a group is on. One inequality asks for the score, others
//! count changes and forbid sets of features that were tried before.
//!
//! The solver is `microlp` (branch and bound on the simplex method), stopped after a fixed number of nodes; nothing of it shows
//! outside this file.

use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::recourse::flip::hair;
use crate::recourse::lime::Affine;
use crate::recourse::reach::Reach;
use crate::schema::Actions;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, Variable};

/// Nodes after which the best action so far is taken.
const NODES: u64 = 20_000;
/// Steps of one feature, at most.
const MOST_STEPS: f64 = 1e6;

/// What may be done: a numeric feature's way along its grid, or another option of a group.
#[derive(Debug, Clone)]
enum Choice {
    /// Feature `j` at the grid's point `first`, or so many further in the direction of `way`.
    Grid { j: usize, grid: Grid, ends: (f64, f64), first: f64, way: f64 },
    /// Option `to` of group `g`.
    Option { g: usize, to: usize },
}

/// A choice with what it gains and costs: at once, and per further step.
#[derive(Debug, Clone)]
struct Priced {
    choice: Choice,
    gain: [f64; 2],
    cost: [f64; 2],
    /// Further steps, at most.
    most: f64,
}

/// One person's program.
pub(super) struct Program<'a> {
    cost: &'a Cost,
    actions: &'a Actions,
    model: &'a Affine,
    factual: Vec<f64>,
    choices: Vec<Priced>,
    /// Sets of choices that were tried.
    tried: Vec<Vec<bool>>,
    /// Score that must be gained.
    needed: f64,
}

/// The grid of each feature: where it ends, and its step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) step: f64,
}

impl<'a> Program<'a> {
    /// For a person at `start`, which is inside `reach`.
    pub(super) fn new(
        (cost, actions): (&'a Cost, &'a Actions),
        model: &'a Affine,
        grids: &[Grid],
        reach: &Reach,
        (factual, start): (&[f64], &[f64]),
    ) -> Self {
        let mut choices = Vec::new();
        for (j, &weight) in model.weights.iter().enumerate() {
            if weight != 0.0 && reach.is_open(j) {
                choices.extend(along_grid(cost, &grids[j], reach.ends(j), (j, weight, factual[j], start[j])));
            }
        }
        for (g, group) in actions.groups().iter().enumerate().filter(|(g, _)| actions.is_mutable_group(*g)) {
            let Some(current) = group.option_of(factual) else { continue };
            let scored = |o: usize| -> f64 {
                group.columns().iter().zip(group.values(o)).map(|(&c, value)| model.weights[c] * value).sum()
            };
            for to in (0..group.n_options()).filter(|&o| o != current && group.allows(current, o)) {
                let gain = scored(to) - scored(current);
                if gain > 0.0 {
                    let price = cost.norm().finish(cost.of_choice(group, current, to));
                    let choice = Choice::Option { g, to };
                    choices.push(Priced { choice, gain: [gain, 0.0], cost: [price, 0.0], most: 0.0 });
                }
            }
        }
        let size =
            model.bias.abs() + model.weights.iter().zip(start).map(|(w, x)| (w * x).abs()).sum::<f64>();
        let needed = hair(size) - model.score(start);
        Self { cost, actions, model, factual: start.to_vec(), choices, tried: Vec::new(), needed }
    }

    /// Writes the next cheapest action's point, on features that were not changed together before; false if there is none.
    pub(super) fn next(&mut self, point: &mut [f64]) -> Result<bool> {
        // Rounding in the solver may leave the score a little short: ask for a little more.
        for more in [0.0, 1e-7, 1e-6, 1e-5] {
            let Some((on, steps)) = self.solve(self.needed + more * self.needed.abs())? else {
                return Ok(false);
            };
            self.write(&on, &steps, point);
            if self.model.score(point) > 0.0 {
                self.tried.push(on);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn write(&self, on: &[bool], steps: &[f64], point: &mut [f64]) {
        point.copy_from_slice(&self.factual);
        for ((priced, on), further) in self.choices.iter().zip(on).zip(steps) {
            match priced.choice {
                _ if !on => {}
                Choice::Grid { j, grid, ends, first, way } => {
                    // An end of the reach is met to the bit.
                    point[j] = (grid.low + grid.step * (first + way * further)).clamp(ends.0, ends.1);
                }
                Choice::Option { g, to } => self.actions.groups()[g].set(to, point),
            }
        }
    }

    /// Switches and further steps of the cheapest action that gains `needed`; `None` if there is none.
    fn solve(&self, needed: f64) -> Result<Option<(Vec<bool>, Vec<f64>)>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // Under `linf` the largest cost counts, which is a variable of its own, and the sum breaks ties; else the sum.
        let summed = self.cost.norm().is_linear();
        let largest = (!summed).then(|| problem.add_var(1.0, (0.0, f64::INFINITY)));
        let price = |cost: f64| if summed { cost } else { 1e-6 * cost };
        let mut gained = LinearExpr::empty();
        let mut variables: Vec<(Variable, Option<Variable>)> = Vec::with_capacity(self.choices.len());
        for priced in &self.choices {
            let on = problem.add_binary_var(price(priced.cost[0]));
            gained.add(on, priced.gain[0]);
            let further = (priced.most > 0.0).then(|| {
                let steps = problem.add_integer_var(price(priced.cost[1]), (0, priced.most as i32));
                gained.add(steps, priced.gain[1]);
                problem.add_constraint([(steps, 1.0), (on, -priced.most)], ComparisonOp::Le, 0.0);
                steps
            });
            if let Some(largest) = largest {
                let mut bound = LinearExpr::empty();
                bound.add(largest, 1.0);
                bound.add(on, -priced.cost[0]);
                further.iter().for_each(|steps| bound.add(*steps, -priced.cost[1]));
                problem.add_constraint(bound, ComparisonOp::Ge, 0.0);
            }
            variables.push((on, further));
        }
        problem.add_constraint(gained, ComparisonOp::Ge, needed);
        self.limit(&mut problem, &variables);
        let mut options = SolveOptions::default();
        options.node_limit = Some(NODES);
        let solution = match problem.solve_with(options) {
            Ok(outcome) => outcome.into_solution().ok(),
            Err(microlp::Error::Infeasible) => None,
            Err(error) => {
                return Err(Error::Unsupported {
                    what: "the integer program of method ar".to_owned(),
                    why: error.to_string(),
                });
            }
        };
        Ok(solution.map(|found| {
            let on = variables.iter().map(|(on, _)| found.var_value(*on) > 0.5).collect();
            let steps =
                variables.iter().map(|(_, s)| s.map_or(0.0, |s| found.var_value(s).round())).collect();
            (on, steps)
        }))
    }

    /// One option per group, no more changes than allowed, no set of features twice.
    fn limit(&self, problem: &mut Problem, variables: &[(Variable, Option<Variable>)]) {
        let n_groups = self.choices.iter().filter_map(|p| p.choice.group()).max().map_or(0, |g| g + 1);
        for g in 0..n_groups {
            let mut one = LinearExpr::empty();
            let of_group = self.choices.iter().zip(variables).filter(|(p, _)| p.choice.group() == Some(g));
            of_group.for_each(|(_, (on, _))| one.add(*on, 1.0));
            problem.add_constraint(one, ComparisonOp::Le, 1.0);
        }
        if let Some(most) = self.actions.max_changes() {
            let mut all = LinearExpr::empty();
            variables.iter().for_each(|(on, _)| all.add(*on, 1.0));
            problem.add_constraint(all, ComparisonOp::Le, most as f64);
        }
        for set in &self.tried {
            // At least one switch differs.
            let mut differs = LinearExpr::empty();
            for ((on, _), was) in variables.iter().zip(set) {
                differs.add(*on, if *was { -1.0 } else { 1.0 });
            }
            let count = set.iter().filter(|was| **was).count() as f64;
            problem.add_constraint(differs, ComparisonOp::Ge, 1.0 - count);
        }
    }
}

impl Choice {
    fn group(&self) -> Option<usize> {
        match self {
            Self::Option { g, .. } => Some(*g),
            Self::Grid { .. } => None,
        }
    }
}

/// Feature `j`'s way along its grid in the direction that gains score, if it has a grid point there.
fn along_grid(
    cost: &Cost,
    grid: &Grid,
    (low, high): (f64, f64),
    (j, weight, factual, start): (usize, f64, f64, f64),
) -> Option<Priced> {
    let step = grid.step;
    if !(step > 0.0 && step.is_finite()) {
        return None;
    }
    let up = weight > 0.0;
    let at = |k: f64| (grid.low + step * k).clamp(low, high);
    // The nearest grid point beyond the person, and the last one inside reach and grid. A point within a thousandth of a step is
    // where the person is; people outside the range may come back to it.
    let index = |x: f64| (x - grid.low) / step;
    let (first, last) = if up {
        ((index(start) + 1e-3).ceil().max(0.0), (index(high.min(grid.high)) + 1e-9).floor())
    } else {
        let end = (index(grid.high) + 1e-9).floor();
        ((index(start) - 1e-3).floor().min(end), (index(low.max(grid.low)) - 1e-9).ceil())
    };
    let most = if up { last - first } else { first - last };
    if !(most >= 0.0 && first.is_finite()) {
        return None;
    }
    let to = at(first);
    Some(Priced {
        choice: Choice::Grid { j, grid: *grid, ends: (low, high), first, way: weight.signum() },
        gain: [weight * (to - start), weight.abs() * step],
        cost: [cost.weight(j, to - factual) * (to - factual).abs(), cost.weight(j, weight) * step],
        most: most.min(MOST_STEPS),
    })
}
