//! `"kind": "mlp"`: layers with an activation between them. The last has one output, the margin, or
//! two softmax logits, whose difference `z[1] - z[0]` is the margin.

use super::{Kind, layers};
use crate::error::{Error, Result};
use crate::json::Node;
use probe_core::{Activation, Mlp, Model};
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) const KIND: Kind = Kind { name: "mlp", fields: &["activation", "layers"], read, write };

fn read(root: &Node<'_>, n_features: usize, threshold: f64) -> Result<Arc<dyn Model>> {
    let name = root.need("activation")?;
    let activation: Activation =
        name.text()?.parse().map_err(|error: probe_core::Error| name.error(error.to_string()))?;
    let node = root.need("layers")?;
    let items = node.items()?;
    let Some(last) = items.last() else {
        return Err(node.error("expected at least one layer"));
    };
    let (mut n_in, mut each) = (n_features, "feature");
    let mut dense = Vec::with_capacity(items.len());
    for item in &items {
        let layer = layers::read(item, n_in, each)?;
        if layer.bias.is_empty() {
            return Err(item.need("weight")?.error("expected at least one output"));
        }
        (n_in, each) = (layer.bias.len(), "output of the layer before");
        dense.push(layer);
    }
    if let Some(layer) = dense.last() {
        layers::check_outputs(last, layer)?;
    }
    let model = Mlp::new(dense, activation, threshold).map_err(|source| Error::Document {
        file: node.file().to_owned(),
        path: node.path().to_owned(),
        what: source.to_string(),
    })?;
    Ok(Arc::new(model))
}

fn write(model: &dyn Model) -> Option<Map<String, Value>> {
    let mlp = model.as_mlp()?;
    let layers: Vec<Value> = mlp.dense().map(layers::write).collect();
    Some(Map::from_iter([
        ("activation".to_owned(), json!(mlp.activation().name())),
        ("layers".to_owned(), json!(layers)),
    ]))
}
