//! The engine: people in their own units in, judged answers out.
//!
//! A method proposes a point in scaled space; the engine turns it into the person's units, checks
//! it against the action space, scores exactly the row that will be printed, steps it outward by
//! ulps until the rate holds in `f64`, and decides the status. Methods cannot skip this.

mod answer;
mod missing;
mod outcome;
mod rates;
mod session;
mod setup;
mod tolerance;

pub use answer::{Answer, Limit, Shortfall, Status};
pub use session::{Relaxation, Relaxed, Session};
pub use setup::{Setup, SetupBuilder};
pub use tolerance::{Side, Slack, Tolerance};

use crate::error::{Error, Result};
use crate::invalidation::{Estimate, InvalidationRate, Query, affine_rate};
use crate::model::{BlackBox, Model};
use crate::noise::{Noise, NoiseOn};
use crate::recourse::{
    Alternatives, Ask, Notes, Proposal, RecourseMethod, Reference, Solver, Task, Worker, method,
};
use crate::rows::Rows;
use crate::schema::ModelInput;
use crate::seed::{Key, Purpose};
use missing::{Origin, Variants, all_finite};
use rates::RateSource;
use rayon::prelude::*;
use std::sync::Arc;

/// A prepared engine; shared by threads.
pub struct Engine {
    setup: Setup,
    task: Arc<Task>,
    solver: Box<dyn Solver>,
    /// Where the rates of answers come from.
    rates: RateSource,
    origin: Origin,
    /// For people with missing values.
    variants: Variants,
}

impl Engine {
    /// Prepares the method. Fails on parameters outside their domain and on combinations that have
    /// no solver.
    pub fn new(setup: Setup) -> Result<Self> {
        let method = method(&setup.method)?;
        Ok(Self { origin: Origin::Registered(method), ..Self::with_method(setup, method)? })
    }

    /// As [`Engine::new`], with a method that need not be registered: whatever it proposes is
    /// judged all the same. Missing values need a registered one.
    pub fn with_method(setup: Setup, method: &dyn RecourseMethod) -> Result<Self> {
        method.check_options(&setup.options)?;
        let task = task_of(&setup)?;
        check_budget(&setup, method)?;
        check_ties(&setup, method)?;
        let solver = prepared(&setup, method, &task)?;
        let rates = RateSource::new(&task)?;
        let (origin, variants) = (Origin::Caller, Variants::default());
        Ok(Self { setup, task, solver, rates, origin, variants })
    }

    /// An engine that scores and rates points, but finds no recourse. It works for models that no
    /// method supports.
    pub fn without_method(setup: Setup) -> Result<Self> {
        let task = task_of(&setup)?;
        let (origin, variants) = (Origin::NoMethod, Variants::default());
        // No recourse is computed, so that no samples are needed.
        let (solver, rates) = (Box::new(NoMethod), RateSource::Exact(None));
        Ok(Self { setup, task, solver, rates, origin, variants })
    }

    /// What the engine was built from.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Approximately the smallest rate that sampling can certify, for an answer that is one of `of`
    /// for the same person. `None` if rates are exact or certificates are switched off.
    pub fn least_certifiable_rate(&self, of: usize) -> Option<f64> {
        let sampling = self.rates.sampling().filter(|_| self.setup.certify)?;
        sampling.least_rate((1.0 - self.setup.confidence) / of.max(1) as f64)
    }

    /// A lower bound on the rate of every point. It is positive only if the model may change by
    /// more than its score.
    pub fn least_rate(&self) -> f64 {
        match &self.rates {
            RateSource::Exact(Some(shifted)) => shifted.least_rate(),
            RateSource::Exact(None) | RateSource::Sampled(_) => 0.0,
        }
    }

    /// The task in scaled space.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Results of the method's preparation that users should know.
    pub fn notes(&self) -> Option<Notes> {
        self.solver.notes()
    }

