//! Bearer tokens.

use anyhow::{Context as _, Result, bail};
use axum::http::{HeaderMap, header};
use probe_io::Checksum;
use std::path::Path;

/// Checksums of the tokens that are accepted.
#[derive(Debug)]
pub(crate) struct Tokens(Vec<String>);

impl Tokens {
    /// Reads a file of one token a line; empty lines and lines that start with # are skipped.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot read tokens", path.display()))?;
        let lines = text.lines().map(str::trim);
        let tokens: Vec<String> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| Checksum::of(line.as_bytes()))
            .collect();
        if tokens.is_empty() {
            bail!("{}: no token in it", path.display());
        }
        Ok(Self(tokens))
    }

    /// Whether the request carries one of the tokens. Takes as long for a wrong token as for a
    /// right one: checksums are compared whole, and all of them.
    pub(crate) fn admit(&self, headers: &HeaderMap) -> bool {
        let value = headers.get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let given = value.and_then(|value| {
            let (scheme, token) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
        });
        let given = Checksum::of(given.unwrap_or_default());
        let differ = |a: &str, b: &str| {
            a.bytes().zip(b.bytes()).fold(0_u8, |all, (a, b)| std::hint::black_box(all | (a ^ b)))
        };
        self.0.iter().fold(false, |found, token| found | (differ(token, &given) == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_token_is_admitted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "# tokens\nsecret\n\nother token \n").unwrap();
        let tokens = Tokens::read(file.path()).unwrap();
        let admit = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            tokens.admit(&headers)
        };
        for good in ["Bearer secret", "bearer secret", "Bearer other token"] {
            assert!(admit(good), "{good}");
        }
        for bad in ["Bearer secre", "Bearer secrets", "secret", "Basic secret", "Bearer", ""] {
            assert!(!admit(bad), "{bad}");
        }
        assert!(!tokens.admit(&HeaderMap::new()));
        std::fs::write(file.path(), "# none\n").unwrap();
        assert!(Tokens::read(file.path()).is_err());
    }
}
