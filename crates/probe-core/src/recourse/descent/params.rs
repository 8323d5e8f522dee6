//! Settings of the paper's algorithms.

use crate::error::{Error, Result};
use crate::recourse::MethodOptions;

/// $\ell$ of equation 3. Probabilities follow from the score after subtracting the cut-off, so that
/// the decision is at 0.5.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    /// $(S(s) - 1)^2$.
    Mse,
    /// $-\ln S(s)$.
    Bce,
    /// $(s - s^*)^2$ with the target score $s^*$.
    ScoreMse(f64),
}

impl Loss {
    /// The loss at a score and its derivative.
    pub(crate) fn at(self, score: f64) -> (f64, f64) {
        // S(-|s|) and S(|s|), without cancellation.
        let small = libm::exp(-score.abs()) / (1.0 + libm::exp(-score.abs()));
        let large = 1.0 / (1.0 + libm::exp(-score.abs()));
        let (p, miss) = if score < 0.0 { (small, large) } else { (large, small) };
        match self {
            Self::Mse => (miss * miss, -2.0 * miss * p * miss),
            Self::Bce => ((-score).max(0.0) + libm::log1p(libm::exp(-score.abs())), -miss),
            Self::ScoreMse(target) => ((score - target).powi(2), 2.0 * (score - target)),
        }
    }
}

/// When the loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loop {
    /// When the rate is low enough *and* the score favourable, as the paper's text says.
    Text,
    /// When the rate is low enough *or* the score favourable, as its algorithms are printed.
    Printed,
}

/// Which acceptable iterate is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The first one, of the largest $\lambda_3$ that has one.
    First,
    /// The cheapest of all steps of all $\lambda_3$.
    Best,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    Released,
    PaperText,
}

/// Names of the settings that both algorithms have.
pub(crate) const NAMES: [&str; 10] = [
    "preset",
    "lambda1",
    "lambda2",
    "lambda3",
    "loss",
    "target-score",
    "loop",
    "keep",
    "learning-rate",
    "steps",
];

/// Settings of both algorithms.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Params {
    /// Weight of the hinge on the rate.
    pub(crate) lambda1: f64,
    /// Weight of the loss.
    pub(crate) lambda2: f64,
    /// Weights of the cost, tried in this order.
    pub(crate) lambda3: Vec<f64>,
    pub(crate) loss: Loss,
    pub(crate) stop: Loop,
    pub(crate) keep: Keep,
    pub(crate) learning_rate: f64,
    /// Steps for each $\lambda_3$.
    pub(crate) steps: usize,
}

impl Params {
    /// Fails on numbers and words outside their domain. The caller checks for unknown names.
    pub(crate) fn new(options: &MethodOptions) -> Result<Self> {
        let presets = [("released", Preset::Released), ("paper-text", Preset::PaperText)];
        let preset = options.word("preset", Preset::Released, &presets)?;
        let text = preset == Preset::PaperText;
        let at_least_zero = |v: f64| v >= 0.0 && v.is_finite();
        let weight = |name: &str, default: f64| {
            options.number(name, default, "at least 0 and finite", at_least_zero)
        };
        let target = options.number("target-score", 0.0, "finite", f64::is_finite)?;
        let losses =
            [("mse", Loss::Mse), ("bce", Loss::Bce), ("score-mse", Loss::ScoreMse(target))];
        let loss =
            options.word("loss", if text { Loss::ScoreMse(target) } else { Loss::Mse }, &losses)?;
        if options.get("target-score").is_some() && !matches!(loss, Loss::ScoreMse(_)) {
            return Err(Error::Unsupported {
                what: "option 'target-score' with a loss on probabilities".to_owned(),
                why: "give loss=score-mse too".to_owned(),
            });
        }
        let grid = [1.0, 0.75, 0.5, 0.25, 0.0];
        Ok(Self {
            lambda1: weight("lambda1", if text { 2.0 } else { 3.0 })?,
            lambda2: weight("lambda2", 1.0)?,
            lambda3: options.numbers("lambda3", &grid, "at least 0 and finite", at_least_zero)?,
            loss,
            stop: options.word(
                "loop",
                Loop::Text,
                &[("text", Loop::Text), ("printed", Loop::Printed)],
            )?,
            keep: options.word(
                "keep",
                Keep::First,
                &[("first", Keep::First), ("best", Keep::Best)],
            )?,
            learning_rate: options.number("learning-rate", 0.07, "positive and finite", |v| {
                v > 0.0 && v.is_finite()
            })?,
            steps: options.count("steps", 1_000)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_by_hand_and_their_slopes_by_differences() {
        let (value, slope) = Loss::Mse.at(0.0);
        assert!((value - 0.25).abs() < 1e-15 && (slope + 0.25).abs() < 1e-15);
        let (value, slope) = Loss::Bce.at(0.0);
        assert!((value - 2.0_f64.ln()).abs() < 1e-15 && (slope + 0.5).abs() < 1e-15);
        assert_eq!(Loss::ScoreMse(1.0).at(3.0), (4.0, 4.0));
        for loss in [Loss::Mse, Loss::Bce, Loss::ScoreMse(0.3)] {
            for score in [-8.0, -1.3, -1e-3, 0.2, 4.0] {
                // Central differences at h: an error of h² and rounding over h, both near 1e-10.
                let h = 1e-5;
                let slope = (loss.at(score + h).0 - loss.at(score - h).0) / (2.0 * h);
                assert!((loss.at(score).1 - slope).abs() < 1e-8, "{loss:?} at {score}");
            }
            assert!(
                loss.at(-800.0).0.is_finite() && loss.at(800.0).1.is_finite(),
                "{loss:?} overflows"
            );
        }
    }

    #[test]
    fn presets_are_overridden_by_what_is_given() {
        let read =
            |texts: &[&str]| Params::new(&MethodOptions::parse(texts.iter().copied()).unwrap());
        let released = read(&[]).unwrap();
        assert_eq!((released.lambda1, released.lambda2, released.loss), (3.0, 1.0, Loss::Mse));
        let text = read(&["preset=paper-text"]).unwrap();
        assert_eq!((text.lambda1, text.lambda2, text.loss), (2.0, 1.0, Loss::ScoreMse(0.0)));
        let mixed = read(&["preset=paper-text", "lambda1=9", "loss=bce", "lambda3=0.5,0"]).unwrap();
        assert_eq!((mixed.lambda1, mixed.loss, mixed.lambda3), (9.0, Loss::Bce, vec![0.5, 0.0]));
        for wrong in [
            "lambda1=-1",
            "lambda3=1,-0.5",
            "learning-rate=0",
            "steps=0",
            "loop=and",
            "target-score=1",
        ] {
            assert!(read(&[wrong]).is_err(), "{wrong}");
        }
    }
}
