//! Help, completions, `inspect`, logging: what is read by people, not by scripts.

use crate::support::Folder;

const COMMANDS: [&str; 12] = [
    "demo",
    "train",
    "recourse",
    "frontier",
    "compare",
    "rate",
    "serve",
    "noise",
    "reproduce",
    "data",
    "inspect",
    "completions",
];

#[test]
fn every_command_s_help_has_examples_that_name_it() {
    let folder = Folder::new();
    for command in COMMANDS {
        let ran = folder.run(&format!("{command} --help"));
        let text = ran.text();
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let examples =
            text.split("Examples:").nth(1).unwrap_or_else(|| panic!("no examples: {text}"));
        assert!(examples.contains(&format!("probe {command}")), "{examples}");
        assert!(!text.contains('\u{1b}'));
    }
    let text = folder.run("--help").text();
    assert!(text.contains("Examples:"));
    for command in COMMANDS {
        assert!(text.contains(&format!("  {command} ")), "{text}");
    }
    assert!(folder.run("--version").text().starts_with("probe "));
}

#[test]
fn help_names_every_flag_of_the_contract() {
    let text = Folder::new().run("recourse --help").text();
    let flags = [
        "-r",
        "--max-rate",
        "--sigma",
        "--sigma2",
        "--noise",
        "--noise-on",
        "--model-shift",
        "--cost",
        "--bounds",
        "--strict-bounds",
        "--schema",
        "--immutable",
        "--max-changes",
        "--confidence",
        "--confidence-scope",
        "--rows",
        "--aim",
        "--method",
        "--option",
        "--paper-text",
        "--no-certify",
        "--also-favourable",
        "--favourable-class",
        "--threshold",
        "--threshold-prob",
        "--budget",
        "--id",
        "--ignore-extra",
        "--format",
        "-o",
        "--seed",
        "--threads",
        "--quiet",
        "--log",
    ];
    for flag in flags {
        assert!(text.contains(flag), "no {flag}");
    }
}

/// The flags of a help text, each with the heading that it stands under.
fn headings(help: &str) -> Vec<(String, String)> {
    let mut heading = String::new();
    let mut found = Vec::new();
    for line in help.lines().take_while(|line| *line != "Examples:") {
        if line.ends_with(':') && !line.starts_with(' ') {
            heading = line.trim_end_matches(':').to_owned();
        }
        let flag = line.trim_start().split(' ').find(|word| word.starts_with("--"));
        if let (true, Some(flag)) = (line.starts_with("  -") || line.starts_with("      --"), flag)
        {
            found.push((flag.to_owned(), heading.clone()));
        }
    }
    found
}

