//! Answers where few features may change, and only these are missed: exact, without a sample.

use super::{SIGMA, Subject};
use anyhow::Result;
use probe_bench::clock::time;
use probe_bench::stats::mean;
use probe_core::{Answer, Engine, NoiseOn, Setup, Status};

const RATE: f64 = 0.1;
const PEOPLE: usize = 100;

/// The table, for one to three features.
pub(super) fn table(subjects: &[Subject]) -> Result<String> {
    let mut lines = vec![
        "| model | features | people | with recourse | rate / r | cost | ms of processor time, \
         mean | slowest |\n|---|---|---|---|---|---|---|---|"
            .to_owned(),
    ];
    for subject in subjects {
        for k in 1..=3 {
            lines.push(row(subject, k)?);
        }
    }
    Ok(format!(
        "The features that the trees split on most may change and have noise, σ = {SIGMA}. The \
         others are fixed and have none. r = {RATE}; one thread. Rates are sums over boxes, so \
         that neither answers nor certificates need samples. Times include people without \
         recourse.\n\n{}\n",
        lines.join("\n")
    ))
}

fn row(subject: &Subject, k: usize) -> Result<String> {
    let d = subject.names.len();
    let mut splits = vec![0; d];
    for tree in subject.model.trees() {
        for (&feature, _) in tree.feature.iter().zip(&tree.left).filter(|(_, left)| **left >= 0) {
            splits[feature] += 1;
        }
    }
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by_key(|&j| (std::cmp::Reverse(splits[j]), j));
    let mut setup = Setup::new(subject.model.clone(), subject.names.clone(), None, SIGMA)?;
    order[k..].iter().for_each(|&j| setup.actions.fix(j));
    setup.noise_on = NoiseOn::Mutable;
    setup.max_rate = RATE;
    let engine = Engine::new(setup)?;
    let (mut session, mut answer) = (engine.session(), Answer::new(d));
    let n = PEOPLE.min(subject.people.len() / d);
    let (mut took, mut rates, mut costs) = (Vec::new(), Vec::new(), Vec::new());
    // The first one pays for what all share.
    session.recourse(subject.person(0), &mut answer)?;
    for i in 0..n {
        let ((), time) = time(|| Ok(session.recourse(subject.person(i), &mut answer)?))?;
        took.push(1e3 * time.cpu);
        if let (Status::Certified, Some(cost)) = (answer.status, answer.cost) {
            rates.push(answer.rate_upper / RATE);
            costs.push(cost);
        }
    }
    let of = |values: &[f64]| match values.is_empty() {
        true => "–".to_owned(),
        false => format!("{:.4}", mean(values.iter().copied())),
    };
    let slowest = took.iter().copied().fold(0.0, f64::max);
    Ok(format!(
        "| {} | {k} | {n} | {} | {} | {} | {:.1} | {slowest:.1} |",
        subject.title,
        costs.len(),
        of(&rates),
        of(&costs),
        mean(took.iter().copied())
    ))
}
