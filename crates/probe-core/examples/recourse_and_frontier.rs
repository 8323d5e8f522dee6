//! The cheapest recourse within limits, and what more certainty would cost.
//!
//! ```text
//! cargo run --release -p probe-core --example recourse_and_frontier
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{Direction, Engine, Feature, Linear, Result, Rows, Schema, Setup};
use std::sync::Arc;

fn main() -> Result<()> {
    // What people can do, in their own units. `scale` maps raw values to the 0..1 that the model
    // was trained on.
    let schema = Schema::new(vec![
        Feature { mutable: false, scale: Some([18.0, 80.0]), ..Feature::numeric("age") },
        Feature {
            direction: Direction::Increase,
            max: Some(60_000.0),
            scale: Some([0.0, 100_000.0]),
            cost: 3.0,
            ..Feature::numeric("income")
        },
        Feature {
            direction: Direction::Decrease,
            min: Some(0.0),
            scale: Some([0.0, 40_000.0]),
            // People end up within about 1,500 of the debt they aimed for.
            noise: Some(1_500.0),
            ..Feature::numeric("debt")
        },
    ]);
    let model = Arc::new(Linear::new(vec![0.5, 5.0, -3.0], -1.0, 0.0)?);
    let setup = Setup::builder(model, schema.names())
        .schema(&schema)
        .sigma(0.05)
        .max_rate(0.1)
        .max_changes(1)
        .build()?;
    let engine = Engine::new(setup)?;

    let people = [35.0, 31_000.0, 24_000.0, 52.0, 18_000.0, 39_000.0];
    let people = Rows::new(&people, 3)?;
    for (person, answer) in people.iter().zip(engine.recourse(people)?) {
        println!("person {person:?}: {}", answer.status.as_str());
        println!("   aim for {:.0?}", answer.point);
        println!("   rate {:.4}, cost {:.3}", answer.rate, answer.cost.unwrap_or(f64::NAN));
        if let Some(reason) = answer.reason {
            let best = answer.best_rate.unwrap_or(1.0);
            println!("   {}: the lowest rate within reach is {best:.4}", reason.code());
        }
    }

    println!("\nthe price of certainty for the first person");
    let rates = [0.45, 0.3, 0.2, 0.1, 0.05, 0.01];
    for (rate, answer) in rates.iter().zip(engine.session().frontier(people.row(0), &rates)?) {
        let cost = answer.cost.unwrap_or(f64::NAN);
        println!("   rate at most {rate:<5} cost {cost:.3}   {:.0?}", answer.point);
    }
    Ok(())
}
