//! People with missing values: read where the model takes them, carried through, and refused by
//! name elsewhere.

use crate::support::{Csv, Folder, Z10, close, upper_tail};
use probe_io::{Columns, Format, TableReader};
use serde_json::Value;

/// Favourable where b is above 0.7, or above 0.3 where a is above 0.5; a missing a goes left, c is
/// not looked at, and of a missing b nobody says where it goes.
const TREES: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "trees", "features": ["a", "b", "c"],
    "split": "<=", "aggregate": "sum", "trees": [
        {"feature": [0, 0, 0], "threshold": [0.5, 0, 0], "left": [1, -1, -1], "#,
    r#""right": [2, -1, -1],
         "value": [0, 0.0, 2.0], "default_left": [true, true, true]},
        {"feature": [1, 0, 1, 0, 0], "threshold": [0.3, 0, 0.7, 0, 0], "left": [1, -1, 3, "#,
    r#"-1, -1],
         "right": [2, -1, 4, -1, -1], "value": [0, -3.0, 0, -1.0, 1.0]}]}"#
);

fn folder(people: &str) -> Folder {
    let folder = Folder::with_people(people);
    folder.write("trees.json", TREES);
    folder
}

/// The cheapest b for a missing a, up to the precision of the search, with a rate of at most 0.1.
#[track_caller]
fn is_the_answer(table: &Csv, row: usize) {
    assert_eq!(table.get(row, "status"), "certified");
    assert_eq!(table.get(row, "changed"), "1");
    let (b, least) = (table.number(row, "b"), 0.7 + 0.1 * Z10);
    assert!((least - 1e-12..least + 0.02).contains(&b), "{b} {least}");
    close(table.number(row, "cost"), b - 0.1);
    let rate = table.number(row, "rate");
    assert!((rate - upper_tail((b - 0.7) / 0.1)).abs() < 1e-9 && rate <= 0.1, "{rate}");
}

#[test]
fn an_answer_repeats_the_person_s_own_text() {
    let folder = folder("a,b,c\n,0.1,\nNaN,0.1, nan \n  ,0.10,7\n0.2,0.1,\n");
    let table = folder.table("recourse trees.json people.csv -r 0.1");
    for row in 0..3 {
        is_the_answer(&table, row);
    }
    assert_eq!([0, 1, 2].map(|row| table.get(row, "a")), ["", "NaN", "  "]);
    assert_eq!([0, 1, 2, 3].map(|row| table.get(row, "c")), ["", " nan ", "7", ""]);
    // Where a is known it is noisy, so that the answer is another.
    assert_eq!((table.get(3, "status"), table.get(3, "a")), ("certified", "0.2"));
    // The answers are people again: none of them needs anything.
    folder.write("again.csv", &folder.run("recourse trees.json people.csv -r 0.1").text());
    let again = folder.table("recourse trees.json again.csv --ignore-extra");
    assert!((0..4).all(|row| again.get(row, "status") == "favourable"), "{again:?}");
}

