//! Samples around a printed row: scouts that look around it, fresh ones that a certificate reads,
//! and others behind the reported rate. Lines for networks, errors as ranks for trees, plain draws
//! for the rest, and exact rates where there are some.

mod mixed;
mod refusals;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::invalidation::certificate::{Bet, Betting, Mixture, UpperBound, share_of_attempt};
use crate::invalidation::{
    BLOCK, Boxes, Draws, Errors, Forest, LEAST_AIM, Ladder, LineMode, Lines, Models, Pool, STRATA,
    Spread, has_lines, usual_gap,
};
use crate::model::ModelShift;
use crate::noise::{Noise, Residuals};
use crate::recourse::Task;
use crate::rows::{Rows, RowsMut};
use crate::seed::{Key, Purpose, Stream};
use refusals::OnRefusals;

/// Attempts that a person has: each reads a segment of fresh samples of its own.
pub(super) const ATTEMPTS: usize = 4;
/// Blocks of lines that one attempt may read.
const MAX_BLOCKS: usize = 640;
/// Blocks that an attempt may read beyond its certificate, for a lower bound.
const MORE_BLOCKS: usize = 64;
/// Lines that look around a point before it is certified.
const SCOUTS: usize = 64;
/// Lines whose masses have less variance than this are one line.
const ALIKE: f64 = 1e-12;
/// Lines behind the reported rate: at least, and at most.
const AUDITORS: usize = 128;
const MAX_AUDITORS: usize = 8_192;
/// Standard error at which no more lines are read for the reported rate, as a share of the rate or
/// of the target, if that is higher. It is that of independent lines; evenly spread ones are worth
/// three of them at least under Gaussian noise.
const AUDITED_SHARE: f64 = 0.015;
const AUDITED_SHARE_GAUSSIAN: f64 = 0.03;
/// Draws at a time, where there are no lines, and draws that look around a point.
const DRAWS: usize = 64;
const SCOUT_DRAWS: usize = 16_384;
/// Errors that look around a point on trees, that are behind a reported rate, and sets of them that
/// one attempt may read.
const SCOUT_ERRORS: usize = 2_048;
const AUDIT_ERRORS: usize = Errors::MOST;
const LEAST_AUDIT_ERRORS: usize = 2_048;
/// Errors that a certificate on trees judges at a time, and after which it looks at what it has
/// won.
const JUDGED: usize = 1_024;
const LOOK: usize = 256;
/// The lowest target that is certified on hypercubes: an observation wins the target at most, and
/// below this eight draws win more one by one.
const LEAST_CUBED: f64 = 0.04;
/// What a hypercube leaves of the variance of the mean of as many independent draws, or nearly.
const SPREAD: f64 = 0.65;
const MAX_SETS: usize = 64;
/// Sets after which an attempt may be given up for a lower aim.
const LEAST_SETS: usize = 4;
/// Sets that an attempt may read beyond its certificate, for a lower bound.
const MORE_SETS: usize = 8;
/// Drawn models that look around a point, where the model may change.
const SCOUT_MODELS: usize = 512;
/// Share of the error probability that pays for the reported upper bound; the rest pays for the
/// certificate.
const SHARE_OF_BOUND: f64 = 0.02;

/// Samples that all sessions share.
pub(in crate::engine) enum Sampling {
    /// Lines, for models with gradients under most noise.
    Lines(Box<Pools>),
    /// Errors as ranks, for trees.
    Forest(Box<Sets>),
    /// Lines again, each on a model of its own: the model may change.
    Shifted(ModelShift),
    /// All errors there are: rates are exact.
    Finite,
    /// Independent draws, for everything else.
    Draws,
}

/// Errors for lines.
pub(in crate::engine) struct Pools {
    /// Where the noise acts, unless that depends on the changes.
    active: Option<Vec<bool>>,
    scouts: Pool,
    fresh: Pool,
    auditors: Pool,
}

/// Errors for trees.
pub(in crate::engine) struct Sets {
    scouts: Errors,
    /// Independent draws, and Latin hypercubes of them.
    fresh: Draws,
    cubes: Draws,
    auditors: Errors,
}

