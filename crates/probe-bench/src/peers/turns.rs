//! Programs that take turns, so that neither profits from the machine's mood.

use crate::stats::median;
use anyhow::Result;

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
    pub(super) fn ratio(&self, factor: f64) -> Ratio {
        let mut each: Vec<f64> =
            self.theirs.iter().zip(&self.ours).map(|(theirs, ours)| factor * theirs / ours).collect();
        let middle = median(&mut each);
        Ratio {
            middle,
            low: each.first().copied().unwrap_or(f64::NAN),
            high: each.last().copied().unwrap_or(f64::NAN),
        }
    }
}

/// A ratio of times: the middle, the smallest and the largest of the turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ratio {
    pub(super) middle: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl std::fmt::Display for Ratio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} to {})", figure(self.middle), figure(self.low), figure(self.high))
    }
}

/// Three digits where they say something, and thousands apart.
pub(super) fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let digits = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 0.1 || v == 0.0 => 2,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        let left = whole.len() - i;
        if i > 0 && left % 3 == 0 && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
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
        assert_eq!(turns.ratio(10.0), Ratio { middle: 30.0, low: 20.0, high: 400.0 });
        assert_eq!(turns.ratio(10.0).to_string(), "30.0 (20.0 to 400)");
    }

    #[test]
    fn figures_have_three_digits_and_groups() {
        let told = [0.01234, 0.5, 12.345, 123.4, 1234.5, 1_234_567.0, f64::NAN].map(figure);
        assert_eq!(told, ["0.0123", "0.50", "12.3", "123", "1,234", "1,234,567", "–"]);
    }
}
