//! Tables that cannot be meant: one line that names file, row, column and value, and no output.

use crate::support::{Folder, Ran};

/// Runs every streaming command on a bad `people.csv`, with an output that exists already, and
/// returns what `recourse` did with standard output. The existing file must survive and nothing be
/// left beside it.
#[track_caller]
fn refused(people: &str, words: &[&str]) -> Ran {
    let folder = Folder::with_people(people);
    folder.write("old.csv", "precious");
    for command in ["recourse", "frontier", "rate"] {
        folder.run(&format!("{command} model.json people.csv")).fails(1, words);
        folder.run(&format!("{command} model.json people.csv -o new.csv")).fails(1, words);
        folder.run(&format!("{command} model.json people.csv -o new.parquet")).fails(1, words);
        folder.run(&format!("{command} model.json people.csv -o old.csv")).fails(1, words);
        assert_eq!(folder.text("old.csv"), "precious");
        assert_eq!(folder.files(), ["model.json", "old.csv", "people.csv"]);
    }
    folder.run("recourse model.json people.csv --format json")
}

#[test]
fn missing_column() {
    refused("a,c\n0,0\n", &["people.csv", "no column 'b'"]);
    refused("a,B\n0,0\n", &["people.csv", "no column 'b'", "did you mean 'B'?"]);
    refused("a;b\n0;0\n", &["people.csv", "no column 'a'", "separated by ';'"]);
}

#[test]
fn unexpected_column() {
    refused(
        "a,b,zip\n0,0,1\n",
        &["people.csv", "unexpected column 'zip'", "--id zip", "--ignore-extra"],
    );
}

#[test]
fn duplicate_column() {
    refused("a,b,a\n0,0,0\n", &["people.csv", "column 'a' appears twice"]);
}

#[test]
fn not_a_number_in_a_numeric_cell() {
    refused("a,b\n0,0\n1,NaN\n", &["people.csv", "row 1 (line 3)", "column 'b'", "'NaN'"]);
}

#[test]
fn infinity_in_a_numeric_cell() {
    refused("a,b\ninf,0\n", &["people.csv", "row 0 (line 2)", "column 'a'", "'inf'"]);
    refused("a,b\n0,-1e999\n", &["people.csv", "row 0 (line 2)", "column 'b'", "'-1e999'"]);
}

#[test]
fn an_empty_numeric_cell() {
    refused("a,b\n0,0\n0,0\n,0\n", &["people.csv", "row 2 (line 4)", "column 'a'", "''"]);
}

#[test]
fn text_in_a_numeric_cell() {
    refused(
        "a,b\n0,lots\n",
        &["people.csv", "row 0 (line 2)", "column 'b'", "'lots'", "finite number"],
    );
}

#[test]
fn a_fault_after_many_good_rows_writes_nothing() {
    let mut people = "a,b\n".to_owned();
    for _ in 0..30_000 {
        people.push_str("0.25,0.5\n");
    }
    people.push_str("0,oops\n0,worse\n");
    let folder = Folder::with_people(&people);
    let ran = folder.run("recourse model.json people.csv -o out.csv");
    ran.fails(1, &["people.csv", "row 30000 (line 30002)", "column 'b'", "'oops'"]);
    assert_eq!(folder.files(), ["model.json", "people.csv"]);
}

#[test]
fn ragged_row() {
    refused("a,b\n0,0\n0,0,0\n", &["people.csv", "row 1 (line 3)", "expected 2 cells", "found 3"]);
    refused("a,b\n0\n", &["people.csv", "row 0 (line 2)", "expected 2 cells", "found 1"]);
}

#[test]
fn empty_file() {
    refused("", &["people.csv", "empty file"]);
}

#[test]
fn a_missing_input_file() {
    let folder = Folder::new();
    let ran = folder.run("recourse model.json nobody.csv -o out.csv");
    ran.fails(1, &["nobody.csv", "cannot open", "No such file"]);
    assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
    folder.run("recourse model.json . -o out.csv").fails(1, &[".", "irectory"]);
    assert_eq!(folder.files(), ["model.json"]);
}

#[test]
fn standard_input_is_named_as_such() {
    let folder = Folder::new();
    folder.run_with("recourse model.json -", "").fails(1, &["standard input", "empty"]);
    folder
        .run_with("rate model.json -", "a,b\n0,x\n")
        .fails(1, &["standard input", "row 0 (line 2)", "column 'b'", "'x'"]);
}

#[test]
fn json_rows_are_checked_too() {
    let folder = Folder::new();
    let cases = [
        ("{\"a\": 0, \"b\": \"x\"}\n", &["people.jsonl", "row 0 (line 1)", "column 'b'", "x"][..]),
        ("{\"a\": 0, \"b\": null}\n", &["people.jsonl", "row 0 (line 1)", "column 'b'", "null"]),
        (
            "{\"a\": 0, \"b\": 0}\n{\"a\": 0}\n",
            &["people.jsonl", "row 1 (line 2)", "no value for column 'b'"],
        ),
        ("{\"a\": 0, \"b\": 0}\nnonsense\n", &["people.jsonl", "row 1 (line 2)"]),
        ("{\"a\": 0}\n", &["people.jsonl", "no column 'b'"]),
    ];
    for (text, words) in cases {
        folder.write("people.jsonl", text);
        folder.run("recourse model.json people.jsonl -o out.csv").fails(1, words);
    }
    folder.write("people.parquet", "a,b\n0,0\n");
    folder.run("recourse model.json people.parquet -o out.csv").fails(1, &["people.parquet"]);
    assert_eq!(folder.files(), ["model.json", "people.jsonl", "people.parquet"]);
}

#[test]
fn a_line_break_in_a_name_does_not_break_the_message() {
    refused("a,b,\"x\ny\"\n0,0,0\n", &["people.csv", "unexpected column"]);
}

#[test]
fn points_need_their_people() {
    let folder = Folder::with_people("a,b\n1,1\n2,2\n");
    folder.write("from.csv", "a,b\n0,0\n");
    let line = "rate model.json people.csv --noise-on changed -o out.csv";
    folder.run(line).fails(2, &["--noise-on changed", "--from"]);
    folder
        .run(&format!("{line} --from from.csv"))
        .fails(1, &["from.csv", "no row 1", "people.csv", "1 row"]);
    folder.write("from.csv", "a,b\n0,0\n0,?\n");
    folder
        .run(&format!("{line} --from from.csv"))
        .fails(1, &["from.csv", "row 1 (line 3)", "column 'b'", "'?'"]);
    assert_eq!(folder.files(), ["from.csv", "model.json", "people.csv"]);
    folder.write("from.csv", "a,b\n0,0\n0,0\n0,0\n");
    let ran = folder.run(&format!("{line} --from from.csv"));
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("warning: --from has 3 rows and the points only 2"), "{}", ran.err);
}
