//! ONNX: dense networks, linear classifiers and ensembles of trees, with the scalers and encoders
//! before them.
//!
//! The graph is followed from its inputs with values that represent every row ([`value::Value`]):
//! columns made of one input each, affine maps of the columns or of a layer's units, functions of
//! each entry. Two affine maps in a row are one, so that scalers, batch normalisation and one-hot
//! encoders end up in the first layer; cuts of trees are moved to the inputs. Other results of
//! operators are unknown. If the score needs one, the file is rejected with the name of the
//! operator.

mod affine;
mod build;
mod curve;
mod graph;
mod node;
mod ops;
mod proto;
mod tensor;
#[cfg(test)]
mod tests;
mod value;

use super::{Format, Imported};
use crate::error::{Error, Result};
use prost::Message as _;

/// ONNX files.
pub(super) const FORMAT: Format = Format { name: "ONNX", is: looks_like, read };

/// A file of protocol buffers whose first field is the version of a model, as all exporters write
/// it.
fn looks_like(bytes: &[u8]) -> bool {
    // Field 1 is a number; after it comes another field of a model: texts and messages 2 to 8, and
    // the version 5.
    matches!(
        bytes,
        [0x08, 1..=0x7f] | [0x08, 1..=0x7f, 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42, ..]
    )
}

fn read(bytes: &[u8], origin: &str) -> Result<Imported> {
    let model = proto::Model::decode(bytes)
        .map_err(|error| Error::file(origin, format!("not a whole ONNX file: {error}")))?;
    let graph =
        model.graph.as_ref().ok_or_else(|| Error::file(origin, "an ONNX file without a graph"))?;
    let mut followed = graph::Graph::follow(&model, graph)
        .map_err(|refused| build::Fault::Refused(refused).into_error(origin))?;
    build::build(&mut followed, &model, &graph.output).map_err(|fault| fault.into_error(origin))
}
