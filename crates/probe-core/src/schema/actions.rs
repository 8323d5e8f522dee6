//! The action space: what a person may change, in scaled space.

mod moves;
mod outcomes;

pub use outcomes::Outcomes;

use super::group::Group;
use super::relation::Tie;
use crate::error::{Result, require};
use serde::{Deserialize, Serialize};

/// The direction in which a feature may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Both directions.
    #[default]
    Any,
    /// Up only.
    Increase,
    /// Down only.
    Decrease,
}

/// One feature's limits, in scaled space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureLimits {
    /// Lowest admissible value; −∞ for none.
    pub low: f64,
    /// Highest admissible value; ∞ for none.
    pub high: f64,
    /// Whether it may change at all.
    pub mutable: bool,
    /// The direction.
    pub direction: Direction,
}

impl Default for FeatureLimits {
    fn default() -> Self {
        Self {
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            mutable: true,
            direction: Direction::Any,
        }
    }
}

/// A broken rule of the action space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Violation {
    /// The feature moved though it is immutable.
    Immutable(usize),
    /// The feature moved against its direction.
    Direction(usize),
    /// The feature is outside its bounds, or moved further out.
    Bounds(usize),
    /// The group's columns match none of its options.
    NotOneHot(usize),
    /// The group made a change that is not allowed.
    Transition(usize),
    /// The feature moved to a value between its steps.
    Step(usize),
    /// A relation between features is broken.
    Relation(usize),
    /// More features changed than allowed.
    TooManyChanges(usize),
}

/// The values a feature may move to: `zero`, and whole steps away from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// One of the values.
    pub zero: f64,
    /// The distance between neighbouring values.
    pub step: f64,
}

impl Grid {
    /// Values closer than this share of a step count as equal.
    const NEAR: f64 = 1e-6;

    /// The largest value at or below `x`.
    pub fn below(&self, x: f64) -> f64 {
        self.zero + self.step * ((x - self.zero) / self.step + Self::NEAR).floor()
    }

    /// The smallest value at or above `x`.
    pub fn above(&self, x: f64) -> f64 {
        self.zero + self.step * ((x - self.zero) / self.step - Self::NEAR).ceil()
    }

    /// Whether `x` is one of the values.
    pub fn has(&self, x: f64) -> bool {
        let at = (x - self.zero) / self.step;
        (at - at.round()).abs() <= Self::NEAR
    }
}

/// A further restriction of a search, in addition to what a person may change.
#[derive(Debug, Clone, PartialEq)]
pub struct Restriction {
    /// An interval per feature. The person may be outside of it.
    pub limits: Vec<(f64, f64)>,
    /// Features that may not change; empty for none.
    pub held: Vec<bool>,
    /// Whether groups may not change.
    pub frozen: bool,
    /// At most this many changes.
    pub max_changes: Option<usize>,
}

impl Restriction {
    /// No restriction except that the `held` features may not change.
    pub fn holding(actions: &Actions, held: Vec<bool>) -> Self {
        Self {
            limits: vec![(f64::NEG_INFINITY, f64::INFINITY); actions.n_features()],
            held,
            frozen: false,
            max_changes: actions.max_changes(),
        }
    }

    fn holds(&self, j: usize) -> bool {
        self.held.get(j).copied().unwrap_or(false)
    }
}

/// What a person may change.
#[derive(Debug, Clone, PartialEq)]
pub struct Actions {
    limits: Vec<FeatureLimits>,
    /// Steps of each feature; empty if none has any.
    grids: Vec<Option<Grid>>,
    groups: Vec<Group>,
    /// Group of each column, if any.
    group_of: Vec<Option<usize>>,
    /// Relations between columns.
    ties: Vec<Tie>,
    max_changes: Option<usize>,
    strict: bool,
    /// Features whose value is missing.
    missing: Vec<bool>,
    /// Features that may not change because they are tied to a missing one. They have noise like
    /// others.
    held: Vec<bool>,
    /// A further restriction that a search sets itself.
    restriction: Option<Restriction>,
}

/// Whether two values are the same. A missing value (NaN) that stays missing has not changed.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

impl Actions {
    /// No limits on `n_features` features.
    pub fn free(n_features: usize) -> Self {
        Self::new(vec![FeatureLimits::default(); n_features])
    }

    /// Limits of each feature.
    pub fn new(limits: Vec<FeatureLimits>) -> Self {
        let n = limits.len();
        Self {
            limits,
            grids: Vec::new(),
            groups: Vec::new(),
            group_of: vec![None; n],
            ties: Vec::new(),
            max_changes: None,
            strict: false,
            missing: vec![false; n],
            held: vec![false; n],
            restriction: None,
        }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.limits.len()
    }

    /// Fails if a bound is NaN or a lower bound is above the upper one.
    pub fn check(&self) -> Result<()> {
        for (j, own) in self.limits.iter().enumerate() {
            let rule = "at most its upper bound";
            require(own.low <= own.high, &format!("lower bound of feature {j}"), rule, own.low)?;
        }
        Ok(())
    }

