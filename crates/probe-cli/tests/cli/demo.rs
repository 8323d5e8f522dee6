//! `demo`: everything a newcomer is promised, twice the same.

use crate::support::{Csv, Folder};

const FILES: [&str; 11] = [
    "credit.csv",
    "frontier.csv",
    "letter-de.html",
    "letter.html",
    "model.json",
    "names-de.toml",
    "network.json",
    "people.csv",
    "recourse.csv",
    "report.html",
    "schema.toml",
];

fn files_of(folder: &Folder, dir: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path(dir)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn every_file_is_written_and_a_second_run_writes_the_same_bytes() {
    let folder = Folder::new();
    let first = folder.run("demo --out one --people 1000 --threads 1");
    assert_eq!(first.code, Some(0), "{}", first.err);
    let second = folder.run("demo --out two --people 1000 --threads 2");
    assert_eq!(first.text().replace("one/", "two/"), second.text());
    assert_eq!(files_of(&folder, "one"), FILES);
    for name in FILES {
        assert!(
            folder.read(&format!("one/{name}")) == folder.read(&format!("two/{name}")),
            "{name}"
        );
    }
    // And over its own files.
    let third = folder.run("demo --out one --people 1000");
    assert_eq!(first.out, third.out);
}

#[test]
fn the_report_says_what_was_printed() {
    let folder = Folder::new();
    let ran = folder.run("demo --out demo --people 1000 -r 0.05");
    let text = ran.text();
    assert!(text.contains("price of certainty") && text.contains("◀ chosen"), "{text}");
    assert!(
        !text.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
        "no colours when nobody watches"
    );
    let report = folder.text("demo/report.html");
    assert!(report.contains("<svg") && report.trim_end().ends_with("</html>"));
    assert!(
        !report.contains("http://")
            || report.matches("http://").count() == report.matches("http://www.w3.org").count()
    );
    let plain = |text: &str| -> String {
        let mut tag = false;
        let keep = |c: &char| {
            let outside = !tag && *c != '<';
            tag = (tag || *c == '<') && *c != '>';
            outside
        };
        let bare: String = text.chars().filter(keep).collect();
        bare.replace("&#39;", "'")
            .replace("&amp;", "&")
            .replace('\u{a0}', " ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    // The sentences between the table of changes and the trial.
    let summary: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("3. "))
        .skip_while(|line| !line.starts_with('└'))
        .skip(1)
        .take_while(|line| !line.starts_with("Tried on"))
        .collect();
    assert!(!summary.is_empty(), "{text}");
    let report = plain(&report);
    for sentence in summary {
        assert!(report.contains(&plain(sentence)), "not in the report: {sentence}");
    }
}

#[test]
fn the_demo_s_files_are_what_the_commands_write() {
    let folder = Folder::new();
    assert_eq!(folder.run("demo --out demo --people 1000 --quiet").code, Some(0));
    let people = "demo/model.json demo/people.csv -r 0.1 --sigma 0.05";
    assert_eq!(folder.run(&format!("recourse {people}")).text(), folder.text("demo/recourse.csv"));
    assert_eq!(folder.run(&format!("frontier {people}")).text(), folder.text("demo/frontier.csv"));
    let ran = folder
        .run("train demo/credit.csv --target approved --schema demo/schema.toml -o again.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(folder.text("again.json"), folder.text("demo/model.json"));

    let answers = Csv::parse(&folder.text("demo/recourse.csv"));
    let status = |row: usize| answers.get(row, "status").to_owned();
    assert!((0..answers.rows.len()).all(|row| status(row) != "favourable"), "all were turned down");
    assert!((0..answers.rows.len()).any(|row| status(row) == "certified"));
}

#[test]
fn the_network_of_the_demo_answers_as_the_command_does() {
    let folder = Folder::new();
    let ran = folder.run("demo --out demo --people 1000");
    let text = ran.text();
    let network = "train demo/credit.csv --target approved --schema demo/schema.toml --kind mlp \
        --hidden 32 --epochs 30";
    assert!(text.contains(&network.replace("train ", "  probe train ")), "{text}");
    assert_eq!(folder.run(&format!("{network} -o again.json")).code, Some(0));
    assert_eq!(folder.text("again.json"), folder.text("demo/network.json"));

    let (_, applicant) = text.split_once("6. Applicant ").unwrap();
    let row: usize = applicant.split(' ').next().unwrap().parse().unwrap();
    let cells = |start: &str| -> Vec<String> {
        let line = applicant.lines().find(|line| line.starts_with(&format!("│ {start} "))).unwrap();
        line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect()
    };
    for (model, name) in [("model", "linear"), ("network", "network")] {
        let table = folder
            .table(&format!("recourse demo/{model}.json demo/people.csv -r 0.1 --sigma 0.05"));
        assert_eq!(table.get(row, "status"), "certified", "{model}");
        assert_eq!(cells(name)[3], format!("{:.3}", table.number(row, "cost")), "{model}");
    }
    // Ours beside the paper's: as safe as asked for, and cheaper.
    let cost = |method: &str| cells(method)[4].parse::<f64>().unwrap();
    assert_eq!(cells("probe")[2], "100%");
    assert!(cost("probe") < cost("probe-gradient") && cost("probe") < cost("probe-mc"), "{text}");
    let report = folder.text("demo/report.html");
    for word in [
        "The same person scored by a network",
        "probe-gradient",
        "probe-mc",
        ", tested",
        ", exactly",
    ] {
        assert!(report.contains(word), "no {word}");
    }
}

#[test]
fn the_letter_is_printed_and_written_and_names_no_column() {
    let folder = Folder::new();
    let ran = folder.run("demo --out demo --people 1000");
    let text = ran.text();
    let (_, letter) = text.split_once("4. The letter to applicant ").unwrap();
    let (letter, _) = letter.split_once("\n5. ").unwrap();
    assert!(letter.contains("What to do") && letter.contains("still get a yes"), "{letter}");
    let report = folder.text("demo/report.html");
    assert!(report.contains("The letter") && report.contains("What this letter cannot say"));
    let (english, german) = (folder.text("demo/letter.html"), folder.text("demo/letter-de.html"));
    assert!(
        english.contains("How this no can become a yes") && german.contains("Wie aus dem Nein")
    );
    for page in [&text, &report, &english, &german] {
        for column in ["housing=", "employment=", "purpose="] {
            assert!(!page.contains(column), "{column} in {page}");
        }
    }
    // The same letter by the command, for everybody.
    let row: usize = text
        .split_once("4. The letter to applicant ")
        .unwrap()
        .1
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let all = folder.run(
        "recourse demo/model.json demo/people.csv -r 0.1 --sigma 0.05 --explain \
        html --language de --templates demo/names-de.toml",
    );
    let article =
        german.split_once("<article").unwrap().1.split_once("</article>").unwrap().0.to_owned();
    assert!(all.text().contains(&article), "{row}: {article}");
}

/// Words with one blank between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether the pieces stand in the text in this order.
fn in_order(text: &str, pieces: &[&str]) -> bool {
    let mut rest = text;
    pieces.iter().all(|piece| match rest.find(piece) {
        Some(start) => {
            rest = &rest[start + piece.len()..];
            true
        }
        None => false,
    })
}

/// The first block of text after a heading or sentence of a page.
fn text_block(page: &str, after: &str) -> String {
    let below = &page[page.find(after).unwrap_or_else(|| panic!("the page has lost '{after}'"))..];
    let start = below.find("```text\n").expect("a block of text") + "```text\n".len();
    below[start..].split("```").next().unwrap_or_default().to_owned()
}

#[test]
fn get_started_shows_what_the_demo_prints() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/get-started.md")).expect("a page");
    let folder = Folder::new();
    let printed = words(&folder.run("demo --out demo").text());
    let block = text_block(&page, "## What the demo prints");
    assert!(block.lines().count() > 30, "the demo has lost its lines");
    // What is left out is marked; letters may break their lines elsewhere.
    for line in block.lines() {
        for piece in line.split("[…]").map(words) {
            assert!(printed.contains(&piece), "the demo does not print '{piece}'");
        }
    }
    let answers = folder.text("demo/recourse.csv");
    let block = text_block(&page, "The first answers of `probe recourse`");
    assert_eq!(block.lines().count(), 3);
    for (shown, told) in block.lines().zip(answers.lines()) {
        let pieces: Vec<&str> = shown.split('…').collect();
        assert!(in_order(told, &pieces), "'{shown}' is not '{told}'");
    }
}
