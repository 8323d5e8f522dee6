//! The empirical distribution of observed errors: each draw is one of the given rows $e_1, \dots,
//! e_n$, all equally likely.
//!
//! It keeps the shape and the dependence of the observations, but never produces an error larger
//! than the largest observed one.

use super::Noise;
use crate::error::{Error, Result, require};
use crate::rows::{Rows, RowsMut};
use crate::seed::Stream;

/// The empirical distribution of residuals.
#[derive(Debug, Clone)]
pub struct Residuals {
    dim: usize,
    rows: Vec<f64>,
}

impl Residuals {
    /// Fails without rows and on numbers that are not finite.
    pub fn new(rows: Rows<'_>) -> Result<Self> {
        if rows.n_rows() == 0 {
            return Err(Error::Unsupported {
                what: "noise from an empty list of residuals".to_owned(),
                why: "there is nothing to draw from".to_owned(),
            });
        }
        for (i, row) in rows.iter().enumerate() {
            for (j, e) in row.iter().enumerate() {
                require(e.is_finite(), &format!("noise residual [{i}][{j}]"), "finite", *e)?;
            }
        }
        Ok(Self { dim: rows.n_cols(), rows: rows.data().to_vec() })
    }

    /// Number of observations.
    pub fn n_rows(&self) -> usize {
        self.rows.len() / self.dim
    }

    /// All observations, row by row.
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Observation `i`.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.dim..(i + 1) * self.dim]
    }
}

impl Noise for Residuals {
    fn name(&self) -> &'static str {
        "residuals"
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn sample_into(&self, stream: &mut Stream, mut out: RowsMut<'_>) {
        for row in out.iter_mut() {
            row.copy_from_slice(self.row(stream.below(self.n_rows())));
        }
    }

    fn as_residuals(&self) -> Option<&Residuals> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    #[test]
    fn rows_are_drawn_whole_and_equally_often() {
        let data = [0.0, 1.0, 2.0, -1.0, 5.0, 5.0];
        let noise = Residuals::new(Rows::new(&data, 2).unwrap()).unwrap();
        assert_eq!((noise.dim(), noise.n_rows(), noise.row(1)), (2, 3, [2.0, -1.0].as_slice()));
        const N: usize = 90_000;
        let mut draws = vec![0.0; 2 * N];
        noise.sample_into(
            &mut Seed(4).stream(Purpose::Rate, 0),
            RowsMut::new(&mut draws, 2).unwrap(),
        );
        let mut counts = [0usize; 3];
        for draw in draws.chunks(2) {
            counts[data.chunks(2).position(|row| row == draw).unwrap()] += 1;
        }
        // Binomial counts: four standard deviations of √(n·⅓·⅔).
        let allowed = 4.0 * (N as f64 * 2.0 / 9.0).sqrt();
        assert!(counts.iter().all(|&c| (c as f64 - N as f64 / 3.0).abs() < allowed), "{counts:?}");
    }

    #[test]
    fn nothing_to_draw_from_is_refused() {
        assert!(Residuals::new(Rows::new(&[], 2).unwrap()).is_err());
        let error = Residuals::new(Rows::new(&[0.0, 1.0, f64::NAN, 0.0], 2).unwrap()).unwrap_err();
        assert!(error.to_string().contains("noise residual [1][0]"), "{error}");
    }
}
