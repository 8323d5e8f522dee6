//! A model split into two parts: a linear map of the features, whose value is called the *image*,
//! and the head, which maps the image to the score.
//!
//! The image of a point is the output of the first layer. For models without layers it is the point
//! itself or its score. A line depends on an error only through the error's image. Images of a
//! fixed set of errors are therefore computed once, and a line then costs O(image) instead of
//! O(features × image). Slopes are summed in image space, and mapped back to the features once.

use super::crossing::Marginal;
use super::deep::{self, Deep};
use super::follow::{self, Profile};
use super::network::{self, Network};
use super::pool::Block;
use super::shallow::{self, Bundle, Shallow};
use super::strata::Strata;
use super::wide::Singles;
use super::{LANES, Lanes};
use crate::error::{Error, Result};
use crate::math::{dot, vectorised};
use crate::model::{Activation, Differentiable, Mlp, Model};
use pulp::{Arch, Simd, WithSimd};

/// Bounds of rounding errors assume noise of at most this many standard deviations.
const REACH: f64 = 8.0;

/// A model prepared for lines.
pub(super) struct Kernel<'a> {
    model: &'a dyn Differentiable,
    /// Row `j`: the change of the image per unit of feature `j`. Empty if the image is the point.
    map: Vec<f64>,
    /// Image of the origin.
    offset: Vec<f64>,
    /// Euclidean norm of the weights of each number of the image.
    lengths: Vec<f64>,
    /// The largest gain in score per unit of each feature, up and down; empty if it is unknown.
    steepest: Vec<[f64; 2]>,
    head: Head<'a>,
}

/// The part of the model from the image to the score.
enum Head<'a> {
    /// The image is the score.
    Affine,
    /// One hidden layer of rectifiers.
    Shallow(Shallow),
    /// Any other network.
    Network(Network<'a>),
    /// Anything with a gradient: the image is the point.
    Opaque,
}

/// Scratch of one thread.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) shallow: shallow::Scratch,
    network: network::Scratch,
    deep: deep::Scratch,
    p: Vec<f64>,
    sum: Vec<f64>,
    roots: Vec<super::crossing::Root>,
    point: Vec<f64>,
    gradient: Vec<f64>,
}

