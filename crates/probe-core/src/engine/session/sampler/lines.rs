//! Samples by lines, for models with gradients.

use super::{Batch, Outcome, Pilot, Samples, Subject};
use crate::engine::session::certify::{Observations, StoppingRule, Target, Test, TooClose};
use crate::error::Result;
use crate::invalidation::certificate::{Betting, mean_at_least};
use crate::invalidation::{BLOCK, LineMode, Lines, Pool, Spread, usual_gap};
use crate::recourse::Task;
use crate::seed::Purpose;
use std::ops::ControlFlow;

/// Blocks of lines that one attempt may read.
pub(super) const MAX_BLOCKS: usize = 640;
/// Pilot lines around a point, before it is certified.
pub(super) const PILOT_LINES: usize = 64;
/// If the masses of lines have less variance than this, all lines count as the same.
const SAME_MASS: f64 = 1e-12;
/// The least and the largest number of lines for the reported rate.
const MIN_REPORTING: usize = 128;
const MAX_REPORTING: usize = 8_192;
/// No more lines are read for the reported rate below this standard error, as a share of the rate
/// or of the target, whichever is higher. The standard error is computed as for independent lines.
/// Under Gaussian noise the lines are evenly spread, and each is worth at least three independent
/// ones.
const REPORTED_ERROR: f64 = 0.015;
pub(super) const REPORTED_ERROR_GAUSSIAN: f64 = 0.03;

/// The rule for attempts that read blocks of 64 lines.
pub(super) const RULE: StoppingRule = StoppingRule {
    extra_batches: 64,
    check_every: 8,
    hopeless_after: 32,
    ..StoppingRule::up_to(MAX_BLOCKS)
};

/// Errors for lines, shared by all sessions.
pub(in crate::engine) struct Pools {
    /// The features that the noise acts on; `None` if they depend on the changes.
    active: Option<Vec<bool>>,
    pilot: Pool,
    fresh: Pool,
    reporting: Pool,
}

impl Pools {
    pub(super) fn new(task: &Task, attempts: usize) -> Result<Self> {
        let active = task.noise_on.fixed(&task.actions);
        let lines = Lines::new(&*task.model, &*task.noise, active.as_deref())?;
        Ok(Self {
            // Other samples than those of the search, which has fitted its answer to its own.
            pilot: Pool::even(task.seed, Purpose::Search, 2, &lines),
            fresh: Pool::fresh(task.seed, Purpose::Certificate, attempts as u64, &lines),
            reporting: Pool::even(task.seed, Purpose::Audit, 0, &lines),
            active,
        })
    }
}

/// One thread's lines.
pub(super) struct OnLines<'e> {
    pools: &'e Pools,
    lines: Box<Lines<'e>>,
    /// The direction in which the rate changes most.
    gradient: Vec<f64>,
    masses: Box<[f64; BLOCK]>,
    /// Whether lines are read at stratified points: most pilot lines are curved, or the model makes
    /// every line expensive.
    curved: bool,
}

impl<'e> OnLines<'e> {
    pub(super) fn new(pools: &'e Pools, task: &'e Task) -> Result<Self> {
        Ok(Self {
            lines: Box::new(Lines::new(&*task.model, &*task.noise, pools.active.as_deref())?),
            gradient: vec![0.0; task.model.n_features()],
            masses: Box::new([0.0; BLOCK]),
            curved: false,
            pools,
        })
    }
}

