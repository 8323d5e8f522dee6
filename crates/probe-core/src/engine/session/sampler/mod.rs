//! Samples around a printed row: pilot samples for a first estimate of its rate, fresh samples for
//! the certificate, and further samples for the reported rate. Networks use lines, trees use errors
//! stored as ranks, and everything else uses plain draws. Some rates are exact.

mod draws;
mod lines;
mod outcomes;
mod shifted;
mod trees;

use super::certify::{Attempt, Target, Test, share_of_certificate};
use super::judge::MarginBound;
use crate::error::Result;
use crate::invalidation::certificate::share_of_attempt;
use crate::invalidation::{BLOCK, Draws, LEAST_AIM, Lines, Models, has_lines};
use crate::model::ModelShift;
use crate::recourse::Task;
use outcomes::{Batch, Outcome, Outcomes};
use std::sync::atomic::AtomicBool;

/// Boxes leave a little mass undecided, which counts as rejected. An exact rate may be too high by
/// this much.
const UNDECIDED: f64 = 2e-9;

/// Attempts per answer. Each reads its own segment of fresh samples.
pub(super) const ATTEMPTS: usize = 4;

/// Samples that all sessions share.
pub(in crate::engine) enum Sampling {
    /// Lines, for models with gradients under most noise.
    Lines(Box<lines::Pools>),
    /// Errors stored as ranks, for trees.
    Forest(Box<trees::Sets>),
    /// Lines on randomly changed models, if the model may change.
    Shifted(ModelShift),
    /// Noise that is a finite list of errors. All of them are used, so that rates are exact.
    Finite,
    /// Independent draws, for everything else.
    Draws,
}

impl Sampling {
    /// The most efficient kind of samples that the task allows.
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

    /// Whether all errors that the noise can have are used, so that rates are exact.
    pub(in crate::engine) fn is_exact(&self) -> bool {
        matches!(self, Self::Finite)
    }

    /// Approximately the smallest rate that can be certified with this error probability. A line
    /// adds at most the gap to the target to the logarithm of the evidence, and the number of lines
    /// per attempt is limited. `None` if rates are exact.
    pub(in crate::engine) fn least_rate(&self, delta: f64) -> Option<f64> {
        if self.is_exact() {
            return None;
        }
        let own = share_of_certificate(share_of_attempt(delta, 0));
        let most = match self {
            Self::Forest(_) => trees::MAX_SETS * Draws::SET,
            _ => lines::MAX_BLOCKS * BLOCK,
        };
        // The factor of 2: about half of that evidence is lost to the variance of the lines.
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
                Box::new(shifted::OnModels::new(Models::new(&*task.model, *shift)?))
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
    /// The person who is advised to reach the point.
    from: Vec<f64>,
    point: Vec<f64>,
    /// Features that the noise acts on.
    active: Vec<bool>,
}

/// Mean and variance of pilot samples. The variance is NaN for kinds of samples that do not use it.
#[derive(Debug, Clone, Copy)]
struct Pilot {
    mean: f64,
    variance: f64,
}

/// Samples of one kind around a point.
trait Samples {
    /// Estimates the point's rate on samples that neither search nor certificate read. The other
    /// methods refer to the last point that was given here.
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot>;

    /// A test on fresh samples of whether the point's rate is below a target.
    fn test<'s>(
        &'s mut self,
        subject: &'s Subject<'_>,
        pilot: Pilot,
        to: &Target,
    ) -> Result<Test<'s>>;

