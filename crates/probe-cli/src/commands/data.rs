//! `probe data download`.

use crate::args::{Data, DataCommand, DataDownload};
use crate::interrupt::{check, holding_output};
use crate::printer::Printer;
use crate::usage::Usage;
use anyhow::{Context as _, Result, bail};
use probe_experiments::sources::{BASE_URL, SOURCES, Source};
use probe_io::{AtomicOutput, Checksum};
use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time without an answer after which a download fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes read at a time.
const PIECE: usize = 1 << 16;

pub(crate) fn run(args: &Data, printer: &Printer) -> Result<()> {
    match &args.command {
        DataCommand::Download(args) => download(args, printer),
    }
}

fn download(args: &DataDownload, printer: &Printer) -> Result<()> {
    let known = || SOURCES.map(|s| s.name).join(", ");
    let mut wanted = Vec::new();
    for name in &args.names {
        let source = SOURCES.iter().find(|s| s.name == name);
        wanted.push(source.ok_or_else(|| {
            Usage::new(format!("unknown data set '{name}' (known: {})", known()))
        })?);
    }
    if wanted.is_empty() {
        wanted.extend(&SOURCES);
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot create", args.out.display()))?;
    for source in wanted {
        let path = args.out.join(source.file);
        if !args.force && is_there(source, &path)? {
            printer.note(&format!("{} is there already", path.display()));
            continue;
        }
        let bar = printer.progress(Some(source.bytes));
        bar.set_message(source.file);
        fetch(source, args.base_url.as_deref().unwrap_or(BASE_URL), &path, &mut |n| bar.inc(n))?;
        bar.finish_and_clear();
        printer.note(&format!(
            "wrote {} ({}; {})",
            path.display(),
            source.origin,
            "checksum as expected"
        ));
    }
    Ok(())
}

/// Whether the file exists with the right checksum. Fails if there is a different file of that
/// name, which must not be replaced.
fn is_there(source: &Source, path: &Path) -> Result<bool> {
    let name = || path.display().to_string();
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error).with_context(name),
    };
    let mut hash = Checksum::default();
    pieces(&mut file, &mut |piece| {
        hash.update(piece);
        Ok(())
    })
    .with_context(name)?;
    let found = hash.finish();
    if found != source.sha256 {
        bail!(
            "{}: another file has this name (sha256 {found}, not {}); --force replaces it",
            name(),
            source.sha256
        );
    }
    Ok(true)
}

/// Downloads the file from the folder `base`. It is only written if its length and checksum are
/// right.
fn fetch(source: &Source, base: &str, path: &Path, told: &mut dyn FnMut(u64)) -> Result<()> {
    let address = format!("{}/{}", base.trim_end_matches('/'), source.file);
    let mut from = open(&address)?;
    holding_output(|| {
        let mut out = AtomicOutput::create(path)?;
        let (mut hash, mut length) = (Checksum::default(), 0);
        pieces(&mut from, &mut |piece| {
            check()?;
            length += piece.len() as u64;
            // Stops as soon as the response is too long, because it could be endless.
            if length > source.bytes {
                bail!("longer than the {} bytes expected", source.bytes);
            }
            hash.update(piece);
            told(piece.len() as u64);
            out.write_all(piece).map_err(|error| out.error(error).into())
        })
        .with_context(|| address.clone())?;
        let found = hash.finish();
        if found != source.sha256 {
            bail!(
                "{address}: {length} bytes with sha256 {found}, not {} bytes with {}; nothing was \
                 written",
                source.bytes,
                source.sha256
            );
        }
        Ok(out.commit()?)
    })
}

/// Opens an address: `https:`, `http:`, or a file by `file:`.
fn open(address: &str) -> Result<Box<dyn Read>> {
    if let Some(path) = address.strip_prefix("file:") {
        let path = PathBuf::from(path.strip_prefix("//").unwrap_or(path));
        return Ok(Box::new(File::open(path).with_context(|| address.to_owned())?));
    }
    if !(address.starts_with("https://") || address.starts_with("http://")) {
        return Err(Usage::of(
            "--base-url",
            format!("'{address}' begins with none of https:, http:, file:"),
        )
        .into());
    }
    let config = ureq::Agent::config_builder()
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .build();
    let response = ureq::Agent::new_with_config(config).get(address).call();
    Ok(Box::new(response.with_context(|| address.to_owned())?.into_body().into_reader()))
}

/// Reads to the end, piece by piece.
fn pieces(from: &mut dyn Read, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(n) => each(&piece[..n])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// `printf abc | sha256sum`, also the first example of FIPS 180-2.
    const ABC: Source = Source {
        name: "abc",
        file: "abc.csv",
        bytes: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        origin: "a test",
    };

    /// Answers one request with `answer` and tells what was asked for.
    fn serve(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/folder/", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut byte = [0];
            while !asked.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                asked.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(asked).unwrap()
        });
        (base, served)
    }

    fn left(folder: &Path) -> usize {
        std::fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn the_right_file_is_written_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ABC.file);
        let (base, served) =
            serve("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
        let mut told = 0;
        fetch(&ABC, &base, &path, &mut |n| told += n).unwrap();
        assert!(served.join().unwrap().starts_with("GET /folder/abc.csv HTTP/1.1\r\n"));
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), told), ("abc", 3));
        assert!(is_there(&ABC, &path).unwrap());
        // The same from a folder.
        let copy = folder.path().join("copy.csv");
        fetch(&ABC, &format!("file:{}", folder.path().display()), &copy, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "abc");
    }

    #[test]
    fn anything_else_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ABC.file);
        for (answer, words) in [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabd",
                vec!["sha256", ABC.sha256, "nothing was written"],
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", vec!["longer than the 3 bytes"]),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nab",
                vec!["abc.csv"],
            ),
            ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", vec!["404"]),
        ] {
            let (base, served) = serve(answer);
            let error = format!("{:#}", fetch(&ABC, &base, &path, &mut |_| {}).unwrap_err());
            served.join().unwrap();
            assert!(
                words.iter().all(|word| error.contains(word)) && error.contains(&base),
                "{error}"
            );
            assert_eq!(left(folder.path()), 0, "{answer}");
        }
        assert!(fetch(&ABC, "ftp://somewhere", &path, &mut |_| {}).unwrap_err().is::<Usage>());
        // Another file of the name stays as it is, also one of the same length.
        for other in ["mine", "abd"] {
            std::fs::write(&path, other).unwrap();
            let error = is_there(&ABC, &path).unwrap_err().to_string();
            assert!(error.contains("--force") && error.contains(ABC.sha256), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), other);
        }
    }
}
