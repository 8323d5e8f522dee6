//! Points anywhere in the action space, for people whom no walk from where they are leads to an
//! answer: the ones that the model likes best are measured, and the best answer among them is moved
//! towards the person.

use super::{Axis, Closeness, DOUBT, Ground, Number, Sweep};
use crate::error::Result;
use crate::rows::Rows;
use crate::seed::Stream;

/// How far a number without limits goes at least, and in standard deviations of its noise.
const FAR: f64 = 2.0;
const FAR_IN_DEVIATIONS: f64 = 40.0;
/// Points of the best scores, and of the least costs, that are measured.
const MEASURED: usize = 48;
/// Halvings along the straight line to the person.
const HALVINGS: usize = 10;

impl Sweep<'_> {
    /// Measures the best of `n` random points; says whether one of them is an answer.
    pub(in super::super) fn scatter(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        n: usize,
        stream: &mut Stream,
    ) -> Result<bool> {
        if axes.is_empty() {
            return Ok(false);
        }
        let d = self.factual.len();
        let (points, scores) = self.random_points(axes, n, stream)?;
        let point = |i: usize| &points[i * d..(i + 1) * d];
        let mut by_score: Vec<usize> = (0..n).filter(|&i| !scores[i].is_nan()).collect();
        by_score.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let mut by_cost: Vec<usize> = (0..n).filter(|&i| scores[i] > 0.0).collect();
        by_cost.sort_by(|&a, &b| {
            self.total(point(a)).total_cmp(&self.total(point(b))).then(a.cmp(&b))
        });
        by_score.truncate(MEASURED);
        by_cost.truncate(MEASURED);
        by_score.extend(by_cost);
        for i in by_score {
            let x = point(i).to_vec();
            if self.total(&x) < self.best.0
                && self.task.actions.violations(self.factual, &x).is_empty()
                && self.measure(ground, &x, Closeness::Glance)?.slack >= -DOUBT
            {
                self.try_close(ground, &x)?;
            }
        }
        if self.best.0.is_infinite() {
            return Ok(false);
        }
        self.move_straight_back(ground)?;
        self.take_back(ground, axes)?;
        Ok(true)
    }

    /// `n` random points, one after the other, and their scores.
    fn random_points(
        &self,
        axes: &[Axis],
        n: usize,
        stream: &mut Stream,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let d = self.factual.len();
        let between = self.between_cuts();
        let mut points = Vec::with_capacity(n * d);
        for _ in 0..n {
            points.extend(self.random_point(axes, &between, stream));
        }
        let mut scores = vec![0.0; n];
        self.task.model.score_batch(Rows::new(&points, d)?, &mut scores)?;
        Ok((points, scores))
    }

    /// Those of `n` random points that are admissible and that the model accepts.
    pub(in super::super) fn accepted_points(
        &self,
        axes: &[Axis],
        n: usize,
        stream: &mut Stream,
    ) -> Result<Vec<Vec<f64>>> {
        if axes.is_empty() {
            return Ok(Vec::new());
        }
        let (points, scores) = self.random_points(axes, n, stream)?;
        let rows = points.chunks_exact(self.factual.len()).zip(scores);
        let good = |(x, score): &(&[f64], f64)| {
            *score > 0.0 && self.task.actions.violations(self.factual, x).is_empty()
        };
        Ok(rows.filter(good).map(|(x, _)| x.to_vec()).collect())
    }

    /// Takes back of the best answer what it need not have.
    pub(in super::super) fn shorten(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
    ) -> Result<()> {
        self.move_straight_back(ground)?;
        self.take_back(ground, axes)?;
        self.exchange_all(ground, axes)
    }

    /// Of each column, a value between each two cuts of a model of trees; empty for other models.
    fn between_cuts(&self) -> Vec<Vec<f64>> {
        let mut all = vec![Vec::new(); self.factual.len()];
        if let Some(trees) = self.task.model.as_trees() {
            for (i, node) in trees.nodes().iter().enumerate() {
                if node.left != i as u32 {
                    all[node.feature as usize].push(node.cut);
                }
            }
        }
        for cuts in &mut all {
            cuts.sort_by(f64::total_cmp);
            cuts.dedup();
            let middles = cuts.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0]));
            *cuts = middles.collect();
        }
        all
    }

    /// A point that differs from the person in some of the axes.
    fn random_point(&self, axes: &[Axis], between: &[Vec<f64>], stream: &mut Stream) -> Vec<f64> {
        let mut x = self.factual.to_vec();
        let most = self.task.actions.max_changes().unwrap_or(axes.len()).min(axes.len());
        let n_moved = if stream.uniform() < 0.5 { most } else { 1 + stream.below(most.max(1)) };
        let mut left: Vec<usize> = (0..axes.len()).collect();
        for _ in 0..n_moved.min(most) {
            match &axes[left.swap_remove(stream.below(left.len()))] {
                Axis::Category { group, options } if !options.is_empty() => {
                    group.set(options[stream.below(options.len())], &mut x);
                }
                Axis::Category { .. } => {}
                Axis::Number(number) => {
                    let own = &between[number.column];
                    x[number.column] = self.random_value(number, own, stream);
                }
            }
        }
        x
    }

    /// Anywhere within the limits, or nearer to the person.
    fn random_value(&self, number: &Number, between: &[f64], stream: &mut Stream) -> f64 {
        let from = self.factual[number.column];
        let far = FAR.max(FAR_IN_DEVIATIONS * number.sd);
        let (low, high) = (number.low.max(from - far), number.high.min(from + far));
        let share = stream.uniform();
        let value = match stream.uniform() < 0.5 {
            _ if !between.is_empty() && stream.uniform() < 0.7 => {
                between[stream.below(between.len())].clamp(low, high)
            }
            true => low + share * (high - low),
            false => {
                let end = if stream.uniform() < 0.5 { low } else { high };
                from + share.powi(3) * (end - from)
            }
        };
        match number.grid {
            None => value,
            Some(grid) if value > from => grid.above(value).min(number.high),
            Some(grid) => grid.below(value).max(number.low),
        }
    }

    /// Moves numbers of the best answer along the straight line to the person.
    fn move_straight_back(&mut self, ground: &mut dyn Ground) -> Result<()> {
        let whole = self.best.1.clone();
        let (mut missed, mut met) = (0.0, 1.0);
        for _ in 0..HALVINGS {
            let share = 0.5 * (missed + met);
            let mut x = whole.clone();
            for (j, x) in x.iter_mut().enumerate() {
                let stays = self.task.actions.is_grouped(j) || self.task.actions.grid(j).is_some();
                if !stays && *x != self.factual[j] {
                    *x = self.factual[j] + share * (*x - self.factual[j]);
                }
            }
            let before = self.best.0;
            self.try_close(ground, &x)?;
            if self.best.0 < before { met = share } else { missed = share }
        }
        Ok(())
    }

    /// Takes back each change of the best answer as far as the others allow, the most expensive
    /// first.
    fn take_back(&mut self, ground: &mut dyn Ground, axes: &[Axis]) -> Result<()> {
        let base = self.best.1.clone();
        let saved = |axis: &Axis| {
            let mut x = base.clone();
            axis.copy(self.factual, &mut x);
            self.best.0 - self.total(&x)
        };
        let mut order: Vec<(f64, &Axis)> = axes
            .iter()
            .filter(|axis| axis.differs(&base, self.factual))
            .map(|axis| (saved(axis), axis))
            .collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, axis) in order {
            let mut x = self.best.1.clone();
            axis.copy(self.factual, &mut x);
            self.walk(ground, &[axis], &mut x)?;
        }
        Ok(())
    }
}
