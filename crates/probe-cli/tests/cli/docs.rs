//! The documentation: its commands run, its links lead somewhere, its front pages stay short.

use crate::support::Folder;
use std::path::{Path, PathBuf};

/// Pages whose commands run on the files of the demo, each in a folder of its own.
const PAGES: [&str; 8] = [
    "README.md",
    "docs/get-started.md",
    "docs/schema.md",
    "docs/commands.md",
    "docs/noise.md",
    "docs/guarantees.md",
    "docs/letters.md",
    "docs/methods.md",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The blocks of code of a page: language and text, without the indentation of a list.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)) {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (None, Some(language)) => open = Some((language.to_owned(), String::new())),
            (Some((_, body)), None) => {
                body.push_str(line);
                body.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

/// `head -n N from > to`, as the pages use it.
fn head(folder: &Folder, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let ["head", "-n", n, from, ">", to] = words[..] else { panic!("unexpected: {line}") };
    let n: usize = n.parse().unwrap();
    let kept: Vec<String> = folder.text(from).lines().take(n).map(str::to_owned).collect();
    folder.write(to, &(kept.join("\n") + "\n"));
}

#[test]
fn commands_of_the_documentation_run_on_the_files_of_the_demo() {
    let demo = Folder::new();
    assert_eq!(demo.run("demo --out . --people 600 --quiet").code, Some(0));
    for name in PAGES {
        let folder = Folder::new();
        for file in demo.files() {
            folder.write(&file, &demo.text(&file));
        }
        let mut ran = 0;
        for (language, body) in blocks(&page(name)) {
            match language.as_str() {
                "csv" => folder.write("pairs.csv", &body),
                "toml" if body.starts_with("version = 1\n") => {
                    folder.write("example.toml", &body);
                    let done = folder.run("inspect example.toml");
                    assert_eq!(done.code, Some(0), "{name}: {body}{}", done.err);
                }
                "sh" => {
                    for line in body.lines() {
                        let line = line.split("  #").next().unwrap_or(line).trim();
                        if line.starts_with("head ") {
                            head(&folder, line);
                        }
                        let Some(command) = line.strip_prefix("probe ") else { continue };
                        // These take minutes or the network, or write to the home folder.
                        let slow = ["demo", "reproduce", "data", "completions"];
                        if slow.iter().any(|slow| command.starts_with(slow)) {
                            continue;
                        }
                        let done = folder.run(command);
                        assert_eq!(done.code, Some(0), "{name}: {line}: {}", done.err);
                        ran += 1;
                    }
                }
                _ => {}
            }
        }
        assert!(ran >= 3, "{name} has lost its commands: {ran}");
    }
}

/// All Markdown files below `folder` that belong to the repository.
fn markdown(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && name != "target" && name != "tests" {
            markdown(&path, found);
        } else if name.ends_with(".md") && name != "readme.md" {
            found.push(path);
        }
    }
}

/// The name that a heading is linked by.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_of_the_documentation_lead_somewhere() {
    let mut pages = Vec::new();
    markdown(&root(), &mut pages);
    assert!(pages.len() > 30, "{pages:?}");
    let (mut wrong, mut n_links) = (Vec::new(), 0);
    for path in pages {
        let text = std::fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") || link.contains([' ', '\n']) {
                continue;
            }
            n_links += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let known = target.exists()
                && (place.is_empty()
                    || std::fs::read_to_string(&target).is_ok_and(|text| {
                        let mut headings = text.lines().filter(|line| line.starts_with('#'));
                        headings.any(|line| anchor(line.trim_start_matches('#')) == place)
                    }));
            if !known {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_links > 100, "{n_links}");
}

#[test]
fn front_pages_are_short() {
    let length = page("README.md").len();
    assert!(length <= 8000, "README.md has {length} bytes");
}
