//! Tables in: what is read, what is refused and how the refusal reads.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_io::{Chunk, ChunkLimit, Columns, Format, Id, Result, TableReader, read_table};
use std::io::Cursor;

fn columns(features: &[&str], ids: &[&str], ignore_extra: bool) -> Columns {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Columns { features: owned(features), ids: owned(ids), ignore_extra, ..Columns::default() }
}

/// All numbers of a table, read in chunks of two rows.
fn numbers(text: &str, format: Format, wanted: &Columns) -> Result<Vec<f64>> {
    let reader = TableReader::from_read("people", Cursor::new(text.as_bytes().to_vec()), format)?;
    let (mut all, mut some) = (Vec::new(), Vec::new());
    for chunk in reader.select(wanted)?.with_limit(ChunkLimit { rows: 2, bytes: 1 << 16 }) {
        chunk?.numbers_into(&mut some)?;
        all.extend_from_slice(&some);
    }
    Ok(all)
}

fn csv(text: &str) -> Result<Vec<f64>, String> {
    numbers(text, Format::Csv, &columns(&["a", "b"], &[], false)).map_err(|error| error.to_string())
}

fn jsonl(text: &str) -> Result<Vec<f64>, String> {
    numbers(text, Format::Jsonl, &columns(&["a", "b"], &[], false))
        .map_err(|error| error.to_string())
}

fn json(text: &str) -> Result<Vec<f64>, String> {
    numbers(text, Format::Json, &columns(&["a", "b"], &[], false))
        .map_err(|error| error.to_string())
}

fn only_chunk(text: &str, format: Format, wanted: &Columns) -> Chunk {
    let reader =
        TableReader::from_read("people", Cursor::new(text.as_bytes().to_vec()), format).unwrap();
    let mut chunks = reader.select(wanted).unwrap();
    let chunk = chunks.next().unwrap().unwrap();
    assert!(chunks.next().is_none());
    chunk
}

#[test]
fn csv_takes_marks_line_ends_quotes_and_spaces_as_they_come() {
    let expected = Ok(vec![1.0, 2.5, -3.0, 4e-3]);
    assert_eq!(csv("a,b\n1,2.5\n-3,4e-3\n"), expected);
    assert_eq!(csv("\u{feff}a,b\r\n1,2.5\r\n-3,4e-3"), expected);
    assert_eq!(csv("\"a\", b\n 1 ,\"2.5\"\n\n\t-3,+4e-3\n\n"), expected);
    assert_eq!(csv("b,a\n2.5,1\n4e-3,-3\n"), expected);
    assert_eq!(csv("a,b\n"), Ok(Vec::new()));
}

#[test]
fn cells_that_are_not_finite_numbers_are_named() {
    let found = |cell: &str| csv(&format!("a,b\n0,0\n\n1,1\n2,{cell}\n3,oops\n")).unwrap_err();
    for cell in ["NaN", "inf", "-Infinity", "", "abc", "1e999", "1 2"] {
        let expected =
            format!("people: row 2 (line 5), column 'b': '{cell}' is not a finite number");
        assert_eq!(found(cell), expected);
    }
}

#[test]
fn the_first_fault_in_row_order_wins() {
    let message = csv("a,b\n0,x\n1,2,3\n").unwrap_err();
    assert!(message.contains("row 0 (line 2), column 'b'"), "{message}");
    let message = csv("a,b\n0,1\n1,2,3\n4,x\n").unwrap_err();
    assert_eq!(
        message,
        "people: row 1 (line 3): expected 2 cells (one per column of the header), found 3"
    );
    let message = csv("a,b\n0,1\n1,x\n2,\"3\n").unwrap_err();
    assert!(message.contains("row 1 (line 3), column 'b'"), "{message}");
}

#[test]
fn broken_files_are_described() {
    assert_eq!(csv("").unwrap_err(), "people: empty file: no header");
    assert_eq!(csv("\n \n").unwrap_err(), "people: empty file: no header");
    assert_eq!(csv("a,b,a\n").unwrap_err(), "people: column 'a' appears twice");
    assert_eq!(
        csv("a,b\n1,\"2\n").unwrap_err(),
        "people: row 0 (line 2): a quote is opened and never closed"
    );
    assert!(csv("a,b\r1,2\r").unwrap_err().contains("bare carriage returns"));
    assert_eq!(csv("a\n1\n").unwrap_err(), "people: no column 'b'");
    assert!(csv("a,B\n1,2\n").unwrap_err().contains("did you mean 'B'?"));
    assert_eq!(
        csv("a,b,zip\n1,2,3\n").unwrap_err(),
        "people: unexpected column 'zip': neither a feature nor an id"
    );
    assert_eq!(csv("PAR1....").unwrap_err(), "people: expected text, found a Parquet file");
    let missing = TableReader::open("no/such/people.csv", None).unwrap_err();
    assert!(missing.is_not_found());
    assert!(missing.to_string().starts_with("no/such/people.csv: cannot open: "));
    let directory = tempfile::tempdir().unwrap();
    let message = TableReader::open(directory.path(), None).unwrap_err().to_string();
    assert!(message.contains("cannot read: ") && message.contains("directory"), "{message}");
}

