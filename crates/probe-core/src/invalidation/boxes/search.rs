//! Branch and bound over boxes: divides the noisy features' ranges until the possible outputs of
//! all trees within a box decide its score.
//!
//! Bounds need no allowance for rounding. Floating-point sums are monotone in each of their terms.
//! Adding each tree's least leaf in the model's own order therefore gives a sum that is at most the
//! score anywhere in the box, to the bit. This sum is only computed if a cheaper running sum is too
//! close to zero to decide.

use super::bits::Bits;
use super::collapse::{Collapsed, Cut, Part};
use crate::model::{Aggregate, Trees};

/// A box, with the leaves that the trees can still reach in it.
struct Frame<const W: usize> {
    /// The reachable leaves of each tree.
    leaves: Vec<Bits<W>>,
    /// Splits that divide the box, in order.
    cuts: Vec<u32>,
    /// The indices of both ends of each noisy feature.
    bounds: Vec<[u32; 2]>,
    /// Bounds of the sum of all leaves, minus `Search::target`.
    low: f64,
    high: f64,
}

impl<const W: usize> Default for Frame<W> {
    fn default() -> Self {
        Self { leaves: Vec::new(), cuts: Vec::new(), bounds: Vec::new(), low: 0.0, high: 0.0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Refused,
    Accepted,
    Open,
}

/// Result of a search: masses, and the number of evaluated boxes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Found {
    pub(super) refused: f64,
    pub(super) accepted: f64,
    pub(super) open: f64,
    pub(super) boxes: usize,
}

/// Boxes are searched by decreasing mass. Masses within a factor of 16 count as equal.
const SHIFT: u32 = 4;
const BUCKETS: usize = 1 + (1075 >> 2);

/// What a search computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// The rate.
    Rate,
    /// The rate and its slopes; the densities at all ends must be known.
    Slopes,
    /// All rejected boxes, however small.
    Survey,
}

/// Buffers for searches.
pub(super) struct Search<const W: usize> {
    cuts: Vec<Cut<W>>,
    frames: Vec<Frame<W>>,
    stack: Vec<Frame<W>>,
    /// Boxes to divide later, in buckets by mass: the indices of their ends.
    later: Vec<Vec<[u32; 2]>>,
    gains: Vec<f64>,
    /// The score is positive if the sum of the leaves is above this.
    target: f64,
    /// Bound on the rounding error of running sums.
    slack: f64,
    /// Derivatives of the rejected mass with respect to the noisy features; empty if not asked for.
    pub(super) slopes: Vec<f64>,
    /// The rejected boxes of a survey: the indices of their ends.
    pub(super) refused: Vec<[u32; 2]>,
    aim: Aim,
}

impl<const W: usize> Default for Search<W> {
    fn default() -> Self {
        Self {
            cuts: Vec::new(),
            frames: Vec::new(),
            stack: Vec::new(),
            later: Vec::new(),
            gains: Vec::new(),
            target: 0.0,
            slack: 0.0,
            slopes: Vec::new(),
            refused: Vec::new(),
            aim: Aim::Rate,
        }
    }
}

fn bucket(mass: f64) -> usize {
    let exponent = 1023 - ((mass.to_bits() >> 52) & 0x7ff) as i64;
    (exponent.max(0) as usize / SHIFT as usize).min(BUCKETS - 1)
}

fn mass_of(parts: &Collapsed, bounds: &[[u32; 2]]) -> f64 {
    bounds.iter().enumerate().map(|(f, _)| side(parts, bounds, f)).product()
}

/// The factor of one feature in the mass of a box.
fn side(parts: &Collapsed, bounds: &[[u32; 2]], f: usize) -> f64 {
    let (row, [from, to]) = (parts.rows[f], bounds[f]);
    parts.ends[(row + from) as usize].mass_to(parts.ends[(row + to) as usize])
}

