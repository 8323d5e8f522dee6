//! Distillation: one tree that says what a model says.
//!
//! The tree is grown on points and the model's own yes or no for them (Domingos 1997, "Knowledge
//! acquisition from examples via multiple models"), and judged by how often it agrees with the
//! model on noisy points that it was not grown on, since it is noisy points that its rate counts.

use crate::error::{Result, require};
use crate::model::grow::{Cart, Levels};
use crate::model::{Aggregate, Model, TreeRules, Trees};
use crate::noise::NoiseOn;
use crate::recourse::{MethodOptions, Task};
use crate::rows::{Rows, RowsMut};
use crate::seed::{Key, Purpose, Stream};
use rayon::prelude::*;

/// Names our streams among those of [`Purpose::Training`].
const STREAM: u64 = 0x6469_7374_696c;
/// Noisy points that the tree is judged on, at least.
const JUDGED: usize = 10_000;
/// Of how many reference rows one is held out.
const HELD_OUT: usize = 5;
/// Rows to grow on, at most.
const MOST_ROWS: f64 = 1e7;
/// Rows scored at a time.
const BLOCK: usize = 1_024;

/// Names of the settings.
pub(super) const NAMES: [&str; 3] = ["depth", "copies", "points"];

/// How a model is distilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Splits between root and leaf, at most.
    depth: usize,
    /// Noisy copies of each point that the tree is grown on too.
    copies: usize,
    /// Points drawn where there are no reference rows.
    points: usize,
}

impl Recipe {
    pub(super) fn new(options: &MethodOptions) -> Result<Self> {
        let whole = |name: &str, default: usize, rule: &'static str, low: f64, high: f64| {
            let holds = |v: f64| (low..=high).contains(&v) && v.fract() == 0.0;
            options.number(name, default as f64, rule, holds).map(|v| v as usize)
        };
        Ok(Self {
            depth: whole("depth", 8, "a whole number from 1 to 64", 1.0, 64.0)?,
            copies: whole("copies", 0, "a whole number from 0 to 10000", 0.0, 1e4)?,
            points: whole("points", 10_000, "a whole number from 10 to 10000000", 10.0, MOST_ROWS)?,
        })
    }
}

/// A model as one tree.
#[derive(Debug, Clone, PartialEq)]
pub struct Distilled {
    /// The tree.
    pub tree: Trees,
    /// Share of the noisy points that it was judged on where it says what the model says.
    pub fidelity: f64,
    /// How many these were.
    pub judged: usize,
}

impl Distilled {
    /// The tree that method `probe-tree` sees in place of the model. Fails on settings outside
    /// their domain and where there would be too many rows to grow it on.
    pub fn of(task: &Task) -> Result<Self> {
        let recipe = Recipe::new(&task.options)?;
        let n = task.model.n_features();
        let stream = |what: u64| {
            task.seed.stream(Purpose::Training, Key::default().word(STREAM).word(what).finish())
        };
        let (clean, held_out) = points(task, recipe, &mut stream(0));
        let rows = (clean.len() / n) as f64 * (1.0 + recipe.copies as f64);
        require(
            rows <= MOST_ROWS,
            "number of points and their noisy copies",
            "at most 10000000; give fewer copies",
            rows,
        )?;
        let (mut draw, mut grown_on) = (stream(1), clean.clone());
        for _ in 0..recipe.copies {
            grown_on.extend(noisy(task, &clean, &mut draw)?);
        }
        let (mut draw, mut judged_on) = (stream(2), Vec::new());
        while judged_on.len() < JUDGED * n {
            judged_on.extend(noisy(task, &held_out, &mut draw)?);
        }
        let favourable = decisions(&*task.model, &grown_on)?;
        let columns = Levels::of(Rows::new(&grown_on, n)?);
        let cart = Cart {
            columns: &columns,
            favourable: &favourable,
            weights: [1.0; 2],
            drawn: n,
            depth: recipe.depth,
            min_leaf: 1,
            bootstrap: false,
        };
        let rules = TreeRules { aggregate: Aggregate::Mean, ..TreeRules::default() };
        let tree = Trees::new(n, vec![cart.grow(stream(3))], rules, 0.0)?;
        let (ours, theirs) = (decisions(&tree, &judged_on)?, decisions(&*task.model, &judged_on)?);
        let agree = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
        Ok(Self { tree, fidelity: agree as f64 / ours.len() as f64, judged: ours.len() })
    }

    /// Number of leaves.
    pub fn n_leaves(&self) -> usize {
        self.tree.trees()[0].left.iter().filter(|child| **child < 0).count()
    }
}

/// Points to grow on and points to be judged on: the reference rows, of which some are held out, or
/// points drawn where there are none.
fn points(task: &Task, recipe: Recipe, stream: &mut Stream) -> (Vec<f64>, Vec<f64>) {
    let Some(rows) = task.reference.rows() else {
        return (spread(task, recipe.points, stream), spread(task, JUDGED, stream));
    };
    // One row alone is both.
    let mut order: Vec<usize> = (0..rows.n_rows()).collect();
    for k in (1..order.len()).rev() {
        order.swap(k, stream.below(k + 1));
    }
    let n_held_out = rows.n_rows().div_ceil(HELD_OUT);
    let take =
        |which: &[usize]| which.iter().flat_map(|&i| rows.row(i)).copied().collect::<Vec<f64>>();
    let held_out = take(&order[..n_held_out]);
    let grown_on = take(&order[n_held_out..]);
    if grown_on.is_empty() { (held_out.clone(), held_out) } else { (grown_on, held_out) }
}

/// Points spread evenly over the features' ranges; one-hot columns one-hot.
fn spread(task: &Task, n_points: usize, stream: &mut Stream) -> Vec<f64> {
    let ranges = task.reference.ranges();
    let mut points = Vec::with_capacity(n_points * ranges.len());
    for _ in 0..n_points {
        let first = points.len();
        points.extend(ranges.iter().map(|[low, high]| low + (high - low) * stream.uniform()));
        for group in task.actions.groups() {
            group.set(stream.below(group.n_options()), &mut points[first..]);
        }
    }
    points
}

/// The points as they come out when people aim at them.
fn noisy(task: &Task, points: &[f64], stream: &mut Stream) -> Result<Vec<f64>> {
    let n = task.model.n_features();
    // What changes is not known yet: whatever may.
    let noise_on = if task.noise_on == NoiseOn::Changed { NoiseOn::Mutable } else { task.noise_on };
    let mut active = vec![false; n];
    noise_on.active_into(&task.actions, &[], &[], &mut active);
    let mut draws = vec![0.0; points.len()];
    task.noise.sample_into(stream, RowsMut::new(&mut draws, n)?);
    for (row, point) in draws.chunks_exact_mut(n).zip(points.chunks_exact(n)) {
        for ((x, active), at) in row.iter_mut().zip(&active).zip(point) {
            *x = at + if *active { *x } else { 0.0 };
        }
    }
    Ok(draws)
}

/// Which of the points the model says yes to.
fn decisions(model: &dyn Model, points: &[f64]) -> Result<Vec<bool>> {
    let n = model.n_features();
    let mut scores = vec![0.0; points.len() / n];
    scores
        .par_chunks_mut(BLOCK)
        .zip(points.par_chunks(BLOCK * n))
        .try_for_each(|(out, rows)| model.score_batch(Rows::new(rows, n)?, out))?;
    Ok(scores.into_iter().map(|score| score > 0.0).collect())
}
