//! `train`: what it prints, what it writes, what it refuses.

use crate::support::{Folder, Random};
use probe_io::ModelFile;

/// 600 applicants in raw units: approval rises with income and falls with debt; age and postcode do
/// not matter.
pub(crate) fn applicants() -> String {
    let mut random = Random::new(11);
    let mut text = "income,debt,age,postcode,approved\n".to_owned();
    for _ in 0..600 {
        let (income, debt) = (random.between(12_000.0, 90_000.0), random.between(0.0, 30_000.0));
        let age = random.between(20.0, 70.0);
        let score = (income - 45_000.0) / 15_000.0 - (debt - 14_000.0) / 9_000.0
            + random.between(-1.0, 1.0);
        let approved = if score > 0.0 { "yes" } else { "no" };
        text.push_str(&format!(
            "{income:.2},{debt:.1},{age:.0},{:.0},{approved}\n",
            random.between(1e4, 9e4)
        ));
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("data.csv", &applicants());
    folder
}

#[test]
fn accuracy_is_printed_and_the_model_file_loads() {
    let folder = folder();
    let ran = folder
        .run("train data.csv --target approved --drop postcode --immutable age -o trained.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    for word in [
        "accuracy",
        "balanced",
        "AUC",
        "training",
        "test",
        "480",
        "120",
        "of the rows are favourable",
    ] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(ran.err.contains("wrote trained.json"), "{}", ran.err);

    let file = ModelFile::load(folder.path("trained.json")).unwrap();
    assert_eq!(file.features, ["income", "debt", "age"]);
    let linear = file.model.as_linear().unwrap();
    assert!(linear.weights()[0] > 0.0 && linear.weights()[1] < 0.0, "{:?}", linear.weights());
    let schema = file.schema.unwrap();
    assert_eq!(
        (schema.target.as_deref(), schema.favourable.as_deref()),
        (Some("approved"), Some("yes"))
    );
    let mutable: Vec<bool> = schema.features.iter().map(|f| f.mutable).collect();
    assert_eq!(mutable, [true, true, false]);
    assert!(schema.features.iter().all(|f| f.scale.is_some() && f.range.is_some()));
    assert_eq!(folder.files(), ["data.csv", "model.json", "trained.json"]);
}

#[test]
fn the_printed_accuracy_is_that_of_the_written_model() {
    for kind in ["linear", "forest --trees 15", "boosted --trees 15"] {
        let folder = folder();
        let ran = folder.run(&format!(
            "train data.csv --target approved --test 0 -o trained.json --kind {kind}"
        ));
        let text = ran.text();
        let line = text.lines().find(|line| line.contains("training")).unwrap();
        let cells: Vec<&str> =
            line.split(['│', '┆']).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..2], ["training", "600"], "{text}");
        assert!(!text.contains("test"), "{text}");
        let rates = folder.table("rate trained.json data.csv --ignore-extra --samples 20");
        let truth = applicants();
        let right = truth.lines().skip(1).enumerate().filter(|(row, line)| {
            line.ends_with("yes") == (rates.get(*row, "favourable") == "true")
        });
        assert_eq!(cells[2], format!("{:.3}", right.count() as f64 / 600.0), "{kind}");
    }
}

#[test]
fn quiet_training_prints_nothing() {
    let ran = folder().run("train data.csv --target approved -o trained.json --quiet");
    assert_eq!((ran.code, ran.out.len(), ran.err.as_str()), (Some(0), 0, ""));
}

#[test]
fn people_and_answers_are_in_raw_units() {
    let folder = folder();
    assert_eq!(
        folder
            .run("train data.csv --target approved --drop postcode --immutable age -o trained.json")
            .code,
        Some(0)
    );
    folder.write("people.csv", "income,debt,age\n30000,20000,40\n");
    let table = folder.table("recourse trained.json people.csv --sigma 0.02");
    assert_eq!((table.get(0, "status"), table.get(0, "age")), ("certified", "40"));
    let (income, debt) = (table.number(0, "income"), table.number(0, "debt"));
    assert!(
        (30_000.0..=90_000.0).contains(&income) && (0.0..=20_000.0).contains(&debt),
        "{income} {debt}"
    );
    assert_eq!(table.get(0, "outside_range"), "0");
    // `--schema none` takes the numbers as they are: scaled already.
    let ran = folder.run("recourse trained.json people.csv --schema none");
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.text().contains(",30000,20000,40") || ran.text().contains("certified"),
        "{}",
        ran.text()
    );
}

