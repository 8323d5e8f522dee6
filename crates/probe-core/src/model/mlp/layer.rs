//! One layer: its numbers as given, and the same numbers laid out for the inner loops.

use crate::error::{Error, ParamError, Result, require};

/// Outputs computed side by side; weights are stored in panels of this many outputs.
pub(super) const LANES: usize = 8;
/// Rows computed side by side.
const ROWS: usize = 4;

/// The numbers of a fully connected layer $z = Wx + b$.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense {
    /// $W$, row-major: the weights of the first output, then those of the second, and so on.
    pub weight: Vec<f64>,
    /// $b$, one number per output.
    pub bias: Vec<f64>,
}

/// A checked layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    dense: Dense,
    n_in: usize,
    /// Per panel of outputs: the biases, then for each input the weights, [`LANES`] numbers each,
    /// padded by zeros.
    panels: Vec<[f64; LANES]>,
}

impl Layer {
    /// Checks layer number `index`, which takes `n_in` inputs.
    pub(super) fn new(dense: Dense, n_in: usize, index: usize) -> Result<Self> {
        let n_out = dense.bias.len();
        if n_out == 0 || dense.weight.len() != n_out.saturating_mul(n_in) {
            return Err(ParamError {
                field: format!(
                    "number of weights of layer {index} ({n_out} outputs, {n_in} inputs)"
                ),
                rule: "outputs × inputs, and not zero",
                value: dense.weight.len() as f64,
            }
            .into());
        }
        for (at, weight) in dense.weight.iter().enumerate() {
            let field = || format!("weight [{}][{}] of layer {index}", at / n_in, at % n_in);
            check_finite(*weight, field)?;
        }
        for (output, bias) in dense.bias.iter().enumerate() {
            check_finite(*bias, || format!("bias [{output}] of layer {index}"))?;
        }
        Ok(Self::packed(dense, n_in))
    }

    fn packed(dense: Dense, n_in: usize) -> Self {
        let n_out = dense.bias.len();
        let mut panels = Vec::with_capacity(n_out.div_ceil(LANES) * (n_in + 1));
        for first in (0..n_out).step_by(LANES) {
            let lanes = |value: &dyn Fn(usize) -> f64| {
                std::array::from_fn(
                    |lane| if first + lane < n_out { value(first + lane) } else { 0.0 },
                )
            };
            panels.push(lanes(&|output| dense.bias[output]));
            panels.extend((0..n_in).map(|k| lanes(&|output| dense.weight[output * n_in + k])));
        }
        Self { dense, n_in, panels }
    }

    /// Number of inputs.
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// Number of outputs.
    pub fn n_out(&self) -> usize {
        self.dense.bias.len()
    }

    /// All weights, row-major: `[outputs][inputs]`.
    pub fn weight(&self) -> &[f64] {
        &self.dense.weight
    }

    /// The weights of one output.
    pub fn row(&self, output: usize) -> &[f64] {
        &self.dense.weight[output * self.n_in..(output + 1) * self.n_in]
    }

    /// The biases, one per output.
    pub fn bias(&self) -> &[f64] {
        &self.dense.bias
    }

    /// The numbers as given.
    pub fn dense(&self) -> &Dense {
        &self.dense
    }

    /// Number of outputs, rounded up to whole panels: the buffer length of a row of outputs.
    pub(super) fn stride(&self) -> usize {
        self.n_out().next_multiple_of(LANES)
    }

    /// $Wx$ plus, if `biased`, $b$ for each row: inputs are `x_stride` numbers apart, outputs
    /// [`Layer::stride`].
    ///
    /// Each output is summed over the inputs in order, so that its bits do not depend on the batch.
    #[inline(always)]
    pub(super) fn forward(&self, x: &[f64], x_stride: usize, out: &mut [f64], biased: bool) {
        let stride = self.stride();
        let n_rows = out.len() / stride;
        let whole = n_rows - n_rows % ROWS;
        for (p, panel) in self.panels.chunks_exact(self.n_in + 1).enumerate() {
            let Some((bias, weights)) = panel.split_first() else { continue };
            let start = if biased { *bias } else { [0.0; LANES] };
            for row in (0..whole).step_by(ROWS) {
                tile::<ROWS>(
                    &x[row * x_stride..],
                    x_stride,
                    weights,
                    start,
                    &mut out[row * stride + p * LANES..],
                    stride,
                );
            }
            for row in whole..n_rows {
                tile::<1>(
                    &x[row * x_stride..],
                    x_stride,
                    weights,
                    start,
                    &mut out[row * stride + p * LANES..],
                    stride,
                );
            }
        }
    }

    /// `out` = $W^\top v$.
    #[inline(always)]
    pub(super) fn transposed_times(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (row, &factor) in self.dense.weight.chunks_exact(self.n_in).zip(v) {
            // Half of the units of a relu network are off.
            if factor != 0.0 {
                out.iter_mut().zip(row).for_each(|(o, w)| *o += factor * w);
            }
        }
    }
}

fn check_finite(value: f64, field: impl Fn() -> String) -> Result<()> {
    if value.is_finite() { Ok(()) } else { Ok(require(false, &field(), "finite", value)?) }
}

/// `M` rows by one panel of outputs, kept in registers while the inputs are summed.
#[inline(always)]
fn tile<const M: usize>(
    x: &[f64],
    x_stride: usize,
    weights: &[[f64; LANES]],
    start: [f64; LANES],
    out: &mut [f64],
    stride: usize,
) {
    let n_in = weights.len();
    let rows: [&[f64]; M] = std::array::from_fn(|m| &x[m * x_stride..m * x_stride + n_in]);
    let mut sums = [start; M];
    for (k, weight) in weights.iter().enumerate() {
        for m in 0..M {
            let value = rows[m][k];
            for lane in 0..LANES {
                sums[m][lane] += value * weight[lane];
            }
        }
    }
    for (m, sum) in sums.iter().enumerate() {
        out[m * stride..m * stride + LANES].copy_from_slice(sum);
    }
}

/// The single row that replaces two softmax logits: $z_1 - z_0$. Fails if a difference overflows.
pub(super) fn fold(last: &Layer, index: usize) -> Result<Dense> {
    match last.n_out() {
        1 => Ok(last.dense.clone()),
        2 => {
            let difference =
                |one: &[f64], zero: &[f64]| one.iter().zip(zero).map(|(a, b)| a - b).collect();
            let weight: Vec<f64> = difference(last.row(1), last.row(0));
            for (k, w) in weight.iter().enumerate() {
                check_finite(*w, || format!("weight [1][{k}] - weight [0][{k}] of layer {index}"))?;
            }
            let bias = last.bias()[1] - last.bias()[0];
            check_finite(bias, || format!("bias [1] - bias [0] of layer {index}"))?;
            Ok(Dense { weight, bias: vec![bias] })
        }
        found => {
            Err(Error::Shape { what: "outputs of the last layer (1 or 2)", expected: 2, found })
        }
    }
}
