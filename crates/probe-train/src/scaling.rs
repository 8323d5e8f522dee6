//! Ranges of features in the training rows, and a min-max scale where the schema
//! has none.

use crate::error::{Error, Result};
use probe_core::error::require;
use probe_core::schema::Kind;
use probe_core::{
    Encoding, Error as CoreError, Feature, Linear, Model, ModelInput, Rows, Schema, Space, Trees,
};
use std::sync::Arc;

/// The position of each of the schema's features among the columns `names`.
/// Fails unless columns and features are the same names, each once.
pub(crate) fn match_columns(schema: &Schema, names: &[String]) -> Result<Vec<usize>> {
    let unknown = |kind: &'static str, name: &String, known: &[String]| {
        Error::from(CoreError::UnknownName { kind, name: name.clone(), known: known.join(", ") })
    };
    if let Some(name) = names.iter().find(|name| schema.feature(name).is_none()) {
        return Err(unknown(
            "feature (a column that the schema does not have)",
            name,
            &schema.names(),
        ));
    }
    let column_of = |feature: &Feature| {
        let found = names.iter().position(|name| *name == feature.name);
        found.ok_or_else(|| {
            unknown("column (a feature that the data does not have)", &feature.name, names)
        })
    };
    schema.features.iter().map(column_of).collect()
}

/// Records in `features` the range of each column of `train` and, where there is no scale yet, a
/// scale that maps that range to 0…1. A constant column gets width 1. Fails if a range overflows.
pub(crate) fn learn(features: &mut [Feature], train: Rows<'_>) -> Result<()> {
    for (j, feature) in features.iter_mut().enumerate() {
        if feature.kind == Kind::Categorical {
            continue;
        }
        let column = || train.iter().map(|row| row[j]);
        let (low, high) =
            (column().fold(f64::INFINITY, f64::min), column().fold(f64::NEG_INFINITY, f64::max));
        let width = high - low;
        require(
            width.is_finite(),
            &format!("range of feature '{}'", feature.name),
            "finite",
            width,
        )?;
        feature.range = Some([low, high]);
        if feature.offset_and_width().is_none() {
            // Beyond 2⁵³ adding 1 would change nothing.
            let one =
                if width > 0.0 { high } else { low + (2.0 * f64::EPSILON * low.abs()).max(1.0) };
            feature.scale = Some([low, one]);
        }
    }
    Ok(())
}

/// The rows `which` as columns in scaled space; `places` says where each feature of the encoding
/// stands.
pub(crate) fn scaled_rows(
    encoding: &Encoding,
    x: Rows<'_>,
    places: &[usize],
    which: &[usize],
) -> Vec<f64> {
    let (space, n) = (encoding.columns().space(), encoding.n_columns());
    let (mut raw, mut columns) = (vec![0.0; places.len()], vec![0.0; n]);
    let mut scaled = vec![0.0; which.len() * n];
    for (&row, scaled) in which.iter().zip(scaled.chunks_exact_mut(n)) {
        raw.iter_mut().zip(places).for_each(|(value, &place)| *value = x.row(row)[place]);
        encoding.encode_into(&raw, &mut columns);
        space.scale_into(&columns, scaled);
    }
    scaled
}

/// A model of scaled columns as a model of what the schema says the model takes.
pub(crate) fn for_model_input(model: Arc<dyn Model>, schema: &Schema) -> Result<Arc<dyn Model>> {
    let space = schema.space();
    if space.model_input() == ModelInput::Scaled {
        return Ok(model);
    }
    if let Some(mlp) = model.as_mlp() {
        let features = 0..space.n_features();
        let offset: Vec<f64> =
            features.clone().map(|j| -space.offset(j) / space.width(j)).collect();
        let width: Vec<f64> = features.map(|j| 1.0 / space.width(j)).collect();
        return Ok(Arc::new(mlp.with_input(&offset, &width)?));
    }
    if let Some(trees) = model.as_trees() {
        return Ok(Arc::new(raw_trees(trees, &space)?));
    }
    let Some(linear) = model.as_linear() else {
        let what = format!("a {} model on raw input", model.name());
        let why = "only linear models, networks and trees take it".to_owned();
        return Err(CoreError::Unsupported { what, why }.into());
    };
    let per_unit = |(j, w): (usize, &f64)| w / space.width(j);
    let weights: Vec<f64> = linear.weights().iter().enumerate().map(per_unit).collect();
    let shift: f64 = weights.iter().enumerate().map(|(j, w)| w * space.offset(j)).sum();
    Ok(Arc::new(Linear::new(weights, linear.bias() - shift, 0.0)?))
}

/// Trees that split with `<=` on scaled values, as trees on raw ones: every raw value takes the
/// branch it took, to the bit.
fn raw_trees(trees: &Trees, space: &Space) -> Result<Trees> {
    let mut raw = trees.trees().to_vec();
    for tree in &mut raw {
        for i in (0..tree.left.len()).filter(|&i| tree.left[i] >= 0) {
            let (j, cut) = (tree.feature[i], tree.threshold[i]);
            tree.threshold[i] = last_where(|raw| space.to_scaled(j, raw) <= cut);
        }
    }
    Ok(Trees::new(trees.n_features(), raw, trees.rules(), trees.threshold())?)
}

/// The largest finite number for which a monotone condition holds, by bisection over all doubles.
fn last_where(holds: impl Fn(f64) -> bool) -> f64 {
    // Maps bits to integers in the order of the numbers.
    let rank = |x: f64| {
        let bits = x.to_bits() as i64;
        i128::from(if bits < 0 { i64::MIN - bits - 1 } else { bits })
    };
    let number = |rank: i128| {
        let bits = rank as i64;
        f64::from_bits(if bits < 0 { i64::MIN - bits - 1 } else { bits } as u64)
    };
    let (mut yes, mut no) = (rank(-f64::MAX), rank(f64::MAX) + 1);
    while no - yes > 1 {
        let middle = (yes + no).div_euclid(2);
        if holds(number(middle)) { yes = middle } else { no = middle }
    }
    number(yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number_is_found_to_the_bit() {
        for x in [0.1, -0.1, 3e300, -7e-300, 5e-324, f64::MAX, -1.0] {
            assert_eq!(last_where(|y| y <= x), x);
        }
        assert_eq!(last_where(|y| y < 0.0), -5e-324);
        assert_eq!(last_where(|y| y < 1.0), 1f64.next_down());
    }
}
