//! The integer program: the cheapest action on a grid with a favourable affine score.
//!
//! A feature that may help has a switch and a whole number. If the switch is on, the feature moves
//! to its first grid point in the direction that gains score, and as many steps further as the
//! number says. An option of a one-hot group has a switch; at most one per group is on. One
//! inequality requires the score, another one limits the number of changes.
//!
//! The solver is `microlp` (branch and bound on the simplex method), stopped after a fixed number
//! of nodes; no other file depends on it.

use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::recourse::flip::hair;
use crate::recourse::lime::Affine;
use crate::recourse::reach::Reach;
use crate::schema::Actions;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, SolveOptions, Variable};

/// After this many nodes, the best action so far is the result.
const NODES: u64 = 20_000;
/// The finest grid, as a share of the range: with more steps, the solver's tolerances could not
/// tell neighbouring steps apart.
pub(in crate::recourse) const FINEST: f64 = 1e-6;

/// A possible change: a move of a numeric feature along its grid, or another option of a group.
#[derive(Debug, Clone)]
enum Choice {
    /// Feature `j` moves to the grid point `first`, or further in the direction of `way`.
    Grid { j: usize, grid: Grid, ends: (f64, f64), first: f64, way: f64 },
    /// Option `to` of group `g`.
    Option { g: usize, to: usize },
}

/// A change with its gain and cost: for the first step, and per further step.
#[derive(Debug, Clone)]
struct Priced {
    choice: Choice,
    gain: [f64; 2],
    cost: [f64; 2],
    /// Further steps, at most.
    most: f64,
}

/// One person's program.
pub(in crate::recourse) struct Program<'a> {
    cost: &'a Cost,
    actions: &'a Actions,
    model: &'a Affine,
    /// The person, brought inside the reach.
    start: Vec<f64>,
    choices: Vec<Priced>,
    /// Score that must be gained.
    needed: f64,
    /// Features and groups that may change, at most.
    max_changes: Option<usize>,
    /// Switches and further steps of the last action.
    last: Action,
}

/// Whether each choice is taken, and its further steps.
type Action = (Vec<bool>, Vec<f64>);

/// The result of the search for an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::recourse) enum Found {
    Action,
    /// No action on the grid has a favourable affine score.
    Nothing,
    /// The solver was stopped before it had one.
    Stopped,
}

/// The grid of each feature: where it ends, and its step.
#[derive(Debug, Clone, Copy)]
pub(in crate::recourse) struct Grid {
    pub(in crate::recourse) low: f64,
    pub(in crate::recourse) high: f64,
    pub(in crate::recourse) step: f64,
}

impl<'a> Program<'a> {
    /// For a person at `start`, which is inside `reach`.
    pub(in crate::recourse) fn new(
        (cost, actions): (&'a Cost, &'a Actions),
        model: &'a Affine,
        grids: &[Grid],
        reach: &Reach,
        (factual, start): (&[f64], &[f64]),
    ) -> Self {
        let mut choices = Vec::new();
        for (j, &weight) in model.weights.iter().enumerate() {
            if weight != 0.0 && reach.is_open(j) {
                choices.extend(along_grid(
                    cost,
                    &grids[j],
                    reach.ends(j),
                    (j, weight, factual[j], start[j]),
                ));
            }
        }
        for (g, group) in
            actions.groups().iter().enumerate().filter(|(g, _)| actions.is_mutable_group(*g))
        {
            let Some(current) = group.option_of(factual) else { continue };
            let scored = |o: usize| -> f64 {
                group
                    .columns()
                    .iter()
                    .zip(group.values(o))
                    .map(|(&c, value)| model.weights[c] * value)
                    .sum()
            };
            for to in (0..group.n_options()).filter(|&o| o != current && group.allows(current, o)) {
                let gain = scored(to) - scored(current);
                if gain > 0.0 {
                    let price = cost.norm().finish(cost.of_choice(group, current, to));
                    let choice = Choice::Option { g, to };
                    choices.push(Priced {
                        choice,
                        gain: [gain, 0.0],
                        cost: [price, 0.0],
                        most: 0.0,
                    });
                }
            }
        }
        let needed = needed(model, start);
        let max_changes = actions.max_changes();
        let last = (vec![false; choices.len()], vec![0.0; choices.len()]);
        Self { cost, actions, model, start: start.to_vec(), choices, needed, max_changes, last }
    }

    /// Limits the number of changes.
    pub(in crate::recourse) fn with_max_changes(mut self, most: Option<usize>) -> Self {
        self.max_changes = most;
        self
    }

    /// Writes the cheapest action's point.
    pub(in crate::recourse) fn cheapest(&mut self, point: &mut [f64]) -> Result<Found> {
        // Rounding in the solver may leave the score slightly too low, so that a little more is
        // required.
        for more in [0.0, 1e-7, 1e-6, 1e-5] {
            match self.solve(self.needed + more * self.needed.abs())? {
                Ok(action) => self.last = action,
                Err(nothing) => return Ok(nothing),
            }
            self.write(point);
            if self.model.score(point) > 0.0 {
                return Ok(Found::Action);
            }
        }
        Ok(Found::Stopped)
    }