#[test]
fn the_favourable_value_may_be_told() {
    let folder = folder();
    let line = "train data.csv --target approved --drop postcode,age -o";
    assert_eq!(folder.run(&format!("{line} yes.json")).code, Some(0));
    assert_eq!(folder.run(&format!("{line} no.json --favourable no")).code, Some(0));
    let weights = |name: &str| {
        ModelFile::load(folder.path(name)).unwrap().model.as_linear().unwrap().weights().to_vec()
    };
    assert!(weights("yes.json")[0] > 0.0 && weights("no.json")[0] < 0.0);
}

#[test]
fn a_schema_says_what_a_table_cannot() {
    let folder = folder();
    folder.write(
        "schema.toml",
        "version = 1\ntarget = \"approved\"\nfavourable = \"yes\"\n\
         [[feature]]\nname = \"debt\"\ndirection = \"decrease\"\nunit = \"EUR\"\n\
         [[feature]]\nname = \"income\"\nmax = 60000.0\ndirection = \"increase\"\ncost = 2.0\n",
    );
    let ran = folder.run("train data.csv --schema schema.toml -o trained.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let schema = ModelFile::load(folder.path("trained.json")).unwrap().schema.unwrap();
    let income = schema.feature("income").unwrap();
    assert_eq!((income.max, income.cost), (Some(60_000.0), 2.0));
    assert_eq!(schema.feature("debt").unwrap().unit.as_deref(), Some("EUR"));
}

#[track_caller]
fn refused(data: &str, flags: &str, code: i32, words: &[&str]) {
    let folder = Folder::new();
    folder.write("data.csv", data);
    folder.run(&format!("train data.csv -o trained.json {flags}")).fails(code, words);
    assert_eq!(folder.files(), ["data.csv", "model.json"]);
}

#[test]
fn text_in_a_column() {
    let data = "job,x,y\nbaker,1,0\nsmith,2,1\n";
    refused(
        data,
        "--target y",
        1,
        &["data.csv", "row 0 (line 2)", "column 'job'", "'baker'", "--drop job"],
    );
}

#[test]
fn one_class_only() {
    refused("x,y\n1,1\n2,1\n", "--target y", 1, &["data.csv", "column 'y'", "only one value", "1"]);
    refused(
        "x,y\n1,1\n2,1\n",
        "--target y --favourable 1",
        1,
        &["data.csv", "column 'y'", "only one value"],
    );
}

#[test]
fn no_rows() {
    refused("x,y\n", "--target y", 1, &["data.csv", "no rows"]);
    refused("", "--target y", 1, &["data.csv", "empty file"]);
}

#[test]
fn unknown_names() {
    let data = "x,y\n1,0\n2,1\n";
    refused(data, "--target z", 1, &["data.csv", "no column 'z'"]);
    refused(
        data,
        "--target y --favourable maybe",
        1,
        &["data.csv", "column 'y'", "'maybe'", "0, 1"],
    );
    refused(data, "--target y --immutable z", 2, &["--immutable", "'z'", "x"]);
    refused(data, "--target y --drop z", 2, &["--drop", "'z'"]);
    refused(data, "", 2, &["--target COL"]);
    refused(
        "x,y\n1,a\n2,b\n",
        "--target y",
        1,
        &["data.csv", "column 'y'", "--favourable VALUE", "a, b"],
    );
}

#[test]
fn numbers_outside_their_domain() {
    let data = "x,y\n1,0\n2,1\n";
    refused(data, "--target y --l2=-1", 2, &["--l2", "'-1'"]);
    refused(data, "--target y --test 1", 2, &["--test", "'1'"]);
    refused(data, "--target y --kind magic", 2, &["--kind", "'magic'"]);
    refused(
        "x,y\nnan,0\n2,1\n",
        "--target y",
        1,
        &["data.csv", "row 0 (line 2)", "column 'x'", "'nan'"],
    );
    refused(
        "x,y\n1,\n2,1\n",
        "--target y",
        1,
        &["data.csv", "row 0 (line 2)", "column 'y'", "target value"],
    );
}

/// Both kinds, with flags of their own.
fn forest_and_boosted() -> [(&'static str, &'static str); 2] {
    [
        ("forest", "--trees 30 --depth 5 --min-leaf 3 --split-features 2"),
        ("boosted", "--trees 30 --depth 3 --lr 0.2 --l2 2 --rows 0.9 --columns 0.8 --bins 64"),
    ]
}

#[test]
fn trees_are_trained_inspected_and_scored() {
    for (kind, flags) in forest_and_boosted() {
        let folder = folder();
        let line = format!(
            "train data.csv --target approved --drop postcode --kind {kind} {flags} -o trees.json"
        );
        let ran = folder.run(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let text = ran.text();
        let row = text.lines().find(|line| line.contains("test")).unwrap();
        let cells: Vec<&str> =
            row.split(['│', '┆']).map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(cells[..2], ["test", "120"], "{text}");
        // Accuracy, balanced accuracy and AUC of a rule that a fifth of the rows are close to.
        assert!(cells[2..].iter().all(|cell| cell.parse::<f64>().unwrap() > 0.8), "{kind}: {text}");

        let file = ModelFile::load(folder.path("trees.json")).unwrap();
        assert_eq!(
            (file.model.name(), &file.features[..]),
            ("trees", &["income", "debt", "age"].map(str::to_owned)[..])
        );
        assert_eq!(file.model.as_trees().unwrap().trees().len(), 30);
        assert!(file.schema.unwrap().features.iter().all(|f| f.scale.is_some()));

        let text = folder.run("inspect trees.json").text();
        let aggregate = if kind == "forest" { "aggregate mean" } else { "aggregate sum" };
        let depth = if kind == "forest" { "depth 5" } else { "depth 3" };
        for word in [
            "model: trees, 3 features",
            "30 trees",
            depth,
            aggregate,
            "leaves",
            "never split on: none",
        ] {
            assert!(text.contains(word), "no '{word}' in {text}");
        }
    }
}

#[test]
fn trees_are_the_same_for_any_number_of_threads() {
    for (kind, flags) in forest_and_boosted() {
        let folder = folder();
        let read = |threads: &str, seed: &str| {
            let line = format!(
                "train data.csv --target approved --kind {kind} {flags} -o t.json --threads \
                 {threads} --seed {seed}"
            );
            assert_eq!(folder.run(&line).code, Some(0));
            std::fs::read(folder.path("t.json")).unwrap()
        };
        let alone = read("1", "0");
        assert_eq!(alone, read("3", "0"), "{kind}");
        assert_ne!(alone, read("1", "1"), "{kind}");
    }
}

#[test]
fn balanced_trees_say_yes_more_often_to_a_rare_class() {
    let folder = folder();
    // Only the best tenth is approved.
    let rare: Vec<String> = applicants()
        .lines()
        .enumerate()
        .map(|(i, line)| match line.strip_suffix(",yes") {
            Some(rest) if i % 5 != 0 => format!("{rest},no"),
            _ => line.to_owned(),
        })
        .collect();
    folder.write("rare.csv", &rare.join("\n"));
    let yes = |flags: &str| {
        let line = format!(
            "train rare.csv --target approved --kind forest --depth 3 --test 0 {flags} -o t.json"
        );
        let ran = folder.run(&line);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let file = ModelFile::load(folder.path("t.json")).unwrap();
        let space = file.schema.unwrap().space();
        let score = |line: &String| {
            let row: Vec<f64> = line.split(',').take(4).map(|cell| cell.parse().unwrap()).collect();
            let mut scaled = [0.0; 4];
            space.scale_into(&row, &mut scaled);
            file.model.score(&scaled).unwrap()
        };
        rare[1..].iter().filter(|line| score(line) > 0.0).count()
    };
    let (plain, balanced) = (yes("--class-weight none"), yes("--class-weight balanced"));
    assert_eq!(balanced, yes("--balanced"));
    assert!(balanced > 100 && balanced > 3 * plain, "{balanced} {plain}");
}

#[test]
fn inspect_names_features_that_are_never_split_on() {
    let folder = folder();
    folder.write(
        "stump.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "trees", "#,
            r#""features": ["a", "b", "c"], "#,
            r#""split": "<",
        "aggregate": "vote", "input": "f32", "trees": [{"feature": [1, 0, 0], "#,
            r#""threshold": [0.5, 0, 0],
        "left": [1, -1, -1], "right": [2, -1, -1], "value": [0, 0, 1]}]}"#
        ),
    );
    let text = folder.run("inspect stump.json").text();
    for word in [
        "1 tree, depth 1, 2 leaves, 1 split\n",
        "aggregate vote",
        "left where the value is < the threshold, after rounding to f32",
        "never split on: a, c",
        "no schema",
    ] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
}

