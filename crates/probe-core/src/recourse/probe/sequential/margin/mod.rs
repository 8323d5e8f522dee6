//! What a search walks on: the smoothed margin around a point, as closely as asked for.

mod black_box;
mod correlated;
mod network;
mod scattered;
mod trees;

use super::problem::Precision;
use super::tuning::Tuning;
use crate::error::Result;
use crate::invalidation::{Boxes, Errors, Lines, Places, Pool};
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
    /// The same whether or not the point is favourable itself; infinite where that was not looked
    /// at.
    pub excess: f64,
    /// Whether the point is favourable itself.
    pub favourable: bool,
    /// Variance of one sample.
    pub variance: f64,
}

/// What is known of a score and its noise besides the margin: where it jumps, where to start.
pub(super) trait Structure {
    /// Standard deviation of feature `j`, whether or not the noise acts on it.
    fn sd(&self, j: usize) -> f64;

    /// The largest standard deviation of the noise, over the features it acts on.
    fn largest_sd(&self) -> f64;

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
}

/// The smoothed margin and its gradient, on samples that all looks share.
pub(super) trait Margin: Structure {
    /// How a search goes about this kind of margin.
    fn tuning(&self) -> Tuning;

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

    /// The margin at a place, which [`Margin::slack_of_single`] starts from.
    fn anchor(&mut self, place: Place<'_>, hint: Option<&[f64]>, lines: usize) -> Result<f64>;

    /// Margin less `z` where one feature of the anchored place differs; −1 if the point is refused
    /// itself. `None` where there is no short cut to it.
    fn slack_of_single(
        &mut self,
        change: (usize, f64),
        z: f64,
        lines: usize,
    ) -> Result<Option<f64>> {
        let _ = (change, z, lines);
        Ok(None)
    }

    /// Whether [`Margin::rates_along`] is faster than one by one.
    fn has_profiles(&self) -> bool {
        false
    }

    /// Rates at `places` of one feature, where the others are as in `place`, on as many samples as
    /// are worth `lines`. Says whether that is faster than one by one; otherwise there are none.
    fn rates_along(
        &mut self,
        place: Place<'_>,
        places: Places,
        lines: usize,
        rates: &mut Vec<f64>,
    ) -> bool {
        let _ = (place, places, lines, rates);
        false
    }

    /// Whether [`Margin::closer_slack`] is cheaper near this person.
    fn looks_closer(&self) -> bool {
        false
    }

    /// Whether most lines near this person are known to bend: a safety gap costs more and saves
    /// less.
    fn bends(&self) -> bool {
        false
    }

    /// How many lines were read so far; 0 where there are none.
    fn n_lines(&self) -> u64 {
        0
    }
}

/// Evenly spread errors that all threads share.
pub(super) enum Samples {
    Lines(Pool),
    /// Also whether rates of trees are exact with noise on four features.
    Trees(Errors, bool),
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
        if let Some(model) = task.model.as_trees() {
            let four = active.is_some_and(|active| Boxes::are_few_on_four(model, noise, active));
            let errors = Errors::even(noise, task.seed, (Purpose::Search, 0), trees::MOST)?;
            return Ok(Self::Trees(errors, four));
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
            (Self::Trees(errors, four), Some(model)) => {
                let boxes = Boxes::new(model, noise).map(|boxes| boxes.with_four(*four));
                Ok(Box::new(OnErrors::new(model, (noise, errors), boxes, &task.actions, active)))
            }
            (Self::Lines(pool), _) => {
                let lines = Lines::new(&*task.model, noise, active)?;
                Ok(Box::new(OnLines::new(lines, pool, task.model.as_mlp())))
            }
            (Self::Errors(errors) | Self::Trees(errors, _), _) => {
                Ok(Box::new(OnScores::new(&*task.model, noise, errors)?))
            }
        }
    }
}
