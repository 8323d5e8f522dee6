//! Fully connected networks, by Adam on mini-batches.
//!
//! Minimises $\frac1n \sum_i c_i \log(1 + e^{-y_i f(x_i)}) + \frac{\lambda}{2n} \sum_l \lVert W_l
//! \rVert^2$ over all weights and biases, with $y_i = \pm 1$, margin $f$ and class weights $c_i$ as
//! in the logistic regression. With two outputs the margin is $z_1 - z_0$, and this is softmax
//! cross-entropy. Adam is Kingma and Ba 2015, with their constants; weights start as He et al. 2015
//! (relu-like activations) or Glorot and Bengio 2010 (the others and the last layer), biases at 0.
//!
//! With `patience`, a part of the rows is held back; training stops when the loss on it has not
//! fallen for so many epochs, and the weights of the best epoch are kept. The paper trains [d, 50,
//! 2] relu networks for a fixed number of epochs: that is `patience` 0.
//!
//! Training runs on one thread and draws everything from the seed, so the same input gives the same
//! bits. An epoch costs about six operations per weight and row.

mod net;

use crate::design::check_finite;
use crate::error::{Error, Result, both_classes, same_length};
use crate::metrics::{class_weights, weighted_loss};
use crate::split::{Split, shuffle};
use net::{Net, Workspace};
use probe_core::error::require;
use probe_core::math::adam::Adam;
use probe_core::{Activation, Mlp, Model, ParamError, Purpose, Rows, Seed};
use serde::{Deserialize, Serialize};

/// Names the streams of a network among those of [`Purpose::Training`].
const VALIDATION_STREAM: u64 = 2;
const START_STREAM: u64 = 3;
const ORDER_STREAM: u64 = 4;
/// More weights than this are probably a typing error.
const MOST_PARAMETERS: f64 = 1e8;

/// Settings of a network and its training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MlpParams {
    /// Units of each hidden layer.
    pub hidden: Vec<usize>,
    /// Activation between the layers.
    pub activation: Activation,
    /// 1: the margin. 2: softmax logits, as in the paper's networks. The margins are of the
    /// same kind.
    pub outputs: usize,
    /// Most passes over the rows.
    pub epochs: usize,
    /// Rows per step.
    pub batch: usize,
    /// Adam's step size.
    pub learning_rate: f64,
    /// Penalty $\lambda \ge 0$ on the weights, of the same meaning as in the logistic regression.
    pub l2: f64,
    /// Whether both classes weigh the same in total, however many rows they have.
    pub balanced: bool,
    /// Epochs without progress on the held-back rows after which to stop; 0 holds nothing back and
    /// runs all epochs.
    pub patience: usize,
    /// Share of the rows that is held back.
    pub validation_share: f64,
}

impl Default for MlpParams {
    fn default() -> Self {
        Self {
            hidden: vec![50],
            activation: Activation::Relu,
            outputs: 2,
            epochs: 50,
            batch: 128,
            learning_rate: 1e-3,
            l2: 0.0,
            balanced: false,
            patience: 10,
            validation_share: 0.1,
        }
    }
}

/// A network, ready to be trained.
///
/// ```
/// use probe_core::{Model, Rows, Seed};
/// use probe_train::{MlpParams, MlpTrainer};
/// // Favourable in the middle: no linear score can say that.
/// let x: Vec<f64> = (0..400).map(|i| f64::from(i) / 400.0).collect();
/// let favourable: Vec<bool> = x.iter().map(|x| (0.3..0.7).contains(x)).collect();
/// let params = MlpParams { epochs: 300, batch: 32, learning_rate: 0.01, ..MlpParams::default() };
/// let params = MlpParams { patience: 0, ..params };
/// let fit = MlpTrainer::new(params)?.fit(Rows::new(&x, 1)?, &["x".into()], &favourable, Seed(0))?;
/// assert!(fit.model.score(&[0.5])? > 0.0);
/// assert!(fit.model.score(&[0.1])? < 0.0 && fit.model.score(&[0.9])? < 0.0);
/// # Ok::<(), probe_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MlpTrainer {
    params: MlpParams,
}

/// One pass over the rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Epoch {
    /// Mean loss of the rows as they came by, without the penalty.
    pub loss: f64,
    /// Mean loss of the rows held back, after the epoch.
    pub validation_loss: Option<f64>,
}

/// A trained network.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MlpFit {
    /// The log-odds of the favourable class, cut at 0.
    pub model: Mlp,
    /// Every epoch.
    pub history: Vec<Epoch>,
    /// Number of the epoch, from 1, whose weights were kept.
    pub kept_epoch: usize,
}

impl MlpTrainer {
    /// Fails on parameters outside their domain.
    pub fn new(params: MlpParams) -> Result<Self, ParamError> {
        for (layer, &units) in params.hidden.iter().enumerate() {
            require(units >= 1, &format!("hidden [{layer}]"), "at least 1", units as f64)?;
        }
        require(matches!(params.outputs, 1 | 2), "outputs", "1 or 2", params.outputs as f64)?;
        require(params.epochs >= 1, "epochs", "at least 1", params.epochs as f64)?;
        require(params.batch >= 1, "batch", "at least 1", params.batch as f64)?;
        let rate = params.learning_rate;
        require(rate > 0.0 && rate.is_finite(), "learning_rate", "positive and finite", rate)?;
        require(
            params.l2 >= 0.0 && params.l2.is_finite(),
            "l2",
            "at least 0 and finite",
            params.l2,
        )?;
        let share = params.validation_share;
        require(
            share > 0.0 && share < 1.0,
            "validation_share",
            "between 0 and 1, both excluded",
            share,
        )?;
        Ok(Self { params })
    }