impl<'a> Kernel<'a> {
    /// Fails for models without gradients.
    pub(super) fn new(model: &'a dyn Model) -> Result<Self> {
        let differentiable = model.as_differentiable().ok_or_else(|| Error::Unsupported {
            what: format!("line sampling on a {} model", model.name()),
            why: "it needs a gradient; use monte-carlo".to_owned(),
        })?;
        let d = model.n_features();
        let (map, offset, head) = match (model.as_linear(), model.as_mlp()) {
            (Some(linear), _) => {
                let origin = model.score(&vec![0.0; d])?;
                (linear.weights().to_vec(), vec![origin], Head::Affine)
            }
            (None, Some(mlp)) => of_network(mlp),
            (None, None) => (Vec::new(), vec![0.0; d], Head::Opaque),
        };
        let lengths = (0..offset.len())
            .map(|i| map.iter().skip(i).step_by(offset.len()).map(|w| w * w).sum::<f64>().sqrt())
            .collect();
        let steepest = match &head {
            Head::Shallow(net) => {
                map.chunks_exact(offset.len()).map(|row| net.steepest(row)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Self { model: differentiable, map, offset, lengths, steepest, head })
    }

    /// Upper bound on the gain in score from a `change` of feature `j`, at any point.
    pub(super) fn most_gain(&self, j: usize, change: f64) -> f64 {
        let [up, down] = self.steepest.get(j).copied().unwrap_or([f64::INFINITY; 2]);
        if change > 0.0 { change * up } else { -change * down }
    }

    /// Whether lines around a point may be observed at stratified points. The rounding error of a
    /// score, `rounding_error`, must be small beside `swing`, the effect of noise along the line.
    pub(super) fn can_stratify(&self, rounding_error: f64, swing: f64) -> bool {
        /// The largest rounding error, as a share of `swing`.
        const LARGEST_SHARE: f64 = 5e-3;
        /// The rounding error of single precision relative to that of double precision, of which
        /// [`Kernel::rounding_error`] gives four times the bound.
        const COARSER: f64 = 0.25 * (1u64 << 29) as f64;
        /// With a rounding error below this, no score overflows.
        const MOST_ROUNDING_ERROR: f64 = 1e250;
        match &self.head {
            Head::Shallow(net) => {
                net.can_stratify() && COARSER * rounding_error <= LARGEST_SHARE * swing
            }
            // These are evaluated in double precision.
            Head::Network(_) => rounding_error > 0.0 && rounding_error < MOST_ROUNDING_ERROR,
            Head::Affine | Head::Opaque => false,
        }
    }

    /// The largest change of the score, from `score` at `base`, at a few places along `rate`. Terms
    /// that cancel each other, such as both sides of a narrow pit, move it little.
    pub(super) fn swing(&self, base: &[f64], rate: &[f64], score: f64) -> f64 {
        /// In standard deviations.
        const PLACES: [f64; 4] = [-3.0, -1.0, 1.0, 3.0];
        let Head::Shallow(net) = &self.head else { return 0.0 };
        let (mut image, mut slopes) = (vec![0.0; base.len()], vec![0.0; base.len()]);
        let change = |t: &f64| {
            image.iter_mut().zip(base.iter().zip(rate)).for_each(|(z, (b, c))| *z = b + t * c);
            (net.score_and_slopes(&image, &mut slopes) - score).abs()
        };
        PLACES.iter().map(change).fold(0.0, f64::max)
    }

    /// Whether evaluating a whole line is always expensive, because layers after the first are
    /// followed from kink to kink or divided into cells.
    pub(super) fn is_deep(&self) -> bool {
        matches!(self.head, Head::Network(_))
    }

    /// Length of an image.
    pub(super) fn width(&self) -> usize {
        self.offset.len()
    }

    /// The image of the point `x`. If `x` is a difference of points, the difference of their
    /// images.
    pub(super) fn image_into(&self, x: &[f64], of_difference: bool, image: &mut [f64]) {
        if of_difference {
            image.fill(0.0);
        } else {
            image.copy_from_slice(&self.offset);
        }
        vectorised(
            #[inline(always)]
            || self.add_image(x.iter().copied().enumerate(), image),
        );
    }

    /// Adds the image of a difference, given as features with values.
    #[inline(always)]
    pub(super) fn add_image(&self, x: impl Iterator<Item = (usize, f64)>, image: &mut [f64]) {
        let n = self.width();
        for (j, value) in x {
            if self.map.is_empty() {
                image[j] += value;
            } else if value != 0.0 {
                let row = &self.map[j * n..(j + 1) * n];
                image.iter_mut().zip(row).for_each(|(i, w)| *i += value * w);
            }
        }
    }

    /// [`Kernel::image_into`] of eight differences at once.
    #[inline(always)]
    pub(super) fn images_into(&self, errors: &[Lanes], images: &mut [Lanes]) {
        if self.map.is_empty() {
            images.copy_from_slice(errors);
            return;
        }
        // Several numbers of the image at a time, so that each error is read once for all of them.
        const TOGETHER: usize = 4;
        let n = self.width();
        for (first, some) in (0..n).step_by(TOGETHER).zip(images.chunks_mut(TOGETHER)) {
            let mut sums = [[0.0; LANES]; TOGETHER];
            for (error, row) in errors.iter().zip(self.map.chunks_exact(n)) {
                for (sum, w) in sums.iter_mut().zip(&row[first..first + some.len()]) {
                    for lane in 0..LANES {
                        sum[lane] = error[lane].mul_add(*w, sum[lane]);
                    }
                }
            }
            some.copy_from_slice(&sums[..some.len()]);
        }
    }

    /// Converts `slopes` with respect to the image to a gradient with respect to the features.
    pub(super) fn pull_back(&self, slopes: &[f64], gradient: &mut [f64]) {
        if self.map.is_empty() {
            gradient.copy_from_slice(slopes);
            return;
        }
        vectorised(
            #[inline(always)]
            || {
                for (g, row) in gradient.iter_mut().zip(self.map.chunks_exact(self.width())) {
                    *g = dot(row, slopes);
                }
            },
        );
    }

    /// The score at an image, and its slopes with respect to the image.
    pub(super) fn score_and_slopes(
        &self,
        image: &[f64],
        slopes: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<f64> {
        match &self.head {
            Head::Affine => {
                slopes.fill(1.0);
                Ok(image[0])
            }
            Head::Shallow(net) => Ok(net.score_and_slopes(image, slopes)),
            Head::Network(net) => Ok(net.score_and_slopes(image, slopes, &mut scratch.network)),
            Head::Opaque => self.model.score_and_gradient(image, slopes),
        }
    }

    /// A bound on the rounding error of a score that is zero, on lines around `base` along `rate`
    /// under noise of deviation `sd`. Rounding grows with the number of terms and with their
    /// magnitude.
    pub(super) fn rounding_error(
        &self,
        base: &[f64],
        rate: &[f64],
        sd: f64,
        scratch: &mut Scratch,
    ) -> f64 {
        let magnitudes = base.iter().zip(rate).zip(&self.lengths);
        let magnitudes =
            magnitudes.map(|((b, c), length)| b.abs() + REACH * (c.abs() + sd * length));
        let (units, magnitude) = match &self.head {
            Head::Affine | Head::Opaque => return 0.0,
            Head::Shallow(net) => {
                scratch.sum.clear();
                scratch.sum.extend(magnitudes);
                (self.width(), net.magnitude(&scratch.sum))
            }
            Head::Network(net) => {
                scratch.sum.clear();
                scratch.sum.extend(magnitudes);
                (net.n_units(), net.magnitude(&scratch.sum))
            }
        };
        let rounding_error = 4.0 * (units as f64 + 16.0) * f64::EPSILON * magnitude;
        if rounding_error.is_finite() { rounding_error } else { 0.0 }
    }

    /// The rejected masses of groups of eight lines: `images` and `along` hold the groups' errors
    /// one after the other. Unless `sums` is empty, the masses' slopes with respect to the image of
    /// the bundle are added to it, lane by lane. With `points`, which are allowed only if
    /// [`Kernel::can_stratify`], masses are estimated from them.
    pub(super) fn masses(
        &self,
        bundle: &Bundle<'_>,
        (images, along, points): (&[Lanes], &[Lanes], Option<(&Block, Strata)>),
        sums: &mut [Lanes],
        scratch: &mut Scratch,
        masses: &mut [Lanes],
    ) -> Result<()> {
        if let Head::Shallow(net) = &self.head {
            let scratch = &mut scratch.shallow;
            Arch::new().dispatch(Groups {
                net,
                bundle,
                images,
                along,
                points,
                sums,
                scratch,
                masses,
            });
            return Ok(());
        }
        if let Head::Network(Network { deep: net, .. }) = &self.head {
            let is_rough = bundle.rough && matches!(bundle.marginal, Marginal::Normal);
            if points.is_some() || is_rough {
                let scratch = &mut scratch.deep;
                Arch::new().dispatch(DeepGroups {
                    net,
                    bundle,
                    images,
                    along,
                    points,
                    sums,
                    scratch,
                    masses,
                });
                return Ok(());
            }
        }
        let groups = images.chunks_exact(self.width()).zip(along).zip(masses);
        for ((image, along), out) in groups {
            for lane in 0..LANES {
                let mut p = std::mem::take(&mut scratch.p);
                p.clear();
                let base = bundle.base.iter().zip(bundle.rate);
                p.extend(base.zip(image).map(|((b, c), i)| (b + i[lane]) - along[lane] * c));
                let mut sum = std::mem::take(&mut scratch.sum);
                sum.clear();
                sum.resize(sums.len(), 0.0);
                let mass = self.mass(&p, bundle, &mut sum, scratch);
                sums.iter_mut().zip(&sum).for_each(|(total, s)| total[lane] += s);
                (scratch.p, scratch.sum) = (p, sum);
                out[lane] = mass?;
            }
        }
        Ok(())
    }

    /// The rejected mass of one line from `p`. Its slopes are added to `sum` unless that is empty.
    fn mass(
        &self,
        p: &[f64],
        bundle: &Bundle<'_>,
        sum: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<f64> {
        let Self { model, head, .. } = self;
        let Bundle { rate: q, marginal, rounding_error, .. } = *bundle;
        match head {
            Head::Network(net) => Ok(net.mass(
                (p, q),
                rounding_error,
                marginal,
                (!sum.is_empty()).then_some(sum),
                &mut scratch.network,
            )),
            Head::Affine | Head::Shallow(_) => {
                let (score, slope) = (p[0], q[0]);
                let root = -score / slope;
                // A rising line is rejected below its root and a falling one above it. A flat line
                // has no root.
                let mass = match slope.partial_cmp(&0.0) {
                    Some(std::cmp::Ordering::Greater) => marginal.below(root),
                    Some(std::cmp::Ordering::Less) => marginal.above(root),
                    _ => f64::from(u8::from(score <= 0.0)),
                };
                if let (Some(sum), true) = (sum.first_mut(), slope != 0.0) {
                    *sum -= marginal.density(root) / slope.abs();
                }
                Ok(mass)
            }
            Head::Opaque => {
                let Scratch { roots, point, gradient, .. } = scratch;
                point.resize(p.len(), 0.0);
                gradient.resize(p.len(), 0.0);
                let mut along = Along { model: *model, p, q, point, gradient, failed: None };
                let mass = follow::refused_mass(&mut along, marginal, roots);
                if sum.is_empty() {
                    roots.clear();
                }
                for root in roots.iter() {
                    along.value_and_slope(root.at);
                    let weight = -marginal.density(root.at) / root.slope.abs();
                    if weight.is_finite() {
                        sum.iter_mut().zip(&*along.gradient).for_each(|(s, g)| *s += weight * g);
                    }
                }
                along.failed.map_or(Ok(mass), Err)
            }
        }
    }
}

/// Groups of eight lines on a shallow network, compiled for several instruction sets.
struct Groups<'a> {
    net: &'a Shallow,
    bundle: &'a Bundle<'a>,
    images: &'a [Lanes],
    along: &'a [Lanes],
    points: Option<(&'a Block, Strata)>,
    sums: &'a mut [Lanes],
    scratch: &'a mut shallow::Scratch,
    masses: &'a mut [Lanes],
}

impl WithSimd for Groups<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { net, bundle, images, along, points, sums, scratch, masses } = self;
        let groups = images.chunks_exact(bundle.base.len()).zip(along).zip(masses);
        if let Some((block, strata)) = points {
            net.shorten(bundle, &strata, scratch);
            let mut kept: [&[Singles]; Strata::MOST] = [&[]; Strata::MOST];
            for (kept, number) in kept.iter_mut().zip(strata.numbers()) {
                *kept = block.points(*number);
            }
            let kept = &kept[..strata.numbers().len()];
            let errors = block.short_images(bundle.base.len());
            for (number, ((_, along), out)) in groups.enumerate() {
                let errors = errors.group(number);
                *out = net.shares(simd, bundle, (errors, along), (kept, number), scratch);
            }
            return;
        }
        let is_normal = matches!(bundle.marginal, Marginal::Normal);
        net.start(
            bundle.base,
            bundle.rate,
            if is_normal { bundle.guess } else { 0.0 },
            &mut scratch.start,
        );
        for (group, out) in groups {
            *out = match is_normal {
                true => net.masses(simd, bundle, group, sums, scratch),
                false => net.masses_shaped(simd, bundle, group, sums, scratch),
            };
        }
    }
}

/// The same on a deeper network: at stratified points, or with a single root per line.
struct DeepGroups<'a> {
    net: &'a Deep,
    bundle: &'a Bundle<'a>,
    images: &'a [Lanes],
    along: &'a [Lanes],
    points: Option<(&'a Block, Strata)>,
    sums: &'a mut [Lanes],
    scratch: &'a mut deep::Scratch,
    masses: &'a mut [Lanes],
}

impl WithSimd for DeepGroups<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { net, bundle, images, along, points, sums, scratch, masses } = self;
        let groups = images.chunks_exact(bundle.base.len()).zip(along).zip(masses);
        let Some((block, strata)) = points else {
            for (group, out) in groups {
                *out = net.rough_masses(simd, bundle, group, sums, scratch);
            }
            return;
        };
        let (mut sizes, mut kept): ([f64; Strata::MOST], [&[Singles]; Strata::MOST]) =
            Default::default();
        for ((size, kept), (number, of)) in
            sizes.iter_mut().zip(&mut kept).zip(strata.numbers().iter().zip(strata.sizes()))
        {
            (*size, *kept) = (f64::from(of), block.points(*number));
        }
        let n = strata.numbers().len();
        for (number, (group, out)) in groups.enumerate() {
            *out = net.shares(simd, bundle, group, (&kept[..n], &sizes[..n], number), scratch);
        }
    }
}

