//! Samples for tree models: errors stored as ranks. If the model has few boxes, rates are exact.

use super::lines::REPORTED_ERROR_GAUSSIAN;
use super::{Batch, Outcome, Pilot, Samples, Subject, add_where, indicator};
use crate::engine::session::certify::{Observations, StoppingRule, Target, Test, TooClose};
use crate::error::Result;
use crate::invalidation::certificate::{Bet, Betting, Mixture, share_at_least};
use crate::invalidation::{Boxes, Draws, Errors, Forest, STRATA};
use crate::model::Trees;
use crate::noise::Noise;
use crate::recourse::Task;
use crate::seed::Purpose;
use std::ops::ControlFlow;

/// Pilot errors around a point.
const PILOT_ERRORS: usize = 2_048;
/// Sets of errors that one attempt may read.
pub(super) const MAX_SETS: usize = 64;
/// The least and the largest number of errors for a reported rate.
const MIN_REPORTING: usize = 2_048;
const MAX_REPORTING: usize = Errors::MOST;
/// Number of independent errors for the lower bound on the rate of the person's own point.
const BOUND_ERRORS: usize = 1_024;
/// Errors that a certificate evaluates at a time.
const JUDGED: usize = 1_024;
/// Errors after which a certificate checks whether it has enough evidence.
const PORTION: usize = 256;
/// The lowest target that is certified on hypercubes. One observation adds at most the target to
/// the evidence. Below this target the eight draws of a cube add more as separate observations.
const LEAST_CUBED: f64 = 0.04;
/// Variance of the mean over a hypercube, as a share of the variance of the mean of as many
/// independent draws; about.
const CUBE_VARIANCE: f64 = 0.65;
/// Sets after which an attempt may be given up for a lower aim.
const LEAST_SETS: usize = 4;

const RULE: StoppingRule =
    StoppingRule { extra_batches: 7, hopeless_after: 8, ..StoppingRule::up_to(MAX_SETS) };

/// Errors for trees, shared by all sessions.
pub(in crate::engine) struct Sets {
    pilot: Errors,
    /// Independent draws for certificates.
    fresh: Draws,
    /// Latin hypercubes of draws for certificates.
    cubes: Draws,
    reporting: Errors,
    /// Whether rates are exact with noise on four features, too.
    four: bool,
}

impl Sets {
    pub(super) fn new(task: &Task, attempts: usize) -> Result<Self> {
        let (noise, seed) = (&*task.noise, task.seed);
        let active = task.noise_on.fixed(&task.actions);
        let four = match (task.model.as_trees(), active) {
            (Some(model), Some(active)) => Boxes::are_few_on_four(model, noise, &active),
            _ => false,
        };
        Ok(Self {
            four,
            // Other errors than those of the search, which has fitted its answer to its own.
            pilot: Errors::even(noise, seed, (Purpose::Search, 2), PILOT_ERRORS)?,
            fresh: Draws::new(seed, Purpose::Certificate, attempts, MAX_SETS),
            cubes: Draws::latin(seed, Purpose::Certificate, attempts, MAX_SETS),
            reporting: Errors::even(noise, seed, (Purpose::Audit, 0), MAX_REPORTING)?,
        })
    }
}

/// One thread's evaluation of points on trees.
pub(super) struct OnTrees<'e> {
    sets: &'e Sets,
    forest: Forest<'e>,
    boxes: Option<Boxes<'e>>,
    /// The exact rate of the current point, if it is known.
    exact: Option<f64>,
    refused: Vec<bool>,
}

impl<'e> OnTrees<'e> {
    pub(super) fn new(sets: &'e Sets, model: &'e Trees, noise: &'e dyn Noise) -> Self {
        Self {
            forest: Forest::new(model),
            boxes: Boxes::new(model, noise).map(|boxes| boxes.with_four(sets.four)),
            exact: None,
            refused: Vec::new(),
            sets,
        }
    }

    /// Whether rates are probably exact, from boxes: noise acts on few features, or there is one
    /// tree.
    fn few_boxes(&self, task: &Task) -> bool {
        let active = task.noise_on.fixed(&task.actions);
        self.boxes
            .as_ref()
            .is_some_and(|boxes| active.is_none_or(|active| boxes.expects_few(&active)))
    }

    /// The share of the first `n` errors of a set that are rejected.
    fn share_of(&mut self, subject: &Subject<'_>, errors: &Errors, n: usize) -> f64 {
        self.turn_to(subject, errors);
        self.judge(subject, errors, 0, n);
        self.refused.iter().filter(|refused| **refused).count() as f64 / n as f64
    }

