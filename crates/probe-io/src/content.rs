//! The kind of a file, detected from its first bytes, for messages that say what was found
//! instead.

use crate::error::excerpt;
use std::fmt;

/// What the bytes look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    Empty,
    Json,
    Parquet,
    Gzip,
    Zip,
    Utf16,
    Pickle,
    Binary,
    /// Text that starts with this line.
    Text(String),
}

const MARK: &[u8] = b"\xef\xbb\xbf";

/// Without a UTF-8 byte order mark.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK).unwrap_or(bytes)
}

/// The first of a JSON document's own keys that is among `known`, and what follows its colon. The
/// text may end early.
pub(crate) fn first_key<'a>(bytes: &'a [u8], known: &[&[u8]]) -> Option<(&'a [u8], &'a [u8])> {
    let text = without_mark(bytes).trim_ascii_start();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = at;
                while let Some(&byte) = text.get(at).filter(|&&byte| byte != b'"') {
                    at += if byte == b'\\' { 2 } else { 1 };
                }
                let key = text.get(start..at).unwrap_or_default();
                at += 1;
                let after =
                    text.get(at..).and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"));
                if let (1, true, Some(after)) = (depth, known.contains(&key), after) {
                    return Some((key, after.trim_ascii_start()));
                }
            }
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

/// Detects the kind of a file from its first bytes.
pub(crate) fn recognise(bytes: &[u8]) -> Content {
    let text = without_mark(bytes).trim_ascii_start();
    match text {
        [] => Content::Empty,
        [b'P', b'A', b'R', b'1', ..] => Content::Parquet,
        [0x1f, 0x8b, ..] => Content::Gzip,
        [b'P', b'K', 3, 4, ..] => Content::Zip,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Content::Utf16,
        [0x80, 2..=5, ..] => Content::Pickle,
        // XGBoost's binary UBJSON starts with an object as well, but its keys have binary lengths.
        [b'{' | b'[', rest @ ..] if is_text(rest) => Content::Json,
        _ if is_text(text) => Content::Text(first_line(text)),
        _ => Content::Binary,
    }
}

fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    !head.iter().any(|&byte| byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r'))
}

fn first_line(text: &[u8]) -> String {
    excerpt(text.split(|&byte| byte == b'\n').next().unwrap_or(text).trim_ascii_end())
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty file"),
            Self::Json => f.write_str("JSON"),
            Self::Parquet => f.write_str("a Parquet file"),
            Self::Gzip => f.write_str("a gzip file"),
            Self::Zip => f.write_str("a zip archive"),
            Self::Utf16 => f.write_str("UTF-16 text (save it as UTF-8)"),
            Self::Pickle => f.write_str("a Python pickle"),
            Self::Binary => f.write_str("binary data"),
            Self::Text(line) => write!(f, "text starting with '{line}'"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_told_apart() {
        let cases: [(&[u8], &str); 9] = [
            (b"", "an empty file"),
            (b" \n {\"a\": 1}", "JSON"),
            (b"\xef\xbb\xbf{}", "JSON"),
            (b"PAR1....", "a Parquet file"),
            (b"\x1f\x8b\x08", "a gzip file"),
            (b"\x80\x04\x95", "a Python pickle"),
            (b"a,b\r\n1,2\r\n", "text starting with 'a,b'"),
            (b"{L\x00\x00", "binary data"),
            (b"\x08\x07\x12", "binary data"),
        ];
        for (bytes, found) in cases {
            assert_eq!(recognise(bytes).to_string(), found);
        }
    }
}
