//! Programs that take turns, so that neither profits from the machine's mood.

use anyhow::Result;
use probe_bench::stats::{Repeats, median};

/// Seconds of ours and of another program, turn by turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Turns {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Turns {
    pub(super) fn push(&mut self, ours: f64, theirs: f64) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// Runs both `repeats` times; who goes first changes.
    pub(super) fn take(
        repeats: usize,
        mut ours: impl FnMut() -> Result<f64>,
        mut theirs: impl FnMut() -> Result<f64>,
    ) -> Result<Self> {
        let mut turns = Self::default();
        for turn in 0..repeats.max(1) {
            let (a, b) = match turn % 2 {
                0 => {
                    let a = ours()?;
                    (a, theirs()?)
                }
                _ => {
                    let b = theirs()?;
                    (ours()?, b)
                }
            };
            turns.push(a, b);
        }
        Ok(turns)
    }

    pub(super) fn ours(&self) -> f64 {
        median(&mut self.ours.clone())
    }

    pub(super) fn theirs(&self) -> f64 {
        median(&mut self.theirs.clone())
    }

    /// How many times as long theirs takes for `factor` times the work.
    pub(super) fn ratio(&self, factor: f64) -> Repeats {
        Repeats::of(
            self.theirs
                .iter()
                .zip(&self.ours)
                .map(|(theirs, ours)| factor * theirs / ours)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_the_same_turn() {
        let mut order = Vec::new();
        let log = std::cell::RefCell::new(&mut order);
        let mut seconds = [2.0, 3.0, 40.0].into_iter();
        let turns = Turns::take(
            3,
            || {
                log.borrow_mut().push('o');
                Ok(1.0)
            },
            || {
                log.borrow_mut().push('t');
                Ok(seconds.next().unwrap())
            },
        )
        .unwrap();
        assert_eq!(order, ['o', 't', 't', 'o', 'o', 't']);
        assert_eq!((turns.ours(), turns.theirs()), (1.0, 3.0));
        assert_eq!(turns.ratio(10.0), Repeats { median: 30.0, least: 20.0, most: 400.0 });
        assert_eq!(turns.ratio(10.0).to_string(), "30 (20 to 400)");
    }
}
