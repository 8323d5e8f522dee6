//! The share of rejected implementations over scrambled Sobol' points instead of random ones.
//!
//! Each of $R$ independent scrambles of $n = 2^k$ points gives an unbiased estimate $\hat\Delta_i$.
//! The estimate is their mean. Its standard error $\sqrt{\sum_i (\hat\Delta_i -
//! \hat\Delta)^2/(R(R-1))}$ does not depend on how much the even spread helps. The interval is
//! $\hat\Delta \pm t_{R-1}\,\mathrm{se}$, with Student's quantile at the confidence, clipped to [0,
//! 1]. It is approximate, because it assumes that the means of scrambles are normal; the binomial
//! interval of plain Monte Carlo is exact. If all scrambles agree, for example because nothing is
//! rejected, this interval would be a point. The binomial interval of the pooled counts is used
//! instead, which is usually too wide for evenly spread points.
//!
//! Points are mapped through the quantile function of each feature or, for a full covariance,
//! through its Cholesky factor. Other noise is not supported. See L'Ecuyer, *Randomized quasi-Monte
//! Carlo: an introduction for practitioners* (MCQMC 2016), for the method.

use super::{Estimate, InvalidationRate, Query, n_refused};
use crate::error::{Error, Result, require};
use crate::math::binomial::clopper_pearson;
use crate::math::sobol::{MAX_POINTS, ScrambledSobol};
use crate::math::student::StudentT;
use crate::noise::QuantileMap;
use crate::registry::Entry;
use crate::rows::Rows;
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "monte-carlo-sobol",
    reference: "L'Ecuyer, Randomized quasi-Monte Carlo (MCQMC 2016)",
    item: &SobolMonteCarlo { points: 1024, scrambles: 16 },
};

/// Number of scrambles over which samples are split.
const SCRAMBLES: usize = 16;

/// Monte Carlo over scrambled Sobol' points.
#[derive(Debug, Clone, Copy)]
pub struct SobolMonteCarlo {
    /// Points of one scramble: a power of two, at most 65,536.
    pub points: usize,
    /// Independent scrambles; at least 2.
    pub scrambles: usize,
}

