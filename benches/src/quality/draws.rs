//! Rates counted on noise draws: the model scores the draws, and refusals are counted. Nothing
//! here comes from the engine but the random numbers and the model itself.

use super::fast::{AtPoint, BLOCK, Fast};
use super::problem::Problem;
use anyhow::Result;
use probe_core::{Key, Purpose, Rows, Seed};

/// Draws that choices are made on.
pub(super) const SCREEN: usize = 2_048;
/// Draws that the best points are refined on.
pub(super) const REFINE: usize = 8_192;
/// Draws on which a point is moved to its target rate.
pub(super) const LAND: usize = 32_768;
/// Fresh draws that a point must pass.
pub(super) const AUDIT: usize = 200_000;
/// Standard errors beyond which counting stops early.
const SURE: f64 = 4.5;
/// Standard errors above the target that make a violation.
pub(super) const VIOLATION: f64 = 4.0;
/// Names the streams of this study among those of [`Purpose::Data`].
const STREAM: u64 = 0x63_6865_6170;

/// Standard normals, one row of noisy columns after the other; the same for everybody.
pub(super) struct Draws {
    values: Vec<f64>,
    n_noisy: usize,
    /// The same in units of the model's input, block by block and there column by column, and the
    /// scorer that reads them.
    errors: Vec<f32>,
    fast: Option<Fast>,
}

impl Draws {
    /// The draws that all searches share.
    pub(super) fn shared(problem: &Problem) -> Self {
        let mut draws = Self::of(problem, LAND, STREAM);
        let units: Vec<f64> = problem.noisy().map(|number| problem.input_sd(number)).collect();
        for block in draws.values.chunks_exact(BLOCK * draws.n_noisy) {
            for (place, sd) in units.iter().enumerate() {
                let column = block.iter().skip(place).step_by(draws.n_noisy);
                draws.errors.extend(column.map(|z| (z * sd) as f32));
            }
        }
        draws.fast = Fast::new(problem, &draws.errors, draws.n_noisy);
        draws
    }

    fn of(problem: &Problem, n: usize, key: u64) -> Self {
        let n_noisy = problem.noisy().count();
        let mut stream = Seed(0).stream(Purpose::Data, key);
        let values = (0..n * n_noisy).map(|_| stream.normal()).collect();
        Self { values, n_noisy, errors: Vec::new(), fast: None }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.n_noisy..][..self.n_noisy]
    }
}

/// Counts refusals of points, with buffers of its own.
pub(super) struct Judge<'a> {
    pub(super) problem: &'a Problem,
    draws: &'a Draws,
    inputs: Vec<f64>,
    scores: Vec<f64>,
    at: AtPoint,
    /// Rows scored so far.
    pub(super) n_rows: u64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(problem: &'a Problem, draws: &'a Draws) -> Self {
        let (inputs, scores) = (vec![0.0; BLOCK * problem.n_columns()], vec![0.0; BLOCK]);
        Self { problem, draws, inputs, scores, at: AtPoint::default(), n_rows: 0 }
    }

    /// Has [`Judge::block`] score draws around `point`.
    fn prepare(&mut self, draws: &Draws, point: &[f64]) {
        if let Some(fast) = &draws.fast {
            let input = &mut self.inputs[..point.len()];
            self.problem.input_into(point, None, input);
            fast.prepare(input, &mut self.at);
        }
    }

    /// Scores draws from `from` on, at most a block of them.
    fn block(&mut self, draws: &Draws, point: &[f64], from: usize, n: usize) -> Result<&[f64]> {
        self.n_rows += n as u64;
        if let Some(fast) = &draws.fast {
            let errors = (&draws.errors[..], draws.n_noisy);
            fast.scores(&mut self.at, errors, from, &mut self.scores[..n]);
            return Ok(&self.scores[..n]);
        }
        let d = point.len();
        for (i, input) in self.inputs[..n * d].chunks_exact_mut(d).enumerate() {
            self.problem.input_into(point, Some(draws.row(from + i)), input);
        }
        let rows = Rows::new(&self.inputs[..n * d], d)?;
        self.problem.model.score_batch(rows, &mut self.scores[..n])?;
        Ok(&self.scores[..n])
    }

    /// A block of draws scored by the fast scorer and by the model.
    #[cfg(test)]
    pub(super) fn both_ways(&mut self, point: &[f64], from: usize) -> Result<(Vec<f64>, Vec<f64>)> {
        let draws = self.draws;
        self.prepare(draws, point);
        let fast = self.block(draws, point, from, BLOCK)?.to_vec();
        let n = draws.n_noisy;
        let values = draws.values[from * n..(from + BLOCK) * n].to_vec();
        let plain = Draws { values, n_noisy: n, errors: Vec::new(), fast: None };
        Ok((fast, self.block(&plain, point, 0, BLOCK)?.to_vec()))
    }

    /// Whether at most a share `r` of `n` draws is refused, and the point itself is not. Counting
    /// stops once the outcome is hardly in doubt.
    pub(super) fn holds(&mut self, point: &[f64], r: f64, n: usize) -> Result<bool> {
        let favourable = self.problem.score(point)? > 0.0;
        if !favourable {
            return Ok(false);
        }
        let draws = self.draws;
        self.prepare(draws, point);
        let limit = r * n as f64;
        let (mut seen, mut refused) = (0, 0.0);
        while seen < n {
            let block = BLOCK.min(n - seen);
            refused += refusals(self.block(draws, point, seen, block)?) as f64;
            seen += block;
            let expected = r * seen as f64;
            let error = SURE * (expected * (1.0 - r)).sqrt();
            if refused > limit || refused > expected + error {
                return Ok(false);
            }
            if refused < expected - error || refused + (n - seen) as f64 <= limit {
                return Ok(true);
            }
        }
        Ok(refused <= limit)
    }

    /// The share of draws that is refused.
    fn rate_on(&mut self, draws: &Draws, point: &[f64]) -> Result<f64> {
        self.prepare(draws, point);
        let (mut refused, n) = (0, AUDIT);
        for from in (0..n).step_by(BLOCK) {
            refused += refusals(self.block(draws, point, from, BLOCK.min(n - from))?);
        }
        Ok(refused as f64 / n as f64)
    }

    /// The rate on fresh draws, which depend on the point and on nothing else.
    pub(super) fn audited(&mut self, point: &[f64]) -> Result<f64> {
        let key = Key::default().word(STREAM).values(point).finish();
        let draws = Draws::of(self.problem, AUDIT, key);
        self.rate_on(&draws, point)
    }

    /// The score that a share `r` of `n` draws does not reach: how far a point is from holding.
    pub(super) fn quantile(&mut self, point: &[f64], r: f64, n: usize) -> Result<f64> {
        let draws = self.draws;
        self.prepare(draws, point);
        let mut all = Vec::with_capacity(n);
        for from in (0..n).step_by(BLOCK) {
            all.extend_from_slice(self.block(draws, point, from, BLOCK.min(n - from))?);
        }
        let at = ((r * n as f64) as usize).min(n - 1);
        Ok(*all.select_nth_unstable_by(at, f64::total_cmp).1)
    }
}

/// NaN counts as a refusal.
fn refusals(scores: &[f64]) -> usize {
    scores.len() - scores.iter().filter(|score| **score > 0.0).count()
}

/// Whether a rate on [`AUDIT`] draws is above `r` by more than chance.
pub(super) fn is_violation(rate: f64, r: f64) -> bool {
    rate > r + VIOLATION * (r * (1.0 - r) / AUDIT as f64).sqrt()
}
