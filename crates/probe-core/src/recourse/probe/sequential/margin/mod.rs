//! What a search walks on: the smoothed margin around a point, as closely as asked for.

mod black_box;
mod correlated;
mod network;
mod scattered;
mod trees;

use super::problem::Precision;
use super::{COARSE, LEAST_GAIN};
use crate::error::Result;
use crate::invalidation::{Errors, Lines, Pool};
use crate::noise::{Gaussian, Noise};
use crate::recourse::{Reason, Task};
use crate::schema::Actions;
use crate::seed::Purpose;
use black_box::OnScores;
use network::OnLines;
use trees::OnErrors;

/// A move, and where the noise acts.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub from: &'p [f64],
    pub to: &'p [f64],
    pub active: &'p [bool],
}

/// What was seen at a place.
pub(super) struct Seen {
    /// Margin less the target. A point that is not favourable itself has none to spare, whatever
    /// the rate.
    pub slack: f64,
    /// Whether the point is favourable itself.
    pub favourable: bool,
    /// Variance of one sample.
    pub variance: f64,
}

/// The smoothed margin and its gradient, on samples that all looks share.
pub(super) trait Margin {
    /// Begins with another person.
    fn begin(&mut self, person: &[f64]);

    /// Margin less `z` at a place; its gradient goes to `gradient`. `hint` is a gradient from
    /// nearby.
    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Precision,
        hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen>;

    /// [`Margin::slack`] without a gradient, on more samples for less, and the variance of one;
    /// `None` where that is no cheaper at the place that was last looked at, or the point is
    /// refused itself.
    fn closer_slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        lines: usize,
        hint: Option<&[f64]>,
    ) -> Result<Option<(f64, f64)>> {
        let _ = (place, z, lines, hint);
        Ok(None)
    }

    /// What [`Margin::slack`] takes of a budget, in lines.
    fn lines_of(&self, look: Precision) -> u64 {
        match look {
            Precision::FirstOrder => 1,
            Precision::Lines(n) => n as u64,
        }
    }

    /// Whether a closer look is cheaper.
    fn looks_closer(&self) -> bool {
        false
    }

    /// Whether most lines are known to bend: a safety gap costs more and saves less.
    fn bends(&self) -> bool {
        false
    }

    /// The margin at a place, which [`Margin::slack_of_single`] starts from.
    fn anchor(&mut self, place: Place<'_>, hint: Option<&[f64]>, lines: usize) -> Result<f64>;

    /// Margin less `z` where one feature of the anchored place differs; −1 if the point is refused
    /// itself. `None` where there is no short cut to it.
    fn slack_of_single(
        &mut self,
        change: (usize, f64),
        z: f64,
        lines: usize,
    ) -> Result<Option<f64>>;

    /// Standard deviation of feature `j`, whether or not the noise acts on it.
    fn sd(&self, j: usize) -> f64;

    /// The largest standard deviation of the noise, over the features it acts on.
    fn largest_sd(&self) -> f64;

    /// How closely an answer can meet a target, in units of the margin.
    fn precision(&self) -> f64;

    /// Values of single features beside which the score jumps, near `x`.
    fn edges_into(&self, x: &[f64], edges: &mut Vec<(usize, f64)>) {
        let _ = (x, edges);
    }

    /// Values of feature `j` within a range, to look at where nothing else helps: one between each
    /// two jumps of the score and one beyond the outermost, or evenly spread where it does not
    /// jump; none where the range has no end.
    fn stops_into(&self, j: usize, range: (f64, f64), stops: &mut Vec<f64>) {
        let _ = (j, range, stops);
    }

    /// Points to search from where steps from the person lead nowhere.
    fn starts_into(&self, person: &[f64], task: &Task, starts: &mut Vec<Vec<f64>>) {
        let _ = (person, task, starts);
    }

    /// Why no admissible point is favourable, as far as that is certain; `None` where nothing is.
    fn infeasibility(&self, person: &[f64], actions: &Actions) -> Option<Reason> {
        let _ = (person, actions);
        None
    }

    /// Differences in margin that mean nothing.
    fn noise(&self) -> f64 {
        0.0
    }

    /// A step that promises less than this share of the cost is the last.
    fn least_gain(&self, look: Precision) -> f64 {
        let _ = look;
        LEAST_GAIN
    }

    /// How many lines a step of the search takes.
    fn coarse(&self) -> usize {
        COARSE
    }

    /// How many lines the last steps take, where more than the others.
    fn closer(&self) -> Option<usize> {
        None
    }

    /// How many lines were read so far; 0 where there are none.
    fn n_lines(&self) -> u64 {
        0
    }

    /// Whether single features are tried only where the margin's slope at the person speaks for
    /// them.
    fn screens(&self) -> bool {
        false
    }

    /// How many samples of a certificate are worth a lower cost.
    fn fair_samples(&self) -> f64;

    /// What staying under a target may add to the cost.
    fn fair_surcharges(&self) -> Surcharges {
        Surcharges { fair: 0.0165, expensive: 0.03, cheap: 0.009 }
    }

    /// How many lines of a certificate the whole cost of an answer is worth, where room under a
    /// target is chosen by that.
    fn worth_of_cost(&self, rate: f64) -> Option<f64> {
        let _ = rate;
        None
    }

    /// How far under a target steps look for a way at most; the last ones may go further.
    fn gap_of_steps(&self, rate: f64) -> f64 {
        rate
    }
}

