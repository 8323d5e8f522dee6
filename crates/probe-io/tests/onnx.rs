//! ONNX files of scikit-learn and PyTorch against the margins that these libraries give.
//! `benches/models/onnx/make.py` makes the files.
#![expect(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use probe_io::ModelFile;
use std::path::{Path, PathBuf};

/// Files hold float32; libraries often compute with doubles.
const TOLERANCE: f64 = 1e-5;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/onnx");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "onnx"));
    files.sort();
    files
}

/// `cargo xtask bench models` does the same with larger models and 10,000 rows.
#[test]
fn margins_are_those_of_the_library() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 30, "{} fixtures", fixtures.len());
    for path in fixtures {
        let file = ModelFile::load(&path).unwrap();
        let mut table = csv::Reader::from_path(path.with_extension("csv")).unwrap();
        let names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(
            names,
            [&file.features[..], &["margin".to_owned()]].concat(),
            "{}",
            path.display()
        );
        for record in table.records() {
            let number =
                |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
            let mut row: Vec<f64> = record.unwrap().iter().map(number).collect();
            let margin = row.pop().unwrap();
            let score = file.model.score(&row).unwrap();
            assert!(
                (score - margin).abs() <= TOLERANCE,
                "{}: {score}, not {margin}, at {row:?}",
                path.display()
            );
            assert!(
                (score > 0.0) == (margin > 0.0) || margin.abs() <= TOLERANCE,
                "{}: {row:?}",
                path.display()
            );
        }
    }
}

#[test]
fn files_say_what_they_are() {
    let source = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/onnx").join(name);
        ModelFile::load(path).unwrap().source.unwrap()
    };
    assert_eq!(source("forest.onnx"), "ONNX by skl2onnx 1.20.0, 5 trees, 5 features");
    assert_eq!(
        source("torch_tanh.onnx"),
        "ONNX by pytorch 2.15.0, network of 2 hidden layers, 4 features"
    );
    assert_eq!(source("logistic.onnx"), "ONNX by skl2onnx 1.20.0, linear, 5 features");
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
                // Between two messages at the end: names, or sets of operators that are not used or
                // listed twice, may be lost.
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
