//! What came of answers, counted.

use super::subject::Subject;
use super::{RATE, SEED, SIGMA};
use anyhow::{Context as _, Result};
use probe_bench::part::Figures;
use probe_bench::stats::{mean, range};
use probe_core::evaluation::measure;
use probe_core::{Answer, Engine, Purpose, Rows, Status};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Standard errors above r that make a violation.
const SIGMAS: f64 = 4.0;

/// What came of one person's answer.
pub(super) struct Outcome {
    certified: bool,
    /// Why there is no certificate.
    reason: Option<&'static str>,
    /// The remaining work; `None` if there is none.
    answer: Option<Told>,
}

/// An answer of one person.
pub(super) struct Told {
    /// Whether the model accepts the point itself.
    accepted: bool,
    /// Share of draws that the model refuses.
    rate: f64,
    /// Of `rate`, at r.
    error: f64,
    /// The rate as the engine knows it: exact, or with less error.
    exact: f64,
    cost: f64,
    changed: usize,
    broken: usize,
}

impl Told {
    fn holds(&self) -> bool {
        self.rate <= RATE + SIGMAS * self.error
    }
}

/// What came of every person's answer.
pub(super) fn audit(subject: &Subject, engine: &Engine, draws: usize) -> Result<Vec<Outcome>> {
    let d = subject.names.len();
    let mut stream = SEED.stream(Purpose::Data, 0x62_6f61_7264);
    let mut errors = vec![0.0; draws * d];
    for row in errors.chunks_exact_mut(d) {
        for (error, _) in row.iter_mut().zip(&subject.free).filter(|(_, free)| **free) {
            *error = SIGMA * stream.normal();
        }
    }
    let people = subject.people()?;
    let answers = engine.recourse(people)?;
    let measured = measure(engine, people, &answers)?;
    let rates = measured.into_iter().find(|measured| measured.metric == "invalidation-rate");
    let rates = rates.context("the engine measures rates")?.values;
    let one = |(row, answer): (usize, &Answer)| -> Result<Outcome> {
        let told = matches!(answer.status, Status::Certified | Status::Found);
        let exact = rates[row].unwrap_or(1.0);
        Ok(Outcome {
            certified: answer.status == Status::Certified,
            reason: answer.reason.map(|reason| reason.code()),
            answer: if told {
                Some(look(subject, people.row(row), &answer.point, &errors, exact)?)
            } else {
                None
            },
        })
    };
    answers.par_iter().enumerate().map(one).collect()
}

fn look(
    subject: &Subject,
    person: &[f64],
    point: &[f64],
    errors: &[f64],
    exact: f64,
) -> Result<Told> {
    let d = point.len();
    let draws = errors.len() / d;
    let noisy: Vec<f64> = errors
        .chunks_exact(d)
        .flat_map(|error| error.iter().zip(point).map(|(e, x)| x + e))
        .collect();
    let (mut scores, mut own) = (vec![0.0; draws], [0.0]);
    subject.model.score_batch(Rows::new(&noisy, d)?, &mut scores)?;
    subject.model.score_batch(Rows::single(point), &mut own)?;
    let changes = || (0..d).filter(|&j| point[j] != person[j]);
    let is_broken = |j: &usize| {
        let outside = point[*j] < person[*j].min(0.0) || point[*j] > person[*j].max(1.0);
        outside || !subject.free[*j]
    };
    Ok(Told {
        accepted: own[0] > 0.0,
        rate: scores.iter().filter(|score| **score <= 0.0).count() as f64 / draws as f64,
        error: (RATE * (1.0 - RATE) / draws as f64).sqrt(),
        exact,
        cost: changes().map(|j| (point[j] - person[j]).abs()).sum(),
        changed: changes().count(),
        broken: changes().filter(is_broken).count(),
    })
}

/// For each person the least cost of points that are accepted, keep the rules and have a rate of at
/// most r; infinite where there is none.
pub(super) fn best_known<'a>(all: impl Iterator<Item = &'a Vec<Outcome>>) -> Vec<f64> {
    let mut best = Vec::new();
    for outcomes in all {
        best.resize(outcomes.len(), f64::INFINITY);
        for (best, outcome) in best.iter_mut().zip(outcomes) {
            let fits = |told: &&Told| {
                told.accepted && told.broken == 0 && (outcome.certified || told.exact <= RATE)
            };
            if let Some(told) = outcome.answer.as_ref().filter(fits) {
                *best = told.cost.min(*best);
            }
        }
    }
    best
}

/// One method before one model.
pub(super) struct Row {
    pub(super) method: String,
    people: usize,
    answered: usize,
    certified: usize,
    rate: f64,
    holds: f64,
    /// NaN if no person has both.
    cost: f64,
    changed: f64,
    broken: usize,
    /// Reasons of people without a certificate, with counts.
    reasons: BTreeMap<&'static str, usize>,
}

