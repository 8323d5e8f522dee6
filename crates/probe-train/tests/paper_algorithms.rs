//! The paper's Algorithm 1 compared with `probe` on a trained network: it gets to a yes, at a
//! multiple of the cost.

use probe_core::{Engine, Model, Purpose, Rows, Seed, Setup, Status};
use probe_train::{MlpParams, MlpTrainer};
use std::sync::Arc;

const D: usize = 8;

#[test]
fn algorithm_1_succeeds_at_a_multiple_of_the_cost() {
    let mut draw = Seed(4).stream(Purpose::Data, 0);
    let rows: Vec<f64> = (0..2_000 * D).map(|_| draw.uniform()).collect();
    // E (u - 0.3) u = 1/3 - 0.15 for uniform u: half of the rows are favourable.
    let mean = (1.0 / 3.0 - 0.15) * D as f64;
    let rule = |row: &[f64]| row.iter().map(|v| (v - 0.3) * v).sum::<f64>();
    let favourable: Vec<bool> =
        rows.chunks(D).map(|row| rule(row) + 0.1 * draw.normal() > mean).collect();
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let params = MlpParams { epochs: 30, patience: 0, ..MlpParams::default() };
    let fit = MlpTrainer::new(params).unwrap();
    let model = Arc::new(
        fit.fit(Rows::new(&rows, D).unwrap(), &names, &favourable, Seed(0)).unwrap().model,
    );
    let denied = |row: &&[f64]| model.score(row).unwrap() <= 0.0;
    let people: Vec<f64> = rows.chunks(D).filter(denied).take(25).flatten().copied().collect();
    let answers = |method: &str| {
        let mut setup = Setup::new(model.clone(), names.clone(), None, 0.1).unwrap();
        (setup.max_rate, setup.method) = (0.35, method.to_owned());
        Engine::new(setup).unwrap().recourse(Rows::new(&people, D).unwrap()).unwrap()
    };
    let (ours, theirs) = (answers("probe"), answers("probe-gradient"));
    let certified = |a: &&probe_core::Answer| a.status == Status::Certified;
    // It is asked once, for r itself, and watches the first-order rate: it gets everybody a yes,
    // not always with the rate.
    assert!(theirs.iter().filter(|a| a.cost.is_some()).count() >= 24);
    assert!(ours.iter().filter(certified).count() >= 24);
    let pairs: Vec<(f64, f64)> =
        ours.iter().zip(&theirs).filter_map(|(a, b)| a.cost.zip(b.cost)).collect();
    let (cheap, expensive) = pairs.iter().fold((0.0, 0.0), |(a, b), (c, e)| (a + c, b + e));
    // On the paper's data sets the ratio is 3.7 and more.
    assert!(expensive > 1.5 * cheap, "probe {cheap}, probe-gradient {expensive}");
}