    /// A session: one thread's buffers, answering one person after another.
    pub fn session(&self) -> Session<'_> {
        Session::new(self, self.solver.worker())
    }

    /// A recourse for each person, raw rows in the model's feature order; parallel over people, the
    /// same bits on any number of threads.
    pub fn recourse(&self, people: Rows<'_>) -> Result<Vec<Answer>> {
        let mut answers = vec![Answer::new(self.setup.names.len()); people.n_rows()];
        self.recourse_into(people, &mut answers)?;
        Ok(answers)
    }

    /// As [`Engine::recourse`], into answers that the caller owns and may reuse.
    pub fn recourse_into(&self, people: Rows<'_>, answers: &mut [Answer]) -> Result<()> {
        // Sampled answers take long: small chunks keep all threads busy, also with few people.
        let chunk_len =
            if self.rates.is_sampled() { people.n_rows().div_ceil(64).clamp(1, 8) } else { 256 };
        if answers.len() != people.n_rows() {
            return Err(Error::Shape {
                what: "answers",
                expected: people.n_rows(),
                found: answers.len(),
            });
        }
        self.check_width(people.n_cols())?;
        let chunks = answers.par_chunks_mut(chunk_len).enumerate();
        chunks.try_for_each_init(
            || self.session(),
            |session, (chunk, answers)| {
                for (i, answer) in answers.iter_mut().enumerate() {
                    let row = chunk * chunk_len + i;
                    let person = people.row(row);
                    if all_finite(person) {
                        session.recourse_of_all_known(person, answer)?;
                    } else {
                        self.check_row(row, person)?;
                        session.recourse(person, answer)?;
                    }
                }
                Ok(())
            },
        )
    }

    /// For each person, one answer per rate.
    pub fn frontier(&self, people: Rows<'_>, rates: &[f64]) -> Result<Vec<Vec<Answer>>> {
        self.check_width(people.n_cols())?;
        (0..people.n_rows())
            .into_par_iter()
            .map_init(
                || self.session(),
                |session, row| {
                    self.check_row(row, people.row(row))?;
                    session.frontier(people.row(row), rates)
                },
            )
            .collect()
    }

    /// The score of a raw row. Fails on a missing value that the model does not take.
    pub fn score(&self, point: &[f64]) -> Result<f64> {
        let mut score = [0.0];
        self.score_batch(Rows::new(point, point.len().max(1))?, &mut score)?;
        Ok(score[0])
    }

    /// The scores of raw rows, one each.
    pub fn score_batch(&self, points: Rows<'_>, scores: &mut [f64]) -> Result<()> {
        self.check_width(points.n_cols())?;
        for (row, point) in
            points.iter().enumerate().filter(|(_, point)| point.iter().any(|v| v.is_nan()))
        {
            self.check_row(row, point)?;
        }
        match self.setup.space.model_input() {
            ModelInput::Raw => self.setup.model.score_batch(points, scores),
            ModelInput::Scaled => {
                let mut scaled = vec![0.0; points.n_rows() * points.n_cols()];
                for (point, scaled) in points.iter().zip(scaled.chunks_exact_mut(points.n_cols())) {
                    self.setup.space.scale_into(point, scaled);
                }
                self.setup.model.score_batch(Rows::new(&scaled, points.n_cols())?, scores)
            }
        }
    }

    /// The invalidation rate of a raw `point`, for a person who came from `from` (needed where
    /// noise acts on changed features or depends on the change).
    pub fn rate(
        &self,
        point: &[f64],
        from: Option<&[f64]>,
        estimator: &dyn InvalidationRate,
    ) -> Result<Estimate> {
        self.check_width(point.len())?;
        self.check_width(from.unwrap_or(point).len())?;
        let origin = from.unwrap_or(point);
        let outcomes = self.setup.actions.outcomes(origin, point);
        let confidence = 1.0 - (1.0 - self.setup.confidence) / outcomes.points.len().max(1) as f64;
        if outcomes.is_empty() {
            return self.rate_of_success(point, from, estimator, confidence);
        }
        let parts = outcomes.points.iter().map(|(p, point)| {
            self.rate_of_success(point, from, estimator, confidence).map(|estimate| (*p, estimate))
        });
        let mut parts = parts.collect::<Result<Vec<_>>>()?;
        if outcomes.rest == 0.0 {
            return Ok(Estimate::mixture(&parts));
        }
        let exact = parts.iter().all(|(_, part)| part.exact);
        // To stay on the safe side, what is not looked at is rejected.
        let unknown = Estimate { rate: 1.0, std_error: 0.0, lower: 0.0, upper: 1.0, exact: false };
        parts.push((outcomes.rest, unknown));
        let seen = Estimate::mixture(&parts);
        let mut active = vec![false; point.len()];
        Ok(match self.noise_along(&mut active, origin, point).ok().filter(|_| exact) {
            Some((sd, mean)) => {
                let rate = self.affine_rate((origin, point), self.score(point)?, (mean, sd))?;
                Estimate { rate, upper: rate, ..seen }
            }
            None => seen,
        })
    }

    /// [`Engine::rate`] where every change of category succeeds.
    fn rate_of_success(
        &self,
        point: &[f64],
        from: Option<&[f64]>,
        estimator: &dyn InvalidationRate,
        confidence: f64,
    ) -> Result<Estimate> {
        self.check_row(0, point)?;
        if let Some(from) = from {
            self.check_row(0, from)?;
        }
        if let Some((filled, origin)) = self.filled_pair(point, from.unwrap_or(point))? {
            return filled.engine.rate(&filled.person, from.and(Some(&origin)), estimator);
        }
        let scaled = |raw: &[f64]| {
            let mut out = vec![0.0; raw.len()];
            self.setup.space.scale_into(raw, &mut out);
            out
        };
        let to = scaled(point);
        let origin = match (from, self.setup.noise_on) {
            (Some(from), _) => scaled(from),
            (None, NoiseOn::Changed) => {
                return Err(Error::Unsupported {
                    what: "noise on changed features without the person that they differ from"
                        .to_owned(),
                    why: "give the people to whom the points were advised".to_owned(),
                });
            }
            (None, _) => to.clone(),
        };
        let mut active = vec![false; to.len()];
        // As in a session, a feature counts as changed if its printed value differs.
        self.setup.noise_on.active_into(
            &self.setup.actions,
            from.unwrap_or(point),
            point,
            &mut active,
        );
        let key = Key::default().values(&to).values(&origin).finish();
        let mut stream = self.setup.seed.stream(Purpose::Rate, key);
        let moved = self.task.noise.at(&origin, &to)?;
        if moved.is_some() && from.is_none() {
            return Err(Error::Unsupported {
                what: format!(
                    "{} noise without the person a point was made for",
                    self.task.noise.name()
                ),
                why: "it depends on the change; give the people to whom the points were advised"
                    .to_owned(),
            });
        }
        let noise: &dyn Noise =
            moved.as_ref().map_or(&*self.task.noise, |gaussian| gaussian as &dyn Noise);
        let query = Query { model: &*self.task.model, noise, active: &active, point: &to };
        let shifted = match self.setup.shift {
            None => None,
            Some(shift) => {
                Some(estimator.under_shift(shift).ok_or_else(|| Error::Unsupported {
                    what: format!("estimator {} for a model that may change", estimator.name()),
                    why: "use closed-form for a linear model, else monte-carlo".to_owned(),
                })?)
            }
        };
        let estimator = shifted.as_deref().unwrap_or(estimator);
        let mut estimate = estimator.estimate(&query, confidence, &mut stream)?;
        if estimate.exact
            && self.setup.shift.is_none()
            && let Ok((sd, shift)) = self.noise_along(&mut active, from.unwrap_or(point), point)
        {
            // One point has one exact rate: the number that answers are judged by, of the score in
            // the model's own units.
            let rate = affine_rate(self.score(point)?, shift, sd);
            estimate = Estimate { rate, std_error: 0.0, lower: rate, upper: rate, ..estimate };
        }
        Ok(estimate)
    }

    /// Whether the rates of answers are exact: by a closed form, or as sums over all errors that
    /// the noise can have.
    pub fn has_exact_rates(&self) -> bool {
        self.rates.sampling().is_none_or(session::Sampling::is_exact)
    }

    /// Whether answers state the standard error of their rate ([`Answer::rate_std_error`]).
    pub fn states_std_errors(&self) -> bool {
        self.setup.shift.is_some() && self.rates.is_sampled()
    }

    fn check_width(&self, found: usize) -> Result<()> {
        let expected = self.setup.names.len();
        if found == expected {
            Ok(())
        } else {
            Err(Error::Shape { what: "features of a person", expected, found })
        }
    }
}