#[test]
fn flags_stand_under_their_own_heading() {
    let folder = Folder::new();
    let sampled = "If rates are sampled (networks, and noise without a closed form)";
    let (mlp, trees) = ("With --kind mlp", "With --kind forest or boosted");
    /// A heading with its flags.
    type Section<'a> = (&'a str, &'a [&'a str]);
    let expected: [(&str, &[Section<'_>]); 4] = [
        (
            "recourse",
            &[
                (sampled, &["--tolerance", "--aim", "--confidence-scope", "--rows"]),
                ("Letters", &["--explain", "--explain-out", "--language", "--templates"]),
            ],
        ),
        ("frontier", &[(sampled, &["--aim", "--confidence-scope", "--rows"])]),
        ("compare", &[]),
        (
            "train",
            &[
                (
                    mlp,
                    &[
                        "--hidden",
                        "--activation",
                        "--outputs",
                        "--epochs",
                        "--batch",
                        "--lr",
                        "--patience",
                    ],
                ),
                (
                    trees,
                    &[
                        "--trees",
                        "--depth",
                        "--min-leaf",
                        "--split-features",
                        "--no-bootstrap",
                        "--min-child-weight",
                        "--rows",
                        "--columns",
                        "--bins",
                    ],
                ),
            ],
        ),
    ];
    for (command, groups) in expected {
        let found = headings(&folder.run(&format!("{command} --help")).text());
        assert!(found.iter().any(|(_, heading)| heading == "Options"), "{command}: {found:?}");
        for (heading, flags) in groups {
            let under: Vec<&str> =
                found.iter().filter(|(_, h)| h == heading).map(|(flag, _)| flag.as_str()).collect();
            assert_eq!(under, *flags, "{command}");
        }
        let headed: usize = groups.iter().map(|(_, flags)| flags.len()).sum();
        let plain = found.iter().filter(|(_, heading)| heading == "Options").count();
        assert_eq!(plain + headed, found.len(), "{command}: {found:?}");
    }
    // It cannot be given beside --methods, which is required.
    assert!(
        !headings(&folder.run("compare --help").text()).iter().any(|(flag, _)| flag == "--method")
    );
}

/// The example lines of a help text, without what is said beside them and without what a shell
/// does.
fn examples(help: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in
        help.split("Examples:").nth(1).unwrap_or("").lines().filter(|line| !line.trim().is_empty())
    {
        // A long line goes on in the next.
        match lines.last_mut() {
            Some(last)
                if !["  probe ", "  cat ", "  mkdir "]
                    .iter()
                    .any(|start| line.starts_with(start)) =>
            {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.trim_start().to_owned()),
        }
    }
    let command = |line: &String| {
        let line =
            line.strip_prefix("cat people.csv | ").unwrap_or(line).replace(" - ", " people.csv ");
        let end = ["  ", " | ", " > "].iter().filter_map(|mark| line.find(mark)).min();
        line[..end.unwrap_or(line.len())].strip_prefix("probe ").map(str::to_owned)
    };
    lines.iter().filter_map(command).collect()
}

#[test]
fn examples_of_the_help_run_on_the_files_of_the_demo() {
    let folder = Folder::new();
    assert_eq!(folder.run("demo --out . --people 600 --quiet").code, Some(0));
    let people: Vec<String> =
        folder.text("people.csv").lines().take(4).map(str::to_owned).collect();
    folder.write("people.csv", &(people.join("\n") + "\n"));
    folder.write(
        "pairs.csv",
        "income,income__implemented,debt,debt__implemented\n\
         0.42,0.41,0.30,0.33\n0.38,0.39,0.25,0.24\n0.5,0.52,0.1,0.11\n",
    );
    assert_eq!(folder.run("recourse model.json people.csv -o out.csv").code, Some(0));
    let mut ran = 0;
    for help in [
        "train",
        "noise",
        "noise fit",
        "recourse",
        "frontier",
        "compare",
        "rate",
        "audit",
        "audit verify",
        "schema",
        "schema infer",
        "inspect",
    ]
    .into_iter()
    .map(|command| format!("{command} --help"))
    .chain(["--help".to_owned()])
    {
        for line in examples(&folder.run(&help).text()) {
            // These take minutes or the network, or do not end.
            if ["demo", "reproduce", "data", "serve"].iter().any(|slow| line.starts_with(slow)) {
                continue;
            }
            let done = folder.run(&line);
            assert_eq!(done.code, Some(0), "{help}: probe {line}: {}", done.err);
            ran += 1;
        }
    }
    assert!(ran > 40, "{ran}");
}

#[test]
fn completions_know_the_commands() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        let ran = folder.run(&format!("completions {shell}"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
        let text = ran.text();
        assert!(COMMANDS.iter().all(|command| text.contains(command)), "{shell}");
        assert!(text.contains("max-rate"), "{shell}");
    }
    assert_eq!(folder.run("completions abacus").code, Some(2));
}

/// Runs `inspect` and checks words and plainness.
#[track_caller]
fn inspected(folder: &Folder, file: &str, words: &[&str]) {
    let ran = folder.run(&format!("inspect {file}"));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{file}");
    let text = ran.text();
    for word in words {
        assert!(text.contains(word), "no '{word}' in {text}");
    }
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn inspect_explains_models_schemas_and_tables() {
    let folder = Folder::with_people("a,b,who\n0,0.5,Ann\n2,1.5,Bob\n");
    inspected(
        &folder,
        "model.json",
        &["linear", "2 features", "+2.0", "+1.0", "bias -2.0", "no schema", "sha256"],
    );
    inspected(
        &folder,
        "people.csv",
        &["table: csv, 2 rows, 3 columns", "whole numbers", "text", "Ann, Bob"],
    );
    folder.write(
        "schema.toml",
        "version = 1\ntarget = \"y\"\n[[feature]]\nname = \"a\"\nmutable = false\n\
         [[feature]]\nname = \"b\"\nmin = 0\nmax = 9\ndirection = \"increase\"\nunit = \"EUR\"\n",
    );
    inspected(&folder, "schema.toml", &["predicts 'y'", "up only", "EUR", "no"]);
    folder.write("schema.json", r#"{"version": 1, "feature": [{"name": "a", "mutable": false}]}"#);
    inspected(&folder, "schema.json", &["feature", "a"]);
    assert_eq!(folder.run("recourse model.json people.csv --id who -o out.parquet").code, Some(0));
    inspected(&folder, "out.parquet", &["table: parquet, 2 rows, 14 columns", "certified"]);
    folder.write("people.jsonl", "{\"a\": 1, \"b\": 2}\n");
    inspected(&folder, "people.jsonl", &["table: jsonl, 1 row", "2 columns"]);
    folder.write("none.csv", "a,b\n");
    inspected(&folder, "none.csv", &["0 rows, 2 columns"]);
}

#[test]
fn inspect_refuses_what_it_cannot_read() {
    let folder = Folder::new();
    folder.run("inspect gone.csv").fails(1, &["gone.csv", "No such file"]);
    folder.write("empty.csv", "");
    folder.run("inspect empty.csv").fails(1, &["empty.csv", "empty"]);
    folder.write("bad.toml", "version = \n");
    folder.run("inspect bad.toml").fails(1, &["bad.toml", "line 1"]);
    std::fs::create_dir(folder.path("dir")).unwrap();
    folder.run("inspect dir").fails(1, &["dir"]);
}

#[test]
fn no_colours_when_nobody_watches() {
    let folder = Folder::with_people("a,b\n0,x\n");
    for line in [
        "recourse model.json people.csv",
        "recourse",
        "inspect model.json",
        "recourse model.json gone.csv",
    ] {
        let ran = folder.run(line);
        assert!(!ran.text().contains('\u{1b}') && !ran.err.contains('\u{1b}'), "{line}: {ran:?}");
    }
}

#[test]
fn a_raw_model_without_scales_is_warned_of() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write(
        "schema.toml",
        "version = 1\nmodel_input = \"raw\"\n[[feature]]\nname = \"a\"\n[[feature]]\nname \
         = \"b\"\n",
    );
    let ran = folder.run("recourse model.json people.csv --schema schema.toml");
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.starts_with("warning: ") && ran.err.contains("scale"), "{}", ran.err);
    assert!(!folder.run("recourse model.json people.csv").err.contains("warning"));
}
