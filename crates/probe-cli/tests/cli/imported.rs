//! Models of other libraries, as commands see them: found by content, in raw units, with a decision
//! told from outside.

use crate::support::{Csv, Folder};
use std::path::Path;

/// A model that the reader's own tests have, with its rows as people.
fn folder(name: &str, to: &str) -> Folder {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../probe-io/tests/models");
    let rows = std::fs::read_to_string(models.join(name).with_extension("csv")).unwrap();
    let folder = Folder::with_people(&rows);
    std::fs::copy(models.join(name), folder.path(to)).unwrap();
    folder
}

/// Margins that `probe rate` prints and those that the library gave.
#[track_caller]
fn margins(folder: &Folder, line: &str) -> Vec<(f64, f64)> {
    let people = Csv::parse(&folder.text("people.csv"));
    let rated = folder.table(&format!(
        "rate {line} people.csv --ignore-extra --samples 8 --estimator monte-carlo"
    ));
    assert_eq!(rated.rows.len(), people.rows.len());
    (0..people.rows.len())
        .map(|row| (rated.number(row, "margin"), people.number(row, "margin")))
        .collect()
}

const FILES: [(&str, &str, &str); 5] = [
    ("onnx/forest.onnx", "model.csv", "from: ONNX by skl2onnx 1.20.0, 5 trees, 5 features"),
    (
        "xgboost-3.2.0-raw.ubj",
        "model.bin",
        "from: XGBoost 3.2.0, objective binary:logitraw, booster gbtree, 3 trees, 4 features",
    ),
    (
        "xgboost-1.7.6-base.json",
        "model.txt",
        "from: XGBoost 1.7.6, objective reg:logistic, booster gbtree, 3 trees, 4 features",
    ),
    (
        "lightgbm-4.7.0-sigmoid.txt",
        "model.json",
        "from: LightGBM v4, objective binary sigmoid:2.5, 3 trees, 4 features",
    ),
    (
        "xgboost-3.2.0-linear.json",
        "linear",
        "from: XGBoost 3.2.0, objective binary:logistic, booster gblinear, linear, 4 features",
    ),
];

#[test]
fn models_are_told_by_their_content() {
    for (name, to, about) in FILES {
        let folder = folder(name, to);
        let text = folder.run(&format!("inspect {to}")).text();
        assert!(text.contains(about) && text.contains("probe schema infer"), "{text}");
        for (ours, theirs) in margins(&folder, to) {
            assert!((ours - theirs).abs() < 2e-6, "{name}: {ours} and {theirs}");
        }
    }
}

#[test]
fn a_schema_that_does_not_say_means_raw_values() {
    let folder = folder("xgboost-3.2.0-raw.ubj", "model.ubj");
    let features: String = (0..4)
        .map(|j| format!("[[feature]]\nname = \"f{j}\"\nscale = [-{j}.5, {j}.75]\n"))
        .collect();
    folder.write("silent.toml", &format!("version = 1\n{features}"));
    folder.write("scaled.toml", &format!("version = 1\nmodel_input = \"scaled\"\n{features}"));
    let agree = |line: &str| {
        margins(&folder, line).iter().all(|(ours, theirs)| (ours - theirs).abs() < 2e-6)
    };
    assert!(agree("model.ubj --schema silent.toml"));
    assert!(!agree("model.ubj --schema scaled.toml"));
    // A model of our own still takes scaled values: 2 a + b - 2 at (a, b) = (3, 2), scaled to (1,
    // 0.5).
    folder.write("own.csv", "a,b\n3,2\n");
    folder.write(
        "own.toml",
        "version = 1\n[[feature]]\nname = \"a\"\nscale = [1, 3]\n[[feature]]\nname = \"b\"\nscale \
         = [1, 3]\n",
    );
    assert_eq!(folder.table("rate model.json own.csv --schema own.toml").number(0, "margin"), 0.5);
}

