//! How much work an answer is worth.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// How much work an answer is worth.
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
    /// The first descents and single features, and nothing more where they find no answer.
    Quick,
    /// Everything that helps ordinary people.
    #[default]
    Normal,
    /// Three to twelve times the work: after the normal search more starts, more neighbours, and
    /// more relaxations where features have steps.
    Thorough,
}

impl SearchEffort {
    /// Lines that one person is worth ([`Budget`]). Nine in ten people take less than 12,000, and
    /// the most of the stored table of answers 570,000; the limit is for those few whose search
    /// would not end.
    fn lines(self) -> u64 {
        match self {
            Self::Quick => 1 << 19,
            Self::Normal => 1 << 22,
            Self::Thorough => 1 << 25,
        }
    }

    /// How many times the usual number of relaxations are solved where features have steps.
    pub(super) fn times_nodes(self) -> usize {
        if self == Self::Thorough { 5 } else { 1 }
    }
}

/// The work that is left for one person, in lines that are read, or as many samples as are worth
/// them. All searches for the person share it, whatever calls them. It counts work and not time, so
/// that the same budget gives the same answer on any machine.
#[derive(Debug)]
pub struct Budget<'p> {
    left: Cell<u64>,
    spent: Cell<u64>,
    /// What this is a part of.
    whole: Option<&'p Budget<'p>>,
    /// Nothing is left once this is set.
    cancelled: Option<&'p AtomicBool>,
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Self::new(SearchEffort::Normal)
    }
}

impl<'p> Budget<'p> {
    /// What one person is worth.
    pub fn new(effort: SearchEffort) -> Self {
        Self { left: Cell::new(effort.lines()), spent: Cell::new(0), whole: None, cancelled: None }
    }

    /// The same until `cancelled` is set.
    #[must_use]
    pub fn until(self, cancelled: Option<&'p AtomicBool>) -> Self {
        Self { cancelled, ..self }
    }

    /// One `n`-th of what is left, so that something remains for the searches that come after.
    pub fn part(&self, n: u64) -> Budget<'_> {
        let left = Cell::new(self.left.get() / n);
        Budget { left, spent: Cell::new(0), whole: Some(self), cancelled: self.cancelled }
    }

    /// Lines that were read so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Counts lines, here and in what this is a part of.
    pub fn spend(&self, lines: u64) {
        self.left.set(self.left.get().saturating_sub(lines));
        self.spent.set(self.spent.get() + lines);
        if let Some(whole) = self.whole {
            whole.spend(lines);
        }
    }

    /// Whether nothing is left. Searches then end with what they have.
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
        quarter.spend(all / 4 + 5);
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