impl Row {
    pub(super) fn of(method: &str, outcomes: &[Outcome], best: &[f64]) -> Self {
        let accepted =
            |outcome: &&Outcome| outcome.answer.as_ref().is_some_and(|told| told.accepted);
        let told =
            || outcomes.iter().filter(accepted).filter_map(|outcome| outcome.answer.as_ref());
        let pairs: Vec<(f64, f64)> = outcomes
            .iter()
            .zip(best)
            .filter_map(|(outcome, best)| {
                Some((outcome.answer.as_ref().filter(|told| told.accepted)?.cost, *best))
            })
            .filter(|(_, best)| best.is_finite())
            .collect();
        let mut reasons = BTreeMap::new();
        for outcome in outcomes.iter().filter(|outcome| !outcome.certified) {
            *reasons.entry(outcome.reason.unwrap_or("no reason")).or_default() += 1;
        }
        Self {
            method: method.to_owned(),
            people: outcomes.len(),
            answered: told().count(),
            certified: outcomes.iter().filter(|outcome| outcome.certified).count(),
            rate: mean(told().map(|outcome| outcome.rate)),
            holds: mean(told().map(|outcome| f64::from(u8::from(outcome.holds())))),
            cost: mean(pairs.iter().map(|pair| pair.0)) / mean(pairs.iter().map(|pair| pair.1)),
            changed: mean(told().map(|outcome| outcome.changed as f64)),
            broken: outcomes
                .iter()
                .filter_map(|outcome| outcome.answer.as_ref())
                .map(|told| told.broken)
                .sum(),
            reasons,
        }
    }

    /// Reasons of people without a certificate; `None` if there are none.
    pub(super) fn reasons(&self) -> Option<String> {
        let told: Vec<String> =
            self.reasons.iter().map(|(reason, n)| format!("`{reason}` to {n}")).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    pub(super) fn line(&self, title: &str) -> String {
        let share = |n: usize| format!("{:.0} %", 100.0 * n as f64 / self.people as f64);
        let known =
            |value: f64, text: String| if value.is_finite() { text } else { "–".to_owned() };
        format!(
            "| {title} | `{}` | {} | {} | {} | {} | {} | {} | {} | {} |",
            self.method,
            self.people,
            share(self.answered),
            share(self.certified),
            known(self.rate, format!("{:.3}", self.rate)),
            known(self.holds, format!("{:.0} %", 100.0 * self.holds)),
            known(self.cost, format!("{:.3}", self.cost)),
            known(self.changed, format!("{:.1}", self.changed)),
            self.broken
        )
    }
}

/// What other texts quote: our solver, and the paper's two algorithms.
pub(super) fn figures(rows: &[(String, Row)]) -> Figures {
    let mut figures = Figures::new();
    for (key, method) in [
        ("ours", "probe"),
        ("first", "probe-gradient"),
        ("second", "probe-mc"),
        ("wachter", "wachter"),
    ] {
        let of = || rows.iter().map(|(_, row)| row).filter(|row| row.method == method);
        let mut put =
            |what: &str, text: String| drop(figures.insert(format!("{key}_{what}"), text));
        put("cells", of().count().to_string());
        put("cost", range(of().map(|row| row.cost).filter(|cost| cost.is_finite()), 2));
        put("answered", range(of().map(|row| 100.0 * row.answered as f64 / row.people as f64), 0));
        put(
            "certified",
            range(of().map(|row| 100.0 * row.certified as f64 / row.people as f64), 0),
        );
        put("holds", range(of().map(|row| 100.0 * row.holds).filter(|share| share.is_finite()), 0));
        put("broken", of().map(|row| row.broken).sum::<usize>().to_string());
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(cost: f64, rate: f64, accepted: bool) -> Outcome {
        let told = Told { accepted, rate, error: 0.001, exact: rate, cost, changed: 1, broken: 0 };
        Outcome { certified: false, reason: None, answer: Some(told) }
    }

    #[test]
    fn the_best_known_is_the_cheapest_that_holds() {
        let first = vec![
            outcome(2.0, 0.05, true),
            outcome(1.0, 0.5, true),
            Outcome { certified: false, reason: Some("not-found"), answer: None },
        ];
        let second =
            vec![outcome(1.0, 0.2, true), outcome(3.0, 0.1, true), outcome(1.0, 0.0, false)];
        let best = best_known([&first, &second].into_iter());
        assert_eq!(best, [2.0, 3.0, f64::INFINITY]);
        let row = Row::of("x", &first, &best);
        // (2 + 1) / (2 + 3): the third person has neither an answer nor a best.
        assert!(
            (row.cost - 0.6).abs() < 1e-12 && row.answered == 2 && (row.holds - 0.5).abs() < 1e-12
        );
        assert_eq!(row.reasons().as_deref(), Some("`no reason` to 2, `not-found` to 1"));
        let row = Row::of("y", &second, &best);
        // The point that is refused does not count: (1 + 3) / (2 + 3).
        assert!((row.cost - 0.8).abs() < 1e-12 && row.answered == 2);
    }
}
