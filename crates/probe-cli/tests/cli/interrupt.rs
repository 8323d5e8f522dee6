//! Ctrl-C and SIGTERM: exit status 130 and 143, no output file, no temporary file, whatever the run
//! is waiting for.
#![cfg(unix)]

use crate::support::Folder;
use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

fn start(folder: &Folder, line: &str) -> (Child, ChildStdin) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_probe"))
        .current_dir(folder.dir())
        .args(line.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stdin = child.stdin.take().unwrap();
    (child, stdin)
}

/// Waits until the folder holds a file that starts like this.
fn wait_for_file(folder: &Folder, prefix: &str) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !folder.files().iter().any(|name| name.starts_with(prefix)) {
        assert!(Instant::now() < patience, "{:?}", folder.files());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits for the end, which must come soon: exit status and standard error.
fn end(mut child: Child) -> (Option<i32>, String) {
    let patience = Instant::now() + Duration::from_secs(60);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > patience {
            child.kill().unwrap();
            panic!("still running a minute after the signal");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    (status.code(), err)
}

/// Sends the signal and waits for the end: exit status and what is said, as for every run that
/// wrote nothing.
#[track_caller]
fn interrupt(child: Child, name: &str) {
    signal(&child, name);
    let (code, err) = end(child);
    assert_eq!(code, Some(status(name)), "{err}");
    assert_eq!(err, "error: interrupted; no output file was written\n");
}

/// As shells have it: 128 and the signal's number.
fn status(name: &str) -> i32 {
    match name {
        "-HUP" => 129,
        "-INT" => 130,
        "-TERM" => 143,
        _ => panic!("{name}"),
    }
}

#[test]
fn a_run_that_waits_for_more_input() {
    for (name, output) in
        [("-INT", "out.csv"), ("-TERM", "out.csv"), ("-INT", "out.parquet"), ("-HUP", "out.json")]
    {
        let folder = Folder::new();
        let (child, mut stdin) = start(&folder, &format!("recourse model.json - -o {output}"));
        // Input is read in blocks: enough of it that the header is known and rows are being
        // answered.
        stdin.write_all(format!("a,b\n{}", "0,0\n".repeat(300_000)).as_bytes()).unwrap();
        stdin.flush().unwrap();
        wait_for_file(&folder, ".out");
        interrupt(child, name);
        assert_eq!(folder.files(), ["model.json"], "{name}, {output}");
        drop(stdin);
    }
}

#[test]
fn a_run_that_waits_for_its_header() {
    let folder = Folder::new();
    folder.write("out.csv", "precious");
    let (child, stdin) = start(&folder, "recourse model.json - -o out.csv");
    // Nothing to see from outside: listening starts first thing.
    std::thread::sleep(Duration::from_millis(500));
    interrupt(child, "-INT");
    assert_eq!(
        (folder.files(), folder.text("out.csv")),
        (vec!["model.json".into(), "out.csv".into()], "precious".into())
    );
    drop(stdin);
}

#[test]
fn a_run_in_the_middle_of_its_work() {
    let mut people = "a,b\n".to_owned();
    for i in 0..20_000 {
        people.push_str(&format!("0.{i},0.5\n"));
    }
    for name in ["-INT", "-TERM"] {
        let folder = Folder::with_people(&people);
        folder.write("out.csv", "precious");
        // Minutes of sampling.
        let line = "rate model.json people.csv --estimator monte-carlo --samples 100000 -o out.csv";
        let (child, stdin) = start(&folder, line);
        wait_for_file(&folder, ".out.csv");
        interrupt(child, name);
        assert_eq!(folder.files(), ["model.json", "out.csv", "people.csv"]);
        assert_eq!(folder.text("out.csv"), "precious");
        drop(stdin);
    }
}

/// One person is the whole work, and nothing looks at signals meanwhile: it was not stopped, and
/// killing it left the temporary file behind (finding 7 of an audit).
#[test]
fn finding_7_a_run_in_the_middle_of_one_person() {
    for (name, times) in [("-TERM", 1), ("-INT", 1), ("-INT", 2)] {
        let folder = Folder::with_people("a,b\n0.5,0.5\n");
        folder.write("out.csv", "precious");
        // Hours of sampling.
        let line = "rate model.json people.csv --estimator monte-carlo --samples 1000000000000 \
                    -o out.csv";
        let (child, stdin) = start(&folder, line);
        wait_for_file(&folder, ".out.csv");
        let begin = Instant::now();
        for _ in 1..times {
            signal(&child, name);
            std::thread::sleep(Duration::from_millis(50));
        }
        interrupt(child, name);
        assert!(begin.elapsed() < Duration::from_secs(20));
        assert_eq!(folder.files(), ["model.json", "out.csv", "people.csv"]);
        assert_eq!(folder.text("out.csv"), "precious");
        drop(stdin);
    }
}

/// Commands that work for minutes, each in the middle of its work.
#[test]
fn finding_7_every_command_leaves_nothing_behind() {
    let mut people = "a,b,c\n".to_owned();
    for i in 0..4_000 {
        people.push_str(&format!("0.{:04},0.{:04},0.5\n", i * 37 % 5_000, i * 91 % 5_000));
    }
    let mut data = "a,b,c,y\n".to_owned();
    for i in 0..20_000 {
        let (a, b, c) = (i * 37 % 1_000, i * 91 % 997, i * 53 % 991);
        data.push_str(&format!("0.{a:03},0.{b:03},0.{c:03},{}\n", u8::from(a + b > c + 500)));
    }
    let unit = |k: usize| {
        let weight = |j: usize| ((k * 7 + j * 3) % 11) as f64 - 5.0;
        format!("[{}, {}, {}]", weight(0), weight(1), weight(2))
    };
    let hidden: Vec<String> = (0..32).map(unit).collect();
    let output: Vec<String> = (0..32).map(|k| format!("{}", (k % 5) as f64 - 1.9)).collect();
    let network = format!(
        r#"{{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b", "c"],
            "activation": "tanh", "layers": [{{"weight": [{}], "bias": [{}]}},
            {{"weight": [[{}]], "bias": [-1.0]}}]}}"#,
        hidden.join(", "),
        vec!["0.3"; 32].join(", "),
        output.join(", ")
    );
    let lines = [
        "recourse network.json people.csv -r 0.02 --effort thorough -o out.csv",
        "recourse network.json people.csv -r 0.02 --effort thorough -o out.parquet",
        "frontier network.json people.csv -o out.csv",
        "rate network.json people.csv --estimator monte-carlo --samples 1000000000 -o out.csv",
        "compare network.json people.csv --methods probe,wachter,growing-spheres -o out.csv",
        "train data.csv --target y --kind boosted --trees 100000 -o out.json",
    ];
    for line in lines {
        for name in ["-INT", "-TERM"] {
            let folder = Folder::new();
            folder.write("people.csv", &people);
            folder.write("data.csv", &data);
            folder.write("network.json", &network);
            let files = folder.files();
            let (child, stdin) = start(&folder, line);
            // Nothing to see from outside where the output is opened last.
            std::thread::sleep(Duration::from_millis(400));
            let begin = Instant::now();
            interrupt(child, name);
            assert!(begin.elapsed() < Duration::from_secs(20), "{line}");
            assert_eq!(folder.files(), files, "{line} {name}");
            drop(stdin);
        }
    }
}