/// The method's solver for a task, with as many alternatives as the set-up asks for.
fn prepared(
    setup: &Setup,
    method: &dyn RecourseMethod,
    task: &Arc<Task>,
) -> Result<Box<dyn Solver>> {
    let solver = method.prepare(task)?;
    if setup.alternatives <= 1 {
        return Ok(solver);
    }
    if !method.serves_alternatives() {
        return Err(Error::Unsupported {
            what: format!("several alternatives with method {}", method.name()),
            why: "it has one answer, or its own setting for more; use method probe".to_owned(),
        });
    }
    Ok(Box::new(Alternatives::new(solver, task, setup.alternatives)))
}

/// Fails on a budget that the set-up does not support, before the first person is answered.
fn check_budget(setup: &Setup, method: &dyn RecourseMethod) -> Result<()> {
    let refuse = |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
    if setup.budget.is_none() {
        Ok(())
    } else if !method.serves_budgets() {
        let why = "it reaches a target rate; give that, or use method probe";
        refuse(format!("a budget with method {}", method.name()), why)
    } else if setup.shift.is_some() && setup.model.as_linear().is_some() {
        refuse("a budget with a model shift".to_owned(), "give a target rate instead")
    } else {
        Ok(())
    }
}

/// Fails on relations between features with a method that does not support them.
fn check_ties(setup: &Setup, method: &dyn RecourseMethod) -> Result<()> {
    if setup.actions.ties().is_empty() || method.serves_relations() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("relations between features with method {}", method.name()),
        why: "it does not support them; use method probe, or a schema without them".to_owned(),
    })
}

