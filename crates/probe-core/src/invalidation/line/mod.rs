//! Line sampling: sample the noise in all directions but one, and integrate that one exactly.
//!
//! With $\varepsilon = \mu + Lz$, $z = z_\perp + tu$ and $u$ a unit vector, one sample draws
//! $z_\perp$ and returns $P_t\big(s(x + \mu + Lz_\perp + tLu) \le 0\big)$ for a standard normal
//! $t$: the mass of the parts of a line on which the model rejects. Its mean over $z_\perp$ is the
//! rate for any $u$. Its variance is a small fraction of that of a plain draw if $u$ follows the
//! gradient of the score or, better, of the rate itself.
//!
//! For affine scores and rectifier networks of any depth the integral is exact up to rounding and
//! an error of at most $4\cdot10^{-7}$ that only overstates the rate (see `shallow`). For smooth
//! scores, `follow` states the accuracy.

mod crossing;
mod deep;
mod estimator;
mod follow;
mod kernel;
mod law;
mod network;
mod pool;
mod shallow;
mod smooth;
mod spread;
mod strata;
mod wide;

use crate::error::Result;
use crate::math::normal::{pdf, upper_quantile};
use crate::math::vectorised;
use crate::model::Model;
use crate::noise::Noise;
use crate::seed::Stream;
use crossing::Marginal;
use kernel::Kernel;
use law::Law;
use shallow::Bundle;

pub(super) use estimator::ENTRY;
pub use estimator::LineSampling;
pub(crate) use pool::{BLOCK, Block, Pool};
pub(crate) use spread::Spread;
pub(crate) use strata::LineMode;

/// Lines traced side by side.
const LANES: usize = 8;
type Lanes = [f64; LANES];

/// With this gap below the target, a certificate at confidence 0.999 needs three quarters of the
/// lines that it may read.
const LEAST_GAP: f64 = 2.4e-4;
/// The lowest first aim, as a share of the target.
pub(crate) const LEAST_AIM: f64 = 0.3;

/// How far below a target `rate` to aim by default: a measured compromise between the cost of
/// answers and the number of lines read. If lines bend, a wider gap costs more and saves less.
pub(crate) fn usual_gap(rate: f64, bend: bool) -> f64 {
    let times = 0.35 / rate;
    let share =
        if bend { 0.018 * times.sqrt() } else { (0.022 * libm::pow(times, 0.85)).min(0.08) };
    // The evidence of one line is at most the gap times 1/(1-r), so that very small rates need a
    // wide gap.
    (rate * share.min(0.15)).max(LEAST_GAP).min((1.0 - LEAST_AIM) * rate)
}

/// Whether line sampling supports this noise. Fails if the noise itself does.
pub(crate) fn has_lines(noise: &dyn Noise) -> Result<bool> {
    let still = vec![0.0; noise.dim()];
    let direct = noise.as_gaussian().is_some() || noise.as_independent().is_some();
    Ok(direct || noise.at(&still, &still)?.is_some())
}

/// Lines around one point after another, with their own scratch buffers.
pub(crate) struct Lines<'a> {
    kernel: Kernel<'a>,
    law: Law<'a>,
    active: Vec<bool>,
    /// Whether blocks store images, which requires the same noise at all points. The image of a
    /// vector is its product with the weights of the first layer.
    pooled: bool,
    marginal: Marginal<'a>,
    /// Direction of the line: in coordinates, in features and in images.
    unit: Vec<f64>,
    direction: Vec<f64>,
    rate: Vec<f64>,
    /// The point, moved by the mean of the noise, and its image.
    centre: Vec<f64>,
    base: Vec<f64>,
    anchor: Vec<f64>,
    anchor_score: f64,
    /// A point near which all points are expected, like `centre`, and its image; empty if there is
    /// none.
    home: Vec<f64>,
    home_image: Vec<f64>,
    /// Whether the noise has no mean.
    centred: bool,
    score: f64,
    /// How strongly noise along the line moves the score.
    swing: f64,
    guess: f64,
    slope: f64,
    rounding_error: f64,
    rough: bool,
    /// Number of points visited so far.
    number: u64,
    slopes: Vec<f64>,
    gradient: Vec<f64>,
    sums: Vec<Lanes>,
    along: Vec<Lanes>,
    images: Vec<Lanes>,
    errors: Vec<Lanes>,
    lanes: Vec<Lanes>,
    /// Lines traced so far.
    n_traced: u64,
    scratch: kernel::Scratch,
}

