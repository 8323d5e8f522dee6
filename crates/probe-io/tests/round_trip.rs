//! Tables out and in again, in every format.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_io::{
    Batch, Cell, Column, Columns, Error, Field, Format, Id, JsonRows, Prose, TableReader,
    TableWriter,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;

fn fields() -> Vec<Field> {
    vec![
        Field::integer("row"),
        Field::text("status"),
        Field::float("cost").optional(),
        Field::float("x"),
        Field::text("who").optional(),
        Field::integer("changed").optional(),
    ]
}

/// Writes batches of columns.
fn write(path: &Path, fields: Vec<Field>, meta: Option<&Value>, batches: &[Batch<'_>]) {
    let mut writer = TableWriter::create(path, Format::of_path(path), fields, meta).unwrap();
    let encoder = writer.encoder();
    for batch in batches {
        writer.write(encoder.encode(batch).unwrap()).unwrap();
    }
    writer.finish().unwrap();
}

fn batch(rows: std::ops::Range<i64>) -> Batch<'static> {
    let n = rows.clone();
    let gap = |row: i64| row % 3 == 1;
    Batch::Columns(vec![
        Column::integers(rows.clone()),
        Column::texts(
            rows.clone().map(|row| if row % 2 == 0 { "found" } else { "none, \"so far\"" }),
        ),
        Column::floats(
            rows.clone().map(|row| if gap(row) { None } else { Some(row as f64 / 7.0) }),
        ),
        Column::floats(rows.clone().map(|row| row as f64 * 1e-9)),
        Column::optional_texts(
            rows.map(|row| if gap(row) { None } else { Some(format!("p\n{row}")) }),
        ),
        Column::integers(n.map(|row| if gap(row) { None } else { Some(row) })),
    ])
}

/// The `x` column and the `who` column of a table.
fn read(path: &Path) -> (Vec<f64>, Vec<Id<'static>>) {
    let wanted = Columns {
        features: vec!["x".to_owned()],
        ids: vec!["who".to_owned()],
        ignore_extra: true,
        ..Columns::default()
    };
    let (mut numbers, mut ids, mut some) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in TableReader::open(path, None).unwrap().select(&wanted).unwrap() {
        let chunk = chunk.unwrap();
        assert_eq!(chunk.first_row(), numbers.len() as u64);
        chunk.numbers_into(&mut some).unwrap();
        numbers.extend_from_slice(&some);
        for row in 0..chunk.n_rows() {
            ids.push(match chunk.id(row, 0).unwrap() {
                Id::Text(text) => Id::Text(text.into_owned().into()),
                Id::Null => Id::Null,
                other => panic!("{other:?} is no text"),
            });
        }
    }
    (numbers, ids)
}

#[test]
fn every_format_reads_back_what_it_wrote() {
    let directory = tempfile::tempdir().unwrap();
    let n = 10_000;
    for name in ["t.csv", "t.jsonl", "t.parquet"] {
        let path = directory.path().join(name);
        write(&path, fields(), None, &[batch(0..1), batch(1..1), batch(1..6000), batch(6000..n)]);
        let (numbers, ids) = read(&path);
        assert_eq!(numbers, (0..n).map(|row| row as f64 * 1e-9).collect::<Vec<_>>(), "{name}");
        for (row, id) in ids.iter().enumerate() {
            let gap = if name == "t.csv" { Id::Text("".into()) } else { Id::Null };
            let expected = if row % 3 == 1 { gap } else { Id::Text(format!("p\n{row}").into()) };
            assert_eq!(*id, expected, "{name}, row {row}");
        }
    }
}

#[test]
fn json_documents_hold_meta_and_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.json");
    let meta = json!({"version": "1", "seed": 0});
    write(&path, fields(), Some(&meta), &[batch(0..0), batch(0..2), batch(2..3)]);
    let document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(document["meta"], meta);
    assert_eq!(document["rows"].as_array().unwrap().len(), 3);
    let expected = json!({"row": 1, "status": "none, \"so far\"", "cost": null, "x": 1e-9,
        "who": null, "changed": null});
    assert_eq!(document["rows"][1], expected);

    write(&path, fields(), None, &[]);
    let document: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(document, json!({"rows": []}));
}

#[test]
fn objects_are_written_as_they_are_in_json_formats_only() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.jsonl");
    let objects = vec![json!({"row": 0, "to": {"x": 1.5}}), json!({"row": 1, "to": {"x": 2.5}})];
    write(&path, fields(), Some(&json!({"seed": 7})), &[Batch::Objects(objects)]);
    let text = std::fs::read_to_string(&path).unwrap();
    let expected =
        "{\"meta\":{\"seed\":7}}\n{\"row\":0,\"to\":{\"x\":1.5}}\n{\"row\":1,\"to\":{\"x\":2.5}}\n";
    assert_eq!(text, expected);

    let writer =
        TableWriter::create(directory.path().join("t.csv"), Format::Csv, fields(), None).unwrap();
    let error = writer.encoder().encode(&Batch::Objects(vec![json!({})])).unwrap_err();
    assert!(error.to_string().contains("csv cannot hold"), "{error}");
}