impl<const W: usize> Search<W> {
    /// Bounds the rate of `model`, reduced to `parts`, until at most `tolerance` of the mass is
    /// undecided or `budget` boxes were evaluated.
    pub(super) fn run(
        &mut self,
        model: &Trees,
        parts: &Collapsed,
        (budget, tolerance): (usize, f64),
        aim: Aim,
    ) -> Found {
        self.aim = aim;
        self.refused.clear();
        self.slopes.clear();
        self.slopes.resize(if aim == Aim::Slopes { parts.n_features() } else { 0 }, 0.0);
        parts.cuts_into(&mut self.cuts);
        self.measure(model, parts);
        self.later.resize_with(BUCKETS, Vec::new);
        self.later.iter_mut().for_each(Vec::clear);
        self.frames.append(&mut self.stack);
        let mut found = Found::default();
        let k = parts.n_features();
        let mut root = self.frames.pop().unwrap_or_default();
        root.bounds.clear();
        root.bounds.extend((0..k).map(|f| [0, parts.rows[f + 1] - parts.rows[f] - 1]));
        self.derive(parts, &mut root);
        let all: Vec<u32> = (0..self.cuts.len() as u32).collect();
        self.file(model, parts, root, (&all, usize::MAX), &mut found);
        let mut level = 0;
        while level < BUCKETS {
            let Some(mut frame) = self.next(parts, level) else {
                level += 1;
                continue;
            };
            let left = 1.0 - found.refused - found.accepted;
            // Because of rounding, `left` may be 0 although boxes remain. With a tolerance of 0 the
            // search continues until none remains.
            if found.boxes >= budget || (left <= tolerance && tolerance > 0.0) {
                self.put_off(parts, &frame);
                self.frames.push(frame);
                break;
            }
            let (feature, place) = self.choose(parts, &frame);
            for right in [false, true] {
                let mut child = self.frames.pop().unwrap_or_default();
                self.halve(parts, &frame, &mut child, (feature, place, right));
                self.file(model, parts, child, (&frame.cuts, level), &mut found);
            }
            frame.cuts.clear();
            self.frames.push(frame);
        }
        while let Some(frame) = self.stack.pop() {
            self.put_off(parts, &frame);
            self.frames.push(frame);
        }
        for boxes in &self.later {
            found.open +=
                boxes.chunks_exact(k.max(1)).map(|bounds| mass_of(parts, bounds)).sum::<f64>();
        }
        found
    }

    /// Sets `target` and `slack`.
    fn measure(&mut self, model: &Trees, parts: &Collapsed) {
        let (rules, n) = (model.rules(), parts.parts.len() as f64);
        let threshold = crate::model::Model::threshold(model);
        self.target = match rules.aggregate {
            Aggregate::Sum => threshold - rules.base,
            Aggregate::Mean | Aggregate::Vote => n * (0.5 + threshold),
        };
        let largest = |part: &Part| match *part {
            Part::Fixed(value) => value.abs(),
            Part::Live(tree) => {
                let (from, to) = (parts.first[tree as usize], parts.first[tree as usize + 1]);
                parts.values[from as usize].abs().max(parts.values[to as usize - 1].abs())
            }
        };
        let size = parts.parts.iter().map(largest).sum::<f64>()
            + rules.base.abs()
            + threshold.abs()
            + n * (0.5 + threshold.abs());
        // Each term of the sum and each cut that updates a running sum adds one rounding, of a
        // number of magnitude `size` at most.
        let roundings = 4 * (parts.parts.len() + self.cuts.len() + 4);
        self.slack = roundings as f64 * f64::EPSILON * size;
    }

    /// The next box to divide, of those in bucket `level`.
    fn next(&mut self, parts: &Collapsed, level: usize) -> Option<Frame<W>> {
        if let Some(frame) = self.stack.pop() {
            return Some(frame);
        }
        let k = parts.n_features();
        if k == 0 || self.later[level].len() < k {
            return None;
        }
        let from = self.later[level].len() - k;
        let mut frame = self.frames.pop().unwrap_or_default();
        frame.bounds.clear();
        frame.bounds.extend(self.later[level].drain(from..));
        self.derive(parts, &mut frame);
        frame.cuts.clear();
        for (i, cut) in self.cuts.iter().enumerate() {
            if Self::splits(parts, &frame, cut) {
                frame.cuts.push(i as u32);
            }
        }
        Some(frame)
    }

