//! Metrics that judge answers again: a metric uses people and answers, never a method's own claims.

mod effort;
mod robustness;
mod summary;
mod validity;

pub use summary::Summary;

use crate::engine::{Answer, Engine};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::rows::Rows;
use rayon::prelude::*;

/// One person and the answer to be measured, in raw units.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The engine that knows model, noise, cost and action space.
    pub engine: &'a Engine,
    /// The person.
    pub person: &'a [f64],
    /// The answer.
    pub answer: &'a Answer,
}

/// A measure of one answer.
pub trait Metric: Send + Sync {
    /// The name in tables.
    fn name(&self) -> &'static str;

    /// The measure, or `None` where it has no meaning (the cost of no recourse).
    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>>;
}

/// All metrics.
pub const METRICS: &[Entry<dyn Metric>] = &[
    validity::ACCURACY,
    robustness::INVALIDATION,
    robustness::SAMPLED_INVALIDATION,
    effort::COST,
    effort::CHANGED,
    validity::VIOLATIONS,
];

/// A metric of each person.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// The metric.
    pub metric: &'static str,
    /// Its value for each person, in order; `None` where it has no meaning.
    pub values: Vec<Option<f64>>,
}

/// Every metric of every person, parallel over people.
pub fn measure(engine: &Engine, people: Rows<'_>, answers: &[Answer]) -> Result<Vec<Measured>> {
    if answers.len() != people.n_rows() {
        return Err(Error::Shape {
            what: "answers",
            expected: people.n_rows(),
            found: answers.len(),
        });
    }
    METRICS
        .iter()
        .map(|entry| {
            let of = |row: usize| {
                let (person, answer) = (people.row(row), &answers[row]);
                entry.item.measure(&Case { engine, person, answer })
            };
            let values = (0..answers.len()).into_par_iter().map(of).collect::<Result<_>>()?;
            Ok(Measured { metric: entry.name, values })
        })
        .collect()
}

/// Every metric over all `people`, in order.
pub fn evaluate(engine: &Engine, people: Rows<'_>, answers: &[Answer]) -> Result<Vec<Summary>> {
    let seed = engine.setup().seed;
    let measured = measure(engine, people, answers)?;
    Ok(measured.into_iter().map(|m| Summary::of(m.metric, m.values, seed)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Setup;
    use crate::model::Linear;
    use std::sync::Arc;

    #[test]
    fn measures_of_a_hand_worked_pair() {
        // s = x0 + x1 - 1, sigma = 0.1, r = 0.1: needed score z*0.1*sqrt(2) = 0.18124; the denied
        // person is 0.5 short.
        let model = Arc::new(Linear::new(vec![1.0, 1.0], -1.0, 0.0).unwrap());
        let setup = Setup::new(model, vec!["a".into(), "b".into()], None, 0.1).unwrap();
        let engine = Engine::new(setup).unwrap();
        let data = [0.25, 0.25, 2.0, 2.0];
        let people = Rows::new(&data, 2).unwrap();
        let answers = engine.recourse(people).unwrap();
        let summaries = evaluate(&engine, people, &answers).unwrap();
        let of = |name: &str| *summaries.iter().find(|s| s.metric == name).unwrap();
        assert_eq!((of("recourse-accuracy").n, of("recourse-accuracy").mean), (1, 1.0));
        // Only the person who sought recourse counts.
        let needed = 0.1 * 2.0_f64.sqrt() * 1.281_551_565_544_600_4;
        assert_eq!(of("cost").n, 1);
        assert!((of("cost").mean - (0.5 + needed)).abs() < 1e-12);
        assert!((of("invalidation-rate").mean - 0.1).abs() < 1e-12);
        // 10,000 draws at a rate of 0.1: four standard errors.
        assert!((of("sampled-invalidation-rate").mean - 0.1).abs() < 4.0 * (0.09_f64 / 1e4).sqrt());
        assert_eq!(of("violations").mean, 0.0);
        assert_eq!(of("changed").mean, 1.0);
    }
}
