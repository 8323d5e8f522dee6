//! Rounds a proposal to the row that is printed.
//!
//! A method proposes a point in scaled space. The advice is in raw units, within the bounds of each
//! feature and on its steps. The judge sees exactly the printed row, bit for bit.

mod ulps;

use crate::cost::Cost;
use crate::engine::{Engine, Setup};
use crate::error::Result;
use crate::schema::{Direction, ModelInput, Tie, Violation};

/// A row in both spaces.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) raw: &'a [f64],
    pub(super) scaled: &'a [f64],
}

/// A person and the row that they are advised to reach.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) from: Row<'a>,
    pub(super) to: Row<'a>,
}

/// One person's printed row. Raw and scaled values always belong together.
pub(super) struct Rounding<'e> {
    setup: &'e Setup,
    /// Weights of an affine score, in scaled space.
    weights: Option<&'e [f64]>,
    /// Whether ranges seen in training are known.
    knows_ranges: bool,
    /// Whether numbers are printed as proposed, except for rounding: there are no steps or
    /// relations.
    plain: bool,
    /// The person, scaled.
    from: Vec<f64>,
    /// The printed row, raw.
    row: Vec<f64>,
    /// The printed row, scaled.
    scaled: Vec<f64>,
    /// The columns, in ascending order, that may differ from the person's.
    moved: Vec<usize>,
}

/// A printed row to come back to.
pub(super) struct Kept {
    row: Vec<f64>,
    moved: Vec<usize>,
}

