//! How long the pipeline takes to copy a CSV table through parsed numbers, against a plain copy with the `csv` crate.
//!
//! `cargo run --release -p probe-io --example csv_copy -- [ROWS] [COLUMNS] [THREADS]`
//!
//! Both sides read the same file and write every cell. The plain copy moves byte records on one thread and looks at no
//! number; the pipeline parses every cell, runs trivial work and writes a row number, a float and the cells verbatim.

use probe_io::{
    Batch, Cell, Column, Columns, Error, Field, Format, Job, TableReader, TableWriter, run_pipeline,
};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (rows, columns, threads) = (next(1_000_000)?, next(20)?, next(0)?);
    let directory = tempfile::tempdir()?;
    let input = directory.path().join("people.csv");
    write_people(&input, rows, columns)?;
    let megabytes = std::fs::metadata(&input)?.len() as f64 / 1e6;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{rows} rows x {columns} columns, {megabytes:.0} MB, best of 3")?;
    let plain = best_of_3(|| plain_copy(&input, &directory.path().join("plain.csv")))?;
    writeln!(out, "plain csv copy, 1 thread: {plain:.2} s")?;
    let memory_before = peak_memory();
    let ours = best_of_3(|| pipeline_copy(&input, &directory.path().join("ours.csv"), threads))?;
    writeln!(out, "parse, work, write:       {ours:.2} s")?;
    writeln!(out, "ratio:                    {:.2}", ours / plain)?;
    let (parquet, back) = (directory.path().join("ours.parquet"), directory.path().join("back.csv"));
    let to_parquet = best_of_3(|| pipeline_copy(&input, &parquet, threads))?;
    writeln!(out, "the same to Parquet:      {to_parquet:.2} s")?;
    let from_parquet = best_of_3(|| pipeline_copy(&parquet, &back, threads))?;
    writeln!(out, "Parquet to CSV:           {from_parquet:.2} s")?;
    if let (Some(before), Some(after)) = (memory_before, peak_memory()) {
        writeln!(out, "peak memory:              {after:.0} MB ({before:.0} MB before the pipeline)")?;
    }
    Ok(())
}

fn best_of_3(mut run: impl FnMut() -> Result<(), AnyError>) -> Result<f64, AnyError> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Numbers of many lengths, from a fixed congruential sequence.
fn write_people(path: &Path, rows: usize, columns: usize) -> Result<(), AnyError> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let names: Vec<String> = (0..columns).map(|j| format!("x{j}")).collect();
    writeln!(file, "{}", names.join(","))?;
    let mut state = 1u64;
    for _ in 0..rows {
        for j in 0..columns {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            let separator = if j + 1 == columns { "\n" } else { "," };
            match j % 4 {
                0 => write!(file, "{}{separator}", (unit * 100.0) as u32)?,
                1 => write!(file, "{:.3}{separator}", unit * 1000.0)?,
                _ => write!(file, "{unit}{separator}")?,
            }
        }
    }
    Ok(file.flush()?)
}

fn plain_copy(input: &Path, output: &Path) -> Result<(), AnyError> {
    let mut reader = csv::Reader::from_path(input)?;
    let mut writer = csv::Writer::from_path(output)?;
    writer.write_byte_record(reader.byte_headers()?)?;
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record)? {
        writer.write_byte_record(&record)?;
    }
    Ok(writer.flush()?)
}

fn pipeline_copy(input: &Path, output: &Path, threads: usize) -> Result<(), AnyError> {
    let reader = TableReader::open(input, None)?;
    let features: Vec<String> =
        reader.header().iter().filter(|name| name.starts_with('x')).cloned().collect();
    let mut fields = vec![Field::integer("row"), Field::float("cost").optional()];
    fields.extend(features.iter().map(|name| Field::float(name)));
    let reader = reader.select(&Columns { features, ids: Vec::new(), ignore_extra: true })?;
    let writer = TableWriter::create(output, Format::of_path(output), fields, None)?;
    let cancelled = AtomicBool::new(false);
    let job = Job { reader, writer, threads, cancelled: &cancelled };
    run_pipeline(job, Vec::new, copy_chunk, |_| {})?;
    Ok(())
}

fn copy_chunk<'c>(numbers: &mut Vec<f64>, chunk: &'c probe_io::Chunk) -> Result<Batch<'c>, Error> {
    chunk.numbers_into(numbers)?;
    let (n_rows, n_features) = (chunk.n_rows(), chunk.plan().n_features());
    let first = chunk.first_row() as i64;
    let sum = |row: usize| numbers[row * n_features..(row + 1) * n_features].iter().sum::<f64>();
    let mut columns = vec![
        Column::integers((0..n_rows).map(|row| first + row as i64)),
        Column::floats((0..n_rows).map(|row| Cell::Number(sum(row)))),
    ];
    for j in 0..n_features {
        columns.push(Column::floats(
            (0..n_rows).map(|row| chunk.unchanged(row, j, numbers[row * n_features + j])),
        ));
    }
    Ok(Batch::Columns(columns))
}

/// Highest resident memory so far in MB, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1e3)
}
