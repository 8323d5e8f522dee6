//! One page with everything that was made.

use super::{Experiment, Made, Table};
use crate::plot::escape;
use crate::report::{close_page, open_page};
use probe_core::registry::Entry;

/// One HTML file that needs nothing else: tables, remarks and pictures of each experiment, in
/// order.
pub fn page(made: &[(&'static Entry<dyn Experiment>, Made)], about: &str) -> String {
    let mut out = open_page("Reproducing the paper's experiments", about);
    for (entry, made) in made {
        out += &format!(
            "<section id=\"{0}\">\n<h2>{0}</h2>\n<p>{1}</p>\n",
            escape(entry.name),
            escape(entry.reference)
        );
        for (name, text) in made.files.iter().filter(|(name, _)| name.ends_with(".svg")) {
            out += &format!(
                "<figure class=\"made\">{}<figcaption>{}</figcaption></figure>\n",
                text.trim(),
                escape(name)
            );
        }
        made.tables.iter().for_each(|table| out += &html(table));
        made.remarks.iter().for_each(|remark| out += &format!("<p>{}</p>\n", escape(remark)));
        out += "</section>\n";
    }
    out + &close_page("Same data, same seed: the same numbers, apart from times.")
}

/// A table. Words are left-aligned, and sentences are below their row, so that the
/// page is no wider than its numbers.
fn html(table: &Table) -> String {
    let n = table.header.len() - usize::from(table.sentences);
    let numbers = table.numbers();
    let class = |i: usize| if i == 0 || numbers.contains(&i) { "" } else { " class=\"words\"" };
    let mut out = format!(
        "<h3>{}</h3>\n<div class=\"everything\"><table>\n<thead><tr>",
        escape(&table.title)
    );
    for (i, head) in table.header[..n].iter().enumerate() {
        out += &format!("<th{}>{}</th>", class(i), escape(head));
    }
    out += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        let below = row.get(n).filter(|sentence| !sentence.is_empty());
        out += if below.is_some() { "<tr class=\"told\">" } else { "<tr>" };
        for (i, cell) in row.iter().take(n).enumerate() {
            let tag = if i == 0 { "th" } else { "td" };
            out += &format!("<{tag}{}>{}</{tag}>", class(i), escape(cell));
        }
        out += "</tr>\n";
        if let Some(sentence) = below {
            out += &format!(
                "<tr class=\"sentence\"><td colspan=\"{n}\">{}</td></tr>\n",
                escape(sentence)
            );
        }
    }
    out + "</tbody></table></div>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_sentences_stand_below_their_row() {
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let table = Table {
            title: "t".to_owned(),
            header: vec!["method", "settings", "AIR", "what explains it"],
            rows: vec![row(["a", "step=1", "0.5", "because 1 < 2"]), row(["b", "", "0.4", ""])],
            words: &["settings"],
            sentences: true,
        };
        let made = html(&table);
        let head = "<tr><th>method</th><th class=\"words\">settings</th><th>AIR</th></tr>";
        assert!(made.contains(head), "{made}");
        let told = "<tr class=\"told\"><th>a</th><td class=\"words\">step=1</td><td>0.5</td></tr>\n\
                    <tr class=\"sentence\"><td colspan=\"3\">because 1 &lt; 2</td></tr>";
        assert!(made.contains(told), "{made}");
        assert!(made.ends_with(
            "<tr><th>b</th><td class=\"words\"></td><td>0.4</td></tr>\n</tbody></table></div>\n"
        ));
    }
}
