//! The Rust examples of the README and of "Get started" are the quick start of the crate docs,
//! which
//! runs as a doctest.

use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join(path)).expect("a readable file")
}

/// Checks that the first Rust example of `page` has at least `n_lines` lines, all of the quick
/// start.
fn shows_the_quick_start(page: &str, n_lines: usize) {
    let (text, crate_docs) = (read(page), read("src/lib.rs"));
    let start = text.find("```rust\n").expect("a Rust example") + "```rust\n".len();
    let example = text[start..].split("```").next().unwrap_or_default();
    assert!(example.lines().count() >= n_lines, "{page}: the example has lost its body");
    for line in example.lines() {
        let documented = format!("//! {line}");
        assert!(crate_docs.contains(documented.trim_end()), "not in the crate docs: {line}");
    }
}

#[test]
fn the_readme_shows_the_quick_start() {
    shows_the_quick_start("../../README.md", 6);
}

#[test]
fn get_started_shows_the_quick_start() {
    shows_the_quick_start("../../docs/get-started.md", 15);
}