    /// Adds groups. Fails if columns repeat or do not exist, or a table is not square.
    pub fn with_groups(mut self, groups: Vec<Group>) -> Result<Self> {
        self.group_of = vec![None; self.limits.len()];
        for (g, group) in groups.iter().enumerate() {
            for &column in group.columns() {
                let free = self.group_of.get(column).is_some_and(Option::is_none);
                require(
                    free,
                    &format!("column of group {g}"),
                    "a feature in no other group",
                    column as f64,
                )?;
                self.group_of[column] = Some(g);
            }
            group.check(g)?;
        }
        self.groups = groups;
        Ok(self)
    }

    /// Lets features move by whole steps only; one entry per feature. Fails unless steps are
    /// positive.
    pub fn with_grids(mut self, grids: Vec<Option<Grid>>) -> Result<Self> {
        for (j, grid) in grids.iter().enumerate() {
            if let Some(grid) = grid {
                let field = format!("step of feature {j}");
                require(
                    grid.step > 0.0 && grid.step.is_finite(),
                    &field,
                    "positive and finite",
                    grid.step,
                )?;
                require(grid.zero.is_finite(), &field, "counted from a finite value", grid.zero)?;
            }
        }
        self.grids = if grids.iter().all(Option::is_none) { Vec::new() } else { grids };
        Ok(self)
    }

    /// Adds relations between columns.
    #[must_use]
    pub fn with_ties(mut self, ties: Vec<Tie>) -> Self {
        self.ties = ties;
        self
    }

    /// Relations between columns.
    pub fn ties(&self) -> &[Tie] {
        &self.ties
    }

    /// Whether sums of columns are limited.
    pub fn has_sums(&self) -> bool {
        self.ties.iter().any(|tie| matches!(tie, Tie::Sum { .. }))
    }

    /// Whether some columns may not change under a condition.
    pub fn has_conditions(&self) -> bool {
        self.ties.iter().any(|tie| matches!(tie, Tie::Fixed { .. }))
    }

    /// The same without steps.
    #[must_use]
    pub fn without_grids(mut self) -> Self {
        self.grids.clear();
        self
    }

    /// The steps of feature `j`, if it moves by steps.
    pub fn grid(&self, j: usize) -> Option<Grid> {
        self.grids.get(j).copied().flatten()
    }

    /// Whether some feature moves by steps.
    pub fn has_grids(&self) -> bool {
        !self.grids.is_empty()
    }

    /// Whether some group may change.
    pub fn has_choices(&self) -> bool {
        (0..self.groups.len()).any(|g| self.is_mutable_group(g))
    }

    /// Sets a further restriction; it replaces the previous one.
    pub(crate) fn restrict(&mut self, to: &Restriction) {
        self.max_changes = to.max_changes;
        match &mut self.restriction {
            Some(restriction) => restriction.clone_from(to),
            none => *none = Some(to.clone()),
        }
    }

    /// Whether a search for numbers alone is confined to the categories that it was given.
    pub(crate) fn is_frozen(&self) -> bool {
        self.restriction.as_ref().is_some_and(|restriction| restriction.frozen)
    }

    /// Allows at most `k` features (a group counts as one) to change.
    #[must_use]
    pub fn with_max_changes(mut self, k: Option<usize>) -> Self {
        self.max_changes = k;
        self
    }

