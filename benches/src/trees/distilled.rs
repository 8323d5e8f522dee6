//! The paper's approach on the same models and people: one tree in place of the ensemble, and how
//! its answers fare on the ensemble.

use super::{Plain, SIGMA, Subject};
use anyhow::{Context as _, Result};
use probe_bench::clock::time;
use probe_bench::stats::mean;
use probe_core::recourse::method;
use probe_core::{Ask, Budget, Goal, MethodOptions, Proposal, Setup, Verdict};
use rayon::prelude::*;
use std::sync::Arc;

/// Draws behind a rate on the ensemble: its standard error is 0.0035 at most.
const DRAWS: usize = 20_000;
/// People at most: deep trees take long.
const PEOPLE: [usize; 2] = [200, 50];
/// As in the paper, and with a deeper tree trained on noisy copies.
const RECIPES: [(&str, &[&str]); 2] =
    [("depth 8", &["depth=8"]), ("depth 12, 4 noisy copies", &["depth=12", "copies=4"])];

pub(super) const HEADER: &str = "\
| model | tree | leaves | fidelity | r | people | found on the tree | refused by the model | rate \
≤ r on the model | mean rate | cost | ms |
|---|---|---|---|---|---|---|---|---|---|---|---|";

pub(super) const COLUMNS: &str = "\
- **fidelity**: share of noisy held-out people of the training data on whom \
tree and ensemble agree.
- **found on the tree**: people for whom descent ended at a point that the tree accepts, with a \
rate of at most r on the tree. What follows is about these
  points, which the paper calls certified.
- **refused by the model**: points that the ensemble itself says no to. **rate ≤ r on the model**: \
share of the points whose rate on the ensemble is at most
  r, of 20,000 plain draws. **mean rate**: on the ensemble.
- **cost**: mean l1 cost. **ms**: of processor time for one person, without growing the tree.
";

/// Rows of the table, for each recipe and rate.
pub(super) fn rows(subject: &Subject, rates: &[f64], people: usize) -> Result<Vec<String>> {
    let plain = Plain::of(&subject.model);
    let mut rows = Vec::new();
    for ((name, options), most) in RECIPES.into_iter().zip(PEOPLE) {
        let mut setup = Setup::new(subject.model.clone(), subject.names.clone(), None, SIGMA)?;
        setup.method = "probe-tree".to_owned();
        setup.options = MethodOptions::parse(options.iter().copied())?;
        setup.reference = Some(subject.train.clone().into());
        let engine = probe_core::Engine::new(setup)?;
        let notes = engine.notes().context("the method has notes")?;
        let value = |name: &str| {
            notes.values.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, v)| *v)
        };
        let solver = method("probe-tree")?.prepare(&Arc::new(engine.task().clone()))?;
        let n = people.min(most).min(subject.people.len() / subject.names.len());
        for &r in rates {
            let answer = |i: usize| -> Result<(Proposal, f64)> {
                let mut proposal = Proposal::new(subject.names.len());
                let budget = Budget::default();
                let ask = Ask::new(subject.person(i), Goal::Rate(r), &budget);
                let ((), took) = time(|| Ok(solver.worker().find(&ask, &mut proposal)?))?;
                Ok((proposal, took.cpu))
            };
            let answers = (0..n).into_par_iter().map(answer).collect::<Result<Vec<_>>>()?;
            let found: Vec<(usize, &[f64])> = answers
                .iter()
                .enumerate()
                .filter(|(_, (proposal, _))| proposal.verdict == Verdict::Reached)
                .map(|(i, (proposal, _))| (i, &proposal.point[..]))
                .collect();
            let points: Vec<&[f64]> = found.iter().map(|(_, point)| *point).collect();
            let on_model = plain.rates(&points, SIGMA, DRAWS);
            let share = |count: usize| 100.0 * count as f64 / found.len().max(1) as f64;
            let refused = points.iter().filter(|point| !plain.accepts(point)).count();
            let cost = |(i, point): &(usize, &[f64])| {
                subject.person(*i).iter().zip(*point).map(|(x, p)| (x - p).abs()).sum()
            };
            rows.push(format!(
                "| {} | {name} | {} | {:.3} | {r} | {n} | {:.1} % | {:.1} % | {:.1} % | \
                 {:.3} | {:.4} | {:.1} |",
                subject.title,
                value("leaves"),
                value("fidelity"),
                100.0 * found.len() as f64 / n as f64,
                share(refused),
                share(on_model.iter().filter(|rate| **rate <= r).count()),
                mean(on_model.iter().copied()),
                mean(found.iter().map(cost)),
                1e3 * mean(answers.iter().map(|(_, seconds)| *seconds))
            ));
        }
    }
    Ok(rows)
}
