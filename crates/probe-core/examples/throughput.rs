//! Recourses per second of the exact linear solver, no I/O: `cargo run --release -p probe-core --example throughput`.

use probe_core::{Answer, Engine, Linear, Purpose, Rows, Seed, Setup};
use std::sync::Arc;

#[expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a benchmark prints and reads the clock")]
fn main() -> probe_core::Result<()> {
    const D: usize = 20;
    const N: usize = 400_000;
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    let people: Vec<f64> = (0..N * D).map(|_| stream.uniform()).collect();
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut answers = vec![Answer::new(D); N];
    for norm in ["l1", "l2", "linf"] {
        let mut setup = Setup::new(model.clone(), names.clone(), None, 0.1)?;
        setup.actions.intersect(0.0, 1.0)?;
        setup.set_norm(norm)?;
        let engine = Engine::new(setup)?;
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let started = std::time::Instant::now();
            engine.recourse_into(Rows::new(&people, D)?, &mut answers)?;
            best = best.min(started.elapsed().as_secs_f64());
        }
        let sought = answers.iter().filter(|a| a.status.as_str() != "favourable").count();
        let certified = answers.iter().filter(|a| a.status.as_str() == "certified").count();
        println!(
            "{norm:>4}, d = {D}, box [0, 1]: {:.2} million recourses per second ({sought} of {N} sought, {certified} certified)",
            sought as f64 / best / 1e6
        );
    }
    Ok(())
}
