//! Rates of networks with one hidden relu layer by lines, written apart from the engine so that it
//! can judge it.
//!
//! $f(x) = v^\top \max(Wx + b, 0) + c$ and noise $\sigma z$, $z$ standard normal. For a unit vector
//! $u$, $z = z_\perp + tu$ with $t$ standard normal and independent of $z_\perp$. Along $t$ each
//! unit is $p_h + t q_h$ with $q = \sigma Wu$: $f$ is piecewise linear with kinks at $-p_h/q_h$,
//! and the share of $t$ on which $f \le 0$ is a sum of differences of $\Phi$. Its mean over
//! $z_\perp$ is the rate.

use anyhow::{Result, bail};
use probe_core::math::normal::{cdf, quantile};
use probe_core::{Activation, Mlp};

/// Beyond so many standard deviations lies less than a rounding error of mass.
const FAR: f64 = 8.5;

/// A network with one hidden relu layer, as plain numbers.
#[derive(Debug, Clone)]
pub(crate) struct Shallow {
    d: usize,
    /// Hidden weights, unit after unit.
    w: Vec<f64>,
    b: Vec<f64>,
    v: Vec<f64>,
    c: f64,
}

impl Shallow {
    /// Fails on other networks.
    pub(crate) fn of(model: &Mlp, threshold: f64) -> Result<Self> {
        let ([hidden], Activation::Relu) = (model.hidden(), model.activation()) else {
            bail!("one hidden relu layer is needed");
        };
        let (v, c) = model.output();
        let (w, b) = (hidden.weight().to_vec(), hidden.bias().to_vec());
        Ok(Self { d: hidden.n_in(), w, b, v: v.to_vec(), c: c - threshold })
    }

    pub(crate) fn d(&self) -> usize {
        self.d
    }

    fn units(&self) -> usize {
        self.b.len()
    }

    /// $Wx + b$.
    pub(crate) fn pre(&self, x: &[f64]) -> Vec<f64> {
        self.times(x).zip(&self.b).map(|(wx, b)| wx + b).collect()
    }

    /// $Wx$.
    fn times<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.w.chunks_exact(self.d).map(move |row| dot(row, x))
    }

    /// The effect of one feature on every unit.
    pub(crate) fn column(&self, j: usize) -> Vec<f64> {
        self.w.iter().skip(j).step_by(self.d).copied().collect()
    }

    /// The score of a point whose $Wx + b$ is `pre`.
    pub(crate) fn score(&self, pre: &[f64]) -> f64 {
        pre.iter().zip(&self.v).map(|(p, v)| v * p.max(0.0)).sum::<f64>() + self.c
    }

    /// The mean gradient over `draws` around the point, as a unit vector: the direction in which
    /// the rate changes most. The first axis where it vanishes.
    pub(crate) fn direction(&self, pre: &[f64], sigma: f64, draws: &Draws) -> Vec<f64> {
        let mut share = vec![0.0; self.units()];
        for image in draws.images.chunks_exact(self.units()) {
            for ((s, p), i) in share.iter_mut().zip(pre).zip(image) {
                *s += f64::from(u8::from(p + sigma * i > 0.0));
            }
        }
        let mut u = vec![0.0; self.d];
        for ((row, s), v) in self.w.chunks_exact(self.d).zip(&share).zip(&self.v) {
            u.iter_mut().zip(row).for_each(|(u, w)| *u += s * v * w);
        }
        let norm = dot(&u, &u).sqrt();
        match norm > 0.0 {
            true => u.iter_mut().for_each(|u| *u /= norm),
            false => u[0] = 1.0,
        }
        u
    }

    /// How many of `draws` refuse the point, plain.
    pub(crate) fn count_refused(&self, pre: &[f64], sigma: f64, draws: &Draws) -> usize {
        let refused = |image: &[f64]| {
            let mut sums = [0.0; 8];
            let chunks = image.chunks_exact(8);
            let rest = chunks.remainder().len();
            let tail = self.units() - rest;
            for ((image, pre), v) in chunks.zip(pre.chunks_exact(8)).zip(self.v.chunks_exact(8)) {
                for lane in 0..8 {
                    sums[lane] += v[lane] * (pre[lane] + sigma * image[lane]).max(0.0);
                }
            }
            let last: f64 = (tail..self.units())
                .map(|h| self.v[h] * (pre[h] + sigma * image[h]).max(0.0))
                .sum();
            sums.iter().sum::<f64>() + last + self.c <= 0.0
        };
        draws.images.chunks_exact(self.units()).filter(|image| refused(image)).count()
    }
}

