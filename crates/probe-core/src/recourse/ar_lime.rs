//! `ar-lime`: actionable recourse for models that are not linear, on a surrogate that is.
//!
//! Around a point the model is replaced by an affine surrogate (`lime` beside this file), for which
//! [`super::ar`] solves its integer program (Ustun, Spangher and Liu 2019, arXiv:1809.06514, with
//! LIME as they propose for other models). The model itself then scores the action.
//!
//! A surrogate is seldom accurate where its action leads. The first one, around the person, is
//! therefore followed by others around the last action, as in Newton's method. Each has the model's
//! own score at its centre, so that an action that the model rejected is not proposed again. If a
//! surrogate has no favourable action, the one that gains most is used. An action that the model
//! accepts is shortened on the grid as far as the model still accepts it. All this is repeated for
//! draws of several spreads, because a narrow surrogate of trees is flat and a wide one of networks
//! is inaccurate. The answer is the cheapest action that the model accepts. If there is none, the
//! search is repeated with at most one change, two, four and so on, so that everybody who has an
//! answer under a limit on changes also has one without it.
//!
//! Constraints and grid: those of `ar`; only features that may change are drawn. Works with any
//! model.
//!
//! `version=library` uses one surrogate, of the probability, as implemented in the recourse library
//! CARLA (`lime`). Its answer is the first of up to 100 actions that the model accepts, in
//! ascending order of the cost of [`super::ar`]'s `version=library`.
//!
//! Settings: `version` (`paper`, `library`); `step`, a share of the range; `tries`, surrogates one
//! after the other for one spread; `samples` of a surrogate; `spread` (a list), in deviations of
//! each feature.
//!
//! Cost: one score per sample, and one integer program per try.

use super::ar::{self, Found, Grid, Percentiles, Program};
use super::flip::{Flip, Search};
use super::lime::{self, Draw, Lime};
use super::reach::Reach;
use super::version::Version;
use super::{Ask, MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::error::Result;
use crate::registry::Entry;
use crate::schema::Group;
use std::sync::Arc;

const NAME: &str = "ar-lime";
/// Chosen on people of the training rows (`probe reproduce settings`).
const SPREADS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
/// Number of actions in the list of `version=library`.
const LISTED: usize = 100;

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Ustun, Spangher and Liu 2019, arXiv:1809.06514, on LIME, arXiv:1602.04938",
    item: &ArLime,
};

struct ArLime;

fn tries(options: &MethodOptions) -> Result<usize> {
    options.count("tries", 10)
}

impl RecourseMethod for ArLime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        let mut known = lime::NAMES.to_vec();
        known.extend(["step", "tries", "version"]);
        options.only(NAME, &known)?;
        lime::samples(options)?;
        lime::spreads(options, &SPREADS)?;
        ar::step(options)?;
        Version::new(options)?;
        tries(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        ar::check(NAME, task)?;
        self.check_options(&task.options)?;
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            lime: Lime::new(task)?,
            spreads: lime::spreads(&task.options, &SPREADS)?,
            step: ar::step(&task.options)?,
            tries: tries(&task.options)?,
            percentiles: ar::percentiles(NAME, task)?,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    lime: Lime,
    spreads: Vec<f64>,
    step: f64,
    tries: usize,
    /// The cost by percentiles; only for the search as implemented in CARLA.
    percentiles: Option<Percentiles>,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let search = Chains { prepared: self, grids: ar::grids(&self.task, self.step), best: None };
        Box::new(Flip::new(&self.task, search))
    }
}

/// One person's problem.
struct Person<'a> {
    factual: &'a [f64],
    /// The person, moved inside the reach.
    start: &'a [f64],
    reach: &'a Reach,
    /// The features that may change.
    features: Vec<usize>,
    groups: Vec<(&'a Group, Vec<usize>)>,
}

struct Chains<'a> {
    prepared: &'a Prepared,
    grids: Vec<Grid>,
    /// Cost and point of the cheapest action that the model accepts.
    best: Option<(f64, Vec<f64>)>,
}