    /// With strict bounds, a person outside them must move inside. Otherwise it is always
    /// admissible to change nothing.
    #[must_use]
    pub fn with_strict_bounds(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Makes feature `j` immutable.
    pub fn fix(&mut self, j: usize) {
        self.limits[j].mutable = false;
    }

    /// The action space of people whose `missing` features are missing. These may not change, have
    /// no bounds and, for any [`NoiseOn`](crate::noise::NoiseOn), no noise. A one-hot group with a
    /// missing column may not change at all.
    #[must_use]
    pub fn without(mut self, missing: &[bool]) -> Self {
        let broken = |group: &Group| group.columns().iter().any(|&c| missing[c]);
        for c in self.groups.iter().filter(|group| broken(group)).flat_map(Group::columns) {
            self.limits[*c].mutable = false;
        }
        // A feature that is tied to a missing one may not change.
        let kept: Vec<bool> = self.groups.iter().map(|group| !broken(group)).collect();
        for tie in std::mem::take(&mut self.ties) {
            let columns = tie.columns();
            let unknown = columns.iter().any(|&c| missing[c]);
            match tie.with_groups(&kept, missing) {
                Some(tie) if !unknown => self.ties.push(tie),
                _ => columns.iter().for_each(|&c| match self.group_of[c] {
                    Some(_) => self.limits[c].mutable = false,
                    None => self.held[c] = true,
                }),
            }
        }
        self.groups.retain(|group| !broken(group));
        self.group_of.fill(None);
        for (g, group) in self.groups.iter().enumerate() {
            group.columns().iter().for_each(|&c| self.group_of[c] = Some(g));
        }
        for (own, _) in self.limits.iter_mut().zip(missing).filter(|(_, missing)| **missing) {
            *own = FeatureLimits { mutable: false, ..FeatureLimits::default() };
        }
        self.missing.copy_from_slice(missing);
        self
    }

    /// Whether the value of feature `j` is missing.
    pub fn is_missing(&self, j: usize) -> bool {
        self.missing[j]
    }

    /// Intersects the bounds of every number with `[low, high]`; categories have none. Fails if a
    /// feature then has no admissible value.
    pub fn intersect(&mut self, low: f64, high: f64) -> Result<()> {
        require(low <= high, "bounds", "LO,HI with LO at most HI", low)?;
        for (own, _) in
            self.limits.iter_mut().zip(&self.group_of).filter(|(_, group)| group.is_none())
        {
            own.low = own.low.max(low);
            own.high = own.high.min(high);
        }
        self.check()
    }

    /// The limits of feature `j`.
    pub fn room(&self, j: usize) -> &FeatureLimits {
        &self.limits[j]
    }

    /// One-hot groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// At most this many features may change.
    pub fn max_changes(&self) -> Option<usize> {
        self.max_changes
    }

    /// Whether a person outside the bounds must move inside.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Whether no rule connects features, and changing nothing is always allowed.
    pub(crate) fn is_plain(&self) -> bool {
        let rules = self.strict || self.restriction.is_some() || self.max_changes.is_some();
        !rules && self.groups.is_empty() && self.ties.is_empty()
    }

    /// Whether column `j` belongs to a one-hot group.
    pub fn is_grouped(&self, j: usize) -> bool {
        self.group_of[j].is_some()
    }

    /// Whether feature `j` is numeric and may change.
    pub fn is_mutable_numeric(&self, j: usize) -> bool {
        self.limits[j].mutable && self.group_of[j].is_none()
    }

    /// Whether group `g` may change: none of its columns is fixed.
    pub fn is_mutable_group(&self, g: usize) -> bool {
        let columns = self.groups[g].columns();
        self.restriction
            .as_ref()
            .is_none_or(|to| !to.frozen && !columns.iter().any(|&c| to.holds(c)))
            && columns.iter().all(|&c| self.limits[c].mutable)
    }

    /// The values feature `j` may take for a person whose value is `x`; `None` if there are none,
    /// which is possible with strict bounds or a restriction.
    pub fn interval(&self, j: usize, x: f64) -> Option<(f64, f64)> {
        let own = &self.limits[j];
        if !own.mutable || self.held[j] {
            let inside = own.low <= x && x <= own.high;
            return (inside || !self.strict).then_some((x, x));
        }
        let (mut low, mut high) =
            if self.strict { (own.low, own.high) } else { (own.low.min(x), own.high.max(x)) };
        match own.direction {
            Direction::Any => {}
            Direction::Increase => low = low.max(x),
            Direction::Decrease => high = high.min(x),
        }
        if let Some(restriction) = &self.restriction {
            if restriction.holds(j) {
                return (low <= x && x <= high).then_some((x, x));
            }
            low = low.max(restriction.limits[j].0);
            high = high.min(restriction.limits[j].1);
        }
        (low <= high).then_some((low, high))
    }

    /// The values that feature `j` may take for the person `from` if no other feature changes.
    pub fn interval_alone(&self, j: usize, from: &[f64]) -> Option<(f64, f64)> {
        let (mut low, mut high) = self.interval(j, from[j])?;
        for tie in &self.ties {
            let Tie::Sum { terms, equal, .. } = tie else { continue };
            let k: f64 = terms.iter().filter(|(c, _)| *c == j).map(|(_, k)| *k).sum();
            if k != 0.0 {
                let end = from[j] + tie.room(from).unwrap_or(0.0) / k;
                (low, high) = if k > 0.0 { (low, high.min(end)) } else { (low.max(end), high) };
                if *equal {
                    (low, high) = (low.max(from[j]), high.min(from[j]));
                }
            }
        }
        (low <= high).then_some((low, high))
    }

    /// Number of features that differ; a group counts as one. A missing value that stays missing
    /// does not.
    pub fn n_changed(&self, from: &[f64], to: &[f64]) -> usize {
        let differs = |j: usize| !same(from[j], to[j]);
        let numeric = (0..from.len()).filter(|&j| self.group_of[j].is_none() && differs(j)).count();
        numeric
            + self.groups.iter().filter(|group| group.columns().iter().any(|&c| differs(c))).count()
    }

    /// Columns that differ. If one column of a group differs, all of its columns are marked.
    pub fn changed_columns(&self, from: &[f64], to: &[f64]) -> Vec<bool> {
        let mut changed: Vec<bool> = from.iter().zip(to).map(|(a, b)| !same(*a, *b)).collect();
        for group in &self.groups {
            let any = group.columns().iter().any(|&c| changed[c]);
            group.columns().iter().for_each(|&c| changed[c] = any);
        }
        changed
    }
}
