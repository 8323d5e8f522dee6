//! Where scores jump, a point may be robust under noise and yet be rejected itself. The way out is
//! across the nearest jump.

use super::COARSE;
use super::problem::{Precision, Problem};
use super::search::Search;
use crate::error::Result;
use std::sync::Arc;

/// Ways out that are looked at, the cheapest first.
const WAYS: usize = 24;

impl Search<'_> {
    /// Moves a rejected `here` across a jump of the score, in one feature, by the cheapest way that
    /// keeps the margin. Does nothing where the point is favourable or the score does not jump.
    pub(super) fn step_out(&mut self, problem: Problem<'_>, here: &mut [f64]) -> Result<()> {
        let factual = problem.factual;
        let (task, mut edges) = (Arc::clone(&self.task), Vec::new());
        if task.model.score(here)? > 0.0 {
            return Ok(());
        }
        self.margin.edges_into(here, &mut edges);
        let mut ways: Vec<(f64, Vec<f64>)> = Vec::new();
        for (j, value) in edges {
            let mut point = here.to_vec();
            point[j] = value;
            if task.actions.is_mutable_numeric(j)
                && self.is_admissible(factual, &point)
                && task.model.score(&point)? > 0.0
            {
                ways.push((task.cost.between(factual, &point), point));
            }
        }
        ways.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut best: Option<(f64, Vec<f64>)> = None;
        for (_, point) in ways.into_iter().take(WAYS) {
            self.restrict_support(factual, &point);
            let slack = self.slack(problem, &point, Precision::Lines(2 * COARSE))?;
            if best.as_ref().is_none_or(|(most, _)| slack > *most) {
                best = Some((slack, point));
            }
            if slack >= 0.0 {
                break;
            }
        }
        if let Some((_, point)) = best {
            here.copy_from_slice(&point);
        }
        self.restrict_support(factual, here);
        Ok(())
    }
}
