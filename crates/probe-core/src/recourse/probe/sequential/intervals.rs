//! Intervals of single features on which the model accepts a person, all else staying as it is.
//!
//! They are exact for trees. For other models scores are computed at points along the feature, for
//! networks also where a unit of the first layer has its kink, and ends are found by bisection.

use super::search::Search;
use crate::error::Result;
use crate::model::{Aggregate, Mlp, Trees};
use crate::rows::Rows;

/// Evenly spread points of a feature, and how far from the person they go at most.
const EVEN: usize = 32;
const FAR: f64 = 1e3;
/// Halvings that find where an interval ends.
const HALVINGS: usize = 24;
/// Scores that are no more than rounding.
const ROUNDING_ERROR: f64 = 1e-12;

/// Values of one feature, all of them on one side of the person, where the person would be
/// accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Interval {
    pub j: usize,
    /// 1 or −1.
    pub way: f64,
    /// Distances from the person.
    pub near: f64,
    pub far: f64,
    /// What the nearest of its points costs.
    pub bound: f64,
}

impl Search<'_> {
    /// All intervals, the cheapest first.
    pub(super) fn intervals(&self, factual: &[f64]) -> Result<Vec<Interval>> {
        let task = &*self.task;
        let mut all = Vec::new();
        let mut found = Vec::new();
        let own = task.model.score(factual)?;
        for j in 0..factual.len() {
            let room = |way: f64| self.room(factual, j, way).unwrap_or(0.0).min(FAR);
            let range = (factual[j] - room(-1.0), factual[j] + room(1.0));
            let moves = range.0 < range.1;
            if !moves {
                continue;
            }
            found.clear();
            match (task.model.as_trees(), task.model.as_mlp()) {
                (Some(trees), _) => on_trees(trees, (factual, own), j, range, &mut found),
                (None, network) => self.on_places(network, factual, j, range, &mut found)?,
            }
            for &(low, high) in &found {
                let (up, down) = (high > factual[j], low < factual[j]);
                for (way, is) in [(1.0, up), (-1.0, down)] {
                    let (near, far) = match way > 0.0 {
                        true => (low - factual[j], high - factual[j]),
                        false => (factual[j] - high, factual[j] - low),
                    };
                    let near = near.max(0.0);
                    let bound = task.cost.weight(j, way) * near;
                    if is && far > near {
                        all.push(Interval { j, way, near, far, bound });
                    }
                }
            }
        }
        all.sort_by(|a, b| a.bound.total_cmp(&b.bound));
        Ok(all)
    }

    /// [`on_trees`] for scores that do not jump: places on the way, and halvings between two that
    /// differ.
    fn on_places(
        &self,
        network: Option<&Mlp>,
        factual: &[f64],
        j: usize,
        (low, high): (f64, f64),
        found: &mut Vec<(f64, f64)>,
    ) -> Result<()> {
        let d = factual.len();
        let mut places = vec![low, high];
        places.extend((1..EVEN).map(|i| low + (high - low) * i as f64 / EVEN as f64));
        let sd = self.margin.sd(j).max(1e-3);
        // Closer together near the person.
        let out = (0..16).map(|k| sd * f64::from(1 << k));
        places.extend(out.flat_map(|far| [factual[j] - far, factual[j] + far]));
        if let Some(layer) = network.and_then(|network| network.hidden().first()) {
            for (unit, bias) in layer.bias().iter().enumerate() {
                let weights = &layer.row(unit)[..d];
                let sum: f64 = weights.iter().zip(factual).map(|(w, x)| w * x).sum();
                places.push(factual[j] - (sum + bias) / weights[j]);
            }
        }
        places.retain(|v| (low..=high).contains(v));
        places.sort_by(f64::total_cmp);
        places.dedup();
        let mut rows: Vec<f64> = places.iter().flat_map(|_| factual.iter().copied()).collect();
        rows.iter_mut().skip(j).step_by(d).zip(&places).for_each(|(x, v)| *x = *v);
        let mut scores = vec![0.0; places.len()];
        self.task.model.score_batch(Rows::new(&rows, d)?, &mut scores)?;
        let mut x = factual.to_vec();
        let mut edge = |mut yes: f64, mut no: f64| -> Result<f64> {
            for _ in 0..HALVINGS {
                x[j] = 0.5 * (yes + no);
                *(if self.task.model.score(&x)? > 0.0 { &mut yes } else { &mut no }) = x[j];
            }
            Ok(yes)
        };
        let mut from = None;
        for (i, (&v, &score)) in places.iter().zip(&scores).enumerate() {
            let is = score > 0.0;
            if is && from.is_none() {
                from = Some(if i == 0 { v } else { edge(v, places[i - 1])? });
            }
            if let (false, Some(start)) = (is, from) {
                found.push((start, edge(places[i - 1], v)?));
                from = None;
            }
        }
        found.extend(from.map(|start| (start, high)));
        Ok(())
    }
}

