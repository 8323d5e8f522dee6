//! A model of your own: implement `Model` and `Differentiable`, and its first-order rate follows.
//!
//! The rate is then an approximation, and marked as one; sampling gives the true rate. Recourse for
//! such models is not supported yet: the engine rejects them.
//!
//! Run it with `cargo run --release -p probe-core --example own_model`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{
    ClosedForm, Differentiable, Engine, Error, Gaussian, InvalidationRate, Model, MonteCarlo,
    Purpose, Query, Result, Rows, Seed, Setup,
};
use std::sync::Arc;

/// s(x) = radius² − |x − centre|²: favourable inside a ball.
struct Ball {
    centre: Vec<f64>,
    radius: f64,
}

impl Model for Ball {
    fn name(&self) -> &'static str {
        "ball"
    }

    fn n_features(&self) -> usize {
        self.centre.len()
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        if x.n_cols() != self.n_features() {
            let (expected, found) = (self.n_features(), x.n_cols());
            return Err(Error::Shape { what: "columns of the input", expected, found });
        }
        for (row, score) in x.iter().zip(out) {
            let distance2: f64 = row.iter().zip(&self.centre).map(|(v, c)| (v - c) * (v - c)).sum();
            *score = self.radius * self.radius - distance2;
        }
        Ok(())
    }

    fn as_differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl Differentiable for Ball {
    fn score_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        for (g, (v, c)) in gradient.iter_mut().zip(x.iter().zip(&self.centre)) {
            *g = -2.0 * (v - c);
        }
        self.score(x)
    }

    fn hessian_vector(&self, _x: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        out.iter_mut().zip(v).for_each(|(o, v)| *o = -2.0 * v);
        Ok(())
    }
}

fn main() -> Result<()> {
    let model = Ball { centre: vec![0.5, 0.5], radius: 0.4 };
    let noise = Gaussian::isotropic(2, 0.1)?;
    println!("{:<14} {:>12} {:>9}", "point", "first order", "sampled");
    for point in [[0.2, 0.5], [0.3, 0.5], [0.4, 0.5], [0.49, 0.5]] {
        let query = Query { model: &model, noise: &noise, active: &[true, true], point: &point };
        let mut stream = Seed(1).stream(Purpose::Rate, 0);
        let first_order = ClosedForm.estimate(&query, 0.999, &mut stream)?;
        let sampled = MonteCarlo { samples: 200_000 }.estimate(&query, 0.999, &mut stream)?;
        println!("{:<14} {:>12.5} {:>9.5}", format!("{point:?}"), first_order.rate, sampled.rate);
        assert!(!first_order.exact, "a curved score has no exact closed form");
    }
    let setup = Setup::builder(Arc::new(model), ["x", "y"]).sigma(0.1).build()?;
    if let Err(error) = Engine::new(setup) {
        println!("\n{error}");
    }
    Ok(())
}
