//! Models of other libraries: margins of the library itself, what is rejected, and the fate of
//! broken files.
//!
//! The files in `tests/models` and their margins are the libraries' own:
//! `benches/models/make.py --fixtures` makes them.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::ModelInput;
use probe_io::ModelFile;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use std::path::{Path, PathBuf};

/// How far our margin may be from the library's: single precision, where that is what the library
/// adds in.
const SINGLE: f64 = 2e-6;
const DOUBLE: f64 = 1e-14;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models")
}

/// Model files whose name starts so.
fn files(start: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| name_of(path).starts_with(start) && path.extension().unwrap() != "csv");
    found.sort();
    found
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Names, and rows with their margins, of the table of a model.
fn table(model: &Path) -> (Vec<String>, Vec<(Vec<f64>, f64)>) {
    let text = std::fs::read_to_string(model.with_extension("csv")).unwrap();
    let mut lines = text.lines();
    let mut names: Vec<String> = lines.next().unwrap().split(',').map(str::to_owned).collect();
    assert_eq!(names.pop().unwrap(), "margin");
    let number = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
    let row = |line: &str| {
        let mut row: Vec<f64> = line.split(',').map(number).collect();
        let margin = row.pop().unwrap();
        (row, margin)
    };
    (names, lines.map(row).collect())
}

#[test]
fn margins_are_those_of_the_library() {
    let models = [files("xgboost-"), files("lightgbm-")].concat();
    assert_eq!(models.len(), 2 * (8 + 8));
    for path in models {
        let file = ModelFile::load(&path).unwrap();
        let (names, rows) = table(&path);
        assert_eq!((file.features, file.input), (names, ModelInput::Raw), "{path:?}");
        let tolerance = if name_of(&path).starts_with("xgboost") { SINGLE } else { DOUBLE };
        for (row, margin) in rows {
            let ours = file.model.score(&row).unwrap();
            assert!((ours - margin).abs() <= tolerance, "{path:?}: {row:?}: {ours} and {margin}");
        }
    }
}

#[test]
fn the_native_form_of_an_imported_model_scores_the_same_to_the_bit() {
    let models = [files("xgboost-"), files("lightgbm-")].concat();
    for path in models {
        let file = ModelFile::load(&path).unwrap();
        let native = ModelFile::parse(file.to_json().unwrap().as_bytes(), "native").unwrap();
        for (row, _) in table(&path).1 {
            let (first, second) =
                (file.model.score(&row).unwrap(), native.model.score(&row).unwrap());
            assert_eq!(first.to_bits(), second.to_bits(), "{path:?}");
        }
        let takes = |file: &ModelFile, j| file.model.refuses_missing(j).is_none();
        assert!((0..4).all(|j| takes(&file, j) == takes(&native, j)), "{path:?}");
    }
}

#[test]
fn files_say_what_they_are() {
    let source = |name: &str| ModelFile::load(folder().join(name)).unwrap().source.unwrap();
    assert_eq!(
        source("xgboost-3.2.0-dart.json"),
        "XGBoost 3.2.0, objective binary:logistic, booster dart, 3 trees, 4 features"
    );
    assert_eq!(
        source("xgboost-1.7.6-stopped.ubj"),
        "XGBoost 1.7.6, objective binary:logistic, booster gbtree, 8 of 12 trees (up to the best \
         iteration, as scikit-learn's interface predicts), 4 features"
    );
    assert_eq!(
        source("xgboost-1.7.6-linear.json"),
        "XGBoost 1.7.6, objective binary:logistic, booster gblinear, linear, 4 features"
    );
    assert_eq!(
        source("lightgbm-4.7.0-forest.txt"),
        "LightGBM v4, objective binary sigmoid:1, 3 trees, averaged, 4 features"
    );
}

