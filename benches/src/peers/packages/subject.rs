//! Models that packages are asked about, and what is true of a point before them.

use super::super::SIGMA;
use crate::networks::{Subject as Network, by_lines, plain};
use crate::trees::Plain;
use anyhow::{Context as _, Result, ensure};
use probe_bench::folders;
use probe_bench::subjects::trees;
use probe_core::math::normal::upper_tail;
use probe_core::{Engine, Linear, Model, Rows, Seed, Setup};
use probe_experiments::paper_data::{Encoded, PAPER_DATA};
use std::sync::Arc;

const SEED: Seed = Seed(0);
/// Plain draws behind the rate of a point scored by trees.
const DRAWS: usize = 100_000;
/// Features that nobody can change.
const FIXED: [&str; 3] = ["age", "race", "sex"];

type Rates = Box<dyn Fn(&[&[f64]]) -> Vec<(f64, f64)>>;

/// A model, whom it denies, and rates of points with their standard errors.
pub(super) struct Subject {
    pub(super) title: &'static str,
    pub(super) model: Arc<dyn Model>,
    pub(super) people: Vec<f64>,
    pub(super) rates: Rates,
}

/// Adult, encoded, and the models on it.
pub(super) struct Adult {
    pub(super) names: Vec<String>,
    /// Training rows, and their labels as a last column.
    pub(super) train: Vec<f64>,
    pub(super) subjects: Vec<Subject>,
}

impl Adult {
    pub(super) fn load(people: usize) -> Result<Self> {
        let data = &PAPER_DATA[0];
        let encoded = data.load(&folders::data(), SEED).with_context(|| {
            format!("{} is not to be had; PROBE_DATA_DIR names the folder", data.file)
        })?;
        let logistic = Arc::new(data.train_logistic(&encoded, SEED)?);
        let network = Network::load(data, people)?;
        let plain_network = plain(&network)?;
        let forest = Arc::new(trees::forest(&encoded)?);
        let plain_forest = Plain::of(&forest);
        let denied = |model: &dyn Model| encoded.denied(model, people);
        let exact = logistic.clone();
        let subjects = vec![
            Subject {
                title: "linear",
                people: denied(&*logistic)?,
                model: logistic,
                rates: Box::new(move |points| {
                    points.iter().map(|point| (exact_rate(&exact, point), 0.0)).collect()
                }),
            },
            Subject {
                title: "network",
                people: network.people,
                model: network.model,
                rates: Box::new(move |points| {
                    by_lines(&plain_network, SIGMA, points)
                        .iter()
                        .map(|m| (m.rate, m.error))
                        .collect()
                }),
            },
            Subject {
                title: "forest",
                people: denied(&*forest)?,
                model: forest,
                rates: Box::new(move |points| {
                    let error = |rate: f64| (rate * (1.0 - rate) / DRAWS as f64).sqrt();
                    plain_forest
                        .rates(points, SIGMA, DRAWS)
                        .into_iter()
                        .map(|rate| (rate, error(rate)))
                        .collect()
                }),
            },
        ];
        Ok(Self { train: with_labels(&encoded), names: encoded.names, subjects })
    }

    /// Columns that nobody can change.
    pub(super) fn fixed(&self) -> Vec<usize> {
        let of = |name: &str| FIXED.contains(&name.split('=').next().unwrap_or(name));
        (0..self.names.len()).filter(|&j| of(&self.names[j])).collect()
    }

    /// An engine for the question: columns between 0 and 1, some of them as they are.
    pub(super) fn engine(&self, subject: &Subject, fixed: &[usize], r: f64) -> Result<Engine> {
        let mut setup = Setup::new(subject.model.clone(), self.names.clone(), None, SIGMA)?;
        setup.max_rate = r;
        setup.actions.intersect(0.0, 1.0)?;
        fixed.iter().for_each(|&j| setup.actions.fix(j));
        Ok(Engine::new(setup)?)
    }

    /// Fails where a package's scores of the training rows are not the model's. Single precision
    /// may carry a row across a cut, one in five hundred.
    pub(super) fn check_margins(&self, subject: &Subject, theirs: &[f64]) -> Result<()> {
        let ours = self.margins(subject, theirs.len())?;
        let size = ours.iter().fold(1e-3_f64, |most, score| most.max(score.abs()));
        let near = ours.iter().zip(theirs).filter(|(a, b)| (*a - *b).abs() <= 1e-6 * size).count();
        let far = theirs.len() - near;
        ensure!(
            !theirs.is_empty() && far * 500 <= theirs.len(),
            "{far} of {} scores differ from the model's: not the same model",
            theirs.len()
        );
        Ok(())
    }

    fn margins(&self, subject: &Subject, n: usize) -> Result<Vec<f64>> {
        let d = self.names.len();
        let rows: Vec<f64> =
            self.train.chunks_exact(d + 1).take(n).flat_map(|row| &row[..d]).copied().collect();
        let mut scores = vec![0.0; rows.len() / d];
        subject.model.score_batch(Rows::new(&rows, d)?, &mut scores)?;
        Ok(scores)
    }
}

fn with_labels(encoded: &Encoded) -> Vec<f64> {
    let (x, favourable) = encoded.part(&encoded.split.train);
    let rows = x.chunks_exact(encoded.names.len()).zip(favourable);
    rows.flat_map(|(row, label)| row.iter().copied().chain([f64::from(u8::from(label))])).collect()
}

fn exact_rate(model: &Linear, point: &[f64]) -> f64 {
    let score: f64 =
        model.weights().iter().zip(point).map(|(w, x)| w * x).sum::<f64>() + model.bias();
    upper_tail(score / (SIGMA * model.weights().iter().map(|w| w * w).sum::<f64>().sqrt()))
}