impl Sampling {
    /// The best there is for a task.
    pub(in crate::engine) fn new(task: &Task) -> Result<Self> {
        if let Some(shift) = task.shift {
            Models::new(&*task.model, shift)?;
            Lines::new(&*task.model, &*task.noise, None)?;
            return Ok(Self::Shifted(shift));
        }
        if task.noise.as_residuals().is_some() {
            return Ok(Self::Finite);
        }
        let still = vec![0.0; task.model.n_features()];
        if task.model.as_trees().is_some() && task.noise.at(&still, &still)?.is_none() {
            let (noise, seed) = (&*task.noise, task.seed);
            return Ok(Self::Forest(Box::new(Sets {
                // Not the errors that the search has fitted its answer to.
                scouts: Errors::even(noise, seed, (Purpose::Search, 2), SCOUT_ERRORS)?,
                fresh: Draws::new(seed, Purpose::Certificate, ATTEMPTS, MAX_SETS),
                cubes: Draws::latin(seed, Purpose::Certificate, ATTEMPTS, MAX_SETS),
                auditors: Errors::even(noise, seed, (Purpose::Audit, 0), AUDIT_ERRORS)?,
            })));
        }
        if task.model.as_differentiable().is_none() || !has_lines(&*task.noise)? {
            return Ok(Self::Draws);
        }
        let active = task.noise_on.fixed(&task.actions);
        let lines = Lines::new(&*task.model, &*task.noise, active.as_deref())?;
        Ok(Self::Lines(Box::new(Pools {
            // Not the points that the search has fitted its answer to.
            scouts: Pool::even(task.seed, Purpose::Search, 2, &lines),
            fresh: Pool::fresh(task.seed, Purpose::Certificate, ATTEMPTS as u64, &lines),
            auditors: Pool::even(task.seed, Purpose::Audit, 0, &lines),
            active,
        })))
    }

    /// About the smallest rate that can be certified with this error probability: a line wins the
    /// gap to the target at most, and an attempt may read so many. `None` where rates are exact.
    pub(in crate::engine) fn least_rate(&self, delta: f64) -> Option<f64> {
        if matches!(self, Self::Finite) {
            return None;
        }
        let own = (1.0 - SHARE_OF_BOUND) * share_of_attempt(delta, 0);
        let most = if matches!(self, Self::Forest(_)) {
            MAX_SETS * Draws::SET
        } else {
            MAX_BLOCKS * BLOCK
        };
        // Half of what they could win goes to their spread.
        Some(-2.0 * own.ln() / ((1.0 - LEAST_AIM) * most as f64))
    }
}

/// One thread's samples around printed rows.
pub(super) struct Sampler<'e> {
    task: &'e Task,
    kind: Kind<'e>,
    from: Vec<f64>,
    point: Vec<f64>,
    active: Vec<bool>,
    /// What may come of the point, where changes of category may fail.
    outcomes: Vec<mixed::Outcome>,
    /// Mean and variance that the scouts saw.
    pub(super) mean: f64,
    variance: f64,
    /// Whether most of the lines that the scouts saw bend, or are dear in any case: they are looked
    /// at in places.
    bends: bool,
}

enum Kind<'e> {
    Lines { pools: &'e Pools, lines: Box<Lines<'e>>, gradient: Vec<f64>, masses: Box<[f64; BLOCK]> },
    Forest { sets: &'e Sets, trees: Box<OnTrees<'e>> },
    Shifted { models: Models<'e> },
    Finite { errors: &'e Residuals },
    Draws,
}

/// Trees with what judges points on them.
struct OnTrees<'e> {
    forest: Forest<'e>,
    boxes: Option<Boxes<'e>>,
    /// The exact rate of the point at hand, where there is one.
    exact: Option<f64>,
    refused: Vec<bool>,
}

/// How an attempt to certify ended.
#[derive(Clone, Copy)]
pub(super) struct Attempt {
    pub(super) certified: bool,
    pub(super) upper: f64,
    /// Mean of what was observed.
    pub(super) mean: f64,
}

