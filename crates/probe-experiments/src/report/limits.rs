//! Captions, how to read the report, and its limits.

use super::cloud::tally;
use super::data::{Cloud, PersonFeature, Region, Report, Status, Value};
use super::details::noise_on;
use crate::number::{Odds, fixed, percent, rounded};
use crate::plot::escape;

/// Under the picture of the changes.
pub(super) fn changes_caption(report: &Report) -> String {
    let is_number = |f: &PersonFeature| matches!(f.recommended, Value::Number(_));
    let changed = || report.features.iter().filter(|f| f.changed());
    let mut parts = Vec::new();
    if changed().any(is_number) {
        parts.push(
            "The length of a bar is the change in scaled units, so that bars can be compared; the \
             texts are in the features' own units. The pale end of a bar is margin: this one \
             change could fall short by so much, if all others are carried out exactly, \
             before the yes becomes a no.",
        );
    }
    if !changed().all(is_number) {
        parts.push(
            "A change of category has no length, and no bar; \
             its share of the cost is in the table of details.",
        );
    }
    parts.join(" ")
}

/// Under the frontier.
pub(super) fn frontier_caption(report: &Report) -> String {
    let mut text =
        "Every point is the cheapest change that was found for its failure rate. Points \
         further left are safer and cost more."
            .to_owned();
    let flip = report.frontier.as_ref().and_then(|f| f.cheapest_flip.as_ref());
    if let Some(odds) = flip.and_then(|f| Odds::of(f.rate)) {
        text.push_str(&format!(
            " The cheapest yes of all is right at the edge of the decision: about {odds} noisy \
             attempts fail."
        ));
    }
    text
}

/// Under the cloud: what the rings hold, what is hidden, and why a point may seem to lie on the
/// wrong side.
pub(super) fn cloud_caption(report: &Report, cloud: &Cloud) -> String {
    let (accepted, refused, outside) = tally(cloud);
    let point = if report.answer.status == Status::None { "best reachable" } else { "recommended" };
    let count = |n: usize| fixed(n as f64, 0);
    let mut text = format!(
        "{} noisy attempts at the {point} point: {} accepted (dots), {} refused (crosses).",
        count(cloud.samples.len()),
        count(accepted),
        count(refused)
    );
    if cloud.x.sd > 0.0 && cloud.y.sd > 0.0 {
        if report.settings.noise.trim().to_lowercase().starts_with("gauss") {
            text.push_str(
                " The solid ring is one standard deviation and holds 39.3% of attempts, the dashed \
                 ring two and 86.5% (in two dimensions it is not 95%).",
            );
        } else {
            text.push_str(" The solid ring is one standard deviation, the dashed ring two.");
        }
    }
    if outside > 0 {
        text.push_str(&format!(" {} lie outside the picture.", count(outside)));
    }
    if cloud.others_noisy {
        text.push_str(
            " The picture is a slice: the shading holds all other features at the values of that \
             point, but the decision on each attempt uses all features with their noise, so some \
             crosses lie on the yes side and some dots on the no side.",
        );
    } else if matches!(cloud.region, Some(Region::HalfPlane { .. })) {
        text.push_str(" No other feature is noisy, so the drawn line decides every attempt.");
    }
    text
}

/// The last section.
pub(super) fn how_to_read(report: &Report) -> String {
    let settings = &report.settings;
    let sigma = settings
        .sigma
        .map_or_else(String::new, |s| format!(" with standard deviation {}", rounded(s, 4)));
    let rate = match (&report.answer.rate, &report.answer.bound) {
        (Some(_), Some(bound)) => format!(
            "The rate was estimated from random draws. The upper bound of {} holds with {} \
             confidence over those draws.",
            percent(bound.upper),
            percent(bound.confidence)
        ),
        (Some(_), None) => {
            "The rate was computed exactly for this model and this noise, not sampled.".to_owned()
        }
        (None, _) => "There is no answer whose rate could be computed.".to_owned(),
    };
    let noise = format!(
        "How people miss was assumed, not observed: {} noise{sigma} in scaled units on {}. The \
         guarantee depends on it. If people miss by more, \
         or all in the same direction, more attempts fail.",
        settings.noise,
        noise_on(settings.noise_on)
    );
    let cost = format!(
        "Cost is the size of the change ({}) in scaled units, weighted as the schema says. It \
         compares answers; it is not money or time.",
        settings.cost
    );
    let mut reading = vec![
        "The failure rate (invalidation rate) is the share of noisy attempts at this advice that \
         the model would still refuse.",
        rate.as_str(),
        cost.as_str(),
    ];
    let changes = [
        "“May miss by, alone” is for one feature with all others exact. Misses in several features \
         add up, so these tolerances cannot be used all at once.",
        "Recommended values are rounded away from today's values, so the printed advice never asks \
         for less than was computed.",
    ];
    if report.features.iter().any(PersonFeature::changed) {
        reading.extend(changes);
    }
    let limits = [
        noise.as_str(),
        "The model was taken as it is. A retrained model, another cut-off or a human decision may \
         differ, and the model itself is wrong for some people.",
        "Features were treated as independent: \
         it was not considered that changing one may change another.",
        "It was not considered how long a change takes, and whether this person can make it, \
         beyond the given limits.",
    ];
    format!(
        "<h3>Reading the numbers</h3>\n{}<h3>What the answer depends on, \
         and what was not considered</h3>\n{}",
        list(&reading),
        list(&limits)
    )
}

fn list(items: &[&str]) -> String {
    let items: String = items.iter().map(|i| format!("<li>{}</li>\n", escape(i))).collect();
    format!("<ul>\n{items}</ul>\n")
}
