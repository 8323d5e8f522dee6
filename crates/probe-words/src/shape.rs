//! Text on a page: wraps lines, and escapes characters that have a meaning in Markdown.

/// Width of a line of text.
const WIDTH: usize = 78;

/// Breaks `text` into lines, indented by `indent`, all but the first by `hang` more. Words longer
/// than a line stay whole.
pub(crate) fn wrap(text: &str, indent: Option<usize>, hang: Option<usize>) -> String {
    let (indent, hang) = (indent.unwrap_or(0).min(WIDTH / 2), hang.unwrap_or(0).min(WIDTH / 2));
    let mut out = " ".repeat(indent);
    let mut width = indent;
    let mut first = true;
    for word in words(text) {
        let size = word.chars().count();
        if !first && width + 1 + size > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent + hang));
            width = indent + hang;
        } else if !first {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += size;
        first = false;
    }
    out
}

/// The words of a text; a space that must not break is part of its word.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() && c != '\u{a0}').filter(|word| !word.is_empty())
}

/// Text that Markdown prints unchanged: characters with a meaning are escaped, and line breaks
/// become spaces.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '$' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\r' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_of_a_readable_length() {
        let text = "word ".repeat(40);
        let wrapped = wrap(&text, Some(2), Some(3));
        assert!(wrapped.lines().all(|line| line.chars().count() <= WIDTH), "{wrapped}");
        assert!(
            wrapped.starts_with("  word")
                && wrapped.lines().skip(1).all(|line| line.starts_with("     word"))
        );
        assert_eq!(wrapped.split_whitespace().count(), 40);
        assert_eq!(wrap("99,9\u{a0}% sicher", None, None), "99,9\u{a0}% sicher");
        let long = "x".repeat(200);
        assert_eq!(wrap(&long, None, None), long);
        assert_eq!(wrap("", Some(2), None), "  ");
    }

    #[test]
    fn markdown_signs_mean_nothing() {
        assert_eq!(
            escape_markdown("<b> *a* [x](y) a_b\n# c"),
            "&lt;b&gt; \\*a\\* \\[x\\](y) a\\_b \\# c"
        );
    }
}