impl<'e> Sampler<'e> {
    pub(super) fn new(sampling: &'e Sampling, task: &'e Task) -> Result<Self> {
        let n = task.model.n_features();
        let kind = match (sampling, task.noise.as_residuals()) {
            (Sampling::Forest(sets), _) => match task.model.as_trees() {
                Some(model) => Kind::Forest {
                    trees: Box::new(OnTrees {
                        forest: Forest::new(model),
                        boxes: Boxes::new(model, &*task.noise),
                        exact: None,
                        refused: Vec::new(),
                    }),
                    sets,
                },
                None => Kind::Draws,
            },
            (Sampling::Lines(pools), _) => Kind::Lines {
                lines: Box::new(Lines::new(&*task.model, &*task.noise, pools.active.as_deref())?),
                gradient: vec![0.0; n],
                masses: Box::new([0.0; BLOCK]),
                pools,
            },
            (Sampling::Shifted(shift), _) => {
                Kind::Shifted { models: Models::new(&*task.model, *shift)? }
            }
            (Sampling::Finite, Some(errors)) => Kind::Finite { errors },
            _ => Kind::Draws,
        };
        Ok(Self {
            task,
            kind,
            from: vec![0.0; n],
            point: vec![0.0; n],
            active: vec![false; n],
            outcomes: Vec::new(),
            mean: f64::NAN,
            variance: f64::NAN,
            bends: false,
        })
    }

    /// How many lines were read so far; 0 where there are none.
    pub(super) fn n_lines(&self) -> u64 {
        match &self.kind {
            Kind::Lines { lines, .. } => lines.n_traced(),
            _ => 0,
        }
    }

    /// Whether the method searches under this very noise, so that what it aims at is what it gets.
    pub(super) fn trusts_the_search(&self) -> bool {
        matches!(self.kind, Kind::Lines { .. } | Kind::Forest { .. })
    }

    /// Whether the rate of the point that is looked at is exact.
    pub(super) fn is_exact(&self) -> bool {
        self.outcomes.is_empty()
            && match &self.kind {
                Kind::Forest { trees, .. } => trees.exact.is_some(),
                Kind::Finite { .. } => true,
                _ => false,
            }
    }

    /// Standard error of the mean that the scouts saw.
    pub(super) fn error(&self) -> f64 {
        let scouts = if matches!(self.kind, Kind::Forest { .. }) { SCOUT_ERRORS } else { SCOUTS };
        (self.variance / scouts as f64).sqrt()
    }

    /// Whether boxes are likely to give rates on trees: noise on few features, or one tree.
    fn expects_exact_rates(&self) -> bool {
        let Kind::Forest { trees, .. } = &self.kind else { return false };
        let active = self.task.noise_on.fixed(&self.task.actions);
        trees
            .boxes
            .as_ref()
            .is_some_and(|boxes| active.is_none_or(|active| boxes.expects_few(&active)))
    }

    /// What a search should aim at for `rate`: a little under it, closer where the rate is easy to
    /// estimate. Measured costs and sample counts meet about here.
    pub(super) fn first_aim(&self, rate: f64) -> f64 {
        match self.kind {
            Kind::Lines { .. } => rate - usual_gap(rate, false),
            // Exact rates need no room but for the search's own precision.
            Kind::Forest { .. } if self.expects_exact_rates() => 0.998 * rate,
            Kind::Forest { .. } => rate * (1.0 - 0.05 * (0.35 / rate).sqrt()).max(0.75),
            Kind::Shifted { .. } => rate * (1.0 - 0.03 * (0.35 / rate).sqrt()).max(0.85),
            Kind::Finite { .. } => rate,
            Kind::Draws => rate * (1.0 - 0.1 * (0.35 / rate).sqrt()).max(0.75),
        }
    }

    /// Looks around the `point` that a person at `from` is told to reach, on the search's samples,
    /// so that a certificate may rest on what is seen; turns lines the way the rate changes most.
    pub(super) fn look(&mut self, from: &[f64], point: &[f64], active: &[bool]) -> Result<()> {
        self.from.copy_from_slice(from);
        self.active.copy_from_slice(active);
        let outcomes = self.task.actions.outcomes(from, point);
        if !outcomes.is_empty() {
            return self.look_at_outcomes(outcomes);
        }
        self.outcomes.clear();
        self.look_at(point)
    }

