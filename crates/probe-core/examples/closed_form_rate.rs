//! The invalidation rate of a point: in closed form, and by trying it out.
//!
//! For a linear score under Gaussian noise the rate is exact (Theorem 1 of arXiv:2203.06768), also
//! far out in the tail, where samples are all alike.
//!
//! ```text
//! cargo run --release -p probe-core --example closed_form_rate
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{
    ClosedForm, Covariance, Gaussian, InvalidationRate, Linear, MonteCarlo, Purpose, Query, Result,
    Seed,
};

fn main() -> Result<()> {
    let model = Linear::new(vec![2.0, -1.0], 0.0, 0.0)?;
    let independent = Gaussian::isotropic(2, 0.1)?;
    // People who overshoot the first feature tend to overshoot the second too; both fall
    // short on average.
    let correlated =
        Gaussian::new(vec![-0.02, 0.01], Covariance::Full(vec![0.01, 0.006, 0.006, 0.01]))?;
    let active = [true, true];

    println!("{:<12} {:>6} {:>12} {:>24}", "noise", "score", "exact rate", "of 100,000 drawn");
    for (name, noise) in [("independent", &independent), ("correlated", &correlated)] {
        for target in [0.0, 0.2, 0.4, 4.0] {
            let point = [0.5 * target, 0.0];
            let query = Query { model: &model, noise, active: &active, point: &point };
            let mut stream = Seed(1).stream(Purpose::Rate, 0);
            let exact = ClosedForm.estimate(&query, 0.999, &mut stream)?;
            let drawn = MonteCarlo { samples: 100_000 }.estimate(&query, 0.999, &mut stream)?;
            println!(
                "{name:<12} {target:>6} {:>12.3e}   {:.5} in [{:.5}, {:.5}]",
                exact.rate, drawn.rate, drawn.lower, drawn.upper
            );
            assert!(exact.exact && !drawn.exact);
            // 99.9 % intervals; the seed is fixed, so this holds on every run or on none.
            assert!(drawn.lower <= exact.rate && exact.rate <= drawn.upper);
        }
    }
    Ok(())
}
