//! Results of the offline search, kept between runs: they depend on model, person and target only.

use super::offline::{OfflineDraws, Question, VERSION, search};
use super::subject::Subject;
use crate::clock::time;
use crate::folders;
use anyhow::{Context as _, Result};
use probe_core::Key;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// For the people whose numbers are given: the cheapest point that the offline search finds.
pub(crate) fn offline(
    subject: &Subject,
    which: &[usize],
    sigma: f64,
    r: f64,
) -> Result<Vec<Option<Vec<f64>>>> {
    let name = format!("{}-{}-sigma{sigma}-r{r}-v{VERSION}.json", subject.name, &subject.hash[..16]);
    let file = folders::kept("offline")?.join(name);
    let mut known: BTreeMap<String, Option<Vec<f64>>> = match std::fs::read(&file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| format!("{}", file.display()))?,
        Err(_) => BTreeMap::new(),
    };
    let key = |i: usize| format!("{:016x}", Key::default().values(subject.person(i)).finish());
    let missing: Vec<usize> = which.iter().copied().filter(|&i| !known.contains_key(&key(i))).collect();
    if !missing.is_empty() {
        let draws = OfflineDraws::new(&subject.plain);
        let done = AtomicUsize::new(0);
        let find = |&i: &usize| {
            let question = Question { model: &subject.plain, person: subject.person(i), sigma, r };
            let (found, took) = time(|| Ok(search(question, &draws)))?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(10) {
                let (of, seconds) = (missing.len(), took.cpu);
                eprintln!("{}, r = {r}: offline search {done} of {of}, {seconds:.1} s", subject.title);
            }
            Ok((key(i), found))
        };
        known.extend(missing.par_iter().map(find).collect::<Result<Vec<_>>>()?);
        std::fs::write(&file, serde_json::to_vec(&known)?)?;
    }
    Ok(which.iter().map(|&i| known.get(&key(i)).cloned().flatten()).collect())
}
