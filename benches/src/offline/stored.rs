//! Results of the offline search, kept between runs: they depend on model, person and target only.

use anyhow::{Context as _, Result};
use probe_bench::clock::time;
use probe_bench::folders;
use probe_bench::stats::mean;
use probe_core::{Answer, Key, Status};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bumped whenever the search changes, so that stored results are not taken for new ones.
const VERSION: u32 = 1;

/// Ours against the offline search, on the same people.
pub(crate) struct Against {
    /// Mean cost of ours over that of the search.
    pub(crate) ratio: f64,
    worst: f64,
    changed: f64,
    changed_offline: f64,
}

impl Against {
    /// Compares on `most` of the people, evenly picked, where both have an answer; `None` where
    /// there are none. `name` identifies model, noise and target; `find` is the search, run for
    /// people whose results are not kept.
    pub(crate) fn measure(
        name: &str,
        (people, answers): (&[&[f64]], &[Answer]),
        most: usize,
        find: impl Fn(&[f64]) -> Option<Vec<f64>> + Sync,
    ) -> Result<Option<Self>> {
        let n = most.min(answers.len());
        let which: Vec<usize> = (0..n).map(|i| i * answers.len() / n).collect();
        let some: Vec<&[f64]> = which.iter().map(|&i| people[i]).collect();
        let mut pairs = Vec::new();
        for (&i, point) in which.iter().zip(points(name, &some, find)?) {
            if let (Some(point), Some(cost), Status::Certified) =
                (point, answers[i].cost, answers[i].status)
            {
                let moves = || people[i].iter().zip(&point).map(|(x, p)| (x - p).abs());
                let changed = moves().filter(|by| *by > 0.0).count();
                pairs.push((cost, moves().sum::<f64>(), answers[i].changed, changed));
            }
        }
        Ok((!pairs.is_empty()).then(|| Self {
            ratio: mean(pairs.iter().map(|p| p.0)) / mean(pairs.iter().map(|p| p.1)),
            worst: pairs.iter().map(|p| p.0 / p.1).fold(0.0, f64::max),
            changed: mean(pairs.iter().map(|p| p.2 as f64)),
            changed_offline: mean(pairs.iter().map(|p| p.3 as f64)),
        }))
    }

    /// Two cells of a table: costs compared, and numbers of changed features.
    pub(crate) fn cells(against: Option<&Self>) -> [String; 2] {
        match against {
            Some(a) => [
                format!("{:.4} ({:.2})", a.ratio, a.worst),
                format!("{:.2}, {:.2}", a.changed, a.changed_offline),
            ],
            None => ["–".to_owned(), "–".to_owned()],
        }
    }
}

/// The cheapest point that the search finds for each of these people.
fn points(
    name: &str,
    people: &[&[f64]],
    find: impl Fn(&[f64]) -> Option<Vec<f64>> + Sync,
) -> Result<Vec<Option<Vec<f64>>>> {
    let file = folders::kept("offline")?.join(format!("{name}-v{VERSION}.json"));
    let mut known: BTreeMap<String, Option<Vec<f64>>> = match std::fs::read(&file) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).with_context(|| format!("{}", file.display()))?
        }
        Err(_) => BTreeMap::new(),
    };
    let key = |person: &[f64]| format!("{:016x}", Key::default().values(person).finish());
    let missing: Vec<&&[f64]> =
        people.iter().filter(|person| !known.contains_key(&key(person))).collect();
    if !missing.is_empty() {
        let done = AtomicUsize::new(0);
        let find = |person: &&&[f64]| {
            let (found, took) = time(|| Ok(find(person)))?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(5) {
                eprintln!("{name}: offline search {done} of {}, {:.1} s", missing.len(), took.cpu);
            }
            Ok((key(person), found))
        };
        known.extend(missing.par_iter().map(find).collect::<Result<Vec<_>>>()?);
        std::fs::write(&file, serde_json::to_vec(&known)?)?;
    }
    Ok(people.iter().map(|person| known.get(&key(person)).cloned().flatten()).collect())
}