/// Where trees accept a person, whose score is `own`, whatever else than feature `j` stays as it
/// is: a walk down each tree that follows both branches where `j` decides.
fn on_trees(
    trees: &Trees,
    (x, own): (&[f64], f64),
    j: usize,
    (low, high): (f64, f64),
    found: &mut Vec<(f64, f64)>,
) {
    let aggregate = trees.rules().aggregate;
    let share = if aggregate == Aggregate::Sum { 1.0 } else { 1.0 / trees.roots().len() as f64 };
    let says = |leaf: f64| {
        if aggregate == Aggregate::Vote { f64::from(u8::from(leaf > 0.5)) } else { leaf }
    };
    // What the sum of the leaves rises by at each cut, and what it is at the person less what it is
    // at the lower end.
    let mut rises: Vec<(f64, f64)> = Vec::new();
    let mut waiting: Vec<(u32, f64, f64)> = Vec::new();
    let mut ahead = 0.0;
    for &root in trees.roots() {
        waiting.push((root, low, high));
        let mut last: Option<f64> = None;
        while let Some((mut at, from, mut to)) = waiting.pop() {
            loop {
                let node = &trees.nodes()[at as usize];
                if node.left == at {
                    let value = says(node.adds);
                    if let Some(last) = last.filter(|last| *last != value) {
                        rises.push((from, value - last));
                        ahead += if from < x[j] { value - last } else { 0.0 };
                    }
                    last = Some(value);
                    break;
                }
                let feature = node.feature as usize;
                if feature != j {
                    at = if Trees::goes_left(node, x[feature]) { node.left } else { node.right };
                } else if to <= node.cut {
                    at = node.left;
                } else if from >= node.cut {
                    at = node.right;
                } else {
                    waiting.push((node.right, node.cut, to));
                    (at, to) = (node.left, node.cut);
                }
            }
        }
    }
    rises.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut score = own - ahead * share;
    let (mut start, mut begun) = (low, score > ROUNDING_ERROR);
    for (i, (cut, rise)) in rises.iter().enumerate() {
        score += rise * share;
        if rises.get(i + 1).is_some_and(|next| next.0 == *cut) {
            continue;
        }
        let is = score > ROUNDING_ERROR;
        if begun && !is {
            found.push((start, *cut));
        } else if is && !begun {
            start = *cut;
        }
        begun = is;
    }
    if begun {
        found.push((start, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Tree, TreeRules};

    fn stump(feature: i64, cut: f64, left: f64, right: f64) -> Tree {
        Tree {
            feature: vec![feature as usize, 0, 0],
            threshold: vec![cut, 0.0, 0.0],
            left: vec![1, -1, -1],
            right: vec![2, -1, -1],
            value: vec![0.0, left, right],
            default_left: vec![],
        }
    }

    #[test]
    fn intervals_of_trees_are_where_rows_are_accepted() {
        let trees = vec![
            stump(0, 0.2, 1.0, -1.0),
            stump(0, 0.5, -1.0, 2.0),
            stump(0, 0.7, 0.5, -2.5),
            stump(1, 0.3, 0.0, 9.0),
        ];
        for aggregate in [Aggregate::Sum, Aggregate::Mean, Aggregate::Vote] {
            let rules = TreeRules { aggregate, ..TreeRules::default() };
            let model = Trees::new(2, trees.clone(), rules, 0.0).unwrap();
            for own in [0.05, 0.3, 0.6, 0.9] {
                let person = [own, 0.1];
                let mut found = Vec::new();
                on_trees(&model, (&person, model.score_row(&person)), 0, (0.0, 1.0), &mut found);
                for i in 0..100 {
                    let v = 0.005 + 0.01 * f64::from(i);
                    let within = found.iter().any(|(low, high)| (*low..=*high).contains(&v));
                    assert_eq!(
                        within,
                        model.score_row(&[v, 0.1]) > 0.0,
                        "{aggregate:?} {v} {found:?}"
                    );
                }
            }
        }
    }
}