#[test]
fn flags_of_another_kind_are_refused() {
    let data = applicants();
    for (flags, words) in [
        ("--hidden 5", &["--hidden is for networks", "--kind mlp"][..]),
        ("--kind forest --epochs 5", &["--epochs is for networks"]),
        ("--kind mlp --trees 5", &["--trees is not for this kind", "--kind forest or boosted"]),
        ("--kind forest --lr 0.1", &["--lr is not for this kind", "--kind mlp or boosted"]),
        ("--kind forest --l2 1", &["--l2", "linear or mlp or boosted"]),
        ("--kind boosted --min-leaf 5", &["--min-leaf", "--kind forest"]),
        ("--kind boosted --no-bootstrap", &["--no-bootstrap", "--kind forest"]),
        ("--kind forest --rows 0.5", &["--rows", "--kind boosted"]),
        ("--kind forest --trees 0", &["trees must be from 1"]),
        ("--kind boosted --depth 100", &["depth must be from 1 to 64, got 100"]),
        ("--kind boosted --bins 1", &["bins must be from 2 to 256"]),
    ] {
        refused(&data, flags, 1, words);
    }
    refused(&data, "--kind boosted --rows 0", 2, &["--rows", "above 0 and at most 1"]);
    refused(&data, "--kind boosted --columns 1.5", 2, &["--columns", "above 0 and at most 1"]);
    refused(
        &data,
        "--kind forest --balanced --class-weight none",
        2,
        &["--class-weight", "--balanced"],
    );
}

