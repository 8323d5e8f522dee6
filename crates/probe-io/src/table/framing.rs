//! Where records end in a byte stream. Framing is all that the reader thread does to text; cells
//! are split by workers.

use memchr::{memchr, memchr2};

/// What is at a position of the data read so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// A record at `start..end`; the next frame starts at `next`.
    Record { start: usize, end: usize, next: usize },
    /// Nothing of interest before this position.
    Blank(usize),
    /// More data is needed.
    More,
    /// The end of the table.
    Finished,
    /// The stream is broken here.
    Bad(String),
}

/// How records are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Lines, but a line end within quotes does not count.
    Csv,
    /// The same for a table of one column: an empty line is a row whose cell is empty.
    CsvColumn,
    /// Lines.
    Lines,
    /// Objects of one JSON array.
    Array(ArrayState),
}

/// How far into a JSON array the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArrayState {
    Before,
    First,
    Later,
    After,
}

impl Framing {
    /// The frame at `pos`; `eof`: nothing will follow `data`.
    pub(crate) fn next(&mut self, data: &[u8], pos: usize, eof: bool) -> Frame {
        match self {
            Self::Csv => csv(data, pos, eof),
            Self::CsvColumn => match csv(data, pos, eof) {
                Frame::Blank(next) => Frame::Record { start: pos, end: pos, next },
                frame => frame,
            },
            Self::Lines => match (memchr(b'\n', &data[pos..]), eof) {
                (Some(at), _) => line(data, pos, pos + at, pos + at + 1),
                (None, true) if pos == data.len() => Frame::Finished,
                (None, true) => line(data, pos, data.len(), data.len()),
                (None, false) => Frame::More,
            },
            Self::Array(state) => array(state, data, pos, eof),
        }
    }
}

/// A line without its end; an empty one is blank.
fn line(data: &[u8], start: usize, mut end: usize, next: usize) -> Frame {
    if end > start && data[end - 1] == b'\r' {
        end -= 1;
    }
    if start == end { Frame::Blank(next) } else { Frame::Record { start, end, next } }
}

fn csv(data: &[u8], start: usize, eof: bool) -> Frame {
    let mut pos = start;
    loop {
        let Some(at) = memchr2(b'\n', b'"', &data[pos..]).map(|at| pos + at) else {
            return match eof {
                true if start == data.len() => Frame::Finished,
                true => line(data, start, data.len(), data.len()),
                false => Frame::More,
            };
        };
        if data[at] == b'\n' {
            return line(data, start, at, at + 1);
        }
        // A quote opens a quoted cell only at the cell's start; elsewhere it is a character like
        // any other.
        if at > start && data[at - 1] != b',' {
            pos = at + 1;
            continue;
        }
        match closing_quote(data, at + 1) {
            Some(close) => pos = close + 1,
            None if eof => return Frame::Bad("a quote is opened and never closed".to_owned()),
            None => return Frame::More,
        }
    }
}

/// The quote that ends the quoted text from `pos` on; doubled quotes mean one quote and do not end
/// it.
pub(crate) fn closing_quote(data: &[u8], mut pos: usize) -> Option<usize> {
    loop {
        let at = pos + memchr(b'"', &data[pos..])?;
        if data.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        pos = at + 2;
    }
}

