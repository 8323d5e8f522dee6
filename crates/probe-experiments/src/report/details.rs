//! The tables of the report.

use super::batch::Batch;
use super::data::{Method, ModelAnswer, NetworkPart, PersonFeature, Report, Status};
use super::words;
use crate::number::{self, MISSING, Odds, percent, rounded, with_unit};
use crate::plot::escape;
use probe_core::NoiseOn;

/// A table; cells are escaped here. Each cell carries its heading for narrow pages.
fn table(class: &str, headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut out = format!("<table class=\"{class}\"><thead><tr>");
    for heading in headings {
        out.push_str(&format!("<th scope=\"col\">{}</th>", escape(heading)));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (i, (cell, heading)) in row.iter().zip(headings).enumerate() {
            let (cell, heading) = (escape(cell), escape(heading));
            if i == 0 {
                out.push_str(&format!("<th scope=\"row\">{cell}</th>"));
            } else {
                // A number and its unit stay on one line; a long text may break.
                let short = if cell.chars().count() <= 24 { " class=\"short\"" } else { "" };
                out.push_str(&format!("<td data-label=\"{heading}\"{short}>{cell}</td>"));
            }
        }
        out.push_str("</tr>\n");
    }
    out + "</tbody></table>\n"
}

/// What changes, in full, and what stays.
pub(super) fn features(features: &[PersonFeature]) -> String {
    let changed = words::changed(features);
    let mut out = String::new();
    if !changed.is_empty() {
        let headings = [
            "Feature",
            "Today",
            "Recommended",
            "Change",
            "Share of cost",
            "Typical miss",
            "May miss by, alone",
        ];
        let rows: Vec<Vec<String>> = changed.iter().map(|f| changed_row(f)).collect();
        out.push_str(&table("wide-table", &headings, &rows));
    }
    let stays: Vec<Vec<String>> = features.iter().filter(|f| !f.changed()).map(stays_row).collect();
    if !stays.is_empty() {
        let heading = if changed.is_empty() { "The person" } else { "Stays as it is" };
        out.push_str(&format!("<h3>{heading}</h3>\n"));
        out.push_str(&table(
            "small-table stays",
            &["Feature", "Today", "Typical miss", "Note"],
            &stays,
        ));
    }
    out
}

fn changed_row(feature: &PersonFeature) -> Vec<String> {
    let unit = feature.unit.as_deref();
    let change = words::change(feature);
    let share = if feature.cost_share.is_finite() {
        percent(feature.cost_share)
    } else {
        MISSING.to_owned()
    };
    let tolerance = match feature.tolerance {
        Some(t) if t == f64::INFINITY => "any amount".to_owned(),
        Some(t) if t.is_finite() => with_unit(rounded(t, 3), unit),
        _ => MISSING.to_owned(),
    };
    vec![
        feature.name.clone(),
        with_unit(change.from, unit),
        with_unit(change.to, unit),
        change.by.map_or_else(|| "category".to_owned(), |by| with_unit(by, unit)),
        share,
        miss(feature),
        tolerance,
    ]
}

fn stays_row(feature: &PersonFeature) -> Vec<String> {
    let note = if feature.mutable { "may change" } else { "fixed" };
    let today = words::value(&feature.current, feature.unit.as_deref());
    vec![feature.name.clone(), today, miss(feature), note.to_owned()]
}

fn miss(feature: &PersonFeature) -> String {
    match feature.noise_sd.filter(|sd| sd.is_finite() && *sd > 0.0) {
        Some(sd) => format!("±{}", with_unit(rounded(sd, 3), feature.unit.as_deref())),
        None => "none".to_owned(),
    }
}

/// Methods side by side.
pub(super) fn methods(methods: &[Method], max_rate: f64) -> String {
    let rows: Vec<Vec<String>> = methods
        .iter()
        .map(|m| {
            let kept = match m.rate {
                // A rate that was solved for may exceed its target by a rounding error.
                Some(rate) if rate <= max_rate * (1.0 + 1e-9) => "kept",
                Some(_) => "missed",
                None => MISSING,
            };
            vec![
                m.name.clone(),
                m.note.clone(),
                m.accuracy.map_or_else(|| MISSING.to_owned(), percent),
                m.rate.map_or_else(|| MISSING.to_owned(), percent),
                kept.to_owned(),
                words::optional(m.cost),
            ]
        })
        .collect();
    let target = format!("Target of {}", percent(max_rate));
    table(
        "wide-table",
        &["Method", "What it is", "Yes if exact", "Fail when noisy", &target, "Cost"],
        &rows,
    )
}

/// A person before two models, and methods on the second.
pub(super) fn network(part: &NetworkPart) -> String {
    let headings = ["Model", "What to change", "Cost", "Fail when noisy", "At most", "Accuracy"];
    let rows: Vec<Vec<String>> = part.answers.iter().map(model_row).collect();
    let mut out =
        format!("<div class=\"methods\">{}</div>\n", table("wide-table", &headings, &rows));
    let confidence =
        part.answers.iter().find_map(|answer| answer.bound).map(|bound| bound.confidence);
    if let Some(confidence) = confidence {
        out.push_str(&format!(
            "<p class=\"note\">A network's rate has no formula. Each answer is tested on fresh \
             random attempts and certified if it passes; the chance of certifying one whose true \
             rate is above the target is at most {}.</p>\n",
            escape(&percent(1.0 - confidence))
        ));
    }
    if !part.methods.is_empty() && part.n_people > 0 {
        out.push_str(&format!(
            "<h3>Methods on the network, for {} people whom both models turned down</h3>\n",
            number::fixed(part.n_people as f64, 0)
        ));
        let optional = |share: Option<f64>| share.map_or_else(|| MISSING.to_owned(), percent);
        let row = |m: &Method| {
            vec![
                m.name.clone(),
                m.note.clone(),
                optional(m.certified),
                optional(m.rate),
                words::optional(m.cost),
            ]
        };
        let rows: Vec<Vec<String>> = part.methods.iter().map(row).collect();
        let headings = ["Method", "What it is", "Certified", "Fail when noisy", "Cost"];
        out.push_str(&format!(
            "<div class=\"methods\">{}</div>\n",
            table("wide-table", &headings, &rows)
        ));
    }
    out
}

