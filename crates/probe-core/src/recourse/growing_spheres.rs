//! `growing-spheres`: the nearest favourable point among random ones, layer by layer outward.
//!
//! Points are drawn in a ball around the person; while one of them is favourable, the radius $\eta$
//! of the ball is halved. Then layers $[a, a + \eta]$ are searched outward, up to the first one
//! with a favourable point. In the nearest of its favourable points, changed features are reset to
//! the person's values, smallest change first, as long as the decision stays favourable.
//!
//! Source: Laugel, Lesot, Marsala, Renard and Detyniecki 2017, arXiv:1712.08443, Algorithms 1 and
//! 2: uniform in the volume of a layer, distances in `l2`, independently of the task's cost. What
//! differs: radii are in scaled space (the paper does not say), and the number of layers is
//! limited, because without a favourable point the search would not end.
//!
//! Constraints: the paper has none. Here immutables and one-hot groups are left out of the draw,
//! and draws are clipped to bounds and directions; a limit on the number of changes is not
//! supported. Needs no gradient, so that it works with any model.
//!
//! Settings: `radius` (the first $\eta$), `samples` (of a layer), `layers` (at most), `sparsify`
//! (`yes`, `no`), `version` (`paper`, `library`). `version=library` searches as implemented in the
//! recourse library CARLA, with which PROBE's numbers were computed: layers of constant width
//! `radius` (0.2) that start at the person, distances uniform within a layer, a coin toss for every
//! feature that is 0 or 1 in all reference rows, and no reset of features. Tossed features jump, so
//! that its answers lie beyond the boundary.
//!
//! Cost: `samples` scores per layer, and one per changed feature.

use super::descent;
use super::flip::{Flip, Search};
use super::reach::Reach;
use super::version::Version;
use super::{Ask, MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::error::Result;
use crate::registry::Entry;
use crate::rows::Rows;
use crate::seed::{Key, Purpose, Stream};
use std::sync::Arc;

const NAME: &str = "growing-spheres";
/// After this many halvings, the person is practically on the boundary.
const HALVINGS: usize = 40;

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Laugel et al. 2017, arXiv:1712.08443", item: &GrowingSpheres };

struct GrowingSpheres;

#[derive(Debug, Clone, Copy)]
struct Params {
    radius: f64,
    samples: usize,
    layers: usize,
    sparsify: bool,
    version: Version,
}

impl Params {
    fn new(options: &MethodOptions) -> Result<Self> {
        options.only(NAME, &["radius", "samples", "layers", "sparsify", "version"])?;
        let version = Version::new(options)?;
        let (radius, sparsify) = if version == Version::Paper { (0.1, true) } else { (0.2, false) };
        Ok(Self {
            radius: options
                .number("radius", radius, "positive and finite", |v| v > 0.0 && v.is_finite())?,
            samples: options.count("samples", 1_000)?,
            layers: options.count("layers", 500)?,
            sparsify: options.word("sparsify", sparsify, &[("yes", true), ("no", false)])?,
            version,
        })
    }
}

impl RecourseMethod for GrowingSpheres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check_limits(NAME, task)?;
        Ok(Box::new(Prepared { task: Arc::clone(task), params: Params::new(&task.options)? }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let (n, k) = (self.task.model.n_features(), self.params.samples);
        let tossed = match self.params.version {
            Version::Paper => vec![false; n],
            Version::Library => self.task.reference.zero_or_one(),
        };
        Box::new(Flip::new(
            &self.task,
            Spheres {
                task: &self.task,
                params: self.params,
                tossed,
                open: Vec::with_capacity(n),
                coins: Vec::with_capacity(n),
                points: vec![0.0; n * k],
                scores: vec![0.0; k],
                nearest: vec![0.0; n],
            },
        ))
    }
}

struct Spheres<'a> {
    task: &'a Task,
    params: Params,
    /// Features for which a coin is tossed.
    tossed: Vec<bool>,
    /// Features that are drawn, by length and by coin.
    open: Vec<usize>,
    coins: Vec<usize>,
    points: Vec<f64>,
    scores: Vec<f64>,
    /// The favourable point of the last layer that is nearest to its centre.
    nearest: Vec<f64>,
}