/// Splits a network: the first layer as a transposed map with its offset, and the head.
fn of_network(mlp: &Mlp) -> (Vec<f64>, Vec<f64>, Head<'_>) {
    let first = &mlp.layers()[0];
    let alpha = match mlp.activation() {
        Activation::Relu => Some(0.0),
        Activation::LeakyRelu => Some(Activation::LeakyRelu.derivative(-1.0)),
        _ => None,
    };
    let deep =
        || ((0..first.n_out()).map(|i| (i, 1.0)).collect(), Head::Network(Network::new(mlp)));
    let (units, head): (Vec<(usize, f64)>, _) = match alpha {
        Some(alpha) if mlp.hidden().len() == 1 => {
            let (output, bias) = mlp.output();
            let (net, units) = Shallow::new(output, bias - mlp.threshold(), alpha);
            // If products of weights overflow, the model's own order of operations is kept.
            let is_finite = |&(i, factor): &(usize, f64)| {
                first.row(i).iter().chain([&first.bias()[i]]).all(|w| (factor * w).is_finite())
            };
            if units.iter().all(is_finite) { (units, Head::Shallow(net)) } else { deep() }
        }
        _ => deep(),
    };
    let map = (0..first.n_in())
        .flat_map(|j| units.iter().map(move |&(i, factor)| factor * first.row(i)[j]))
        .collect();
    let offset = units.iter().map(|&(i, factor)| factor * first.bias()[i]).collect();
    (map, offset, head)
}

/// Any differentiable score along a line.
struct Along<'a> {
    model: &'a dyn Differentiable,
    p: &'a [f64],
    q: &'a [f64],
    point: &'a mut [f64],
    gradient: &'a mut [f64],
    failed: Option<Error>,
}

impl Profile for Along<'_> {
    fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
        for ((x, p), q) in self.point.iter_mut().zip(self.p).zip(self.q) {
            *x = p + t * q;
        }
        match self.model.score_and_gradient(self.point, self.gradient) {
            Ok(score) => (score, dot(self.gradient, self.q)),
            Err(error) => {
                self.failed.get_or_insert(error);
                (f64::NAN, f64::NAN)
            }
        }
    }
}
