//! Which way a model is followed along a line.

use super::crossing::Refused;
use super::deep::{Deep, Layer};
use super::follow::{self, Profile};
use super::shallow::{Root, Shallow};
use crate::error::{Error, Result};
use crate::math::dot;
use crate::math::normal::pdf;
use crate::model::{Activation, Differentiable, Mlp, Model};

/// A model prepared for lines, with its scratch.
pub(super) struct Kernel<'a> {
    model: &'a dyn Differentiable,
    kind: Kind<'a>,
    roots: Vec<Root>,
    kinks: Vec<(f64, f64)>,
    p: Vec<f64>,
    q: Vec<f64>,
    point: Vec<f64>,
    gradient: Vec<f64>,
}

enum Kind<'a> {
    /// One root at most.
    Affine,
    /// One hidden layer of rectifiers.
    Shallow(Shallow, &'a Mlp),
    /// Several.
    Deep { layers: Vec<Layer<'a>>, leak: f64 },
    /// Anything with a gradient.
    Smooth,
}

impl<'a> Kernel<'a> {
    /// Fails for models without gradients.
    pub(super) fn new(model: &'a dyn Model) -> Result<Self> {
        let differentiable = model.as_differentiable().ok_or_else(|| Error::Unsupported {
            what: format!("line sampling on a {} model", model.name()),
            why: "it needs a gradient; use monte-carlo".to_owned(),
        })?;
        let kind = match (model.as_linear(), model.as_mlp()) {
            (Some(_), _) => Kind::Affine,
            (None, Some(mlp)) => rectifier(mlp).unwrap_or(Kind::Smooth),
            (None, None) => Kind::Smooth,
        };
        let hidden = if let Kind::Shallow(net, _) = &kind { net.output.len() } else { 0 };
        let (p, q) = (vec![0.0; hidden], vec![0.0; hidden]);
        Ok(Self {
            model: differentiable,
            kind,
            roots: Vec::new(),
            kinks: Vec::new(),
            p,
            q,
            point: Vec::new(),
            gradient: Vec::new(),
        })
    }

    /// Writes the gradient of the score.
    pub(super) fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        self.model.score_and_gradient(x, gradient).map(|_| ())
    }

    /// The refused mass of the line `base + t direction`.
    pub(super) fn refused_mass(&mut self, base: &[f64], direction: &[f64]) -> Result<f64> {
        let Self { model, kind, roots, kinks, p, q, .. } = self;
        match kind {
            Kind::Affine => {
                let mut gradient = vec![0.0; base.len()];
                let score = model.score_and_gradient(base, &mut gradient)?;
                let slope = dot(&gradient, direction);
                roots.clear();
                roots.extend((slope != 0.0).then_some(Root { at: -score / slope, slope }));
                Ok(affine_mass(score, slope))
            }
            Kind::Shallow(net, mlp) => {
                let layer = &mlp.layers()[0];
                for i in 0..p.len() {
                    p[i] = dot(layer.row(i), base) + layer.bias()[i];
                    q[i] = dot(layer.row(i), direction);
                }
                Ok(net.refused_mass(p, q, kinks, roots))
            }
            Kind::Deep { layers, leak } => {
                let mut profile = Deep::new(layers, *leak, model.threshold(), base, direction);
                Ok(follow::refused_mass(&mut profile, roots))
            }
            Kind::Smooth => {
                let mut profile = Along::new(*model, base, direction);
                let mass = follow::refused_mass(&mut profile, roots);
                profile.failed.map_or(Ok(mass), Err)
            }
        }
    }
}

impl Kernel<'_> {
    /// [`Kernel::refused_mass`], adding its gradient with respect to the base to `sum`.
    pub(super) fn mass_and_slope(&mut self, base: &[f64], direction: &[f64], sum: &mut [f64]) -> Result<f64> {
        let mass = self.refused_mass(base, direction)?;
        let mut gradient = std::mem::take(&mut self.gradient);
        gradient.resize(base.len(), 0.0);
        let mut point = std::mem::take(&mut self.point);
        for root in &self.roots {
            point.clear();
            point.extend(base.iter().zip(direction).map(|(b, v)| b + root.at * v));
            self.model.score_and_gradient(&point, &mut gradient)?;
            let weight = -pdf(root.at) / root.slope.abs();
            if weight.is_finite() {
                sum.iter_mut().zip(&gradient).for_each(|(s, g)| *s += weight * g);
            }
        }
        (self.gradient, self.point) = (gradient, point);
        Ok(mass)
    }
}

/// A score $a + bt$ is refused below or above $-a/b$.
fn affine_mass(score: f64, slope: f64) -> f64 {
    let mut refused = Refused::start(if slope == 0.0 { score } else { -slope });
    if slope > 0.0 {
        refused.up(-score / slope);
    } else if slope < 0.0 {
        refused.down(-score / slope);
    }
    refused.finish()
}

/// The kernel of a network of rectifiers; `None` for other activations.
fn rectifier(mlp: &Mlp) -> Option<Kind<'_>> {
    let leak = match mlp.activation() {
        Activation::Relu => 0.0,
        Activation::LeakyRelu => Activation::LeakyRelu.derivative(-1.0),
        _ => return None,
    };
    if mlp.hidden().len() == 1 {
        let (output, bias) = mlp.output();
        return Some(Kind::Shallow(
            Shallow { output: output.to_vec(), bias: bias - mlp.threshold(), leak },
            mlp,
        ));
    }
    let layer = |layer: &'_ crate::model::Layer| (layer.n_in(), layer.n_out());
    debug_assert!(mlp.layers().windows(2).all(|pair| layer(&pair[0]).1 == layer(&pair[1]).0));
    let layers =
        mlp.layers().iter().map(|l| Layer { weight: l.weight(), bias: l.bias(), n_in: l.n_in() }).collect();
    Some(Kind::Deep { layers, leak })
}

/// Any differentiable score along a line.
struct Along<'a> {
    model: &'a dyn Differentiable,
    base: &'a [f64],
    direction: &'a [f64],
    point: Vec<f64>,
    gradient: Vec<f64>,
    failed: Option<Error>,
}

impl<'a> Along<'a> {
    fn new(model: &'a dyn Differentiable, base: &'a [f64], direction: &'a [f64]) -> Self {
        let n = base.len();
        Self { model, base, direction, point: vec![0.0; n], gradient: vec![0.0; n], failed: None }
    }
}

impl Profile for Along<'_> {
    fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
        for ((x, b), v) in self.point.iter_mut().zip(self.base).zip(self.direction) {
            *x = b + t * v;
        }
        match self.model.score_and_gradient(&self.point, &mut self.gradient) {
            Ok(score) => (score, dot(&self.gradient, self.direction)),
            Err(error) => {
                self.failed.get_or_insert(error);
                (f64::NAN, f64::NAN)
            }
        }
    }
}