impl Spheres<'_> {
    /// Draws in the layer around `centre`; whether a point is favourable.
    fn layer(
        &mut self,
        centre: &[f64],
        reach: &Reach,
        (inner, outer): (f64, f64),
        stream: &mut Stream,
    ) -> Result<bool> {
        let n = centre.len();
        let dim = self.open.len() as f64;
        let inner_volume = libm::pow(inner / outer, dim);
        for point in self.points.chunks_exact_mut(n) {
            point.copy_from_slice(centre);
            let mut square = 0.0;
            for &j in &self.open {
                point[j] = stream.normal();
                square += point[j] * point[j];
            }
            let even = stream.uniform();
            let length = match self.params.version {
                Version::Paper => {
                    outer * libm::pow(inner_volume + even * (1.0 - inner_volume), 1.0 / dim)
                }
                Version::Library => inner + even * (outer - inner),
            };
            for &j in &self.open {
                point[j] = centre[j] + length / square.sqrt() * point[j];
            }
            for &j in &self.coins {
                point[j] = f64::from(u8::from(stream.uniform() < 0.5));
            }
            reach.confine(point);
        }
        self.task.model.score_batch(Rows::new(&self.points, n)?, &mut self.scores)?;
        let mut least = f64::INFINITY;
        for (point, score) in self.points.chunks_exact(n).zip(&self.scores) {
            if *score > 0.0 {
                let square: f64 = point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
                if square < least {
                    least = square;
                    self.nearest.copy_from_slice(point);
                }
            }
        }
        Ok(least.is_finite())
    }

    /// Puts back the smallest changes of `self.nearest` while it stays favourable.
    fn sparsify(&mut self, centre: &[f64]) -> Result<()> {
        let mut order = self.open.clone();
        let change = |j: &usize| (self.nearest[*j] - centre[*j]).abs();
        order.sort_by(|a, b| change(a).total_cmp(&change(b)));
        for j in order {
            let kept = std::mem::replace(&mut self.nearest[j], centre[j]);
            if self.task.model.score(&self.nearest)? <= 0.0 {
                self.nearest[j] = kept;
                break;
            }
        }
        Ok(())
    }
}

impl Search for Spheres<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        if self.task.model.score(point)? > 0.0 {
            return Ok(Ok(()));
        }
        for (features, tossed) in [(&mut self.open, false), (&mut self.coins, true)] {
            features.clear();
            features.extend(
                (0..factual.len()).filter(|&j| reach.is_open(j) && self.tossed[j] == tossed),
            );
        }
        let key = Key::default().values(factual).finish();
        let mut stream = self.task.seed.stream(Purpose::Search, key);
        let centre = point.to_vec();
        let mut step = self.params.radius;
        let mut halvings = 0;
        let from = usize::from(self.params.version == Version::Paper);
        while from > 0
            && halvings < HALVINGS
            && self.layer(&centre, reach, (0.0, step), &mut stream)?
        {
            step *= 0.5;
            halvings += 1;
        }
        // Beyond the farthest corner every draw is clipped, so that further layers add nothing.
        let farthest = self
            .open
            .iter()
            .map(|&j| (reach.ends(j).1 - centre[j]).max(centre[j] - reach.ends(j).0).powi(2))
            .sum::<f64>()
            .sqrt();
        let mut found = false;
        for layer in from..from + self.params.layers {
            let inner = layer as f64 * step;
            found = self.layer(&centre, reach, (inner, inner + step), &mut stream)?;
            if found || inner > farthest {
                break;
            }
        }
        if !found {
            return Ok(Err(Reason::NotFound));
        }
        if self.params.sparsify {
            self.sparsify(&centre)?;
        }
        point.copy_from_slice(&self.nearest);
        Ok(Ok(()))
    }
}
