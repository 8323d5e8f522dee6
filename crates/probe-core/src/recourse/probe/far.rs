//! Where the usual search finds no answer because it stands in other noise for that of the task:
//! walks, points anywhere and small moves on rates under the task's own.
//!
//! Searches follow slopes. They therefore search under a Gaussian in place of a list of observed
//! errors, which has no slope, and without the change of a model that may change; the engine then
//! corrects the rate that they aim at. A list of few errors may look so different, and a change of
//! the model may grow so much with the point, that points which hold the target are far from all
//! that hold any rate under the other noise.
//!
//! Rates over a list are counted. Those of a model that may change are means over draws of errors
//! and changes, the same draws at every point, so that points can be compared.

use super::super::ask::Posed;
use super::super::{Ask, Goal, Proposal, SearchEffort, Solver, Task, Verdict, Worker};
use super::sweep::{Axis, Closeness, Ground, Measured, Number, Reach, Sweep};
use crate::error::Result;
use crate::invalidation::Models;
use crate::math::normal::upper_quantile;
use crate::noise::Noise;
use crate::recourse::{Budget, Notes};
use crate::rows::{Rows, RowsMut};
use crate::seed::{Purpose, Stream};
use std::sync::Arc;

/// Number of the stream of points anywhere and of moves.
const STREAM: u64 = 8;
/// Places that walks measure, and points anywhere; fewer where the model may change.
const MOST: usize = 4_000;
const SCATTERED: usize = 4_096;
const FEWER: usize = 4;
/// Draws of errors and changes, and the number of their stream.
const DRAWS: usize = 256;
const DRAWN: u64 = 9;
/// Points that small moves start from, and how many each makes.
const STARTS: usize = 12;
const MOVES: usize = 64;
/// The widest and the narrowest move, as a share of a number's range.
const WIDTHS: (f64, f64) = (0.25, 0.002);
/// How far a number without limits moves, in scaled units and in deviations of its noise.
const WIDE: f64 = 2.0;
const WIDE_IN_DEVIATIONS: f64 = 40.0;
/// The name of this search in an answer's source.
pub(super) const FAR_WALKS: &str = "far_walks";

/// A solver that can also look far.
pub(super) struct FarSolver {
    task: Arc<Task>,
    inner: Box<dyn Solver>,
    /// Standard deviation of each feature's errors.
    sds: Vec<f64>,
}

impl FarSolver {
    /// Whether this solver is of use.
    pub(super) fn serves(task: &Task) -> bool {
        match task.shift {
            Some(_) => task.model.as_linear().is_none(),
            None => task.noise.as_residuals().is_some(),
        }
    }

    pub(super) fn new(task: &Arc<Task>, inner: Box<dyn Solver>) -> Result<Self> {
        let d = task.model.n_features();
        let errors = match task.noise.as_residuals() {
            Some(errors) => errors.rows().to_vec(),
            None => {
                let mut drawn = vec![0.0; DRAWS * d];
                let mut stream = task.seed.stream(Purpose::Search, DRAWN);
                task.noise.sample_into(&mut stream, RowsMut::new(&mut drawn, d)?);
                drawn
            }
        };
        let n = (errors.len() / d) as f64;
        let sd = |j: usize| {
            let values = || errors.iter().skip(j).step_by(d);
            let mean = values().sum::<f64>() / n;
            (values().map(|e| (e - mean).powi(2)).sum::<f64>() / n).sqrt()
        };
        Ok(Self { sds: (0..d).map(sd).collect(), task: Arc::clone(task), inner })
    }
}

impl Solver for FarSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(FarWorker {
            solver: self,
            task: Posed::new(&self.task),
            inner: self.inner.worker(),
        })
    }

    fn notes(&self) -> Option<Notes> {
        self.inner.notes()
    }
}

struct FarWorker<'a> {
    solver: &'a FarSolver,
    task: Posed,
    inner: Box<dyn Worker + 'a>,
}

