//! `"kind": "linear"`: one layer. One output is the margin itself; two are softmax logits, and the
//! margin is `z[1] - z[0]`, folded into one weight vector.

use super::{Kind, layers};
use crate::error::{Error, Result};
use crate::json::Node;
use probe_core::{Linear, Model};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) const KIND: Kind = Kind { name: "linear", fields: &["layers"], read, write };

fn read(root: &Node<'_>, n_features: usize, threshold: f64) -> Result<Arc<dyn Model>> {
    let node = root.need("layers")?;
    let items = node.items()?;
    let [layer] = items.as_slice() else {
        return Err(
            node.error(format!("a linear model has exactly 1 layer, found {}", items.len()))
        );
    };
    let dense = layers::read(layer, n_features, "feature")?;
    layers::check_outputs(layer, &dense)?;
    let (weights, bias) = match dense.bias.as_slice() {
        [zero, one] => {
            let (w_zero, w_one) = dense.weight.split_at(n_features);
            (w_one.iter().zip(w_zero).map(|(one, zero)| one - zero).collect(), one - zero)
        }
        bias => (dense.weight, bias[0]),
    };
    let model = Linear::new(weights, bias, threshold).map_err(|source| Error::Document {
        file: layer.file().to_owned(),
        path: layer.path().to_owned(),
        what: source.to_string(),
    })?;
    Ok(Arc::new(model))
}

fn write(model: &dyn Model) -> Option<Map<String, Value>> {
    // A network without hidden layers is affine too, but has a file form of its own.
    let linear = model.as_linear().filter(|_| model.as_mlp().is_none())?;
    let layers = json!([{"weight": [linear.weights()], "bias": [linear.bias()]}]);
    Some(Map::from_iter([("layers".to_owned(), layers)]))
}