#[test]
fn an_empty_line_of_a_single_column_is_a_missing_value() {
    let folder = Folder::with_people("x\n0.1\n\n0.9\n");
    let model = |missing: &str| {
        format!(
            r#"{{"format": "probe-model", "version": 1, "kind": "trees", "features": ["x"],
            "split": "<=", "aggregate": "sum",
            "trees": [{{"feature": [0, 0, 0], "threshold": [0.5, 0, 0], "left": [1, -1, -1],
            "right": [2, -1, -1], "value": [0, -1.0, 1.0]{missing}}}]}}"#
        )
    };
    folder.write("trees.json", &model(r#", "default_left": [true, true, true]"#));
    let table = folder.table("recourse trees.json people.csv -r 0.1");
    assert_eq!(table.rows.len(), 3);
    assert_eq!([0, 1, 2].map(|row| table.get(row, "status")), ["certified", "none", "favourable"]);
    folder.write("trees.json", &model(""));
    folder
        .run("recourse trees.json people.csv")
        .fails(1, &["row 1 (line 3), column 'x'", "missing value"]);
}

#[test]
fn every_format_reads_and_writes_gaps() {
    let folder = folder("a,b,c\n,0.1,3\n0.2,0.1,\n");
    let expected = folder.table("recourse trees.json people.csv -r 0.1");
    for kind in ["csv", "jsonl", "json", "parquet"] {
        // Through recourse itself: what it writes without a change is what came in.
        let made = folder.run(&format!(
            "recourse trees.json people.csv -r 0.1 --immutable a,b,c -o same.{kind}"
        ));
        assert_eq!(made.code, Some(0), "{}", made.err);
    }
    let table = TableReader::open(folder.path("same.parquet"), Some(Format::Parquet)).unwrap();
    let names = ["a", "b", "c"].map(str::to_owned);
    let wanted =
        Columns { ignore_extra: true, missing: vec![None; 3], ..Columns::features(&names) };
    let mut numbers = Vec::new();
    table.select(&wanted).unwrap().next().unwrap().unwrap().numbers_into(&mut numbers).unwrap();
    let as_text: Vec<String> = numbers.iter().map(f64::to_string).collect();
    assert_eq!(as_text, ["NaN", "0.1", "3", "0.2", "0.1", "NaN"]);
    let rows: Vec<Value> =
        folder.text("same.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&rows[0]["from"]["a"], &rows[0]["to"]["a"]), (&Value::Null, &Value::Null));
    assert_eq!((&rows[1]["to"]["c"], &rows[1]["to"]["a"]), (&Value::Null, &Value::from(0.2)));

    let flat: String = rows.iter().map(|row| format!("{}\n", row["from"])).collect();
    folder.write("people.jsonl", &flat);
    folder.write("people.json", &format!("[{}]", flat.trim().replace('\n', ",")));
    for input in ["same.csv", "people.jsonl", "people.json", "same.parquet"] {
        let found = folder.table(&format!("recourse trees.json {input} -r 0.1 --ignore-extra"));
        for (row, columns) in [(0, ["a", "b", "cost", "rate"]), (1, ["b", "c", "cost", "rate"])] {
            for column in columns {
                assert_eq!(found.get(row, column), expected.get(row, column), "{input}, {column}");
            }
        }
    }
    let ran = folder.run("recourse trees.json people.jsonl -r 0.1 --format jsonl");
    let first: Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
    let changes: Vec<&String> = first["changes"].as_object().unwrap().keys().collect();
    assert_eq!(changes, ["b"], "a gap is no change: {first}");
}

#[test]
fn rates_frontiers_and_comparisons_take_gaps() {
    let folder = folder("a,b,c\n,0.8,1\n");
    let rate = folder.table("rate trees.json people.csv --sigma 0.1");
    assert_eq!((rate.get(0, "favourable"), rate.get(0, "estimator")), ("true", "exact"));
    assert!((rate.number(0, "rate") - upper_tail(1.0)).abs() < 1e-12, "{rate:?}");
    let sampled = folder
        .table("rate trees.json people.csv --sigma 0.1 --estimator monte-carlo --samples 100000");
    // Four standard errors.
    assert!(
        (sampled.number(0, "rate") - upper_tail(1.0)).abs() < 4.0 * (0.16 * 0.84 / 1e5_f64).sqrt()
    );
    folder.write("from.csv", "a,b,c\n,0.1,1\n");
    let line = "rate trees.json people.csv --noise-on changed --from from.csv";
    assert!((folder.table(line).number(0, "rate") - upper_tail(1.0)).abs() < 1e-12);
    folder.write("from.csv", "a,b,c\n0.4,0.1,1\n");
    folder.run(line).fails(1, &["people.csv: row 0 (line 2)", "'a'", "stays missing"]);

    folder.write("people.csv", "a,b,c\n,0.1,1\n0.2,0.1,\n");
    let front = folder.table("frontier trees.json people.csv --rates 0.3,0.1");
    is_the_answer(&front, 1);
    assert!(front.get(0, "a").is_empty() && front.get(3, "c").is_empty());
    let compared = folder
        .table("compare trees.json people.csv --methods probe,growing-spheres,probe-tree -r 0.1");
    assert_eq!((compared.get(0, "n"), compared.get(0, "ra")), ("2", "1.0"));
    assert!((0..3).all(|row| compared.number(row, "violations") == 0.0), "{compared:?}");
}

#[test]
fn what_the_model_does_not_take_is_named() {
    let folder = folder("a,b,c\n0,0,0\n0,,0\n");
    folder.write("people.jsonl", "{\"a\": 0, \"b\": null, \"c\": 0}\n");
    for command in ["recourse", "frontier", "rate", "compare --methods probe"] {
        let (command, flags) = command.split_once(' ').unwrap_or((command, ""));
        let csv = folder.run(&format!("{command} trees.json people.csv {flags}"));
        csv.fails(1, &["people.csv", "row 1 (line 3)", "column 'b'", "''", "default direction"]);
        let json = folder.run(&format!("{command} trees.json people.jsonl {flags}"));
        json.fails(
            1,
            &["people.jsonl", "row 0 (line 1)", "column 'b'", "'null'", "default direction"],
        );
    }
    folder.write("people.csv", "a,b\n0,nan\n");
    let words = ["people.csv", "row 0 (line 2)", "column 'b'", "'nan'", "kind trees"];
    folder.run("recourse model.json people.csv").fails(1, &words);
    // Other words are texts, not gaps.
    folder.write("people.csv", "a,b,c\nNA,0,0\n");
    folder.run("recourse trees.json people.csv").fails(1, &["column 'a'", "'NA'", "finite number"]);
    folder.write("people.csv", "a,y\n0,1\n,0\n");
    folder.run("train people.csv --target y --kind boosted -o m.json").fails(
        1,
        &["people.csv", "row 1 (line 3)", "column 'a'", "training takes no missing values"],
    );
}

#[test]
fn inspect_counts_gaps() {
    let folder = folder("a,b,c,d\n1,,x,\n3,2.5,,NaN\n,nan,y,\n");
    let ran = folder.run("inspect people.csv");
    let text = ran.text();
    let line = |name: &str| {
        text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap().to_owned()
    };
    for (name, words) in [
        ("a", ["whole numbers, 1 missing", " 2 "]),
        ("b", ["numbers, 2 missing", "2.5"]),
        ("c", ["text", "x, , y"]),
        ("d", ["nothing", "NaN"]),
    ] {
        assert!(words.iter().all(|word| line(name).contains(word)), "{name}: {text}");
    }
    let text = folder.run("inspect trees.json").text();
    assert!(text.contains("may be missing: a, c"), "{text}");
}
