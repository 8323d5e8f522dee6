//! UBJSON, the binary form of JSON that XGBoost writes.
//!
//! Memory is bounded by the file's size: a count is used only if the promised bytes are
//! there, and containers whose items take no bytes are rejected.

use crate::error::{Error, Result, excerpt};
use serde_json::{Map, Number, Value};

/// Containers within containers; XGBoost nests 8 deep.
const DEPTH: usize = 64;

/// Reads a whole document. Numbers that JSON cannot represent become texts such as `"NaN"`, which
/// the importers reject where they expect a number.
pub(super) fn parse(bytes: &[u8], file: &str) -> Result<Value> {
    let mut reader = Reader { bytes, at: 0, file };
    let marker = reader.marker()?;
    let value = reader.value(marker, 0)?;
    match reader.left() {
        0 => Ok(value),
        left => Err(reader.error(format!("{left} bytes after the end of the document"))),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    file: &'a str,
}

/// The declared content of a container.
struct Header {
    /// The marker of every item.
    marker: Option<u8>,
    count: Option<usize>,
}

impl<'a> Reader<'a> {
    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::file(self.file, format!("UBJSON, byte {}: {what}", self.at))
    }

    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some(end) = self.at.checked_add(n).filter(|&end| end <= self.bytes.len()) else {
            return Err(self.error(format!(
                "{n} more bytes expected, {} left: the file is cut short",
                self.left()
            )));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The next marker; no-ops are skipped.
    fn marker(&mut self) -> Result<u8> {
        loop {
            match self.array()? {
                [b'N'] => {}
                [marker] => return Ok(marker),
            }
        }
    }

    fn integer(&mut self, marker: u8) -> Result<Option<i64>> {
        Ok(Some(match marker {
            b'i' => i8::from_be_bytes(self.array()?).into(),
            b'U' => u8::from_be_bytes(self.array()?).into(),
            b'I' => i16::from_be_bytes(self.array()?).into(),
            b'l' => i32::from_be_bytes(self.array()?).into(),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Ok(None),
        }))
    }

    /// A length or a count.
    fn length(&mut self) -> Result<usize> {
        let [marker] = self.array()?;
        match self.integer(marker)? {
            Some(length) => {
                usize::try_from(length).map_err(|_| self.error(format!("a length of {length}")))
            }
            None => Err(self.error(format!("expected a length, found {}", shown(marker)))),
        }
    }

    fn text(&mut self, length: usize) -> Result<String> {
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.error(format!("'{}' is not UTF-8", excerpt(bytes)))),
        }
    }

    fn value(&mut self, marker: u8, depth: usize) -> Result<Value> {
        if let Some(integer) = self.integer(marker)? {
            return Ok(integer.into());
        }
        Ok(match marker {
            b'Z' => Value::Null,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'd' => float(f32::from_be_bytes(self.array()?).into()),
            b'D' => float(f64::from_be_bytes(self.array()?)),
            b'C' => Value::String(self.text(1)?),
            b'S' => {
                let length = self.length()?;
                Value::String(self.text(length)?)
            }
            b'[' | b'{' if depth == DEPTH => {
                return Err(self.error(format!("more than {DEPTH} containers within one another")));
            }
            b'[' => Value::Array(self.items(depth + 1)?),
            b'{' => Value::Object(self.fields(depth + 1)?),
            other => return Err(self.error(format!("expected a value, found {}", shown(other)))),
        })
    }

    fn header(&mut self) -> Result<Header> {
        let mut header = Header { marker: None, count: None };
        if self.peek() == Some(b'$') {
            let [_, marker] = self.array()?;
            // A count of items without bytes would not be limited by the size of the file. XGBoost
            // writes no items of other kinds.
            let bytes = match marker {
                b'i' | b'U' | b'C' => 1,
                b'I' => 2,
                b'l' | b'd' => 4,
                b'L' | b'D' => 8,
                _ => {
                    return Err(
                        self.error(format!("a container of {}, which is not read", shown(marker)))
                    );
                }
            };
            header.marker = Some(marker);
            let [hash] = self.array()?;
            if hash != b'#' {
                return Err(self.error(format!("expected a count (#), found {}", shown(hash))));
            }
            header.count = Some(self.count(bytes)?);
        } else if self.peek() == Some(b'#') {
            self.at += 1;
            header.count = Some(self.count(1)?);
        }
        Ok(header)
    }

    /// A count of items of at least so many bytes each.
    fn count(&mut self, bytes: usize) -> Result<usize> {
        let count = self.length()?;
        if count.checked_mul(bytes).is_none_or(|total| total > self.left()) {
            let left = self.left();
            return Err(self.error(format!(
                "{count} items expected, {left} bytes left: the file is cut short"
            )));
        }
        Ok(count)
    }

    fn items(&mut self, depth: usize) -> Result<Vec<Value>> {
        let header = self.header()?;
        // Items with a marker are no containers, so that their bytes belong to this array alone.
        // Nested counts could promise the same bytes several times.
        let mut items = Vec::with_capacity(header.marker.and(header.count).unwrap_or(0));
        while header.count.is_none_or(|count| items.len() < count) {
            let marker = match header.marker {
                Some(marker) => marker,
                None => self.marker()?,
            };
            if header.count.is_none() && marker == b']' {
                break;
            }
            items.push(self.value(marker, depth)?);
        }
        Ok(items)
    }

    fn fields(&mut self, depth: usize) -> Result<Map<String, Value>> {
        let header = self.header()?;
        let mut fields = Map::new();
        while header.count.is_none_or(|count| fields.len() < count) {
            if header.count.is_none() && self.peek() == Some(b'}') {
                self.at += 1;
                break;
            }
            let length = self.length()?;
            let key = self.text(length)?;
            let marker = match header.marker {
                Some(marker) => marker,
                None => self.marker()?,
            };
            let value = self.value(marker, depth)?;
            if fields.contains_key(&key) {
                return Err(
                    self.error(format!("the key '{}' appears twice", excerpt(key.as_bytes())))
                );
            }
            fields.insert(key, value);
        }
        Ok(fields)
    }
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number)
}

