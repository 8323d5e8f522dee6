//! Every status, with its reason and what its other columns hold.

use crate::support::{Folder, close, upper_tail};
use serde_json::Value;

/// Status, reason, cost, best rate and features of the first row.
#[track_caller]
fn row(folder: &Folder, flags: &str) -> [String; 6] {
    let table = folder.table(&format!("recourse model.json people.csv {flags}"));
    ["status", "reason", "cost", "best_rate", "a", "b"]
        .map(|column| table.get(0, column).to_owned())
}

fn sd() -> f64 {
    0.1 * 5f64.sqrt()
}

#[test]
fn a_person_with_every_feature_immutable_has_no_admissible_move() {
    let folder = Folder::with_people("a,b\n0.0,00\n");
    let ran = folder.run("recourse model.json people.csv --immutable a,b");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("1 without recourse"), "{}", ran.err);
    let found = row(&folder, "--immutable a,b");
    let rate = 1.0 - upper_tail(2.0 / sd());
    assert_eq!([&found[0], &found[1], &found[2]], ["none", "no-admissible-move", ""]);
    close(found[3].parse().unwrap(), rate);
    assert_eq!([&found[4], &found[5]], ["0.0", "00"], "features are repeated as they stand");
}

#[test]
fn nothing_favourable_within_bounds() {
    let found = row(&Folder::with_people("a,b\n0,0\n"), "--bounds 0,0.5");
    assert_eq!([&found[0], &found[1], &found[2]], ["none", "infeasible-within-bounds", ""]);
    // The best is (0.5, 0.5) with the score -0.5.
    close(found[3].parse().unwrap(), upper_tail(-0.5 / sd()));
    assert_eq!([&found[4], &found[5]], ["0", "0"]);
}

#[test]
fn nothing_favourable_with_so_few_changes() {
    let found = row(&Folder::with_people("a,b\n0,0\n"), "--bounds 0,0.9 --max-changes 1");
    assert_eq!([&found[0], &found[1]], ["none", "infeasible-within-max-changes"]);
    close(found[3].parse().unwrap(), upper_tail(-0.2 / sd()));
}

#[test]
fn favourable_points_but_none_that_robust() {
    let found = row(&Folder::with_people("a,b\n0,0\n"), "--bounds 0,0.7 -r 0.01");
    assert_eq!([&found[0], &found[1]], ["found", "rate-not-reachable"]);
    close(found[2].parse().unwrap(), 1.4);
    close(found[3].parse().unwrap(), upper_tail((2.1 - 2.0) / sd()));
    assert_eq!([&found[4], &found[5]], ["0.7", "0.7"]);
}

#[test]
fn a_budget_that_does_not_reach() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let found = row(&folder, "--budget 0.9");
    assert_eq!([&found[0], &found[1], &found[2]], ["none", "budget-exhausted", ""]);
    close(found[3].parse().unwrap(), upper_tail(-0.2 / sd()));
    assert_eq!(row(&folder, "--budget 1.1")[..2], ["found", "budget-exhausted"]);
    assert_eq!(row(&folder, "--budget 1.2")[..2], ["certified", ""]);
}

#[test]
fn favourable_people_need_nothing() {
    let folder = Folder::with_people("a,b\n1.05,0\n");
    let table = folder.table("recourse model.json people.csv");
    let expected = [
        ("status", "favourable"),
        ("reason", ""),
        ("cost", "0.0"),
        ("changed", "0"),
        ("a", "1.05"),
    ];
    for (column, value) in expected {
        assert_eq!(table.get(0, column), value);
    }
    // Favourable, though its rate is above r.
    close(table.number(0, "rate"), upper_tail((2.0 * 1.05 - 2.0) / sd()));
    assert!(table.number(0, "rate") > 0.1);
}

#[test]
fn favourable_people_may_seek_robustness() {
    let folder = Folder::with_people("a,b\n1.05,0\n3,0\n");
    let table = folder.table("recourse model.json people.csv --also-favourable");
    assert_eq!((table.get(0, "status"), table.get(1, "status")), ("certified", "favourable"));
    let a = (2.0 + sd() * crate::support::Z10) / 2.0;
    close(table.number(0, "a"), a);
    // A difference of two numbers near 1: an absolute tolerance of some ulps.
    assert!((table.number(0, "cost") - (a - 1.05)).abs() < 1e-15);
    assert!(table.number(0, "rate") <= 0.1);
    assert_eq!(table.get(1, "a"), "3");
}

#[test]
fn strict_bounds_may_leave_nothing() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let found = row(&folder, "--bounds 3,4 --strict-bounds --immutable a");
    assert_eq!([&found[0], &found[1], &found[2]], ["none", "infeasible-within-bounds", ""]);
    // Without them, staying put is admissible: b alone moves, as far as it must.
    assert_eq!(row(&folder, "--bounds 3,4 --immutable a")[0], "certified");
    // With room inside, a person outside moves inside.
    let found = row(&folder, "--bounds 3,4 --strict-bounds");
    assert_eq!(found, ["certified", "", "6.0", "", "3.0", "3.0"]);
}

#[test]
fn shortfalls_name_the_limits() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let ran =
        folder.run("recourse model.json people.csv --immutable b --bounds 0,0.8 --format jsonl");
    let row: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!((&row["status"], &row["cost"]), (&"none".into(), &Value::Null));
    assert_eq!(row["shortfall"]["limits"]["a"], "at most 0.8");
    assert_eq!(row["shortfall"]["limits"]["b"], "may not change");
    close(row["shortfall"]["score"].as_f64().unwrap(), -0.4);
    close(row["shortfall"]["score_needed"].as_f64().unwrap(), sd() * crate::support::Z10);
}

#[test]
fn the_closing_note_counts_each_status() {
    let people = "a,b\n0,0\n0.55,0.6\n2,0\n-9,0\n";
    let ran =
        Folder::with_people(people).run("recourse model.json people.csv --bounds -9,0.7 -r 0.1");
    assert!(ran.err.contains("4 people:"), "{}", ran.err);
    let statuses: Vec<String> =
        ran.text().lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect();
    assert_eq!(statuses, ["found", "found", "favourable", "found"]);
    let quiet = Folder::with_people(people).run("recourse model.json people.csv --quiet");
    assert_eq!((quiet.code, quiet.err.as_str()), (Some(0), ""));
}
