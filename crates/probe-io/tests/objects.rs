//! Documents of Python objects against the margins that their libraries give.
//! `benches/models/objects/make.py --small` makes the files.
#![expect(clippy::unwrap_used, reason = "tests say what is wrong by failing")]

use probe_core::ModelInput;
use probe_io::ModelFile;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::{Path, PathBuf};

/// XGBoost adds in single precision.
const SINGLE: f64 = 2e-6;
/// Affine maps are folded: sums in another order.
const DOUBLE: f64 = 1e-12;

fn fixtures() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/objects");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    files
}

/// Names of the columns, and rows with their margins.
fn table(model: &Path) -> (Vec<String>, Vec<(Vec<f64>, f64)>) {
    let mut table = csv::Reader::from_path(model.with_extension("csv")).unwrap();
    let mut names: Vec<String> = table.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(names.pop().unwrap(), "margin");
    let number = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
    let rows = table.records().map(|record| {
        let mut row: Vec<f64> = record.unwrap().iter().map(number).collect();
        let margin = row.pop().unwrap();
        (row, margin)
    });
    (names, rows.collect())
}

/// `cargo xtask bench models` does the same with larger models and 10,000 rows.
#[test]
fn margins_are_those_of_the_library() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 30, "{} fixtures", fixtures.len());
    for path in fixtures {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let file = ModelFile::load(&path).unwrap();
        let (names, rows) = table(&path);
        assert_eq!((&file.features, file.input), (&names, ModelInput::Raw), "{name}");
        let tolerance = if name.starts_with("xgboost") { SINGLE } else { DOUBLE };
        let mut gaps = 0;
        for (row, margin) in rows {
            let score = file.model.score(&row).unwrap();
            assert!(
                (score - margin).abs() <= tolerance,
                "{name}: {score}, not {margin}, at {row:?}"
            );
            assert!(
                (score > 0.0) == (margin > 0.0) || margin.abs() <= tolerance,
                "{name}: {row:?}"
            );
            gaps += row.iter().filter(|x| x.is_nan()).count();
        }
        let takes_missing = (0..names.len()).all(|j| file.model.refuses_missing(j).is_none());
        assert_eq!(gaps > 0, name.ends_with("missing"), "{name}");
        assert!(gaps == 0 || takes_missing, "{name}");
    }
}

#[test]
fn documents_say_what_they_are() {
    let of = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/objects").join(name);
        ModelFile::load(path).unwrap()
    };
    let file = of("forest-columns.json");
    let source = file.source.unwrap();
    assert!(
        source.starts_with("probe-pipeline of scikit-learn 1.9.1 Pipeline(ColumnTransformer, "),
        "{source}"
    );
    let schema = file.schema.unwrap();
    assert_eq!(schema.names(), ["age", "income", "debt", "job", "grade", "code", "owner"]);
    assert_eq!(schema.feature("owner").unwrap().categories, ["False", "True"]);
    // An imputed number must not be missing.
    assert!(file.model.refuses_missing(1).is_some());
    assert!(of("logistic.json").schema.is_none());
}

#[test]
fn what_is_saved_is_the_same_model() {
    for path in fixtures() {
        let file = ModelFile::load(&path).unwrap();
        let native = ModelFile::parse(file.to_json().unwrap().as_bytes(), "native").unwrap();
        assert_eq!(native.schema_with(None).is_some(), file.schema.is_some());
        for (row, _) in table(&path).1 {
            let (first, second) =
                (file.model.score(&row).unwrap(), native.model.score(&row).unwrap());
            assert_eq!(first.to_bits(), second.to_bits(), "{path:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Edited or cut off anywhere: a model or an error, never a panic.
    #[test]
    fn broken_documents_are_no_panic(
        which in any::<Index>(),
        edits in vec((any::<Index>(), prop_oneof![any::<u8>(),
            prop::sample::select(b"0-9.e,[]{}\":".to_vec())]), 1..6),
        end in any::<Index>(),
        cut in any::<bool>(),
    ) {
        let files = fixtures();
        let path = &files[which.index(files.len())];
        let mut bytes = std::fs::read(path).unwrap();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        if let Err(error) = ModelFile::parse(&bytes, "m.json") {
            prop_assert!(error.to_string().starts_with("m.json: "), "{}", error);
        }
    }
}
