//! Models, the people they deny and what these may change.

use super::problem::Problem;
use anyhow::Result;
use probe_core::{Key, Setup};

/// Half of the people, by a hash of their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Half {
    /// To improve the search on
    Tune,
    /// To report on: nothing may be tuned on these people
    Report,
}

impl Half {
    fn has(self, person: &[f64]) -> bool {
        let even = Key::default().values(person).finish().is_multiple_of(2);
        even == (self == Self::Tune)
    }
}

/// A model, and some of the people whom it denies.
pub(super) struct Case {
    /// Names it in ids of people.
    pub(super) name: String,
    pub(super) problem: Problem,
    pub(super) setup: Setup,
    /// Row in the data, and columns in the person's units.
    pub(super) people: Vec<(usize, Vec<f64>)>,
    /// Other rows, for starts.
    pub(super) training: Vec<Vec<f64>>,
}

impl Case {
    /// At most `most` of the people in `rows` whom the model denies, spread evenly.
    pub(super) fn new(
        name: String,
        (problem, setup): (Problem, Setup),
        rows: &[Vec<f64>],
        (half, most): (Half, usize),
    ) -> Result<Self> {
        let mut denied = Vec::new();
        for (i, row) in rows.iter().enumerate().filter(|(_, row)| half.has(row)) {
            let favourable = problem.score(row)? > 0.0;
            if !favourable {
                denied.push((i, row.clone()));
            }
        }
        let n = most.min(denied.len());
        let people = (0..n).map(|i| denied[i * denied.len() / n].clone()).collect();
        let (n, most) = (rows.len(), 2_000.min(rows.len()));
        let training = (0..most).map(|i| rows[i * n / most].clone()).collect();
        Ok(Self { name, problem, setup, people, training })
    }

    /// How a person is called.
    pub(super) fn id(&self, row: usize) -> String {
        format!("{}:{row}", self.name)
    }
}
