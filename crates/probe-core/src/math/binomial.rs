//! Exact (Clopper–Pearson) bounds for a proportion.

use statrs::function::beta::beta_reg;

/// The two-sided Clopper–Pearson interval at `confidence` for `hits` out of `n` trials.
///
/// Bounds are the roots of the binomial tails, found by bisection to the last bits, so coverage is
/// never below nominal.
pub fn clopper_pearson(hits: u64, n: u64, confidence: f64) -> (f64, f64) {
    let alpha = 0.5 * (1.0 - confidence);
    let (k, n) = (hits as f64, n as f64);
    // P(X >= k | p) = I_p(k, n-k+1); P(X <= k | p) = 1 - I_p(k+1, n-k).
    let lower = if k <= 0.0 { 0.0 } else { bisect(|p| beta_reg(k, n - k + 1.0, p) < alpha).0 };
    let upper = if k >= n { 1.0 } else { bisect(|p| 1.0 - beta_reg(k + 1.0, n - k, p) > alpha).1 };
    (lower, upper)
}

/// The last two points around the place in [0, 1] where `below` turns from true to false.
fn bisect(below: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut lo, mut hi) = (0.0, 1.0);
    for _ in 0..200 {
        let mid = 0.5 * (lo + hi);
        if mid <= lo || mid >= hi {
            break;
        }
        if below(mid) { lo = mid } else { hi = mid }
    }
    (lo, hi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms_at_the_ends() {
        // No hits in n: upper bound is 1 - (alpha/2)^(1/n).
        let (lower, upper) = clopper_pearson(0, 20, 0.95);
        assert!(lower.abs() < 1e-300);
        assert!((upper - (1.0 - 0.025_f64.powf(1.0 / 20.0))).abs() < 1e-12);
        let (lower, upper) = clopper_pearson(20, 20, 0.95);
        assert!((lower - 0.025_f64.powf(1.0 / 20.0)).abs() < 1e-12);
        assert!((upper - 1.0).abs() < 1e-300);
    }

    #[test]
    fn covers_as_often_as_it_says() {
        // Exact coverage at p, summed over all outcomes of n = 30.
        let (n, p) = (30u64, 0.13f64);
        let mut coverage = 0.0;
        let mut mass = (1.0 - p).powi(30);
        for k in 0..=n {
            let (lower, upper) = clopper_pearson(k, n, 0.9);
            if lower <= p && p <= upper {
                coverage += mass;
            }
            mass *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
        }
        assert!(coverage >= 0.9, "{coverage}");
    }
}
