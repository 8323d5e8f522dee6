//! The action space: what a person may change, in scaled space.

use crate::error::{Error, Result, require};
use serde::{Deserialize, Serialize};

/// Which way a feature may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Both ways.
    #[default]
    Any,
    /// Up only.
    Increase,
    /// Down only.
    Decrease,
}

/// One feature's room, in scaled space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Room {
    /// Lowest admissible value; −∞ for none.
    pub low: f64,
    /// Highest admissible value; ∞ for none.
    pub high: f64,
    /// Whether it may change at all.
    pub mutable: bool,
    /// Which way.
    pub direction: Direction,
}

impl Default for Room {
    fn default() -> Self {
        Self { low: f64::NEG_INFINITY, high: f64::INFINITY, mutable: true, direction: Direction::Any }
    }
}

/// One-hot columns of one category: exactly one of them is 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The columns, one per option.
    pub columns: Vec<usize>,
    /// `allowed[from][to]`; empty allows every change.
    pub allowed: Vec<Vec<bool>>,
}

impl Group {
    /// A group in which every change is allowed.
    pub fn free(columns: Vec<usize>) -> Self {
        Self { columns, allowed: Vec::new() }
    }

    /// Whether a person with option `from` may take option `to`.
    pub fn allows(&self, from: usize, to: usize) -> bool {
        from == to || self.allowed.is_empty() || self.allowed[from][to]
    }

    /// The option a row has: the column that is 1. `None` if the row is not one-hot.
    pub fn option_of(&self, row: &[f64]) -> Option<usize> {
        let hot = self.columns.iter().position(|&c| row[c] == 1.0)?;
        let valid = self.columns.iter().enumerate().all(|(o, &c)| o == hot || row[c] == 0.0);
        valid.then_some(hot)
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
    /// The group is not one-hot.
    NotOneHot(usize),
    /// The group made a change that is not allowed.
    Transition(usize),
    /// More features changed than allowed.
    TooManyChanges(usize),
}

/// What a person may change.
#[derive(Debug, Clone, PartialEq)]
pub struct Actions {
    rooms: Vec<Room>,
    groups: Vec<Group>,
    /// Group of each column, if any.
    group_of: Vec<Option<usize>>,
    max_changes: Option<usize>,
    strict: bool,
    /// Features whose value is missing.
    missing: Vec<bool>,
}

/// Whether two values are one: a missing value (NaN) that stays missing has not changed.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

impl Actions {
    /// No limits on `n_features` features.
    pub fn free(n_features: usize) -> Self {
        Self::new(vec![Room::default(); n_features])
    }

    /// One room per feature.
    pub fn new(rooms: Vec<Room>) -> Self {
        let n = rooms.len();
        Self {
            rooms,
            groups: Vec::new(),
            group_of: vec![None; n],
            max_changes: None,
            strict: false,
            missing: vec![false; n],
        }
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.rooms.len()
    }

    /// Fails on NaN or crossed bounds and on groups that overlap or leave the features.
    pub fn check(&self) -> Result<()> {
        for (j, room) in self.rooms.iter().enumerate() {
            let rule = "at most its upper bound";
            require(room.low <= room.high, &format!("lower bound of feature {j}"), rule, room.low)?;
        }
        Ok(())
    }

    /// Adds one-hot groups. Fails if columns repeat, do not exist, or the transition table is not square.
    pub fn with_groups(mut self, groups: Vec<Group>) -> Result<Self> {
        self.group_of = vec![None; self.rooms.len()];
        for (g, group) in groups.iter().enumerate() {
            let n = group.columns.len();
            for &column in &group.columns {
                let free = self.group_of.get(column).is_some_and(Option::is_none);
                require(free, &format!("column of group {g}"), "a feature in no other group", column as f64)?;
                self.group_of[column] = Some(g);
            }
            let square = group.allowed.is_empty()
                || (group.allowed.len() == n && group.allowed.iter().all(|row| row.len() == n));
            if n == 0 || !square {
                return Err(Error::Shape {
                    what: "options of a one-hot group",
                    expected: group.allowed.len().max(1),
                    found: n,
                });
            }
        }
        self.groups = groups;
        Ok(self)
    }

