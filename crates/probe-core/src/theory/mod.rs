//! The paper's theory as functions: each file states one result, says what differs from the paper
//! and why, and computes it.
//!
//! PROBE is Pawelczyk et al., *Probabilistically Robust Recourse* (ICLR 2023, arXiv:2203.06768).
//! Where a statement of the paper holds only under conditions that it leaves out, the functions
//! here require those conditions, or their return type says what still holds.
//! `docs/notation.md` lists the symbols and the errata with their tests.
//!
//! Throughout, the cut-off is part of the score: favourable iff $s(x) > 0$, a tie is a rejection,
//! and $\Delta(x) = P(s(x+\varepsilon) \le 0)$ is a probability at every point.

mod ball;
mod bounds;
mod first_order;
mod sampling;
mod smoothing;
mod tradeoff;
mod wachter;

pub use ball::{ball_mass, ball_radius};
pub use bounds::{Bound, BoundKind, Step, smooth_upper_bound, upper_bound};
pub(crate) use first_order::{Buffers, margin_gradient_with};
pub use first_order::{FirstOrder, affine_rate, first_order, margin_gradient_into};
pub use sampling::{indicator_mse, indicator_mse_bound, sigmoid_bias};
pub use smoothing::{least_distance, rates_within};
pub use tradeoff::Tradeoff;
pub use wachter::{Distance, robust_score, wachter_point, wachter_point_penalised, wachter_rate};

use crate::error::{Error, Result};

fn check_len(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Fails unless noise, mask and point all have the model's `d` features.
fn check_features(d: usize, noise: usize, active: usize, point: usize) -> Result<()> {
    check_len("features of the noise", d, noise)?;
    check_len("entries of the noise mask", d, active)?;
    check_len("features of the point", d, point)
}
