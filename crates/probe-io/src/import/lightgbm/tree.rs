//! One tree: arrays by split and by leaf. A child below zero is the leaf `-child - 1`.

use super::super::grown::{Part, grow};
use super::Section;
use crate::error::Result;
use probe_core::model::Tree;

/// LightGBM treats values this close to zero as zero.
const ZERO: f64 = 1e-35_f32 as f64;

/// Bits of `decision_type`.
const CATEGORICAL: u8 = 1;
const DEFAULT_LEFT: u8 = 2;

/// Which values a split treats as missing.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    /// Nothing: NaN counts as 0.
    None,
    /// Zero and NaN.
    Zero,
    Nan,
}

/// A tree, its leaves `scale`d.
pub(super) fn read(
    section: &Section<'_>,
    n_features: usize,
    scale: impl Fn(f64) -> f64,
) -> Result<Tree> {
    section.only("num_cat", "0", "splits on categories are not read")?;
    section.only("is_linear", "0", "linear models in leaves are not read")?;
    let n_leaves = section.whole("num_leaves")?;
    let values = section.numbers("leaf_value", n_leaves, "leaf")?;
    let Some(n_splits) = n_leaves.checked_sub(1) else {
        return Err(section.error("num_leaves", "is 0: expected at least one leaf"));
    };
    if n_splits == 0 {
        return grow(
            1,
            |_| Ok(Part::Leaf(scale(values[0]))),
            |_| section.error("num_leaves", "is 1"),
        );
    }
    let each = "split";
    let features: Vec<usize> = section.array("split_feature", n_splits, each, "a whole number")?;
    let thresholds: Vec<f64> = section.array("threshold", n_splits, each, "a number")?;
    // A split between missing values and all others has the threshold infinity. A threshold below
    // all values splits nothing.
    if let Some(threshold) = thresholds.iter().find(|t| t.is_nan() || **t == f64::NEG_INFINITY) {
        return Err(section.error("threshold", format!("has {threshold}, which splits nothing")));
    }
    let types: Vec<u8> =
        section.array("decision_type", n_splits, each, "a whole number up to 255")?;
    let lefts: Vec<i64> = section.array("left_child", n_splits, each, "a whole number")?;
    let rights: Vec<i64> = section.array("right_child", n_splits, each, "a whole number")?;
    // Splits first, then leaves.
    let child = |key: &str, i: usize, child: i64| {
        let inside = match usize::try_from(child) {
            Ok(split) => Some(split).filter(|&split| split > 0 && split < n_splits),
            Err(_) => usize::try_from(-(child + 1))
                .ok()
                .filter(|&leaf| leaf < n_leaves)
                .map(|leaf| n_splits + leaf),
        };
        inside.ok_or_else(|| {
            section.error(
                key,
                format!("has {child} at split {i}, which is no split or leaf of the tree"),
            )
        })
    };
    let part = |i: usize| {
        if let Some(leaf) = i.checked_sub(n_splits) {
            return Ok(Part::Leaf(scale(values[leaf])));
        }
        if features[i] >= n_features {
            let what =
                format!("has {} at split {i}, the model has {n_features} features", features[i]);
            return Err(section.error("split_feature", what));
        }
        Ok(Part::Split {
            feature: features[i],
            threshold: cut(thresholds[i]),
            left: child("left_child", i, lefts[i])?,
            right: child("right_child", i, rights[i])?,
            default_left: missing_goes_left(section, i, types[i], thresholds[i])?,
        })
    };
    let twice = |i: usize| {
        let what =
            if i < n_splits { format!("split {i}") } else { format!("leaf {}", i - n_splits) };
        section.error(
            "left_child",
            format!("and 'right_child' have two ways to {what}: this is not a tree"),
        )
    };
    grow(n_splits + n_leaves, part, twice)
}

/// Where NaN goes at a split.
fn missing_goes_left(section: &Section<'_>, i: usize, kind: u8, threshold: f64) -> Result<bool> {
    const KEY: &str = "decision_type";
    if kind & CATEGORICAL != 0 {
        return Err(section
            .error(KEY, format!("has {kind} at split {i}: splits on categories are not read")));
    }
    let missing = match kind >> 2 {
        0 => Missing::None,
        1 => Missing::Zero,
        2 => Missing::Nan,
        _ => return Err(section.error(KEY, format!("has {kind} at split {i}, which is not known"))),
    };
    let (zero, default) = (threshold >= 0.0, kind & DEFAULT_LEFT != 0);
    match missing {
        Missing::None => Ok(zero),
        Missing::Nan => Ok(default),
        Missing::Zero if zero == default => Ok(default),
        Missing::Zero => {
            let what = format!(
                "has {kind} at split {i}: zero is taken for missing (zero_as_missing) and goes to \
                 the other side than its neighbours, which is not read"
            );
            Err(section.error(KEY, what))
        }
    }
}

/// The threshold for original values. LightGBM replaces values near zero by zero; here every value
/// takes the same branch without that.
fn cut(threshold: f64) -> f64 {
    match threshold {
        below if (-ZERO..0.0).contains(&below) => (-ZERO).next_down(),
        above if (0.0..ZERO).contains(&above) => ZERO,
        // Infinity and the largest finite number separate the same finite values.
        other => other.min(f64::MAX),
    }
}
