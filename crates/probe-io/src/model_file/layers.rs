//! `layers`: what linear models and networks have in common.

use crate::error::Result;
use crate::json::Node;
use probe_core::Dense;
use serde_json::{Value, json};

/// One layer with its number of outputs; `weight` must have `n_in` numbers a row, `each` says what
/// they are for.
pub(super) fn read(layer: &Node<'_>, n_in: usize, each: &str) -> Result<Dense> {
    layer.only(&["weight", "bias"])?;
    let mut weight = Vec::new();
    let rows = layer.need("weight")?.items()?;
    for row in &rows {
        weight.extend(row.numbers(n_in, each)?);
    }
    Ok(Dense { weight, bias: layer.need("bias")?.numbers(rows.len(), "output")? })
}

/// Fails unless a last layer has 1 or 2 outputs.
pub(super) fn check_outputs(layer: &Node<'_>, dense: &Dense) -> Result<()> {
    match dense.bias.len() {
        1 | 2 => Ok(()),
        found => {
            Err(layer.need("weight")?.error(format!("expected 1 or 2 outputs, found {found}")))
        }
    }
}

/// The layer as JSON; `n_in` numbers a row.
pub(super) fn write(dense: &Dense) -> Value {
    let n_in = dense.weight.len() / dense.bias.len().max(1);
    let rows: Vec<&[f64]> = dense.weight.chunks(n_in.max(1)).collect();
    json!({"weight": rows, "bias": dense.bias})
}
