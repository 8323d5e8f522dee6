use super::*;
use crate::metrics::auc;
use probe_core::{Direction, ModelInput};

/// 200 rows of income (EUR), age (years) and a constant; favourable if income is high, with
/// exceptions.
fn data() -> (Vec<String>, Vec<f64>, Vec<bool>) {
    let names = ["income", "age", "constant"].map(str::to_owned).to_vec();
    let row =
        |i: usize| [10_000.0 + ((i * 73) % 200) as f64 * 250.0, 20.0 + ((i * 31) % 50) as f64, 5.0];
    let favourable = (0..200).map(|i| (i * 73) % 200 + (i * 17) % 60 > 130).collect();
    (names, (0..200).flat_map(row).collect(), favourable)
}

fn labelled<'a>(names: &'a [String], rows: &'a [f64], favourable: &'a [bool]) -> Labelled<'a> {
    let rows = Rows::new(rows, names.len()).unwrap();
    Labelled { names, rows, favourable, target: "approved", favourable_value: "yes" }
}

fn weights(trained: &Trained) -> &[f64] {
    trained.model.as_linear().unwrap().weights()
}

#[test]
fn scale_and_range_come_from_the_training_rows_alone() {
    let (names, mut rows, favourable) = data();
    let split = Split::stratified(&favourable, 0.2, Seed(3)).unwrap();
    // An extreme value in a test row must not show.
    rows[3 * split.test[7]] = 9e9;
    let trained =
        fit_model(&labelled(&names, &rows, &favourable), None, &FitParams::default(), Seed(3))
            .unwrap();
    let income = |row: &usize| rows[3 * row];
    let low = split.train.iter().map(income).fold(f64::INFINITY, f64::min);
    let high = split.train.iter().map(income).fold(0.0, f64::max);
    assert!(high < 9e9);
    let schema = &trained.schema;
    assert_eq!(schema.features[0].range, Some([low, high]));
    assert_eq!(schema.features[0].scale, Some([low, high]));
    assert_eq!(schema.features[2].range, Some([5.0, 5.0]));
    assert_eq!(schema.features[2].scale, Some([5.0, 6.0]));
    assert_eq!(weights(&trained)[2], 0.0);
    assert_eq!(
        (schema.target.as_deref(), schema.favourable.as_deref()),
        (Some("approved"), Some("yes"))
    );
    assert_eq!((trained.report.n_train, trained.report.n_test), (160, 40));
    let n_yes = favourable.iter().filter(|&&yes| yes).count();
    assert_eq!(trained.report.share_favourable, n_yes as f64 / 200.0);
}

#[test]
fn the_report_is_of_the_model_that_is_returned() {
    let (names, rows, favourable) = data();
    let trained =
        fit_model(&labelled(&names, &rows, &favourable), None, &FitParams::default(), Seed(0))
            .unwrap();
    assert!(trained.report.converged);
    let split = Split::stratified(&favourable, 0.2, Seed(0)).unwrap();
    let space = trained.schema.space();
    let (mut scores, mut truth) = (Vec::new(), Vec::new());
    for &row in &split.test {
        let mut scaled = [0.0; 3];
        space.scale_into(&rows[3 * row..3 * row + 3], &mut scaled);
        scores.push(trained.model.score(&scaled).unwrap());
        truth.push(favourable[row]);
    }
    let test = trained.report.test.unwrap();
    assert_eq!(test.auc, auc(&scores, &truth).unwrap());
    let right = scores.iter().zip(&truth).filter(|(score, yes)| (**score > 0.0) == **yes).count();
    assert_eq!(test.accuracy, right as f64 / 40.0);
    assert!(test.auc > Some(0.9), "{test:?}");
}

#[test]
fn keeps_what_the_schema_says_and_its_order() {
    let (names, rows, favourable) = data();
    let mut schema = Schema::new(vec![
        Feature { mutable: false, unit: Some("years".into()), ..Feature::numeric("age") },
        Feature::numeric("constant"),
        Feature {
            direction: Direction::Increase,
            cost: 2.5,
            center: Some(30_000.0),
            scale_by: Some(15_000.0),
            noise: Some(800.0),
            ..Feature::numeric("income")
        },
    ]);
    let data = labelled(&names, &rows, &favourable);
    let trained = fit_model(&data, Some(&schema), &FitParams::default(), Seed(0)).unwrap();
    let mut kept = trained.schema.clone();
    assert_eq!(kept.features[2].scale, None);
    assert!(kept.features.iter().all(|f| f.range.is_some()));
    for (kept, given) in kept.features.iter_mut().zip(&schema.features) {
        kept.range = None;
        kept.scale = given.scale;
    }
    assert_eq!(kept.features, schema.features);
    // Income is last now and carries the large weight.
    let w = weights(&trained);
    assert!(w[2] > 1.0 && w[2] > 3.0 * w[0].abs() && w[1] == 0.0, "{w:?}");

    // The same schema with raw input: the same scores, from raw rows.
    schema.model_input = Some(ModelInput::Raw);
    let raw = fit_model(&data, Some(&schema), &FitParams::default(), Seed(0)).unwrap();
    assert_eq!(raw.report, trained.report);
    let person = [44.0, 5.0, 27_500.0];
    let mut scaled = [0.0; 3];
    trained.schema.space().scale_into(&person, &mut scaled);
    let difference = raw.model.score(&person).unwrap() - trained.model.score(&scaled).unwrap();
    assert!(difference.abs() < 1e-12, "{difference}");
}

#[test]
fn all_rows_may_be_used_for_training() {
    let (names, rows, favourable) = data();
    let params = FitParams { test_share: 0.0, ..FitParams::default() };
    let report =
        fit_model(&labelled(&names, &rows, &favourable), None, &params, Seed(0)).unwrap().report;
    assert_eq!((report.n_train, report.n_test, report.test), (200, 0, None));
}

#[test]
fn bad_input_is_named() {
    let (names, mut rows, favourable) = data();
    let params = FitParams::default();
    let attempt = |data: &Labelled<'_>, schema: Option<&Schema>| {
        fit_model(data, schema, &params, Seed(0)).unwrap_err().to_string()
    };
    let good = labelled(&names, &rows, &favourable);
    let target = Labelled { target: "age", ..good };
    assert_eq!(attempt(&target, None), "'age' as a feature is not supported: it is the target");
    let partial = Schema::new(vec![Feature::numeric("income"), Feature::numeric("age")]);
    assert!(attempt(&good, Some(&partial)).contains("'constant'"));
    let mut wider = Schema::new(names.iter().map(|n| Feature::numeric(n)).collect());
    wider.features.push(Feature::numeric("debt"));
    assert!(attempt(&good, Some(&wider)).contains("'debt'"));
    let twice = ["income", "age", "age"].map(str::to_owned);
    assert!(
        attempt(&Labelled { names: &twice, ..good }, None)
            .contains("an earlier feature has that name")
    );
    assert!(
        attempt(&Labelled { names: &names[..2], ..good }, None).contains("expected 3, found 2")
    );
    let all_yes = [true; 200];
    assert!(
        attempt(&Labelled { favourable: &all_yes, ..good }, None)
            .contains("all 200 rows are favourable")
    );
    let bad = FitParams { test_share: 1.0, ..params.clone() };
    assert!(fit_model(&good, None, &bad, Seed(0)).is_err());
    // Row numbers are those of the data, not of a part of it.
    rows[3 * 190 + 1] = f64::INFINITY;
    let message = attempt(&labelled(&names, &rows, &favourable), None);
    assert_eq!(message, "row 190, feature 'age': inf is not a finite number");
}
