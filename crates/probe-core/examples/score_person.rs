//! Score people with a linear model, one by one and as a batch.
//!
//! ```text
//! cargo run --release -p probe-core --example score_person
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{Linear, Model, Result, Rows};

const NAMES: [&str; 3] = ["income", "debt", "savings"];

fn main() -> Result<()> {
    // A score on the log-odds scale: favourable iff it is above zero; a tie is not.
    // The third number is the cut-off: 0.5 on this scale asks for a probability above 0.62.
    let model = Linear::new(vec![3.0, -2.0, 1.0], -0.5, 0.5)?;

    // Three people, one after another in one buffer: features in columns, already scaled to 0..1.
    let people = [0.6, 0.2, 0.4, 0.3, 0.5, 0.1, 0.5, 0.25, 0.0];
    let rows = Rows::new(&people, NAMES.len())?;
    let mut scores = vec![0.0; rows.n_rows()];
    model.score_batch(rows, &mut scores)?;

    println!("{:>8} {:>8} {:>8}   {:>7}  decision", NAMES[0], NAMES[1], NAMES[2], "score");
    for (person, score) in rows.iter().zip(&scores) {
        let decision = if *score > 0.0 { "yes" } else { "no" };
        println!("{:>8} {:>8} {:>8}   {score:>7.3}  {decision}", person[0], person[1], person[2]);
    }

    // One row at a time gives the same bits as the batch.
    assert_eq!(model.score(rows.row(1))?, scores[1]);
    // A row of the wrong width is an error that says what was expected.
    if let Err(error) = model.score(&[0.6, 0.2]) {
        println!("\na row that is too short: {error}");
    }
    Ok(())
}
