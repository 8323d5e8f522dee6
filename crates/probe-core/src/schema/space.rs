//! Raw space (people and answers) and scaled space (costs, σ, bounds). The model takes one of them
//! as input.

use super::feature::ModelInput;

/// The map between a person's units and scaled space.
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    offset: Vec<f64>,
    width: Vec<f64>,
    model_input: ModelInput,
    identity: bool,
}

impl Space {
    /// `scaled = (raw - offset) / width`.
    pub fn new(offset: Vec<f64>, width: Vec<f64>, model_input: ModelInput) -> Self {
        let identity = offset.iter().all(|&o| o == 0.0) && width.iter().all(|&w| w == 1.0);
        Self { offset, width, model_input, identity }
    }

    /// Raw and scaled space are the same, as without a schema.
    pub fn identity(n_features: usize) -> Self {
        Self::new(vec![0.0; n_features], vec![1.0; n_features], ModelInput::Scaled)
    }

    /// Whether raw and scaled are the same.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.offset.len()
    }

    /// The space that the model takes as input.
    pub fn model_input(&self) -> ModelInput {
        self.model_input
    }

    /// Raw units per scaled unit of feature `j`.
    pub fn width(&self, j: usize) -> f64 {
        self.width[j]
    }

    /// Raw value at scaled zero of feature `j`.
    pub fn offset(&self, j: usize) -> f64 {
        self.offset[j]
    }

    /// One raw value in scaled space.
    pub fn to_scaled(&self, j: usize, raw: f64) -> f64 {
        if self.identity { raw } else { (raw - self.offset[j]) / self.width[j] }
    }

    /// One scaled value in raw units.
    pub fn to_raw(&self, j: usize, scaled: f64) -> f64 {
        if self.identity { scaled } else { self.offset[j] + scaled * self.width[j] }
    }

    /// A raw row in scaled space.
    pub fn scale_into(&self, raw: &[f64], out: &mut [f64]) {
        if self.identity {
            return out.copy_from_slice(raw);
        }
        let scales = self.offset.iter().zip(&self.width);
        for ((o, raw), (offset, width)) in out.iter_mut().zip(raw).zip(scales) {
            *o = (raw - offset) / width;
        }
    }
}