impl Samples for OnLines<'_> {
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot> {
        let Self { pools, lines, gradient, .. } = self;
        lines.enter(&subject.from, &subject.point, &subject.active)?;
        lines.aim(&subject.point, None)?;
        self.curved = lines.bend(&pools.pilot)?;
        // One root of each line is enough to find the direction, but not for mean and variance.
        lines.take_roughly(self.curved);
        let (_, spread) = lines.margin(&pools.pilot, PILOT_LINES, Some(gradient))?;
        lines.take_roughly(false);
        let mut pilot = Pilot { mean: spread.mean(), variance: spread.variance() };
        lines.aim(&subject.point, Some(gradient))?;
        if self.curved {
            // If all lines have the same mass, as with noise on one feature, a few whole lines are
            // cheaper.
            let same = lines.are_deep() && pilot.variance < SAME_MASS;
            let mode = match same {
                true => LineMode::Whole,
                false => LineMode::closely(pilot.mean, pilot.variance),
            };
            let (_, spread) = lines.stratified_margin(&pools.pilot, 2 * PILOT_LINES, mode)?;
            pilot = Pilot { mean: spread.mean(), variance: spread.variance() };
            self.curved = !same;
        }
        Ok(pilot)
    }

    fn test<'s>(&'s mut self, _: &'s Subject<'_>, pilot: Pilot, to: &Target) -> Result<Test<'s>> {
        let mode = match self.lines.can_stratify() {
            true => {
                let (gap, seen) = (to.max_rate - to.intended, (pilot.mean, pilot.variance));
                LineMode::cheapest(to.max_rate, gap, seen, self.lines.are_deep())
            }
            false => LineMode::Whole,
        };
        let variance = pilot.variance + mode.variance();
        let close = to.safety_gap().map(|gap| TooClose {
            after: RULE.hopeless_after,
            least_gap: 0.5 * gap,
            n_std_errors: 1.5,
            variance,
            batch_size: BLOCK,
        });
        Ok(Test {
            bet: Box::new(Betting::expecting(to.max_rate, pilot.mean, variance)?),
            ladder: to.ladder(pilot.mean, variance)?,
            rule: StoppingRule { close, ..RULE },
            observations: Box::new(Blocks { of: self, mode, segment: to.segment }),
        })
    }

    fn report(&mut self, subject: &Subject<'_>, pilot: Pilot, max_rate: f64) -> Result<f64> {
        let share = match subject.task.noise.as_gaussian() {
            Some(_) => REPORTED_ERROR_GAUSSIAN,
            None => REPORTED_ERROR,
        };
        let mode = match self.curved {
            true => LineMode::closely(pilot.mean, pilot.variance),
            false => LineMode::Whole,
        };
        let (mut enough, mut spread) = (MIN_REPORTING, Spread::default());
        loop {
            self.lines.rate_further(&self.pools.reporting, enough, mode, &mut spread)?;
            let mean = spread.mean();
            if spread.std_error() <= share * mean.max(max_rate) || enough >= MAX_REPORTING {
                return Ok(mean);
            }
            enough *= 2;
        }
    }

    fn rate_at_least(&mut self, subject: &Subject<'_>, delta: f64) -> Result<(f64, bool)> {
        // Only one block: each block takes a few per cent of the work for an answer.
        let Self { pools, lines, masses, .. } = self;
        lines.enter(&subject.from, &subject.point, &subject.active)?;
        lines.aim(&subject.point, None)?;
        let mode = match lines.are_deep() && lines.can_stratify() {
            true => LineMode::closely(0.95, 0.01),
            false => LineMode::Whole,
        };
        let mut spare = None;
        let block = pools.fresh.block(0, 0, lines, &mut spare);
        lines.masses(block, mode, &mut masses[..])?;
        Ok((mean_at_least(&masses[..], delta), false))
    }

    fn first_aim(&self, _: &Task, rate: f64) -> f64 {
        rate - usual_gap(rate, false)
    }

    fn gradient(&self) -> &[f64] {
        &self.gradient
    }

    fn add_refused(
        &mut self,
        subject: &Subject<'_>,
        outcome: &Outcome,
        batch: Batch<'_>,
        shares: &mut Vec<f64>,
    ) -> Result<()> {
        let Self { pools, lines, masses, .. } = self;
        lines.enter(&subject.from, &subject.point, &subject.active)?;
        lines.aim(&subject.point, Some(&outcome.gradient))?;
        let mut spare = None;
        let block = pools.fresh.block(batch.segment, batch.index, lines, &mut spare);
        lines.masses(block, LineMode::Whole, &mut masses[..])?;
        shares.resize(BLOCK, 0.0);
        let p = outcome.probability;
        shares.iter_mut().zip(masses.iter()).for_each(|(share, mass)| *share += p * mass);
        Ok(())
    }

    fn n_lines(&self) -> u64 {
        self.lines.n_traced()
    }

    fn shares_noise_with_search(&self) -> bool {
        true
    }
}

/// Fresh blocks of lines.
struct Blocks<'s, 'e> {
    of: &'s mut OnLines<'e>,
    mode: LineMode,
    segment: usize,
}

impl Observations for Blocks<'_, '_> {
    fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let OnLines { pools, lines, masses, .. } = self.of;
        let mut spare = None;
        let block = pools.fresh.block(self.segment, index, lines, &mut spare);
        lines.masses(block, self.mode, &mut masses[..])?;
        Ok(take(&masses[..]))
    }
}
