//! Where the rates of a task come from.

use crate::model::{Model, ModelShift};
use crate::noise::Noise;
use crate::schema::Actions;

/// How the rates of answers are known. Everything that depends on it asks here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// By a closed form: a linear model under Gaussian noise, under noise that grows with the
    /// change, or one that may itself change.
    Exact,
    /// From samples.
    Sampled,
}

impl Rates {
    /// How the rates of a model are known, under noise and perhaps a change of the model. Where
    /// changes of category may fail or sums are limited, no exact solver handles noise that grows
    /// with the change.
    pub fn of(
        model: &dyn Model,
        noise: &dyn Noise,
        shift: Option<ModelShift>,
        actions: &Actions,
    ) -> Self {
        let grows = noise.as_effort().is_some() && !actions.has_failures() && !actions.has_sums();
        let has_formula = noise.as_gaussian().is_some() || grows || shift.is_some();
        match model.as_linear().is_some() && has_formula {
            true => Self::Exact,
            false => Self::Sampled,
        }
    }
}
