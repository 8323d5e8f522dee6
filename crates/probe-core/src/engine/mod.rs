//! The engine: people in their own units in, judged answers out.
//!
//! A method proposes a point in scaled space; the engine turns it into the person's units, checks
//! it against the action space, scores the very row that will be printed, steps it outward by ulps
//! until the rate holds in `f64`, and decides the status. Methods cannot skip this.

mod answer;
mod missing;
mod session;
mod tolerance;

pub use answer::{Answer, Limit, Shortfall, Status};
pub use session::{Relaxation, Relaxed, Session};
pub use tolerance::{Side, Slack, Tolerance};

use crate::cost::Cost;
use crate::error::{Error, Result, require};
use crate::invalidation::{Estimate, InvalidationRate, Query, affine_rate};
use crate::model::{BlackBox, Model, ModelShift};
use crate::noise::{Gaussian, Noise, NoiseOn};
use crate::recourse::{
    Alternatives, Ask, Goal, MethodOptions, Notes, Proposal, RecourseMethod, Reference,
    SearchEffort, Solver, Task, Worker, method,
};
use crate::rows::Rows;
use crate::schema::{Actions, Encoding, Feature, ModelInput, Schema, Space};
use crate::seed::{Key, Purpose, Seed};
use missing::{Origin, Variants, all_finite};
use rayon::prelude::*;
use std::sync::Arc;

/// What an engine is built from. [`Setup::new`] has the defaults; change what differs.
#[derive(Clone)]
pub struct Setup {
    /// The model, on its own input (scaled or raw, as `space` says).
    pub model: Arc<dyn Model>,
    /// Names of the model's columns, for errors and explanations.
    pub names: Vec<String>,
    /// The person's features as these columns. The engine itself works on columns.
    pub encoding: Encoding,
    /// The person's units.
    pub space: Space,
    /// What may change, in scaled space.
    pub actions: Actions,
    /// Bounds in raw units that `actions` came from, so that an answer at a bound prints the bound
    /// itself.
    pub raw_bounds: Vec<(Option<f64>, Option<f64>)>,
    /// What a person can be told multiples of, raw, where a feature moves by steps.
    pub steps: Vec<Option<f64>>,
    /// Range of each feature in training, raw, where known.
    pub ranges: Vec<Option<[f64; 2]>>,
    /// What a change costs, in scaled space.
    pub cost: Cost,
    /// Factors on the costs by which answers are chosen, not on those that are reported: below 1
    /// for columns that the person would rather change, above 1 for those they would rather not.
    /// Empty for none.
    pub preference: Vec<f64>,
    /// How many different ways each person is told: each the cheapest that does without some
    /// feature of every way before it.
    pub alternatives: usize,
    /// How people miss the advice, in scaled space.
    pub noise: Arc<dyn Noise>,
    /// On which features.
    pub noise_on: NoiseOn,
    /// How the model may change before the advice is carried out, in scaled space.
    pub shift: Option<ModelShift>,
    /// Target invalidation rate; with a budget, what counts as certified.
    pub max_rate: f64,
    /// Spend at most this for the most robust answer, instead of reaching `max_rate` at least cost.
    pub budget: Option<f64>,
    /// Treat favourable people whose rate is above `max_rate` as seeking recourse.
    pub also_favourable: bool,
    /// Whether answers without an exact rate are certified on fresh samples.
    pub certify: bool,
    /// Confidence of sampled certificates.
    pub confidence: f64,
    /// What the search aims at where rates are sampled, as a share of the target: closer to 1 is
    /// cheaper for the person and needs more samples. `None` for a share that suits the target.
    pub aim: Option<f64>,
    /// Whether answers whose rate is sampled are to have tolerances ([`Engine::tolerance`]): the
    /// certificate then goes on for as low a bound as samples give and, unless `aim` says
    /// otherwise, the search aims at three quarters of the target, so that there is something to
    /// tolerate. Such an answer costs a little more. No effect where no tolerance would be proven.
    pub tolerance: bool,
    /// Seed of all streams.
    pub seed: Seed,
    /// Recourse method.
    pub method: String,
    /// Its settings.
    pub options: MethodOptions,
    /// Rows like those that the model was trained on, raw, one after the other, for methods that
    /// need data.
    pub reference: Option<Arc<[f64]>>,
    /// How much work an answer is worth, where the method searches.
    pub effort: SearchEffort,
    /// A generator of the search ([`crate::GENERATORS`]) that does not run, to measure what it is
    /// for.
    #[doc(hidden)]
    pub left_out: Option<&'static str>,
}

