//! Outputs that cannot be written are refused before any work, and readers that go away are no
//! error.

use crate::support::Folder;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

#[test]
fn a_folder_that_is_not_there() {
    let folder = Folder::with_people("a,b\n0,0\n");
    for command in ["recourse", "frontier", "rate"] {
        let ran = folder.run(&format!("{command} model.json people.csv -o no/such/out.csv"));
        ran.fails(1, &["no/such/out.csv", "cannot write", "No such file"]);
        assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
    }
    folder.write("data.csv", "a,y\n0,0\n1,1\n");
    folder
        .run("train data.csv --target y -o no/such/m.json")
        .fails(1, &["no/such/m.json", "cannot write"]);
    assert_eq!(folder.files(), ["data.csv", "model.json", "people.csv"]);
}

/// One row with each kind of field, to the byte: scripts read keys by name, and others compare
/// files.
#[test]
fn json_rows_to_the_byte() {
    let folder = Folder::with_people("a,b,k\n-0.5,0.25,x\n9,9,\n");
    let ran =
        folder.run("recourse model.json people.csv --id k --budget 2 --sigma 1 --format jsonl -q");
    let rows: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    let until_meta = |row: &str| row.split(",\"meta\":{\"version\":").next().unwrap().to_owned();
    // The budget goes into `a`: a margin of 1.25 with a deviation of √5, whose rate is 0.288.
    let first = until_meta(&rows[0]);
    let rate = first.split("\"rate\":").nth(1).unwrap().split(',').next().unwrap();
    // A unit of cost is a deviation: the margin -2.75/√5 must become 1.28155, the z of 0.1.
    let lower = first.split("\"cost_lower\":").nth(1).unwrap().split(',').next().unwrap();
    assert!((lower.parse::<f64>().unwrap() - 2.511_389).abs() < 1e-6, "{lower}");
    let expected = format!(
        "{{\"row\":0,\"status\":\"found\",\"reason\":\"budget-exhausted\",\"cost\":2.0,\
         \"rate\":{rate},\"rate_upper\":{rate},\
         \"best_rate\":{rate},\"changed\":1,\"outside_range\":null,\
         \"cost_lower\":{lower},\"proven\":false,\
         \"from\":{{\"a\":-0.5,\"b\":0.25}},\"to\":{{\"a\":1.5,\"b\":0.25}},\
         \"changes\":{{\"a\":{{\"from\":-0.5,\"to\":1.5,\"delta\":2.0}}}},\
         \"tolerance\":{{\"at_target_rate\":\
         {{\"a\":{{\"harmful\":\"below\",\"alone\":0.0,\"jointly\":0.0}}}},\
         \"still_favourable\":{{\"a\":{{\"harmful\":\"below\",\"alone\":0.625,\
         \"jointly\":0.625}}}}}},\"shortfall\":"
    );
    assert!(first.starts_with(&expected) && first.ends_with(",\"k\":\"x\""), "{first}\n{expected}");
    assert_eq!(
        until_meta(&rows[1]),
        "{\"row\":1,\"status\":\"favourable\",\"reason\":null,\"cost\":0.0,\"rate\":".to_owned()
            + until_meta(&rows[1]).split("\"rate\":").nth(1).unwrap()
    );
    assert!(
        until_meta(&rows[1])
            .ends_with("\"changes\":{},\"tolerance\":null,\"shortfall\":null,\"k\":\"\"")
    );
}

#[test]
fn an_output_that_is_a_folder() {
    let folder = Folder::with_people("a,b\n0,0\n");
    std::fs::create_dir(folder.path("dir")).unwrap();
    for name in ["dir", ".", "dir/"] {
        folder
            .run(&format!("recourse model.json people.csv -o {name}"))
            .fails(1, &[name, "cannot write", "directory"]);
    }
    assert_eq!(std::fs::read_dir(folder.path("dir")).unwrap().count(), 0);
}

#[test]
fn a_demo_folder_that_is_a_file() {
    let folder = Folder::new();
    folder.run("demo --out model.json --quiet").fails(1, &["model.json", "cannot create"]);
}

fn many_people() -> String {
    let mut people = "a,b\n".to_owned();
    for i in 0..40_000 {
        people.push_str(&format!("0.{i},0.5\n"));
    }
    people
}

/// Reads one line of what `line` prints, closes the pipe, and returns that line, the exit status
/// and standard error.
fn first_line(folder: &Folder, line: &str) -> (Vec<u8>, Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probe"))
        .current_dir(folder.dir())
        .args(line.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = Vec::new();
    let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
    out.read_until(b'\n', &mut first).unwrap();
    drop(out);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (first, child.wait().unwrap().code(), err)
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_run_quietly() {
    let folder = Folder::with_people(&many_people());
    for (flags, start) in
        [("", "row,status"), ("--format jsonl", "{\"row\":0"), ("--format json", "{\"meta\"")]
    {
        let (first, code, err) =
            first_line(&folder, &format!("recourse model.json people.csv {flags}"));
        assert!(first.starts_with(start.as_bytes()));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{flags}");
    }
    let (_, code, err) = first_line(&folder, "recourse model.json people.csv --format parquet");
    assert_eq!((code, err.as_str()), (Some(0), ""));
}

#[test]
fn completions_help_and_inspect_may_be_cut_short_too() {
    let folder = Folder::with_people("a,b\n0,0\n");
    for line in ["completions bash", "completions zsh", "recourse --help", "inspect model.json"] {
        let (first, code, err) = first_line(&folder, line);
        assert!(!first.is_empty());
        assert_eq!((code, err.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn an_ending_that_stands_for_no_format_is_named() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let ran = folder.run("recourse model.json people.csv -o out.foo");
    assert!(
        ran.code == Some(0) && ran.err.contains("warning") && ran.err.contains("'.foo'"),
        "{}",
        ran.err
    );
    assert!(folder.text("out.foo").starts_with("row,status,"));
    for line in ["-o out.foo --format jsonl", "-o out.csv", "-o out.parquet", "-o out"] {
        let ran = folder.run(&format!("recourse model.json people.csv {line}"));
        assert_eq!(
            (ran.code, ran.err.contains("warning")),
            (Some(0), false),
            "{line}: {}",
            ran.err
        );
    }
}

#[test]
fn an_object_that_is_nothing_known_is_said_to_be_so() {
    let folder = Folder::new();
    folder.write("empty.json", "{}");
    folder.run("inspect empty.json").fails(1, &["empty.json", "no model", "no schema", "no table"]);
}

#[test]
fn tolerances_that_nobody_will_see_are_spoken_of() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write(
        "network.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
            r#""activation": "relu",
        "layers": [{"weight": [[2, 1], [-2, -1]], "bias": [-2, 2]}, {"weight": [[1, -1]], "#,
            r#""bias": [0]}]}"#
        ),
    );
    let warned = |line: &str| {
        let ran = folder.run(&format!("recourse {line} --tolerance"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err.lines().find(|line| line.contains("warning")).unwrap_or_default().to_owned()
    };
    assert!(warned("model.json people.csv").contains("linear"));
    assert!(warned("network.json people.csv").contains("--format jsonl"));
    assert!(warned("network.json people.csv --noise laplace:0.1").contains("changes nothing here"));
    assert_eq!(warned("network.json people.csv --format jsonl"), "");
}