impl<'a> Lines<'a> {
    /// Lines under noise that acts on the features `active`. Without them, call [`Lines::enter`]
    /// before each point. Fails for models without gradients and for noise that line sampling does
    /// not support.
    pub(crate) fn new(
        model: &'a dyn Model,
        noise: &'a dyn Noise,
        active: Option<&[bool]>,
    ) -> Result<Self> {
        let kernel = Kernel::new(model)?;
        let law = Law::new(noise)?;
        let (d, width) = (model.n_features(), kernel.width());
        let mut lines = Self {
            pooled: active.is_some() && law.is_fixed(),
            law,
            active: active.map_or_else(|| vec![true; d], <[bool]>::to_vec),
            marginal: Marginal::Normal,
            unit: vec![0.0; d],
            direction: vec![0.0; d],
            rate: vec![0.0; width],
            centre: vec![0.0; d],
            base: vec![0.0; width],
            anchor: vec![0.0; width],
            anchor_score: 0.0,
            home: Vec::new(),
            home_image: vec![0.0; width],
            centred: false,
            score: 0.0,
            swing: 0.0,
            guess: 0.0,
            slope: 0.0,
            rounding_error: 0.0,
            rough: false,
            number: 0,
            slopes: vec![0.0; width],
            gradient: vec![0.0; d],
            sums: Vec::new(),
            along: Vec::new(),
            images: Vec::new(),
            errors: vec![[0.0; LANES]; d],
            lanes: Vec::new(),
            n_traced: 0,
            scratch: kernel::Scratch::default(),
            kernel,
        };
        lines.centred = lines.has_no_mean();
        Ok(lines)
    }

    fn has_no_mean(&self) -> bool {
        (0..self.active.len()).all(|j| !self.active[j] || self.law.mean(j) == 0.0)
    }