#[test]
fn without_scales_there_is_a_warning_that_helps() {
    let folder = folder("lightgbm-4.7.0-binary.txt", "model.txt");
    for schema in ["", "--schema none"] {
        let ran = folder.run(&format!("rate model.txt people.csv --ignore-extra {schema}"));
        assert!(
            ran.err.starts_with("warning: ") && ran.err.contains("probe schema infer"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn the_decision_is_told_from_outside() {
    let folder = folder("xgboost-3.2.0-logistic.json", "model.xgb");
    let ask = |flags: &str| margins(&folder, &format!("model.xgb {flags}"));
    for ((ours, theirs), (negated, _)) in ask("").into_iter().zip(ask("--favourable-class 0")) {
        assert!((ours - theirs).abs() < 2e-6 && negated == -ours, "{ours} {negated}");
    }
    let line = "rate model.xgb people.csv --ignore-extra --estimator monte-carlo --samples 8 \
        --threshold-prob 0.4";
    let table = folder.table(line);
    let people = Csv::parse(&folder.text("people.csv"));
    let cut = (0.4_f64 / 0.6).ln();
    for row in 0..people.rows.len() {
        let expected = if people.number(row, "margin") > cut { "true" } else { "false" };
        assert_eq!(table.get(row, "favourable"), expected, "{row}");
    }
}

#[test]
fn a_probability_means_less_one_half_to_forests() {
    let folder = Folder::with_people("a\n0\n1\n");
    // Probabilities 0.55 and 0.65; log-odds of 0.6 would be 0.405, and both would be refused.
    let forest = concat!(
        r#"{"format": "probe-model", "version": 1, "kind": "trees", "features": ["a"], "#,
        r#""split": "<=", "aggregate": "mean",
        "trees": [{"feature": [0, 0, 0], "threshold": [0.5, 0, 0], "left": [1, -1, -1], "#,
        r#""right": [2, -1, -1], "value": [0, 0.55, 0.65]}]}"#
    );
    folder.write("forest.json", forest);
    let favourable = |flags: &str| {
        let table = folder.table(&format!("rate forest.json people.csv {flags}"));
        [0, 1].map(|row| table.get(row, "favourable").to_owned())
    };
    assert_eq!(favourable("--threshold-prob 0.5"), ["true", "true"]);
    assert_eq!(favourable("--threshold-prob 0.6"), ["false", "true"]);
    assert_eq!(favourable("--threshold-prob 0.7"), ["false", "false"]);
    // Of the other class the probabilities are 0.45 and 0.35.
    assert_eq!(favourable("--favourable-class 0 --threshold-prob 0.4"), ["true", "false"]);
}

#[test]
fn recourse_on_an_imported_model_is_certified_in_its_own_units() {
    let folder = folder("lightgbm-4.7.0-binary.txt", "model.txt");
    folder.write("denied.csv", "age,income,debt,late_payments\n-0.5,0.2,0.1,0\n,0.2,0.1,0\n");
    let names = ["age", "income", "debt", "late_payments"];
    let features: String =
        names.map(|name| format!("[[feature]]\nname = \"{name}\"\nscale = [-3, 3]\n")).concat();
    folder.write("schema.toml", &format!("version = 1\n{features}"));
    let line = "recourse model.txt denied.csv --schema schema.toml -r 0.1 --sigma 0.02";
    let table = folder.table(line);
    for row in 0..2 {
        assert_eq!(table.get(row, "status"), "certified", "{table:?}");
        assert!(table.number(row, "rate") <= 0.1);
    }
    assert_eq!(table.get(1, "age"), "");
    // The answers are people again, and the library would say yes to them as we do.
    folder.write("again.csv", &folder.run(line).text());
    let again = folder.table(
        "recourse model.txt again.csv --schema schema.toml -r 0.1 --sigma 0.02 --ignore-extra",
    );
    assert!((0..2).all(|row| again.get(row, "status") == "favourable"), "{again:?}");
}

/// A pipeline that encodes its categories itself takes people as they are, and answers with
/// categories and whole numbers.
#[test]
fn pipelines_take_categories_by_name() {
    let folder = folder("onnx/pipeline_forest.onnx", "model.onnx");
    let encoded = Csv::parse(&folder.text("people.csv"));
    // As a table has them: the category whose column is 1, and the kids of whom the code is the
    // number.
    let category = |row: usize, feature: &str, names: &[&'static str]| -> &'static str {
        let holds = |name: &&&str| encoded.number(row, &format!("{feature}={name}")) == 1.0;
        names.iter().find(holds).unwrap()
    };
    let mut people = "age,income,job,kids,city\n".to_owned();
    for row in 0..20 {
        people += &format!(
            "{},{},{},{},{}\n",
            encoded.number(row, "age"),
            encoded.number(row, "income"),
            category(row, "job", &["boss", "clerk", "none"]),
            encoded.number(row, "kids"),
            category(row, "city", &["A", "B", "C", "D"]),
        );
    }
    folder.write("raw.csv", &people);
    let rated = folder.table("rate model.onnx raw.csv --samples 8 --estimator monte-carlo");
    for row in 0..20 {
        let (ours, theirs) = (rated.number(row, "margin"), encoded.number(row, "margin"));
        assert!((ours - theirs).abs() < 1e-6, "row {row}: {ours} and {theirs}");
    }
    folder.write("wrong.csv", "age,income,job,kids,city\n40,1000,pilot,1,A\n");
    folder
        .run("rate model.onnx wrong.csv --quiet")
        .fails(1, &["column 'job': 'pilot' is not a category (known: boss, clerk, none)"]);
}
