//! What is counted. Everything that is not a unit is done the same way however many units there
//! are.

use crate::generated::{complete_trees, denied, engine, linear, network};
use anyhow::Result;
use probe_core::invalidation::{NoisyScores, RankedErrors};
use probe_core::math::normal::{upper_quantile, upper_tail};
use probe_core::{Answer, Engine, LineSampling, Model, Purpose, Rows, Seed, Setup};
use probe_io::{Columns, Format, TableReader};
use std::hint::black_box;
use std::io::Cursor;
use std::sync::Arc;

/// Something small that time is spent on.
#[derive(Debug)]
pub(super) struct Kernel {
    pub(super) name: &'static str,
    /// In words, with what a unit is.
    pub(super) what: &'static str,
    /// Units that are counted; twice as many the second time.
    pub(super) units: usize,
    pub(super) run: fn(usize) -> Result<()>,
}

pub(super) const KERNELS: &[Kernel] = &[
    Kernel {
        name: "linear_l1",
        what: "exact answer, linear, d = 20, l1",
        units: 4_000,
        run: linear_l1,
    },
    Kernel {
        name: "linear_l2",
        what: "exact answer, linear, d = 20, l2 with bounds",
        units: 4_000,
        run: linear_l2,
    },
    Kernel { name: "normal", what: "a normal quantile and a tail", units: 20_000, run: normal },
    Kernel {
        name: "network_answer",
        what: "certified answer, network [20, 50, 2], r = 0.1",
        units: 16,
        run: network_answer,
    },
    Kernel {
        name: "network_line",
        what: "a fresh line of that network, drawn and integrated",
        units: 8_192,
        run: network_line,
    },
    Kernel {
        name: "network_score",
        what: "a row scored by that network, in a batch",
        units: 16_384,
        run: network_score,
    },
    Kernel {
        name: "trees_sample",
        what: "a noisy sample scored by 100 trees of depth 4",
        units: 32_768,
        run: trees_sample,
    },
    Kernel {
        name: "trees_answer",
        what: "certified answer, 30 trees of depth 4, r = 0.1",
        units: 2,
        run: trees_answer,
    },
    Kernel {
        name: "csv_row",
        what: "a row of 20 numbers read from CSV",
        units: 2_000,
        run: csv_row,
    },
];

const D: usize = 20;
const RATE: f64 = 0.1;
/// People who are answered in turn.
const PEOPLE: usize = 8;

/// Answers so many people, after everybody once: what all share is drawn by then.
fn answer(engine: &Engine, units: usize) -> Result<()> {
    let d = engine.setup().names.len();
    let people = denied(&*engine.setup().model, PEOPLE)?;
    let (mut session, mut answer) = (engine.session(), Answer::new(d));
    let people = people.chunks_exact(d);
    for person in people.clone().chain(people.cycle().take(units)) {
        session.recourse(black_box(person), &mut answer)?;
        black_box(&answer);
    }
    Ok(())
}

fn linear_l1(units: usize) -> Result<()> {
    answer(&engine(Arc::new(linear(D)?), RATE)?, units)
}

fn linear_l2(units: usize) -> Result<()> {
    let mut setup =
        Setup::new(Arc::new(linear(D)?), (0..D).map(|j| format!("x{j}")).collect(), None, 0.1)?;
    setup.actions.intersect(0.0, 1.0)?;
    setup.set_norm("l2")?;
    answer(&Engine::new(setup)?, units)
}

fn normal(units: usize) -> Result<()> {
    for i in 0..units {
        let p = black_box((i % 1_000) as f64 * 1e-3 + 5e-4);
        black_box(upper_tail(black_box(upper_quantile(p))));
    }
    Ok(())
}

fn network_answer(units: usize) -> Result<()> {
    answer(&engine(Arc::new(network(&[D, 50, 2])?), RATE)?, units)
}

fn network_line(units: usize) -> Result<()> {
    let engine = engine(Arc::new(network(&[D, 50, 2])?), RATE)?;
    // Each call has a start of its own.
    const LINES: usize = 1_024;
    let point = vec![0.6; D];
    for _ in 0..units.div_ceil(LINES) {
        black_box(engine.rate(
            black_box(&point),
            None,
            &LineSampling { lines: LINES.min(units) },
        )?);
    }
    Ok(())
}

fn network_score(units: usize) -> Result<()> {
    const BATCH: usize = 256;
    let model = network(&[D, 50, 2])?;
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let rows: Vec<f64> = (0..BATCH * D).map(|_| stream.uniform()).collect();
    let mut scores = vec![0.0; BATCH];
    for _ in 0..units.div_ceil(BATCH) {
        model.score_batch(Rows::new(black_box(&rows), D)?, &mut scores)?;
        black_box(&scores);
    }
    Ok(())
}

fn trees_sample(units: usize) -> Result<()> {
    const ERRORS: usize = 4_096;
    let model = complete_trees(100, 4, 10)?;
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let errors: Vec<f64> = (0..ERRORS * 10).map(|_| 0.1 * stream.normal()).collect();
    let ranked = RankedErrors::new(Rows::new(&errors, 10)?)?;
    let mut batch = NoisyScores::new(&model, &ranked)?;
    let (mut refused, mut scores) = (vec![false; ERRORS], vec![0.0; ERRORS]);
    for _ in 0..units.div_ceil(ERRORS) {
        batch.score_into(black_box(&[0.5; 10]), &[true; 10], &mut refused, &mut scores)?;
        black_box(&scores);
    }
    Ok(())
}

fn trees_answer(units: usize) -> Result<()> {
    // As many people whatever the units.
    let engine = engine(Arc::new(complete_trees(30, 4, 6)?), RATE)?;
    let people = denied(&*engine.setup().model, 1)?;
    let (mut session, mut answer) = (engine.session(), Answer::new(6));
    for _ in 0..=units {
        session.recourse(black_box(&people), &mut answer)?;
        black_box(&answer);
    }
    Ok(())
}

fn csv_row(units: usize) -> Result<()> {
    const ROWS: usize = 1_000;
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    let mut text = names.join(",");
    for _ in 0..ROWS {
        let row: Vec<String> = (0..D).map(|_| format!("{:.6}", stream.uniform())).collect();
        text.push_str(&format!("\n{}", row.join(",")));
    }
    let mut numbers = Vec::new();
    for _ in 0..units.div_ceil(ROWS) {
        let reader = TableReader::from_read("memory", Cursor::new(text.clone()), Format::Csv)?;
        for chunk in reader.select(&Columns::features(&names))? {
            chunk?.numbers_into(&mut numbers)?;
            black_box(&numbers);
        }
    }
    Ok(())
}