    fn law(&self) -> &Law<'a> {
        &self.law
    }

    /// The largest standard deviation of the noise, over the features it acts on.
    pub(crate) fn largest_sd(&self) -> f64 {
        let sds = (0..self.active.len()).filter(|&j| self.active[j]).map(|j| self.law.sd(j));
        sds.fold(0.0, f64::max)
    }

    /// Standard deviation of feature `j`, whether or not the noise acts on it.
    pub(crate) fn sd(&self, j: usize) -> f64 {
        self.law.sd(j)
    }

    /// Whether lines may have any direction. Otherwise they run along single features.
    pub(crate) fn follow_gradients(&self) -> bool {
        self.law.is_gaussian()
    }

    /// Whether the noise is the same at all points.
    pub(crate) fn is_fixed(&self) -> bool {
        self.pooled
    }

    /// How many lines were traced so far.
    pub(crate) fn n_traced(&self) -> u64 {
        self.n_traced
    }

    fn n_coordinates(&self) -> usize {
        self.unit.len()
    }

    fn image_width(&self) -> usize {
        self.base.len()
    }

    /// From now on the noise is that of a person at `from` who aims at `to`, on the features
    /// `active`. Has no effect if the noise is the same at all points.
    pub(crate) fn enter(&mut self, from: &[f64], to: &[f64], active: &[bool]) -> Result<()> {
        if self.pooled {
            return Ok(());
        }
        self.active.copy_from_slice(active);
        self.law.enter(from, to)?;
        self.centred = self.has_no_mean();
        Ok(())
    }

    /// Expects points that differ from `point` in few features from now on, which makes aiming at
    /// them cheaper.
    pub(crate) fn stay_near(&mut self, point: &[f64]) {
        let mut home = std::mem::take(&mut self.home);
        home.clear();
        if self.pooled {
            home.extend(point.iter().enumerate().map(|(j, x)| self.with_mean(j, *x)));
            self.kernel.image_into(&home, false, &mut self.home_image);
        }
        self.home = home;
    }

    /// The centre of the noise around `x` in feature `j`.
    fn with_mean(&self, j: usize, x: f64) -> f64 {
        x + if self.active[j] { self.law.mean(j) } else { 0.0 }
    }

    /// Computes the score and its slopes at the centre of the noise around `point`. This is enough
    /// for [`Lines::first_order`].
    pub(crate) fn visit(&mut self, point: &[f64]) -> Result<()> {
        self.number += 1;
        for (j, x) in point.iter().enumerate() {
            self.centre[j] = self.with_mean(j, *x);
        }
        if self.home.is_empty() {
            self.kernel.image_into(&self.centre, false, &mut self.base);
        } else {
            self.base.copy_from_slice(&self.home_image);
            let (kernel, base) = (&self.kernel, &mut self.base);
            let differences =
                self.centre.iter().zip(&self.home).map(|(to, from)| to - from).enumerate();
            vectorised(
                #[inline(always)]
                || kernel.add_image(differences, base),
            );
        }
        self.score =
            self.kernel.score_and_slopes(&self.base, &mut self.slopes, &mut self.scratch)?;
        Ok(())
    }

    /// Places the lines around `point`, in the direction in which the noise moves a function with
    /// this `gradient` most. Without one, uses the score's gradient there.
    pub(crate) fn aim(&mut self, point: &[f64], gradient: Option<&[f64]>) -> Result<()> {
        self.visit(point)?;
        match gradient {
            Some(gradient) => self.gradient.copy_from_slice(gradient),
            None => self.kernel.pull_back(&self.slopes, &mut self.gradient),
        }
        self.marginal =
            self.law.axis_into(&self.gradient, &self.active, &mut self.unit, &mut self.direction);
        self.kernel.image_into(&self.direction, true, &mut self.rate);
        let sd = self.largest_sd();
        self.rounding_error =
            self.kernel.rounding_error(&self.base, &self.rate, sd, &mut self.scratch);
        self.expect_root();
        // Of a narrow pit's wall, the slope is large and the score is not.
        self.swing = self.slope.abs().min(self.score.abs());
        if !self.kernel.can_stratify(self.rounding_error, self.swing) {
            self.swing = self.kernel.swing(&self.base, &self.rate, self.score);
        }
        Ok(())
    }

    /// Whether the noise has no mean: lines then lie around the point itself.
    pub(crate) fn is_centred(&self) -> bool {
        self.centred
    }

    /// [`Lines::first_order`] at `point` itself. The two differ if the noise has a mean.
    pub(crate) fn first_order_at(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let mut image = vec![0.0; self.image_width()];
        self.kernel.image_into(point, false, &mut image);
        let mut slopes = vec![0.0; self.image_width()];
        let score = self.kernel.score_and_slopes(&image, &mut slopes, &mut self.scratch)?;
        Ok(self.in_deviations(score, &slopes, gradient))
    }

    /// Remembers the point aimed at, for [`Lines::nudge`].
    pub(crate) fn anchor(&mut self) {
        self.anchor.clone_from(&self.base);
        self.anchor_score = self.score;
    }

    /// Whether the score is certainly rejected at the remembered point with feature `j` changed by
    /// `change`. Far cheaper than [`Lines::nudge`].
    pub(crate) fn is_out_of_reach(&self, j: usize, change: f64) -> bool {
        self.anchor_score + self.kernel.most_gain(j, change) < 0.0
    }

    /// Moves the lines to the remembered point with feature `j` changed by `change`, and keeps
    /// their direction. Returns the score there. Much cheaper than [`Lines::aim`]. If the score is
    /// not positive, the lines are not prepared, which is cheaper still.
    pub(crate) fn nudge(&mut self, j: usize, change: f64) -> Result<f64> {
        self.number += 1;
        let (kernel, base, anchor) = (&self.kernel, &mut self.base, &self.anchor);
        vectorised(
            #[inline(always)]
            || {
                base.copy_from_slice(anchor);
                kernel.add_image(std::iter::once((j, change)), base);
            },
        );
        self.score =
            self.kernel.score_and_slopes(&self.base, &mut self.slopes, &mut self.scratch)?;
        if self.score > 0.0 {
            self.expect_root();
        }
        Ok(self.score)
    }

    /// Guesses the root by linear extrapolation from the centre, shifted slightly to avoid a kink.
    fn expect_root(&mut self) {
        self.slope = crate::math::dot(&self.slopes, &self.rate);
        let root = shallow::ASIDE - self.score / self.slope;
        self.guess = if root.is_finite() { root.clamp(-shallow::NEAR, shallow::NEAR) } else { 0.0 };
    }

    /// The first-order margin at the current point, $s/\sqrt{g^\top\Sigma g}$ with $g = \nabla s$.
    /// Fills in its gradient, where the curvature of $s$ is neglected. The margin is huge if noise
    /// does not move the score.
    pub(crate) fn first_order(&self, gradient: &mut [f64]) -> f64 {
        self.in_deviations(self.score, &self.slopes, gradient)
    }

    /// `score` divided by the standard deviation that noise gives it, to first order. `slopes` are
    /// those of the score with respect to the image. Fills in the gradient.
    fn in_deviations(&self, score: f64, slopes: &[f64], gradient: &mut [f64]) -> f64 {
        self.kernel.pull_back(slopes, gradient);
        let sd = self.law.sd_along(gradient, &self.active);
        if sd > 0.0 && sd.is_finite() {
            gradient.iter_mut().for_each(|g| *g /= sd);
            score / sd
        } else if score > 0.0 {
            1e9
        } else {
            -1e9
        }
    }

    /// A block of `groups` groups of errors, whose coordinates `draw` fills row by row.
    fn block(&self, groups: usize, mut draw: impl FnMut(&mut [f64])) -> Block {
        let d = self.n_coordinates();
        let mut coordinates = vec![[0.0; LANES]; groups * d];
        let mut row = vec![0.0; d];
        for group in coordinates.chunks_exact_mut(d) {
            for lane in 0..LANES {
                draw(&mut row);
                group.iter_mut().zip(&row).for_each(|(z, value)| z[lane] = *value);
            }
        }
        let mut images = Vec::new();
        if self.pooled {
            let mut errors = vec![[0.0; LANES]; d];
            images.resize(groups * self.image_width(), [0.0; LANES]);
            self.images_into(&coordinates, &mut errors, &mut images);
        }
        Block::new(coordinates, images)
    }

    fn images_into(&self, coordinates: &[Lanes], errors: &mut [Lanes], images: &mut [Lanes]) {
        let groups = coordinates.chunks_exact(self.n_coordinates());
        for (z, images) in groups.zip(images.chunks_exact_mut(self.image_width())) {
            self.law.errors_into(z, &self.active, errors);
            vectorised(
                #[inline(always)]
                || self.kernel.images_into(errors, images),
            );
        }
    }

    /// Whether lines of a pool may be evaluated at stratified points around the current point.
    pub(crate) fn can_stratify(&self) -> bool {
        self.pooled
            && matches!(self.marginal, Marginal::Normal)
            && self.kernel.can_stratify(self.rounding_error, self.swing)
    }

    /// Whether stratified points are cheaper than whole lines: the score is not known to increase
    /// along most of the first lines of a pool, or whole lines are always expensive.
    pub(crate) fn bend(&mut self, pool: &Pool) -> Result<bool> {
        if !self.can_stratify() || self.kernel.is_deep() {
            return Ok(self.can_stratify());
        }
        self.scratch.shallow.bent = 0;
        self.take_roughly(true);
        self.sums.clear();
        let traced = self.rate(pool, 0, LANES, LineMode::Whole);
        self.take_roughly(false);
        traced.map(|_| 2 * self.scratch.shallow.bent > LANES)
    }

    /// Whether tracing a whole line is always expensive.
    pub(crate) fn are_deep(&self) -> bool {
        self.kernel.is_deep()
    }

    /// With `rough`, each line is from now on assumed to have a single root, the one nearest to the
    /// guess, even if others are not ruled out. This is precise enough for a search, and as cheap
    /// as for lines along which the score increases.
    pub(crate) fn take_roughly(&mut self, rough: bool) {
        self.rough = rough;
    }

    /// The rejected masses of the first `masses.len()` lines of `block`, a multiple of eight. With
    /// stratified points, if model and noise allow them, random numbers in [0, 1] whose means are
    /// these masses.
    pub(crate) fn masses(
        &mut self,
        block: &Block,
        mode: LineMode,
        masses: &mut [f64],
    ) -> Result<()> {
        let mut lanes = std::mem::take(&mut self.lanes);
        lanes.resize(masses.len() / LANES, [0.0; LANES]);
        let traced = self.trace(block, mode, &mut lanes);
        masses.as_chunks_mut().0.copy_from_slice(&lanes);
        self.lanes = lanes;
        traced
    }

    /// Evaluates the lines of the first groups of `block`. Adds slopes to `self.sums` unless it is
    /// empty.
    fn trace(&mut self, block: &Block, mode: LineMode, masses: &mut [Lanes]) -> Result<()> {
        self.n_traced += (masses.len() * LANES) as u64;
        let (d, width) = (self.n_coordinates(), self.image_width());
        let coordinates = &block.coordinates[..masses.len() * d];
        let (along, unit) = (&mut self.along, &self.unit);
        along.resize(masses.len(), [0.0; LANES]);
        vectorised(
            #[inline(always)]
            || {
                for (along, group) in along.iter_mut().zip(coordinates.chunks_exact(d)) {
                    let mut sum = [0.0; LANES];
                    for (z, u) in group.iter().zip(unit) {
                        for lane in 0..LANES {
                            sum[lane] += u * z[lane];
                        }
                    }
                    *along = sum;
                }
            },
        );
        let mut own = std::mem::take(&mut self.images);
        let images = if self.pooled {
            &block.images[..masses.len() * width]
        } else {
            own.resize(masses.len() * width, [0.0; LANES]);
            let mut errors = std::mem::take(&mut self.errors);
            self.images_into(coordinates, &mut errors, &mut own);
            self.errors = errors;
            &own[..]
        };
        let bundle = Bundle {
            number: self.number,
            base: &self.base,
            rate: &self.rate,
            guess: self.guess,
            slope: self.slope,
            marginal: self.marginal,
            rounding_error: self.rounding_error,
            rough: self.rough,
        };
        let can_stratify = self.sums.is_empty() && self.can_stratify() && block.can_stratify();
        let points = match mode {
            LineMode::Stratified(strata) if can_stratify => Some((block, strata)),
            _ => None,
        };
        let lines = (images, &self.along[..], points);
        let traced = self.kernel.masses(&bundle, lines, &mut self.sums, &mut self.scratch, masses);
        self.images = own;
        // A score that overflows counts as a rejection.
        for mass in masses.iter_mut().flatten().filter(|mass| !(0.0..=1.0).contains(*mass)) {
            *mass = 1.0;
        }
        traced
    }

    /// Mean of the masses of eight fresh lines: one observation.
    pub(crate) fn fresh_mean(&mut self, stream: &mut Stream) -> Result<f64> {
        let block = self.block(1, |row| self.law.draw(stream, row));
        let mut masses = [0.0; LANES];
        self.masses(&block, LineMode::Whole, &mut masses)?;
        Ok(masses.iter().sum::<f64>() / LANES as f64)
    }

    /// Rate from the first `lines` lines of a segment, a multiple of 8.
    pub(crate) fn rate(
        &mut self,
        pool: &Pool,
        segment: usize,
        lines: usize,
        mode: LineMode,
    ) -> Result<Spread> {
        let mut spread = Spread::default();
        self.rate_from((pool, segment), 0, lines, mode, &mut spread)?;
        Ok(spread)
    }

    /// Extends `spread`, which covers the first blocks of a pool, to its first `lines` lines, a
    /// multiple of 64.
    pub(crate) fn rate_further(
        &mut self,
        pool: &Pool,
        lines: usize,
        mode: LineMode,
        spread: &mut Spread,
    ) -> Result<()> {
        self.rate_from((pool, 0), spread.n() as usize / BLOCK, lines, mode, spread)
    }

    fn rate_from(
        &mut self,
        (pool, segment): (&Pool, usize),
        first: usize,
        lines: usize,
        mode: LineMode,
        spread: &mut Spread,
    ) -> Result<()> {
        let (mut masses, mut spare) = ([0.0; BLOCK], None);
        for index in first..lines.div_ceil(BLOCK) {
            let here = &mut masses[..BLOCK.min(lines - index * BLOCK)];
            let block = pool.block(segment, index, self, &mut spare);
            self.masses(block, mode, here)?;
            here.iter().for_each(|&mass| spread.add(mass));
        }
        Ok(())
    }

    /// The smoothed margin on the first `lines` lines of a pool, from stratified points.
    pub(crate) fn stratified_margin(
        &mut self,
        pool: &Pool,
        lines: usize,
        mode: LineMode,
    ) -> Result<(f64, Spread)> {
        self.sums.clear();
        let spread = self.rate(pool, 0, lines, mode)?;
        Ok((margin_of(spread.mean()), spread))
    }

    /// The smoothed margin $M(x) = \Phi^{-1}(1 - \Delta(x))$ on the first `lines` lines of a pool,
    /// with its gradient.
    ///
    /// On a fixed set of draws the rate is a smooth function of $x$. A root $t^*$ of a line
    /// contributes $-\varphi(t^*)\,\nabla s(y)/|\nabla s(y)^\top Lu|$ to $\nabla\Delta$, at the
    /// root's own point $y$ (infinitesimal perturbation analysis). $M$ is $1/\sigma$-Lipschitz and
    /// close to linear in $x$ even where $\Delta$ itself is flat, so that a search should follow
    /// $M$.
    pub(crate) fn margin(
        &mut self,
        pool: &Pool,
        lines: usize,
        gradient: Option<&mut [f64]>,
    ) -> Result<(f64, Spread)> {
        self.sums.clear();
        if gradient.is_some() {
            self.sums.resize(self.image_width(), [0.0; LANES]);
        }
        let spread = self.rate(pool, 0, lines, LineMode::Whole)?;
        let margin = margin_of(spread.mean());
        if let Some(gradient) = gradient {
            let scale = -1.0 / (spread.n() * pdf(margin));
            for (slope, lanes) in self.slopes.iter_mut().zip(&self.sums) {
                *slope = scale * lanes.iter().sum::<f64>();
            }
            self.kernel.pull_back(&self.slopes, gradient);
        }
        self.sums.clear();
        Ok((margin, spread))
    }
}

fn margin_of(rate: f64) -> f64 {
    /// Rates closer to 0 or 1 than this carry no gradient worth following.
    const LEAST: f64 = 1e-9;
    upper_quantile(rate.clamp(LEAST, 1.0 - LEAST))
}

#[cfg(test)]
mod tests;