#[test]
fn all_text_columns_are_named_at_once() {
    let folder = Folder::new();
    folder.write("text.csv", "age,job,home,y\n20,clerk,rent,1\n30,cook,own,0\n40,clerk,own,1\n");
    let ran = folder.run("train text.csv --target y -o out.json");
    ran.fails(1, &["text.csv", "2 columns", "job, home", "--drop job,home", "probe schema infer"]);
    let ran = folder.run("train text.csv --target y --drop job -o out.json");
    ran.fails(1, &["'home'", "--drop home"]);
    assert_eq!(
        folder.run("train text.csv --target y --drop job,home --test 0 -o out.json").code,
        Some(0)
    );
}

#[test]
fn a_model_that_says_one_thing_to_everybody_is_warned_of() {
    let folder = Folder::new();
    // Nothing to learn from, and one label of two in nine rows of ten.
    let rows: String = (0..100).map(|i| format!("{},{}\n", i % 7, u8::from(i % 10 > 0))).collect();
    folder.write("flat.csv", &format!("a,y\n{rows}"));
    let line = "train flat.csv --target y --kind mlp --hidden 2 --epochs 1 -o out.json";
    let ran = folder.run(line);
    assert!(ran.code == Some(0) && ran.err.contains("the same class for every row"), "{}", ran.err);
    // One that tells the labels apart is not.
    let rows: String = (0..100).map(|i| format!("{},{}\n", i, u8::from(i > 40))).collect();
    folder.write("good.csv", &format!("a,y\n{rows}"));
    let ran = folder.run("train good.csv --target y -o out.json");
    assert!(
        ran.code == Some(0) && !ran.err.contains("the same class for every row"),
        "{}",
        ran.err
    );
}