#[test]
fn an_audit_file_is_neither_made_nor_touched() {
    for before in [None, Some("")] {
        let folder = Folder::new();
        before.iter().for_each(|text| folder.write("audit.jsonl", text));
        let files = folder.files();
        let (child, mut stdin) =
            start(&folder, "recourse model.json - -o out.csv --audit audit.jsonl");
        stdin.write_all(format!("a,b\n{}", "0,0\n".repeat(300_000)).as_bytes()).unwrap();
        stdin.flush().unwrap();
        wait_for_file(&folder, ".out");
        interrupt(child, "-INT");
        assert_eq!(folder.files(), files);
        drop(stdin);
    }
}

#[test]
fn what_the_demo_wrote_before_is_not_denied() {
    let folder = Folder::new();
    let (child, stdin) = start(&folder, "demo --out . --people 2000");
    wait_for_file(&folder, "people.csv");
    signal(&child, "-TERM");
    let (code, err) = end(child);
    assert_eq!(code, Some(143), "{err}");
    assert_eq!(
        err,
        "error: interrupted; outputs that were finished before are complete, the others are \
         missing\n"
    );
    assert!(!folder.files().iter().any(|name| name.starts_with('.')), "{:?}", folder.files());
    drop(stdin);
}

#[test]
fn a_fault_is_told_at_once_though_input_is_still_open() {
    let folder = Folder::new();
    let (child, mut stdin) = start(&folder, "recourse model.json - -o out.csv");
    // More than one chunk's worth, so that the fault is seen before the end.
    let mut rows = b"a,b\n0,oops\n".to_vec();
    for _ in 0..400_000 {
        rows.extend_from_slice(b"0.25,0.5\n");
    }
    // The run may end before it has read everything.
    let _ = stdin.write_all(&rows);
    let (code, err) = end(child);
    assert_eq!(code, Some(1));
    assert!(err.contains("standard input: row 0 (line 2), column 'b': 'oops'"), "{err}");
    assert_eq!(folder.files(), ["model.json"]);
    drop(stdin);
}
