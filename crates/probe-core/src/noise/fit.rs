//! Fits Gaussian noise to observed pairs of prescribed and implemented values.
//!
//! The $n$ residuals $e_i$ (implemented minus prescribed) have the mean $\bar e$ and the covariance
//! $S$ (with divisor $n - 1$). Using $N(\bar e, S)$ as the noise is too optimistic, because both
//! are estimates. For a linear score $w^\top x + b$ and normal residuals, the values $v_i = w^\top
//! e_i$ and a new $v$ satisfy
//!
//! $$\frac{v - \bar v}{s_v\sqrt{1 + 1/n}} \sim t_{n-1} .$$
//!
//! On average over the pairs, the rate $r$ is therefore met if $z_r s_v$ is replaced by
//! $t_{n-1,1-r}\,s_v\sqrt{1 + 1/n}$. For every $w$ this is the same as using the Gaussian
//!
//! $$N(\bar e,\ \kappa^2 S), \qquad \kappa = \frac{t_{n-1,1-r}}{z_r}\sqrt{1 + \tfrac1n} .$$
//!
//! Because $\kappa$ depends on $r < \frac12$, a fit is for one target rate and too optimistic for
//! smaller ones. At a target of 0.05, $N(\bar e, S)$ gives true rates of 0.104, 0.076 and 0.058
//! with 5, 10 and 30 pairs; with $\kappa$ they are 0.05. This is exact for linear scores, normal
//! residuals and no shrinkage, and approximate otherwise.
//!
//! With fewer than five pairs per feature, $S$ is shrunk towards its diagonal: correlations are
//! multiplied by $1 - \lambda$ with $\lambda = \sum_{i \ne j} \widehat{\mathrm{Var}}(r_{ij}) /
//! \sum_{i \ne j} r_{ij}^2$, clamped to [0, 1] (Schäfer and Strimmer, *Statistical Applications in
//! Genetics and Molecular Biology* 4, 2005, target D). Variances are not shrunk, so that changes of
//! a single feature keep their exact factor.

use super::{Covariance, Gaussian};
use crate::error::{Error, Result, require};
use crate::math::normal::upper_quantile;
use crate::math::student::StudentT;
use crate::rows::Rows;

/// Pairs per feature below which correlations are shrunk.
const PAIRS_PER_FEATURE: usize = 5;

/// Gaussian noise fitted to residuals.
#[derive(Debug, Clone)]
pub struct NoiseFit {
    /// The fit, inflated: $N(\bar e, \kappa^2 S)$.
    pub noise: Gaussian,
    /// Number of residuals $n$.
    pub pairs: usize,
    /// The target rate that the inflation is for.
    pub rate: f64,
    /// $\kappa$, by which standard deviations were multiplied.
    pub inflation: f64,
    /// $\lambda$, by which correlations were shrunk; 0 for none.
    pub shrinkage: f64,
}

impl NoiseFit {
    /// Whether there are too few pairs to estimate correlations.
    pub fn has_few_pairs(&self) -> bool {
        let d =
            (0..self.noise.mean().len()).filter(|&j| self.noise.covariance_of(j, j) > 0.0).count();
        d > 1 && self.pairs < PAIRS_PER_FEATURE * d
    }
}

