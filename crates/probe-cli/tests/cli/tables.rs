//! Tables in and out: ids, other columns, standard input, other formats, cells that did not change.

use crate::support::{Csv, Folder};

#[test]
fn ids_are_carried_through_as_they_stand() {
    let folder = Folder::with_people("name,a,b,zip\nAnn,0,0,00123\n\"Bo, Jr\",2,2,\n");
    let ran = folder.run("recourse model.json people.csv --id zip --id name");
    let text = ran.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(",a,b,zip,name"), "{text}");
    assert!(lines[1].ends_with(",0,00123,Ann"), "{text}");
    assert!(lines[2].ends_with(",2,2,,\"Bo, Jr\""), "{text}");
}

#[test]
fn other_columns_are_passed_over_on_request() {
    let folder = Folder::with_people("x,a,y,b\ntext,0,,0\n");
    let table = folder.table("recourse model.json people.csv --ignore-extra");
    assert!(!table.header.contains(&"x".to_owned()) && !table.header.contains(&"y".to_owned()));
    assert_eq!(table.get(0, "status"), "certified");
}

#[test]
fn features_keep_the_order_of_the_input() {
    let folder = Folder::with_people("b,a\n0.5,0\n");
    let table = folder.table("recourse model.json people.csv");
    assert_eq!(table.header[11..], ["b", "a"]);
    assert_eq!(table.get(0, "b"), "0.5");
    assert!(table.number(0, "a") > 0.7);
    assert_eq!(folder.table("frontier model.json people.csv").header[8..], ["b", "a"]);
}

#[test]
fn unchanged_cells_keep_their_bytes() {
    let folder = Folder::with_people("a,b\n0, 00.10 \n+2.50,1E1\n-0,1e-1\n");
    let ran = folder.run("recourse model.json people.csv");
    let text = ran.text();
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][12], " 00.10 ");
    assert_eq!((rows[1][11], rows[1][12]), ("+2.50", "1E1"));
    assert_eq!(rows[2][12], "1e-1");
    let stuck = folder.run("recourse model.json people.csv --immutable a,b").text();
    assert!(stuck.lines().nth(3).unwrap().ends_with(",-0,1e-1"), "{stuck}");
}

#[test]
fn a_dash_is_standard_input_and_output_is_standard_by_default() {
    let folder = Folder::with_people("a,b\n0,0\n1,1\n");
    let by_file = folder.run("recourse model.json people.csv");
    for line in ["recourse model.json -", "recourse model.json - -o -"] {
        let ran = folder.run_with(line, "a,b\n0,0\n1,1\n");
        assert_eq!((ran.code, &ran.out), (Some(0), &by_file.out));
    }
    let ran = folder.run("recourse model.json people.csv -o out.csv");
    assert_eq!((ran.code, ran.out.len()), (Some(0), 0));
    assert_eq!(folder.read("out.csv"), by_file.out);
    assert_eq!(folder.files(), ["model.json", "out.csv", "people.csv"]);
}

#[test]
fn every_format_can_be_read() {
    let folder = Folder::with_people("a,b\n0,0.5\n1,1\n");
    folder.write("people.jsonl", "{\"a\": 0, \"b\": 0.5}\n{\"b\": 1, \"a\": 1}\n");
    folder.write("people.json", "[{\"a\": 0, \"b\": 0.5},\n {\"a\": 1, \"b\": 1}]");
    let features = |table: &Csv| -> Vec<String> {
        (0..2)
            .flat_map(|i| ["status", "cost", "rate"].map(|c| table.get(i, c).to_owned()))
            .collect()
    };
    let expected = features(&folder.table("recourse model.json people.csv"));
    for name in ["people.jsonl", "people.json"] {
        assert_eq!(
            features(&folder.table(&format!("recourse model.json {name}"))),
            expected,
            "{name}"
        );
    }
    let by_flag =
        folder.run_with("recourse model.json - --input-format jsonl", &folder.text("people.jsonl"));
    assert_eq!(features(&Csv::parse(&by_flag.text())), expected);

    // A table of ours is a table of people: Parquet out, Parquet in.
    assert_eq!(folder.run("recourse model.json people.csv -o out.parquet").code, Some(0));
    let again = folder.table("recourse model.json out.parquet --ignore-extra");
    assert_eq!((again.get(0, "status"), again.get(1, "status")), ("favourable", "favourable"));
}

#[test]
fn answers_never_replace_what_they_are_made_from() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let model = folder.read("model.json");
    for (target, what) in [("people.csv", "people"), ("model.json", "model")] {
        let ran = folder.run(&format!("recourse model.json people.csv --format csv -o {target}"));
        ran.fails(2, &["--output", target, what, "overwritten"]);
    }
    assert_eq!(folder.read("people.csv"), b"a,b\n0,0\n");
    assert_eq!(folder.read("model.json"), model);
}

#[test]
fn a_header_without_rows_gives_a_header_without_rows() {
    let folder = Folder::with_people("a,b\n");
    for (command, header) in
        [("recourse", "row,status,"), ("frontier", "row,target_rate,"), ("rate", "row,favourable,")]
    {
        let ran = folder.run(&format!("{command} model.json people.csv"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let text = ran.text();
        assert!(text.starts_with(header) && text.lines().count() == 1, "{text}");
    }
    let ran = folder.run("recourse model.json people.csv --format json");
    let document: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(document["rows"], serde_json::json!([]));
    assert_eq!(folder.run("recourse model.json people.csv -o out.parquet").code, Some(0));
    assert!(folder.read("out.parquet").starts_with(b"PAR1"));
}

#[test]
fn byte_order_marks_and_windows_lines_are_read() {
    let folder = Folder::with_people("\u{feff}a,b\r\n0,0\r\n");
    assert_eq!(folder.table("recourse model.json people.csv").get(0, "status"), "certified");
}

#[test]
fn people_and_answers_are_in_raw_units_with_a_schema() {
    let folder = Folder::with_people("a,b\n1000,5\n");
    folder.write(
        "schema.toml",
        "version = 1\n[[feature]]\nname = \"a\"\nscale = [1000.0, 3000.0]\n[[feature]]\nname \
         = \"b\"\nscale = [5.0, 15.0]\n",
    );
    // Scaled, this is the person at (0, 0): noise on both features, which are mutable.
    let table = folder.table("recourse model.json people.csv --schema schema.toml");
    let a = (2.0 + 0.1 * 5f64.sqrt() * crate::support::Z10) / 2.0;
    crate::support::close(table.number(0, "cost"), a);
    crate::support::close(table.number(0, "a"), 1000.0 + 2000.0 * a);
    assert_eq!(table.get(0, "b"), "5");
    // Noise of its own, raw: 400 is 0.2 scaled.
    let schema =
        folder.text("schema.toml").replace("[1000.0, 3000.0]", "[1000.0, 3000.0]\nnoise = 400.0");
    folder.write("schema.toml", &schema);
    let table = folder.table("recourse model.json people.csv --schema schema.toml");
    let a = (2.0 + (4.0 * 0.04 + 0.01_f64).sqrt() * crate::support::Z10) / 2.0;
    crate::support::close(table.number(0, "cost"), a);
}
