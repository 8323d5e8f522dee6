//! Samples around a printed row: pilot samples that look around it, fresh ones that a certificate
//! reads, and others behind the reported rate. Lines for networks, errors as ranks for trees, plain
//! draws for the rest, and exact rates where there are some.

mod draws;
mod lines;
mod outcomes;
mod shifted;
mod trees;

use super::certify::{Attempt, Target, Test, share_of_certificate};
use crate::error::Result;
use crate::invalidation::certificate::share_of_attempt;
use crate::invalidation::{BLOCK, Draws, LEAST_AIM, Lines, Models, has_lines};
use crate::model::ModelShift;
use crate::recourse::Task;
use outcomes::{Batch, Outcome, Outcomes};
use std::sync::atomic::AtomicBool;

/// Attempts that a person has: each reads a segment of fresh samples of its own.
pub(super) const ATTEMPTS: usize = 4;

/// Samples that all sessions share.
pub(in crate::engine) enum Sampling {
    /// Lines, for models with gradients under most noise.
    Lines(Box<lines::Pools>),
    /// Errors as ranks, for trees.
    Forest(Box<trees::Sets>),
    /// Lines again, each on a model of its own: the model may change.
    Shifted(ModelShift),
    /// All errors there are: rates are exact.
    Finite,
    /// Independent draws, for everything else.
    Draws,
}

impl Sampling {
    /// The best there is for a task.
    pub(in crate::engine) fn new(task: &Task) -> Result<Self> {
        if let Some(shift) = task.shift {
            Models::new(&*task.model, shift)?;
            Lines::new(&*task.model, &*task.noise, None)?;
            return Ok(Self::Shifted(shift));
        }
        if task.noise.as_residuals().is_some() {
            return Ok(Self::Finite);
        }
        let still = vec![0.0; task.model.n_features()];
        if task.model.as_trees().is_some() && task.noise.at(&still, &still)?.is_none() {
            return Ok(Self::Forest(Box::new(trees::Sets::new(task, ATTEMPTS)?)));
        }
        if task.model.as_differentiable().is_none() || !has_lines(&*task.noise)? {
            return Ok(Self::Draws);
        }
        Ok(Self::Lines(Box::new(lines::Pools::new(task, ATTEMPTS)?)))
    }

    /// About the smallest rate that can be certified with this error probability: a line wins the
    /// gap to the target at most, and an attempt may read so many. `None` where rates are exact.
    pub(in crate::engine) fn least_rate(&self, delta: f64) -> Option<f64> {
        if matches!(self, Self::Finite) {
            return None;
        }
        let own = share_of_certificate(share_of_attempt(delta, 0));
        let most = match self {
            Self::Forest(_) => trees::MAX_SETS * Draws::SET,
            _ => lines::MAX_BLOCKS * BLOCK,
        };
        // Half of what they could win goes to their spread.
        Some(-2.0 * own.ln() / ((1.0 - LEAST_AIM) * most as f64))
    }

    /// One thread's samples.
    fn samples<'e>(&'e self, task: &'e Task) -> Result<Box<dyn Samples + 'e>> {
        Ok(match (self, task.model.as_trees(), task.noise.as_residuals()) {
            (Self::Lines(pools), ..) => Box::new(lines::OnLines::new(pools, task)?),
            (Self::Forest(sets), Some(model), _) => {
                Box::new(trees::OnTrees::new(sets, model, &*task.noise))
            }
            (Self::Shifted(shift), ..) => {
                Box::new(shifted::OnModels { models: Models::new(&*task.model, *shift)? })
            }
            (Self::Finite, _, Some(errors)) => Box::new(draws::AllErrors(errors)),
            _ => Box::new(draws::ByDraws),
        })
    }
}

/// The point that samples are drawn around, in scaled space.
#[derive(Clone)]
struct Subject<'e> {
    task: &'e Task,
    /// The person who is told to reach it.
    from: Vec<f64>,
    point: Vec<f64>,
    /// Features that the noise acts on.
    active: Vec<bool>,
}

/// Mean and variance of pilot samples; the variance is NaN where nothing needs it.
#[derive(Debug, Clone, Copy)]
struct Pilot {
    mean: f64,
    variance: f64,
}

/// Samples of one kind around a point.
trait Samples {
    /// Looks at the point on samples that the search and the certificate do not read. Everything
    /// below is about the point that was looked at last.
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot>;

    /// A certificate that the point's rate is below a target, on fresh samples.
    fn test<'s>(
        &'s mut self,
        subject: &'s Subject<'_>,
        pilot: Pilot,
        to: &Target,
    ) -> Result<Test<'s>>;

    /// The point's rate on samples that neither search nor certificate read; more of them where the
    /// rate is hard to tell from the target.
    fn report(&mut self, subject: &Subject<'_>, pilot: Pilot, max_rate: f64) -> Result<f64>;

    /// What a search should aim at for `rate`: a little under it, closer where the rate is easy to
    /// estimate. Measured costs and sample counts meet about here.
    fn first_aim(&self, task: &Task, rate: f64) -> f64;

    /// Adds `outcome`'s probability to the share of each fresh sample that is refused around it.
    fn add_refused(
        &mut self,
        subject: &Subject<'_>,
        outcome: &Outcome,
        batch: Batch<'_>,
        shares: &mut Vec<f64>,
    ) -> Result<()> {
        draws::add_refused(subject, outcome, batch, shares)
    }

    /// Whether the pilot's mean is the point's exact rate.
    fn is_exact(&self) -> bool {
        false
    }

    /// The direction in which the rate changes most; empty where that is not known.
    fn gradient(&self) -> &[f64] {
        &[]
    }

    /// Pilot samples of one point.
    fn pilot_size(&self) -> usize {
        lines::PILOT_LINES
    }

    /// Batches of fresh samples that one attempt may read.
    fn max_batches(&self) -> usize {
        lines::MAX_BLOCKS
    }

    /// Whether samples are so expensive that a lower aim is nearly always the better choice.
    fn are_expensive(&self) -> bool {
        false
    }

    /// Whether the search uses this very noise, so that what it aims at is what it gets.
    fn shares_noise_with_search(&self) -> bool {
        false
    }

    /// How many lines were read so far.
    fn n_lines(&self) -> u64 {
        0
    }
}

