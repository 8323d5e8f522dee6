//! `--explain`: letters in place of the table, or beside it.

use crate::support::Folder;
use serde_json::Value;

/// `2 a + b - 2 > 0` in EUR and categories: own is worth 0.5.
const MODEL: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "linear", "features": ["income", "#,
    r#""housing=rent", "housing=own"],
    "layers": [{"weight": [[4.0, 0.0, 0.5]], "bias": [-2.0]}],
    "schema": {"version": 1, "feature": [
      {"name": "income", "min": 0, "max": 90000, "step": 500, "direction": "increase", "#,
    r#""scale": [0, 100000], "unit": "EUR"},
      {"name": "housing", "kind": "categorical", "categories": ["rent", "own"], "#,
    r#""cost": 2}]}}"#
);

const PEOPLE: &str = "income,housing,name\n30000,rent,Ann <b>\n80000,own,Bob\n45000,own,Cem\n";

fn folder() -> Folder {
    let folder = Folder::with_people(PEOPLE);
    folder.write("model.json", MODEL);
    folder
}

const ASK: &str = "recourse model.json people.csv --id name --quiet -r 0.1 --sigma 0.05";

#[test]
fn letters_take_the_place_of_the_table() {
    let folder = folder();
    let ran = folder.run(&format!("{ASK} --explain"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    // 4 x − 2 must be 1.28155 · 4 · 0.05 = 0.2563 at least: an income of 56,408, and 56,500 on the
    // grid of 500.
    assert!(text.contains("Raise income from 30,000 EUR to 56,500 EUR."), "{text}");
    // 56,500 − 50,000, which is not a yes any more: one step of 500 less than that.
    assert!(text.contains("up to 6,000 EUR less"), "{text}");
    assert!(text.contains("income by 5,000 EUR"), "{text}");
    assert_eq!(text.matches("name: ").count(), 3);
    assert_eq!(text.matches("This is a yes already").count(), 2, "{text}");
    assert!(!text.contains("housing="), "{text}");
    // The same bytes in any number of threads, and in a file.
    assert_eq!(folder.run(&format!("{ASK} --explain text --threads 1 -o a.txt")).code, Some(0));
    assert_eq!(folder.text("a.txt"), text);
    assert_eq!(
        folder.run(&format!("{ASK} --explain markdown")).text().matches("\n---\n").count(),
        2
    );
}

#[test]
fn html_is_one_page_and_german_is_german() {
    let folder = folder();
    assert_eq!(
        folder.run(&format!("{ASK} -o out.csv --explain-out l.html --language de")).code,
        Some(0)
    );
    let page = folder.text("l.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert_eq!((page.matches("<article").count(), page.matches("<html").count()), (3, 1));
    assert!(
        page.contains("von 30.000 EUR auf 56.500 EUR") && page.contains("lang=\"de\""),
        "{page}"
    );
    assert!(page.contains("Ann &lt;b&gt;") && !page.contains("http"), "{page}");
    // The table is what it is without letters.
    assert_eq!(folder.text("out.csv"), folder.run(ASK).text());
}

#[test]
fn json_has_the_facts_and_the_sentences() {
    let folder = folder();
    let ran = folder.run(&format!("{ASK} --explain json"));
    let all: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(all["meta"]["r"], 0.1);
    let row = &all["rows"][0];
    assert_eq!(row["changes"][0]["to"], 56_500.0);
    assert_eq!(row["reasons"], serde_json::json!(["income"]));
    let text = row["letter"]["steps"]["items"][0]["text"].as_str().unwrap();
    assert_eq!(text, "Raise income from 30,000 EUR to 56,500 EUR.");
    let lines = folder.run(&format!("{ASK} --explain json --format jsonl")).text();
    assert_eq!(lines.lines().count(), 3);
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["meta"]["r"], 0.1);
    }
    assert_eq!(folder.run(&format!("{ASK} -o x.csv --explain-out l.jsonl")).code, Some(0));
    assert_eq!(folder.text("l.jsonl"), lines);
}

#[test]
fn several_ways_and_what_would_help_are_told() {
    let folder = folder();
    let text = folder.run(&format!("{ASK} --explain --options 2")).text();
    assert!(
        text.contains("name: Ann <b>, Way 1") && text.contains("name: Ann <b>, Way 2"),
        "{text}"
    );
    // Of income alone 56,500 are needed, as above.
    folder.write(
        "model.json",
        &MODEL.replace("90000", "40000").replace("\"cost\": 2", "\"mutable\": false"),
    );
    let text = folder.run(&format!("{ASK} --explain --relax")).text();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("in the way: income can be no higher than 40,000 EUR."), "{text}");
    assert!(flat.contains("at its best allowed value: income up to 56,500 EUR."), "{text}");
}

#[test]
fn own_templates_are_taken_and_wrong_ones_named() {
    let folder = folder();
    folder.write(
        "my.toml",
        "[phrases]\nstep_raise = \"More {{ feature }}!\"\n[features]\nincome = \"pay\"\n",
    );
    let text = folder.run(&format!("{ASK} --explain --templates my.toml")).text();
    assert!(text.contains("1. More pay!"), "{text}");
    folder.write("bad.toml", "[phrases]\nstep_raise = \"More {{ money }}!\"\n");
    folder
        .run(&format!("{ASK} --explain --templates bad.toml"))
        .fails(1, &["bad.toml", "step_raise", "'money'", "feature"]);
    std::fs::create_dir(folder.path("own")).unwrap();
    folder
        .run(&format!("{ASK} --explain --templates own"))
        .fails(2, &["--templates", "own", "en.toml"]);
    folder.write("own/letter.txt", "{{ who }}: {{ title }}");
    assert!(
        folder
            .run(&format!("{ASK} --explain --templates own"))
            .text()
            .starts_with("name: Ann <b>: How")
    );
    folder
        .run(&format!("{ASK} --explain --templates gone.toml"))
        .fails(1, &["--templates", "gone.toml"]);
    folder.run(&format!("{ASK} --explain --language xx")).fails(1, &["'xx'", "en, de"]);
}

#[test]
fn flags_that_do_not_go_together_are_named() {
    let folder = folder();
    folder.run(&format!("{ASK} --language de")).fails(2, &["--language", "--explain"]);
    folder
        .run(&format!("{ASK} --explain html --format csv"))
        .fails(2, &["--format", "--explain-out"]);
    folder.run(&format!("{ASK} --explain-out l.doc")).fails(2, &["--explain-out", "html"]);
    folder
        .run(&format!("{ASK} --explain-out people.csv --explain text"))
        .fails(2, &["--explain-out", "people"]);
    folder
        .run(&format!("{ASK} -o a.html --explain-out a.html"))
        .fails(2, &["--explain-out", "a.html"]);
    assert_eq!(folder.files(), ["model.json", "people.csv"]);
    // A fault in the last row leaves neither table nor letters.
    folder.write("people.csv", &format!("{PEOPLE}oops,rent,Dan\n"));
    assert_eq!(folder.run(&format!("{ASK} -o a.csv --explain-out a.html")).code, Some(1));
    assert_eq!(folder.files(), ["model.json", "people.csv"]);
}
