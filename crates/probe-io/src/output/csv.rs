//! CSV out: shortest floats, empty cells for no value, quotes only where needed.

use super::batch::{Cell, Column};
use super::field::Field;
use crate::number;

/// The header line.
pub(super) fn header(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        append_text(&mut out, field.name().as_bytes());
    }
    out.push(b'\n');
    out
}

/// The lines of `n_rows` rows.
pub(super) fn encode(columns: &[Column<'_>], n_rows: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(n_rows * columns.len() * 10);
    for row in 0..n_rows {
        let start = out.len();
        for (i, column) in columns.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            match column {
                Column::Floats(cells) => match &cells[row] {
                    Cell::Empty => {}
                    Cell::Number(value) => number::append_float(&mut out, *value),
                    Cell::Whole(value) => number::append_integer(&mut out, *value),
                    Cell::Verbatim(verbatim) => out.extend_from_slice(verbatim.text),
                },
                // Values that are not finite are written as missing.
                Column::Numbers(values) => number::append_float(&mut out, values[row]),
                Column::Integers(cells) => {
                    if let Some(value) = cells[row] {
                        number::append_integer(&mut out, value);
                    }
                }
                Column::Texts(cells) => {
                    if let Some(text) = &cells[row] {
                        append_text(&mut out, text.as_bytes());
                    }
                }
                Column::Booleans(values) => {
                    out.extend_from_slice(if values[row] { b"true" } else { b"false" });
                }
            }
        }
        // An empty line is no record: a lone empty cell is written as a pair of quotes.
        if out.len() == start {
            out.extend_from_slice(b"\"\"");
        }
        out.push(b'\n');
    }
    out
}

fn append_text(out: &mut Vec<u8>, text: &[u8]) {
    if !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for &byte in text {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_only_where_needed() {
        let columns = [
            Column::integers([Some(-3), None]),
            Column::floats([Cell::Number(0.25), Cell::verbatim(b" 1.50", 1.5)]),
            Column::optional_texts([Some("say \"a, b\"\n"), Some("plain")]),
            Column::floats([f64::NAN, 1e300]),
            Column::Numbers(vec![f64::INFINITY, 0.5]),
            Column::booleans([true, false]),
        ];
        let text = String::from_utf8(encode(&columns, 2)).unwrap();
        let first = "-3,0.25,\"say \"\"a, b\"\"\n\",,,true\n";
        assert_eq!(text, format!("{first}, 1.50,plain,1e+300,0.5,false\n"));
        assert_eq!(encode(&[Column::integers([None::<i64>])], 1), b"\"\"\n");
        assert_eq!(header(&[Field::text("a"), Field::text("b,c")]), b"a,\"b,c\"\n");
    }
}
