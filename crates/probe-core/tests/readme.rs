//! The Rust example of the README is the quick start of the crate docs, which runs as a doctest.

use std::path::Path;

#[test]
fn the_readme_shows_the_quick_start() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a readable file");
    let (readme, crate_docs) = (read("../../README.md"), read("src/lib.rs"));
    let start =
        readme.find("```rust\n").expect("the README has a Rust example") + "```rust\n".len();
    let example = readme[start..].split("```").next().unwrap_or_default();
    assert!(example.lines().count() > 10, "the example has lost its body");
    for line in example.lines() {
        let documented = format!("//! {line}");
        assert!(crate_docs.contains(documented.trim_end()), "not in the crate docs: {line}");
    }
}