/// The task in scaled space. Fails on parameters outside their domain.
fn task_of(setup: &Setup) -> Result<Arc<Task>> {
    setup.check()?;
    Ok(Arc::new(Task {
        model: scaled_model(setup)?,
        noise: Arc::clone(&setup.noise),
        noise_on: setup.noise_on,
        cost: match setup.preference.is_empty() {
            true => setup.cost.clone(),
            false => setup.cost.times(&setup.preference)?,
        },
        actions: setup.actions.clone(),
        shift: setup.shift,
        seed: setup.seed,
        options: setup.options.clone(),
        reference: reference_of(setup)?,
        effort: setup.effort,
        left_out: setup.left_out,
    }))
}

/// The model as a function of scaled values.
fn scaled_model(setup: &Setup) -> Result<Arc<dyn Model>> {
    Ok(match (setup.space.model_input(), setup.model.as_linear()) {
        (ModelInput::Raw, Some(linear)) => Arc::new(linear.rescaled(&setup.space)),
        (ModelInput::Raw, None) => match (setup.model.as_mlp(), setup.model.as_trees()) {
            (Some(mlp), _) => Arc::new(mlp.rescaled(&setup.space)?),
            (None, Some(trees)) => Arc::new(trees.rescaled(&setup.space)),
            (None, None) => {
                let (model, space) = (Arc::clone(&setup.model), setup.space.clone());
                Arc::new(BlackBox::new(model.n_features(), move |rows, scores| {
                    let mut raw = Vec::with_capacity(rows.n_rows() * rows.n_cols());
                    for row in rows.iter() {
                        raw.extend(row.iter().enumerate().map(|(j, x)| space.to_raw(j, *x)));
                    }
                    model.score_batch(Rows::new(&raw, rows.n_cols())?, scores)
                })?)
            }
        },
        (ModelInput::Scaled, _) => Arc::clone(&setup.model),
    })
}

/// Reference data in scaled space.
fn reference_of(setup: &Setup) -> Result<Reference> {
    let space = &setup.space;
    let Some(raw) = &setup.reference else {
        let scaled =
            |j: usize| setup.ranges[j].map(|range| range.map(|end| space.to_scaled(j, end)));
        let known: Vec<_> = (0..setup.names.len()).map(scaled).collect();
        return Ok(Reference::of_ranges(&known, &setup.actions));
    };
    let mut rows = vec![0.0; raw.len()];
    let scaled = rows.chunks_mut(setup.names.len());
    Rows::new(raw, setup.names.len())?
        .iter()
        .zip(scaled)
        .for_each(|(raw, out)| space.scale_into(raw, out));
    Reference::of_rows(rows, &setup.names)
}

/// Stands in for a method where no recourse is asked for.
struct NoMethod;

impl Solver for NoMethod {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Self)
    }
}

impl Worker for NoMethod {
    fn find(&mut self, _ask: &Ask<'_>, _proposal: &mut Proposal) -> Result<()> {
        Err(Error::Unsupported {
            what: "recourse by an engine without a method".to_owned(),
            why: "it was built to rate points; build it with a method".to_owned(),
        })
    }
}
