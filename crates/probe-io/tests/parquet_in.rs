//! Parquet files of other writers: types, nulls, row groups, damage.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use probe_io::{Cell, ChunkLimit, Column, Columns, Format, Id, TableReader};
use std::io::Cursor;
use std::sync::Arc;

const SCHEMA: &str = "message people {
    required double d; required float f; required int32 i; required int64 l; required boolean b;
    optional double maybe; optional binary who (UTF8); optional int64 number;
    required int32 born (DATE); required int64 money (DECIMAL(10, 2)); required int32 u (UINT_32);
    repeated int32 many;
}";

/// Two row groups of three rows; row 4 has no `maybe`, no `who` and no `number`.
fn people() -> Vec<u8> {
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(
        &mut bytes,
        schema,
        Arc::new(WriterProperties::builder().build()),
    )
    .unwrap();
    for group in 0..2 {
        let mut rows = writer.next_row_group().unwrap();
        let levels: &[i16] = if group == 1 { &[1, 0, 1] } else { &[1, 1, 1] };
        let present: Vec<i32> =
            (0..3).filter(|&row| levels[row as usize] == 1).map(|row| group * 3 + row).collect();
        let all: Vec<i32> = (0..3).map(|row| group * 3 + row).collect();
        let mut index = 0;
        while let Some(mut column) = rows.next_column().unwrap() {
            let values = if matches!(index, 5..=7) { &present } else { &all };
            let levels = match index {
                5..=7 => Some(levels),
                11 => Some(&[1, 1, 1][..]),
                _ => None,
            };
            let repeats = (index == 11).then_some(&[0, 0, 0][..]);
            match column.untyped() {
                ColumnWriter::DoubleColumnWriter(w) => {
                    let values: Vec<f64> = values.iter().map(|&v| f64::from(v) + 0.5).collect();
                    w.write_batch(&values, levels, None).unwrap()
                }
                ColumnWriter::FloatColumnWriter(w) => {
                    let values: Vec<f32> = values.iter().map(|&v| v as f32 + 0.1).collect();
                    w.write_batch(&values, levels, None).unwrap()
                }
                ColumnWriter::Int32ColumnWriter(w) => {
                    let values: Vec<i32> = if index == 10 {
                        values.iter().map(|&v| -1 - v).collect()
                    } else {
                        values.clone()
                    };
                    w.write_batch(&values, levels, repeats).unwrap()
                }
                ColumnWriter::Int64ColumnWriter(w) => {
                    let values: Vec<i64> = values.iter().map(|&v| i64::from(v) << 33).collect();
                    w.write_batch(&values, levels, None).unwrap()
                }
                ColumnWriter::BoolColumnWriter(w) => {
                    let values: Vec<bool> = values.iter().map(|&v| v % 2 == 1).collect();
                    w.write_batch(&values, levels, None).unwrap()
                }
                ColumnWriter::ByteArrayColumnWriter(w) => {
                    let values: Vec<_> =
                        values.iter().map(|v| format!("p{v}").into_bytes().into()).collect();
                    w.write_batch(&values, levels, None).unwrap()
                }
                _ => unreachable!("the schema has no other types"),
            };
            column.close().unwrap();
            index += 1;
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn columns(features: &[&str], ids: &[&str]) -> Columns {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Columns { features: owned(features), ids: owned(ids), ignore_extra: true, ..Columns::default() }
}

fn open() -> TableReader {
    TableReader::from_read("people.parquet", Cursor::new(people()), Format::Parquet).unwrap()
}

fn refusal(features: &[&str], ids: &[&str]) -> String {
    open().select(&columns(features, ids)).unwrap_err().to_string()
}

#[test]
fn number_types_become_numbers_across_row_groups() {
    let mut rows = Vec::new();
    let wanted = columns(&["l", "d", "f", "i", "b", "u"], &[]);
    for chunk in open().select(&wanted).unwrap().with_limit(ChunkLimit { rows: 2, bytes: 1 << 20 })
    {
        let (chunk, mut numbers) = (chunk.unwrap(), Vec::new());
        assert_eq!(chunk.first_row() as usize, rows.len());
        assert!(chunk.n_rows() <= 2);
        assert_eq!(chunk.cell_text(0, 0), None);
        assert_eq!(chunk.unchanged(0, 0, 3.0), Cell::Number(3.0));
        chunk.numbers_into(&mut numbers).unwrap();
        rows.extend(numbers.chunks(6).map(<[f64]>::to_vec));
    }
    assert_eq!((rows.len(), open().count_rows().unwrap()), (6, 6));
    for (i, row) in rows.iter().enumerate() {
        let v = i as f64;
        let expected = [
            v * 2f64.powi(33),
            v + 0.5,
            f64::from(i as f32 + 0.1),
            v,
            f64::from(i as u32 % 2),
            4_294_967_295.0 - v,
        ];
        assert_eq!(row, &expected);
    }
}

#[test]
fn a_null_feature_names_its_row() {
    let mut numbers = Vec::new();
    let mut chunks = open().select(&columns(&["d", "maybe"], &[])).unwrap();
    chunks.next().unwrap().unwrap().numbers_into(&mut numbers).unwrap();
    let error = chunks.next().unwrap().unwrap().numbers_into(&mut numbers).unwrap_err();
    assert_eq!(
        error.to_string(),
        "people.parquet: row 4, column 'maybe': 'null' is not a finite number"
    );

    let read = |missing: Vec<Option<&'static str>>| {
        let wanted = Columns { missing, ..columns(&["d", "maybe"], &[]) };
        let mut numbers = Vec::new();
        open()
            .select(&wanted)
            .unwrap()
            .nth(1)
            .unwrap()
            .unwrap()
            .numbers_into(&mut numbers)
            .map(|()| numbers)
    };
    let numbers = read(vec![Some("never"), None]).unwrap();
    assert!(
        numbers[3].is_nan() && numbers.iter().filter(|value| value.is_nan()).count() == 1,
        "{numbers:?}"
    );
    let error = read(vec![None, Some("it counts")]).unwrap_err().to_string();
    assert_eq!(
        error,
        "people.parquet: row 4, column 'maybe': 'null' is a missing value: it counts"
    );
}

#[test]
fn ids_keep_their_types_and_gaps() {
    let wanted = columns(&["d"], &["who", "number", "b", "maybe"]);
    let mut chunks = open().select(&wanted).unwrap();
    let kinds: Vec<_> =
        chunks.plan().id_fields().iter().map(|field| format!("{:?}", field.kind())).collect();
    assert_eq!(kinds, ["Text", "Integer", "Text", "Float"]);
    let second = chunks.nth(1).unwrap().unwrap();
    assert_eq!(second.id(0, 0).unwrap(), Id::Text("p3".into()));
    assert_eq!(second.id(1, 0).unwrap(), Id::Null);
    assert_eq!(second.id(0, 2).unwrap().to_json(), serde_json::json!(true));
    let column = |k| second.id_column(k, 0..3).unwrap();
    assert_eq!(column(0), Column::optional_texts([Some("p3"), None, Some("p5")]));
    assert_eq!(column(1), Column::integers([Some(3i64 << 33), None, Some(5 << 33)]));
    assert_eq!(column(2), Column::texts(["true", "false", "true"]));
    assert_eq!(column(3), Column::floats([Some(3.5), None, Some(5.5)]));
}

#[test]
fn types_that_are_no_numbers_are_refused_by_name() {
    for column in ["who", "born", "money", "many"] {
        let message = refusal(&[column], &[]);
        assert!(
            message.starts_with(&format!("people.parquet: column '{column}' of type ")),
            "{message}"
        );
        assert!(message.ends_with("cannot be read as a number"), "{message}");
    }
    assert!(refusal(&["d"], &["money"]).ends_with("cannot be read as an id"));
    assert_eq!(refusal(&["D"], &[]), "people.parquet: no column 'D' (did you mean 'd'?)");
}

#[test]
fn files_that_are_not_parquet_are_refused() {
    let message = |bytes: &[u8]| {
        TableReader::from_read("p", Cursor::new(bytes.to_vec()), Format::Parquet)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message(b""), "p: empty file: no header");
    assert!(message(b"a,b\n1,2\n").starts_with("p: cannot read as Parquet: "));
    let whole = people();
    assert!(message(&whole[..whole.len() - 9]).starts_with("p: cannot read as Parquet: "));
}

/// Damage anywhere is an error or other numbers, never a panic.
#[test]
fn damaged_files_do_not_panic() {
    let whole = people();
    let wanted = columns(&["d", "f", "i", "l", "b", "maybe"], &["who", "number"]);
    let mut errors = 0;
    for at in 0..whole.len() {
        for mask in [0xff, 0x01, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            let read = || -> probe_io::Result<()> {
                let mut numbers = Vec::new();
                let reader = TableReader::from_read("p", Cursor::new(bytes), Format::Parquet)?;
                for chunk in reader.select(&wanted)? {
                    let chunk = chunk?;
                    chunk.numbers_into(&mut numbers).ok();
                    for k in 0..2 {
                        chunk.id_column(k, 0..chunk.n_rows()).ok();
                    }
                }
                Ok(())
            };
            errors += usize::from(read().is_err());
        }
    }
    assert!(errors > 100, "{errors}");
}