impl Chains<'_> {
    /// The search as implemented in CARLA: one surrogate, and the first action in its list that the
    /// model accepts.
    fn listed(&self, percentiles: &Percentiles, reach: &Reach, point: &mut [f64]) -> Result<bool> {
        let Prepared { task, lime, .. } = self.prepared;
        let start = point.to_vec();
        let surrogate = lime.of_probability(task, &start)?;
        percentiles.actions(&surrogate, &self.grids, reach, &start).each(LISTED, |action| {
            point.copy_from_slice(action);
            Ok(task.model.score(action)? > 0.0)
        })
    }

    /// Surrogates one after the other, each around the action of the one before. Returns the action
    /// with the highest score, and that score.
    fn chain(
        &mut self,
        person: &Person<'_>,
        spread: f64,
        limit: Option<usize>,
    ) -> Result<(f64, Vec<f64>)> {
        let Prepared { task, lime, tries, .. } = self.prepared;
        let mut centre = person.start.to_vec();
        let mut score = task.model.score(&centre)?;
        let mut point = centre.clone();
        let (mut highest, mut seen) = ((score, centre.clone()), Vec::new());
        for _ in 0..*tries {
            let Person { factual, start, reach, features, groups } = person;
            let mut surrogate =
                lime.near(task, &Draw { centre: &centre, spread, features, groups })?;
            surrogate.bias += score - surrogate.score(&centre);
            let parts = (&task.cost, &task.actions);
            let mut program = Program::new(parts, &surrogate, &self.grids, reach, (factual, start))
                .with_max_changes(limit);
            if program.cheapest(&mut point)? != Found::Action && !program.farthest(&mut point) {
                break;
            }
            score = task.model.score(&point)?;
            if score > 0.0 {
                program.take_back(&*task.model, &mut point)?;
                score = task.model.score(&point)?;
                let cost = task.cost.between(factual, &point);
                if self.best.as_ref().is_none_or(|(least, _)| cost < *least) {
                    self.best = Some((cost, point.clone()));
                }
            }
            if score > highest.0 {
                highest = (score, point.clone());
            }
            // A point that occurs again would repeat all further ones.
            if seen.contains(&point) {
                break;
            }
            seen.push(point.clone());
            centre.copy_from_slice(&point);
        }
        Ok(highest)
    }
}

impl Search for Chains<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        if let Some(percentiles) = &self.prepared.percentiles {
            let found = self.listed(percentiles, reach, point)?;
            return Ok(if found { Ok(()) } else { Err(Reason::NotFound) });
        }
        let task = &self.prepared.task;
        let start = point.to_vec();
        let actions = &task.actions;
        let mut groups = Vec::new();
        for (_, group) in
            actions.groups().iter().enumerate().filter(|(g, _)| actions.is_mutable_group(*g))
        {
            let Some(current) = group.option_of(factual) else { continue };
            let allowed = |o: &usize| *o == current || group.allows(current, *o);
            groups.push((group, (0..group.n_options()).filter(allowed).collect()));
        }
        let features = (0..start.len()).filter(|&j| reach.is_open(j)).collect();
        let person = Person { factual, start: &start, reach, features, groups };
        self.best = None;
        let own = actions.max_changes();
        let most = own.unwrap_or(usize::MAX).min(person.features.len() + person.groups.len());
        let fewer =
            std::iter::successors(Some(1), |k| Some(2 * k)).take_while(|k| *k < most).map(Some);
        let mut highest = (f64::NEG_INFINITY, start.clone());
        for limit in std::iter::once(own).chain(fewer) {
            for &spread in &self.prepared.spreads {
                let found = self.chain(&person, spread, limit)?;
                if found.0 > highest.0 {
                    highest = found;
                }
            }
            if let Some((_, best)) = &self.best {
                point.copy_from_slice(best);
                return Ok(Ok(()));
            }
        }
        point.copy_from_slice(&highest.1);
        Ok(Err(Reason::NotFound))
    }

    fn moves_groups(&self) -> bool {
        self.prepared.percentiles.is_none()
    }
}