/// Fits Gaussian noise to `residuals`, one per row, for the target rate `rate`.
///
/// Fails with fewer than two residuals, on numbers that are not finite, and unless `rate` is above
/// 0 and below 1/2.
pub fn fit_gaussian(residuals: Rows<'_>, rate: f64) -> Result<NoiseFit> {
    let (n, d) = (residuals.n_rows(), residuals.n_cols());
    if n < 2 {
        return Err(Error::Unsupported {
            what: format!("a fit of noise to {n} pair{}", if n == 1 { "" } else { "s" }),
            why: "a standard deviation needs at least 2".to_owned(),
        });
    }
    let inflation = inflation(n, rate)?;
    for (i, row) in residuals.iter().enumerate() {
        for (j, e) in row.iter().enumerate() {
            require(e.is_finite(), &format!("noise residual [{i}][{j}]"), "finite", *e)?;
        }
    }
    let count = n as f64;
    // Relative to the first row, so that the variance of a constant feature is exactly zero.
    let first = residuals.row(0);
    let around = |j: usize| residuals.iter().map(|row| row[j] - first[j]).sum::<f64>() / count;
    let mean: Vec<f64> = (0..d).map(|j| first[j] + around(j)).collect();
    let covariance_of = |i: usize, j: usize| {
        residuals.iter().map(|row| (row[i] - mean[i]) * (row[j] - mean[j])).sum::<f64>()
            / (count - 1.0)
    };
    let sd: Vec<f64> = (0..d).map(|j| covariance_of(j, j).sqrt()).collect();
    // Features without misses have no correlations.
    let varying = sd.iter().filter(|sd| **sd > 0.0).count();
    let shrinkage =
        if n < PAIRS_PER_FEATURE * varying { shrinkage(residuals, &mean, &sd) } else { 0.0 };
    let square = inflation * inflation;
    let mut matrix = vec![0.0; d * d];
    for i in 0..d {
        matrix[i * d + i] = square * sd[i] * sd[i];
        for j in 0..i {
            let entry = square * (1.0 - shrinkage) * covariance_of(i, j);
            (matrix[i * d + j], matrix[j * d + i]) = (entry, entry);
        }
    }
    let noise = Gaussian::new(mean, Covariance::Full(matrix))?;
    Ok(NoiseFit { noise, pairs: n, rate, inflation, shrinkage })
}

/// $\kappa = t_{n-1,1-r}\sqrt{1 + 1/n}/z_r$ for `n` pairs and the target rate `rate`.
///
/// ```
/// // Ten pairs at a target of 0.05: 1.8331 · √1.1 / 1.6449.
/// let kappa = probe_core::noise::inflation(10, 0.05)?;
/// assert!((kappa - 1.1689).abs() < 1e-4);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn inflation(n: usize, rate: f64) -> Result<f64> {
    require(rate > 0.0 && rate < 0.5, "rate of the fit", "above 0 and below 0.5", rate)?;
    require(n >= 2, "pairs", "at least 2", n as f64)?;
    // Beyond a million degrees of freedom the quantiles agree to six digits.
    let df = (n as f64 - 1.0).min(crate::math::student::MAX_DF);
    Ok(StudentT::new(df)?.upper_quantile(rate) / upper_quantile(rate)
        * (1.0 + 1.0 / n as f64).sqrt())
}

