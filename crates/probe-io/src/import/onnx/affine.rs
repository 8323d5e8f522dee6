//! Affine maps of the inputs or of the units of a layer; consecutive maps are merged.

/// Each row's weights.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Weights {
    /// One entry a row, the others zero: its index and its weight.
    Picked(Vec<(usize, f64)>),
    /// All of them, row by row.
    Dense(Vec<f64>),
}

/// `rows` values, each an affine function of the values of a stage: 0 the columns of the input, `i`
/// the units of hidden layer `i - 1`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    pub stage: usize,
    /// Number of values of the stage, as far as they were known; later ones have no weight.
    pub width: usize,
    pub weights: Weights,
    pub bias: Vec<f64>,
}

impl Affine {
    /// Number of values.
    pub(super) fn n(&self) -> usize {
        self.bias.len()
    }

    /// Row `i`, all of it, `width` long.
    pub(super) fn row(&self, i: usize, width: usize) -> Vec<f64> {
        let mut row = vec![0.0; width];
        match &self.weights {
            Weights::Picked(entries) => row[entries[i].0] = entries[i].1,
            Weights::Dense(all) => {
                row[..self.width].copy_from_slice(&all[i * self.width..][..self.width])
            }
        }
        row
    }

    /// Some of the rows, in any order.
    pub(super) fn pick(&self, rows: &[usize]) -> Self {
        let weights = match &self.weights {
            Weights::Picked(entries) => Weights::Picked(rows.iter().map(|&i| entries[i]).collect()),
            Weights::Dense(_) => {
                Weights::Dense(rows.iter().flat_map(|&i| self.row(i, self.width)).collect())
            }
        };
        Self { weights, bias: rows.iter().map(|&i| self.bias[i]).collect(), ..*self }
    }

    /// Each value times a factor, plus an offset.
    pub(super) fn mapped(
        &self,
        factor: impl Fn(usize) -> f64,
        offset: impl Fn(usize) -> f64,
    ) -> Self {
        let mut next = self.clone();
        match &mut next.weights {
            Weights::Picked(entries) => {
                entries.iter_mut().enumerate().for_each(|(i, entry)| entry.1 *= factor(i));
            }
            Weights::Dense(all) => {
                for (i, row) in all.chunks_exact_mut(self.width.max(1)).enumerate() {
                    row.iter_mut().for_each(|w| *w *= factor(i));
                }
            }
        }
        for (i, bias) in next.bias.iter_mut().enumerate() {
            *bias = *bias * factor(i) + offset(i);
        }
        next
    }

    /// Layer `matrix`, which has `n` columns of weights for as many outputs (`[inputs][outputs]`),
    /// plus a bias.
    pub(super) fn through(&self, matrix: &[f64], n: usize, bias: &[f64]) -> Self {
        let mut weights = vec![0.0; n * self.width];
        let mut sums = bias.to_vec();
        for (i, row) in matrix.chunks_exact(n).enumerate() {
            for (o, &factor) in row.iter().enumerate() {
                sums[o] += factor * self.bias[i];
                let target = &mut weights[o * self.width..][..self.width];
                match &self.weights {
                    Weights::Picked(entries) => target[entries[i].0] += factor * entries[i].1,
                    Weights::Dense(all) => {
                        let from = &all[i * self.width..][..self.width];
                        target.iter_mut().zip(from).for_each(|(t, w)| *t += factor * w);
                    }
                }
            }
        }
        Self { stage: self.stage, width: self.width, weights: Weights::Dense(weights), bias: sums }
    }

    /// `self + sign · other`; both of one stage and as many.
    pub(super) fn plus(&self, other: &Self, sign: f64) -> Self {
        let width = self.width.max(other.width);
        let mut weights = Vec::with_capacity(self.n() * width);
        for i in 0..self.n() {
            let (a, b) = (self.row(i, width), other.row(i, width));
            weights.extend(a.iter().zip(&b).map(|(a, b)| a + sign * b));
        }
        let bias = self.bias.iter().zip(&other.bias).map(|(a, b)| a + sign * b).collect();
        Self { stage: self.stage, width, weights: Weights::Dense(weights), bias }
    }

    /// The rows of both.
    pub(super) fn and(&self, other: &Self) -> Self {
        let width = self.width.max(other.width);
        let bias = [&self.bias[..], &other.bias[..]].concat();
        let weights = match (&self.weights, &other.weights) {
            (Weights::Picked(a), Weights::Picked(b)) => Weights::Picked([&a[..], &b[..]].concat()),
            _ => {
                let rows = (0..self.n()).map(|i| self.row(i, width));
                Weights::Dense(
                    rows.chain((0..other.n()).map(|i| other.row(i, width))).flatten().collect(),
                )
            }
        };
        Self { stage: self.stage, width, weights, bias }
    }

    /// Whether the two rows of a pair are each other's negative.
    pub(super) fn is_opposite(&self) -> bool {
        let (a, b) = (self.row(0, self.width), self.row(1, self.width));
        self.bias[0] == -self.bias[1] && a.iter().zip(&b).all(|(a, b)| *a == -*b)
    }
}
