//! The time of a rate by plain sampling, compared with drawing the noise and scoring the rows.

use crate::networks::Subject;
use anyhow::Result;
use probe_bench::clock::median_of;
use probe_bench::part::Figures;
use probe_bench::stats::{mean, range};
use probe_bench::subjects::trees;
use probe_core::invalidation::{NoisyScores, RankedErrors};
use probe_core::{Answer, Engine, Model, MonteCarlo, Purpose, Rows, RowsMut, Seed, Trees};
use probe_experiments::paper_data::PAPER_DATA;

const SAMPLES: usize = 10_000;
const RATE: f64 = 0.1;
const SIGMA: f64 = 0.1;
const SEED: Seed = Seed(11);
/// Rows that are scored at a time, as the estimator does.
const BATCH: usize = 256;

/// Seconds of processor time for a rate, and for parts of it.
#[derive(Debug)]
pub(crate) struct Sampled {
    title: String,
    whole: f64,
    noise: f64,
    scores: f64,
    /// The same samples scored by ranks, for tree models.
    ranks: Option<f64>,
}

impl Sampled {
    fn to_limit(&self) -> f64 {
        self.whole / (self.noise + self.scores)
    }
}

pub(crate) fn measure(points: usize) -> Result<Vec<Sampled>> {
    let network = Subject::load(&PAPER_DATA[0], points)?;
    let mut found = vec![one(
        "Adult network".to_owned(),
        &network.engine(SIGMA, RATE)?,
        &network.people,
        None,
    )?];
    for subject in trees::subjects(&PAPER_DATA[0], "", points)? {
        let engine = subject.engine(RATE)?;
        found.push(one(subject.title.clone(), &engine, &subject.people, Some(&subject.model))?);
    }
    Ok(found)
}

fn one(title: String, engine: &Engine, people: &[f64], trees: Option<&Trees>) -> Result<Sampled> {
    eprintln!("{title}: rates by sampling");
    let (model, noise) = (&*engine.setup().model, &*engine.setup().noise);
    let d = model.n_features();
    let mut points = Vec::new();
    let (mut session, mut answer) = (engine.session(), Answer::new(d));
    for person in people.chunks_exact(d) {
        session.recourse(person, &mut answer)?;
        points.push(answer.point.clone());
    }
    let n = points.len() as f64;
    let sampler = MonteCarlo { samples: SAMPLES };
    let whole = median_of(5, 2.0, || {
        points.iter().try_for_each(|point| Ok(engine.rate(point, None, &sampler).map(drop)?))
    })?;
    let mut errors = vec![0.0; SAMPLES * d];
    let drawn = median_of(5, 1.0, || {
        let mut stream = SEED.stream(Purpose::Rate, 0);
        // Draws into the same rows again and again, as the estimator does: they stay in cache.
        for _ in 0..SAMPLES / BATCH {
            noise.sample_into(&mut stream, RowsMut::new(&mut errors[..BATCH * d], d)?);
        }
        let rest = SAMPLES % BATCH;
        noise.sample_into(&mut stream, RowsMut::new(&mut errors[..rest * d], d)?);
        Ok(())
    })?;
    noise.sample_into(&mut SEED.stream(Purpose::Rate, 1), RowsMut::new(&mut errors, d)?);
    let mut scored = Vec::new();
    for point in &points {
        let rows: Vec<f64> =
            errors.chunks_exact(d).flat_map(|e| e.iter().zip(point).map(|(e, p)| e + p)).collect();
        let mut scores = vec![0.0; BATCH];
        let took = median_of(3, 1.0 / n, || {
            rows.chunks(BATCH * d).try_for_each(|some| {
                Ok(model.score_batch(Rows::new(some, d)?, &mut scores[..some.len() / d])?)
            })
        })?;
        scored.push(took.cpu);
    }
    let ranks = trees.map(|trees| by_ranks(trees, &errors, &points)).transpose()?;
    Ok(Sampled {
        title,
        whole: whole.cpu / n,
        noise: drawn.cpu,
        scores: mean(scored.into_iter()),
        ranks,
    })
}

/// Seconds per point, once the errors are sorted.
fn by_ranks(trees: &Trees, errors: &[f64], points: &[Vec<f64>]) -> Result<f64> {
    let ranked = RankedErrors::new(Rows::new(errors, trees.n_features())?)?;
    let mut batch = NoisyScores::new(trees, &ranked)?;
    let active = vec![true; trees.n_features()];
    let (mut refused, mut scores) = (vec![false; ranked.len()], vec![0.0; ranked.len()]);
    let took = median_of(5, 1.0, || {
        points.iter().try_for_each(|point| {
            Ok(batch.score_into(point, &active, &mut refused, &mut scores)?)
        })
    })?;
    Ok(took.cpu / points.len() as f64)
}

pub(crate) fn render(sampled: &[Sampled]) -> String {
    let mut lines = vec![format!(
        "### Rates by sampling\n\n`--estimator monte-carlo` with {SAMPLES} samples around \
         certified answers, one thread, against drawing as much noise and scoring as many rows in \
         batches, each by itself.\n\n| model | a rate, ms | noise alone | scores alone | rate over \
         both | the same samples by ranks, as certificates read them |\n|---|---|---|---|---|---|"
    )];
    for row in sampled {
        let ranks = row.ranks.map_or("–".to_owned(), |ranks| format!("{:.2}", 1e3 * ranks));
        lines.push(format!(
            "| {} | {:.2} | {:.2} | {:.2} | {:.2} times | {ranks} |",
            row.title,
            1e3 * row.whole,
            1e3 * row.noise,
            1e3 * row.scores,
            row.to_limit()
        ));
    }
    lines.join("\n")
        + "\n\nWhat a rate takes beyond the two: adding the noise to the point, \
           counting, and the interval.\n"
}

pub(crate) fn quote(sampled: &[Sampled], figures: &mut Figures) {
    figures.insert("sampling_to_parts".to_owned(), range(sampled.iter().map(Sampled::to_limit), 2));
}
