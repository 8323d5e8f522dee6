//! Any number of people similar to those of a table: rows are drawn with replacement and their
//! numbers moved a little, so that all people differ.

use anyhow::{Result, ensure};
use probe_core::{Key, Model, Purpose, Seed, Stream};
use std::collections::HashSet;

/// Standard deviation by which numbers are moved, as a share of their range.
const JITTER: f64 = 0.02;
/// Decimals that are kept, so that a file of people is no longer than a real one.
const DECIMALS: f64 = 1e6;
/// Draws that may fail, one after another, before this is an error.
const PATIENCE: usize = 100_000;

/// Draws people whom a model denies.
pub(crate) struct Resampler<'a> {
    model: &'a dyn Model,
    rows: &'a [f64],
    /// Columns that are moved.
    numeric: Vec<bool>,
    stream: Stream,
    /// Keys of all people so far: people with different keys differ.
    seen: HashSet<u64>,
}

impl<'a> Resampler<'a> {
    /// From rows in scaled space. Columns named `feature=value` are categories and keep their
    /// values.
    pub(crate) fn new(model: &'a dyn Model, names: &[String], rows: &'a [f64], seed: Seed) -> Self {
        let numeric = names.iter().map(|name| !name.contains('=')).collect();
        Self {
            model,
            rows,
            numeric,
            stream: seed.stream(Purpose::Data, 0x6d69_6c6c),
            seen: HashSet::new(),
        }
    }

    /// The next person.
    pub(crate) fn next_into(&mut self, person: &mut [f64]) -> Result<()> {
        let d = self.numeric.len();
        for _ in 0..PATIENCE {
            let row = self.stream.below(self.rows.len() / d);
            person.copy_from_slice(&self.rows[row * d..][..d]);
            for (value, _) in person.iter_mut().zip(&self.numeric).filter(|(_, numeric)| **numeric)
            {
                let moved = (*value + JITTER * self.stream.normal()).clamp(0.0, 1.0);
                *value = (moved * DECIMALS).round() / DECIMALS;
            }
            let denied = self.model.score(person)? <= 0.0;
            if denied && self.seen.insert(Key::default().values(person).finish()) {
                return Ok(());
            }
        }
        ensure!(false, "no further person who is denied in {PATIENCE} draws");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::Linear;
    use std::collections::BTreeSet;

    /// The first `n` people, row after row.
    fn take(mut people: Resampler<'_>, n: usize) -> Result<Vec<f64>> {
        let mut taken = Vec::new();
        let mut person = vec![0.0; people.numeric.len()];
        for _ in 0..n {
            people.next_into(&mut person)?;
            taken.extend_from_slice(&person);
        }
        Ok(taken)
    }

    fn names() -> Vec<String> {
        ["age", "hours", "sex=F"].map(str::to_owned).to_vec()
    }

    /// Denied up to an age of 0.5.
    fn model() -> Linear {
        Linear::new(vec![1.0, 0.0, 0.0], -0.5, 0.0).unwrap()
    }

    const ROWS: [f64; 9] = [0.3, 0.5, 1.0, 0.45, 0.2, 0.0, 0.9, 0.9, 1.0];

    #[test]
    fn people_are_denied_near_a_row_and_no_two_alike() {
        let model = model();
        let people = take(Resampler::new(&model, &names(), &ROWS, Seed(1)), 5_000).unwrap();
        let mut texts = BTreeSet::new();
        for person in people.chunks_exact(3) {
            assert!(person[0] <= 0.5 && person.iter().all(|v| (0.0..=1.0).contains(v)));
            let near = |row: &[f64]| {
                (row[0] - person[0]).hypot(row[1] - person[1]) < 8.0 * JITTER && row[2] == person[2]
            };
            // The third row is too old to be denied.
            assert!(ROWS[..6].chunks_exact(3).any(near), "{person:?}");
            assert!(texts.insert(format!("{person:?}")), "{person:?} twice");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_people_and_another_others() {
        let model = model();
        let fifty = |seed| take(Resampler::new(&model, &names(), &ROWS, Seed(seed)), 50).unwrap();
        assert_eq!(fifty(1), fifty(1));
        assert_ne!(fifty(1), fifty(2));
    }

    #[test]
    fn too_few_different_people_are_an_error() {
        // Categories alone: there are no more than two different people.
        let names = ["a=1", "a=2"].map(str::to_owned);
        let model = Linear::new(vec![0.0, 0.0], -1.0, 0.0).unwrap();
        let rows = [1.0, 0.0, 0.0, 1.0];
        assert!(take(Resampler::new(&model, &names, &rows, Seed(1)), 2).is_ok());
        assert!(take(Resampler::new(&model, &names, &rows, Seed(1)), 3).is_err());
    }
}
