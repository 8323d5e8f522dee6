//! The penalised log-likelihood of a logistic regression, its gradient and its Hessian.
//!
//! $F(\beta) = \sum_i c_i \log(1 + e^{-y_i \eta_i}) + \tfrac12 \sum_j \lambda_j \beta_j^2$ with
//! $\eta = Z\beta$, class weights $c_i$ and $y_i = \pm 1$. The last entry of $\beta$ is the
//! intercept, which has no penalty.
//!
//! Rows are summed in a fixed number of blocks, and blocks in order, so that the bits do not depend
//! on the threads.

use crate::design::Design;
use crate::metrics::{RowLoss, weighted_loss};
use probe_core::math::dot;
use rayon::prelude::*;

/// Blocks are never smaller than this, so that small problems stay on one thread.
const SMALLEST_BLOCK: usize = 2048;
/// And never more than this many, which bounds the memory for partial Hessians.
const MOST_BLOCKS: usize = 16;

/// A regression to be solved.
#[derive(Debug)]
pub(crate) struct Objective<'a> {
    pub(crate) design: &'a Design,
    pub(crate) favourable: &'a [bool],
    /// Weight of an unfavourable and of a favourable row.
    pub(crate) class_weights: [f64; 2],
    /// Per column, without the intercept.
    pub(crate) penalties: Vec<f64>,
}

/// Value, gradient and Hessian at one point.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
    /// Row-major, both triangles.
    pub(crate) hessian: Vec<f64>,
    /// $\sum_i c_i p_i (1 - p_i)$: the rest of the curvature.
    pub(crate) curvature: f64,
    pub(crate) largest_score: f64,
}

impl Objective<'_> {
    /// Number of unknowns: columns and intercept.
    pub(crate) fn n_unknowns(&self) -> usize {
        self.design.n_cols + 1
    }

    fn block(&self) -> usize {
        self.favourable.len().div_ceil(MOST_BLOCKS).max(SMALLEST_BLOCK)
    }

    fn penalty(&self, beta: &[f64]) -> f64 {
        0.5 * self.penalties.iter().zip(beta).map(|(p, b)| p * b * b).sum::<f64>()
    }

    /// $Z\beta$.
    pub(crate) fn scores(&self, beta: &[f64]) -> Vec<f64> {
        let (weights, intercept) = (&beta[..self.design.n_cols], beta[self.design.n_cols]);
        let rows = self.design.values.par_chunks_exact(self.design.n_cols);
        rows.with_min_len(SMALLEST_BLOCK).map(|z| dot(weights, z) + intercept).collect()
    }

    /// $F$ at `beta`, whose scores are known.
    pub(crate) fn value(&self, beta: &[f64], scores: &[f64]) -> f64 {
        let blocks = scores.par_chunks(self.block()).zip(self.favourable.par_chunks(self.block()));
        let losses: Vec<f64> =
            blocks.map(|(s, y)| weighted_loss(s, y, self.class_weights)).collect();
        losses.iter().sum::<f64>() + self.penalty(beta)
    }

    /// $F$, $\nabla F$ and $\nabla^2 F$ at `beta`, whose scores are known.
    pub(crate) fn local(&self, beta: &[f64], scores: &[f64]) -> Local {
        let (n_cols, n) = (self.design.n_cols, self.n_unknowns());
        let blocks = (
            self.design.values.par_chunks(self.block() * n_cols),
            scores.par_chunks(self.block()),
            self.favourable.par_chunks(self.block()),
        );
        let parts: Vec<Sums> = blocks.into_par_iter().map(|(z, s, y)| self.sums(z, s, y)).collect();
        let mut total = Sums::zero(n_cols);
        parts.iter().for_each(|part| total.add(part));

        let mut gradient = total.gradient;
        let mut hessian = vec![0.0; n * n];
        let mut packed = total.hessian.iter();
        for a in 0..n {
            for (b, &entry) in (0..=a).zip(packed.by_ref()) {
                hessian[a * n + b] = entry;
                hessian[b * n + a] = entry;
            }
        }
        let curvature = hessian[n * n - 1];
        for (j, penalty) in self.penalties.iter().enumerate() {
            gradient[j] += penalty * beta[j];
            hessian[j * n + j] += penalty;
        }
        let largest_score = scores.iter().fold(0.0, |largest: f64, s| largest.max(s.abs()));
        Local {
            value: total.loss + self.penalty(beta),
            gradient,
            hessian,
            curvature,
            largest_score,
        }
    }

    fn sums(&self, values: &[f64], scores: &[f64], favourable: &[bool]) -> Sums {
        let n_cols = self.design.n_cols;
        let mut sums = Sums::zero(n_cols);
        let mut z = vec![1.0; n_cols + 1];
        for ((row, &score), &yes) in values.chunks_exact(n_cols).zip(scores).zip(favourable) {
            z[..n_cols].copy_from_slice(row);
            let weight = self.class_weights[usize::from(yes)];
            let loss = RowLoss::at(score, yes);
            sums.loss += weight * loss.value;
            for (g, z) in sums.gradient.iter_mut().zip(&z) {
                *g += weight * loss.slope * z;
            }
            let curvature = weight * loss.curvature;
            let mut packed = sums.hessian.as_mut_slice();
            for (a, za) in z.iter().enumerate() {
                let (line, rest) = packed.split_at_mut(a + 1);
                let factor = curvature * za;
                for (h, zb) in line.iter_mut().zip(&z) {
                    *h += factor * zb;
                }
                packed = rest;
            }
        }
        sums
    }
}

/// Sums over some rows; the Hessian as packed lower triangle.
#[derive(Debug)]
struct Sums {
    loss: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl Sums {
    fn zero(n_cols: usize) -> Self {
        let n = n_cols + 1;
        Self { loss: 0.0, gradient: vec![0.0; n], hessian: vec![0.0; n * (n + 1) / 2] }
    }

    fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.gradient.iter_mut().zip(&other.gradient).for_each(|(a, b)| *a += b);
        self.hessian.iter_mut().zip(&other.hessian).for_each(|(a, b)| *a += b);
    }
}
