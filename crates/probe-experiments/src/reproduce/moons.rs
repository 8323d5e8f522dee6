//! Two half moons that reach into each other: scikit-learn's `make_moons`, whose picture the
//! paper's appendix uses.

use probe_core::{Purpose, Seed};

/// Names the stream among those of [`Purpose::Data`].
const STREAM: u64 = 0x006d_6f6f_6e73;

/// Rows of two features and whether each is favourable: the lower moon is.
pub(super) struct Moons {
    pub(super) rows: Vec<f64>,
    pub(super) favourable: Vec<bool>,
}

/// `n` points, in turns on either moon at a random angle, each off by a normal of deviation `sd` in
/// both features.
pub(super) fn moons(n: usize, sd: f64, seed: Seed) -> Moons {
    let mut stream = seed.stream(Purpose::Data, STREAM);
    let (mut rows, mut favourable) = (Vec::with_capacity(2 * n), Vec::with_capacity(n));
    for i in 0..n {
        let (sin, cos) = (std::f64::consts::PI * stream.uniform()).sin_cos();
        let lower = i % 2 == 1;
        let (x, y) = if lower { (1.0 - cos, 0.5 - sin) } else { (cos, sin) };
        rows.extend([x + sd * stream.normal(), y + sd * stream.normal()]);
        favourable.push(lower);
    }
    Moons { rows, favourable }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_on_their_half_circles() {
        let Moons { rows, favourable } = moons(400, 0.0, Seed(1));
        for (point, lower) in rows.chunks_exact(2).zip(&favourable) {
            let centre = if *lower { [1.0, 0.5] } else { [0.0, 0.0] };
            let (dx, dy) = (point[0] - centre[0], point[1] - centre[1]);
            assert!((dx.hypot(dy) - 1.0).abs() < 1e-12 && (dy < 0.0) == *lower, "{point:?}");
        }
        assert_eq!(favourable.iter().filter(|lower| **lower).count(), 200);
        assert_eq!(rows, moons(400, 0.0, Seed(1)).rows);
        assert_ne!(rows, moons(400, 0.0, Seed(2)).rows);
    }
}