impl<'e> Rounding<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        let setup = &engine.setup;
        let n = setup.names.len();
        Self {
            setup,
            weights: engine.task().model.as_linear().map(|linear| linear.weights()),
            knows_ranges: setup.ranges.iter().any(Option::is_some),
            plain: setup.actions.ties().is_empty() && !setup.actions.has_grids(),
            from: vec![0.0; n],
            row: vec![0.0; n],
            scaled: vec![0.0; n],
            moved: Vec::with_capacity(n),
        }
    }

    /// Starts a person. Until something else is printed, their own row is the printed one.
    #[inline]
    pub(super) fn start(&mut self, person: &[f64]) {
        self.setup.space.scale_into(person, &mut self.from);
        self.row.copy_from_slice(person);
        self.scaled.copy_from_slice(&self.from);
        self.moved.clear();
    }

    /// The person, scaled.
    pub(super) fn from(&self) -> &[f64] {
        &self.from
    }

    /// The printed row, raw.
    pub(super) fn row(&self) -> &[f64] {
        &self.row
    }

    /// Whether numbers are printed as proposed, except for rounding: there are no steps or
    /// relations.
    pub(super) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether ranges seen in training are known.
    pub(super) fn knows_ranges(&self) -> bool {
        self.knows_ranges
    }

    /// The change from `person`, in raw units, to the printed row.
    pub(super) fn change<'a>(&'a self, person: &'a [f64]) -> Change<'a> {
        Change {
            from: Row { raw: person, scaled: &self.from },
            to: Row { raw: &self.row, scaled: &self.scaled },
        }
    }

    /// The change from the person to their own row.
    pub(super) fn no_change<'a>(&'a self, person: &'a [f64]) -> Change<'a> {
        let from = Row { raw: person, scaled: &self.from };
        Change { from, to: from }
    }

    /// Rounds `point` to the printed row. Unchanged features and bounds keep their exact raw bits;
    /// everything else is converted to raw units.
    pub(super) fn print(&mut self, person: &[f64], point: &[f64]) {
        self.row.copy_from_slice(person);
        differing_into(point, &self.from, &mut self.moved);
        for &j in &self.moved {
            let raw = self.setup.space.to_raw(j, point[j]);
            self.row[j] = if self.setup.actions.is_grouped(j) {
                raw
            } else {
                self.within_bounds(j, person[j], raw)
            };
        }
        self.balance(person);
        self.rescale();
    }

    /// Uses a raw row as the printed row, even if it breaks the limits.
    pub(super) fn set(&mut self, raw: &[f64]) {
        self.row.copy_from_slice(raw);
        self.rescale();
    }

    /// The printed row, to come back to by [`Rounding::restore`].
    pub(super) fn keep(&self) -> Kept {
        Kept { row: self.row.clone(), moved: self.moved.clone() }
    }

    pub(super) fn restore(&mut self, kept: Kept) {
        (self.row, self.moved) = (kept.row, kept.moved);
        self.rescale();
    }

    fn rescale(&mut self) {
        self.setup.space.scale_into(&self.row, &mut self.scaled);
    }

    /// The score of the printed row.
    #[inline]
    pub(super) fn score(&self) -> Result<f64> {
        self.setup.model.score(match self.setup.space.model_input() {
            ModelInput::Raw => &self.row,
            ModelInput::Scaled => &self.scaled,
        })
    }

    /// The cost of the change to the printed row.
    #[inline]
    pub(super) fn cost(&self, cost: &Cost) -> f64 {
        cost.between_moved(&self.from, &self.scaled, &self.moved)
    }

    /// Whether the person may change to the printed row.
    pub(super) fn is_admissible(&self) -> bool {
        let finite = self.moved.iter().all(|&j| self.row[j].is_finite());
        finite && self.setup.actions.admits(&self.from, &self.scaled, &self.moved)
    }

    /// The rules that the printed row breaks.
    pub(super) fn violations(&self) -> Vec<Violation> {
        self.setup.actions.violations(&self.from, &self.scaled)
    }

    /// How many features the printed row changes; a category counts as one.
    pub(super) fn n_changed(&self, person: &[f64]) -> usize {
        let actions = &self.setup.actions;
        if !actions.groups().is_empty() {
            return actions.n_changed(person, &self.row);
        }
        self.moved.iter().filter(|&&j| self.row[j] != person[j]).count()
    }

    /// Changed features outside the range seen in training; `None` where that is unknown.
    pub(super) fn outside_range(&self, person: &[f64]) -> Option<usize> {
        let outside = |j: usize| {
            self.row[j] != person[j]
                && self.setup.ranges[j]
                    .is_some_and(|[low, high]| !(low..=high).contains(&self.row[j]))
        };
        self.knows_ranges.then(|| self.moved.iter().filter(|&&j| outside(j)).count())
    }

    /// Corrects rounding in sums that must stay constant: computes the first changed feature that
    /// may take any value from the others.
    fn balance(&mut self, person: &[f64]) {
        let setup = self.setup;
        for tie in setup.actions.ties() {
            let Tie::Sum { terms, equal: true, .. } = tie else { continue };
            // The relation has weights for scaled values; convert them to raw units.
            let weight =
                |c: usize, k: f64| k / (setup.space.to_raw(c, 1.0) - setup.space.to_raw(c, 0.0));
            let free =
                terms.iter().find(|(c, _)| self.is_continuous(*c) && self.row[*c] != person[*c]);
            let Some(&(free, k)) = free else { continue };
            let others = terms.iter().filter(|(c, _)| *c != free);
            let moved: f64 = others.map(|&(c, k)| weight(c, k) * (self.row[c] - person[c])).sum();
            // Bounds hold exactly; the sum holds up to rounding.
            self.row[free] =
                self.within_bounds(free, person[free], person[free] - moved / weight(free, k));
        }
    }

    /// `raw` brought inside the raw bounds of feature `j`, for a person who has `x`.
    fn within_bounds(&self, j: usize, x: f64, raw: f64) -> f64 {
        let (low, high) = self.setup.raw_bounds.get(j).copied().unwrap_or((None, None));
        let mut low = low.map_or(f64::NEG_INFINITY, |low| low.min(x));
        let mut high = high.map_or(f64::INFINITY, |high| high.max(x));
        // Two raw values can have the same scaled value, so that the direction is checked in raw
        // units.
        match self.setup.actions.room(j).direction {
            Direction::Any => {}
            Direction::Increase => low = low.max(x),
            Direction::Decrease => high = high.min(x),
        }
        let mut value = raw.max(low).min(high);
        if let Some(step) = self.setup.steps[j] {
            return onto_step(step, x, value, (low, high));
        }
        let (actions, space) = (&self.setup.actions, &self.setup.space);
        if let Some((from, to)) = actions.interval(j, space.to_scaled(j, x)) {
            let scaled = space.to_scaled(j, value);
            if scaled < from || scaled > to {
                value = space.to_raw(j, scaled.clamp(from, to)).max(low).min(high);
            }
            // Conversion to raw units and back may end an ulp outside the scaled interval. Step
            // back inside, by ulps of the value or of the scale's offset, whichever is larger.
            let ulp = f64::EPSILON * value.abs().max(space.offset(j).abs());
            for k in 0..4 {
                let scaled = space.to_scaled(j, value);
                if scaled > to {
                    value = value.next_down().min(value - f64::from(k) * ulp);
                } else if scaled < from {
                    value = value.next_up().max(value + f64::from(k) * ulp);
                }
            }
        }
        value
    }

    /// Whether feature `j` is part of a limited sum, so that it cannot move alone.
    fn is_tied(&self, j: usize) -> bool {
        let ties = self.setup.actions.ties();
        ties.iter()
            .any(|tie| matches!(tie, Tie::Sum { terms, .. } if terms.iter().any(|(c, _)| *c == j)))
    }

    /// Whether feature `j` may take any value: it is neither part of a category nor has steps.
    fn is_continuous(&self, j: usize) -> bool {
        !self.setup.actions.is_grouped(j) && self.setup.steps[j].is_none()
    }
}

