//! `benches/counts.json`: stored instruction counts, with compiler and processor.

use crate::folders;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// A count fails if it is higher than the stored one by more than this share. If it is lower by
/// more than that, a note says so.
pub(super) const TOLERANCE: f64 = 0.03;

/// Instructions per unit by kernel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stored {
    /// The compiler; empty where nothing is stored.
    pub(super) rustc: String,
    /// Vector instructions that the processor has and the code therefore uses.
    pub(super) vectors: String,
    pub(super) counts: BTreeMap<String, f64>,
}

/// A count compared with the stored one, with the relative difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Unknown,
    Same,
    More(f64),
    Fewer(f64),
}

fn path() -> PathBuf {
    folders::root().join("benches/counts.json")
}

impl Stored {
    /// What is stored; empty if there is no file.
    pub(super) fn load() -> Result<Self> {
        match std::fs::read(path()) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            read => Ok(serde_json::from_slice(&read?)
                .context("benches/counts.json is not what we wrote")?),
        }
    }

    /// These counts, with this compiler and this processor.
    pub(super) fn now(counts: BTreeMap<String, f64>) -> Result<Self> {
        let compiler =
            Command::new("rustc").arg("--version").output().context("cannot start rustc")?;
        let rustc = String::from_utf8_lossy(&compiler.stdout).trim().to_owned();
        Ok(Self { rustc, vectors: vectors(), counts })
    }

    pub(super) fn save(&self) -> Result<()> {
        Ok(std::fs::write(path(), serde_json::to_string_pretty(self)? + "\n")?)
    }

    pub(super) fn made_by(&self) -> String {
        format!("Compiled by {}, for a processor with {}", self.rustc, self.vectors)
    }

    /// A note if the stored counts are of another compiler or processor.
    pub(super) fn differs_from(&self, other: &Self) -> Option<String> {
        let same =
            self.rustc.is_empty() || (&self.rustc, &self.vectors) == (&other.rustc, &other.vectors);
        (!same).then(|| {
            format!(
                "stored counts are by {} with {}, these by {} with {}",
                self.rustc, self.vectors, other.rustc, other.vectors
            )
        })
    }

    pub(super) fn judge(&self, kernel: &str, count: f64) -> Verdict {
        match self.counts.get(kernel).map(|stored| count / stored - 1.0) {
            None => Verdict::Unknown,
            Some(by) if by > TOLERANCE => Verdict::More(by),
            Some(by) if by < -TOLERANCE => Verdict::Fewer(-by),
            Some(_) => Verdict::Same,
        }
    }
}

/// Vector instructions of this processor, as far as the code selects its kernels by them.
fn vectors() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        let has =
            [("avx2", is_x86_feature_detected!("avx2")), ("fma", is_x86_feature_detected!("fma"))];
        let names: Vec<&str> = has.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
        if !names.is_empty() {
            return names.join(" and ");
        }
    }
    format!("no vector instructions beyond those of {}", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(rustc: &str, count: f64) -> Stored {
        Stored {
            rustc: rustc.to_owned(),
            vectors: "v".to_owned(),
            counts: [("a".to_owned(), count)].into(),
        }
    }

    #[test]
    fn three_percent_more_fail_and_fewer_are_noted() {
        let stored = stored("1", 1_000.0);
        let judge = |count| stored.judge("a", count);
        assert_eq!([judge(1_029.0), judge(971.0), judge(1_000.0)], [Verdict::Same; 3]);
        assert!(matches!(judge(1_031.0), Verdict::More(by) if (by - 0.031).abs() < 1e-12));
        assert!(matches!(judge(900.0), Verdict::Fewer(by) if (by - 0.1).abs() < 1e-12));
        assert_eq!(stored.judge("b", 1.0), Verdict::Unknown);
    }

    #[test]
    fn another_compiler_is_named_and_nothing_stored_is_none() {
        let text = stored("1.95", 1.0).differs_from(&stored("1.96", 1.0)).unwrap();
        assert!(text.contains("1.95") && text.contains("1.96"), "{text}");
        assert_eq!(stored("1.95", 1.0).differs_from(&stored("1.95", 2.0)), None);
        assert_eq!(Stored::default().differs_from(&stored("1.95", 1.0)), None);
    }
}