/// Standard normal vectors and their images under the hidden layer, $Wz$.
pub(crate) struct Draws {
    z: Vec<f64>,
    images: Vec<f64>,
}

impl Draws {
    /// From the vectors `z`, one after the other.
    pub(crate) fn new(model: &Shallow, z: Vec<f64>) -> Self {
        let mut images = Vec::with_capacity(z.len() / model.d * model.units());
        for z in z.chunks_exact(model.d) {
            images.extend(model.times(z));
        }
        Self { z, images }
    }

    /// `n` points of a Sobol sequence, scrambled by `seed`.
    pub(crate) fn sobol(model: &Shallow, n: usize, seed: u32) -> Self {
        // Half a step of the sequence's grid keeps the quantile finite.
        let uniform =
            |i: u32, j: u32| f64::from(sobol_burley::sample(i, j, seed)) + 0.5f64.powi(25);
        let z =
            (0..n as u32).flat_map(|i| (0..model.d as u32).map(move |j| quantile(uniform(i, j))));
        Self::new(model, z.collect())
    }
}

/// Lines along one direction, whose places do not depend on the point: common random numbers for
/// all points.
pub(crate) struct Bundle<'m> {
    model: &'m Shallow,
    /// $\sigma W z_\perp$, line after line.
    offsets: Vec<f64>,
    /// $\sigma W u$.
    slopes: Vec<f64>,
}

impl<'m> Bundle<'m> {
    /// One line per draw, along the unit vector `u`.
    pub(crate) fn new(model: &'m Shallow, sigma: f64, u: &[f64], draws: &Draws) -> Self {
        let slopes: Vec<f64> = model.times(u).map(|wu| sigma * wu).collect();
        let mut offsets = Vec::with_capacity(draws.images.len());
        for (z, image) in
            draws.z.chunks_exact(model.d).zip(draws.images.chunks_exact(model.units()))
        {
            let along = dot(z, u);
            offsets.extend(image.iter().zip(&slopes).map(|(i, s)| sigma * i - along * s));
        }
        Self { model, offsets, slopes }
    }

    /// The rate at the point whose $Wx + b$ is `pre`.
    pub(crate) fn rate(&self, pre: &[f64]) -> f64 {
        let units = self.model.units();
        let mut kinks = Vec::with_capacity(units);
        let total: f64 =
            self.offsets.chunks_exact(units).map(|offset| self.mass(pre, offset, &mut kinks)).sum();
        total / (self.offsets.len() / units) as f64
    }

