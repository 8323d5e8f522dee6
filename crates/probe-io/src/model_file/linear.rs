//! `"kind": "linear"`: one layer. One output is the margin itself; two are softmax logits, and the margin is
//! `z[1] - z[0]`, folded into one weight vector.

use super::Kind;
use crate::error::{Error, Result};
use crate::json::Node;
use probe_core::{Linear, Model};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) const KIND: Kind = Kind { name: "linear", fields: &["layers"], read, write };

fn read(root: &Node<'_>, n_features: usize, threshold: f64) -> Result<Arc<dyn Model>> {
    let layers = root.need("layers")?;
    let items = layers.items()?;
    let [layer] = items.as_slice() else {
        return Err(layers.error(format!("a linear model has exactly 1 layer, found {}", items.len())));
    };
    layer.only(&["weight", "bias"])?;
    let weight = layer.need("weight")?;
    let rows = weight
        .items()?
        .iter()
        .map(|row| row.numbers(n_features, "feature"))
        .collect::<Result<Vec<Vec<f64>>>>()?;
    let bias = layer.need("bias")?.numbers(rows.len(), "output")?;
    let (weights, bias) = match (rows.as_slice(), bias.as_slice()) {
        ([row], [bias]) => (row.clone(), *bias),
        ([zero, one], [bias_zero, bias_one]) => {
            (one.iter().zip(zero).map(|(one, zero)| one - zero).collect(), bias_one - bias_zero)
        }
        _ => return Err(weight.error(format!("expected 1 or 2 outputs, found {}", rows.len()))),
    };
    let model = Linear::new(weights, bias, threshold).map_err(|source| Error::Document {
        file: layer.file().to_owned(),
        path: layer.path().to_owned(),
        what: source.to_string(),
    })?;
    Ok(Arc::new(model))
}

fn write(model: &dyn Model) -> Option<Map<String, Value>> {
    let linear = model.as_linear()?;
    let layers = json!([{"weight": [linear.weights()], "bias": [linear.bias()]}]);
    Some(Map::from_iter([("layers".to_owned(), layers)]))
}
