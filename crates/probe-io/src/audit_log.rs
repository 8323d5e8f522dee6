//! An audit file that a service appends to while it runs: each append is durable before it
//! returns, or leaves no trace.

use crate::audit::{Chain, append_to, chain_of};
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;

/// An open audit file.
#[derive(Debug)]
pub struct AuditLog {
    name: String,
    file: File,
    chain: Chain,
    /// Whether bytes of a failed append may still be in the file.
    dirty: bool,
}

/// What was found when the file was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// Complete records.
    pub records: u64,
    /// Bytes of an incomplete record at the end, which were removed: the process ended before it
    /// was acknowledged.
    pub removed: u64,
}

impl AuditLog {
    /// Opens a file, or creates it. Removes an incomplete record at its end. Fails if the chain
    /// before that is broken, or another process has it open.
    pub fn open(path: impl AsRef<Path>) -> Result<(Self, Recovered)> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let fail = |source| Error::io(&name, "write", source);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(fail)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::file(&name, "another process is writing to it"));
        }
        let (chain, bytes) = chain_of(&file, &name)?;
        let removed = bytes - chain.bytes();
        let recovered = Recovered { records: chain.records, removed };
        let mut log = Self { name, file, chain, dirty: removed > 0 };
        log.clean()?;
        // The name of a new file must survive, too.
        if let Some(folder) = path.parent().filter(|_| recovered.records == 0) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            if let Ok(folder) = File::open(folder) {
                let _ = folder.sync_all();
            }
        }
        Ok((log, recovered))
    }

    /// The chain so far.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Appends records, each a JSON object as text, and waits until they are on the disk. After an
    /// error, none of them is in the chain, and the next call tries again.
    pub fn append<'r>(&mut self, records: impl IntoIterator<Item = &'r [u8]>) -> Result<()> {
        self.clean()?;
        let mut bytes = Vec::new();
        let mut chain = self.chain.clone();
        for record in records {
            append_to(&mut chain, record, &mut bytes).map_err(|what| Error::Output {
                column: "audit".to_owned(),
                what: what.to_owned(),
            })?;
        }
        self.dirty = true;
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                (self.chain, self.dirty) = (chain, false);
                Ok(())
            }
            Err(source) => {
                let error = Error::io(&self.name, "write", source);
                // If this fails, the next append tries again before it writes.
                let _ = self.clean();
                Err(error)
            }
        }
    }

    /// Removes what follows the last record of the chain.
    fn clean(&mut self) -> Result<()> {
        let fail = |source| Error::io(&self.name, "write", source);
        if self.dirty {
            self.file.set_len(self.chain.bytes()).map_err(fail)?;
            self.file.sync_all().map_err(fail)?;
        }
        self.file.seek(SeekFrom::Start(self.chain.bytes())).map_err(fail)?;
        self.dirty = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify_audit;

    fn append(log: &mut AuditLog, text: &str) {
        log.append([text.as_bytes(), text.as_bytes()]).unwrap();
    }

    #[test]
    fn the_chain_goes_on_after_a_cut_at_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (mut log, recovered) = AuditLog::open(&path).unwrap();
        assert_eq!(recovered, Recovered { records: 0, removed: 0 });
        append(&mut log, r#"{"row":0,"name":"ä"}"#);
        let whole = std::fs::read(&path).unwrap();
        let two = log.chain().clone();
        append(&mut log, r#"{"row":1}"#);
        drop(log);
        assert_eq!(verify_audit(&path).unwrap().records, 4);
        let good = std::fs::read(&path).unwrap();
        let ends: Vec<usize> =
            good.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
        for cut in whole.len()..good.len() {
            std::fs::write(&path, &good[..cut]).unwrap();
            let (mut log, recovered) = AuditLog::open(&path).unwrap();
            let complete = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(recovered.records, complete as u64, "cut at {cut}");
            assert_eq!(recovered.removed, (cut - ends[complete - 1]) as u64);
            if complete == 2 {
                assert_eq!(log.chain(), &two);
            }
            append(&mut log, r#"{"row":2}"#);
            assert_eq!(verify_audit(&path).unwrap().records, complete as u64 + 2);
        }
    }

    #[test]
    fn a_change_before_the_end_is_not_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (mut log, _) = AuditLog::open(&path).unwrap();
        append(&mut log, r#"{"row":0}"#);
        assert!(AuditLog::open(&path).unwrap_err().to_string().contains("another process"));
        drop(log);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"row\":0", "\"row\":7", 1)).unwrap();
        assert!(AuditLog::open(&path).unwrap_err().to_string().contains("changed"));
        assert!(std::fs::read_to_string(&path).unwrap().contains("\"row\":7"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_failed_append_leaves_nothing_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let (mut log, _) = AuditLog::open(&path).unwrap();
        append(&mut log, r#"{"row":0}"#);
        // A file that is not open for writing fails like a full disk.
        let good = std::mem::replace(&mut log.file, File::open(&path).unwrap());
        assert!(log.append([r#"{"row":1}"#.as_bytes()]).is_err());
        log.file = good;
        append(&mut log, r#"{"row":2}"#);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(verify_audit(&path).unwrap().records, 4);
        assert!(!text.contains("\"row\":1"));
    }
}