/// What staying under a target may add to the cost, as shares of it: so much, or less where it
/// would add more than is `expensive`.
#[derive(Clone, Copy)]
pub(super) struct Surcharges {
    pub fair: f64,
    pub expensive: f64,
    pub cheap: f64,
}

/// Evenly spread errors that all threads share.
pub(super) enum Samples {
    Lines(Pool),
    Errors(Errors),
}

impl Samples {
    pub(super) fn new(task: &Task, noise: &dyn Noise, active: Option<&[bool]>) -> Result<Self> {
        let depends = black_box::depends_on_the_move(noise)?;
        if depends && (task.model.as_trees().is_some() || task.model.as_differentiable().is_none())
        {
            // Standard ones: every move makes its own of them.
            let standard = Gaussian::isotropic(noise.dim(), 1.0)?;
            return Ok(Self::Errors(Errors::even(
                &standard,
                task.seed,
                (Purpose::Search, 0),
                black_box::MOST,
            )?));
        }
        if task.model.as_trees().is_some() {
            return Ok(Self::Errors(Errors::even(
                noise,
                task.seed,
                (Purpose::Search, 0),
                trees::MOST,
            )?));
        }
        if task.model.as_differentiable().is_none() {
            return Ok(Self::Errors(Errors::even(
                noise,
                task.seed,
                (Purpose::Search, 0),
                black_box::MOST,
            )?));
        }
        let lines = Lines::new(&*task.model, noise, active)?;
        Ok(Self::Lines(Pool::even(task.seed, Purpose::Search, 0, &lines)))
    }

    /// One thread's view.
    pub(super) fn margin<'a>(
        &'a self,
        task: &'a Task,
        noise: &'a dyn Noise,
        active: Option<&[bool]>,
    ) -> Result<Box<dyn Margin + 'a>> {
        match (self, task.model.as_trees()) {
            (Self::Errors(errors), Some(model)) if !black_box::depends_on_the_move(noise)? => {
                Ok(Box::new(OnErrors::new(model, noise, errors, &task.actions, active)))
            }
            (Self::Lines(pool), _) => {
                let lines = Lines::new(&*task.model, noise, active)?;
                Ok(Box::new(OnLines::new(lines, pool, task.model.as_mlp())))
            }
            (Self::Errors(errors), _) => Ok(Box::new(OnScores::new(&*task.model, noise, errors)?)),
        }
    }
}