    /// Prepares the trees for a set of errors.
    fn turn_to(&mut self, subject: &Subject<'_>, errors: &Errors) {
        self.forest.aim(errors, &subject.point, &subject.active, 1.0);
    }

    /// Finds which of `n` errors of a set are rejected, starting with number `from`.
    fn judge(&mut self, subject: &Subject<'_>, errors: &Errors, from: usize, n: usize) {
        self.refused.resize(n, false);
        let at = (&subject.point[..], &subject.active[..], 1.0);
        self.forest.refused(errors, from, at, &mut self.refused, &mut []);
    }
}

impl Samples for OnTrees<'_> {
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot> {
        let boxes = self.boxes.as_mut();
        self.exact =
            boxes.and_then(|boxes| boxes.rate_if_few(&subject.point, &subject.active, None));
        let sets = self.sets;
        let mean = self.exact.unwrap_or_else(|| self.share_of(subject, &sets.pilot, PILOT_ERRORS));
        Ok(Pilot { mean, variance: mean * (1.0 - mean) })
    }

    fn test<'s>(
        &'s mut self,
        subject: &'s Subject<'_>,
        pilot: Pilot,
        to: &Target,
    ) -> Result<Test<'s>> {
        let cubed = to.max_rate >= LEAST_CUBED;
        let (variance, each) = match cubed {
            true => (CUBE_VARIANCE * pilot.variance / STRATA as f64, STRATA as f64),
            false => (pilot.variance, 1.0),
        };
        let bet: Box<dyn Bet> = match cubed {
            true => Box::new(Betting::expecting(to.max_rate, pilot.mean, variance)?),
            false => Box::new(Mixture::expecting(to.max_rate, pilot.mean)?),
        };
        let close = to.safety_gap().map(|gap| TooClose {
            after: LEAST_SETS,
            least_gap: 0.6 * gap,
            n_std_errors: 0.75,
            variance: variance * each,
            batch_size: Draws::SET,
        });
        Ok(Test {
            bet,
            ladder: to.ladder(pilot.mean, variance)?,
            rule: StoppingRule { close, ..RULE },
            observations: Box::new(FreshErrors {
                trees: self,
                subject,
                cubed,
                segment: to.segment,
                shares: Vec::with_capacity(PORTION),
            }),
        })
    }

    fn report(&mut self, subject: &Subject<'_>, _: Pilot, max_rate: f64) -> Result<f64> {
        if let Some(exact) = self.exact {
            return Ok(exact);
        }
        // Each evenly spread error is worth at least three independent ones.
        let error = REPORTED_ERROR_GAUSSIAN * max_rate;
        let enough = (max_rate * (1.0 - max_rate) / (3.0 * error * error)).min(1e9) as usize;
        let enough = enough.next_power_of_two().clamp(MIN_REPORTING, MAX_REPORTING);
        let sets = self.sets;
        Ok(self.share_of(subject, &sets.reporting, enough))
    }

    fn rate_at_least(&mut self, subject: &Subject<'_>, delta: f64) -> Result<(f64, bool)> {
        let boxes = self.boxes.as_mut();
        let exact =
            boxes.and_then(|boxes| boxes.rate_if_few(&subject.point, &subject.active, None));
        if let Some(rate) = exact {
            return Ok((rate, true));
        }
        let errors = self.sets.fresh.set(&*subject.task.noise, 0, 0)?;
        let share = self.share_of(subject, errors, BOUND_ERRORS);
        Ok((share_at_least(share, BOUND_ERRORS, delta), false))
    }

    fn expects_exact_rates(&self, task: &Task) -> bool {
        self.few_boxes(task)
    }

    fn first_aim(&self, task: &Task, rate: f64) -> f64 {
        match self.few_boxes(task) {
            // Exact rates need a safety gap only for the limited precision of the search.
            true => 0.998 * rate,
            false => rate * (1.0 - 0.05 * (0.35 / rate).sqrt()).max(0.75),
        }
    }

    fn is_exact(&self) -> bool {
        self.exact.is_some()
    }

    fn pilot_size(&self) -> usize {
        PILOT_ERRORS
    }

    fn max_batches(&self) -> usize {
        MAX_SETS
    }

    fn are_expensive(&self) -> bool {
        true
    }

    fn shares_noise_with_search(&self) -> bool {
        true
    }

    fn add_refused(
        &mut self,
        subject: &Subject<'_>,
        outcome: &Outcome,
        batch: Batch<'_>,
        shares: &mut Vec<f64>,
    ) -> Result<()> {
        let sets = self.sets;
        let errors = sets.fresh.set(&*subject.task.noise, batch.segment, batch.index)?;
        self.turn_to(subject, errors);
        self.judge(subject, errors, 0, errors.len());
        add_where(&self.refused, outcome.probability, shares);
        Ok(())
    }
}

