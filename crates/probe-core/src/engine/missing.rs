//! People with missing values (NaN), for models that accept them.
//!
//! A missing value cannot change and has no noise, and a tree model sends it the same way at every
//! split. For a given set of missing features, the model is therefore equal to one without splits
//! on these features. A separate engine answers for that model; missing values are replaced by an
//! arbitrary number, which it never reads. It shares samples with the main engine, which keeps the
//! last few such engines. Answers depend only on the set-up and the person, never on the people
//! before.

use super::{Answer, Engine, NoMethod, Session, Setup, prepared, scaled_model};
use crate::error::{Error, Result};
use crate::recourse::{RecourseMethod, Task};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of such engines that are kept. Each has a few megabytes of errors for its search.
const MOST: usize = 32;

/// Where an engine's method comes from, so that it can be prepared again.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// A registry.
    Registered(&'static dyn RecourseMethod),
    /// The caller, who still owns it.
    Caller,
    /// There is none.
    NoMethod,
}

/// Features that are missing, and the engine for people without them; last used last.
#[derive(Default)]
pub(super) struct Variants(Mutex<Vec<(Vec<bool>, Arc<Engine>)>>);

impl Variants {
    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<bool>, Arc<Engine>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, gaps: &[bool]) -> Option<Arc<Engine>> {
        let mut kept = self.lock();
        let at = kept.iter().rposition(|(own, _)| own == gaps)?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, engine)| Arc::clone(engine))
    }

    fn keep(&self, gaps: &[bool], engine: &Arc<Engine>) {
        let mut kept = self.lock();
        if kept.iter().all(|(own, _)| own != gaps) {
            kept.push((gaps.to_vec(), Arc::clone(engine)));
        }
        if kept.len() > MOST {
            kept.remove(0);
        }
    }
}

/// A person with stand-ins for what is missing, and the engine that answers for them.
pub(super) struct Filled {
    pub(super) engine: Arc<Engine>,
    pub(super) person: Vec<f64>,
}

impl Filled {
    /// One of the answers for the person, who is `original`. The costs may be multiplied by
    /// factors.
    pub(super) fn recourse(
        &self,
        original: &[f64],
        (option, factors): (usize, Option<&[f64]>),
        cancelled: Option<&AtomicBool>,
        answer: &mut Answer,
    ) -> Result<()> {
        let mut session = self.session(cancelled);
        session.set_cost_factors(factors)?;
        session.recourse_option(&self.person, option, answer)?;
        answer.restore_gaps(original);
        Ok(())
    }

    /// One answer per rate.
    pub(super) fn frontier(
        &self,
        original: &[f64],
        rates: &[f64],
        cancelled: Option<&AtomicBool>,
    ) -> Result<Vec<Answer>> {
        let mut answers = self.session(cancelled).frontier(&self.person, rates)?;
        answers.iter_mut().for_each(|answer| answer.restore_gaps(original));
        Ok(answers)
    }

    /// A session that ends once `cancelled` is set.
    fn session<'s>(&'s self, cancelled: Option<&'s AtomicBool>) -> Session<'s> {
        let mut session = self.engine.session();
        cancelled.into_iter().for_each(|flag| session.end_on(flag));
        session
    }

    /// `row`, which has the gaps of `original`, with the stand-ins.
    pub(super) fn fill(&self, original: &[f64], row: &[f64]) -> Vec<f64> {
        let stand_in = |(j, value): (usize, &f64)| match original[j].is_nan() {
            true => self.person[j],
            false => *value,
        };
        row.iter().enumerate().map(stand_in).collect()
    }
}

/// Whether all values are finite. Vectorises well: zero times infinity or NaN is NaN, and zero
/// times a finite value is zero.
pub(super) fn all_finite(values: &[f64]) -> bool {
    let (chunks, rest) = values.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += 0.0 * value;
        }
    }
    rest.iter().chain(&sums).map(|value| 0.0 * value).sum::<f64>() == 0.0
}