    /// Writes the point of the action that gains the most affine score; false if there is none.
    pub(in crate::recourse) fn farthest(&mut self, point: &mut [f64]) -> bool {
        let gain =
            |i: usize| self.choices[i].gain[0] + self.choices[i].gain[1] * self.choices[i].most;
        let mut order: Vec<usize> = (0..self.choices.len()).collect();
        order.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)));
        let (on, steps) = &mut self.last;
        on.fill(false);
        let (mut left, mut groups) = (self.max_changes.unwrap_or(usize::MAX), Vec::new());
        for i in order {
            let group = self.choices[i].choice.group();
            if left > 0 && !group.is_some_and(|g| groups.contains(&g)) {
                on[i] = true;
                steps[i] = self.choices[i].most;
                left -= 1;
                groups.extend(group);
            }
        }
        self.write(point);
        self.last.0.contains(&true)
    }

    /// Shortens the last action on the grid, most expensive changes first, as far as `model` still
    /// accepts the result. It accepts `point`.
    pub(in crate::recourse) fn take_back(
        &mut self,
        model: &dyn Model,
        point: &mut [f64],
    ) -> Result<()> {
        let price =
            |i: usize, steps: f64| self.choices[i].cost[0] + self.choices[i].cost[1] * steps;
        let mut order: Vec<usize> = (0..self.choices.len()).filter(|&i| self.last.0[i]).collect();
        order.sort_by(|&a, &b| price(b, self.last.1[b]).total_cmp(&price(a, self.last.1[a])));
        for i in order {
            self.last.0[i] = false;
            self.write(point);
            if model.score(point)? > 0.0 {
                continue;
            }
            self.last.0[i] = true;
            let (mut enough, mut few) = (self.last.1[i], -1.0);
            while enough - few > 1.0 {
                let middle = ((enough + few) / 2.0).floor();
                self.last.1[i] = middle;
                self.write(point);
                if model.score(point)? > 0.0 { enough = middle } else { few = middle }
            }
            self.last.1[i] = enough;
        }
        self.write(point);
        Ok(())
    }

    /// The point of the last action.
    fn write(&self, point: &mut [f64]) {
        point.copy_from_slice(&self.start);
        for ((priced, on), further) in self.choices.iter().zip(&self.last.0).zip(&self.last.1) {
            match priced.choice {
                _ if !on => {}
                Choice::Grid { j, grid, ends, first, way } => {
                    // Ends of the reach keep their bits.
                    point[j] =
                        (grid.low + grid.step * (first + way * further)).clamp(ends.0, ends.1);
                }
                Choice::Option { g, to } => self.actions.groups()[g].set(to, point),
            }
        }
    }

    /// Switches and further steps of the cheapest action that gains `needed`.
    fn solve(&self, needed: f64) -> Result<std::result::Result<Action, Found>> {
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // Under `linf` a separate variable bounds all costs, and the sum breaks ties. Otherwise the
        // sum is minimised.
        let summed = self.cost.norm().is_linear();
        let largest = (!summed).then(|| problem.add_var(1.0, (0.0, f64::INFINITY)));
        let price = |cost: f64| if summed { cost } else { 1e-6 * cost };
        let mut gained = LinearExpr::empty();
        let mut variables: Vec<(Variable, Option<Variable>)> =
            Vec::with_capacity(self.choices.len());
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
            Ok(outcome) => outcome.into_solution().map_err(|_| Found::Stopped),
            Err(microlp::Error::Infeasible) => Err(Found::Nothing),
            Err(error) => {
                return Err(Error::Unsupported {
                    what: "the integer program of method ar".to_owned(),
                    why: error.to_string(),
                });
            }
        };
        Ok(solution.map(|found| {
            let on = variables.iter().map(|(on, _)| found.var_value(*on) > 0.5).collect();
            let steps = variables
                .iter()
                .map(|(_, s)| s.map_or(0.0, |s| found.var_value(s).round()))
                .collect();
            (on, steps)
        }))
    }

    /// One option per group, and no more changes than allowed.
    fn limit(&self, problem: &mut Problem, variables: &[(Variable, Option<Variable>)]) {
        let n_groups =
            self.choices.iter().filter_map(|p| p.choice.group()).max().map_or(0, |g| g + 1);
        for g in 0..n_groups {
            let mut one = LinearExpr::empty();
            let of_group =
                self.choices.iter().zip(variables).filter(|(p, _)| p.choice.group() == Some(g));
            of_group.for_each(|(_, (on, _))| one.add(*on, 1.0));
            problem.add_constraint(one, ComparisonOp::Le, 1.0);
        }
        if let Some(most) = self.max_changes {
            let mut all = LinearExpr::empty();
            variables.iter().for_each(|(on, _)| all.add(*on, 1.0));
            problem.add_constraint(all, ComparisonOp::Le, most as f64);
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

/// Score that must be gained from `start` on, so that it is favourable also after rounding.
pub(in crate::recourse) fn needed(model: &Affine, start: &[f64]) -> f64 {
    let size =
        model.bias.abs() + model.weights.iter().zip(start).map(|(w, x)| (w * x).abs()).sum::<f64>();
    hair(size) - model.score(start)
}

/// Feature `j`'s way along its grid in the direction that gains score, if it has a grid point
/// there.
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
    // The nearest grid point beyond the person, and the last one inside reach and grid. A point
    // within a thousandth of a step counts as the person's own. People outside the range may return
    // to it.
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
        most,
    })
}
