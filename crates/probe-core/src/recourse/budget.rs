//! Limits on the work of a search.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// How thoroughly to search for an answer.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Default,
    serde::Serialize,
    serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SearchEffort {
    /// Only the first descents and changes of single features. If they find no answer, the search
    /// ends.
    Quick,
    /// Everything that improves answers for most people.
    #[default]
    Normal,
    /// Three to twelve times the work of `Normal`: more starting points, more neighbours and, for
    /// features with steps, more relaxations.
    Thorough,
}

impl SearchEffort {
    /// The budget of one person in lines ([`Budget`]). Nine in ten people need less than 12,000,
    /// and nobody in the stored table of answers more than 570,000. The limit is for the few people
    /// whose search would otherwise not end.
    fn lines(self) -> u64 {
        match self {
            Self::Quick => 1 << 19,
            Self::Normal => 1 << 22,
            Self::Thorough => 1 << 25,
        }
    }

    /// Factor of the usual number of relaxations for features with steps.
    pub(super) fn times_nodes(self) -> usize {
        if self == Self::Thorough { 5 } else { 1 }
    }
}

/// The work that is left for one person. The unit is one line; other samples are converted to lines
/// of about the same cost. All searches for a person share one budget. It counts work and not time,
/// so that the same budget gives the same answer on every machine.
#[derive(Debug)]
pub struct Budget<'p> {
    left: Cell<u64>,
    spent: Cell<u64>,
    /// The budget of which this is a part.
    whole: Option<&'p Budget<'p>>,
    /// The work ends once this is set.
    cancelled: Option<&'p AtomicBool>,
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Self::new(SearchEffort::Normal)
    }
}

impl<'p> Budget<'p> {
    /// The budget of one person.
    pub fn new(effort: SearchEffort) -> Self {
        Self { left: Cell::new(effort.lines()), spent: Cell::new(0), whole: None, cancelled: None }
    }

    /// The same until `cancelled` is set.
    #[must_use]
    pub fn until(self, cancelled: Option<&'p AtomicBool>) -> Self {
        Self { cancelled, ..self }
    }

    /// One `n`-th of what is left, so that something remains for later searches.
    pub fn part(&self, n: u64) -> Budget<'_> {
        let left = Cell::new(self.left.get() / n);
        Budget { left, spent: Cell::new(0), whole: Some(self), cancelled: self.cancelled }
    }

    /// Work that was spent so far, in lines.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Spends lines, also from the budget of which this is a part.
    pub fn spend(&self, lines: u64) {
        self.left.set(self.left.get().saturating_sub(lines));
        self.spent.set(self.spent.get() + lines);
        if let Some(whole) = self.whole {
            whole.spend(lines);
        }
    }

    /// Whether nothing was spent from the budget of which this is a part before.
    pub fn is_first(&self) -> bool {
        self.whole.is_none_or(|whole| whole.spent.get() == self.spent.get())
    }

    /// Whether nothing is left. A search then ends with the best answer so far.
    pub fn is_exhausted(&self) -> bool {
        self.left.get() == 0 || self.is_cancelled()
    }

    /// Whether the work is to end, so that its result is of no use.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_in_the_whole() {
        let whole = Budget::new(SearchEffort::Quick);
        let all = whole.left.get();
        let half = whole.part(2);
        let quarter = half.part(2);
        assert!(half.is_first() && quarter.is_first());
        quarter.spend(all / 4 + 5);
        assert!(half.is_first() && !half.part(2).is_first());
        assert!(quarter.is_exhausted() && !half.is_exhausted() && !whole.is_exhausted());
        assert_eq!(whole.spent(), all / 4 + 5);
        assert_eq!(half.left.get(), all / 2 - all / 4 - 5);
        half.spend(all);
        assert!(half.is_exhausted() && whole.is_exhausted());
    }

    #[test]
    fn a_flag_ends_all_parts() {
        let flag = AtomicBool::new(false);
        let whole = Budget::new(SearchEffort::Quick).until(Some(&flag));
        let part = whole.part(2);
        assert!(!whole.is_exhausted() && !part.is_exhausted());
        flag.store(true, Ordering::Relaxed);
        assert!(whole.is_exhausted() && part.is_exhausted() && part.is_cancelled());
    }
}