impl InvalidationRate for SobolMonteCarlo {
    fn name(&self) -> &'static str {
        "monte-carlo-sobol"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        const BATCH: usize = 256;
        let (points, scrambles) = (self.points, self.scrambles);
        let rule = "a power of two up to 65536";
        require(
            points.is_power_of_two() && points <= MAX_POINTS,
            "points of a scramble",
            rule,
            points as f64,
        )?;
        require(scrambles >= 2, "scrambles", "at least 2", scrambles as f64)?;
        let map = QuantileMap::of(query.noise).ok_or_else(|| Error::Unsupported {
            what: format!("Sobol' sampling of {} noise", query.noise.name()),
            why: "it needs Gaussian noise or independent features; use monte-carlo".to_owned(),
        })?;
        let d = query.point.len();
        let (mut uniforms, mut noisy, mut scores) =
            (vec![0.0; d], vec![0.0; BATCH * d], vec![0.0; BATCH]);
        let mut shares = Vec::with_capacity(scrambles);
        let mut total = 0u64;
        for _ in 0..scrambles {
            let sequence = ScrambledSobol::new(d, stream);
            let (mut refused, mut done) = (0u64, 0usize);
            while done < points {
                let n = BATCH.min(points - done);
                for (i, row) in noisy[..n * d].chunks_exact_mut(d).enumerate() {
                    sequence.uniform_into(done + i, &mut uniforms);
                    map.apply_into(&mut uniforms, row);
                    query.displace(row);
                }
                query.model.score_batch(Rows::new(&noisy[..n * d], d)?, &mut scores[..n])?;
                refused += n_refused(&scores[..n]);
                done += n;
            }
            shares.push(refused as f64 / points as f64);
            total += refused;
        }
        let r = scrambles as f64;
        let rate = total as f64 / (r * points as f64);
        let spread = shares.iter().map(|share| (share - rate).powi(2)).sum::<f64>();
        let std_error = (spread / (r * (r - 1.0))).sqrt();
        let (lower, upper) = if std_error > 0.0 {
            let reach =
                StudentT::new(r - 1.0)?.upper_quantile(0.5 * (1.0 - confidence)) * std_error;
            ((rate - reach).max(0.0), (rate + reach).min(1.0))
        } else {
            clopper_pearson(total, (scrambles * points) as u64, confidence)
        };
        Ok(Estimate { rate, std_error, lower, upper, exact: false })
    }

    /// At least `samples` points over sixteen scrambles, or over more if each would have too many
    /// points.
    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        let points = samples.div_ceil(SCRAMBLES).clamp(2, MAX_POINTS).next_power_of_two();
        Some(Box::new(Self { points, scrambles: samples.div_ceil(points).max(SCRAMBLES) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::{MonteCarlo, affine_rate};
    use crate::model::{Linear, Model};
    use crate::noise::{Covariance, Gaussian, Noise, NoiseSpec, Residuals};
    use crate::seed::{Purpose, Seed};

    fn stream(key: u64) -> Stream {
        Seed(31).stream(Purpose::Rate, key)
    }

    #[test]
    fn agrees_with_the_closed_form_and_beats_plain_sampling() {
        let model = Linear::new(vec![2.0, -1.0, 0.5], 0.15, 0.0).unwrap();
        let matrix = vec![0.01, 0.004, 0.0, 0.004, 0.02, -0.003, 0.0, -0.003, 0.03];
        let noise = Gaussian::new(vec![0.02, 0.0, -0.01], Covariance::Full(matrix)).unwrap();
        let active = [true; 3];
        let query = Query { model: &model, noise: &noise, active: &active, point: &[0.0; 3] };
        let truth = affine_rate(
            0.15,
            noise.mean_along(model.weights(), |_| true),
            noise.sd_along(model.weights(), |_| true),
        );
        let sobol = SobolMonteCarlo { points: 1024, scrambles: 16 };
        let mut covered = 0;
        for key in 0..40 {
            let found = sobol.estimate(&query, 0.95, &mut stream(key)).unwrap();
            covered += u32::from(found.lower <= truth && truth <= found.upper);
            // Five standard errors of fifteen degrees: 2 in 10,000 for each of forty.
            assert!((found.rate - truth).abs() < 5.0 * found.std_error, "{found:?} for {truth}");
            let plain =
                MonteCarlo { samples: 16 * 1024 }.estimate(&query, 0.95, &mut stream(key)).unwrap();
            assert!(found.std_error < 0.6 * plain.std_error, "{found:?} {plain:?}");
        }
        // Forty intervals at 95 %: fewer than 32 have probability below 1e-3 (binomial).
        assert!(covered >= 32, "{covered}");
    }

    #[test]
    fn serves_every_independent_family_and_refuses_the_rest() {
        // One feature: the rate is the distribution function itself, and the net misses it by at
        // most one point in 1024.
        let model = Linear::new(vec![1.0], 0.13, 0.0).unwrap();
        for name in ["gaussian", "uniform", "laplace", "student-t"] {
            let noise = NoiseSpec::parse(name).unwrap().build(vec![0.1]).unwrap();
            let query = Query { model: &model, noise: &*noise, active: &[true], point: &[0.0] };
            let found = SobolMonteCarlo { points: 1024, scrambles: 4 }
                .estimate(&query, 0.99, &mut stream(1))
                .unwrap();
            let truth = noise.as_independent().unwrap().shape(0).cdf(-1.3);
            assert!((found.rate - truth).abs() < 1.0 / 1024.0, "{name}: {found:?} for {truth}");
        }
        let residuals = Residuals::new(Rows::new(&[0.1, -0.1], 1).unwrap()).unwrap();
        let query = Query { model: &model, noise: &residuals, active: &[true], point: &[0.0] };
        let error = SobolMonteCarlo { points: 4, scrambles: 2 }
            .estimate(&query, 0.99, &mut stream(1))
            .unwrap_err();
        assert!(
            error.to_string().contains("residuals") && error.to_string().contains("monte-carlo"),
            "{error}"
        );
    }

    #[test]
    fn no_refusal_at_all_leaves_an_interval_of_some_width() {
        let model = Linear::new(vec![1.0], 5.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(1, 0.1).unwrap();
        let query = Query { model: &model, noise: &noise, active: &[true], point: &[0.0] };
        let found = SobolMonteCarlo { points: 64, scrambles: 4 }
            .estimate(&query, 0.95, &mut stream(2))
            .unwrap();
        // Clopper and Pearson without a hit in 256: 1 - 0.025^(1/256).
        assert!(
            found.rate.abs() <= 0.0
                && (found.upper - (1.0 - 0.025_f64.powf(1.0 / 256.0))).abs() < 1e-12
        );
    }

    #[test]
    fn samples_are_split_over_scrambles_and_bad_sizes_fail() {
        let model = Linear::new(vec![1.0], 0.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(1, 0.1).unwrap();
        let noise: &dyn Noise = &noise;
        let query = Query { model: &model as &dyn Model, noise, active: &[true], point: &[0.0] };
        for (points, scrambles) in [(0, 2), (3, 2), (1 << 17, 2), (4, 1)] {
            assert!(
                SobolMonteCarlo { points, scrambles }
                    .estimate(&query, 0.9, &mut stream(0))
                    .is_err()
            );
        }
        for samples in [1, 17, 100_000, 3_000_000] {
            let sized = SobolMonteCarlo { points: 1, scrambles: 2 }.with_samples(samples).unwrap();
            assert!(sized.estimate(&query, 0.9, &mut stream(0)).is_ok(), "{samples}");
        }
    }
}
