//! Help, completions, `inspect`, logging: what is read by people, not by scripts.

use crate::support::Folder;

const COMMANDS: [&str; 11] = [
    "demo",
    "train",
    "recourse",
    "frontier",
    "compare",
    "rate",
    "noise",
    "reproduce",
    "data",
    "inspect",
    "completions",
];

#[test]
fn every_command_s_help_has_examples_that_name_it() {
    let folder = Folder::new();
    for command in COMMANDS {
        let ran = folder.run(&format!("{command} --help"));
        let text = ran.text();
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let examples = text.split("Examples:").nth(1).unwrap_or_else(|| panic!("no examples: {text}"));
        assert!(examples.contains(&format!("probe {command}")), "{examples}");
        assert!(!text.contains('\u{1b}'));
    }
    let text = folder.run("--help").text();
    assert!(text.contains("Examples:"));
    for command in COMMANDS {
        assert!(text.contains(&format!("  {command} ")), "{text}");
    }
    assert!(folder.run("--version").text().starts_with("probe "));
}

#[test]
fn help_names_every_flag_of_the_contract() {
    let text = Folder::new().run("recourse --help").text();
    let flags = [
        "-r",
        "--max-rate",
        "--sigma",
        "--sigma2",
        "--noise",
        "--noise-on",
        "--model-shift",
        "--cost",
        "--bounds",
        "--strict-bounds",
        "--schema",
        "--immutable",
        "--max-changes",
        "--confidence",
        "--confidence-scope",
        "--rows",
        "--aim",
        "--method",
        "--option",
        "--paper-text",
        "--no-certify",
        "--also-favourable",
        "--favourable-class",
        "--threshold",
        "--threshold-prob",
        "--budget",
        "--id",
        "--ignore-extra",
        "--format",
        "-o",
        "--seed",
        "--threads",
        "--quiet",
        "--log",
    ];
    for flag in flags {
        assert!(text.contains(flag), "no {flag}");
    }
}

#[test]
fn completions_know_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = folder.run(&format!("completions {shell}"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let text = ran.text();
        assert!(COMMANDS.iter().all(|command| text.contains(command)), "{shell}");
        assert!(text.contains("max-rate"), "{shell}");
    }
    assert_eq!(folder.run("completions abacus").code, Some(2));
}

/// Runs `inspect` and checks words and plainness.
#[track_caller]
fn inspected(folder: &Folder, file: &str, words: &[&str]) {
    let ran = folder.run(&format!("inspect {file}"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{file}");
    let text = ran.text();
    for word in words {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn inspect_explains_models_schemas_and_tables() {
    let folder = Folder::with_people("a,b,who\n0,0.5,Ann\n2,1.5,Bob\n");
    inspected(
        &folder,
        "model.json",
        &["linear", "2 features", "+2.0", "+1.0", "bias -2.0", "no schema", "sha256"],
    );
    inspected(&folder, "people.csv", &["table: csv, 2 rows, 3 columns", "whole numbers", "text", "Ann, Bob"]);
    folder.write(
        "schema.toml",
        "version = 1\ntarget = \"y\"\n[[feature]]\nname = \"a\"\nmutable = false\n\
         [[feature]]\nname = \"b\"\nmin = 0\nmax = 9\ndirection = \"increase\"\nunit = \"EUR\"\n",
    );
    inspected(&folder, "schema.toml", &["predicts 'y'", "up only", "EUR", "no"]);
    folder.write("schema.json", r#"{"version": 1, "feature": [{"name": "a", "mutable": false}]}"#);
    inspected(&folder, "schema.json", &["feature", "a"]);
    assert_eq!(folder.run("recourse model.json people.csv --id who -o out.parquet").code, Some(0));
    inspected(&folder, "out.parquet", &["table: parquet, 2 rows, 12 columns", "certified"]);
    folder.write("people.jsonl", "{\"a\": 1, \"b\": 2}\n");
    inspected(&folder, "people.jsonl", &["table: jsonl, 1 row", "2 columns"]);
    folder.write("none.csv", "a,b\n");
    inspected(&folder, "none.csv", &["0 rows, 2 columns"]);
}

#[test]
fn inspect_refuses_what_it_cannot_read() {
    let folder = Folder::new();
    folder.run("inspect gone.csv").fails(1, &["gone.csv", "No such file"]);
    folder.write("empty.csv", "");
    folder.run("inspect empty.csv").fails(1, &["empty.csv", "empty"]);
    folder.write("bad.toml", "version = \n");
    folder.run("inspect bad.toml").fails(1, &["bad.toml", "line 1"]);
    std::fs::create_dir(folder.path("dir")).unwrap();
    folder.run("inspect dir").fails(1, &["dir"]);
}

#[test]
fn no_colours_when_nobody_watches() {
    let folder = Folder::with_people("a,b\n0,x\n");
    for line in
        ["recourse model.json people.csv", "recourse", "inspect model.json", "recourse model.json gone.csv"]
    {
        let ran = folder.run(line);
        assert!(!ran.text().contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{line}: {ran:?}");
    }
}

#[test]
fn a_raw_model_without_scales_is_warned_of() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write(
        "schema.toml",
        "version = 1\nmodel_input = \"raw\"\n[[feature]]\nname = \"a\"\n[[feature]]\nname = \"b\"\n",
    );
    let ran = folder.run("recourse model.json people.csv --schema schema.toml");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.starts_with("warning: ") && ran.err.contains("scale"), "{}", ran.err);
    assert!(!folder.run("recourse model.json people.csv").err.contains("warning"));
}
