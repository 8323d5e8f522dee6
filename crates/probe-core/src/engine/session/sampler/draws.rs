//! Independent draws, for models and noise without a better kind of samples. Also noise that is a
//! finite list of errors, under which rates are exact.

use super::lines::MAX_BLOCKS;
use super::{Batch, Outcome, Pilot, Samples, Subject, add_where, indicator};
use crate::engine::session::certify::{Observations, StoppingRule, Target, Test};
use crate::error::Result;
use crate::invalidation::certificate::{Mixture, share_at_least};
use crate::noise::{Noise, Residuals};
use crate::recourse::Task;
use crate::rows::{Rows, RowsMut};
use crate::seed::{Key, Purpose, Stream};
use std::ops::ControlFlow;

/// Draws that are scored at a time.
const DRAWS: usize = 64;
/// Pilot draws around a point.
const PILOT_DRAWS: usize = 16_384;
/// Draws behind a bound on the rate of the person's own point, and the number of their stream.
const BOUND_DRAWS: usize = 1_024;
const BOUND_SEGMENT: u64 = 1 << 32;

const RULE: StoppingRule = StoppingRule::up_to(MAX_BLOCKS);

impl Subject<'_> {
    pub(super) fn stream(&self, purpose: Purpose, segment: u64) -> Stream {
        let key = Key::default().values(&self.point).word(segment).finish();
        self.task.seed.stream(purpose, key)
    }

    /// `n` draws of the noise. If the noise depends on the change, that of the change to the point.
    pub(super) fn draws(&self, stream: &mut Stream, n: usize) -> Result<Vec<f64>> {
        let d = self.point.len();
        let mut errors = vec![0.0; n * d];
        let moved = self.task.noise.at(&self.from, &self.point)?;
        let noise: &dyn Noise = moved.as_ref().map_or(&*self.task.noise, |gaussian| gaussian);
        noise.sample_into(stream, RowsMut::new(&mut errors, d)?);
        Ok(errors)
    }

    /// Which of these errors lead to a rejection.
    fn refused(&self, mut errors: Vec<f64>) -> Result<Vec<bool>> {
        let d = self.point.len();
        for row in errors.chunks_exact_mut(d) {
            for (j, e) in row.iter_mut().enumerate() {
                *e = self.point[j] + if self.active[j] { *e } else { 0.0 };
            }
        }
        let mut scores = vec![0.0; errors.len() / d];
        self.task.model.score_batch(Rows::new(&errors, d)?, &mut scores)?;
        // NaN counts as a rejection.
        let is_favourable = |score: &f64| *score > 0.0;
        Ok(scores.iter().map(|score| !is_favourable(score)).collect())
    }

    fn n_refused(&self, errors: Vec<f64>) -> Result<usize> {
        Ok(self.refused(errors)?.into_iter().filter(|refused| *refused).count())
    }

    /// The share of `n` draws from the stream of `purpose` that are rejected.
    fn share_refused(&self, purpose: Purpose, n: usize) -> Result<f64> {
        let mut stream = self.stream(purpose, 0);
        let mut refused = 0;
        for _ in 0..n.div_ceil(DRAWS) {
            refused += self.n_refused(self.draws(&mut stream, DRAWS)?)?;
        }
        Ok(refused as f64 / n.next_multiple_of(DRAWS) as f64)
    }
}

/// Independent draws.
pub(super) struct ByDraws;

impl Samples for ByDraws {
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot> {
        let mean = subject.share_refused(Purpose::Search, PILOT_DRAWS)?;
        Ok(Pilot { mean, variance: f64::NAN })
    }

    fn test<'s>(&'s mut self, subject: &'s Subject<'_>, _: Pilot, to: &Target) -> Result<Test<'s>> {
        test(subject, to)
    }

    fn report(&mut self, subject: &Subject<'_>, _: Pilot, _: f64) -> Result<f64> {
        subject.share_refused(Purpose::Audit, PILOT_DRAWS)
    }

    fn rate_at_least(&mut self, subject: &Subject<'_>, delta: f64) -> Result<(f64, bool)> {
        let mut stream = subject.stream(Purpose::Certificate, BOUND_SEGMENT);
        let errors = subject.draws(&mut stream, BOUND_DRAWS)?;
        let share = subject.n_refused(errors)? as f64 / BOUND_DRAWS as f64;
        Ok((share_at_least(share, BOUND_DRAWS, delta), false))
    }

    fn first_aim(&self, _: &Task, rate: f64) -> f64 {
        rate * (1.0 - 0.1 * (0.35 / rate).sqrt()).max(0.75)
    }
}

/// [`Samples::add_refused`] on plain draws.
pub(super) fn add_refused(
    subject: &Subject<'_>,
    outcome: &Outcome,
    batch: Batch<'_>,
    shares: &mut Vec<f64>,
) -> Result<()> {
    // All outcomes use the same stream, so that their draws belong together.
    let number = (batch.segment * MAX_BLOCKS + batch.index) as u64;
    let key = Key::default().values(batch.key).word(number).finish();
    let mut stream = subject.task.seed.stream(Purpose::Certificate, key);
    let errors = subject.draws(&mut stream, DRAWS)?;
    add_where(&subject.refused(errors)?, outcome.probability, shares);
    Ok(())
}

/// [`Samples::test`] on plain draws.
fn test<'s>(subject: &'s Subject<'_>, to: &Target) -> Result<Test<'s>> {
    let stream = subject.stream(Purpose::Certificate, to.segment as u64);
    Ok(Test {
        bet: Box::new(Mixture::new(to.max_rate)?),
        ladder: Default::default(),
        rule: RULE,
        observations: Box::new(FreshDraws { subject, stream }),
    })
}

/// Fresh draws.
struct FreshDraws<'s> {
    subject: &'s Subject<'s>,
    stream: Stream,
}

impl Observations for FreshDraws<'_> {
    fn read(
        &mut self,
        _: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let errors = self.subject.draws(&mut self.stream, DRAWS)?;
        let refused = self.subject.n_refused(errors)?;
        let observed: [f64; DRAWS] = std::array::from_fn(|i| indicator(&(i < refused)));
        Ok(take(&observed))
    }
}

/// All errors of a finite list, under which rates are exact.
pub(super) struct AllErrors<'e>(pub(super) &'e Residuals);

impl Samples for AllErrors<'_> {
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot> {
        let mut refused = 0;
        for some in self.0.rows().chunks(DRAWS * subject.point.len()) {
            refused += subject.n_refused(some.to_vec())?;
        }
        Ok(Pilot { mean: refused as f64 / self.0.n_rows() as f64, variance: f64::NAN })
    }

    fn test<'s>(&'s mut self, subject: &'s Subject<'_>, _: Pilot, to: &Target) -> Result<Test<'s>> {
        test(subject, to)
    }

    fn report(&mut self, _: &Subject<'_>, pilot: Pilot, _: f64) -> Result<f64> {
        Ok(pilot.mean)
    }

    fn rate_at_least(&mut self, subject: &Subject<'_>, _: f64) -> Result<(f64, bool)> {
        self.pilot(subject).map(|pilot| (pilot.mean, true))
    }

    fn expects_exact_rates(&self, _: &Task) -> bool {
        true
    }

    fn first_aim(&self, _: &Task, rate: f64) -> f64 {
        rate
    }

    fn is_exact(&self) -> bool {
        true
    }
}
