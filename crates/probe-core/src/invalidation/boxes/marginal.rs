//! Probabilities that a feature of the noisy point lies between two cuts.

use crate::noise::{Independent, Noise};

/// One end of an interval, stored as the smaller of the masses on its two sides. If $c$ is at most
/// the centre, this is $P(X \le c)$ with a plus sign, else $P(X > c)$ with a minus sign.
/// Differences then keep full precision in both tails.
#[derive(Debug, Clone, Copy)]
pub(super) struct End(f64);

impl End {
    /// The end with no mass below it.
    pub(super) const LOWEST: Self = Self(0.0);
    /// The end with no mass above it.
    pub(super) const HIGHEST: Self = Self(-0.0);

    /// Whether no mass is at or below.
    pub(super) fn nothing_below(self) -> bool {
        self.0 == 0.0 && self.0.is_sign_positive()
    }

    /// Whether no mass is above.
    pub(super) fn nothing_above(self) -> bool {
        self.0 == 0.0 && self.0.is_sign_negative()
    }

    /// The mass above `self` and at or below `to`.
    #[inline(always)]
    pub(super) fn mass_to(self, to: Self) -> f64 {
        let straddles = self.0.is_sign_positive() && to.0.is_sign_negative();
        let mass = if straddles { (1.0 + to.0) - self.0 } else { to.0 - self.0 };
        mass.max(0.0)
    }
}

/// A feature of the noisy point: its centre, and its standard deviation, 0 if there is no noise.
#[derive(Debug, Clone, Copy, Default)]
struct Spot {
    centre: f64,
    sd: f64,
}

/// The features of one noisy point, independent of one another.
pub(super) struct Marginals<'a> {
    noise: &'a dyn Independent,
    spots: Vec<Spot>,
    /// Whether to use tails so heavy that every cut has mass on both sides.
    wide: bool,
}

impl<'a> Marginals<'a> {
    /// `None` unless the noise is independent over features.
    pub(super) fn of(noise: &'a dyn Noise) -> Option<Self> {
        Some(Self {
            noise: noise.as_independent()?,
            spots: Vec::with_capacity(noise.dim()),
            wide: false,
        })
    }

    /// Moves to `point`, with noise on the `active` features. Missing and infinite values get no
    /// noise.
    pub(super) fn place(&mut self, point: &[f64], active: &[bool]) {
        self.spots.clear();
        let noise = self.noise;
        self.spots.extend(point.iter().zip(active).enumerate().map(|(j, (&x, &active))| {
            if active && x.is_finite() {
                Spot { centre: x + noise.mean(j), sd: noise.sd(j) }
            } else {
                Spot { centre: x, sd: 0.0 }
            }
        }));
    }

    /// With `wide`, replaces the noise by one with tails so heavy that every cut has mass on both
    /// sides. Otherwise uses the noise itself again.
    pub(super) fn widen(&mut self, wide: bool) {
        self.wide = wide;
    }

    pub(super) fn n_features(&self) -> usize {
        self.spots.len()
    }

    /// The value of feature `j` if it has no noise.
    #[inline(always)]
    pub(super) fn certain(&self, j: usize) -> Option<f64> {
        let spot = self.spots[j];
        if spot.sd > 0.0 { None } else { Some(spot.centre) }
    }

    /// A cut of feature `j`, which is noisy, as an end.
    pub(super) fn end(&self, j: usize, cut: f64) -> End {
        let Spot { centre, sd } = self.spots[j];
        let (t, shape) = ((cut - centre) / sd, self.noise.shape(j));
        if self.wide {
            return End(0.5_f64.copysign(-t) / (1.0 + t.abs()));
        }
        End(if t <= 0.0 { shape.cdf(t) } else { -shape.upper_tail(t) })
    }

    /// The density of feature `j`, which is noisy, at a cut.
    pub(super) fn density(&self, j: usize, cut: f64) -> f64 {
        let Spot { centre, sd } = self.spots[j];
        self.noise.shape(j).density((cut - centre) / sd) / sd
    }
}