impl Setup {
    /// Defaults for a model: Gaussian noise of `sigma` (a feature's own noise in the schema
    /// overrides it), l1 cost, target rate 0.1. With a schema: its units, bounds, directions,
    /// costs, and noise on mutable features; without: every column a free number, and noise on all.
    pub fn new(
        model: Arc<dyn Model>,
        names: Vec<String>,
        schema: Option<&Schema>,
        sigma: f64,
    ) -> Result<Self> {
        let n = model.n_features();
        if names.len() != n {
            return Err(Error::Shape { what: "feature names", expected: n, found: names.len() });
        }
        require(sigma > 0.0 && sigma.is_finite(), "sigma", "positive and finite", sigma)?;
        let encoding = match schema {
            Some(schema) => {
                schema.check()?;
                Encoding::new(schema, &names)?
            }
            None => Encoding::identity(&names),
        };
        let columns = encoding.columns();
        let (up, down) = columns.costs();
        let mut setup = Self {
            space: columns.space(),
            actions: Actions::free(n),
            raw_bounds: Vec::new(),
            ranges: columns.features.iter().map(|f| f.range).collect(),
            steps: columns.features.iter().map(Feature::step).collect(),
            cost: Cost::new("l1", up, down)?.with_groups(&encoding.groups()),
            noise: Arc::new(Gaussian::new(
                vec![0.0; n],
                crate::noise::Covariance::Diagonal(columns.noise_sd(sigma)),
            )?),
            noise_on: if schema.is_some() { NoiseOn::Mutable } else { NoiseOn::All },
            shift: None,
            max_rate: 0.1,
            budget: None,
            preference: Vec::new(),
            alternatives: 1,
            also_favourable: false,
            certify: true,
            confidence: 0.999,
            aim: None,
            tolerance: false,
            seed: Seed(0),
            method: "probe".to_owned(),
            options: MethodOptions::default(),
            reference: None,
            effort: SearchEffort::Normal,
            left_out: None,
            model,
            names,
            encoding,
        };
        setup.set_bounds(true)?;
        Ok(setup)
    }

    /// Takes rooms, bounds, steps and categories from the schema, with or without the ranges
    /// learned in training. This starts the action space anew: fixed features and boxes set before
    /// are gone; the limit on changes and strictness stay.
    pub fn set_bounds(&mut self, learned: bool) -> Result<()> {
        let (k, strict) = (self.actions.max_changes(), self.actions.is_strict());
        let actions = self.encoding.actions(learned)?;
        let most = k.or(actions.max_changes());
        self.actions = actions.with_max_changes(most).with_strict_bounds(strict);
        self.raw_bounds =
            self.encoding.columns().features.iter().map(|f| f.bounds(learned)).collect();
        Ok(())
    }

    /// Replaces the norm, keeping the weights.
    pub fn set_norm(&mut self, norm: &str) -> Result<()> {
        self.cost = self.cost.with_norm(norm)?;
        Ok(())
    }
}

