//! `probe reproduce`: the paper's figures and tables.

use crate::support::{Folder, Random};

#[test]
fn the_figure_on_trees_is_written_and_told() {
    let folder = Folder::new();
    let ran = folder.run("reproduce trees --out made");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    for word in [
        "rate on the tree",
        "rate on the forest",
        "about 0.5",
        "method probe",
        "agrees with the forest",
    ] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(ran.err.contains("trees.svg"), "{}", ran.err);
    let picture = folder.text("made/trees.svg");
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    folder.run("reproduce trees --out again --threads 1 --quiet");
    assert_eq!(picture, folder.text("again/trees.svg"));
    folder.run("reproduce table9").fails(2, &["table9", "known: classifiers, settings, table1"]);
    folder.run("reproduce table1 --quiet").fails(1, &["--data DIR"]);
}

/// Small files with the columns of the paper's.
fn write_data(folder: &Folder) {
    let files = [
        (
            "adult.csv",
            7,
            "workclass,marital-status,occupation,relationship,race,sex,native-country,",
            "income",
        ),
        ("compas.csv", 3, "c_charge_degree,race,sex,", "score"),
        ("give_me_some_credit.csv", 0, "", "SeriousDlqin2yrs"),
    ];
    for (name, groups, heads, target) in files {
        let mut random = Random::new(5);
        let mut text = format!("a,b,{heads}{target}\n");
        for _ in 0..300 {
            let (a, b) = (random.next(), random.next());
            let words: String =
                (0..groups).map(|_| if random.next() < 0.5 { "u," } else { "v," }).collect();
            let yes = a + 0.5 * b + random.between(-0.3, 0.3) > 0.7;
            text += &format!("{a},{b},{words}{}\n", u8::from(yes));
        }
        folder.write(name, &text);
    }
}

#[test]
fn everything_is_made_from_few_people_and_found_again() {
    let folder = Folder::new();
    write_data(&folder);
    let ran = folder.run("reproduce --data . --out made --people 2");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    for word in ["accuracy, paper", "our solver", "Proposition 4"] {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    let page = folder.text("made/report.html");
    for name in [
        "motivation",
        "loan",
        "navigation",
        "sigmoid",
        "pareto",
        "bounds-001",
        "bounds-025",
        "baselines-001",
        "achieved",
        "tradeoff",
        "trees",
    ] {
        assert!(folder.text(&format!("made/{name}.svg")).starts_with("<svg"), "{name}");
        assert!(page.contains(&format!(">{name}.svg<")), "{name}");
    }
    assert!(page.contains("on a part of the people"));
    // Every number is in a file.
    for name in [
        "classifiers",
        "settings",
        "table1",
        "sigma025",
        "motivation",
        "loan",
        "navigation",
        "trees",
    ] {
        let numbers = folder.text(&format!("made/{name}.csv"));
        let columns = |line: &str| line.split(',').count();
        let head = numbers.lines().next().unwrap_or_default();
        assert!(numbers.lines().count() > 2 && columns(head) >= 6, "{name}: {numbers}");
        assert!(
            numbers.lines().all(|line| line.contains('"') || columns(line) == columns(head)),
            "{name}"
        );
    }
    let table = folder.text("made/table1.csv");
    assert!(table.lines().count() > 6 * 7 && table.starts_with("data,classifier,method,people,"));
    // Nothing is run twice: the times in the table are those of the first run.
    assert_eq!(
        folder.run("reproduce table1 --data . --out made --people 2 --threads 1").code,
        Some(0)
    );
    assert_eq!(folder.text("made/table1.csv"), table);
}

#[test]
fn a_changed_file_of_the_same_length_is_refused_by_its_checksum() {
    let folder = Folder::new();
    let source = probe_experiments::sources::SOURCES.iter().find(|s| s.name == "compas").unwrap();
    std::fs::create_dir(folder.path("copy")).unwrap();
    folder.write(&format!("copy/{}", source.file), &"x".repeat(source.bytes as usize));
    let copy = folder.path("copy");
    let ran =
        folder.run(&format!("data download compas --out data --base-url file:{}", copy.display()));
    ran.fails(1, &[source.file, "sha256", source.sha256, "nothing was written"]);
    assert_eq!(std::fs::read_dir(folder.path("data")).unwrap().count(), 0);
    // The same file in the place of the right one: it is neither believed nor replaced.
    folder.write(&format!("data/{}", source.file), &"x".repeat(source.bytes as usize));
    folder
        .run("data download compas --out data")
        .fails(1, &["another file has this name", "--force"]);
}