/// Schäfer and Strimmer's $\lambda$; features that never vary have no correlations.
fn shrinkage(residuals: Rows<'_>, mean: &[f64], sd: &[f64]) -> f64 {
    let (n, d) = (residuals.n_rows() as f64, residuals.n_cols());
    let standard =
        |row: &[f64], j: usize| if sd[j] > 0.0 { (row[j] - mean[j]) / sd[j] } else { 0.0 };
    let (mut variances, mut squares) = (0.0, 0.0);
    for i in 0..d {
        for j in 0..i {
            let product = |row: &[f64]| standard(row, i) * standard(row, j);
            let average = residuals.iter().map(product).sum::<f64>() / n;
            let spread = residuals.iter().map(|row| (product(row) - average).powi(2)).sum::<f64>();
            variances += n / (n - 1.0).powi(3) * spread;
            squares += (n / (n - 1.0) * average).powi(2);
        }
    }
    // If all correlations are zero, there is nothing to shrink.
    if squares > 0.0 { (variances / squares).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::upper_tail;
    use crate::noise::Noise;
    use crate::rows::RowsMut;
    use crate::seed::{Purpose, Seed};

    #[test]
    fn mean_and_covariance_by_hand() {
        // Residuals (1, 0), (3, 2), (5, 1) and the same again: mean (3, 1), S = [[3.2, 0.8], [0.8,
        // 0.8]] over n - 1 = 5.
        let once = [1.0, 0.0, 3.0, 2.0, 5.0, 1.0];
        let fit = |copies: usize, rate| {
            let rows: Vec<f64> = once.iter().copied().cycle().take(6 * copies).collect();
            fit_gaussian(Rows::new(&rows, 2).unwrap(), rate).unwrap()
        };
        let large = fit(4, 0.1);
        assert!(large.shrinkage.abs() <= 0.0 && large.pairs == 12);
        assert!(
            (large.noise.mean()[0] - 3.0).abs() < 1e-15
                && (large.noise.mean()[1] - 1.0).abs() < 1e-15
        );
        // Sums over one copy: 8, 2 and 2; t_{11,0.9} = 1.363430318, z = 1.281551566.
        let factor =
            (1.363_430_318_020_5 / 1.281_551_565_544_6_f64).powi(2) * (13.0 / 12.0) * 4.0 / 11.0;
        for (i, j, sum) in [(0, 0, 8.0), (0, 1, 2.0), (1, 1, 2.0)] {
            assert!((large.noise.covariance_of(i, j) - factor * sum).abs() < 1e-11, "{i} {j}");
        }
        // Six pairs of two features are fewer than ten: the correlation ½ is shrunk and the
        // variances are not. By hand: the products of deviations are (-2)(-1), 0·1 and 2·0, over
        // √(3.2·0.8).
        let small = fit(2, 0.1);
        let products = [(-2.0 * -1.0), 0.0, 0.0].map(|p: f64| p / (3.2_f64 * 0.8).sqrt());
        let average = products.iter().sum::<f64>() / 3.0;
        let spread: f64 = 2.0 * products.iter().map(|p| (p - average).powi(2)).sum::<f64>();
        let lambda = 6.0 / 125.0 * spread / (6.0 / 5.0 * average).powi(2);
        assert!(
            (small.shrinkage - lambda).abs() < 1e-14 && lambda > 0.1 && lambda < 1.0,
            "{lambda}"
        );
        let correlation = small.noise.covariance_of(0, 1) / (small.noise.sd(0) * small.noise.sd(1));
        assert!((correlation - (1.0 - lambda) * 0.5).abs() < 1e-14);
    }

    /// Mean true rate, and its standard error, of answers that are `scale` fitted standard
    /// deviations inside. Averages over fits to `n` residuals of a linear score.
    fn realised(n: usize, scale: f64, key: u64) -> (f64, f64) {
        const REPEATS: usize = 100_000;
        let mut stream = Seed(17).stream(Purpose::Data, key);
        let (mut total, mut squares) = (0.0, 0.0);
        let mut draws = vec![0.0; n];
        for _ in 0..REPEATS {
            draws.iter_mut().for_each(|v| *v = stream.normal());
            let mean = draws.iter().sum::<f64>() / n as f64;
            let sd =
                (draws.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0)).sqrt();
            // The answer's score is scale·sd - mean; new errors are N(0, 1).
            let rate = upper_tail(scale * sd - mean);
            total += rate;
            squares += rate * rate;
        }
        let mean = total / REPEATS as f64;
        (mean, ((squares / REPEATS as f64 - mean * mean) / REPEATS as f64).sqrt())
    }

    #[test]
    fn the_inflated_fit_keeps_its_rate_and_the_plain_one_does_not() {
        let (target, z) = (0.05, upper_quantile(0.05));
        for (n, printed) in [(5, 0.104), (10, 0.076), (30, 0.058)] {
            // Without inflation the rate is P(t_{n-1} > z/√(1+1/n)).
            let expected = StudentT::new(n as f64 - 1.0)
                .unwrap()
                .upper_tail(z / (1.0 + 1.0 / n as f64).sqrt());
            let (rate, error) = realised(n, z, n as u64);
            assert!((rate - expected).abs() < 4.0 * error, "{n}: {rate} ± {error} for {expected}");
            assert!((expected - printed).abs() <= 0.0005, "the module's docs say: {expected}");
            let (rate, error) = realised(n, z * inflation(n, target).unwrap(), n as u64);
            assert!((rate - target).abs() < 4.0 * error, "{n}: {rate} ± {error}");
        }
    }

    #[test]
    fn a_fit_to_draws_holds_for_any_direction() {
        // End to end: fits to ten draws of correlated noise, a linear score, the closed form,
        // the true rate.
        let truth =
            Gaussian::new(vec![0.1, -0.2], Covariance::Full(vec![0.04, 0.01, 0.01, 0.09])).unwrap();
        let (w, target, repeats) = ([1.0, -2.0], 0.05, 20_000);
        let mut stream = Seed(23).stream(Purpose::Data, 0);
        let (mut total, mut squares, mut draws) = (0.0, 0.0, vec![0.0; 20]);
        for _ in 0..repeats {
            truth.sample_into(&mut stream, RowsMut::new(&mut draws, 2).unwrap());
            let fit = fit_gaussian(Rows::new(&draws, 2).unwrap(), target).unwrap();
            assert!(fit.shrinkage.abs() <= 0.0);
            let along =
                |noise: &Gaussian| (noise.mean_along(&w, |_| true), noise.sd_along(&w, |_| true));
            let ((mean, sd), (true_mean, true_sd)) = (along(&fit.noise), along(&truth));
            let score = upper_quantile(target) * sd - mean;
            let rate = upper_tail((score + true_mean) / true_sd);
            total += rate;
            squares += rate * rate;
        }
        let mean = total / f64::from(repeats);
        let error = ((squares / f64::from(repeats) - mean * mean) / f64::from(repeats)).sqrt();
        assert!((mean - target).abs() < 4.0 * error, "{mean} ± {error}");
    }

    #[test]
    fn shrinkage_makes_few_pairs_of_many_features_definite() {
        let (n, d) = (6, 10);
        let mut draws = vec![0.0; n * d];
        let noise = Gaussian::isotropic(d, 0.1).unwrap();
        noise.sample_into(
            &mut Seed(1).stream(Purpose::Data, 3),
            RowsMut::new(&mut draws, d).unwrap(),
        );
        let fit = fit_gaussian(Rows::new(&draws, d).unwrap(), 0.1).unwrap();
        assert!(fit.shrinkage > 0.2 && fit.shrinkage <= 1.0, "{}", fit.shrinkage);
        // A direction in which six residuals have no variance must still have some.
        let raw: Vec<f64> = (0..d).map(|j| draws[j] - draws[d + j]).collect();
        assert!(fit.noise.sd_along(&raw, |_| true) > 0.0);
        // A feature that never varies keeps a deviation of 0.
        draws.chunks_mut(d).for_each(|row| row[4] = 2.0);
        let fit = fit_gaussian(Rows::new(&draws, d).unwrap(), 0.1).unwrap();
        assert!(fit.noise.sd(4).abs() <= 0.0 && (fit.noise.mean()[4] - 2.0).abs() < 1e-15);
    }

    #[test]
    fn nonsense_is_refused() {
        let message = |rows: &[f64], rate| {
            fit_gaussian(Rows::new(rows, 1).unwrap(), rate).unwrap_err().to_string()
        };
        assert!(
            message(&[0.1], 0.1).contains("1 pair is not supported"),
            "{}",
            message(&[0.1], 0.1)
        );
        assert!(message(&[], 0.1).contains("0 pairs"));
        assert!(message(&[0.1, f64::NAN], 0.1).contains("[1][0]"));
        for rate in [0.0, 0.5, 1.0, f64::NAN] {
            assert!(message(&[0.1, 0.2], rate).contains("rate of the fit"));
        }
    }
}
