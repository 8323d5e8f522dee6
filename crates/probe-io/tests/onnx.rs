//! ONNX files of scikit-learn and PyTorch against the margins that these libraries give. `benches/models/onnx_models.py` makes the files.
#![expect(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use probe_core::Encoding;
use probe_io::ModelFile;
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Files hold float32; libraries often compute with doubles.
const TOLERANCE: f64 = 1e-5;
/// Sums of float32 probabilities by the runtime, beside ours of the same leaves: an error of a few float32 roundings.
const SAME_LEAVES: f64 = 1e-6;

#[derive(Deserialize)]
struct Case {
    features: Vec<String>,
    rows: Vec<Vec<Value>>,
    margins: Vec<f64>,
    /// Rows on cuts, with margins by the runtime.
    on_cuts: Option<Part>,
}

#[derive(Deserialize)]
struct Part {
    rows: Vec<Vec<Value>>,
    margins: Vec<f64>,
}

/// Largest difference, and decisions that differ although the margin is not next to zero.
#[derive(Debug, Default)]
struct Found {
    largest: f64,
    flips: usize,
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "onnx"));
    files.sort();
    files
}

fn fixtures() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/onnx"))
}

fn compare(file: &ModelFile, features: &[String], rows: &[Vec<Value>], margins: &[f64]) -> Found {
    let encoding = match &file.schema {
        Some(schema) => Encoding::new(schema, &file.features).unwrap(),
        None => Encoding::identity(&file.features),
    };
    let mut columns = vec![0.0; encoding.n_columns()];
    let mut found = Found::default();
    assert_eq!(rows.len(), margins.len());
    for (row, &margin) in rows.iter().zip(margins) {
        let value = |feature: &probe_core::Feature| {
            let value = &row[features.iter().position(|name| *name == feature.name).unwrap()];
            match value {
                _ if !feature.categories.is_empty() => {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    feature.option(&text).unwrap() as f64
                }
                Value::Null => f64::NAN,
                value => value.as_f64().unwrap(),
            }
        };
        let person: Vec<f64> = encoding.features().iter().map(value).collect();
        encoding.encode_into(&person, &mut columns);
        let score = file.model.score(&columns).unwrap();
        let difference = (score - margin).abs();
        assert!(!difference.is_nan(), "{score} beside {margin}");
        found.largest = found.largest.max(difference);
        found.flips += usize::from((score > 0.0) != (margin > 0.0) && difference > TOLERANCE);
    }
    found
}

/// Compares one file; the second part is that of rows on cuts.
fn check(path: &Path) -> (Found, Option<Found>) {
    let file = ModelFile::load(path).unwrap();
    let text = std::fs::read_to_string(path.with_extension("json")).unwrap();
    let case: Case = serde_json::from_str(&text).unwrap();
    let cuts = case.on_cuts.map(|part| compare(&file, &case.features, &part.rows, &part.margins));
    (compare(&file, &case.features, &case.rows, &case.margins), cuts)
}

#[test]
fn margins_are_those_of_the_library() {
    let files = fixtures();
    assert!(files.len() >= 30, "{} fixtures", files.len());
    for path in files {
        let (found, on_cuts) = check(&path);
        assert!(found.largest <= TOLERANCE && found.flips == 0, "{}: {found:?}", path.display());
        if let Some(found) = on_cuts {
            assert!(found.largest <= SAME_LEAVES, "{} on cuts: {found:?}", path.display());
        }
    }
}

/// `PROBE_ONNX_DIR=DIR cargo test -p probe-io --test onnx -- --ignored --nocapture`, after
/// `python benches/models/onnx_models.py DIR --large`.
#[test]
#[ignore = "needs models made by Python"]
fn margins_of_large_models_are_those_of_the_library() {
    let folder = std::env::var("PROBE_ONNX_DIR").expect("PROBE_ONNX_DIR names the folder");
    let mut worst = Vec::new();
    for path in files(Path::new(&folder)) {
        let (found, on_cuts) = check(&path);
        eprintln!("{:30} {found:?} {on_cuts:?}", path.file_stem().unwrap().display());
        let cuts_differ = on_cuts.is_some_and(|found| found.largest > SAME_LEAVES);
        if found.largest > TOLERANCE || found.flips > 0 || cuts_differ {
            worst.push(path);
        }
    }
    assert!(worst.is_empty(), "{worst:?}");
}

#[test]
fn what_is_saved_is_the_same_model() {
    for path in fixtures() {
        let file = ModelFile::load(&path).unwrap();
        let native = ModelFile::parse(file.to_json().unwrap().as_bytes(), "native").unwrap();
        assert_eq!(native.features, file.features);
        assert_eq!(score(&native), score(&file));
    }
}

/// The score of some row.
fn score(file: &ModelFile) -> u64 {
    let row: Vec<f64> = (0..file.features.len()).map(|j| 0.3 * j as f64 - 0.4).collect();
    file.model.score(&row).unwrap().to_bits()
}

#[test]
fn files_that_are_cut_off_are_refused() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let whole = score(&ModelFile::load(&path).unwrap());
        let mut read = 0;
        for end in 0..bytes.len() {
            match ModelFile::parse(&bytes[..end], "cut.onnx") {
                // Between two messages at the end: names, or sets of operators that are not used or listed twice, may be lost.
                Ok(file) => {
                    assert_eq!(score(&file), whole, "{} cut at {end}", path.display());
                    read += 1;
                }
                Err(error) => assert!(error.to_string().starts_with("cut.onnx: "), "{error}"),
            }
        }
        assert!(read <= 2, "{}: {read} parts were read", path.display());
    }
}

/// A small generator, so that a failure can be repeated from its seed.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn changed_bytes_never_panic() {
    for path in fixtures() {
        let bytes = std::fs::read(&path).unwrap();
        let mut state = bytes.len() as u64;
        let try_one = |bytes: &[u8]| match ModelFile::parse(bytes, "changed.onnx") {
            // What is still a model scores.
            Ok(file) => drop(file.model.score(&vec![0.5; file.features.len()]).unwrap()),
            Err(error) => assert!(error.to_string().starts_with("changed.onnx: "), "{error}"),
        };
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (next(&mut state) % 8);
            try_one(&changed);
            // Larger lengths and counts.
            changed[at] = 0xff;
            try_one(&changed);
        }
        for _ in 0..300 {
            let mut changed = bytes.clone();
            for _ in 0..1 + next(&mut state) % 8 {
                let at = next(&mut state) as usize % changed.len();
                changed[at] = next(&mut state) as u8;
            }
            try_one(&changed);
        }
    }
}