    /// [`Sampler::look`] at one point, without regard to what may fail.
    fn look_at(&mut self, point: &[f64]) -> Result<()> {
        self.point.copy_from_slice(point);
        let (from, active) = (&self.from, &self.active);
        if let Kind::Lines { pools, lines, gradient, .. } = &mut self.kind {
            lines.enter(from, point, active)?;
            lines.aim(point, None)?;
            self.bends = lines.bend(&pools.scouts)?;
            // For the direction one root of each line will do; not for mean and variance.
            lines.take_roughly(self.bends);
            let (_, spread) = lines.margin(&pools.scouts, SCOUTS, Some(gradient))?;
            lines.take_roughly(false);
            (self.mean, self.variance) = (spread.mean(), spread.variance());
            lines.aim(point, Some(gradient))?;
            if self.bends {
                // Lines that are all alike, as noise on one feature has them, are worth a look as a
                // whole.
                let alike = lines.are_deep() && self.variance < ALIKE;
                let look = if alike {
                    LineMode::Whole
                } else {
                    LineMode::closely(self.mean, self.variance)
                };
                let (_, spread) = lines.stratified_margin(&pools.scouts, 2 * SCOUTS, look)?;
                (self.mean, self.variance) = (spread.mean(), spread.variance());
                self.bends = !alike;
            }
            return Ok(());
        }
        if let Kind::Forest { sets, trees } = &mut self.kind {
            let sets = *sets;
            trees.exact = trees
                .boxes
                .as_mut()
                .and_then(|boxes| boxes.rate_if_few(&self.point, &self.active, None));
            self.mean = match trees.exact {
                Some(rate) => rate,
                None => self.share_of(&sets.scouts, SCOUT_ERRORS),
            };
            self.variance = self.mean * (1.0 - self.mean);
            return Ok(());
        }
        if let Kind::Shifted { .. } = self.kind {
            let mut seen = [0.0; SCOUT_MODELS];
            self.shifted_masses(Purpose::Search, 0, 0, &mut seen)?;
            let n = seen.len() as f64;
            self.mean = seen.iter().sum::<f64>() / n;
            self.variance = seen.iter().map(|x| (x - self.mean).powi(2)).sum::<f64>() / (n - 1.0);
            return Ok(());
        }
        self.mean = self.share_refused(Purpose::Search, SCOUT_DRAWS)?;
        Ok(())
    }

    /// The share of the first `n` errors of a set that trees refuse.
    fn share_of(&mut self, errors: &Errors, n: usize) -> f64 {
        self.turn_to(errors);
        let refused = self.refused_from(errors, 0, n);
        refused.iter().filter(|refused| **refused).count() as f64 / n as f64
    }

    /// Prepares trees for a set of errors.
    fn turn_to(&mut self, errors: &Errors) {
        if let Kind::Forest { trees, .. } = &mut self.kind {
            trees.forest.aim(errors, &self.point, &self.active, 1.0);
        }
    }

    /// Which of `n` errors of a set that was turned to trees refuse, from number `from` on.
    fn refused_from(&mut self, errors: &Errors, from: usize, n: usize) -> &[bool] {
        let Kind::Forest { trees, .. } = &mut self.kind else { return &[] };
        let OnTrees { forest, refused, .. } = &mut **trees;
        refused.resize(n, false);
        forest.refused(errors, from, (&self.point, &self.active, 1.0), refused, &mut []);
        refused
    }

    /// Which of `n` errors are refused, from number `from` of those judged last on.
    fn judged(&self, from: usize, n: usize) -> &[bool] {
        let Kind::Forest { trees, .. } = &self.kind else { return &[] };
        &trees.refused[from..from + n]
    }

    /// Masses on models number `first` and on of those drawn for a purpose: each the mean of eight
    /// lines on one of them.
    fn shifted_masses(
        &mut self,
        purpose: Purpose,
        segment: u64,
        first: usize,
        masses: &mut [f64],
    ) -> Result<()> {
        let Kind::Shifted { models } = &self.kind else { return Ok(()) };
        for (i, mass) in (first as u64..).zip(masses) {
            // Keyed by number alone: everybody's point is tested on the same models, as it is on
            // the same errors.
            let mut stream = self
                .task
                .seed
                .stream(purpose, Key::default().word(segment).word(i).word(0x5417).finish());
            let model = models.draw(&mut stream)?;
            let mut lines = Lines::new(&*model, &*self.task.noise, None)?;
            lines.enter(&self.from, &self.point, &self.active)?;
            lines.aim(&self.point, None)?;
            *mass = lines.fresh_mean(&mut stream)?;
        }
        Ok(())
    }