    /// The refused share of one line.
    fn mass(&self, pre: &[f64], offset: &[f64], kinks: &mut Vec<(f64, f64, f64)>) -> f64 {
        kinks.clear();
        // f(t) = a + s t on the first piece, from -FAR on.
        let (mut a, mut s) = (self.model.c, 0.0);
        for (((p, o), q), v) in pre.iter().zip(offset).zip(&self.slopes).zip(&self.model.v) {
            let p = p + o;
            if p - FAR * q > 0.0 {
                a += v * p;
                s += v * q;
            }
            let kink = -p / q;
            // Not at a unit that never turns on or off: its kink is infinite or NaN.
            if kink.abs() < FAR {
                // What the unit adds to f once t has passed the kink.
                let sign = if *q > 0.0 { 1.0 } else { -1.0 };
                kinks.push((kink, sign * v * p, sign * v * q));
            }
        }
        kinks.sort_unstable_by(|x, y| x.0.total_cmp(&y.0));
        let mut mass = 0.0;
        let mut refused = a - FAR * s <= 0.0;
        let (mut since, mut start) = (-FAR, -FAR);
        for &(end, jump_a, jump_s) in kinks.iter().chain([&(FAR, 0.0, 0.0)]) {
            let after = a + s * end <= 0.0;
            if after != refused {
                // Rounding must not throw a crossing at a kink out of its piece.
                let root = (-a / s).clamp(start, end);
                if refused {
                    mass += cdf(root) - cdf(since);
                }
                (since, refused) = (root, after);
            }
            a += jump_a;
            s += jump_s;
            start = end;
        }
        if refused { mass + cdf(FAR) - cdf(since) } else { mass }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use probe_core::Dense;
    use probe_core::math::normal::upper_tail;
    use probe_core::{Purpose, Seed};

    /// w·x + b as a network: each weight as a difference of two relu units.
    pub(crate) fn affine(w: &[f64], b: f64) -> Shallow {
        let d = w.len();
        let weight = (0..2)
            .flat_map(|side| w.iter().map(move |w| if side == 0 { *w } else { -w }))
            .collect();
        let hidden = Dense { weight, bias: vec![b, -b] };
        let output = Dense { weight: vec![1.0, -1.0], bias: vec![0.0] };
        assert_eq!(hidden.weight.len(), 2 * d);
        Shallow::of(&Mlp::new(vec![hidden, output], Activation::Relu, 0.0).unwrap(), 0.0).unwrap()
    }

    pub(crate) fn random(d: usize, units: usize, seed: u64) -> Shallow {
        let mut stream = Seed(seed).stream(Purpose::Data, 7);
        let mut normals =
            |n: usize, by: f64| (0..n).map(|_| by * stream.normal()).collect::<Vec<_>>();
        Shallow {
            d,
            w: normals(d * units, 1.0),
            b: normals(units, 0.5),
            v: normals(units, 1.0),
            c: normals(1, 0.3)[0],
        }
    }

    #[test]
    fn an_affine_score_has_its_closed_form_on_every_line() {
        let model = affine(&[3.0, -4.0], -0.5);
        let x = [0.7, 0.1];
        // f = 2.1 - 0.4 - 0.5 = 1.2; σ‖w‖ = 0.1 · 5.
        let exact = upper_tail(1.2 / 0.5);
        let draws = Draws::sobol(&model, 64, 1);
        let pre = model.pre(&x);
        assert!((model.score(&pre) - 1.2).abs() < 1e-15);
        let along = model.direction(&pre, 0.1, &draws);
        assert!((along[0] - 0.6).abs() < 1e-15 && (along[1] + 0.8).abs() < 1e-15, "{along:?}");
        let rate = Bundle::new(&model, 0.1, &along, &draws).rate(&pre);
        assert!((rate / exact - 1.0).abs() < 1e-12, "{rate} {exact}");
    }

    #[test]
    fn a_tent_in_one_dimension_has_two_refused_tails() {
        // f = 1 - |x|: refused outside (-1, 1).
        let model = Shallow { d: 1, w: vec![1.0, -1.0], b: vec![0.0; 2], v: vec![-1.0; 2], c: 1.0 };
        let draws = Draws::sobol(&model, 4, 3);
        let (x, sigma) = (0.4, 0.7);
        let exact = upper_tail((1.0 - x) / sigma) + upper_tail((1.0 + x) / sigma);
        for u in [1.0, -1.0] {
            let rate = Bundle::new(&model, sigma, &[u], &draws).rate(&model.pre(&[x]));
            assert!((rate - exact).abs() < 1e-14, "{rate} {exact}");
        }
    }

    #[test]
    fn lines_along_any_direction_agree_with_plain_draws() {
        for seed in 0..4 {
            let model = random(3, 12, seed);
            let pre = model.pre(&[0.3, -0.2, 0.5]);
            let mut stream = Seed(seed).stream(Purpose::Data, 8);
            let n = 200_000;
            let plain = Draws::new(&model, (0..3 * n).map(|_| stream.normal()).collect());
            let share = model.count_refused(&pre, 0.4, &plain) as f64 / n as f64;
            let sobol = Draws::sobol(&model, 4096, 5);
            for u in [model.direction(&pre, 0.4, &sobol), vec![0.0, 1.0, 0.0]] {
                let rate = Bundle::new(&model, 0.4, &u, &sobol).rate(&pre);
                // Five standard errors of the plain share; lines on Sobol points are closer than
                // that.
                let allowed = 5.0 * (rate * (1.0 - rate) / n as f64).sqrt() + 5e-4;
                assert!((rate - share).abs() < allowed, "seed {seed}: {rate} {share}");
            }
        }
    }
}