    fn put_off(&mut self, parts: &Collapsed, frame: &Frame<W>) {
        self.later[bucket(mass_of(parts, &frame.bounds))].extend_from_slice(&frame.bounds);
    }

    /// Computes the reachable leaves and the bounds of the sum from the ends of the box alone.
    fn derive(&self, parts: &Collapsed, frame: &mut Frame<W>) {
        frame.leaves.clear();
        frame
            .leaves
            .extend(parts.first.windows(2).map(|pair| Bits::below((pair[1] - pair[0]) as usize)));
        for cut in &self.cuts {
            let [from, to] = frame.bounds[cut.feature as usize];
            let leaves = &mut frame.leaves[cut.tree as usize];
            if cut.place <= from {
                *leaves = leaves.without(&cut.left);
            } else if cut.place >= to {
                *leaves = leaves.without(&cut.right);
            }
        }
        (frame.low, frame.high) = (-self.target, -self.target);
        for part in &parts.parts {
            let [low, high] = Self::range(parts, frame, *part);
            frame.low += low;
            frame.high += high;
        }
    }

    /// The least and the largest output of a tree in the box.
    fn range(parts: &Collapsed, frame: &Frame<W>, part: Part) -> [f64; 2] {
        match part {
            Part::Fixed(value) => [value; 2],
            Part::Live(tree) => Self::span(parts, tree, &frame.leaves[tree as usize]),
        }
    }

    #[inline(always)]
    fn span(parts: &Collapsed, tree: u32, leaves: &Bits<W>) -> [f64; 2] {
        let first = parts.first[tree as usize] as usize;
        [parts.values[first + leaves.first()], parts.values[first + leaves.last()]]
    }

    /// Whether a split divides the box and changes the output of its tree.
    #[inline(always)]
    fn splits(parts: &Collapsed, frame: &Frame<W>, cut: &Cut<W>) -> bool {
        let [from, to] = frame.bounds[cut.feature as usize];
        let leaves = &frame.leaves[cut.tree as usize];
        let inside = from < cut.place && cut.place < to;
        inside && !leaves.and(&cut.left).is_empty() && !leaves.and(&cut.right).is_empty() && {
            let [low, high] = Self::span(parts, cut.tree, leaves);
            low < high
        }
    }

    /// Makes `child` the left or the right side of `frame`.
    fn halve(
        &self,
        parts: &Collapsed,
        frame: &Frame<W>,
        child: &mut Frame<W>,
        (feature, place, right): (u32, u32, bool),
    ) {
        child.leaves.clear();
        child.leaves.extend_from_slice(&frame.leaves);
        child.bounds.clear();
        child.bounds.extend_from_slice(&frame.bounds);
        child.bounds[feature as usize][usize::from(!right)] = place;
        (child.low, child.high) = (frame.low, frame.high);
        let from = frame.cuts.partition_point(|&i| self.cuts[i as usize].feature < feature);
        for &i in &frame.cuts[from..] {
            let cut = &self.cuts[i as usize];
            if cut.feature != feature {
                break;
            }
            let gone = if right && cut.place <= place {
                &cut.left
            } else if !right && cut.place >= place {
                &cut.right
            } else {
                continue;
            };
            let leaves = &mut child.leaves[cut.tree as usize];
            let before = Self::span(parts, cut.tree, leaves);
            *leaves = leaves.without(gone);
            let after = Self::span(parts, cut.tree, leaves);
            child.low += after[0] - before[0];
            child.high += after[1] - before[1];
        }
    }

