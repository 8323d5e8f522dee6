//! One page with everything that was made.

use super::{Experiment, Made};
use crate::plot::escape;
use crate::report::{close_page, open_page};
use probe_core::registry::Entry;

/// One HTML file that needs nothing else: tables, remarks and pictures of each experiment, in order.
pub fn page(made: &[(&'static Entry<dyn Experiment>, Made)], about: &str) -> String {
    let mut out = open_page("The paper's experiments, made anew", about);
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
        for table in &made.tables {
            out +=
                &format!("<h3>{}</h3>\n<div class=\"everything\"><table>\n<thead><tr>", escape(&table.title));
            table.header.iter().for_each(|head| out += &format!("<th>{}</th>", escape(head)));
            out += "</tr></thead>\n<tbody>\n";
            for row in &table.rows {
                out += "<tr>";
                for (i, cell) in row.iter().enumerate() {
                    let tag = if i == 0 { "th" } else { "td" };
                    out += &format!("<{tag}>{}</{tag}>", escape(cell));
                }
                out += "</tr>\n";
            }
            out += "</tbody></table></div>\n";
        }
        made.remarks.iter().for_each(|remark| out += &format!("<p>{}</p>\n", escape(remark)));
        out += "</section>\n";
    }
    out + &close_page("Same data, same seed: the same numbers, apart from times.")
}