#[test]
fn rows_written_early_are_the_bytes_of_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        json!({ "row": 0, "x": 0.1, "tiny": 5e-324, "large": 1e300, "whole": 3.0, "minus": -0.0 }),
        json!({ "row": 1, "text": "é \"quoted\" \n", "none": null, "nested": { "a": [1, 2.5,
            {}] } }),
        json!({}),
    ];
    let meta = json!({ "r": 0.1 });
    for (ending, own) in [("jsonl", None), ("jsonl", Some(&meta)), ("json", None)] {
        let mut early = JsonRows::new(own).unwrap();
        let mut values = Vec::new();
        for row in &rows {
            early.push(row).unwrap();
            let mut value = row.clone();
            if let Some(meta) = own {
                value["meta"] = meta.clone();
            }
            values.push(value);
        }
        let (one, two) =
            (folder.path().join(format!("1.{ending}")), folder.path().join(format!("2.{ending}")));
        write(&one, fields(), None, &[Batch::Json(early.clone()), Batch::Json(early)]);
        write(&two, fields(), None, &[Batch::Objects(values.clone()), Batch::Objects(values)]);
        assert_eq!(std::fs::read_to_string(one).unwrap(), std::fs::read_to_string(two).unwrap());
    }
    for no_row in [json!([1]), json!(1), json!("{}")] {
        assert!(
            matches!(JsonRows::new(None).unwrap().push(&no_row), Err(Error::Output { .. })),
            "{no_row}"
        );
    }
}

#[test]
fn csv_text_is_exact() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.csv");
    write(&path, fields(), None, &[batch(0..2)]);
    let expected = "row,status,cost,x,who,changed\n0,found,0.0,0.0,\"p\n0\",0\n\
                    1,\"none, \"\"so far\"\"\",,1e-9,,\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
}

#[test]
fn batches_that_do_not_fit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fields = vec![Field::integer("row"), Field::float("x")];
    for format in Format::ALL {
        let writer =
            TableWriter::create(directory.path().join("t"), format, fields.clone(), None).unwrap();
        let refused =
            |columns| writer.encoder().encode(&Batch::Columns(columns)).unwrap_err().to_string();
        let row = || Column::integers([1]);
        assert!(refused(vec![row()]).contains("has 1 columns, 2 are declared"));
        assert!(
            refused(vec![row(), Column::floats([1.0, 2.0])])
                .contains("'x': 2 cells in a batch of 1 rows")
        );
        assert!(
            refused(vec![row(), Column::texts(["a"])])
                .contains("'x': Text cells in a Float column")
        );
        assert!(
            refused(vec![row(), Column::floats([f64::NAN])])
                .contains("'x': a cell without a value")
        );
    }
    let twice = vec![Field::integer("row"), Field::text("row")];
    let error =
        TableWriter::create(directory.path().join("t"), Format::Csv, twice, None).unwrap_err();
    assert!(matches!(&error, Error::Output { column, .. } if column == "row"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn parquet_files_do_not_depend_on_batching() {
    let directory = tempfile::tempdir().unwrap();
    let n = 150_000;
    let bytes = |name: &str, step: i64| {
        let path = directory.path().join(name);
        let batches: Vec<_> =
            (0..n).step_by(step as usize).map(|row| batch(row..(row + step).min(n))).collect();
        write(&path, fields(), Some(&json!({"seed": 1})), &batches);
        std::fs::read(path).unwrap()
    };
    let (small, large) = (bytes("a.parquet", 977), bytes("b.parquet", 100_000));
    assert!(small == large);
    let (numbers, _) = read(&directory.path().join("a.parquet"));
    assert_eq!(numbers.len(), n as usize);
    assert_eq!(numbers[140_000], 140_000.0 * 1e-9);
}

#[test]
fn parquet_without_rows_is_a_table() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.parquet");
    write(&path, fields(), None, &[]);
    assert_eq!(
        TableReader::open(&path, None).unwrap().header(),
        ["row", "status", "cost", "x", "who", "changed"]
    );
    assert!(read(&path).0.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn floats_and_texts_survive_every_format(
        rows in prop::collection::vec((any::<u64>(), any::<Option<f64>>(), "[ -~äß\n\r\"]{0,12}"),
            1..40),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let fields = vec![Field::float("x"), Field::float("y").optional(), Field::text("who")];
        let xs: Vec<f64> =
            rows.iter().map(|row| f64::from_bits(row.0))
                .map(|v| if v.is_finite() { v } else { 0.5 }).collect();
        let columns = || vec![
            Column::floats(xs.iter().copied()),
            Column::floats(rows.iter().map(|row| Cell::from(row.1.filter(|v| v.is_finite())))),
            Column::texts(rows.iter().map(|row| row.2.as_str())),
        ];
        for name in ["t.csv", "t.jsonl", "t.parquet"] {
            let path = directory.path().join(name);
            write(&path, fields.clone(), None, &[Batch::Columns(columns())]);
            let (numbers, ids) = read(&path);
            let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&numbers), bits(&xs), "{}", name);
            let texts: Vec<_> = rows.iter().map(|row| Id::Text(row.2.as_str().into())).collect();
            prop_assert_eq!(&ids, &texts, "{}", name);
        }
    }
}

#[test]
fn prose_is_written_with_what_stands_around_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("letters.txt");
    let prose =
        || Prose { opening: "<".to_owned(), separator: "|".to_owned(), closing: ">".to_owned() };
    let texts =
        |texts: &[&str]| Batch::Prose(texts.iter().map(|text| (*text).to_owned()).collect());
    let mut writer = TableWriter::create_prose(&path, prose()).unwrap();
    let encoder = writer.encoder();
    for batch in [texts(&["a", "b"]), texts(&[]), texts(&["c"])] {
        writer.write(encoder.encode(&batch).unwrap()).unwrap();
    }
    assert!(encoder.encode(&Batch::Objects(Vec::new())).is_err());
    writer.finish().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "<a|b|c>");
    // Without letters, the text around them is still written.
    TableWriter::create_prose(&path, prose()).unwrap().finish().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "<>");
    let table = TableWriter::create(&path, Format::Csv, vec![Field::integer("row")], None).unwrap();
    assert!(table.encoder().encode(&texts(&["a"])).is_err());
}
