//! Parts of the document that were measured alone.

use super::OUTPUT;
use crate::folders;
use anyhow::Result;

/// Writes the section to the document, in the place of the one that is there.
pub(super) fn replace(title: &str, text: &str) -> Result<()> {
    let path = folders::root().join(OUTPUT);
    let before = std::fs::read_to_string(&path).unwrap_or_else(|_| "# Trees\n".to_owned());
    std::fs::write(path, with_section(&before, title, text))?;
    eprintln!("section written to {OUTPUT}");
    Ok(())
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