impl Setup {
    /// Whether feature `j`, with raw value `x`, can still move in the direction that raises a score
    /// in which its weight is `w`.
    pub(super) fn may_improve(&self, j: usize, x: f64, w: f64) -> bool {
        let scaled = self.space.to_scaled(j, x);
        self.actions
            .interval(j, scaled)
            .is_some_and(|(low, high)| if w > 0.0 { high > scaled } else { low < scaled })
    }
}

/// Writes the columns in which two rows differ, in ascending order. Most rows differ in few, so
/// four columns are compared at once: linear models answer millions of people per second.
pub(super) fn differing_into(a: &[f64], b: &[f64], columns: &mut Vec<usize>) {
    columns.clear();
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (k, (a, b)) in a.iter().zip(b).enumerate() {
        if (a[0] != b[0]) | (a[1] != b[1]) | (a[2] != b[2]) | (a[3] != b[3]) {
            for i in 0..4 {
                if a[i] != b[i] {
                    columns.push(4 * k + i);
                }
            }
        }
    }
    let rest = a_rest.iter().zip(b_rest).enumerate();
    columns.extend(rest.filter(|(_, (a, b))| a != b).map(|(i, _)| 4 * a.len() + i));
}

/// The multiple of `step` for a move from `from` to `to`: the next one beyond `to` if the bounds
/// allow it, otherwise the last one before `to`.
pub(super) fn onto_step(step: f64, from: f64, to: f64, (low, high): (f64, f64)) -> f64 {
    // A smaller share of a step is a rounding error.
    const NEAR: f64 = 1e-6;
    let at = to / step;
    let (out, back) = match to > from {
        true => ((at - NEAR).ceil(), (at + NEAR).floor()),
        false => ((at + NEAR).floor(), (at - NEAR).ceil()),
    };
    let may = |value: &f64| low <= *value && *value <= high && (*value > from) == (to > from);
    [out, back].into_iter().map(|k| multiple(k, step)).find(may).unwrap_or(from)
}

/// The number nearest to `k` steps: for three steps of 0.1, 0.3 and not 0.30000000000000004.
fn multiple(k: f64, step: f64) -> f64 {
    let per_unit = (1.0 / step).round();
    let is_share = per_unit >= 2.0 && (per_unit * step - 1.0).abs() <= 1e-12;
    if is_share { k / per_unit } else { k * step }
}
