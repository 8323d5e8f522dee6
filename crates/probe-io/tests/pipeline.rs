//! The pipeline: order, determinism, errors, cancellation, atomicity.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_io::{
    Batch, Chunk, ChunkLimit, Column, Columns, Error, Field, Format, Job, Summary, TableReader,
    TableWriter, run_pipeline,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const N: usize = 5_000;

struct Case {
    directory: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let case = Self { directory: tempfile::tempdir().unwrap() };
        let row = |i: usize| format!("{}.50,p{i},{}\n", i, i as f64 / 3.0);
        case.put("people.csv", &("a,who,b\n".to_owned() + &(0..N).map(row).collect::<String>()));
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn entries(&self) -> usize {
        std::fs::read_dir(self.directory.path()).unwrap().count()
    }

    fn job<'a>(
        &self,
        output: &Path,
        format: Format,
        threads: usize,
        cancelled: &'a AtomicBool,
    ) -> Job<'a> {
        let wanted = Columns {
            features: vec!["a".to_owned(), "b".to_owned()],
            ids: vec!["who".to_owned()],
            ..Columns::default()
        };
        let reader =
            TableReader::open(self.path("people.csv"), None).unwrap().select(&wanted).unwrap();
        let mut fields =
            vec![Field::integer("row"), Field::float("sum"), Field::float("a"), Field::float("b")];
        fields.extend(reader.plan().id_fields());
        let writer = TableWriter::create(output, format, fields, None).unwrap();
        Job {
            reader: reader.with_limit(ChunkLimit { rows: 64, bytes: 1 << 16 }),
            writer,
            threads,
            cancelled,
        }
    }

    fn run(&self, output: &str, format: Format, threads: usize) -> Result<Summary, Error> {
        let never = AtomicBool::new(false);
        run_pipeline(self.job(&self.path(output), format, threads, &never), Vec::new, sum, |_| {})
    }
}

/// The sum of both features; `a` unchanged, `b` doubled.
fn sum<'c>(numbers: &mut Vec<f64>, chunk: &'c Chunk) -> Result<Batch<'c>, Error> {
    chunk.numbers_into(numbers)?;
    let rows = || 0..chunk.n_rows();
    let first = chunk.first_row() as i64;
    Ok(Batch::Columns(vec![
        Column::integers(rows().map(|row| first + row as i64)),
        Column::floats(rows().map(|row| numbers[2 * row] + numbers[2 * row + 1])),
        Column::floats(rows().map(|row| chunk.unchanged(row, 0, numbers[2 * row]))),
        Column::floats(rows().map(|row| 2.0 * numbers[2 * row + 1])),
        chunk.id_column(0, rows())?,
    ]))
}

#[test]
fn bytes_are_the_same_for_any_number_of_threads_in_every_format() {
    let case = Case::new();
    for format in Format::ALL {
        let bytes = |threads| {
            let summary = case.run("out", format, threads).unwrap();
            assert_eq!(summary, Summary { rows_in: N as u64, rows_out: N as u64 });
            std::fs::read(case.path("out")).unwrap()
        };
        let one = bytes(1);
        assert!(one == bytes(2) && one == bytes(5) && one == bytes(0), "{format}");
    }
}

#[test]
fn rows_stay_in_order_and_unchanged_cells_keep_their_text() {
    let case = Case::new();
    case.run("out.csv", Format::Csv, 3).unwrap();
    let text = std::fs::read_to_string(case.path("out.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,sum,a,b,who"));
    for (i, line) in lines.enumerate() {
        let (a, b) = (i as f64 + 0.5, i as f64 / 3.0);
        // `a` keeps its trailing zero, which no number would print.
        assert_eq!(line, format!("{i},{:?},{i}.50,{:?},p{i}", a + b, 2.0 * b));
    }
}

#[test]
fn slow_chunks_do_not_break_the_order() {
    let case = Case::new();
    case.run("fast.csv", Format::Csv, 4).unwrap();
    let never = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    let pause = |chunk: &Chunk| {
        calls.fetch_add(1, Ordering::Relaxed);
        if chunk.first_row().is_multiple_of(5) {
            std::thread::sleep(Duration::from_millis(3));
        }
    };
    let mut seen = Vec::new();
    let job = case.job(&case.path("slow.csv"), Format::Csv, 4, &never);
    let note = |rows| seen.push(rows);
    run_pipeline(
        job,
        Vec::new,
        |numbers, chunk| {
            pause(chunk);
            sum(numbers, chunk)
        },
        note,
    )
    .unwrap();
    assert!(
        std::fs::read(case.path("slow.csv")).unwrap()
            == std::fs::read(case.path("fast.csv")).unwrap()
    );
    assert_eq!(calls.load(Ordering::Relaxed), N.div_ceil(64));
    assert!(seen.is_sorted());
    assert_eq!(seen.last(), Some(&(N as u64)));
}

