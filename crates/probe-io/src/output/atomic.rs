//! Files that appear whole or not at all, even if the process must end while they are written.

use crate::error::{Error, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// The temporary files of this process; `None` once they are abandoned.
static OPEN: Mutex<Option<BTreeSet<PathBuf>>> = Mutex::new(Some(BTreeSet::new()));

fn open_files() -> MutexGuard<'static, Option<BTreeSet<PathBuf>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of all open outputs, in all threads. Call it only to end the process
/// right after: no output can be opened or committed any more.
pub fn abandon_outputs() {
    for path in open_files().take().unwrap_or_default() {
        // The file may be gone already, and errors cannot be reported any more.
        let _ = fs::remove_file(path);
    }
}

/// A temporary file that [`abandon_outputs`] knows for as long as this lives.
#[derive(Debug)]
struct Known(PathBuf);

impl Known {
    /// Makes a temporary file.
    fn create(
        builder: &tempfile::Builder<'_, '_>,
        directory: &Path,
    ) -> io::Result<(NamedTempFile, Self)> {
        // With the lock held, so that every existing file is registered.
        let mut files = open_files();
        let files = files.as_mut().ok_or(io::ErrorKind::Interrupted)?;
        let file = builder.tempfile_in(directory)?;
        files.insert(file.path().to_owned());
        let known = Self(file.path().to_owned());
        Ok((file, known))
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        if let Some(files) = open_files().as_mut() {
            files.remove(&self.0);
        }
    }
}

/// Where the bytes go until the commit.
#[derive(Debug)]
enum Sink {
    Stdout(Stdout),
    /// A device or a named pipe: nothing to rename over.
    Special(File),
    File {
        temporary: BufWriter<NamedTempFile>,
        target: PathBuf,
        /// Last field, so that the file stays registered until it is removed.
        _known: Known,
    },
}

/// An output that is a temporary file next to its target until [`AtomicOutput::commit`]; dropped
/// before that, it leaves nothing behind and an existing target is untouched. `-` is standard
/// output, which passes through, and so do devices and named pipes.
#[derive(Debug)]
pub struct AtomicOutput {
    sink: Sink,
    name: String,
}

impl AtomicOutput {
    /// Opens the output. A target that cannot be written is found here, before any work is done.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path == Path::new("-") {
            return Ok(Self {
                sink: Sink::Stdout(io::stdout()),
                name: "standard output".to_owned(),
            });
        }
        let name = path.display().to_string();
        let sink = open(path).map_err(|source| Error::io(&name, "write", source))?;
        Ok(Self { sink, name })
    }

    /// Makes everything written so far the target's content.
    pub fn commit(self) -> Result<()> {
        let Self { sink, name } = self;
        let done = match sink {
            Sink::Stdout(mut stdout) => stdout.flush(),
            Sink::Special(mut file) => file.flush(),
            Sink::File { temporary, target, _known } => persist(temporary, &target),
        };
        done.map_err(|source| write_error(&name, source))
    }

    /// The target as the user named it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The error of a failed write; a closed pipe is [`Error::BrokenPipe`].
    pub fn error(&self, source: io::Error) -> Error {
        write_error(&self.name, source)
    }
}

impl Write for AtomicOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Special(file) => file.write(bytes),
            Sink::File { temporary, .. } => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::File { temporary, .. } => temporary.flush(),
        }
    }
}

pub(crate) fn write_error(name: &str, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::BrokenPipe => Error::BrokenPipe,
        _ => Error::io(name, "write", source),
    }
}

fn open(path: &Path) -> io::Result<Sink> {
    // A link is followed: its target is replaced, not the link.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let existing = match fs::metadata(&target) {
        Ok(metadata) => Some(metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    match &existing {
        Some(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Some(metadata) if !metadata.is_file() => {
            return fs::OpenOptions::new().write(true).open(&target).map(Sink::Special);
        }
        _ => {}
    }
    let file_name = target.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let prefix = format!(".{}.", file_name.to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // The process's umask applies, as for any new file.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let (temporary, known) = Known::create(&builder, directory)?;
    if let Some(metadata) = existing {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    let temporary = BufWriter::with_capacity(1 << 16, temporary);
    Ok(Sink::File { temporary, target, _known: known })
}

fn persist(temporary: BufWriter<NamedTempFile>, target: &Path) -> io::Result<()> {
    let temporary = temporary.into_inner().map_err(io::IntoInnerError::into_error)?;
    temporary.as_file().sync_all()?;
    {
        let files = open_files();
        if files.is_none() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        temporary.persist(target).map_err(|error| error.error)?;
    }
    // The rename is durable once the directory is synchronised. Not every file system supports
    // that, so that errors are ignored.
    if let Some(Ok(directory)) = target.parent().map(File::open) {
        let _ = directory.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let name =
            |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<_> = fs::read_dir(directory).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn without_a_commit_nothing_is_left_and_the_old_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        let mut output = AtomicOutput::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert!(entries(directory.path()).is_empty());

        fs::write(&path, "old").unwrap();
        let mut output = AtomicOutput::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(entries(directory.path()), ["out.csv"]);
    }

    #[test]
    fn a_commit_replaces_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut output = AtomicOutput::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        output.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(entries(directory.path()), ["out.csv"]);
    }

    #[test]
    fn hopeless_targets_are_refused_at_once_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let message = AtomicOutput::create(directory.path()).unwrap_err().to_string();
        assert!(message.contains(&directory.path().display().to_string()), "{message}");
        assert!(
            message.contains("cannot write") && message.contains("is a directory"),
            "{message}"
        );
        let missing = directory.path().join("no/such/dir/out.csv");
        let error = AtomicOutput::create(&missing).unwrap_err();
        assert!(
            error.is_not_found() && error.to_string().contains("no/such/dir/out.csv"),
            "{error}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn modes_are_those_of_ordinary_files_or_of_the_old_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (plain, fresh) = (directory.path().join("plain"), directory.path().join("fresh"));
        fs::write(&plain, "").unwrap();
        AtomicOutput::create(&fresh).unwrap().commit().unwrap();
        assert_eq!(mode(&fresh), mode(&plain));
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o640)).unwrap();
        AtomicOutput::create(&plain).unwrap().commit().unwrap();
        assert_eq!(mode(&plain), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_devices_survive() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut output = AtomicOutput::create(&link).unwrap();
        output.write_all(b"new").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");

        let mut null = AtomicOutput::create("/dev/null").unwrap();
        null.write_all(b"gone").unwrap();
        null.commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn a_closed_pipe_is_told_apart() {
        let error = write_error("standard output", io::ErrorKind::BrokenPipe.into());
        assert!(error.is_broken_pipe());
        assert!(!write_error("x", io::ErrorKind::StorageFull.into()).is_broken_pipe());
    }
}
