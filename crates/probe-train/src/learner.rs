//! The kinds of model that can be fitted. A new kind is one variant here.

use crate::boosted::{BoostedParams, BoostedTrainer};
use crate::error::Result;
use crate::forest::{ForestParams, ForestTrainer};
use crate::logistic::{Logistic, LogisticParams};
use crate::mlp::{MlpParams, MlpTrainer};
use probe_core::{Model, ParamError, Rows, Seed};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What to fit, with its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Learner {
    /// A logistic regression.
    Linear(LogisticParams),
    /// A fully connected network.
    Mlp(MlpParams),
    /// A random forest.
    Forest(ForestParams),
    /// Gradient boosting.
    Boosted(BoostedParams),
}

impl Default for Learner {
    fn default() -> Self {
        Self::Linear(LogisticParams::default())
    }
}

/// The result of a fit.
pub(crate) struct Fitted {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) iterations: usize,
    pub(crate) converged: bool,
}

impl Learner {
    /// Fails on parameters outside their domain.
    pub fn check(&self) -> Result<(), ParamError> {
        match self {
            Self::Linear(params) => Logistic::new(*params).map(drop),
            Self::Mlp(params) => MlpTrainer::new(params.clone()).map(drop),
            Self::Forest(params) => ForestTrainer::new(*params).map(drop),
            Self::Boosted(params) => BoostedTrainer::new(*params).map(drop),
        }
    }

    pub(crate) fn fit(
        &self,
        x: Rows<'_>,
        names: &[String],
        favourable: &[bool],
        seed: Seed,
    ) -> Result<Fitted> {
        match self {
            Self::Linear(params) => {
                let fit = Logistic::new(*params)?.fit(x, names, favourable)?;
                Ok(Fitted {
                    model: Arc::new(fit.model),
                    iterations: fit.iterations,
                    converged: fit.converged,
                })
            }
            Self::Mlp(params) => {
                let fit = MlpTrainer::new(params.clone())?.fit(x, names, favourable, seed)?;
                Ok(Fitted {
                    model: Arc::new(fit.model),
                    iterations: fit.history.len(),
                    converged: true,
                })
            }
            Self::Forest(params) => {
                let model = ForestTrainer::new(*params)?.fit(x, names, favourable, seed)?;
                Ok(Fitted {
                    iterations: model.trees().len(),
                    model: Arc::new(model),
                    converged: true,
                })
            }
            Self::Boosted(params) => {
                let fit = BoostedTrainer::new(*params)?.fit(x, names, favourable, seed)?;
                Ok(Fitted {
                    model: Arc::new(fit.model),
                    iterations: fit.history.len(),
                    converged: true,
                })
            }
        }
    }
}