impl Worker for FarWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        match ask.goal {
            Goal::Rate(rate) if ask.far && ask.effort > SearchEffort::Quick => {
                self.task.turn_to(ask);
                self.look_far(ask, rate, proposal)
            }
            _ => self.inner.find(ask, proposal),
        }
    }

    fn rate_at(&mut self, from: &[f64], to: &[f64], lines: usize) -> Result<f64> {
        self.inner.rate_at(from, to, lines)
    }

    fn n_lines(&self) -> u64 {
        self.inner.n_lines()
    }

    fn serves_own_costs(&self) -> bool {
        self.inner.serves_own_costs()
    }

    fn looks_far(&self) -> bool {
        true
    }
}

impl FarWorker<'_> {
    /// Replaces `proposal` if a point of at most this rate is found.
    fn look_far(&self, ask: &Ask<'_>, rate: f64, proposal: &mut Proposal) -> Result<()> {
        let (task, factual) = (Arc::clone(&self.task), ask.factual);
        let axes = self.axes(factual);
        let mut reach = Reach::of(ask.effort, axes.len(), ask.budget);
        let share = if task.shift.is_some() { FEWER } else { 1 };
        (reach.most, reach.scattered) = (MOST / share, SCATTERED / share);
        let z = upper_quantile(rate);
        let models = task.shift.map(|shift| Models::new(&*task.model, shift)).transpose()?;
        if models.as_ref().is_some_and(|models| models.least_rate() > rate) {
            return Ok(());
        }
        let mut ground = TrueRates { task: &task, models, factual, z, budget: ask.budget };
        let mut stream = task.seed.stream(Purpose::Search, STREAM);
        let mut sweep = Sweep::new(&task, factual, z, reach, None);
        sweep.run_far(&mut ground, &axes, &mut stream)?;
        if !sweep.improved
            && let Some(point) = self.climb(&mut ground, &axes, &mut sweep, &mut stream)?
        {
            let known = Some((task.cost.total(factual, &point), point));
            sweep = Sweep::new(&task, factual, z, reach, known);
            sweep.improved = true;
            sweep.shorten(&mut ground, &axes)?;
        }
        if sweep.improved {
            proposal.forget();
            proposal.point.copy_from_slice(&sweep.best.1);
            (proposal.verdict, proposal.report.source) = (Verdict::Reached, FAR_WALKS);
        }
        Ok(())
    }

    /// Small moves for a lower rate from points anywhere; the first point that holds the target.
    fn climb(
        &self,
        ground: &mut TrueRates<'_>,
        axes: &[Axis],
        sweep: &mut Sweep<'_>,
        stream: &mut Stream,
    ) -> Result<Option<Vec<f64>>> {
        let n = SCATTERED / if ground.models.is_some() { FEWER } else { 1 };
        let mut starts: Vec<(f64, Vec<f64>)> = Vec::new();
        for x in sweep.accepted_points(axes, n, stream)? {
            starts.push((ground.slack(&x)?, x));
        }
        // Stable: of equals the first.
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        starts.truncate(STARTS);
        for (mut slack, mut x) in starts {
            for i in 0..MOVES {
                if slack >= 0.0 {
                    return Ok(Some(x));
                }
                let left = 1.0 - i as f64 / MOVES as f64;
                let trial = self.moved(ground.factual, &x, axes, WIDTHS.0 * left.powi(3), stream);
                if ground.is_admissible(&trial) && ground.accepts(&trial)? {
                    let then = ground.slack(&trial)?;
                    if then >= slack {
                        (slack, x) = (then, trial);
                    }
                }
            }
        }
        Ok(None)
    }

    /// `x` with its changed numbers moved a little.
    fn moved(
        &self,
        factual: &[f64],
        x: &[f64],
        axes: &[Axis],
        width: f64,
        stream: &mut Stream,
    ) -> Vec<f64> {
        let mut moved = x.to_vec();
        for axis in axes {
            let Axis::Number(number) = axis else { continue };
            let j = number.column;
            if number.grid.is_some() || x[j] == factual[j] {
                continue;
            }
            let far = WIDE.max(WIDE_IN_DEVIATIONS * number.sd);
            let (low, high) = (number.low.max(factual[j] - far), number.high.min(factual[j] + far));
            let step = width.max(WIDTHS.1) * (high - low) * stream.normal();
            moved[j] = (x[j] + step).clamp(low, high);
        }
        moved
    }

    /// What may change.
    fn axes(&self, factual: &[f64]) -> Vec<Axis> {
        let actions = &self.task.actions;
        let number = |column: usize| {
            let (low, high) = actions.interval_alone(column, factual)?;
            let moves = actions.is_mutable_numeric(column) && low < high;
            let (sd, grid) = (self.solver.sds[column], actions.grid(column));
            moves.then_some(Axis::Number(Number { column, low, high, grid, sd }))
        };
        let mut axes: Vec<Axis> = (0..factual.len()).filter_map(number).collect();
        for (g, group) in actions.groups().iter().enumerate() {
            if !actions.is_mutable_group(g) {
                continue;
            }
            let Some(current) = group.option_of(factual) else { continue };
            let may = |o: &usize| *o != current && group.allows(current, *o);
            let mut options: Vec<usize> = (0..group.n_options()).filter(may).collect();
            let total = |o: usize| self.task.cost.of_choice(group, current, o);
            options.sort_by(|&a, &b| total(a).total_cmp(&total(b)).then(a.cmp(&b)));
            axes.push(Axis::Category { group: group.clone(), options });
        }
        axes
    }
}