    /// Allows at most `k` features (a group counts as one) to change.
    #[must_use]
    pub fn with_max_changes(mut self, k: Option<usize>) -> Self {
        self.max_changes = k;
        self
    }

    /// With strict bounds a person outside them must move inside; otherwise staying put is always admissible.
    #[must_use]
    pub fn with_strict_bounds(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Fixes feature `j`.
    pub fn fix(&mut self, j: usize) {
        self.rooms[j].mutable = false;
    }

    /// The same for people whose features marked in `missing` are missing: these may not change, have no bounds and, whatever
    /// [`NoiseOn`](crate::noise::NoiseOn) says, no noise. Of a one-hot group with such a column nothing may change.
    #[must_use]
    pub fn without(mut self, missing: &[bool]) -> Self {
        let broken = |group: &Group| group.columns.iter().any(|&c| missing[c]);
        for c in self.groups.iter().filter(|group| broken(group)).flat_map(|group| &group.columns) {
            self.rooms[*c].mutable = false;
        }
        self.groups.retain(|group| !broken(group));
        self.group_of.fill(None);
        for (g, group) in self.groups.iter().enumerate() {
            group.columns.iter().for_each(|&c| self.group_of[c] = Some(g));
        }
        for (room, _) in self.rooms.iter_mut().zip(missing).filter(|(_, missing)| **missing) {
            *room = Room { mutable: false, ..Room::default() };
        }
        self.missing.copy_from_slice(missing);
        self
    }

    /// Whether the value of feature `j` is missing.
    pub fn is_missing(&self, j: usize) -> bool {
        self.missing[j]
    }

    /// Intersects every feature's bounds with `[low, high]`.
    /// Fails if that leaves a feature without room.
    pub fn intersect(&mut self, low: f64, high: f64) -> Result<()> {
        require(low <= high, "bounds", "LO,HI with LO at most HI", low)?;
        for room in &mut self.rooms {
            room.low = room.low.max(low);
            room.high = room.high.min(high);
        }
        self.check()
    }

    /// Feature `j`'s room.
    pub fn room(&self, j: usize) -> &Room {
        &self.rooms[j]
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

    /// Whether column `j` belongs to a one-hot group.
    pub fn is_grouped(&self, j: usize) -> bool {
        self.group_of[j].is_some()
    }

    /// Whether feature `j` is numeric and may change.
    pub fn is_mutable_numeric(&self, j: usize) -> bool {
        self.rooms[j].mutable && self.group_of[j].is_none()
    }

    /// A group may change unless one of its columns is fixed.
    pub fn is_mutable_group(&self, g: usize) -> bool {
        self.groups[g].columns.iter().all(|&c| self.rooms[c].mutable)
    }

    /// The values feature `j` may take for a person who has `x`; `None` if there are none (strict bounds only).
    pub fn interval(&self, j: usize, x: f64) -> Option<(f64, f64)> {
        let room = &self.rooms[j];
        if !room.mutable {
            let inside = room.low <= x && x <= room.high;
            return (inside || !self.strict).then_some((x, x));
        }
        let (mut low, mut high) =
            if self.strict { (room.low, room.high) } else { (room.low.min(x), room.high.max(x)) };
        match room.direction {
            Direction::Any => {}
            Direction::Increase => low = low.max(x),
            Direction::Decrease => high = high.min(x),
        }
        (low <= high).then_some((low, high))
    }

    /// Number of features that differ; a group counts as one. A missing value that stays missing does not.
    pub fn n_changed(&self, from: &[f64], to: &[f64]) -> usize {
        let differs = |j: usize| !same(from[j], to[j]);
        let numeric = (0..from.len()).filter(|&j| self.group_of[j].is_none() && differs(j)).count();
        numeric + self.groups.iter().filter(|group| group.columns.iter().any(|&c| differs(c))).count()
    }

    /// Every broken rule of a move from `from` to `to`; empty if it is admissible. A missing value (NaN) must stay missing, and no other
    /// may become so.
    pub fn violations(&self, from: &[f64], to: &[f64]) -> Vec<Violation> {
        let mut found = Vec::new();
        for j in (0..from.len()).filter(|&j| self.group_of[j].is_none()) {
            let both_missing = to[j].is_nan() && from[j].is_nan();
            if both_missing || (to[j] == from[j] && !self.strict) {
                continue;
            }
            let room = &self.rooms[j];
            let (up, down) = (to[j] > from[j], to[j] < from[j]);
            if ((up || down) && !room.mutable) || to[j].is_nan() || from[j].is_nan() {
                found.push(Violation::Immutable(j));
            } else if (up && room.direction == Direction::Decrease)
                || (down && room.direction == Direction::Increase)
            {
                found.push(Violation::Direction(j));
            } else if !self.interval(j, from[j]).is_some_and(|(low, high)| low <= to[j] && to[j] <= high) {
                found.push(Violation::Bounds(j));
            }
        }
        for (g, group) in self.groups.iter().enumerate() {
            let missing = group.columns.iter().any(|&c| from[c].is_nan());
            match (group.option_of(from), group.option_of(to)) {
                _ if missing && group.columns.iter().all(|&c| same(from[c], to[c])) => {}
                (Some(a), Some(b)) if a == b => {}
                (Some(_), Some(_)) if !self.is_mutable_group(g) => {
                    found.push(Violation::Immutable(group.columns[0]));
                }
                (Some(a), Some(b)) if group.allows(a, b) => {}
                (Some(_), Some(_)) => found.push(Violation::Transition(g)),
                _ => found.push(Violation::NotOneHot(g)),
            }
        }
        let changed = self.n_changed(from, to);
        if self.max_changes.is_some_and(|k| changed > k) {
            found.push(Violation::TooManyChanges(changed));
        }
        found
    }

    /// Moves `to` to an admissible point near it; idempotent. False if no admissible point exists for this person.
    pub fn project(&self, from: &[f64], to: &mut [f64]) -> bool {
        let mut possible = true;
        for j in (0..from.len()).filter(|&j| self.group_of[j].is_none()) {
            match self.interval(j, from[j]) {
                Some((low, high)) => to[j] = to[j].clamp(low, high),
                None => possible = false,
            }
        }
        for (g, group) in self.groups.iter().enumerate() {
            let Some(current) = group.option_of(from) else {
                possible = false;
                continue;
            };
            let options = 0..group.columns.len();
            let wanted = options
                .filter(|&o| o == current || (self.is_mutable_group(g) && group.allows(current, o)))
                .max_by(|&a, &b| to[group.columns[a]].total_cmp(&to[group.columns[b]]).then(b.cmp(&a)))
                .unwrap_or(current);
            for (o, &c) in group.columns.iter().enumerate() {
                to[c] = if o == wanted { 1.0 } else { 0.0 };
            }
        }
        possible && self.drop_smallest_changes(from, to)
    }

    /// Takes back the smallest changes until at most `max_changes` are left.
    fn drop_smallest_changes(&self, from: &[f64], to: &mut [f64]) -> bool {
        let Some(k) = self.max_changes else { return true };
        let mut changed = self.n_changed(from, to);
        while changed > k {
            let size = |j: usize| (to[j] - from[j]).abs();
            // A feature that strict bounds force to move cannot be taken back.
            let movable = |j: usize| {
                size(j) > 0.0
                    && (self.group_of[j].is_some()
                        || self
                            .interval(j, from[j])
                            .is_some_and(|(low, high)| low <= from[j] && from[j] <= high))
            };
            let smallest =
                (0..from.len()).filter(|&j| movable(j)).min_by(|&a, &b| size(a).total_cmp(&size(b)));
            match smallest {
                None => return false,
                Some(j) => match self.group_of[j] {
                    None => to[j] = from[j],
                    Some(g) => self.groups[g].columns.iter().for_each(|&c| to[c] = from[c]),
                },
            }
            changed = self.n_changed(from, to);
        }
        true
    }
}
