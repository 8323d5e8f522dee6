//! Larger models on generated data: a deep network with many inputs, and a linear score of a
//! thousand features.

use super::Pools;
use super::audit::Measured;
use anyhow::{Context as _, Result};
use probe_bench::clock::median_of;
use probe_bench::folders;
use probe_bench::stats::mean;
use probe_core::{
    Answer, Engine, Linear, Model, MonteCarlo, Purpose, Rows, Seed, Setup, Status, Stream,
};
use probe_io::ModelFile;
use probe_train::{MlpParams, MlpTrainer};
use rayon::ThreadPool;
use std::sync::Arc;

const SEED: Seed = Seed(0);
const DEEP: [usize; 3] = [100, 256, 256];
const ROWS: usize = 6_000;
const EPOCHS: usize = 8;
const LINEAR: usize = 1_000;
const LINEAR_PEOPLE: usize = 20_000;
/// Answers of the deep network that are audited, and plain draws for each.
const AUDITED: usize = 10;
const DRAWS: usize = 100_000;

pub(super) const HEADER: &str = "\
| model | r | people | certified | above r (of audited) | cost | changed | per CPU \
second | all cores |
|---|---|---|---|---|---|---|---|---|";

pub(super) const COLUMNS: &str = "\
The deep network is trained on generated data (yes where a random network of the same kind with 20 \
units says so) and cut so
that about half of the people are denied. Its answers are audited on 100,000 plain draws each, ten \
of them; the linear score's rates
are exact. σ = 0.1, all columns free, l1.
";

/// Rows of the table: the deep network for `people` people, and the linear score.
pub(super) fn rows(people: usize, sigma: f64, rates: &[f64], pools: &Pools) -> Result<Vec<String>> {
    let mut out = Vec::new();
    let deep = deep()?;
    let mut stream = SEED.stream(Purpose::Data, 21);
    let denied = denied(&*deep, people, &mut stream)?;
    for &r in rates {
        eprintln!("{DEEP:?}, r = {r}: {people} people");
        out.push(row("network [100, 256, 256, 2]", deep.clone(), &denied, sigma, r, pools)?);
    }
    let weights: Vec<f64> = (0..LINEAR).map(|_| stream.normal()).collect();
    let linear = Arc::new(Linear::new(weights, -20.0, 0.0)?);
    let denied = self::denied(&*linear, LINEAR_PEOPLE, &mut stream)?;
    for &r in rates {
        out.push(row("linear, d = 1,000", linear.clone(), &denied, sigma, r, pools)?);
    }
    Ok(out)
}

fn row(
    title: &str,
    model: Arc<dyn Model>,
    people: &[f64],
    sigma: f64,
    r: f64,
    pools: &Pools,
) -> Result<String> {
    let d = model.n_features();
    let mut setup = Setup::new(model, (0..d).map(|j| format!("x{j}")).collect(), None, sigma)?;
    setup.max_rate = r;
    let engine = Engine::new(setup)?;
    let rows = Rows::new(people, d)?;
    let mut answers = vec![Answer::new(d); rows.n_rows()];
    let mut timed = |pool: &ThreadPool| {
        pool.install(|| median_of(5, 2.0, || Ok(engine.recourse_into(rows, &mut answers)?)))
    };
    let (single, many) = (timed(&pools.one)?, timed(&pools.all)?);
    let certified: Vec<&Answer> =
        answers.iter().filter(|a| a.status == Status::Certified).collect();
    let above = match engine.setup().model.as_linear() {
        Some(_) => {
            let above = certified.iter().filter(|a| a.rate > r).count();
            format!("{above} ({})", certified.len())
        }
        None => {
            let audited: Vec<&&Answer> = certified.iter().take(AUDITED).collect();
            let mut above = 0;
            for answer in &audited {
                let rate = engine.rate(&answer.point, None, &MonteCarlo { samples: DRAWS })?;
                above += usize::from(Measured { rate: rate.rate, error: rate.std_error }.above(r));
            }
            format!("{above} ({})", audited.len())
        }
    };
    let n = certified.len() as f64;
    Ok(format!(
        "| {title} | {r} | {} | {:.1} % | {above} | {:.4} | {:.2} | {} | {} |",
        answers.len(),
        100.0 * n / answers.len() as f64,
        mean(certified.iter().filter_map(|a| a.cost)),
        mean(certified.iter().map(|a| a.changed as f64)),
        per_second(n / single.cpu),
        per_second(n / many.wall)
    ))
}

/// Three figures for the slow ones, no fractions for the fast ones.
fn per_second(speed: f64) -> String {
    if speed < 100.0 { format!("{speed:.2}") } else { format!("{speed:.0}") }
}

/// The network, trained unless it is kept already.
fn deep() -> Result<Arc<dyn Model>> {
    let [d, hidden @ ..] = DEEP;
    let file = folders::kept("networks")?
        .join(format!("deep-{d}-{hidden:?}-rows{ROWS}-epochs{EPOCHS}.json"));
    if !file.exists() {
        eprintln!("training a network {DEEP:?}");
        let mut stream = SEED.stream(Purpose::Data, 20);
        let teacher: Vec<Vec<f64>> =
            (0..20).map(|_| (0..=d).map(|_| stream.normal()).collect()).collect();
        let x: Vec<f64> = (0..ROWS * d).map(|_| stream.uniform()).collect();
        // Around each unit's own mean, so that units are on for about half of the rows.
        let unit = |row: &[f64], w: &[f64]| {
            (row.iter().zip(w).map(|(x, w)| (x - 0.5) * w).sum::<f64>()).max(0.0) * w[d]
        };
        let scores: Vec<f64> =
            x.chunks_exact(d).map(|row| teacher.iter().map(|w| unit(row, w)).sum()).collect();
        let middle = probe_bench::stats::median(&mut scores.clone());
        let favourable: Vec<bool> = scores.iter().map(|s| *s > middle).collect();
        let names: Vec<String> = (0..d).map(|j| format!("x{j}")).collect();
        let params = MlpParams {
            hidden: hidden.to_vec(),
            epochs: EPOCHS,
            batch: 64,
            learning_rate: 1e-3,
            patience: 0,
            ..MlpParams::default()
        };
        let fit = MlpTrainer::new(params)?.fit(Rows::new(&x, d)?, &names, &favourable, SEED)?;
        ModelFile::new(names, Arc::new(fit.model), None)?.save(&file)?;
    }
    Ok(ModelFile::load(&file)?.model)
}

/// People drawn until `n` of them are denied.
fn denied(model: &dyn Model, n: usize, stream: &mut Stream) -> Result<Vec<f64>> {
    let d = model.n_features();
    let mut people = Vec::with_capacity(n * d);
    for _ in 0..100 * n {
        if people.len() == n * d {
            return Ok(people);
        }
        let person: Vec<f64> = (0..d).map(|_| stream.uniform()).collect();
        if model.score(&person)? <= 0.0 {
            people.extend(person);
        }
    }
    (people.len() == n * d).then_some(people).context("the model denies hardly anybody")
}