    /// Whether samples are errors before trees: dear ones.
    pub(super) fn is_on_errors(&self) -> bool {
        matches!(self.kind, Kind::Forest { .. })
    }

    /// Tests the point on fresh samples: a segment of the pool, or a stream of its own. If
    /// `further`, a certificate on lines or errors goes on to a bound below the target. `meant` is
    /// the rate that the point was meant to have. Where another may be tried instead, an attempt
    /// that is clearly left with less than about half of the room this leaves is given up.
    pub(super) fn certify(
        &mut self,
        (max_rate, meant, may_give_up): (f64, f64, bool),
        delta: f64,
        segment: usize,
        further: bool,
    ) -> Result<Attempt> {
        if !self.outcomes.is_empty() {
            return self.certify_outcomes(max_rate, delta, segment);
        }
        let own = (1.0 - SHARE_OF_BOUND) * delta;
        match &mut self.kind {
            Kind::Lines { pools, lines, masses, .. } => {
                let look = match lines.can_stratify() {
                    true => {
                        let seen = (self.mean, self.variance);
                        LineMode::cheapest(max_rate, max_rate - meant, seen, lines.are_deep())
                    }
                    false => LineMode::Whole,
                };
                let variance = self.variance + look.variance();
                let mut bet = Betting::expecting(max_rate, self.mean, variance)?;
                let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
                let mut ladder = match further {
                    true => Ladder::new(max_rate, self.mean, variance)?,
                    false => Ladder::default(),
                };
                let (mut spare, mut last) = (None, MAX_BLOCKS);
                for index in 0..MAX_BLOCKS {
                    let block = pools.fresh.block(segment, index, lines, &mut spare);
                    lines.masses(block, look, &mut masses[..])?;
                    bet.observe_all(&masses[..]);
                    upper.observe_all(&masses[..]);
                    ladder.observe_all(&masses[..]);
                    if bet.certifies(own) {
                        last = last.min(index + MORE_BLOCKS).min(MAX_BLOCKS - 1);
                        if index >= last || ladder.is_climbed(own) {
                            let upper = upper.upper().min(ladder.bound(own)).min(max_rate);
                            return Ok(Attempt { certified: true, upper, mean: bet.mean() });
                        }
                        continue;
                    }
                    // Clearly not below the target, or far less than was meant: a lower aim gets
                    // there sooner than more lines do.
                    if index >= 31 && index % 8 == 7 {
                        let error = (variance / ((index + 1) * BLOCK) as f64).sqrt();
                        let room = if may_give_up { max_rate - meant } else { 0.0 };
                        let most = max_rate - 0.5 * room + 1.5 * error;
                        if bet.mean() >= most.min(max_rate) {
                            break;
                        }
                    }
                }
                Ok(Attempt { certified: false, upper: upper.upper(), mean: bet.mean() })
            }
            Kind::Shifted { .. } => {
                let mut bet = Betting::expecting(max_rate, self.mean, self.variance)?;
                let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
                let mut masses = [0.0; BLOCK];
                for index in 0..MAX_BLOCKS {
                    self.shifted_masses(
                        Purpose::Certificate,
                        segment as u64,
                        index * BLOCK,
                        &mut masses,
                    )?;
                    bet.observe_all(&masses);
                    upper.observe_all(&masses);
                    if bet.certifies(own) {
                        return Ok(Attempt {
                            certified: true,
                            upper: upper.upper().min(max_rate),
                            mean: bet.mean(),
                        });
                    }
                    if index >= 31 && index % 8 == 7 && bet.mean() >= max_rate {
                        break;
                    }
                }
                Ok(Attempt { certified: false, upper: upper.upper(), mean: bet.mean() })
            }
            Kind::Forest { trees, .. } if trees.exact.is_some() => {
                Ok(Attempt { certified: self.mean <= max_rate, upper: self.mean, mean: self.mean })
            }
            Kind::Forest { sets, .. } => {
                let sets = *sets;
                let (draws, mut bet, variance, each) = match max_rate >= LEAST_CUBED {
                    true => {
                        let variance = SPREAD * self.variance / STRATA as f64;
                        let bet = Betting::expecting(max_rate, self.mean, variance)?;
                        (&sets.cubes, OnRefusals::Cubes(bet), variance, STRATA)
                    }
                    false => {
                        let bet = Mixture::expecting(max_rate, self.mean)?;
                        (&sets.fresh, OnRefusals::Draws(bet), self.variance, 1)
                    }
                };
                let room = if may_give_up { max_rate - meant } else { 0.0 };
                let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
                let mut ladder = match further {
                    true => Ladder::new(max_rate, self.mean, variance)?,
                    false => Ladder::default(),
                };
                let (mut won, mut end) = (false, MAX_SETS);
                let mut shares = Vec::with_capacity(LOOK);
                let mut index = 0;
                'sets: while index < end {
                    let errors = draws.set(&*self.task.noise, segment, index)?;
                    self.turn_to(errors);
                    for from in (0..errors.len()).step_by(LOOK) {
                        if from.is_multiple_of(JUDGED) {
                            self.refused_from(errors, from, JUDGED);
                        }
                        bet.observe(self.judged(from % JUDGED, LOOK), &mut shares);
                        upper.observe_all(&shares);
                        ladder.observe_all(&shares);
                        if !won && bet.certifies(own) {
                            (won, end) = (true, MAX_SETS.min(index + MORE_SETS));
                        }
                        if won && ladder.is_climbed(own) {
                            break 'sets;
                        }
                    }
                    // Clearly not below the target: more errors would not help.
                    if !won && index >= 7 && bet.mean() >= max_rate {
                        break;
                    }
                    index += 1;
                    // Far less room than was meant: errors that are needed go with its square, and
                    // a lower aim is cheaper.
                    if !won && may_give_up && index >= LEAST_SETS {
                        let error = (variance * each as f64 / (index * errors.len()) as f64).sqrt();
                        if bet.mean() >= max_rate - 0.6 * room + 0.75 * error {
                            break;
                        }
                    }
                }
                let bound = if won { ladder.bound(own).min(max_rate) } else { f64::INFINITY };
                Ok(Attempt { certified: won, upper: upper.upper().min(bound), mean: bet.mean() })
            }
            Kind::Finite { .. } => {
                Ok(Attempt { certified: self.mean <= max_rate, upper: self.mean, mean: self.mean })
            }
            Kind::Draws => {
                let mut bet = Mixture::new(max_rate)?;
                let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
                let mut stream = self.stream(Purpose::Certificate, segment as u64);
                for _ in 0..MAX_BLOCKS {
                    let refused = self.refused(&mut stream, DRAWS)?;
                    bet.observe_many(refused as u64, DRAWS as u64);
                    upper.observe_all(&std::array::from_fn::<f64, DRAWS, _>(|i| {
                        f64::from(u8::from(i < refused))
                    }));
                    if bet.certifies(own) {
                        return Ok(Attempt {
                            certified: true,
                            upper: upper.upper().min(max_rate),
                            mean: bet.mean(),
                        });
                    }
                }
                Ok(Attempt { certified: false, upper: upper.upper(), mean: bet.mean() })
            }
        }
    }

    /// The point's rate, from samples that neither search nor certificate saw, and more of them
    /// where the rate is hard to see beside the target.
    pub(super) fn audit(&mut self, max_rate: f64) -> Result<f64> {
        if !self.outcomes.is_empty() {
            return self.audit_outcomes(max_rate);
        }
        self.audit_at(max_rate)
    }

    /// [`Sampler::audit`] of the point that is looked at, without regard to what may fail.
    fn audit_at(&mut self, max_rate: f64) -> Result<f64> {
        match &mut self.kind {
            Kind::Lines { pools, lines, .. } => {
                let share = match self.task.noise.as_gaussian() {
                    Some(_) => AUDITED_SHARE_GAUSSIAN,
                    None => AUDITED_SHARE,
                };
                let look = match self.bends {
                    true => LineMode::closely(self.mean, self.variance),
                    false => LineMode::Whole,
                };
                let (mut enough, mut spread) = (AUDITORS, Spread::default());
                loop {
                    lines.rate_further(&pools.auditors, enough, look, &mut spread)?;
                    let mean = spread.mean();
                    if spread.std_error() <= share * mean.max(max_rate) || enough >= MAX_AUDITORS {
                        return Ok(mean);
                    }
                    enough *= 2;
                }
            }
            Kind::Shifted { .. } => {
                let mut seen = [0.0; SCOUT_MODELS];
                self.shifted_masses(Purpose::Audit, 0, 0, &mut seen)?;
                Ok(seen.iter().sum::<f64>() / seen.len() as f64)
            }
            Kind::Forest { trees, .. } if trees.exact.is_some() => Ok(self.mean),
            Kind::Forest { sets, .. } => {
                let sets = *sets;
                // Evenly spread errors are worth three independent ones at least.
                let error = AUDITED_SHARE_GAUSSIAN * max_rate;
                let enough =
                    (max_rate * (1.0 - max_rate) / (3.0 * error * error)).min(1e9) as usize;
                let enough = enough.next_power_of_two().clamp(LEAST_AUDIT_ERRORS, AUDIT_ERRORS);
                Ok(self.share_of(&sets.auditors, enough))
            }
            Kind::Finite { .. } => Ok(self.mean),
            Kind::Draws => self.share_refused(Purpose::Audit, SCOUT_DRAWS),
        }
    }

    fn stream(&self, purpose: Purpose, segment: u64) -> Stream {
        let key = Key::default().values(&self.point).word(segment).finish();
        self.task.seed.stream(purpose, key)
    }

    /// The share of errors that are refused: of all there are, or of `n` draws for a purpose.
    fn share_refused(&mut self, purpose: Purpose, n: usize) -> Result<f64> {
        if let Kind::Finite { errors } = self.kind {
            let mut refused = 0;
            for some in errors.rows().chunks(DRAWS * self.point.len()) {
                refused += self.refused_of(some.to_vec())?;
            }
            return Ok(refused as f64 / errors.n_rows() as f64);
        }
        let mut stream = self.stream(purpose, 0);
        let mut refused = 0;
        for _ in 0..n.div_ceil(DRAWS) {
            refused += self.refused(&mut stream, DRAWS)?;
        }
        Ok(refused as f64 / n.next_multiple_of(DRAWS) as f64)
    }

    /// How many of `n` draws are refused.
    fn refused(&self, stream: &mut Stream, n: usize) -> Result<usize> {
        self.refused_of(self.draws(stream, n)?)
    }

    /// `n` draws of the noise, that of the move to the point where it depends on that.
    fn draws(&self, stream: &mut Stream, n: usize) -> Result<Vec<f64>> {
        let d = self.point.len();
        let mut errors = vec![0.0; n * d];
        let moved = self.task.noise.at(&self.from, &self.point)?;
        let noise: &dyn Noise = moved.as_ref().map_or(&*self.task.noise, |gaussian| gaussian);
        noise.sample_into(stream, RowsMut::new(&mut errors, d)?);
        Ok(errors)
    }

    fn refused_of(&self, errors: Vec<f64>) -> Result<usize> {
        Ok(self.which_refused(errors)?.into_iter().filter(|refused| *refused).count())
    }

    fn which_refused(&self, mut errors: Vec<f64>) -> Result<Vec<bool>> {
        let d = self.point.len();
        for row in errors.chunks_exact_mut(d) {
            for (j, e) in row.iter_mut().enumerate() {
                *e = self.point[j] + if self.active[j] { *e } else { 0.0 };
            }
        }
        let mut scores = vec![0.0; errors.len() / d];
        self.task.model.score_batch(Rows::new(&errors, d)?, &mut scores)?;
        // A NaN is no yes.
        let is_yes = |score: &f64| *score > 0.0;
        Ok(scores.iter().map(|score| !is_yes(score)).collect())
    }
}
