//! The README's figures: the template `readme.md` in this folder, filled with measured figures.

use super::Figures;
use super::store::{Entry, Store};
use anyhow::{Context as _, Result};
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior, Value};
use std::collections::BTreeMap;
use std::path::Path;

const FILE: &str = "README.md";
/// The README's section of figures.
pub(super) const TEMPLATE: &str = include_str!("readme.md");
pub(super) const MARKS: [&str; 2] = [
    "<!-- figures: written by `cargo xtask bench`, see CONTRIBUTING.md -->\n",
    "<!-- end of figures -->",
];

/// Writes the figures into the README.
pub(super) fn write(root: &Path, template: &str, store: &Store) -> Result<()> {
    let before = read(root)?;
    std::fs::write(root.join(FILE), filled(&before, &render(template, store)?)?)?;
    Ok(())
}

/// Whether the README has the figures that were measured.
pub(super) fn is_current(root: &Path, template: &str, store: &Store) -> Result<bool> {
    let text = read(root)?;
    Ok(filled(&text, &render(template, store)?)? == text)
}

fn read(root: &Path) -> Result<String> {
    std::fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))
}

/// The template with names replaced by figures; a name without a figure is an error.
fn render(template: &str, store: &Store) -> Result<String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let with_machine = |entry: &Entry| {
        let mut figures = entry.figures.clone();
        figures.insert("machine".to_owned(), entry.machine.clone());
        figures
    };
    let figures: BTreeMap<&String, Figures> =
        store.entries().map(|(id, entry)| (id, with_machine(entry))).collect();
    let text = environment.render_str(template, Value::from(Serde(figures)));
    let text = text.context("the README's template names a figure that was not measured")?;
    // The engine of templates drops the last line break.
    Ok(format!("{}\n", text.trim_end()))
}

/// The text with the figures between the marks.
fn filled(text: &str, figures: &str) -> Result<String> {
    let [start, end] = MARKS.map(|mark| text.find(mark));
    let (start, end) = start.zip(end).context("README.md has no place for figures")?;
    Ok(format!("{}{}{}{}", &text[..start], MARKS[0], figures, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_between_the_marks_and_nothing_else_changes() {
        let text = format!("a\n{}old\n{}\nb\n", MARKS[0], MARKS[1]);
        let new = filled(&text, "new\n").unwrap();
        assert_eq!(new, format!("a\n{}new\n{}\nb\n", MARKS[0], MARKS[1]));
        assert!(filled("nothing", "x").is_err());
    }
}