    /// The point's rate on samples that neither search nor certificate read. The higher the
    /// variance, the more samples are read.
    fn report(&mut self, subject: &Subject<'_>, pilot: Pilot, max_rate: f64) -> Result<f64>;

    /// Standard error of the rate that was last reported, if it is known. A rate with one is an
    /// estimate that stands for itself.
    fn std_error_of_report(&self) -> Option<f64> {
        None
    }

    /// A lower bound on the point's rate from a few fresh samples, which fails with probability
    /// `delta`. Also whether the rate is exact, so that the bound is certain up to [`UNDECIDED`].
    /// The point need not have been given to [`Samples::pilot`] before.
    fn rate_at_least(&mut self, subject: &Subject<'_>, delta: f64) -> Result<(f64, bool)>;

    /// Whether [`Samples::is_exact`] is likely to hold for points of this task.
    fn expects_exact_rates(&self, _task: &Task) -> bool {
        false
    }

    /// The rate that a search should aim at so that `rate` can be certified: slightly below `rate`,
    /// and closer if rates are easy to estimate. A lower aim makes answers more expensive, a higher
    /// one needs more samples; the formulas balance both as measured.
    fn first_aim(&self, task: &Task, rate: f64) -> f64;

    /// For each fresh sample that is rejected around `outcome`, adds the outcome's probability to
    /// the sample's share.
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

    /// The direction in which the rate changes most; empty if it is unknown.
    fn gradient(&self) -> &[f64] {
        &[]
    }

    /// Number of pilot samples per point.
    fn pilot_size(&self) -> usize {
        lines::PILOT_LINES
    }

    /// Batches of fresh samples that one attempt may read.
    fn max_batches(&self) -> usize {
        lines::MAX_BLOCKS
    }

    /// Whether samples are so expensive that a lower aim is nearly always better than more samples.
    fn are_expensive(&self) -> bool {
        false
    }

    /// Whether the search uses the same noise, so that its points have about the rate it aims at.
    fn shares_noise_with_search(&self) -> bool {
        false
    }

    /// How many lines were evaluated so far.
    fn n_lines(&self) -> u64 {
        0
    }
}

/// One thread's samples around printed rows.
pub(super) struct Sampler<'e> {
    samples: Box<dyn Samples + 'e>,
    subject: Subject<'e>,
    /// The points that the person may really reach, if changes of category can fail; empty if they
    /// cannot.
    outcomes: Vec<Outcome>,
    /// Total probability of all other outcomes, which count as rejected.
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

    /// How many lines were evaluated so far; 0 if the samples are not lines.
    pub(super) fn n_lines(&self) -> u64 {
        self.samples.n_lines()
    }

    /// Whether the search uses the same noise, so that its points have about the rate it aims at.
    pub(super) fn trusts_the_search(&self) -> bool {
        self.samples.shares_noise_with_search()
    }

    /// Whether samples are so expensive that a lower aim is nearly always better than more samples.
    pub(super) fn is_expensive(&self) -> bool {
        self.samples.are_expensive()
    }

    /// Whether the rate of the current point is exact.
    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    /// The exact rate of the current point if it is known, else the estimate of the pilot samples.
    pub(super) fn mean(&self) -> f64 {
        self.pilot.mean
    }

    /// Standard error of the pilot samples' mean.
    pub(super) fn std_error(&self) -> f64 {
        (self.pilot.variance / self.samples.pilot_size() as f64).sqrt()
    }

    /// The rate that a search should aim at so that `rate` can be certified.
    pub(super) fn first_aim(&self, rate: f64) -> f64 {
        self.samples.first_aim(self.subject.task, rate)
    }

    /// Runs pilot samples around the `point` that a person at `from` is advised to reach. The test
    /// may use their result, because it reads other samples.
    pub(super) fn run_pilot(&mut self, from: &[f64], point: &[f64], active: &[bool]) -> Result<()> {
        self.subject.from.copy_from_slice(from);
        self.subject.active.copy_from_slice(active);
        let outcomes = self.subject.task.actions.outcomes(from, point);
        if !outcomes.is_empty() {
            return self.run_pilot_on_outcomes(outcomes);
        }
        self.outcomes.clear();
        self.pilot = self.pilot_at(point)?;
        self.exact = self.samples.is_exact();
        Ok(())
    }

    /// Pilot samples around one point, as if no change of category could fail.
    fn pilot_at(&mut self, point: &[f64]) -> Result<Pilot> {
        self.subject.point.copy_from_slice(point);
        self.samples.pilot(&self.subject)
    }

    /// An upper bound on the smoothed margin of a person at `point` who changes nothing, where the
    /// noise acts on the `active` features, with error probability `delta`.
    pub(super) fn margin_at_most(
        &mut self,
        point: &[f64],
        active: &[bool],
        delta: f64,
    ) -> Result<MarginBound> {
        self.subject.from.copy_from_slice(point);
        self.subject.point.copy_from_slice(point);
        self.subject.active.copy_from_slice(active);
        let (rate, certain) = self.samples.rate_at_least(&self.subject, delta)?;
        Ok(MarginBound::of_rate(if certain { rate - UNDECIDED } else { rate }, certain))
    }

    /// Whether rates are likely to be exact.
    pub(super) fn expects_exact_rates(&self) -> bool {
        self.samples.expects_exact_rates(self.subject.task)
    }

    /// Tests the current point on fresh samples.
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

    /// Standard error of the last report, if it is known.
    pub(super) fn std_error_of_report(&self) -> Option<f64> {
        self.samples.std_error_of_report().filter(|_| self.outcomes.is_empty())
    }
}

/// 1 for a sample that is rejected, 0 for one that is not.
fn indicator(refused: &bool) -> f64 {
    f64::from(u8::from(*refused))
}

/// Adds `probability` to the share of each sample that is rejected.
fn add_where(refused: &[bool], probability: f64, shares: &mut Vec<f64>) {
    shares.resize(refused.len(), 0.0);
    for (share, _) in shares.iter_mut().zip(refused).filter(|(_, refused)| **refused) {
        *share += probability;
    }
}
