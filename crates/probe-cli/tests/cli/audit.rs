//! Audit records of answers, and their verification.

use crate::support::Folder;

const PEOPLE: &str = "a,b\n0,0\n0.5,0.1\n3,3\n0.2,0.9\n";

fn run(folder: &Folder, threads: usize) -> String {
    let line = format!(
        "recourse model.json people.csv -r 0.1 -o out.csv --audit audit.jsonl --threads {threads}"
    );
    let ran = folder.run(&line);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran
        .err
        .lines()
        .find(|line| line.contains("last hash"))
        .expect("the last hash is told")
        .to_owned();
    told.rsplit(' ').next().unwrap().to_owned()
}

#[test]
fn every_answer_has_a_record_and_runs_follow_each_other() {
    let folder = Folder::with_people(PEOPLE);
    let first = run(&folder, 1);
    let text = folder.text("audit.jsonl");
    let records: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 4);
    assert_eq!(records[0]["prev"], "0".repeat(64));
    assert_eq!(records[1]["prev"], records[0]["hash"]);
    assert_eq!(records[3]["hash"], first);
    assert_eq!(
        (&records[2]["row"], &records[2]["answer"]["status"]),
        (&2.into(), &"favourable".into())
    );
    assert_eq!(records[0]["certificate"]["exact"], true);
    assert_eq!(records[0]["setting"]["r"], 0.1);
    assert_eq!(records[0]["setting"]["model_hash"].as_str().unwrap().len(), 64);
    // Another run goes on where the first ended; the same records on any number of threads.
    run(&folder, 3);
    let all = folder.text("audit.jsonl");
    assert!(all.starts_with(&text) && all.lines().count() == 8);
    let body =
        |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["answer"].clone();
    let lines: Vec<&str> = all.lines().collect();
    (0..4).for_each(|i| assert_eq!(body(lines[i]), body(lines[i + 4])));
}

#[test]
fn what_was_changed_or_cut_off_is_found() {
    let folder = Folder::with_people(PEOPLE);
    let last = run(&folder, 1);
    let fine = folder.run("audit verify audit.jsonl");
    assert_eq!(fine.code, Some(0), "{}", fine.err);
    assert!(
        fine.text().contains("4 records")
            && fine.text().contains(&last)
            && fine.err.contains("cut off")
    );
    assert_eq!(folder.run(&format!("audit verify audit.jsonl --expect {last}")).code, Some(0));
    let text = folder.text("audit.jsonl");
    folder.write("audit.jsonl", &text.replacen("certified", "certifled", 1));
    folder.run("audit verify audit.jsonl").fails(1, &["audit.jsonl", "record 0", "changed"]);
    // Nothing is added to a file whose chain is broken, and no answer is written.
    std::fs::remove_file(folder.path("out.csv")).unwrap();
    let ran = folder.run("recourse model.json people.csv -r 0.1 -o out.csv --audit audit.jsonl");
    assert_eq!((ran.code, folder.path("out.csv").exists()), (Some(1), false), "{}", ran.err);
    let cut: String = text.lines().take(3).map(|line| line.to_owned() + "\n").collect();
    folder.write("audit.jsonl", &cut);
    assert_eq!(folder.run("audit verify audit.jsonl").code, Some(0));
    folder
        .run(&format!("audit verify audit.jsonl --expect {last}"))
        .fails(1, &["3 records", "cut off"]);
}