#[test]
fn csv_cells_keep_their_text() {
    let wanted = columns(&["b", "a"], &["who"], true);
    let chunk =
        only_chunk("who,a,x,b\n\"Ann, \"\"A\"\"\", 1.50,,2e0\nBob,3,y,4\n", Format::Csv, &wanted);
    assert_eq!((chunk.n_rows(), chunk.first_row()), (2, 0));
    assert_eq!(chunk.cell_text(0, 0), Some(&b"2e0"[..]));
    assert_eq!(chunk.cell_text(0, 1), Some(&b" 1.50"[..]));
    assert_eq!(chunk.id(0, 0).unwrap(), Id::Text("Ann, \"A\"".into()));
    assert_eq!(chunk.id(1, 0).unwrap(), Id::Text("Bob".into()));
}

#[test]
fn ids_must_be_utf8() {
    let input = Cursor::new(b"who,a\nok,1\n\xff\xfe,2\n".to_vec());
    let reader = TableReader::from_read("people", input, Format::Csv).unwrap();
    let chunk = reader.select(&columns(&["a"], &["who"], false)).unwrap().next().unwrap().unwrap();
    let message = chunk.id(1, 0).unwrap_err().to_string();
    assert!(message.starts_with("people: row 1 (line 3), column 'who': "), "{message}");
    assert!(message.ends_with("is not UTF-8 text"), "{message}");
}

#[test]
fn json_lines_and_arrays_hold_the_same() {
    let expected = Ok(vec![1.0, 2.5, -3.0, 1.0, 0.0, 5.0]);
    assert_eq!(
        jsonl("{\"a\":1,\"b\":2.5}\n\n{\"b\":true,\"a\":-3}\r\n{\"a\":false,\"b\":5e0}"),
        expected
    );
    assert_eq!(
        json("\u{feff}[{\"a\":1,\"b\":2.5},\n{\"b\":true,\"a\":-3},{\"a\":false,\"b\":5e0}]\n"),
        expected
    );
}

#[test]
fn rows_are_counted_without_being_read() {
    let count = |text: &str, format| {
        let reader =
            TableReader::from_read("people", Cursor::new(text.as_bytes().to_vec()), format)?;
        reader.count_rows()
    };
    // Blank lines are no rows, and a line end within quotes ends none.
    assert_eq!(count("a,b\n1,\"x\ny\"\n\n3,4\r\n5,6", Format::Csv).unwrap(), 3);
    assert_eq!(count("a,b\n", Format::Csv).unwrap(), 0);
    assert_eq!(count("{\"a\":1}\n\n{\"a\":\"}\"}", Format::Jsonl).unwrap(), 2);
    assert_eq!(count("[{\"a\":[1,{}]}, {\"a\":2}]", Format::Json).unwrap(), 2);
    let many: String = (0..20_000).map(|i| format!("{i},{i}\n")).collect();
    assert_eq!(count(&format!("a,b\n{many}"), Format::Csv).unwrap(), 20_000);
    assert!(
        count("[{\"a\":1}, {\"a\":", Format::Json)
            .unwrap_err()
            .to_string()
            .contains("never closed")
    );
}

#[test]
fn json_faults_name_row_and_line() {
    assert_eq!(
        jsonl("{\"a\":1,\"b\":2}\n\n{\"a\":1,\"b\":\"2\"}\n").unwrap_err(),
        "people: row 1 (line 3), column 'b': '\"2\"' is not a finite number"
    );
    assert_eq!(
        json("[{\"a\":1,\"b\":2},{\"a\":1,\"b\":null}]").unwrap_err(),
        "people: row 1, column 'b': 'null' is not a finite number"
    );
    assert_eq!(
        jsonl("{\"a\":1,\"b\":2}\n{\"a\":1}\n").unwrap_err(),
        "people: row 1 (line 2): no value for column 'b'"
    );
    assert_eq!(
        jsonl("{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2,\"c\":3}\n").unwrap_err(),
        "people: row 1 (line 2): unexpected column 'c': the first row does not have it"
    );
    assert_eq!(
        jsonl("{\"a\":1,\"b\":2}\n{\"a\":1,\"b\":2,\"a\":3}\n").unwrap_err(),
        "people: row 1 (line 2): column 'a' appears twice"
    );
    assert_eq!(jsonl("{\"a\":1,\"a\":2}\n").unwrap_err(), "people: column 'a' appears twice");
    assert!(
        jsonl("{\"a\":1,\"b\":2}\n[1,2]\n").unwrap_err().contains("row 1 (line 2): invalid type")
    );
    assert!(
        jsonl("{\"a\":1,\"b\":1e999}\n").unwrap_err().contains("'1e999' is not a finite number")
    );
    assert_eq!(jsonl("").unwrap_err(), "people: empty file: no header");
    assert_eq!(json("[]").unwrap_err(), "people: no rows, so its columns are unknown");
    assert!(json("[{\"a\":1,\"b\":2}").unwrap_err().contains("row 1: the array is never closed"));
    assert!(json("{\"a\":1,\"b\":2}").unwrap_err().contains("expected an array of objects"));
}

