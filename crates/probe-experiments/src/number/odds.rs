//! Shares as counts.

use super::fixed;
use std::fmt;

/// A share as a count out of a round number: `0.1` is "10 in 100", `0.0351` is "35 in 1,000".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odds {
    /// How many.
    pub count: u64,
    /// Out of how many: a power of ten, at least 100.
    pub out_of: u64,
}

impl Odds {
    /// Small numbers that still say what matters of the share. `None` where it is not a share.
    ///
    /// ```
    /// use probe_experiments::number::Odds;
    /// let odds = Odds::of(0.1).unwrap();
    /// assert_eq!(odds.to_string(), "10 in 100");
    /// assert_eq!(odds.others().to_string(), "90 in 100");
    /// assert_eq!(Odds::of(0.0351).unwrap().to_string(), "35 in 1,000");
    /// assert_eq!(Odds::of(1e-9).unwrap().to_string(), "fewer than 1 in 1,000,000");
    /// ```
    pub fn of(share: f64) -> Option<Self> {
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let rare = share.min(1.0 - share);
        // Whole counts first: 5 in 100, 75 in 1,000. Otherwise the smallest round number that
        // leaves a count of five.
        let whole = |out_of: u64, tolerance: f64| {
            let count = rare * as_f64(out_of);
            count.round() >= 1.0 && (count - count.round()).abs() <= tolerance * count
        };
        let mut out_of = 100_u64;
        if !whole(100, 0.01) && whole(1_000, 1e-6) {
            out_of = 1_000;
        } else if !whole(100, 0.01) && rare > 0.0 {
            while out_of < 1_000_000 && rare * as_f64(out_of) < 4.95 {
                out_of *= 10;
            }
        }
        // A share lies in [0, 1], so the product is far inside u64.
        let mut count = (share * as_f64(out_of)).round() as u64;
        // 10 in 1,000 is 1 in 100.
        while out_of > 100 && count > 0 && count.is_multiple_of(10) {
            (count, out_of) = (count / 10, out_of / 10);
        }
        Some(Self { count, out_of })
    }

    /// The rest: the attempts that are not counted here.
    pub fn others(self) -> Self {
        Self { count: self.out_of - self.count.min(self.out_of), out_of: self.out_of }
    }
}

impl fmt::Display for Odds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let out_of = fixed(as_f64(self.out_of), 0);
        match self.count {
            0 if self.out_of > 100 => write!(f, "fewer than 1 in {out_of}"),
            n if n == self.out_of && n > 100 => write!(f, "all but 1 in more than {out_of}"),
            n => write!(f, "{} in {out_of}", fixed(as_f64(n), 0)),
        }
    }
}

fn as_f64(count: u64) -> f64 {
    // Counts here stay below 10^6, far from 2^53.
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odds_add_up() {
        for (share, yes, no) in [
            (0.1, "10 in 100", "90 in 100"),
            (0.0999999, "10 in 100", "90 in 100"),
            (0.05, "5 in 100", "95 in 100"),
            (0.075, "75 in 1,000", "925 in 1,000"),
            (0.9153, "92 in 100", "8 in 100"),
            (0.0123, "12 in 1,000", "988 in 1,000"),
            (0.0098, "1 in 100", "99 in 100"),
            (0.9902, "99 in 100", "1 in 100"),
            (0.5, "50 in 100", "50 in 100"),
            (0.999, "999 in 1,000", "1 in 1,000"),
            (0.0, "0 in 100", "100 in 100"),
            (1.0, "100 in 100", "0 in 100"),
        ] {
            let odds = Odds::of(share).unwrap();
            assert_eq!((odds.to_string().as_str(), odds.others().to_string().as_str()), (yes, no));
        }
        assert!(Odds::of(f64::NAN).is_none());
        assert!(Odds::of(1.1).is_none());
    }
}