fn shown(marker: u8) -> String {
    if marker.is_ascii_graphic() {
        format!("'{}'", marker as char)
    } else {
        format!("the byte {marker:#04x}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn message(bytes: &[u8]) -> String {
        parse(bytes, "m.ubj").unwrap_err().to_string()
    }

    #[test]
    fn values_are_as_worked_out() {
        let bytes =
            b"{U\x01a[i\xffU\xffI\x01\x00l\x00\x01\x00\x00ZTF]i\x01bSi\x02hiU\x01c[$d#i\x02\
                      \x3f\x00\x00\x00\x7f\xc0\x00\x00\
                      U\x01d{#i\x01i\x01xD\x3f\xb9\x99\x99\x99\x99\x99\x9a\
                      U\x01e[#L\x00\x00\x00\x00\x00\x00\x00\x00i\x01fCx}";
        let expected = json!({"a": [-1, 255, 256, 65536, null, true, false], "b": "hi", "c": [0.5,
            "NaN"],
                              "d": {"x": 0.1}, "e": [], "f": "x"});
        assert_eq!(parse(bytes, "m").unwrap(), expected);
    }

    #[test]
    fn counts_that_the_file_does_not_hold_are_refused() {
        let huge = b"L\x7f\xff\xff\xff\xff\xff\xff\xff";
        for start in [&b"[#"[..], b"[$d#", b"[$U#", b"{#", b"S", b"{"] {
            let text = message(&[start, huge, b"abc"].concat());
            assert!(text.contains("cut short"), "{text}");
        }
        // Items without bytes.
        for marker in *b"ZTFN" {
            let text = message(&[b"[$", &[marker][..], b"#", huge].concat());
            assert!(text.contains("which is not read"), "{text}");
        }
        assert!(message(b"[$U#i\xff").contains("a length of -1"));
        assert!(message(&[b'['; 1_000]).contains("within one another"));
        assert!(message(b"{i\x01ai\x01i\x01ai\x02}").contains("'a' appears twice"));
        assert!(message(b"i\x01i").contains("1 bytes after the end"));
        assert!(message(b"Si\x01\xff").contains("not UTF-8"));
        assert!(message(b"[x]").contains("found 'x'"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, "m");
        }

        #[test]
        fn no_markers_make_it_panic(bytes in proptest::collection::vec(
            proptest::sample::select(b"{}[]$#iUIlLdDSCZTFN\x00\x01\x02a".to_vec()),
            0..200,
        )) {
            let _ = parse(&bytes, "m");
        }
    }
}
