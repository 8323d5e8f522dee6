//! Growing one tree: CART (Breiman, Friedman, Olshen and Stone 1984).
//!
//! Every split has the least Gini impurity among all cuts of the drawn features. Cuts are midway
//! between neighbouring values of the node's rows. The value of a leaf is the share of its rows
//! that is favourable. Forests consist of such trees, and `probe-tree` distils a model into one.
//!
//! Rows are counted in whole numbers and everything drawn comes from one stream, so the same input
//! gives the same bits.

mod levels;

pub use levels::Levels;

use super::Tree;
use crate::seed::Stream;

/// The data and limits of a tree. There are fewer than $2^{32}$ rows.
#[derive(Debug, Clone, Copy)]
pub struct Cart<'a> {
    /// The columns.
    pub columns: &'a [Levels],
    /// Targets, one per row.
    pub favourable: &'a [bool],
    /// Weight of an unfavourable and of a favourable row.
    pub weights: [f64; 2],
    /// Features that compete for a split.
    pub drawn: usize,
    /// Splits between root and leaf, at most.
    pub depth: usize,
    /// Rows in a leaf, at least.
    pub min_leaf: usize,
    /// Whether the rows are drawn with replacement; otherwise all rows.
    pub bootstrap: bool,
}

impl Cart<'_> {
    /// Grows a tree.
    pub fn grow(&self, stream: Stream) -> Tree {
        Growing::new(self, stream).grow()
    }
}

/// How many rows are unfavourable and favourable.
type Counts = [u32; 2];

/// A place to split at.
struct Cut {
    /// The larger, the purer the two sides.
    purity: f64,
    feature: usize,
    /// Levels on both sides of it.
    low: u32,
    high: u32,
}

/// One tree as it grows.
struct Growing<'a> {
    data: &'a Cart<'a>,
    stream: Stream,
    /// Rows that were drawn, in the order of the nodes that hold them.
    rows: Vec<u32>,
    /// How often each row was drawn.
    times: Vec<u32>,
    /// Features in a random order.
    order: Vec<usize>,
    /// Rows by level; zero between uses.
    by_level: Vec<Counts>,
    /// Levels of a node's rows, ascending.
    tally: Vec<(u32, Counts)>,
    tree: Tree,
}

impl<'a> Growing<'a> {
    fn new(data: &'a Cart<'a>, mut stream: Stream) -> Self {
        let n = data.favourable.len();
        let mut times = vec![u32::from(!data.bootstrap); n];
        if data.bootstrap {
            (0..n).for_each(|_| times[stream.below(n)] += 1);
        }
        let rows =
            (0u32..).zip(&times).filter(|(_, times)| **times > 0).map(|(row, _)| row).collect();
        let most_levels = data.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        Self {
            data,
            stream,
            rows,
            times,
            order: (0..data.columns.len()).collect(),
            by_level: vec![[0; 2]; most_levels],
            tally: Vec::new(),
            tree: Tree::default(),
        }
    }

    fn grow(mut self) -> Tree {
        let root = self.leaf(0, self.rows.len());
        let mut todo = vec![(root, 0, self.rows.len(), 0)];
        while let Some((node, from, to, depth)) = todo.pop() {
            if depth == self.data.depth {
                continue;
            }
            let Some(cut) = self.best_cut(from, to) else { continue };
            let column = &self.data.columns[cut.feature];
            let middle = from
                + partition(&mut self.rows[from..to], |row| column.codes[row as usize] <= cut.low);
            let (left, right) = (self.leaf(from, middle), self.leaf(middle, to));
            self.tree.feature[node] = cut.feature;
            self.tree.threshold[node] = column.cut(cut.low, cut.high);
            self.tree.left[node] = left as i64;
            self.tree.right[node] = right as i64;
            self.tree.value[node] = 0.0;
            todo.push((right, middle, to, depth + 1));
            todo.push((left, from, middle, depth + 1));
        }
        self.tree
    }

