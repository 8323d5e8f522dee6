//! More effort finds answers that cost no more; less effort finds answers all the same.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::{Answer, Engine, SearchEffort, Seed, Setup, Status};
use probe_train::{FitParams, ForestParams, Learner, MlpParams, credit, fit_model};

const PEOPLE: usize = 12;

/// Mean cost, certified people and evaluations for each effort.
fn measured(learner: Learner, with_schema: bool) -> [(f64, usize, u64); 3] {
    let data = credit::generate(1_000, Seed(2));
    let schema = credit::schema();
    let params = FitParams { learner, ..FitParams::default() };
    let labelled = data.labelled().unwrap();
    let trained = fit_model(&labelled, with_schema.then_some(&schema), &params, Seed(2)).unwrap();
    [SearchEffort::Quick, SearchEffort::Normal, SearchEffort::Thorough].map(|effort| {
        let names = trained.schema.column_names();
        let mut setup =
            Setup::new(trained.model.clone(), names, Some(&trained.schema), 0.05).unwrap();
        setup.effort = effort;
        let engine = Engine::new(setup).unwrap();
        let encoding = &engine.setup().encoding;
        let mut columns = vec![0.0; encoding.n_columns()];
        let mut session = engine.session();
        let mut answer = Answer::new(columns.len());
        let (mut cost, mut n, mut certified) = (0.0, 0, 0);
        for row in 0..data.n_rows() {
            encoding.encode_into(data.person(row), &mut columns);
            if n < PEOPLE && engine.score(&columns).unwrap() <= 0.0 {
                session.recourse(&columns, &mut answer).unwrap();
                certified += usize::from(answer.status == Status::Certified);
                cost += answer.cost.unwrap();
                n += 1;
            }
        }
        (cost / n as f64, certified, session.n_evaluations())
    })
}

fn check(learner: Learner, with_schema: bool) {
    let all = measured(learner, with_schema);
    let [quick, normal, thorough] = all;
    assert!(quick.1 + 1 >= normal.1 && normal.1 <= thorough.1, "certified: {all:?}");
    assert!(normal.1 + 1 >= PEOPLE, "certified: {all:?}");
    // What further work finds may need another certificate, at a lower rate: one of twelve people
    // then pays about a percent more.
    assert!(thorough.0 <= 1.002 * normal.0, "costs: {all:?}");
    assert!(normal.0 <= 1.001 * quick.0, "costs: {all:?}");
    assert!(quick.2 <= normal.2 + normal.2 / 10 && normal.2 < thorough.2, "work: {all:?}");
}

#[test]
fn networks() {
    let params = || MlpParams { hidden: vec![16], epochs: 20, patience: 0, ..MlpParams::default() };
    check(Learner::Mlp(params()), false);
    check(Learner::Mlp(params()), true);
}

#[test]
fn trees() {
    let params = || ForestParams { trees: 25, depth: 4, ..Default::default() };
    check(Learner::Forest(params()), false);
    check(Learner::Forest(params()), true);
}
