//! CSV records into cells.

use super::framing::closing_quote;
use super::records::RawText;
use super::text::{TextCells, place_of};
use crate::error::{Error, Result};
use memchr::{memchr, memchr_iter};

/// Splits a run of records into rows of `n_columns` cells. A ragged record ends the rows and is
/// returned beside them.
pub(crate) fn decode(raw: RawText, n_columns: usize, file: &str) -> (TextCells, Option<Error>) {
    let mut spans = Vec::with_capacity(raw.records.len() * n_columns);
    let mut extra = Vec::new();
    let quoted = memchr(b'"', &raw.data).is_some();
    let mut ragged = None;
    for (row, &(start, end)) in raw.records.iter().enumerate() {
        let before = spans.len();
        if quoted {
            split_quoted(&raw.data, start, end, &mut spans, &mut extra);
        } else {
            split_plain(&raw.data, start, end, &mut spans);
        }
        let found = spans.len() - before;
        if found != n_columns {
            spans.truncate(before);
            let place = place_of(&raw, row, true);
            ragged =
                Some(Error::Ragged { file: file.to_owned(), place, expected: n_columns, found });
            break;
        }
    }
    (TextCells::new(raw, &extra, spans, n_columns, true), ragged)
}

/// The names in a header record, without the spaces around them.
pub(crate) fn header(raw: &RawText, file: &str) -> Result<Vec<String>> {
    let (mut spans, mut extra) = (Vec::new(), Vec::new());
    let (start, end) = raw.records[0];
    split_quoted(&raw.data, start, end, &mut spans, &mut extra);
    let all = [raw.data.as_slice(), &extra].concat();
    let name = |&(start, end): &(u32, u32)| match std::str::from_utf8(
        &all[start as usize..end as usize],
    ) {
        Ok(name) if name.contains('\r') => {
            Err(Error::file(file, "lines end in bare carriage returns: save with \\n or \\r\\n"))
        }
        Ok(name) => Ok(name.trim_matches([' ', '\t']).to_owned()),
        Err(_) => Err(Error::file(file, "the header is not UTF-8 text")),
    };
    spans.iter().map(name).collect()
}

/// Cells of a record without quotes.
fn split_plain(data: &[u8], start: u32, end: u32, spans: &mut Vec<(u32, u32)>) {
    let mut cell = start;
    for at in memchr_iter(b',', &data[start as usize..end as usize]) {
        let comma = start + at as u32;
        spans.push((cell, comma));
        cell = comma + 1;
    }
    spans.push((cell, end));
}

/// Cells of any record. Quoted cells lose their quotes; those with doubled quotes, or with text
/// after the closing quote, are unescaped into `extra`, whose offsets start at the data's end.
fn split_quoted(
    data: &[u8],
    start: u32,
    end: u32,
    spans: &mut Vec<(u32, u32)>,
    extra: &mut Vec<u8>,
) {
    let record = &data[..end as usize];
    let mut pos = start as usize;
    loop {
        let next = if record.get(pos) == Some(&b'"') {
            let close = closing_quote(record, pos + 1).unwrap_or(record.len());
            let inner = &record[pos + 1..close];
            let after = (close + 1).min(record.len());
            let next = memchr(b',', &record[after..]).map(|at| after + at);
            let rest = &record[after..next.unwrap_or(record.len())];
            if rest.is_empty() && memchr(b'"', inner).is_none() {
                spans.push(((pos + 1) as u32, close as u32));
            } else {
                let from = data.len() + extra.len();
                unescape(inner, extra);
                extra.extend_from_slice(rest);
                spans.push((from as u32, (data.len() + extra.len()) as u32));
            }
            next
        } else {
            let next = memchr(b',', &record[pos..]).map(|at| pos + at);
            spans.push((pos as u32, next.unwrap_or(record.len()) as u32));
            next
        };
        match next {
            Some(comma) => pos = comma + 1,
            None => return,
        }
    }
}

fn unescape(mut inner: &[u8], out: &mut Vec<u8>) {
    while let Some(at) = memchr(b'"', inner) {
        out.extend_from_slice(&inner[..=at]);
        inner = &inner[(at + 2).min(inner.len())..];
    }
    out.extend_from_slice(inner);
}

#[cfg(test)]
mod tests {
    use super::super::framing::Framing;
    use super::super::records::{ChunkLimit, RecordReader};
    use super::*;
    use proptest::prelude::*;

    /// The cells of every record, read in small runs.
    fn ours(text: &[u8], rows: usize) -> Vec<Vec<Vec<u8>>> {
        let input = Box::new(std::io::Cursor::new(text.to_vec()));
        let mut reader = RecordReader::new("t.csv".into(), input, Framing::Csv);
        let mut found = Vec::new();
        while let Some(raw) = reader.next(ChunkLimit { rows, bytes: 50 }).unwrap() {
            for &(start, end) in &raw.records {
                let (mut spans, mut extra) = (Vec::new(), Vec::new());
                split_quoted(&raw.data, start, end, &mut spans, &mut extra);
                let all = [raw.data.as_slice(), &extra].concat();
                found
                    .push(spans.iter().map(|s| all[s.0 as usize..s.1 as usize].to_vec()).collect());
            }
        }
        found
    }

    fn theirs(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        let cells = |record: csv::ByteRecord| record.iter().map(<[u8]>::to_vec).collect();
        reader.byte_records().map(|record| cells(record.unwrap())).collect()
    }

    #[test]
    fn a_ragged_record_ends_the_rows() {
        let input = Box::new(std::io::Cursor::new(b"1,2\n\n3,4\n5\n6,7\n".to_vec()));
        let mut reader = RecordReader::new("t.csv".into(), input, Framing::Csv);
        let raw = reader.next(ChunkLimit::default()).unwrap().unwrap();
        let (cells, ragged) = decode(raw, 2, "t.csv");
        assert_eq!(cells.n_rows(), 2);
        assert_eq!(cells.cell(1, 0), b"3");
        let message = ragged.unwrap().to_string();
        assert_eq!(
            message,
            "t.csv: row 2 (line 4): expected 2 cells (one per column of the header), found 1"
        );
    }

    proptest! {
        #[test]
        fn cells_are_those_of_the_csv_crate(text in "([a,b\" ]|\"\"|\n|\r\n){0,60}",
            rows in 1usize..4) {
            // An open quote is an error here and runs to the end there; a stray CR cannot arise
            // from this alphabet.
            let mut framing = Framing::Csv;
            let bytes = text.as_bytes();
            let mut pos = 0;
            let closed = loop {
                match framing.next(bytes, pos, true) {
                    super::super::framing::Frame::Record { next, .. } => pos = next,
                    super::super::framing::Frame::Blank(next) => pos = next,
                    super::super::framing::Frame::Finished => break true,
                    _ => break false,
                }
            };
            prop_assume!(closed && !text.trim().is_empty());
            prop_assert_eq!(ours(bytes, rows), theirs(bytes));
        }
    }
}
