//! Which rules a change breaks, and the nearest change that breaks none.

use super::{Actions, Direction, Grid, Violation, same};
use crate::schema::relation::Tie;

impl Actions {
    /// Every rule that a change from `from` to `to` breaks; empty if it is admissible. A missing
    /// value (NaN) must stay missing, and no other value may become missing.
    pub fn violations(&self, from: &[f64], to: &[f64]) -> Vec<Violation> {
        let mut found = Vec::new();
        self.violations_of_numbers(from, to, 0..from.len(), &mut found);
        for (g, group) in self.groups.iter().enumerate() {
            let missing = group.columns().iter().any(|&c| from[c].is_nan());
            match (group.option_of(from), group.option_of(to)) {
                _ if missing && group.columns().iter().all(|&c| same(from[c], to[c])) => {}
                (Some(a), Some(b)) if a == b => {}
                (Some(_), Some(_)) if !self.is_mutable_group(g) => {
                    found.push(Violation::Immutable(group.columns()[0]));
                }
                (Some(a), Some(b)) if group.allows(a, b) => {}
                (Some(_), Some(_)) => found.push(Violation::Transition(g)),
                _ => found.push(Violation::NotOneHot(g)),
            }
        }
        let broken = |(_, tie): &(usize, &Tie)| !tie.is_kept(self, from, to);
        found.extend(
            self.ties.iter().enumerate().filter(broken).map(|(i, _)| Violation::Relation(i)),
        );
        if let Some(k) = self.max_changes {
            let changed = self.n_changed(from, to);
            if changed > k {
                found.push(Violation::TooManyChanges(changed));
            }
        }
        found
    }

    /// Whether a change of at most the columns `moved` breaks no rule.
    pub(crate) fn admits(&self, from: &[f64], to: &[f64], moved: &[usize]) -> bool {
        if !self.is_plain() {
            return self.violations(from, to).is_empty();
        }
        let mut found = Vec::new();
        self.violations_of_numbers(from, to, moved.iter().copied(), &mut found);
        found.is_empty()
    }

    /// Broken rules of single columns that do not belong to a category.
    fn violations_of_numbers(
        &self,
        from: &[f64],
        to: &[f64],
        columns: impl Iterator<Item = usize>,
        found: &mut Vec<Violation>,
    ) {
        for j in columns.filter(|&j| self.group_of[j].is_none()) {
            let both_missing = to[j].is_nan() && from[j].is_nan();
            if both_missing || (to[j] == from[j] && !self.strict && self.restriction.is_none()) {
                continue;
            }
            let own = &self.limits[j];
            let (up, down) = (to[j] > from[j], to[j] < from[j]);
            if ((up || down) && !own.mutable) || to[j].is_nan() || from[j].is_nan() {
                found.push(Violation::Immutable(j));
            } else if (up && own.direction == Direction::Decrease)
                || (down && own.direction == Direction::Increase)
            {
                found.push(Violation::Direction(j));
            } else if !self.interval(j, from[j]).is_some_and(|(low, high)| {
                // A step and a bound may be equal up to rounding.
                let near = self.grid(j).map_or(0.0, |grid| 1e-9 * grid.step);
                low - near <= to[j] && to[j] <= high + near
            }) {
                found.push(Violation::Bounds(j));
            } else if to[j] != from[j] && self.grid(j).is_some_and(|grid| !grid.has(to[j])) {
                found.push(Violation::Step(j));
            }
        }
    }

    /// Moves `to` to an admissible point near it; idempotent. False if no admissible point exists
    /// for this person.
    pub fn project(&self, from: &[f64], to: &mut [f64]) -> bool {
        let mut possible = true;
        for j in (0..from.len()).filter(|&j| self.group_of[j].is_none()) {
            match self.interval(j, from[j]) {
                Some((low, high)) => {
                    to[j] = to[j].clamp(low, high);
                    if let Some(grid) = self.grid(j).filter(|_| to[j] != from[j]) {
                        to[j] = on_grid(&grid, from[j], to[j], (low, high));
                    }
                }
                None => possible = false,
            }
        }
        for (g, group) in self.groups.iter().enumerate() {
            let Some(current) = group.option_of(from) else {
                possible = false;
                continue;
            };
            let may =
                |o: usize| o == current || (self.is_mutable_group(g) && group.allows(current, o));
            group.set(group.nearest(to, may).unwrap_or(current), to);
        }
        possible && self.drop_smallest_changes(from, to)
    }

    /// Undoes the smallest changes until at most `max_changes` are left.
    fn drop_smallest_changes(&self, from: &[f64], to: &mut [f64]) -> bool {
        let Some(k) = self.max_changes else { return true };
        let mut changed = self.n_changed(from, to);
        while changed > k {
            let size = |j: usize| (to[j] - from[j]).abs();
            // A change that strict bounds force cannot be undone.
            let movable = |j: usize| {
                size(j) > 0.0
                    && (self.group_of[j].is_some()
                        || self
                            .interval(j, from[j])
                            .is_some_and(|(low, high)| low <= from[j] && from[j] <= high))
            };
            let smallest = (0..from.len())
                .filter(|&j| movable(j))
                .min_by(|&a, &b| size(a).total_cmp(&size(b)));
            match smallest {
                None => return false,
                Some(j) => match self.group_of[j] {
                    None => to[j] = from[j],
                    Some(g) => self.groups[g].columns().iter().for_each(|&c| to[c] = from[c]),
                },
            }
            changed = self.n_changed(from, to);
        }
        true
    }
}

/// The value on the grid for a change from `from` to `to`: the next one beyond `to` if the interval
/// contains it, else the last one before `to`, else `from`.
fn on_grid(grid: &Grid, from: f64, to: f64, (low, high): (f64, f64)) -> f64 {
    let near = Grid::NEAR * grid.step;
    let inside = |x: f64| (low - near <= x && x <= high + near).then_some(x.clamp(low, high));
    let up = to > from;
    let (out, back) =
        if up { (grid.above(to), grid.below(to)) } else { (grid.below(to), grid.above(to)) };
    let moved = |x: &f64| if up { *x > from } else { *x < from };
    inside(out).or_else(|| inside(back)).filter(moved).unwrap_or(from)
}