#[test]
fn what_cannot_be_read_exactly_is_refused_by_name() {
    let known = [
        ("binary.model", "XGBoost's old binary format"),
        (
            "categories.json",
            "$.learner.gradient_booster.model.trees[0].split_type[0]: tree 0 splits on categories",
        ),
        ("classes.json", "$.learner.objective.name: the objective 'multi:softprob' is not read"),
        ("squares.json", "$.learner.objective.name: the objective 'reg:squarederror' is not read"),
        ("categories.txt", "tree 0: 'num_cat' is 1: splits on categories are not read"),
        ("classes.txt", "'num_class' is 3: models with one output are read"),
        ("lambda.txt", "line 7: 'objective' is 'cross_entropy_lambda', which is not read"),
        ("linear.txt", "tree 0: 'is_linear' is 1: linear models in leaves are not read"),
        ("squares.txt", "'objective' is 'regression', which is not read"),
        ("zeros.txt", "tree 0: 'decision_type' has 4 at split 0: zero is taken for missing"),
    ];
    let refused = files("refused-");
    assert_eq!(refused.len(), 2 * 9 + 1);
    for path in refused {
        let message = ModelFile::load(&path).unwrap_err().to_string();
        let (_, expected) = known.iter().find(|(end, _)| name_of(&path).ends_with(end)).unwrap();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_file_cut_short_is_refused_wherever_it_is_cut() {
    for path in [files("xgboost-3"), files("lightgbm-4")].concat() {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 5_000 {
            continue;
        }
        // What follows the trees of LightGBM says nothing of the model.
        let end = b"end of trees";
        let found = bytes.windows(end.len()).position(|window| window == end);
        let whole = found.map_or(bytes.trim_ascii_end().len(), |at| at + end.len());
        for n in 0..bytes.len() {
            let read = ModelFile::parse(&bytes[..n], "m");
            assert_eq!(
                read.is_ok(),
                n >= whole,
                "{path:?} cut at {n} of {}: {read:?}",
                bytes.len()
            );
        }
    }
}

/// A change to a file: where, what, how long a range it concerns, and which of three kinds it is.
type Edit = (Index, u8, usize, u8);

fn edited(bytes: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, byte, length, kind) in edits {
        let at = at.index(bytes.len());
        let range = at..(at + length).min(bytes.len());
        match kind {
            0 => bytes[at] = *byte,
            1 if range.len() < bytes.len() => drop(bytes.drain(range)),
            _ => {
                let copy = bytes[range].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn edited_files_are_refused_or_score(
        which in any::<Index>(),
        edits in vec((any::<Index>(), any::<u8>(), 1_usize..30, 0_u8..3), 1..4),
    ) {
        let names = ["xgboost-3.2.0-logistic.json", "xgboost-3.2.0-sampled.ubj",
            "xgboost-3.2.0-linear.json", "lightgbm-4.7.0-binary.txt"];
        let bytes = std::fs::read(folder().join(which.get(&names))).unwrap();
        if let Ok(file) = ModelFile::parse(&edited(&bytes, &edits), "m") {
            let row = std::vec![0.25; file.features.len()];
            prop_assert!(file.model.score(&row).unwrap().is_finite());
        }
    }
}

/// The message for a file with `from` replaced by `to`, once.
fn message(name: &str, from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    assert!(text.contains(from), "{from}");
    ModelFile::parse(text.replacen(from, to, 1).as_bytes(), "m").unwrap_err().to_string()
}

#[test]
fn broken_models_of_xgboost_are_refused_with_their_path() {
    let name = "xgboost-3.2.0-logistic.json";
    let tree = "m: $.learner.gradient_booster.model.trees[0]";
    let cases = [
        (
            "\"left_children\":[1,",
            "\"left_children\":[0,",
            format!("{tree}.left_children[0]: expected a node (1 to "),
        ),
        (
            "\"left_children\":[1,",
            "\"left_children\":[99,",
            format!("{tree}.left_children[0]: expected a node"),
        ),
        (
            "\"left_children\":[1,",
            "\"left_children\":[2,",
            format!("{tree}: two ways lead to node 2"),
        ),
        (
            "\"left_children\":[1,3,",
            "\"left_children\":[1,1,",
            format!("{tree}: two ways lead to node 1"),
        ),
        (
            "\"left_children\":[1,",
            "\"left_children\":[-1,",
            format!("{tree}: node 0 has one child only"),
        ),
        (
            "\"split_conditions\":[",
            "\"split_conditions\":[1E39,",
            format!("{tree}.split_conditions: expected 7 numbers"),
        ),
        (
            "\"default_left\":[",
            "\"default_left\":[0,",
            format!("{tree}.default_left: expected 7 entries"),
        ),
        (
            "\"base_score\":\"[",
            "\"base_score\":\"[1,",
            "$.learner.learner_model_param.base_score: expected".to_owned(),
        ),
        (
            "\"num_feature\":\"4\",\"num_target",
            "\"num_feature\":\"4294967295\",\"num_target",
            "$.learner.feature_names: expected 4294967295".to_owned(),
        ),
        ("\"num_target\":\"1\"", "\"num_target\":\"2\"", "num_target: 2 outputs".to_owned()),
        (
            "\"version\":[3",
            "\"version\":[4",
            "$.version: expected a version from 1 to 3".to_owned(),
        ),
        (
            "\"name\":\"gbtree\"",
            "\"name\":\"gbforest\"",
            "the booster 'gbforest' is not read".to_owned(),
        ),
        (
            "\"tree_info\":[0",
            "\"tree_info\":[1",
            "tree_info[0]: tree 0 is of another output".to_owned(),
        ),
        (
            "\"size_leaf_vector\":\"1\"",
            "\"size_leaf_vector\":\"2\"",
            "tree 0 has leaves of 2 values".to_owned(),
        ),
        ("\"age\"", "\"income\"", "the feature name 'income' appears twice".to_owned()),
    ];
    for (from, to, expected) in cases {
        let found = message(name, from, to);
        assert!(found.contains(&expected), "{found}\nis not\n{expected}");
    }
    let unnamed = message(
        "xgboost-3.2.0-base.json",
        "\"num_feature\":\"4\",\"num_target",
        "\"num_feature\":\"4294967295\",\"num_target",
    );
    assert!(
        unnamed.contains("expected 1 to 1000000 features, where they have no names"),
        "{unnamed}"
    );
    let name = "xgboost-3.2.0-linear.json";
    let single = message(name, "\"weights\":[", "\"weights\":[1E39],\"others\":[");
    assert!(
        single.contains("weights: expected 5 numbers (one per feature, and the bias), found 1"),
        "{single}"
    );
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let start = text.find("\"weights\":[").unwrap() + 11;
    let end = start + text[start..].find(',').unwrap();
    let large = format!("{}1E39{}", &text[..start], &text[end..]);
    let error = ModelFile::parse(large.as_bytes(), "m").unwrap_err().to_string();
    assert!(
        error.contains(
            "weights[0]: expected a number in the range of single precision, found 1e+39"
        ),
        "{error}"
    );
}

#[test]
fn broken_models_of_lightgbm_are_refused_with_their_line() {
    let cases = [
        ("left_child=1", "left_child=0", "tree 0: 'left_child' has 0 at split 0"),
        ("left_child=1", "left_child=-5", "tree 0: 'left_child' has -5 at split 0"),
        (
            "left_child=1",
            "left_child=-9223372036854775808",
            "tree 0: 'left_child' has -9223372036854775808",
        ),
        (
            "left_child=1 ",
            "left_child=2 ",
            "tree 0: 'left_child' and 'right_child' have two ways to split 2",
        ),
        (
            "split_feature=",
            "split_feature=9 ",
            "'split_feature' has 4 values, expected 3 (one per split)",
        ),
        (
            "num_leaves=4",
            "num_leaves=99999999999",
            "'leaf_value' has 4 values, expected 99999999999",
        ),
        ("num_leaves=4", "num_leaves=0", "'leaf_value' has 4 values, expected 0"),
        ("leaf_value=", "leaf_value=nan ", "'leaf_value' has 5 values"),
        ("max_feature_idx=3", "max_feature_idx=4", "'feature_names' has 4 names"),
        (
            "max_feature_idx=3",
            "max_feature_idx=18446744073709551615",
            "'feature_names' has 4 names",
        ),
        ("sigmoid:1", "sigmoid:-1", "'objective' has 'sigmoid:-1', expected a positive sigmoid"),
        (
            "version=v4",
            "version=v5",
            "line 2: 'version' is 'v5', which is not read (read are: v3, v4)",
        ),
        ("Tree=1", "Tree=2", "expected Tree=1, found 'Tree=2'"),
        ("tree_sizes=", "tree_sizes=1 ", "'tree_sizes' has 4 values, expected 3 (one per tree)"),
        ("num_cat=0", "num_cat=0\nnum_cat=0", "tree 0: 'num_cat' appears twice"),
        ("objective=", "aim=", "'objective' is missing"),
        ("num_leaves=4\n", "", "tree 0: 'num_leaves' is missing"),
        ("income", "age", "the feature name 'age' appears twice"),
    ];
    for (from, to, expected) in cases {
        let found = message("lightgbm-4.7.0-binary.txt", from, to);
        assert!(found.contains(expected), "{found}\nis not\n{expected}");
    }
}