fn model_row(answer: &ModelAnswer) -> Vec<String> {
    let change = |f: &&PersonFeature| {
        let change = words::change(f);
        format!("{}: {} → {}", f.name, change.from, with_unit(change.to, f.unit.as_deref()))
    };
    let changed = words::changed(&answer.features);
    let what = match answer.status {
        Status::Favourable => "nothing: a yes already".to_owned(),
        Status::None => "no change within reach gives a yes".to_owned(),
        _ => changed.iter().map(change).collect::<Vec<_>>().join("; "),
    };
    let at_most = match (answer.status, answer.bound, answer.rate) {
        (Status::Certified, Some(bound), _) => format!("{}, tested", percent(bound.upper)),
        (Status::Certified, None, Some(rate)) => format!("{}, exactly", percent(rate)),
        (Status::Found, ..) => "not certified".to_owned(),
        _ => MISSING.to_owned(),
    };
    vec![
        answer.name.clone(),
        what,
        words::optional(answer.cost),
        answer.rate.map_or_else(|| MISSING.to_owned(), percent),
        at_most,
        words::optional(answer.accuracy),
    ]
}

/// Shares by status over many people.
pub(super) fn statuses(batch: &Batch) -> String {
    let people: usize = batch.statuses.iter().map(|s| s.count).sum();
    let rows: Vec<Vec<String>> = batch
        .statuses
        .iter()
        .map(|s| {
            let share = if people > 0 {
                percent(s.count as f64 / people as f64)
            } else {
                MISSING.to_owned()
            };
            vec![words::status(s.status).to_owned(), number::fixed(s.count as f64, 0), share]
        })
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        table("small-table statuses", &["Outcome", "People", "Share"], &rows)
    }
}

/// The figures at the top.
pub(super) fn tiles(report: &Report) -> String {
    let answer = &report.answer;
    let mut tiles: Vec<(&str, String)> = Vec::new();
    match answer.status {
        Status::Certified | Status::Found => {
            let changed = report.features.iter().filter(|f| f.changed()).count();
            tiles.push((
                "Changes",
                format!("{changed} of {}", words::count(report.features.len(), "feature")),
            ));
            tiles.push(("Cost", words::optional(answer.cost)));
        }
        Status::None => {
            let best = answer.best_rate.and_then(Odds::of).map(|o| o.to_string());
            tiles
                .push(("Lowest failure rate in reach", best.unwrap_or_else(|| MISSING.to_owned())));
        }
        Status::Favourable => {}
    }
    let mut score = signed(answer.score_before);
    if let Some(after) = answer.score_after {
        score = format!("{score} → {}", signed(after));
    }
    tiles.push(("Model score, yes above 0", score));
    let cells = tiles.iter().map(|(name, value)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", escape(name), escape(value))
    });
    format!("<dl class=\"tiles\">{}</dl>\n", cells.collect::<String>())
}

fn signed(score: f64) -> String {
    let text = rounded(score, 3);
    if score > 0.0 && score.is_finite() { format!("+{text}") } else { words::typeset(&text) }
}

/// Model and settings.
pub(super) fn provenance(report: &Report) -> String {
    let (model, settings) = (&report.model, &report.settings);
    let rows =
        |n: Option<usize>| n.map_or_else(|| MISSING.to_owned(), |n| number::fixed(n as f64, 0));
    let sigma =
        settings.sigma.map_or_else(String::new, |s| format!(", σ = {} (scaled)", rounded(s, 4)));
    let pairs = [
        ("Model", format!("{}, {}", model.kind, words::count(model.n_features, "input"))),
        ("Fitted on", format!("{} rows", rows(model.n_train))),
        ("Tested on", format!("{} rows", rows(model.n_test))),
        ("Accuracy", words::optional(model.accuracy)),
        ("Balanced accuracy", words::optional(model.balanced_accuracy)),
        ("Area under ROC", words::optional(model.auc)),
        ("Allowed failure rate r", percent(settings.max_rate)),
        ("Noise", format!("{}{sigma}", settings.noise)),
        ("Noise acts on", noise_on(settings.noise_on).to_owned()),
        ("Cost", settings.cost.clone()),
        ("Method", settings.method.clone()),
        ("Seed", settings.seed.to_string()),
        ("Version", settings.version.clone()),
    ];
    let cells = pairs.iter().map(|(name, value)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(name), escape(value))
    });
    format!("<dl class=\"facts\">\n{}</dl>\n", cells.collect::<String>())
}

/// Which features are noisy, in words.
pub(super) fn noise_on(noise_on: NoiseOn) -> &'static str {
    match noise_on {
        NoiseOn::All => "every feature",
        NoiseOn::Mutable => "features that may change",
        NoiseOn::Changed => "features that the advice changes",
    }
}
