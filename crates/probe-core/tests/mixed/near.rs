//! Categories that nearly do by themselves.

use probe_core::math::normal::upper_quantile;
use probe_core::schema::Kind;
use probe_core::{Activation, Coding, Dense, Engine, Feature, Mlp, Rows, Schema, Setup, Status};
use std::sync::Arc;

const STEP: f64 = 0.05;
const BEND: f64 = 0.04;

/// Where another category falls short of the target by so little that steps see nothing missing, a
/// small move makes up for it.
#[test]
fn a_category_that_falls_short_by_little_is_followed_by_a_small_move() {
    // With s = a + b/2, and 3 less with the first job, the score is s - max(BEND - s, 0): refused
    // up to s = BEND/2, so that rates and costs are known, while its slope at the person says that
    // less is enough.
    let layers = vec![
        Dense { weight: vec![1.0, 0.5, -3.0, 0.0, -1.0, -0.5, 3.0, 0.0], bias: vec![20.0, BEND] },
        Dense { weight: vec![1.0, -1.0], bias: vec![-20.0] },
    ];
    let model = Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
    let mut job = Feature::numeric("job");
    (job.kind, job.encoding) = (Kind::Categorical, Some(Coding::Onehot));
    job.categories = vec!["first".to_owned(), "second".to_owned()];
    job.cost = 0.1;
    let mut a = Feature::numeric("a");
    (a.min, a.max, a.step) = (Some(-1.0), Some(1.5), Some(STEP));
    let schema = Schema::new(vec![a, Feature::numeric("b"), job]);
    let deviation = 0.1 * 1.25_f64.sqrt();
    for max_rate in [0.3, 0.1] {
        // People whose rate with the second job is at the target, or up to a tenth under it: at any
        // aim, to a two thousandth of a deviation.
        let (from, to) = (upper_quantile(max_rate), upper_quantile(0.9 * max_rate));
        let n = ((to - from) / 0.0005) as usize;
        let person =
            |i: usize| [0.5 * BEND + (from + 0.0005 * i as f64) * deviation, 0.0, 1.0, 0.0];
        let people: Vec<f64> = (0..n).flat_map(person).collect();
        let columns = ["a", "b", "job=first", "job=second"].map(str::to_owned).to_vec();
        let mut setup = Setup::new(model.clone(), columns, Some(&schema), 0.1).unwrap();
        setup.max_rate = max_rate;
        let answers = Engine::new(setup).unwrap().recourse(Rows::new(&people, 4).unwrap()).unwrap();
        for (person, answer) in people.chunks_exact(4).zip(&answers) {
            assert_eq!(
                (answer.status, answer.point[3]),
                (Status::Certified, 1.0),
                "{person:?}: {answer:?}"
            );
            let moved = (answer.point[0] - person[0]).abs() + (answer.point[1] - person[1]).abs();
            let enough = (0.5 * BEND + to * deviation - person[0]).max(0.0) + STEP;
            assert!(moved <= enough, "{max_rate}, {person:?}: {moved} where {enough} is enough");
        }
    }
}