/// Fresh errors. Independent draws are observed one by one. Of a hypercube the share of rejected
/// draws is observed, because cubes are independent of each other and draws within one are not.
struct FreshErrors<'s, 'e> {
    trees: &'s mut OnTrees<'e>,
    subject: &'s Subject<'s>,
    cubed: bool,
    segment: usize,
    shares: Vec<f64>,
}

impl Observations for FreshErrors<'_, '_> {
    fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let Self { trees, subject, shares, .. } = self;
        let draws = if self.cubed { &trees.sets.cubes } else { &trees.sets.fresh };
        let errors = draws.set(&*subject.task.noise, self.segment, index)?;
        trees.turn_to(subject, errors);
        for from in (0..errors.len()).step_by(PORTION) {
            if from.is_multiple_of(JUDGED) {
                trees.judge(subject, errors, from, JUDGED);
            }
            let refused = &trees.refused[from % JUDGED..][..PORTION];
            shares.clear();
            match self.cubed {
                true => shares.extend(refused.chunks_exact(STRATA).map(share_refused)),
                false => shares.extend(refused.iter().map(indicator)),
            }
            if take(shares).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The share of rejected draws in a hypercube.
fn share_refused(cube: &[bool]) -> f64 {
    cube.iter().filter(|refused| **refused).count() as f64 / cube.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Engine, Setup};
    use crate::math::normal::upper_quantile;
    use crate::model::{Tree, TreeRules};
    use std::sync::Arc;

    #[test]
    fn a_hypercube_is_observed_by_its_mean() {
        let cube: [bool; STRATA] = std::array::from_fn(|i| i < 2);
        assert_eq!(share_refused(&cube), 0.25);
    }

    #[test]
    fn an_attempt_with_much_less_gap_than_intended_is_given_up() {
        // Favourable above 0; the noise has a standard deviation of 1.
        let stump = Tree {
            feature: vec![0; 3],
            threshold: vec![0.0; 3],
            left: vec![1, -1, -1],
            right: vec![2, -1, -1],
            value: vec![0.0, -1.0, 1.0],
            default_left: vec![],
        };
        let model = Trees::new(1, vec![stump], TreeRules::default(), 0.0).unwrap();
        let setup = Setup::new(Arc::new(model), vec!["x".to_owned()], None, 1.0).unwrap();
        let engine = Engine::new(setup).unwrap();
        let task = engine.task();
        let sets = Sets::new(task, 3).unwrap();
        let mut trees = OnTrees::new(&sets, task.model.as_trees().unwrap(), &*task.noise);
        // A rate of 0.098 instead of the intended 0.09: a fifth of the gap to 0.1 is left.
        let subject = Subject {
            task,
            from: vec![-1.0],
            point: vec![upper_quantile(0.098)],
            active: vec![true],
        };
        let pilot = trees.pilot(&subject).unwrap();
        let mut attempt = |intended, may_give_up, segment| {
            let (max_rate, delta, tighten_bound) = (0.1, 1e-3, false);
            let target = Target { max_rate, intended, may_give_up, tighten_bound, delta, segment };
            trees.test(&subject, pilot, &target).unwrap().run(max_rate, delta, None).unwrap()
        };
        // The mean of 4 sets is off by less than 0.001, because in a hypercube only the position
        // within a stratum is random.
        let given_up = attempt(0.09, true, 0);
        assert!(!given_up.certified && (given_up.mean - 0.098).abs() < 2e-3, "{given_up:?}");
        assert_eq!(sets.cubes.n_drawn(0), LEAST_SETS);
        // If no lower aim is left, the same point is certified, on several times as many errors.
        let kept = attempt(0.09, false, 1);
        let n = sets.cubes.n_drawn(1);
        assert!(kept.certified && n > 2 * LEAST_SETS, "{n}");
        // If the gap is about as large as intended, the attempt continues.
        let as_intended = attempt(0.098, true, 2);
        let n = sets.cubes.n_drawn(2);
        assert!(as_intended.certified && n > LEAST_SETS, "{n}");
    }
}
