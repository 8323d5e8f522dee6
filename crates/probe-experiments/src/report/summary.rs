//! The answer in at most four sentences.

use super::data::{Answer, PersonFeature, Report, Status};
use super::words;
use crate::number::{self, Odds, rounded};

/// Changes that are spelled out; the rest is counted.
const SPELLED_OUT: usize = 3;

/// What the person should do and how sure it is, in at most four plain sentences.
pub fn summary(report: &Report) -> Vec<String> {
    match report.answer.status {
        Status::Certified | Status::Found => advice(report),
        Status::None => refusal(report),
        Status::Favourable => nothing_to_do(report),
    }
}

fn advice(report: &Report) -> Vec<String> {
    let mut sentences = vec![what_to_do(&report.features), how_sure(report)];
    let flip = report.frontier.as_ref().and_then(|f| f.cheapest_flip.as_ref());
    if let (Some(flip), Some(cost)) = (flip, report.answer.cost)
        && let Some(odds) = Odds::of(flip.rate)
        && flip.cost < cost
    {
        sentences.push(format!(
            "Doing just enough to flip the decision would cost {} instead of {}, but about {odds} \
             attempts would fail.",
            rounded(flip.cost, 3),
            rounded(cost, 3)
        ));
    }
    sentences.push(
        "All of this holds for this model and for the inaccuracy assumed here; it is not the \
         decision-maker's promise."
            .to_owned(),
    );
    sentences
}

fn what_to_do(features: &[PersonFeature]) -> String {
    let changed = words::changed(features);
    if changed.is_empty() {
        return "No feature has to change.".to_owned();
    }
    let spelled: Vec<String> = changed.iter().take(SPELLED_OUT).map(|f| instruction(f)).collect();
    if changed.len() > SPELLED_OUT {
        let n = changed.len();
        return format!("Make {n} changes, above all: {}.", joined(&spelled));
    }
    let mut sentence = joined(&spelled);
    if let Some(first) = sentence.get(..1).map(str::to_uppercase) {
        sentence.replace_range(..1, &first);
    }
    sentence + "."
}

fn instruction(feature: &PersonFeature) -> String {
    let change = words::change(feature);
    let verb = match change.upwards {
        Some(true) => "raise",
        Some(false) => "lower",
        None => "change",
    };
    let to = number::with_unit(change.to, feature.unit.as_deref());
    format!("{verb} {} from {} to {to}", feature.name.trim(), change.from)
}

fn how_sure(report: &Report) -> String {
    let answer = &report.answer;
    let Some(odds) = answer.rate.and_then(Odds::of) else {
        return "How often the change would hold is not known.".to_owned();
    };
    let about = if answer.bound.is_some() { "about " } else { "" };
    let yes = odds.others();
    let allowed = Odds::of(report.settings.max_rate).map_or_else(String::new, |o| o.to_string());
    if answer.status == Status::Certified {
        let kept = match &answer.bound {
            Some(bound) => {
                format!(
                    "with {} confidence, at most {} fail",
                    number::percent(bound.confidence),
                    odds_of(bound.upper)
                )
            }
            None => format!("at most {allowed} were allowed to fail"),
        };
        return format!(
            "Nobody hits such values exactly, but {about}{yes} attempts still get a yes; {kept}."
        );
    }
    let missed = answer.rate.is_some_and(|rate| rate > report.settings.max_rate);
    if missed {
        let what = match answer.proven {
            true => "no allowed change gets below",
            false => "the search found no allowed change below",
        };
        let best = best_rate(answer).map_or_else(String::new, |b| format!(", and {what} {b}"));
        return format!(
            "This is less safe than was asked: {about}{odds} attempts fail, \
             {allowed} were allowed to{best}."
        );
    }
    format!(
        "Nobody hits such values exactly; an estimated {yes} attempts get a yes, \
         but this was not certified."
    )
}

fn refusal(report: &Report) -> Vec<String> {
    let answer = &report.answer;
    let first = if answer.reason == "rate-not-reachable" {
        "There is no allowed change that is as safe as required."
    } else if answer.proven {
        "There is no recourse: no allowed change makes this model say yes."
    } else {
        "No recourse was found: the search met no allowed change that makes this model say yes, \
         which does not prove that there is none."
    };
    let mut sentences = vec![first.to_owned()];
    if !answer.reason.is_empty() {
        sentences.push(format!("The reason: {}.", words::reason(&answer.reason)));
    }
    if let Some(best) = best_rate(answer) {
        let allowed = odds_of(report.settings.max_rate);
        sentences.push(format!(
            "At the best point that was found {best} attempts would fail; {allowed} were allowed \
             to."
        ));
    }
    sentences.push(
        "Other limits, more features that may change, or less certainty would be another question \
         with another answer."
            .to_owned(),
    );
    sentences
}

fn nothing_to_do(report: &Report) -> Vec<String> {
    let mut sentences = vec!["Nothing needs to change: the model already says yes.".to_owned()];
    if let Some(odds) = report.answer.rate.and_then(Odds::of) {
        sentences.push(format!(
            "If the values drift by as much as is assumed here, \
             {} cases keep the yes and {odds} lose it.",
            odds.others()
        ));
    }
    sentences
}

fn best_rate(answer: &Answer) -> Option<String> {
    answer.best_rate.and_then(Odds::of).map(|o| o.to_string())
}

fn odds_of(rate: f64) -> String {
    Odds::of(rate).map_or_else(|| number::MISSING.to_owned(), |o| o.to_string())
}

/// `a`, `a and b`, `a, b and c`.
fn joined(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