#[test]
fn the_first_error_in_row_order_wins_and_leaves_nothing() {
    let case = Case::new();
    let mut text = std::fs::read_to_string(case.path("people.csv")).unwrap();
    text = text.replace("\n4000.50,", "\nlate,").replace("\n700.50,p700,", "\nearly,p700,");
    text = text.replace("\n900.50,p900,", "\n900.50,");
    case.put("people.csv", &text);
    for format in Format::ALL {
        for threads in [1, 2, 4] {
            let message = case.run("out", format, threads).unwrap_err().to_string();
            let expected = "row 700 (line 702), column 'a': 'early' is not a finite number";
            assert!(message.ends_with(expected), "{message}");
            assert_eq!(case.entries(), 1, "only the input is left");
        }
    }
    case.put("out", "precious");
    case.run("out", Format::Csv, 2).unwrap_err();
    assert_eq!(std::fs::read_to_string(case.path("out")).unwrap(), "precious");
    assert_eq!(case.entries(), 2);
}

#[test]
fn ragged_rows_come_after_earlier_faults_of_the_same_chunk() {
    let case = Case::new();
    case.put("people.csv", "a,who,b\n1,x,2\n1,x,oops\n1,x\n");
    assert!(case.run("out", Format::Csv, 2).unwrap_err().to_string().contains("'oops'"));
    case.put("people.csv", "a,who,b\n1,x,2\n1,x\n1,x,oops\n");
    assert!(
        case.run("out", Format::Csv, 2)
            .unwrap_err()
            .to_string()
            .contains("row 1 (line 3): expected 3 cells")
    );
}

#[test]
fn errors_of_the_work_reach_the_caller_in_their_own_type() {
    #[derive(Debug)]
    enum Failure {
        Io(Error),
        Own(u64),
    }
    impl From<Error> for Failure {
        fn from(error: Error) -> Self {
            Self::Io(error)
        }
    }
    fn fail<'c>(_: &mut (), chunk: &'c Chunk) -> Result<Batch<'c>, Failure> {
        Err(Failure::Own(chunk.first_row()))
    }
    let case = Case::new();
    let never = AtomicBool::new(false);
    let error =
        run_pipeline(case.job(&case.path("out"), Format::Csv, 4, &never), || (), fail, |_| {})
            .unwrap_err();
    match error {
        Failure::Own(row) => assert_eq!(row, 0),
        Failure::Io(error) => panic!("{error}"),
    }
    assert_eq!(case.entries(), 1);
}

#[test]
fn cancelling_stops_and_leaves_nothing() {
    let case = Case::new();
    let cancelled = AtomicBool::new(false);
    let job = case.job(&case.path("out.csv"), Format::Csv, 2, &cancelled);
    let stop = |rows| {
        if rows >= 640 {
            cancelled.store(true, Ordering::Relaxed);
        }
    };
    let error = run_pipeline(job, Vec::new, sum, stop).unwrap_err();
    assert!(matches!(error, Error::Cancelled), "{error}");
    assert_eq!(case.entries(), 1);
}

#[test]
fn a_panic_in_the_work_ends_the_pipeline() {
    fn panics<'c>(_: &mut (), chunk: &'c Chunk) -> Result<Batch<'c>, Error> {
        assert!(chunk.first_row() < 640, "as planned");
        Ok(Batch::Columns(vec![
            Column::integers((0..chunk.n_rows()).map(|row| row as i64)),
            Column::floats(vec![0.0; chunk.n_rows()]),
            Column::floats(vec![0.0; chunk.n_rows()]),
            Column::floats(vec![0.0; chunk.n_rows()]),
            Column::texts(vec!["x"; chunk.n_rows()]),
        ]))
    }
    let case = Case::new();
    let path = case.path("out.csv");
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let never = AtomicBool::new(false);
        run_pipeline(case.job(&path, Format::Csv, 2, &never), || (), panics, |_| {})
    }));
    assert!(outcome.is_err());
    assert_eq!(case.entries(), 1);
}

#[test]
fn an_empty_table_gives_a_header() {
    let case = Case::new();
    case.put("people.csv", "a,who,b\n");
    let summary = case.run("out.csv", Format::Csv, 2).unwrap();
    assert_eq!(summary, Summary { rows_in: 0, rows_out: 0 });
    assert_eq!(std::fs::read_to_string(case.path("out.csv")).unwrap(), "row,sum,a,b,who\n");
}