fn array(state: &mut ArrayState, data: &[u8], pos: usize, eof: bool) -> Frame {
    let Some(mut start) = skip_space(data, pos) else {
        return match (eof, *state) {
            (false, _) => Frame::More,
            (true, ArrayState::After) => Frame::Finished,
            (true, ArrayState::Before) => {
                Frame::Bad("expected an array of objects, found nothing".to_owned())
            }
            (true, _) => Frame::Bad("the array is never closed".to_owned()),
        };
    };
    match (*state, data[start]) {
        (ArrayState::Before, b'[') => {
            *state = ArrayState::First;
            Frame::Blank(start + 1)
        }
        (ArrayState::Before, _) => Frame::Bad(
            "expected an array of objects: [{…}, …] (one object a line is jsonl)".to_owned(),
        ),
        (ArrayState::First | ArrayState::Later, b']') => {
            *state = ArrayState::After;
            Frame::Blank(start + 1)
        }
        (ArrayState::After, _) => Frame::Bad("something follows the array".to_owned()),
        (current, byte) => {
            if current == ArrayState::Later {
                if byte != b',' {
                    return Frame::Bad("expected a comma between objects".to_owned());
                }
                match skip_space(data, start + 1) {
                    Some(next) => start = next,
                    None if eof => return Frame::Bad("the array is never closed".to_owned()),
                    None => return Frame::More,
                }
            }
            if data[start] != b'{' {
                return Frame::Bad("expected an object: {\"column\": value, …}".to_owned());
            }
            match object_end(data, start) {
                Some(end) => {
                    *state = ArrayState::Later;
                    Frame::Record { start, end, next: end }
                }
                None if eof => Frame::Bad("an object is never closed".to_owned()),
                None => Frame::More,
            }
        }
    }
}

fn skip_space(data: &[u8], pos: usize) -> Option<usize> {
    data[pos..].iter().position(|byte| !byte.is_ascii_whitespace()).map(|at| pos + at)
}

/// Just past the brace that closes the object at `start`.
fn object_end(data: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut pos = start;
    while let Some(&byte) = data.get(pos) {
        pos += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(pos);
                }
            }
            b'"' => loop {
                let at = pos + memchr2(b'"', b'\\', data.get(pos..)?)?;
                if data[at] == b'"' {
                    pos = at + 1;
                    break;
                }
                pos = at + 2;
            },
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames `text`, given `step` bytes at a time, into records.
    fn records(framing: Framing, text: &str, step: usize) -> Result<Vec<String>, String> {
        let bytes = text.as_bytes();
        let (mut framing, mut pos, mut seen, mut found) = (framing, 0, 0, Vec::new());
        loop {
            let eof = seen >= bytes.len();
            match framing.next(&bytes[..seen.min(bytes.len())], pos, eof) {
                Frame::Record { start, end, next } => {
                    found.push(text[start..end].to_owned());
                    pos = next;
                }
                Frame::Blank(next) => pos = next,
                Frame::More => seen += step,
                Frame::Finished => return Ok(found),
                Frame::Bad(what) => return Err(what),
            }
        }
    }

    #[test]
    fn csv_records_end_at_line_ends_outside_quotes() {
        let text = "a,b\r\n\r\n1,\"x\ny\"\n\n\"p \"\"q\"\"\n\",2\nmid\"quote,3\nlast,4";
        let expected = ["a,b", "1,\"x\ny\"", "\"p \"\"q\"\"\n\",2", "mid\"quote,3", "last,4"];
        for step in [1, 2, 3, 7, 100] {
            assert_eq!(records(Framing::Csv, text, step).unwrap(), expected, "step {step}");
        }
        assert!(records(Framing::Csv, "a\n\"open\n", 3).unwrap_err().contains("never closed"));
    }

    #[test]
    fn an_empty_line_is_a_row_where_there_is_one_column() {
        for step in [1, 2, 100] {
            let found = records(Framing::CsvColumn, "0.1\n\n\r\n\"\"\n0.9\n", step).unwrap();
            assert_eq!(found, ["0.1", "", "", "\"\"", "0.9"], "step {step}");
        }
    }

    #[test]
    fn json_objects_end_at_their_brace() {
        let framing = Framing::Array(ArrayState::Before);
        let text = " [ {\"a\": \"}\\\"{\"} ,\n{\"b\": [{}, {\"c\": 1}]} ] \n";
        for step in [1, 2, 5, 100] {
            let found = records(framing, text, step).unwrap();
            assert_eq!(found, ["{\"a\": \"}\\\"{\"}", "{\"b\": [{}, {\"c\": 1}]}"], "step {step}");
        }
        assert!(records(framing, "[]", 1).unwrap().is_empty());
        for bad in ["", "{}", "[{}", "[{},", "[{},]", "[{} {}]", "[1]", "[{}] x", "[{\"a"] {
            assert!(records(framing, bad, 1).is_err(), "{bad}");
        }
    }
}