impl Engine {
    /// Fails on a value that is infinite, or missing although the model does not accept that.
    pub(super) fn check_row(&self, row: usize, values: &[f64]) -> Result<()> {
        if all_finite(values) {
            return Ok(());
        }
        let Some(j) = (0..values.len()).find(|&j| {
            values[j].is_infinite()
                || (values[j].is_nan() && self.setup.model.refuses_missing(j).is_some())
        }) else {
            return Ok(());
        };
        let feature = self.setup.names[j].clone();
        Err(match self.setup.model.refuses_missing(j).filter(|_| values[j].is_nan()) {
            Some(why) => Error::Missing { row, feature, why },
            None => Error::NotFinite { row, feature, value: values[j] },
        })
    }

    /// The engine that answers for a `person` with missing values; `None` if no value is missing.
    /// Fails like [`Engine::check_row`].
    pub(super) fn filled(&self, person: &[f64]) -> Result<Option<Filled>> {
        if all_finite(person) {
            return Ok(None);
        }
        self.check_row(0, person)?;
        let gaps: Vec<bool> = person.iter().map(|value| value.is_nan()).collect();
        let stand_in =
            |(j, value): (usize, &f64)| if gaps[j] { self.setup.space.offset(j) } else { *value };
        let filled = person.iter().enumerate().map(stand_in).collect();
        let engine = match self.variants.get(&gaps) {
            Some(engine) => engine,
            // Without the lock, because the preparation may use other threads that wait for it.
            None => {
                let made = Arc::new(self.without(&gaps)?);
                self.variants.keep(&gaps, &made);
                made
            }
        };
        Ok(Some(Filled { engine, person: filled }))
    }

    /// The engine for people who lack the features marked in `gaps`.
    fn without(&self, gaps: &[bool]) -> Result<Self> {
        let unsupported =
            |what: String, why: &str| Error::Unsupported { what, why: why.to_owned() };
        let Some(trees) = self.setup.model.as_trees() else {
            let what = format!("missing values with a {} model", self.setup.model.name());
            return Err(unsupported(
                what,
                "only models of kind trees are known without some of their features",
            ));
        };
        let actions = self.setup.actions.clone().without(gaps);
        let setup = Setup {
            model: Arc::new(trees.without(gaps)),
            actions: actions.clone(),
            ..self.setup.clone()
        };
        let task =
            Arc::new(Task { model: scaled_model(&setup)?, actions, ..Task::clone(&self.task) });
        let solver = match self.origin {
            Origin::Registered(method) => prepared(&setup, method, &task)?,
            Origin::NoMethod => Box::new(NoMethod),
            Origin::Caller => {
                let what = format!("missing values with method {}", setup.method);
                return Err(unsupported(
                    what,
                    "it is prepared again for them, which needs a registered method",
                ));
            }
        };
        let (rates, variants) = (self.rates.clone(), Variants::default());
        Ok(Self { setup, task, solver, rates, origin: self.origin, variants })
    }

    /// A `point` with missing values and the person that it was made for (`from`), both with
    /// stand-ins, and the engine that rates them. `None` if nothing is missing. Fails if a value is
    /// missing in only one of the two.
    pub(super) fn filled_pair(
        &self,
        point: &[f64],
        from: &[f64],
    ) -> Result<Option<(Filled, Vec<f64>)>> {
        if let Some(j) = (0..point.len()).find(|&j| point[j].is_nan() != from[j].is_nan()) {
            let (has, lacks) =
                if from[j].is_nan() { ("point", "person") } else { ("person", "point") };
            let name = &self.setup.names[j];
            return Err(Error::Unsupported {
                what: format!("feature '{name}', which the {has} has and the {lacks} has not,"),
                why: "what is missing stays missing".to_owned(),
            });
        }
        Ok(self.filled(point)?.map(|filled| {
            let from = filled.fill(point, from);
            (filled, from)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::all_finite;

    #[test]
    fn one_value_among_many_is_seen() {
        for n in 0..12 {
            let mut values: Vec<f64> =
                (0..n).map(|j| [-0.0, 1e308, f64::MAX, -3.0, 5e-324][j % 5]).collect();
            assert!(all_finite(&values));
            for j in 0..n {
                let was = values[j];
                for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    values[j] = strange;
                    assert!(!all_finite(&values), "{strange} at {j} of {n}");
                }
                values[j] = was;
            }
        }
    }
}