/// One thread's samples around printed rows.
pub(super) struct Sampler<'e> {
    samples: Box<dyn Samples + 'e>,
    subject: Subject<'e>,
    /// What may come of the point, where changes of category may fail; empty where they may not.
    outcomes: Vec<Outcome>,
    /// Probability of what may come besides, which counts as rejected.
    rest: f64,
    pilot: Pilot,
    /// Whether the pilot's mean is the exact rate.
    exact: bool,
    /// Ends certificates once it is set.
    pub(super) cancelled: Option<&'e AtomicBool>,
}

impl<'e> Sampler<'e> {
    pub(super) fn new(sampling: &'e Sampling, task: &'e Task) -> Result<Self> {
        let n = task.model.n_features();
        Ok(Self {
            samples: sampling.samples(task)?,
            subject: Subject {
                task,
                from: vec![0.0; n],
                point: vec![0.0; n],
                active: vec![false; n],
            },
            outcomes: Vec::new(),
            rest: 0.0,
            pilot: Pilot { mean: f64::NAN, variance: f64::NAN },
            exact: false,
            cancelled: None,
        })
    }

    /// How many lines were read so far; 0 where there are none.
    pub(super) fn n_lines(&self) -> u64 {
        self.samples.n_lines()
    }

    /// Whether the method searches under this very noise, so that what it aims at is what it gets.
    pub(super) fn trusts_the_search(&self) -> bool {
        self.samples.shares_noise_with_search()
    }

    /// Whether samples are so expensive that a lower aim is nearly always the better choice.
    pub(super) fn is_expensive(&self) -> bool {
        self.samples.are_expensive()
    }

    /// Whether the rate of the point that is looked at is exact.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The rate that pilot samples saw; the exact one where there is one.
    pub(super) fn mean(&self) -> f64 {
        self.pilot.mean
    }

    /// Standard error of the pilot samples' mean.
    pub(super) fn std_error(&self) -> f64 {
        (self.pilot.variance / self.samples.pilot_size() as f64).sqrt()
    }

    /// What a search should aim at for `rate`.
    pub(super) fn first_aim(&self, rate: f64) -> f64 {
        self.samples.first_aim(self.subject.task, rate)
    }

    /// Looks around the `point` that a person at `from` is told to reach, on pilot samples, so that
    /// a certificate may rest on what is seen.
    pub(super) fn look(&mut self, from: &[f64], point: &[f64], active: &[bool]) -> Result<()> {
        self.subject.from.copy_from_slice(from);
        self.subject.active.copy_from_slice(active);
        let outcomes = self.subject.task.actions.outcomes(from, point);
        if !outcomes.is_empty() {
            return self.look_at_outcomes(outcomes);
        }
        self.outcomes.clear();
        self.pilot = self.look_at(point)?;
        self.exact = self.samples.is_exact();
        Ok(())
    }

    /// [`Sampler::look`] at one point, as if nothing could fail.
    fn look_at(&mut self, point: &[f64]) -> Result<Pilot> {
        self.subject.point.copy_from_slice(point);
        self.samples.pilot(&self.subject)
    }

    /// Tests the point that is looked at on fresh samples.
    pub(super) fn certify(&mut self, to: &Target) -> Result<Attempt> {
        let Self { samples, subject, outcomes, rest, pilot, cancelled, .. } = self;
        if self.exact {
            return Ok(Attempt::exact(pilot.mean, to.max_rate));
        }
        let test = match outcomes.is_empty() {
            true => samples.test(subject, *pilot, to)?,
            false => {
                let outcomes = (&outcomes[..], *rest);
                Outcomes::test(&mut **samples, subject, outcomes, *pilot, to)?
            }
        };
        test.run(to.max_rate, to.delta, *cancelled)
    }

    /// The rate to be reported: from samples that neither search nor certificate read.
    pub(super) fn report(&mut self, max_rate: f64) -> Result<f64> {
        match self.outcomes.is_empty() {
            true => self.samples.report(&self.subject, self.pilot, max_rate),
            false => self.report_outcomes(max_rate),
        }
    }
}

/// 1 for a sample that is refused, 0 for one that is not.
fn yes_or_no(refused: &bool) -> f64 {
    f64::from(u8::from(*refused))
}

/// Adds `probability` to the share of each sample that is refused.
fn add_where(refused: &[bool], probability: f64, shares: &mut Vec<f64>) {
    shares.resize(refused.len(), 0.0);
    for (share, _) in shares.iter_mut().zip(refused).filter(|(_, refused)| **refused) {
        *share += probability;
    }
}
