//! How a model may change between the advice and the day it is carried out.

use crate::error::{Error, Result, require};

/// The largest size of a change.
const MOST: f64 = 1e100;

/// A change of a model's weights, in scaled space: of the weights that act on scaled features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ModelShift {
    /// Every weight and every bias moves by an independent $N(0, \tau^2)$.
    Gaussian(f64),
    /// As [`ModelShift::Gaussian`], with $\tau$ this share of the root mean square of the layer's
    /// weights.
    Relative(f64),
    /// The weights, without the bias, move by at most $\rho$ in $\ell_2$. The worst such change
    /// counts.
    Bounded(f64),
}

impl ModelShift {
    /// Reads `gaussian:0.05`, `relative:0.05` or `bounded:0.1`.
    ///
    /// ```
    /// use probe_core::ModelShift;
    /// assert_eq!(ModelShift::parse("gaussian:0.05")?, ModelShift::Gaussian(0.05));
    /// # Ok::<(), probe_core::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        type Kind = (&'static str, fn(f64) -> ModelShift);
        const KINDS: [Kind; 3] = [
            ("gaussian", ModelShift::Gaussian),
            ("relative", ModelShift::Relative),
            ("bounded", ModelShift::Bounded),
        ];
        let (name, size) = text.split_once(':').unwrap_or((text, ""));
        let (_, kind) = KINDS.iter().find(|(kind, _)| *kind == name.trim()).ok_or_else(|| {
            Error::UnknownName {
                kind: "model shift",
                name: name.to_owned(),
                known: KINDS.map(|(kind, _)| kind).join(", "),
            }
        })?;
        let size: f64 = size.trim().parse().map_err(|_| Error::Unsupported {
            what: format!("model shift '{text}'"),
            why: format!("'{}' is not a number; write {name}:SIZE", size.trim()),
        })?;
        let shift = kind(size);
        shift.check()?;
        Ok(shift)
    }

    /// Fails unless the size is positive and at most 1e100, so that its square does not overflow.
    pub fn check(self) -> Result<()> {
        let (Self::Gaussian(size) | Self::Relative(size) | Self::Bounded(size)) = self;
        Ok(require(
            size > 0.0 && size <= MOST,
            "the size of the model shift",
            "positive and at most 1e100",
            size,
        )?)
    }
}

impl std::fmt::Display for ModelShift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gaussian(size) => write!(f, "gaussian:{size}"),
            Self::Relative(size) => write!(f, "relative:{size}"),
            Self::Bounded(size) => write!(f, "bounded:{size}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_or_refused_by_name() {
        assert_eq!(ModelShift::parse(" bounded: 0.1 ").unwrap(), ModelShift::Bounded(0.1));
        for text in ["gaussian:0.05", "relative:2", "bounded:0.125"] {
            assert_eq!(ModelShift::parse(text).unwrap().to_string(), text);
        }
        let message = |text: &str| ModelShift::parse(text).unwrap_err().to_string();
        assert!(message("uniform:1").contains("gaussian, relative, bounded"));
        assert!(message("gaussian").contains("gaussian:SIZE"));
        assert!(message("relative:x").contains("'x'"));
        for size in ["0", "-1", "nan", "inf", "1e200", "1.1e100"] {
            assert!(message(&format!("gaussian:{size}")).contains("positive"), "{size}");
        }
    }
}