    /// Adds the mass of a box if it is decided, else stores the box to be divided. Its splits are
    /// among `cuts`.
    fn file(
        &mut self,
        model: &Trees,
        parts: &Collapsed,
        mut frame: Frame<W>,
        (cuts, level): (&[u32], usize),
        found: &mut Found,
    ) {
        found.boxes += 1;
        let mass = mass_of(parts, &frame.bounds);
        let counts = mass > 0.0 || self.aim == Aim::Survey;
        let mut verdict = if counts { self.judge(model, parts, &frame) } else { Verdict::Accepted };
        if verdict == Verdict::Open {
            frame.cuts.clear();
            for &i in cuts {
                if Self::splits(parts, &frame, &self.cuts[i as usize]) {
                    frame.cuts.push(i);
                }
            }
            if frame.cuts.is_empty() {
                verdict = if self.sum(model, parts, &frame, 0) > 0.0 {
                    Verdict::Accepted
                } else {
                    Verdict::Refused
                };
            }
        }
        match verdict {
            Verdict::Refused => {
                found.refused += mass;
                for (f, slope) in self.slopes.iter_mut().enumerate() {
                    let row = parts.rows[f];
                    let [from, to] =
                        frame.bounds[f].map(|place| parts.densities[(row + place) as usize]);
                    *slope += mass / side(parts, &frame.bounds, f) * (from - to);
                }
                if self.aim == Aim::Survey {
                    self.refused.extend_from_slice(&frame.bounds);
                }
            }
            Verdict::Accepted => found.accepted += mass,
            Verdict::Open if bucket(mass) <= level => {
                self.stack.push(frame);
                return;
            }
            Verdict::Open => self.later[bucket(mass)].extend_from_slice(&frame.bounds),
        }
        self.frames.push(frame);
    }

    /// The model's score for the least (0) or greatest (1) reachable leaves, to the bit.
    fn sum(&self, model: &Trees, parts: &Collapsed, frame: &Frame<W>, which: usize) -> f64 {
        model.aggregate(parts.parts.iter().map(|part| Self::range(parts, frame, *part)[which]))
    }

    fn judge(&self, model: &Trees, parts: &Collapsed, frame: &Frame<W>) -> Verdict {
        // If sums may overflow, they are not monotone. Then only boxes without splits are decided.
        if !self.slack.is_finite() {
            return Verdict::Open;
        }
        if frame.high < -self.slack {
            Verdict::Refused
        } else if frame.low > self.slack {
            Verdict::Accepted
        } else if frame.high <= self.slack && self.sum(model, parts, frame, 1) <= 0.0 {
            Verdict::Refused
        } else if frame.low >= -self.slack && self.sum(model, parts, frame, 0) > 0.0 {
            Verdict::Accepted
        } else {
            Verdict::Open
        }
    }

    /// The feature and end to divide at: the feature whose cuts shrink the trees' ranges most, at
    /// the cut where half of that gain is reached.
    fn choose(&mut self, parts: &Collapsed, frame: &Frame<W>) -> (u32, u32) {
        self.gains.clear();
        let mut best = (f64::NEG_INFINITY, 0..0);
        let mut from = 0;
        while from < frame.cuts.len() {
            let feature = self.cuts[frame.cuts[from] as usize].feature;
            let (row, [low, _]) = (parts.rows[feature as usize], frame.bounds[feature as usize]);
            let whole = side(parts, &frame.bounds, feature as usize);
            let (mut to, mut total) = (from, 0.0);
            while to < frame.cuts.len() {
                let cut = &self.cuts[frame.cuts[to] as usize];
                if cut.feature != feature {
                    break;
                }
                let leaves = &frame.leaves[cut.tree as usize];
                let width = |leaves: &Bits<W>| {
                    let [low, high] = Self::span(parts, cut.tree, leaves);
                    high - low
                };
                let share = parts.ends[(row + low) as usize]
                    .mass_to(parts.ends[(row + cut.place) as usize])
                    / whole;
                let left = share * width(&leaves.and(&cut.left));
                let right = (1.0 - share) * width(&leaves.and(&cut.right));
                let gain = (width(leaves) - left - right).max(0.0);
                total += gain;
                self.gains.push(gain);
                to += 1;
            }
            if total > best.0 {
                best = (total, from..to);
            }
            from = to;
        }
        let (total, range) = best;
        let mut before = 0.0;
        let mut chosen = range.start;
        for i in range {
            chosen = i;
            before += self.gains[i];
            if before >= 0.5 * total {
                break;
            }
        }
        let cut = frame.cuts.get(chosen).map_or(0, |&i| i as usize);
        (self.cuts[cut].feature, self.cuts[cut].place)
    }
}
