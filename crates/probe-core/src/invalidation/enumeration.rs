//! The rate under observed residuals: the share of them that lead to a rejection, $\Delta = \frac1n
//! \#\{i : s(x + e_i) \le 0\}$. Exact for any model, at one score per residual. Other noise is not
//! supported.

use super::{Estimate, InvalidationRate, Query, n_refused};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::rows::Rows;
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "enumeration",
    reference: "Definition 1, arXiv:2203.06768, summed over all residuals",
    item: &Enumeration,
};

/// The share of rejected residuals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Enumeration;

impl InvalidationRate for Enumeration {
    fn name(&self) -> &'static str {
        "enumeration"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        _confidence: f64,
        _stream: &mut Stream,
    ) -> Result<Estimate> {
        const BATCH: usize = 256;
        let residuals = query.noise.as_residuals().ok_or_else(|| Error::Unsupported {
            what: format!("enumeration of {} noise", query.noise.name()),
            why: "it needs observed residuals; use monte-carlo".to_owned(),
        })?;
        let (n, d) = (residuals.n_rows(), query.point.len());
        let (mut noisy, mut scores) = (vec![0.0; BATCH * d], vec![0.0; BATCH]);
        let mut refused = 0;
        for first in (0..n).step_by(BATCH) {
            let count = BATCH.min(n - first);
            let noisy = &mut noisy[..count * d];
            for (i, row) in noisy.chunks_exact_mut(d).enumerate() {
                row.copy_from_slice(residuals.row(first + i));
                query.displace(row);
            }
            query.model.score_batch(Rows::new(noisy, d)?, &mut scores[..count])?;
            refused += n_refused(&scores[..count]);
        }
        let rate = refused as f64 / n as f64;
        Ok(Estimate { rate, std_error: 0.0, lower: rate, upper: rate, exact: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Linear;
    use crate::noise::{Gaussian, Residuals};
    use crate::seed::{Purpose, Seed};

    #[test]
    fn counts_refused_residuals_and_no_others() {
        // s = 1 + ε₀ - ε₁ at the origin: residual i of 600 has ε₀ = -i/100, so all from i = 100 on
        // are refused, the tie included.
        let model = Linear::new(vec![1.0, -1.0], 1.0, 0.0).unwrap();
        let data: Vec<f64> = (0..600).flat_map(|i| [-f64::from(i) / 100.0, 9.0]).collect();
        let noise = Residuals::new(Rows::new(&data, 2).unwrap()).unwrap();
        let mut stream = Seed(0).stream(Purpose::Rate, 0);
        let mut rate = |active: &[bool]| {
            let query = Query { model: &model, noise: &noise, active, point: &[0.0; 2] };
            Enumeration.estimate(&query, 0.9, &mut stream).unwrap()
        };
        let found = rate(&[true, false]);
        assert!(found.exact && (found.rate - 500.0 / 600.0).abs() < 1e-15, "{found:?}");
        assert!(
            (rate(&[true, true]).rate - 1.0).abs() <= 0.0
                && rate(&[false, false]).rate.abs() <= 0.0
        );
        let gaussian = Gaussian::isotropic(2, 0.1).unwrap();
        let query = Query { model: &model, noise: &gaussian, active: &[true; 2], point: &[0.0; 2] };
        let error = Enumeration.estimate(&query, 0.9, &mut stream).unwrap_err().to_string();
        assert!(error.contains("gaussian") && error.contains("monte-carlo"), "{error}");
    }
}
