//! Structured JSON documents: a strict parser, and a walker whose errors name file and JSON path.

mod node;
mod strict;

pub(crate) use node::Node;
pub(crate) use strict::{document_path, parse};
