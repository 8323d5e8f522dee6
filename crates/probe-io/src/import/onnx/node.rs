//! One operator of the graph, as messages name it, with its attributes.

use super::proto;
use super::tensor::{Tensor, words};

/// An operator.
pub(super) struct Node<'m> {
    proto: &'m proto::Node,
    number: usize,
}

impl<'m> Node<'m> {
    pub(super) fn new(proto: &'m proto::Node, number: usize) -> Self {
        Self { proto, number }
    }

    /// Its type.
    pub(super) fn op(&self) -> &'m str {
        &self.proto.op_type
    }

    /// Whether it is one of `ai.onnx.ml`.
    pub(super) fn is_ml(&self) -> bool {
        self.proto.domain == "ai.onnx.ml"
    }

    /// The set it is of, if that is neither of the two that are read.
    pub(super) fn foreign_domain(&self) -> Option<&'m str> {
        let domain = self.proto.domain.as_str();
        (!matches!(domain, "" | "ai.onnx" | "ai.onnx.ml")).then_some(domain)
    }

    pub(super) fn inputs(&self) -> &'m [String] {
        &self.proto.input
    }

    pub(super) fn outputs(&self) -> &'m [String] {
        &self.proto.output
    }

    /// Its position, for messages.
    pub(super) fn place(&self) -> String {
        match self.proto.name.as_str() {
            "" => format!("node {} ({})", self.number, self.op()),
            name => format!("node '{name}' ({})", self.op()),
        }
    }

    fn find(&self, name: &str) -> Option<&'m proto::Attribute> {
        self.proto.attribute.iter().find(|attribute| attribute.name == name)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// A whole number; one without a value is 0, as some exporters write it.
    pub(super) fn int(&self, name: &str, default: i64) -> i64 {
        self.find(name).map_or(default, |attribute| attribute.i.unwrap_or(0))
    }

    /// A number; one that is named and left out is 0.
    pub(super) fn float(&self, name: &str, default: f32) -> f64 {
        f64::from(self.find(name).map_or(default, |attribute| attribute.f.unwrap_or(0.0)))
    }

    pub(super) fn text(&self, name: &str, default: &str) -> String {
        let text = self.find(name).and_then(|attribute| attribute.s.as_deref());
        text.map_or_else(|| default.to_owned(), |text| String::from_utf8_lossy(text).into_owned())
    }

    pub(super) fn ints(&self, name: &str) -> &'m [i64] {
        self.find(name).map_or(&[], |attribute| &attribute.ints)
    }

    pub(super) fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let texts = self.find(name).map_or(&[][..], |attribute| &attribute.strings);
        texts.iter().map(|text| words(text)).collect()
    }

    pub(super) fn floats(&self, name: &str) -> Vec<f64> {
        let floats = self.find(name).map_or(&[][..], |attribute| &attribute.floats);
        floats.iter().map(|&x| f64::from(x)).collect()
    }

    /// The numbers of `name`, or of the tensor `name_as_tensor`, which newer files have for
    /// doubles.
    pub(super) fn floats_or_tensor(&self, name: &str) -> Result<Vec<f64>, String> {
        let tensor = self.tensor(&format!("{name}_as_tensor"))?;
        tensor.map_or_else(|| Ok(self.floats(name)), |tensor| tensor.numbers())
    }

    pub(super) fn tensor(&self, name: &str) -> Result<Option<Tensor>, String> {
        let tensor = self.find(name).and_then(|attribute| attribute.t.as_ref());
        tensor.map(|t| Tensor::read(t).map_err(|what| format!("{name}: {what}"))).transpose()
    }

    /// The single number, text or tensor of a `Constant`.
    pub(super) fn constant(&self) -> Result<Tensor, String> {
        use super::tensor::Data;
        if let Some(tensor) = self.tensor("value")? {
            return Ok(tensor);
        }
        if self.has("value_float") {
            return Ok(Tensor {
                dims: vec![],
                data: Data::Floats(vec![self.float("value_float", 0.0)]),
            });
        }
        if self.has("value_int") {
            return Ok(Tensor { dims: vec![], data: Data::Wholes(vec![self.int("value_int", 0)]) });
        }
        if self.has("value_floats") {
            let numbers = self.floats("value_floats");
            return Ok(Tensor { dims: vec![numbers.len()], data: Data::Floats(numbers) });
        }
        if self.has("value_ints") {
            let numbers = self.ints("value_ints").to_vec();
            return Ok(Tensor { dims: vec![numbers.len()], data: Data::Wholes(numbers) });
        }
        Err("a constant of another kind than value, value_float(s) or value_int(s)".to_owned())
    }
}
