//! The page itself.

use super::batch::batch_picture;
use super::changes::changes_picture;
use super::cloud::cloud_picture;
use super::data::{Report, Status};
use super::frontier::frontier_picture;
use super::icons::icons;
use super::summary::summary;
use super::{details, limits};
use crate::number::Odds;
use crate::plot::{STYLE, Svg, escape};

const PAGE_STYLE: &str = include_str!("page.css");
/// Width of pictures on a screen, on paper, and on a phone.
const WIDE: f64 = 812.0;
const NARROW: f64 = 344.0;

/// Writes the report as one HTML file: no scripts, fonts or styles from elsewhere, and the same
/// bytes for the same data.
///
/// The page is also well-formed XML, so that a machine can check it.
pub fn render(report: &Report) -> String {
    let mut out =
        opened(&format!("{}: {}", report.title, report.person), &report.title, &report.person);
    out.push_str(&verdict(report));
    out.push_str(&pictures(report));
    section(&mut out, "Details", &details::features(&report.features));
    if let Some(letter) = &report.letter {
        // Line by line: its lines are part of it.
        let lines: Vec<String> = letter.trim_end().lines().map(escape).collect();
        section(
            &mut out,
            "The letter",
            &format!("<pre class=\"letter\">{}</pre>\n", lines.join("\n")),
        );
    }
    if !report.methods.is_empty() {
        let table = details::methods(&report.methods, report.settings.max_rate);
        section(
            &mut out,
            "Compared with other methods",
            &format!("<div class=\"methods\">{table}</div>\n"),
        );
    }
    if let Some(part) = &report.network {
        section(&mut out, "The same person scored by a network", &details::network(part));
    }
    if let Some(batch) = &report.batch {
        let picture = figure(|id, width| batch_picture(batch, id, width), "batch", "");
        section(
            &mut out,
            "The same question for many people",
            &(picture + &details::statuses(batch)),
        );
    }
    section(&mut out, "How to read this, and its limits", &limits::how_to_read(report));
    section(&mut out, "Model and settings", &details::provenance(report));
    out + &close_page("Same data, same settings, same seed: the same report, byte for byte.")
}

/// The beginning of a page of its own, up to its main part.
pub(crate) fn open_page(title: &str, about: &str) -> String {
    opened(title, title, about)
}

/// The end of a page, after its main part.
pub(crate) fn close_page(footer: &str) -> String {
    format!("</main>\n<footer>{}</footer>\n</body>\n</html>\n", escape(footer))
}

fn opened(name: &str, title: &str, about: &str) -> String {
    format!(
        concat!(
            "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n",
            "<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width, \
             initial-scale=1\"/>\n",
            "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n<style>\n\
             {}{}</style>\n</head>\n",
            "<body class=\"page\">\n<header>\n<p class=\"brand\">Probe</p>\n<h1>{}</h1>\n\
             <p class=\"who\">{}</p>\n",
            "</header>\n<main>\n"
        ),
        escape(name),
        STYLE,
        PAGE_STYLE,
        escape(title),
        escape(about)
    )
}

fn section(out: &mut String, heading: &str, body: &str) {
    if !body.is_empty() {
        out.push_str(&format!("<section>\n<h2>{}</h2>\n{body}</section>\n", escape(heading)));
    }
}

/// The first screen: the sentences, a hundred attempts, and the main figures.
fn verdict(report: &Report) -> String {
    let class = if report.answer.status == Status::None { "answer no" } else { "answer" };
    let words: String = summary(report).iter().map(|s| format!("<p>{}</p>\n", escape(s))).collect();
    format!(
        "<div class=\"{class}\">\n<div class=\"verdict\">\n<div class=\"words\">\n{words}</div>\n\
         {}</div>\n{}</div>\n",
        hundred(report),
        details::tiles(report)
    )
}

fn hundred(report: &Report) -> String {
    let lost = report.answer.status == Status::None;
    let rate = if lost { report.answer.best_rate } else { report.answer.rate };
    let (Some(picture), Some(odds)) = (icons(rate, "hundred"), rate.and_then(Odds::of)) else {
        return String::new();
    };
    let (class, headline, text) = if lost {
        ("fails", odds.to_string(), "attempts would fail at the best point within reach")
    } else if report.answer.status == Status::Favourable {
        ("holds", odds.others().to_string(), "cases keep the yes")
    } else {
        ("holds", odds.others().to_string(), "attempts get a yes and keep it")
    };
    format!(
        "<figure class=\"hundred\">{}<figcaption><strong \
         class=\"{class}\">{}</strong>{text}</figcaption></figure>\n",
        picture.inline(),
        escape(&headline)
    )
}

fn pictures(report: &Report) -> String {
    let mut out = String::new();
    let changes = figure(
        |id, width| changes_picture(report, id, width),
        "changes",
        &limits::changes_caption(report),
    );
    section(&mut out, "What to change", &changes);
    let frontier = figure(
        |id, width| frontier_picture(report, id, width),
        "frontier",
        &limits::frontier_caption(report),
    );
    section(&mut out, "What safety costs", &frontier);
    if let Some(cloud) = &report.cloud {
        let caption = limits::cloud_caption(report, cloud);
        let picture = figure(|id, width| cloud_picture(report, id, width), "cloud", &caption);
        section(&mut out, "Where noisy attempts end up", &picture);
    }
    out
}

/// The same picture laid out for both widths; the style sheet shows one of them.
fn figure(draw: impl Fn(&str, f64) -> Option<Svg>, id: &str, caption: &str) -> String {
    let (Some(wide), Some(narrow)) = (draw(id, WIDE), draw(&format!("{id}-narrow"), NARROW)) else {
        return String::new();
    };
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>", escape(caption))
    };
    format!(
        "<figure>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n\
         {caption}</figure>\n",
        wide.inline(),
        narrow.inline()
    )
}
