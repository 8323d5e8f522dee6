//! Audit records: an append-only file of JSON Lines, each record chained to the previous one by
//! hash.
//!
//! A record is one line, `{"seq":0,"prev":"…",…,"hash":"…"}`. Its hash is the SHA-256 of the line
//! up to `,"hash"`, which includes the hash of the previous record: a change of one byte
//! changes every later hash. Records cut off at the end leave no trace in the file
//! itself; store the last hash elsewhere to detect that.

use crate::checksum::Checksum;
use crate::error::{Error, Result};
use serde::Serialize;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The previous hash of the first record.
const NOTHING: &str = "0000000000000000000000000000000000000000000000000000000000000000";
/// What separates a record's content from its hash.
const MARK: &str = ",\"hash\":\"";

/// What is wrong with a last line that has no end.
const CUT_OFF: &str = "it does not end with its line: it was cut off or changed";

/// A chain without errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// Number of records.
    pub records: u64,
    /// Hash of the last record; zeros if there is none.
    pub last: String,
    /// Bytes of the file.
    bytes: u64,
}

impl Chain {
    /// Before the first record.
    fn new() -> Self {
        Self { records: 0, last: NOTHING.to_owned(), bytes: 0 }
    }

    /// Bytes of the file that the records take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// Reads a whole audit file. Fails on the first record whose hash is wrong, or that is
/// not chained to the previous one.
pub fn verify_audit(path: impl AsRef<Path>) -> Result<Chain> {
    let name = path.as_ref().display().to_string();
    let file = File::open(path).map_err(|source| Error::io(&name, "read", source))?;
    let (chain, bytes) = chain_of(&file, &name)?;
    if bytes > chain.bytes {
        let what = format!("record {}: {CUT_OFF}", chain.records);
        return Err(Error::file(&name, what));
    }
    Ok(chain)
}

/// The chain of a file's complete lines, and the number of bytes including an incomplete last one.
pub(crate) fn chain_of(file: &File, name: &str) -> Result<(Chain, u64)> {
    let mut reader = BufReader::new(file);
    let mut chain = Chain::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let n = reader
            .read_until(b'\n', &mut line)
            .map_err(|source| Error::io(name, "read", source))?;
        if line.last() != Some(&b'\n') {
            return Ok((chain.clone(), chain.bytes + n as u64));
        }
        chain.last = check(&line, &chain)
            .map_err(|what| Error::file(name, format!("record {}: {what}", chain.records)))?;
        chain.bytes += n as u64;
        chain.records += 1;
    }
}

/// Appends the line of a record, which is a JSON object as text, to `out`.
pub(crate) fn append_to(
    chain: &mut Chain,
    record: &[u8],
    out: &mut Vec<u8>,
) -> std::result::Result<(), &'static str> {
    let body = record
        .strip_prefix(b"{")
        .and_then(|rest| rest.strip_suffix(b"}"))
        .filter(|body| !body.is_empty())
        .ok_or("a record is not an object")?;
    let start = out.len();
    out.extend_from_slice(start_of(chain).as_bytes());
    out.extend_from_slice(body);
    chain.last = Checksum::of(&out[start..]);
    out.extend_from_slice(MARK.as_bytes());
    out.extend_from_slice(chain.last.as_bytes());
    out.extend_from_slice(b"\"}\n");
    chain.records += 1;
    chain.bytes += (out.len() - start) as u64;
    Ok(())
}

/// The hash of the record in `line`, the next of `chain`.
fn check(line: &[u8], chain: &Chain) -> std::result::Result<String, &'static str> {
    let line = line.strip_suffix(b"\n").ok_or(CUT_OFF)?;
    let text = std::str::from_utf8(line).map_err(|_| "it is not text: it was changed")?;
    let (content, end) = text.rsplit_once(MARK).ok_or("it has no hash: it was changed")?;
    let hash = end.strip_suffix("\"}").ok_or("it does not end with its hash: it was changed")?;
    if Checksum::of(content.as_bytes()) != hash {
        return Err("it is not what its hash says: it was changed");
    }
    let start = start_of(chain);
    if !content.starts_with(&start) {
        return Err("it does not follow the record before: one was changed, added or left out");
    }
    Ok(hash.to_owned())
}

fn start_of(chain: &Chain) -> String {
    format!("{{\"seq\":{},\"prev\":\"{}\",", chain.records, chain.last)
}

/// Records of one run, stored separately until it is done.
#[derive(Debug)]
pub struct AuditTrail {
    path: PathBuf,
    /// Locked against other runs, if the system supports that. `None` until the first commit
    /// creates the file.
    file: Option<File>,
    chain: Chain,
    kept: BufWriter<File>,
}