    /// A new leaf for some of the rows.
    fn leaf(&mut self, from: usize, to: usize) -> usize {
        let [no, yes] = self.weigh(self.count(from, to));
        self.tree.push_leaf(yes / (no + yes))
    }

    fn count(&self, from: usize, to: usize) -> Counts {
        let mut counts = [0; 2];
        for &row in &self.rows[from..to] {
            counts[usize::from(self.data.favourable[row as usize])] += self.times[row as usize];
        }
        counts
    }

    fn weigh(&self, [no, yes]: Counts) -> [f64; 2] {
        [self.data.weights[0] * f64::from(no), self.data.weights[1] * f64::from(yes)]
    }

    /// The best cut of the features drawn; `None` if there is nothing to split.
    fn best_cut(&mut self, from: usize, to: usize) -> Option<Cut> {
        let total = self.count(from, to);
        if total[0] == 0 || total[1] == 0 || (total[0] + total[1]) as usize / 2 < self.data.min_leaf
        {
            return None;
        }
        let (mut best, mut seen) = (None, 0);
        for k in 0..self.order.len() {
            let other = k + self.stream.below(self.order.len() - k);
            self.order.swap(k, other);
            let feature = self.order[k];
            self.tally(feature, from, to);
            if self.tally.len() > 1 {
                self.improve(feature, total, &mut best);
                seen += 1;
            }
            // As in scikit-learn: continue with the next feature until one can be split.
            if seen >= self.data.drawn && best.is_some() {
                break;
            }
        }
        best
    }

    /// Counts the rows of a node by their level of `feature`.
    fn tally(&mut self, feature: usize, from: usize, to: usize) {
        let Self { data, rows, times, by_level, tally, .. } = self;
        let (column, rows) = (&data.columns[feature], &rows[from..to]);
        tally.clear();
        let class = |row: u32| usize::from(data.favourable[row as usize]);
        // Few rows of a column with many levels are sorted, others counted. The outcome is the
        // same.
        if column.values.len() > 8 * rows.len() {
            let entry = |&row: &u32| {
                let mut counts = [0; 2];
                counts[class(row)] = times[row as usize];
                (column.codes[row as usize], counts)
            };
            tally.extend(rows.iter().map(entry));
            tally.sort_unstable_by_key(|(code, _)| *code);
            tally.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 = [kept.1[0] + next.1[0], kept.1[1] + next.1[1]];
                }
                same
            });
            return;
        }
        for &row in rows {
            by_level[column.codes[row as usize] as usize][class(row)] += times[row as usize];
        }
        for (counts, code) in by_level[..column.values.len()].iter_mut().zip(0u32..) {
            if *counts != [0; 2] {
                tally.push((code, std::mem::take(counts)));
            }
        }
    }

    /// Replaces `best` by the best cut of the tallied feature, if that is better.
    fn improve(&self, feature: usize, total: Counts, best: &mut Option<Cut>) {
        let mut left = [0; 2];
        for pair in self.tally.windows(2) {
            let (low, counts) = pair[0];
            left = [left[0] + counts[0], left[1] + counts[1]];
            let right = [total[0] - left[0], total[1] - left[1]];
            if ((left[0] + left[1]).min(right[0] + right[1]) as usize) < self.data.min_leaf {
                continue;
            }
            let purity = purity(self.weigh(left)) + purity(self.weigh(right));
            if best.as_ref().is_none_or(|best| purity > best.purity) {
                *best = Some(Cut { purity, feature, low, high: pair[1].0 });
            }
        }
    }
}

/// Weight less Gini impurity times weight, up to a factor: $(a^2 + b^2) / (a + b)$.
fn purity([no, yes]: [f64; 2]) -> f64 {
    (no * no + yes * yes) / (no + yes)
}

/// Moves rows that go left to the front; returns their number.
pub fn partition(rows: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let mut n = 0;
    for i in 0..rows.len() {
        if goes_left(rows[i]) {
            rows.swap(i, n);
            n += 1;
        }
    }
    n
}

#[cfg(test)]
mod tests;
