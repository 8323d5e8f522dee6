//! Layers are ordered; a file may use layers above it in this list, never below.

use std::path::Path;

const LAYERS: &[&str] = &[
    "error",
    "rows",
    "registry",
    "seed",
    "math",
    "schema",
    "model",
    "noise",
    "cost",
    "theory",
    "invalidation",
    "recourse",
    "engine",
    "evaluation",
];

fn sources(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the source folder can be read") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_layer_uses_one_below_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    assert!(files.len() > 20, "the sources were not found");
    let mut wrong = Vec::new();
    for file in files {
        let relative = file.strip_prefix(&root).expect("inside the source folder");
        let module =
            relative.iter().next().expect("a component").to_string_lossy().replace(".rs", "");
        if module == "lib" {
            continue;
        }
        let depth = LAYERS.iter().position(|l| *l == module);
        let depth =
            depth.unwrap_or_else(|| panic!("module {module} is in no layer: add it to LAYERS"));
        let text = std::fs::read_to_string(&file).expect("a readable source file");
        // Unit tests may use any layer.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for below in &LAYERS[depth + 1..] {
            let uses = |line: &&str| {
                !line.trim_start().starts_with("//") && line.contains(&format!("crate::{below}::"))
            };
            if let Some(line) = code.lines().find(uses) {
                wrong.push(format!("{} uses {below}: {}", relative.display(), line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
