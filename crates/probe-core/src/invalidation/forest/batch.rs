//! Scores noisy versions of one point after the other, for callers outside the engine.

use super::{Errors, Forest, LANES};
use crate::error::{Error, Result, require};
use crate::model::{Model as _, Trees};
use crate::rows::Rows;

/// A set of errors, prepared once for any number of points and models of trees.
pub struct RankedErrors {
    errors: Errors,
    n: usize,
}

impl RankedErrors {
    /// Most errors in a set.
    pub const MOST: usize = Errors::MOST;

    /// Fails without errors, on more than [`RankedErrors::MOST`], and on values that are not
    /// finite.
    pub fn new(errors: Rows<'_>) -> Result<Self> {
        let (n, d) = (errors.n_rows(), errors.n_cols());
        require((1..=Self::MOST).contains(&n), "number of errors", "from 1 to 16384", n as f64)?;
        if let Some(value) = errors.data().iter().find(|value| !value.is_finite()) {
            require(false, "an error", "finite", *value)?;
        }
        let mut rows = errors.data().to_vec();
        // Only whole blocks can be scored. The last one is padded, and its padding ignored.
        rows.resize(n.next_multiple_of(LANES) * d, 0.0);
        Ok(Self { errors: Errors::new(rows, d), n })
    }

    /// Number of errors.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Always false: there is at least one error.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }
}

/// Scores noisy versions of points by an ensemble of trees, many at once. The trees are
/// reduced around a point once, and then evaluated for all errors.
///
/// ```
/// use probe_core::invalidation::{NoisyScores, RankedErrors};
/// use probe_core::model::{Tree, TreeRules, Trees};
/// use probe_core::Rows;
/// // Favourable above 0.5.
/// let stump = Tree {
///     feature: vec![0, 0, 0],
///     threshold: vec![0.5, 0.0, 0.0],
///     left: vec![1, -1, -1],
///     right: vec![2, -1, -1],
///     value: vec![0.0, -1.0, 1.0],
///     default_left: vec![],
/// };
/// let model = Trees::new(1, vec![stump], TreeRules::default(), 0.0)?;
/// let errors = RankedErrors::new(Rows::new(&[-0.2, 0.0, 0.2], 1)?)?;
/// let mut batch = NoisyScores::new(&model, &errors)?;
/// let (mut refused, mut scores) = (vec![false; 3], vec![0.0; 3]);
/// batch.score_into(&[0.6], &[true], &mut refused, &mut scores)?;
/// assert_eq!(refused, [true, false, false]);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub struct NoisyScores<'a> {
    forest: Forest<'a>,
    errors: &'a RankedErrors,
    refused: Vec<bool>,
    scores: Vec<f64>,
}

impl<'a> NoisyScores<'a> {
    /// Fails unless errors and model have the same number of features.
    pub fn new(model: &'a Trees, errors: &'a RankedErrors) -> Result<Self> {
        let (expected, found) = (model.n_features(), errors.errors.row(0).len());
        if expected != found {
            return Err(Error::Shape { what: "features of the errors", expected, found });
        }
        let n = errors.errors.len();
        Ok(Self {
            forest: Forest::new(model),
            errors,
            refused: vec![false; n],
            scores: vec![0.0; n],
        })
    }

    /// Finds which noisy versions of `point` the model rejects, with errors on the `active`
    /// features. The decisions are exactly those of scoring one by one. `scores` receives
    /// approximate scores, with leaves rounded to 16 bits.
    pub fn score_into(
        &mut self,
        point: &[f64],
        active: &[bool],
        refused: &mut [bool],
        scores: &mut [f64],
    ) -> Result<()> {
        let Self { forest, errors, .. } = self;
        let (n, d) = (errors.len(), errors.errors.row(0).len());
        let lengths = [
            ("features of a point", d, point.len()),
            ("features that are noisy or not", d, active.len()),
            ("decisions", n, refused.len()),
            ("scores", n, scores.len()),
        ];
        for (what, expected, found) in lengths {
            if expected != found {
                return Err(Error::Shape { what, expected, found });
            }
        }
        // No caching between calls, so that benchmarks measure the scoring.
        forest.forget();
        forest.aim(&errors.errors, point, active, 1.0);
        forest.refused(
            &errors.errors,
            0,
            (point, active, 1.0),
            &mut self.refused,
            &mut self.scores,
        );
        refused.copy_from_slice(&self.refused[..n]);
        scores.copy_from_slice(&self.scores[..n]);
        Ok(())
    }
}
