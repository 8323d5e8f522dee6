//! `train`: what it prints, what it writes, what it refuses.

use crate::support::{Folder, Random};
use probe_io::ModelFile;

/// 600 applicants in raw units: approval rises with income and falls with debt; age and postcode do not matter.
pub(crate) fn applicants() -> String {
    let mut random = Random::new(11);
    let mut text = "income,debt,age,postcode,approved\n".to_owned();
    for _ in 0..600 {
        let (income, debt) = (random.between(12_000.0, 90_000.0), random.between(0.0, 30_000.0));
        let age = random.between(20.0, 70.0);
        let score = (income - 45_000.0) / 15_000.0 - (debt - 14_000.0) / 9_000.0 + random.between(-1.0, 1.0);
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
    let ran = folder.run("train data.csv --target approved --drop postcode --immutable age -o trained.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    for word in
        ["accuracy", "balanced", "AUC", "training", "test", "480", "120", "of the rows are favourable"]
    {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(ran.err.contains("wrote trained.json"), "{}", ran.err);

    let file = ModelFile::load(folder.path("trained.json")).unwrap();
    assert_eq!(file.features, ["income", "debt", "age"]);
    let linear = file.model.as_linear().unwrap();
    assert!(linear.weights()[0] > 0.0 && linear.weights()[1] < 0.0, "{:?}", linear.weights());
    let schema = file.schema.unwrap();
    assert_eq!((schema.target.as_deref(), schema.favourable.as_deref()), (Some("approved"), Some("yes")));
    let mutable: Vec<bool> = schema.features.iter().map(|f| f.mutable).collect();
    assert_eq!(mutable, [true, true, false]);
    assert!(schema.features.iter().all(|f| f.scale.is_some() && f.range.is_some()));
    assert_eq!(folder.files(), ["data.csv", "model.json", "trained.json"]);
}

#[test]
fn the_printed_accuracy_is_that_of_the_written_model() {
    let folder = folder();
    let ran = folder.run("train data.csv --target approved --test 0 -o trained.json");
    let text = ran.text();
    let line = text.lines().find(|line| line.contains("training")).unwrap();
    let cells: Vec<&str> = line.split(['│', '┆']).map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells[..2], ["training", "600"], "{text}");
    assert!(!text.contains("test"), "{text}");
    let rates = folder.table("rate trained.json data.csv --ignore-extra");
    let truth = applicants();
    let right = truth
        .lines()
        .skip(1)
        .enumerate()
        .filter(|(row, line)| line.ends_with("yes") == (rates.get(*row, "favourable") == "true"));
    assert_eq!(cells[2], format!("{:.3}", right.count() as f64 / 600.0));
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
        folder.run("train data.csv --target approved --drop postcode --immutable age -o trained.json").code,
        Some(0)
    );
    folder.write("people.csv", "income,debt,age\n30000,20000,40\n");
    let table = folder.table("recourse trained.json people.csv --sigma 0.02");
    assert_eq!((table.get(0, "status"), table.get(0, "age")), ("certified", "40"));
    let (income, debt) = (table.number(0, "income"), table.number(0, "debt"));
    assert!((30_000.0..=90_000.0).contains(&income) && (0.0..=20_000.0).contains(&debt), "{income} {debt}");
    assert_eq!(table.get(0, "outside_range"), "0");
    // `--schema none` takes the numbers as they are: scaled already.
    let ran = folder.run("recourse trained.json people.csv --schema none");
    assert_eq!(ran.code, Some(0));
    assert!(ran.text().contains(",30000,20000,40") || ran.text().contains("certified"), "{}", ran.text());
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
    refused(data, "--target y", 1, &["data.csv", "row 0 (line 2)", "column 'job'", "'baker'", "--drop job"]);
}

#[test]
fn one_class_only() {
    refused("x,y\n1,1\n2,1\n", "--target y", 1, &["data.csv", "column 'y'", "one value only", "1"]);
    refused("x,y\n1,1\n2,1\n", "--target y --favourable 1", 1, &["data.csv", "column 'y'", "one value only"]);
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
    refused(data, "--target y --favourable maybe", 1, &["data.csv", "column 'y'", "'maybe'", "0, 1"]);
    refused(data, "--target y --immutable z", 2, &["--immutable", "'z'", "x"]);
    refused(data, "--target y --drop z", 2, &["--drop", "'z'"]);
    refused(data, "", 2, &["--target COL"]);
    refused("x,y\n1,a\n2,b\n", "--target y", 1, &["data.csv", "column 'y'", "--favourable VALUE", "a, b"]);
}

#[test]
fn numbers_outside_their_domain() {
    let data = "x,y\n1,0\n2,1\n";
    refused(data, "--target y --l2=-1", 2, &["--l2", "'-1'"]);
    refused(data, "--target y --test 1", 2, &["--test", "'1'"]);
    refused(data, "--target y --kind magic", 2, &["--kind", "'magic'"]);
    refused("x,y\nnan,0\n2,1\n", "--target y", 1, &["data.csv", "row 0 (line 2)", "column 'x'", "'nan'"]);
    refused("x,y\n1,\n2,1\n", "--target y", 1, &["data.csv", "row 0 (line 2)", "column 'y'", "target value"]);
}