/// A prepared engine; shared by threads.
pub struct Engine {
    setup: Setup,
    task: Arc<Task>,
    solver: Box<dyn Solver>,
    /// Where rates have no closed form.
    sampling: Option<Arc<session::Sampling>>,
    /// Where the model may change.
    shifted: Option<crate::invalidation::ShiftedRate>,
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
        let exact = task.model.as_linear().is_some()
            && (task.noise.as_gaussian().is_some() || setup.shift.is_some());
        let sampling = if exact { None } else { Some(Arc::new(session::Sampling::new(&task)?)) };
        let shifted = match (setup.shift, task.model.as_linear()) {
            (Some(_), Some(_)) if task.noise_on == NoiseOn::Changed => {
                return Err(Error::Unsupported {
                    what: "noise on changed features only with a model that may change".to_owned(),
                    why: "use noise on all or mutable features".to_owned(),
                });
            }
            (Some(shift), Some(linear)) => {
                let mut active = vec![false; setup.names.len()];
                task.noise_on.active_into(&task.actions, &[], &[], &mut active);
                Some(crate::invalidation::ShiftedRate::new(linear, &*task.noise, &active, shift)?)
            }
            // Sampled.
            (Some(_), None) | (None, _) => None,
        };
        let (origin, variants) = (Origin::Caller, Variants::default());
        Ok(Self { setup, task, solver, sampling, shifted, origin, variants })
    }

    /// An engine that scores and rates points and finds none: for questions that no method serves.
    pub fn without_method(setup: Setup) -> Result<Self> {
        let task = task_of(&setup)?;
        let (origin, variants) = (Origin::NoMethod, Variants::default());
        Ok(Self {
            setup,
            task,
            solver: Box::new(NoMethod),
            sampling: None,
            shifted: None,
            origin,
            variants,
        })
    }

    /// What the engine was built from.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// About the smallest rate that a certificate by sampling can show, where an answer is one of
    /// `of` for the same person; `None` where rates are exact or nothing is to be certified.
    pub fn least_certifiable_rate(&self, of: usize) -> Option<f64> {
        let sampling = self.sampling.as_ref().filter(|_| self.setup.certify)?;
        sampling.least_rate((1.0 - self.setup.confidence) / of.max(1) as f64)
    }

    /// The task in scaled space.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// What came of the method's preparations, where users should know.
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
            if self.sampling.is_some() { people.n_rows().div_ceil(64).clamp(1, 8) } else { 256 };
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
        let outcomes = self.setup.actions.outcomes(from.unwrap_or(point), point);
        let confidence = 1.0 - (1.0 - self.setup.confidence) / outcomes.len().max(1) as f64;
        if outcomes.is_empty() {
            return self.rate_of_success(point, from, estimator, confidence);
        }
        let parts = outcomes.iter().map(|(p, point)| {
            self.rate_of_success(point, from, estimator, confidence).map(|estimate| (*p, estimate))
        });
        Ok(Estimate::mixture(&parts.collect::<Result<Vec<_>>>()?))
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
                    what: "noise on changed features without the person they were changed from"
                        .to_owned(),
                    why: "give the people the points came from".to_owned(),
                });
            }
            (None, _) => to.clone(),
        };
        let mut active = vec![false; to.len()];
        // As the session does: what differs is what is printed differently.
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
                why: "it depends on the change; give the people the points came from".to_owned(),
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
            && let Ok((sd, shift)) =
                session::noise_along(self, &mut active, from.unwrap_or(point), point)
        {
            // One point has one exact rate: the number that answers are judged by, of the score in
            // the model's own units.
            let rate = affine_rate(self.score(point)?, shift, sd);
            estimate = Estimate { rate, std_error: 0.0, lower: rate, upper: rate, ..estimate };
        }
        Ok(estimate)
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

/// The method's solver for a task, for as many ways as are asked for.
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
            what: format!("several ways with method {}", method.name()),
            why: "it has one answer, or settings of its own for more; use method probe".to_owned(),
        });
    }
    Ok(Box::new(Alternatives::new(solver, task, setup.alternatives)))
}

/// Fails on a budget that nobody could spend, before the first person does.
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

/// Fails on relations between features with a method that does not know them.
fn check_ties(setup: &Setup, method: &dyn RecourseMethod) -> Result<()> {
    if setup.actions.ties().is_empty() || method.serves_relations() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("relations between features with method {}", method.name()),
        why: "it does not know them; use method probe, or a schema without them".to_owned(),
    })
}

/// The task in scaled space. Fails on parameters outside their domain.
fn task_of(setup: &Setup) -> Result<Arc<Task>> {
    let Setup { max_rate, confidence, .. } = *setup;
    Goal::Rate(max_rate).check()?;
    if let Some(budget) = setup.budget {
        Goal::Budget(budget).check()?;
    }
    require(confidence > 0.0 && confidence < 1.0, "confidence", "between 0 and 1", confidence)?;
    if let Some(aim) = setup.aim {
        require(aim > 0.0 && aim < 1.0, "aim", "between 0 and 1", aim)?;
    }
    if let Some(shift) = setup.shift {
        shift.check()?;
    }
    if setup.noise_on == NoiseOn::Changed && max_rate >= 0.5 {
        return Err(Error::Unsupported {
            what: format!("r = {max_rate} with noise on changed features only"),
            why: "it needs r < 0.5".to_owned(),
        });
    }
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

/// What is known of people in general, in scaled space.
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
