//! Documents of sections that are measured one by one.

use crate::{peers, trees};
use probe_bench::clock;
use probe_bench::part::BENCHMARKS;

/// A document of sections: its introduction, and the order of its sections.
struct Layout {
    path: &'static str,
    introduction: fn() -> String,
    titles: &'static [&'static str],
}

/// Documents whose layout is defined here; others keep their layout.
const LAYOUTS: [Layout; 3] = [
    Layout {
        path: BENCHMARKS,
        introduction: || {
            format!(
                "# Benchmarks\n\nWritten by `cargo xtask bench`, on {}; `cargo xtask bench NAME` \
                 measures one section again, so sections may come from different runs. Times \
                 differ between machines: compare within a section. Ranges in brackets are the \
                 smallest and the largest of the repeats.\n",
                clock::machine()
            )
        },
        titles: &[
            "Linear models",
            "Many people at once",
            "One person at a time",
            "A million people",
            "Files",
            "Limits of the machine",
            "Scaling",
            "Instructions",
        ],
    },
    Layout { path: trees::OUTPUT, introduction: trees::introduction, titles: &[] },
    Layout { path: peers::OUTPUT, introduction: peers::introduction, titles: &peers::TITLES },
];

/// The text below a heading, up to the next; `None` where there is no such heading.
pub(super) fn find<'a>(document: &'a str, title: &str) -> Option<&'a str> {
    let (start, end) = place(document, title)?;
    document[start..end]
        .split_once('\n')
        .and_then(|(_, below)| below.split_once('\n'))
        .map(|(_, text)| text)
}

/// The range of a section: from the line break before its heading to the one before the next.
fn place(document: &str, title: &str) -> Option<(usize, usize)> {
    let heading = format!("\n## {title}\n");
    let start = document.find(&heading)?;
    let rest = start + heading.len() - 1;
    Some((start, document[rest..].find("\n## ").map_or(document.len(), |next| rest + next)))
}

/// The document with this text under the heading, which is added in its place where it is not
/// there.
pub(super) fn replace(document: &str, path: &str, title: &str, text: &str) -> String {
    let known = LAYOUTS.iter().find(|known| known.path == path);
    let mut before = document.to_owned();
    if let Some(known) = known {
        // The introduction comes from this program.
        let sections = document.find("\n## ").map_or("", |start| &document[start..]);
        before = format!("{}\n{sections}", (known.introduction)().trim_end());
    }
    let section = format!("\n## {title}\n\n{}\n", text.trim());
    if let Some((start, end)) = place(&before, title) {
        return format!("{}{section}{}", &before[..start], &before[end..]);
    }
    let later = known.and_then(|known| {
        let own = known.titles.iter().position(|known| *known == title)?;
        known.titles[own + 1..].iter().find_map(|next| place(&before, next)).map(|(start, _)| start)
    });
    let at = later.unwrap_or(before.len());
    format!("{}\n{section}{}", before[..at].trim_end(), &before[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_replaced_or_added() {
        let added = replace("# T\n\nabout\n", "x.md", "One", "first\n");
        assert_eq!(added, "# T\n\nabout\n\n## One\n\nfirst\n");
        let two = replace(&added, "x.md", "Two", "second");
        assert_eq!(two, "# T\n\nabout\n\n## One\n\nfirst\n\n## Two\n\nsecond\n");
        let replaced = replace(&two, "x.md", "One", "new");
        assert_eq!(replaced, "# T\n\nabout\n\n## One\n\nnew\n\n## Two\n\nsecond\n");
        assert_eq!(
            replace(&replaced, "x.md", "Two", "2"),
            "# T\n\nabout\n\n## One\n\nnew\n\n## Two\n\n2\n"
        );
        assert_eq!(find(&two, "One").map(str::trim), Some("first"));
        assert_eq!(find(&two, "Two").map(str::trim), Some("second"));
        assert_eq!(find(&two, "Three"), None);
    }

    #[test]
    fn sections_of_the_benchmarks_have_an_order() {
        let last = replace("", BENCHMARKS, "Scaling", "s");
        assert!(last.starts_with("# Benchmarks\n"));
        let both = replace(&last, BENCHMARKS, "Files", "f");
        let [files, scaling] =
            ["\n## Files\n", "\n## Scaling\n"].map(|heading| both.find(heading).unwrap());
        assert!(files < scaling && both.ends_with("\n## Scaling\n\ns\n"), "{both}");
        assert_eq!(find(&both, "Files").map(str::trim), Some("f"));
        // Once written, writing it again changes nothing.
        assert_eq!(replace(&both, BENCHMARKS, "Files", "f"), both);
    }
}
