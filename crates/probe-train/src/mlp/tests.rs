use super::*;
use crate::credit;
use crate::{FitParams, Learner, LogisticParams, fit_model};
use probe_core::{ModelInput, Stream};

/// Rows on a disc's inside (favourable) and outside, with a few exceptions.
fn disc(n: usize, stream: &mut Stream) -> (Vec<f64>, Vec<bool>) {
    let x: Vec<f64> = (0..2 * n).map(|_| stream.uniform()).collect();
    let inside = |p: &[f64]| (p[0] - 0.5).hypot(p[1] - 0.5) < 0.35;
    let favourable = x.chunks(2).enumerate().map(|(i, p)| inside(p) != (i % 50 == 0)).collect();
    (x, favourable)
}

fn names() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

fn fit(params: MlpParams, x: &[f64], favourable: &[bool], seed: u64) -> MlpFit {
    let rows = Rows::new(x, 2).unwrap();
    MlpTrainer::new(params).unwrap().fit(rows, &names(), favourable, Seed(seed)).unwrap()
}

fn quick() -> MlpParams {
    MlpParams {
        hidden: vec![16],
        epochs: 60,
        batch: 32,
        learning_rate: 0.01,
        ..MlpParams::default()
    }
}

#[test]
fn the_loss_falls_and_the_disc_is_learned() {
    let (x, favourable) = disc(1500, &mut Seed(1).stream(Purpose::Data, 0));
    for (activation, outputs) in
        [(Activation::Relu, 2), (Activation::Tanh, 1), (Activation::Gelu, 2)]
    {
        let found =
            fit(MlpParams { activation, outputs, patience: 0, ..quick() }, &x, &favourable, 0);
        assert_eq!((found.history.len(), found.kept_epoch), (60, 60));
        assert_eq!(found.model.last().n_out(), outputs);
        let loss = |epoch: usize| found.history[epoch].loss;
        // Before any learning the loss is about ln 2; a linear score cannot get below the entropy
        // of the classes, 0.67.
        assert!(loss(5) < loss(0) && loss(59) < 0.3, "{activation}: {} … {}", loss(0), loss(59));
        let inside = found.model.score(&[0.5, 0.5]).unwrap();
        let outside = found.model.score(&[0.05, 0.95]).unwrap();
        assert!(inside > 1.0 && outside < -1.0, "{activation}: {inside} {outside}");
    }
}

#[test]
fn early_stopping_keeps_the_best_epoch() {
    let (x, favourable) = disc(120, &mut Seed(2).stream(Purpose::Data, 0));
    let params = MlpParams { epochs: 2000, patience: 15, validation_share: 0.3, ..quick() };
    let found = fit(params.clone(), &x, &favourable, 0);
    assert!(found.history.len() < 2000, "a small noisy set is overfitted");
    assert_eq!(found.history.len(), found.kept_epoch + 15);
    let losses: Vec<f64> = found.history.iter().map(|e| e.validation_loss.unwrap()).collect();
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!(losses[found.kept_epoch - 1], least);
    // The kept weights are those of that epoch: a run that ends there gives the same bits.
    let shorter = fit(MlpParams { epochs: found.kept_epoch, ..params }, &x, &favourable, 0);
    assert_eq!(shorter.model, found.model);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_other_ones() {
    let (x, favourable) = disc(300, &mut Seed(3).stream(Purpose::Data, 0));
    let params = MlpParams { epochs: 3, ..quick() };
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let alone = one_thread.install(|| fit(params.clone(), &x, &favourable, 7));
    assert_eq!(alone, fit(params.clone(), &x, &favourable, 7));
    assert_ne!(alone.model, fit(params, &x, &favourable, 8).model);
}

#[test]
fn a_penalty_shrinks_and_balanced_classes_move_the_cut() {
    let mut stream = Seed(4).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..2 * 1000).map(|_| stream.uniform()).collect();
    let favourable: Vec<bool> = x.chunks(2).map(|p| p[0] + 0.5 * stream.normal() > 1.3).collect();
    let params = MlpParams { patience: 0, ..quick() };
    let norm = |fit: &MlpFit| fit.model.dense().flat_map(|d| &d.weight).map(|w| w * w).sum::<f64>();
    let plain = fit(params.clone(), &x, &favourable, 0);
    let shrunk = fit(MlpParams { l2: 30.0, ..params.clone() }, &x, &favourable, 0);
    assert!(norm(&shrunk) < 0.5 * norm(&plain), "{} {}", norm(&shrunk), norm(&plain));
    let yes = |fit: &MlpFit| x.chunks(2).filter(|p| fit.model.score(p).unwrap() > 0.0).count();
    let balanced = fit(MlpParams { balanced: true, ..params }, &x, &favourable, 0);
    assert!(
        yes(&balanced) > 200 && yes(&balanced) > 3 * yes(&plain),
        "{} {}",
        yes(&balanced),
        yes(&plain)
    );
}

