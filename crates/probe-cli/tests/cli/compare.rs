//! `probe compare`: methods side by side, against answers worked out by hand.

use crate::support::{Csv, Folder, Z10, close};

/// Scores -2, -2.75 and 4: two people in need and one without.
fn folder() -> Folder {
    Folder::with_people("a,b\n0,0\n-0.5,0.25\n2,2\n")
}

const ASK: &str = "compare model.json people.csv -r 0.1 --sigma 0.1";

#[test]
fn the_table_has_what_a_hand_worked_example_has() {
    let table = folder().table(&format!("{ASK} --methods probe,wachter"));
    let known = [
        "method",
        "n",
        "ra",
        "air",
        "air_se",
        "cost",
        "cost_se",
        "changed",
        "violations",
        "seconds",
    ];
    assert_eq!(table.header[..10], known);
    assert_eq!((table.get(0, "method"), table.get(1, "method")), ("probe", "wachter"));
    // The score's deviation is 0.1·√5, and `a` gains 2 a unit.
    let needed = Z10 * 0.1 * 5.0_f64.sqrt();
    close(table.number(0, "cost"), (2.375 + needed) / 2.0);
    close(table.number(0, "rate"), 0.1);
    // The costs differ by 0.375: a standard deviation of 0.375/√2 and a standard error of half the
    // difference.
    assert!((table.number(0, "cost_se") - 0.1875).abs() < 1e-9);
    assert!((table.number(0, "cost_low") - (2.0 + needed) / 2.0).abs() < 1e-9);
    assert!((table.number(0, "cost_high") - (2.75 + needed) / 2.0).abs() < 1e-9);
    // Wachter's answer lies a hair beyond the boundary.
    assert!((table.number(1, "cost") - 1.1875).abs() < 1e-6 && table.number(1, "cost") >= 1.1875);
    assert!((table.number(1, "rate") - 0.5).abs() < 1e-6 && table.number(1, "rate") < 0.5);
    for (row, rate) in [0.1, 0.5_f64].into_iter().enumerate() {
        assert_eq!(table.get(row, "n"), "2");
        for (column, expected) in [("ra", 1.0), ("changed", 1.0), ("violations", 0.0)] {
            assert_eq!(table.number(row, column), expected, "{column}");
        }
        // Two people, 10,000 draws each: four standard errors.
        let off = table.number(row, "air") - rate;
        assert!(off.abs() < 4.0 * (rate * (1.0 - rate) / 2e4).sqrt(), "{off}");
    }
}

#[test]
fn settings_reach_their_method_and_files_are_written() {
    let folder = folder();
    let ran = folder.run(&format!(
        "{ASK} --methods probe,roar --option roar:epsilon=0.01 -o made.json --plot made.svg \
         --threads 1"
    ));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.text().contains("RA") && ran.text().contains("roar"), "{}", ran.text());
    assert!(ran.err.contains("3 people, 2 of them in need"), "{}", ran.err);
    let made: serde_json::Value = serde_json::from_str(&folder.text("made.json")).unwrap();
    assert_eq!(
        made["meta"]["options"],
        serde_json::json!({"probe": {}, "roar": {"epsilon": "0.01"}})
    );
    assert_eq!(made["rows"][1]["method"], "roar");
    let picture = folder.text("made.svg");
    assert!(
        picture.starts_with("<svg") && picture.contains(">roar<") && picture.contains(">probe<")
    );
    // The same numbers, apart from the time, on any number of threads and in any format.
    let strip = |mut table: Csv| {
        let at = table.header.iter().position(|name| name == "seconds").unwrap();
        table.rows.iter_mut().for_each(|row| drop(row.remove(at)));
        table
    };
    let ask = format!("{ASK} --methods probe,roar --option roar:epsilon=0.01");
    let one = strip(folder.table(&format!("{ask} --threads 1")));
    assert_eq!(one, strip(folder.table(&format!("{ask} --threads 2"))));
    assert_eq!(one.rows[1][5].parse::<f64>().ok(), made["rows"][1]["cost"].as_f64());
    let wider = folder.table(&format!("{ASK} --methods roar --option roar:epsilon=0.05"));
    assert!(wider.number(0, "cost") > made["rows"][1]["cost"].as_f64().unwrap());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let folder = folder();
    let fails = |flags: &str, words: &[&str]| folder.run(&format!("{ASK} {flags}")).fails(2, words);
    fails("--methods probe,nothing", &["nothing", "known: probe"]);
    fails("--methods probe,probe", &["--methods", "probe", "twice"]);
    fails("--methods probe --option epsilon=1", &["--option", "'epsilon=1'", "METHOD:NAME=VALUE"]);
    fails(
        "--methods probe --option roar:epsilon=1",
        &["--option", "'roar:epsilon=1'", "--methods"],
    );
    fails("--methods roar --option roar:eps=1", &["--option", "'eps'", "epsilon"]);
    folder
        .run(&format!("{ASK} --methods wachter --max-changes 1"))
        .fails(1, &["--methods wachter", "changes"]);
    folder.write("people.csv", "a,b\n");
    folder.run(&format!("{ASK} --methods probe")).fails(1, &["people.csv", "no people"]);
}