/// Rates under the noise and the change of the model themselves.
struct TrueRates<'t> {
    task: &'t Task,
    /// Changes of the model, if it may change.
    models: Option<Models<'t>>,
    factual: &'t [f64],
    z: f64,
    budget: &'t Budget<'t>,
}

impl TrueRates<'_> {
    /// Margin less the target, failures of changes included.
    fn slack(&self, x: &[f64]) -> Result<f64> {
        let outcomes = self.task.actions.outcomes(self.factual, x);
        let mut rate = outcomes.rest;
        if outcomes.is_empty() {
            rate = self.share_refused(x, x)?;
        }
        for (probability, point) in &outcomes.points {
            rate += probability * self.share_refused(x, point)?;
        }
        Ok(upper_quantile(rate.min(1.0)) - self.z)
    }

    /// The rate at `point`, for somebody who aims at `aim`.
    fn share_refused(&self, aim: &[f64], point: &[f64]) -> Result<f64> {
        let d = point.len();
        let mut active = vec![false; d];
        self.task.noise_on.active_into(&self.task.actions, self.factual, aim, &mut active);
        // The same draws at every point.
        let mut stream = self.task.seed.stream(Purpose::Search, DRAWN);
        let mut rows = match self.task.noise.as_residuals() {
            Some(errors) if self.models.is_none() => errors.rows().to_vec(),
            _ => {
                let mut drawn = vec![0.0; DRAWS * d];
                let moved = self.task.noise.at(self.factual, aim)?;
                let noise: &dyn Noise = moved.as_ref().map_or(&*self.task.noise, |own| own);
                noise.sample_into(&mut stream, RowsMut::new(&mut drawn, d)?);
                drawn
            }
        };
        for row in rows.chunks_exact_mut(d) {
            for (j, e) in row.iter_mut().enumerate() {
                *e = point[j] + if active[j] { *e } else { 0.0 };
            }
        }
        let n = rows.len() / d;
        if let Some(models) = &self.models {
            let mut layers = [Vec::new(), Vec::new()];
            let rows = rows.chunks_exact(d);
            let sum: f64 = rows.map(|x| models.draw_refusal(x, &mut stream, &mut layers)).sum();
            return Ok(sum / n as f64);
        }
        let mut scores = vec![0.0; n];
        self.task.model.score_batch(Rows::new(&rows, d)?, &mut scores)?;
        let accepted = scores.iter().filter(|score| **score > 0.0).count();
        Ok((n - accepted) as f64 / n as f64)
    }

    fn is_admissible(&self, x: &[f64]) -> bool {
        self.task.actions.violations(self.factual, x).is_empty()
    }
}

impl Ground for TrueRates<'_> {
    fn measure(&mut self, x: &[f64], _: Closeness) -> Result<Measured> {
        Ok(Measured { slack: self.slack(x)?, favourable: self.accepts(x)? })
    }

    fn accepts(&self, x: &[f64]) -> Result<bool> {
        Ok(self.task.model.score(x)? > 0.0)
    }

    fn is_exhausted(&self) -> bool {
        self.budget.is_cancelled()
    }
}