#[test]
fn on_the_built_in_data_it_is_as_good_as_the_regression() {
    let data = credit::generate(6000, Seed(0));
    let auc = |learner: Learner| {
        let params = FitParams { learner, ..FitParams::default() };
        let trained =
            fit_model(&data.labelled().unwrap(), Some(&credit::schema()), &params, Seed(0))
                .unwrap();
        assert!(trained.report.converged && trained.report.iterations > 0);
        trained.report.test.unwrap().auc.unwrap()
    };
    let linear = auc(Learner::Linear(LogisticParams::default()));
    let network = auc(Learner::Mlp(MlpParams::default()));
    assert!(network >= linear - 0.01, "network {network}, regression {linear}");
}

#[test]
fn a_network_of_raw_input_is_the_same_function() {
    let data = credit::generate(800, Seed(1));
    let params = FitParams {
        learner: Learner::Mlp(MlpParams { epochs: 3, ..MlpParams::default() }),
        ..FitParams::default()
    };
    let mut schema = credit::schema();
    let scaled = fit_model(&data.labelled().unwrap(), Some(&schema), &params, Seed(0)).unwrap();
    schema.model_input = Some(ModelInput::Raw);
    let raw = fit_model(&data.labelled().unwrap(), Some(&schema), &params, Seed(0)).unwrap();
    assert_eq!(raw.report, scaled.report);
    let labelled = data.labelled().unwrap();
    // Scores are of the order of 1; raw values reach 1e5, so a few digits of 1e-16 · 1e5 are lost.
    for i in 0..20 {
        let (person, inside) = credit::columns_of(&scaled.schema, labelled.rows.row(i));
        let gap = raw.model.score(&person).unwrap() - scaled.model.score(&inside).unwrap();
        assert!(gap.abs() < 1e-9, "{gap}");
    }
}

#[test]
fn bad_input_is_named() {
    let message = |params: MlpParams| MlpTrainer::new(params).unwrap_err().to_string();
    assert_eq!(
        message(MlpParams { hidden: vec![5, 0], ..quick() }),
        "hidden [1] must be at least 1, got 0"
    );
    assert_eq!(message(MlpParams { outputs: 3, ..quick() }), "outputs must be 1 or 2, got 3");
    assert!(
        message(MlpParams { learning_rate: f64::NAN, ..quick() })
            .starts_with("learning_rate must be")
    );
    assert!(message(MlpParams { epochs: 0, ..quick() }).starts_with("epochs must be"));
    assert!(message(MlpParams { batch: 0, ..quick() }).starts_with("batch must be"));
    assert!(message(MlpParams { l2: -1.0, ..quick() }).starts_with("l2 must be"));
    assert!(
        message(MlpParams { validation_share: 1.0, ..quick() })
            .starts_with("validation_share must be")
    );
    let attempt = |params: MlpParams, x: &[f64], favourable: &[bool]| {
        let trainer = MlpTrainer::new(params).unwrap();
        trainer
            .fit(Rows::new(x, 2).unwrap(), &names(), favourable, Seed(0))
            .unwrap_err()
            .to_string()
    };
    let x = [0.0, 1.0, 1.0, 0.0, 0.5, 0.5];
    assert!(attempt(quick(), &x, &[true; 3]).contains("all 3 rows are favourable"));
    assert!(attempt(quick(), &x, &[true, false]).contains("expected 3, found 2"));
    let nan = [0.0, 1.0, 1.0, f64::NAN, 0.5, 0.5];
    let target = [true, false, true];
    assert_eq!(attempt(quick(), &nan, &target), "row 1, feature 'b': NaN is not a finite number");
    let huge = MlpParams { hidden: vec![usize::MAX / 2, 3], ..quick() };
    assert!(
        attempt(huge, &x, &target)
            .starts_with("number of weights must be at most a hundred million")
    );
    let wild = MlpParams { learning_rate: 1e300, patience: 0, ..quick() };
    assert!(attempt(wild, &x, &target).starts_with("the training ran off to infinity in epoch "));
}

#[test]
fn settings_read_back_and_unknown_ones_are_refused() {
    let params = MlpParams::default();
    let learner: Learner =
        serde_json::from_str(r#"{"kind": "mlp", "hidden": [8, 4], "activation": "leaky_relu"}"#)
            .unwrap();
    let expected = MlpParams { hidden: vec![8, 4], activation: Activation::LeakyRelu, ..params };
    assert_eq!(learner, Learner::Mlp(expected));
    assert!(serde_json::from_str::<Learner>(r#"{"kind": "mlp", "layers": 3}"#).is_err());
}
