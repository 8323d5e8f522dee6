//! Parts of the document that were measured alone.

use super::{OUTPUT, SIGMA};
use crate::{clock, folders};
use anyhow::Result;

/// Writes the section to the document, in the place of the one that is there.
pub(super) fn replace(title: &str, text: &str) -> Result<()> {
    let path = folders::root().join(OUTPUT);
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    // What the sections share comes first, as this run has it.
    let sections = before.find("\n## ").map_or("", |start| &before[start..]);
    let document = format!("{}\n{sections}", introduction().trim_end());
    std::fs::write(path, with_section(&document, title, text))?;
    eprintln!("section written to {OUTPUT}");
    Ok(())
}

fn introduction() -> String {
    format!(
        "# Trees\n\nWritten by `cargo xtask bench trees` on {}, each section by itself (`--part`). Forests of 100 trees of depth 6 and boosting of \
         100 trees of depth 4, by `probe train`; all columns continuous and free, σ = {SIGMA} on every column, l1 cost, confidence 0.999 per person. \
         People are those of the test split whom the model denies.\n",
        clock::machine()
    )
}

/// The document with this text under the heading, which is added at the end where it is not there.
fn with_section(document: &str, title: &str, text: &str) -> String {
    let heading = format!("\n## {title}\n");
    let (head, tail) = match document.find(&heading) {
        None => (document, ""),
        Some(start) => {
            let rest = &document[start + heading.len()..];
            (&document[..start], rest.find("\n## ").map_or("", |next| &rest[next..]))
        }
    };
    format!("{}\n{heading}\n{}\n{tail}", head.trim_end(), text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_replaced_or_added() {
        let added = with_section("# T\n\nabout\n", "One", "first\n");
        assert_eq!(added, "# T\n\nabout\n\n## One\n\nfirst\n");
        let two = with_section(&added, "Two", "second");
        let replaced = with_section(&two, "One", "new");
        assert_eq!(replaced, "# T\n\nabout\n\n## One\n\nnew\n\n## Two\n\nsecond\n");
        assert_eq!(with_section(&replaced, "Two", "2"), "# T\n\nabout\n\n## One\n\nnew\n\n## Two\n\n2\n");
    }
}