    /// Trains on the rows of `x`, whose columns are called `names`, to predict `favourable`.
    ///
    /// Fails without rows, with one class only, on lengths that differ, on values that are not
    /// finite, naming row and feature, and where the training runs off to infinity. The same input
    /// and seed give the same bits.
    pub fn fit(
        &self,
        x: Rows<'_>,
        names: &[String],
        favourable: &[bool],
        seed: Seed,
    ) -> Result<MlpFit> {
        same_length("values of the target, one per row", x.n_rows(), favourable.len())?;
        same_length("feature names, one per column", x.n_cols(), names.len())?;
        both_classes(favourable, "fit a model to")?;
        check_finite(x, names)?;
        let widths =
            [&[x.n_cols()], self.params.hidden.as_slice(), &[self.params.outputs]].concat();
        let n: f64 = widths.windows(2).map(|pair| (pair[0] as f64 + 1.0) * pair[1] as f64).sum();
        require(n <= MOST_PARAMETERS, "number of weights", "at most a hundred million", n)?;

        let split = match self.params.patience {
            0 => Split { train: (0..x.n_rows()).collect(), test: Vec::new() },
            _ => {
                let mut stream = seed.stream(Purpose::Training, VALIDATION_STREAM);
                Split::draw(favourable, self.params.validation_share, &mut stream)?
            }
        };
        let weights = class_weights(favourable, self.params.balanced);
        let net = Net::new(
            &widths,
            self.params.activation,
            &mut seed.stream(Purpose::Training, START_STREAM),
        );
        let data =
            Data { x, favourable, weights, held_back: Part::gather(x, favourable, &split.test) };
        self.train(net, &data, split.train, seed)
    }

    fn train(
        &self,
        mut net: Net,
        data: &Data<'_>,
        mut rows: Vec<usize>,
        seed: Seed,
    ) -> Result<MlpFit> {
        let params = &self.params;
        let mut adam = Adam::new(net.parameters.len(), params.learning_rate);
        let mut gradient = vec![0.0; net.parameters.len()];
        let mut workspace = Workspace::new(&net, params.batch.min(rows.len()));
        let mut part = Part::default();
        let mut order = seed.stream(Purpose::Training, ORDER_STREAM);
        let penalty = params.l2 / rows.len() as f64;
        let mut history = Vec::with_capacity(params.epochs.min(1000));
        let mut best: Option<(f64, usize, Vec<f64>)> = None;
        for epoch in 1..=params.epochs {
            shuffle(&mut rows, &mut order);
            let mut total = 0.0;
            for batch in rows.chunks(params.batch) {
                part.refill(data.x, data.favourable, batch);
                total += net.gradient(
                    &part.x,
                    &part.favourable,
                    data.weights,
                    &mut workspace,
                    &mut gradient,
                );
                net.add_penalty(penalty, &mut gradient);
                adam.step(&mut net.parameters, &gradient);
            }
            let loss = total / rows.len() as f64;
            if !loss.is_finite() || net.parameters.iter().any(|p| !p.is_finite()) {
                return Err(Error::Diverged { epoch });
            }
            let validation_loss = data.validation_loss(&net)?;
            history.push(Epoch { loss, validation_loss });
            if let Some(found) = validation_loss {
                if best.as_ref().is_none_or(|(least, ..)| found < *least) {
                    best = Some((found, epoch, net.parameters.clone()));
                }
                if best.as_ref().is_some_and(|(_, at, _)| epoch - at >= params.patience) {
                    break;
                }
            }
        }
        let mut kept_epoch = history.len();
        if let Some((_, epoch, parameters)) = best {
            (kept_epoch, net.parameters) = (epoch, parameters);
        }
        Ok(MlpFit { model: net.model()?, history, kept_epoch })
    }
}

/// What a training learns from.
struct Data<'a> {
    x: Rows<'a>,
    favourable: &'a [bool],
    /// Weight of an unfavourable and of a favourable row.
    weights: [f64; 2],
    held_back: Part,
}

impl Data<'_> {
    fn validation_loss(&self, net: &Net) -> Result<Option<f64>> {
        let Part { x, favourable } = &self.held_back;
        if favourable.is_empty() {
            return Ok(None);
        }
        let mut scores = vec![0.0; favourable.len()];
        net.model()?.score_batch(Rows::new(x, self.x.n_cols())?, &mut scores)?;
        Ok(Some(weighted_loss(&scores, favourable, self.weights) / scores.len() as f64))
    }
}

/// Some rows, side by side.
#[derive(Default)]
struct Part {
    x: Vec<f64>,
    favourable: Vec<bool>,
}

impl Part {
    fn gather(x: Rows<'_>, favourable: &[bool], rows: &[usize]) -> Self {
        let mut part = Self::default();
        part.refill(x, favourable, rows);
        part
    }

    fn refill(&mut self, x: Rows<'_>, favourable: &[bool], rows: &[usize]) {
        self.x.clear();
        self.favourable.clear();
        for &row in rows {
            self.x.extend_from_slice(x.row(row));
            self.favourable.push(favourable[row]);
        }
    }
}

#[cfg(test)]
mod tests;