impl AuditTrail {
    /// For records that follow those of `path`, which need not exist. Fails if the existing chain
    /// is broken.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = path.display().to_string();
        let fail = |source| Error::io(&name, "write", source);
        // A file that cannot be written, or that another run uses, is an error before any work
        // is done.
        let file = match OpenOptions::new().append(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            file => Some(file.map_err(fail)?),
        };
        let Some(file) = file else {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let kept = tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map_err(fail)?;
            return Ok(Self { path, file: None, chain: Chain::new(), kept: BufWriter::new(kept) });
        };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Err(Error::file(
                &name,
                "another run is writing to it; wait for it, or use another file",
            ));
        }
        let chain = verify_audit(&path)?;
        let kept =
            tempfile::tempfile().map_err(|source| Error::io(&name, "keep records for", source))?;
        Ok(Self { path, file: Some(file), chain, kept: BufWriter::new(kept) })
    }

    /// Keeps a record, which must be written as a JSON object.
    pub fn push<T: Serialize + ?Sized>(&mut self, record: &T) -> Result<()> {
        let name = || self.path.display().to_string();
        let mut bytes =
            serde_json::to_vec(record).map_err(|error| Error::file(&name(), error.to_string()))?;
        if bytes.first() != Some(&b'{') || bytes.len() < 3 {
            return Err(Error::Output {
                column: "audit".to_owned(),
                what: "a record is not an object".to_owned(),
            });
        }
        bytes.push(b'\n');
        self.kept.write_all(&bytes).map_err(|source| Error::io(&name(), "keep records for", source))
    }

    /// Appends the records. Fails if another program has written in between.
    pub fn commit(self) -> Result<Chain> {
        let Self { path, file, mut chain, kept } = self;
        let name = path.display().to_string();
        let fail = |source| Error::io(&name, "write", source);
        let mut kept = kept.into_inner().map_err(|error| fail(error.into_error()))?;
        kept.seek(SeekFrom::Start(0)).map_err(fail)?;
        let meanwhile =
            || Error::file(&name, "somebody else has written to it meanwhile; run again");
        let file = match file {
            Some(file) => file,
            None => match OpenOptions::new().append(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(meanwhile()),
                file => file.map_err(fail)?,
            },
        };
        if file.metadata().map_err(fail)?.len() != chain.bytes {
            return Err(meanwhile());
        }
        let (mut out, mut line) = (BufWriter::new(file), Vec::new());
        for record in BufReader::new(kept).lines() {
            let record = record.map_err(fail)?;
            line.clear();
            append_to(&mut chain, record.as_bytes(), &mut line)
                .map_err(|what| Error::file(&name, what))?;
            out.write_all(&line).map_err(fail)?;
        }
        let file = out.into_inner().map_err(|error| fail(error.into_error()))?;
        file.sync_all().map_err(fail)?;
        Ok(chain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn written(n: usize) -> (tempfile::TempDir, PathBuf, Chain) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut chain = None;
        for run in 0..n {
            let mut trail = AuditTrail::open(&path).unwrap();
            for row in 0..3 {
                trail.push(&json!({"row": row, "run": run, "name": "ä, \"b\""})).unwrap();
            }
            chain = Some(trail.commit().unwrap());
        }
        (folder, path, chain.unwrap())
    }

    #[test]
    fn every_changed_byte_is_found() {
        let (_folder, path, chain) = written(2);
        assert_eq!(verify_audit(&path).unwrap(), chain);
        assert_eq!(chain.records, 6);
        let good = std::fs::read(&path).unwrap();
        for at in 0..good.len() {
            for flip in [1_u8, 0x20, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                std::fs::write(&path, &bad).unwrap();
                assert!(verify_audit(&path).is_err(), "byte {at} of {}", good.len());
            }
        }
    }

    #[test]
    fn records_left_out_added_or_swapped_are_found() {
        let (_folder, path, chain) = written(1);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for order in [vec![1, 2], vec![0, 2], vec![1, 0, 2], vec![0, 0, 1, 2], vec![0, 1, 2, 2]] {
            let changed: String = order.iter().map(|&i| lines[i].to_owned() + "\n").collect();
            std::fs::write(&path, changed).unwrap();
            assert!(verify_audit(&path).is_err(), "{order:?}");
        }
        // Cut off at the end: the chain is valid, and only the last hash differs.
        std::fs::write(&path, format!("{}\n{}\n", lines[0], lines[1])).unwrap();
        let cut = verify_audit(&path).unwrap();
        assert!(cut.records == 2 && cut.last != chain.last);
        // In the middle of a record.
        std::fs::write(&path, &text[..text.len() - 1]).unwrap();
        assert!(verify_audit(&path).unwrap_err().to_string().contains("record 2"));
    }

    #[test]
    fn a_run_that_does_not_end_leaves_no_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let open = || AuditTrail::open(&path).unwrap();
        let mut trail = open();
        trail.push(&json!({"row": 0})).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop(trail);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        // Two that begin with nothing: the second does not write over the first.
        let (mut first, mut second) = (open(), open());
        first.push(&json!({"row": 0})).unwrap();
        second.push(&json!({"row": 1})).unwrap();
        let chain = first.commit().unwrap();
        assert!(second.commit().unwrap_err().to_string().contains("meanwhile"));
        assert_eq!(verify_audit(&path).unwrap(), chain);
        // A place where nothing can be written is found at once.
        assert!(AuditTrail::open(folder.path().join("no/audit.jsonl")).unwrap_err().is_not_found());
    }

    #[test]
    fn a_run_that_does_not_end_leaves_no_record() {
        let (_folder, path, chain) = written(1);
        let mut trail = AuditTrail::open(&path).unwrap();
        trail.push(&json!({"row": 9})).unwrap();
        drop(trail);
        assert_eq!(verify_audit(&path).unwrap(), chain);
        let mut first = AuditTrail::open(&path).unwrap();
        assert!(AuditTrail::open(&path).unwrap_err().to_string().contains("another run"));
        first.push(&json!({"row": 1})).unwrap();
        first.commit().unwrap();
        // Another program that ignores the lock.
        let second = AuditTrail::open(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.clone() + "more\n").unwrap();
        assert!(second.commit().unwrap_err().to_string().contains("meanwhile"));
        std::fs::write(&path, text).unwrap();
        assert_eq!(verify_audit(&path).unwrap().records, 4);
    }
}