#[test]
fn json_ids_keep_their_types() {
    let text = "{\"a\":1,\"who\":\"\\u00e4 \\\"x\\\"\"}\n{\"a\":2,\"who\":17}\n\
                {\"a\":3,\"who\":null}\n{\"a\":4,\"who\":0.5}\n";
    let chunk = only_chunk(text, Format::Jsonl, &columns(&["a"], &["who"], false));
    let ids: Vec<_> = (0..4).map(|row| chunk.id(row, 0).unwrap()).collect();
    assert_eq!(ids[0], Id::Text("ä \"x\"".into()));
    assert_eq!(ids[1], Id::Integer(17));
    assert_eq!(ids[2], Id::Null);
    assert_eq!(ids[3].to_json(), serde_json::json!(0.5));
}

#[test]
fn a_training_table_is_read_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("train.csv");
    std::fs::write(&path, "a,approved,b\n1,yes,2\n3, no ,4\n").unwrap();
    let table = read_table(&path, None, None, "approved", false, None).unwrap();
    assert_eq!(table.features, ["a", "b"]);
    assert_eq!(table.values, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(table.target, ["yes", "no"]);
    assert_eq!(table.n_rows(), 2);
    let only_b = ["b".to_owned()];
    assert!(read_table(&path, None, Some(&only_b), "approved", false, None).is_err());
    assert_eq!(
        read_table(&path, None, Some(&only_b), "approved", true, None).unwrap().values,
        [2.0, 4.0]
    );
    std::fs::write(&path, "a,approved\n1,yes\n3,\n").unwrap();
    let message = read_table(&path, None, None, "approved", false, None).unwrap_err().to_string();
    assert!(
        message.ends_with("row 1 (line 3), column 'approved': '' is not a target value"),
        "{message}"
    );
}

#[test]
fn rows_longer_than_a_read_are_whole() {
    // Cells of half a megabyte: several reads per record, and records that end anywhere within one.
    let long = "x".repeat(500_000);
    let text: String = (0..5).map(|i| format!("{i},\"{long}\n{i}\"\n")).collect();
    let input = Cursor::new(format!("a,who\n{text}").into_bytes());
    let reader = TableReader::from_read("people", input, Format::Csv).unwrap();
    let mut seen = Vec::new();
    for chunk in reader.select(&columns(&["a"], &["who"], false)).unwrap() {
        let chunk = chunk.unwrap();
        for row in 0..chunk.n_rows() {
            let place = chunk.place(row);
            let Id::Text(text) = chunk.id(row, 0).unwrap() else { panic!("a text") };
            assert_eq!(*text, format!("{long}\n{}", place.row));
            seen.push((place.row, place.line.unwrap()));
        }
    }
    assert_eq!(seen, [(0, 2), (1, 4), (2, 6), (3, 8), (4, 10)]);
}

#[test]
fn a_missing_value_is_read_where_it_may_be_and_refused_with_its_reason_elsewhere() {
    let wanted =
        Columns { missing: vec![None, Some("b counts")], ..columns(&["a", "b"], &[], false) };
    let read = |text: &str, format| match numbers(text, format, &wanted) {
        Ok(values) => values.iter().map(f64::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        read("a,b\n,1\n\"\",2\nNAN,3\n \t,4\n nan,5\n", Format::Csv),
        "NaN 1 NaN 2 NaN 3 NaN 4 NaN 5"
    );
    assert_eq!(read("{\"b\":1,\"a\":null}\n", Format::Jsonl), "NaN 1");
    assert_eq!(read("[{\"a\":null,\"b\":1}]", Format::Json), "NaN 1");
    for (text, format, value) in [
        ("a,b\n,1\n1,\n", Format::Csv, ""),
        ("a,b\n,1\n1,Nan\n", Format::Csv, "Nan"),
        ("{\"a\":null,\"b\":1}\n{\"a\":1,\"b\":null}\n", Format::Jsonl, "null"),
    ] {
        let message = read(text, format);
        assert!(message.starts_with("people: row 1 (line "), "{message}");
        let end = format!("column 'b': '{value}' is a missing value: b counts");
        assert!(message.ends_with(&end), "{message}");
    }
    // Other words are no numbers, also where a value may be missing.
    for text in ["a,b\nNA,1\n", "a,b\n-nan,1\n", "a,b\ninf,1\n", "a,b\nnull,1\n"] {
        assert!(read(text, Format::Csv).ends_with("is not a finite number"), "{text}");
    }
    assert!(read("{\"a\":\"nan\",\"b\":1}\n", Format::Jsonl).ends_with("is not a finite number"));
    assert!(
        read("{\"a\":null,\"b\":1}\n{\"b\":1}\n", Format::Jsonl)
            .contains("no value for column 'a'")
    );
}
