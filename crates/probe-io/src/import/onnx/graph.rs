//! The graph, from its inputs to its outputs: each operator in turn, on values that represent every
//! row.

use super::affine::{Affine, Weights};
use super::node::Node;
use super::ops;
use super::proto;
use super::tensor::Tensor;
use super::value::{Refused, Units, Value};
use crate::import::columns::Element;
use crate::import::columns::{Cell, Source};
use crate::import::order::Raw;
use probe_core::Activation;
use probe_core::schema::Coding;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Limit on the number of entries that are computed, so that a small file cannot need unlimited
/// memory.
const BUDGET: usize = 1 << 25;
/// Older operator sets combine tables and constants by other rules.
const OLDEST_SET: i64 = 7;
/// More columns than a model of people has.
const MOST_COLUMNS: i64 = 1 << 16;

/// A hidden layer.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    /// What its activation is applied to.
    pub before: Affine,
    /// The source of `before`, by which it is recognised: the same activation of the same values is
    /// one layer.
    root: Rc<Affine>,
    line: (f64, f64),
    pub activation: Activation,
    /// The operator that made it necessary.
    pub place: String,
}

/// The state of a graph while it is followed.
pub(super) struct Graph {
    pub raws: Vec<Raw>,
    /// Columns of the input: numbers of all raw features, then what encoders add.
    pub sources: Vec<Source>,
    /// Of each raw feature that is encoded, its first column.
    first_option: BTreeMap<usize, usize>,
    pub layers: Vec<Layer>,
    /// Version of the default operator set.
    pub opset: i64,
    budget: usize,
    values: BTreeMap<String, Value>,
    /// The current operator, for messages.
    place: String,
}

impl Graph {
    /// Follows a whole graph. Fails on what is no graph at all; operators that cannot be read make
    /// [`Value::Unknown`].
    pub(super) fn follow(model: &proto::Model, graph: &proto::Graph) -> Result<Self, Refused> {
        let opset = check_sets(model, graph)?;
        let mut this = Self {
            raws: Vec::new(),
            sources: Vec::new(),
            first_option: BTreeMap::new(),
            layers: Vec::new(),
            opset,
            budget: BUDGET,
            values: BTreeMap::new(),
            place: String::new(),
        };
        for tensor in &graph.initializer {
            let place = format!("initializer '{}'", tensor.name);
            let value = match Tensor::read(tensor) {
                Ok(tensor) => Value::Constant(Rc::new(tensor)),
                Err(what) => Value::Unknown(Rc::new(Refused { place, what })),
            };
            this.values.insert(tensor.name.clone(), value);
        }
        for input in &graph.input {
            // Old files list constants among the inputs.
            if !this.values.contains_key(&input.name) {
                let refuse = |what| Refused { place: format!("input '{}'", input.name), what };
                let value = this.input(input).map_err(refuse)?;
                this.values.insert(input.name.clone(), value);
            }
        }
        for (number, node) in graph.node.iter().enumerate() {
            this.node(&Node::new(node, number))?;
        }
        Ok(this)
    }

    /// The value of a name.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    fn input(&mut self, input: &proto::ValueInfo) -> Result<Value, String> {
        let tensor = input.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        let tensor = tensor.ok_or("it is no tensor")?;
        if tensor.elem_type == 9 {
            return Err("its type is bool: export the model with numbers or categories".to_owned());
        }
        let element = Element::of_number(i64::from(tensor.elem_type))?;
        let shape = tensor.shape.as_ref().ok_or("it has no shape: how many columns are there?")?;
        let (n, dims) = match &shape.dim[..] {
            [_] => (1, Vec::new()),
            [_, columns] => match columns.dim_value {
                Some(n @ 1..=MOST_COLUMNS) => (n as usize, vec![n as usize]),
                Some(n) if n != 0 => {
                    return Err(format!("{n} columns: expected 1 to {MOST_COLUMNS}"));
                }
                _ => {
                    return Err("the number of its columns is not fixed: export the model with it"
                        .to_owned());
                }
            },
            dims => {
                return Err(format!("expected rows and columns, found {} dimensions", dims.len()));
            }
        };
        self.spend(n * 4)?;
        let first = self.raws.len();
        for j in 0..n {
            let name = if n == 1 { input.name.clone() } else { format!("{}_{j}", input.name) };
            self.raws.push(Raw { name, element, categories: None });
            self.sources.push(Source::Number(first + j));
        }
        Ok(Value::columns(dims, (first..first + n).map(|raw| Cell::input(raw, element)).collect()))
    }

    fn node(&mut self, node: &Node<'_>) -> Result<(), Refused> {
        self.place = node.place();
        let refuse = |what: String| Refused { place: node.place(), what };
        let mut inputs = Vec::with_capacity(node.inputs().len());
        for name in node.inputs() {
            inputs.push(match self.values.get(name) {
                Some(value) => Some(value.clone()),
                None if name.is_empty() => None,
                None => {
                    let what = format!(
                        "its input '{name}' is neither an input of the graph, \
                         a constant, nor computed before"
                    );
                    return Err(refuse(what));
                }
            });
        }
        let present = || inputs.iter().flatten();
        let unknown = present().find_map(|value| match value {
            Value::Unknown(refused) => Some(Rc::clone(refused)),
            _ => None,
        });
        let outputs = if let Some(refused) = unknown {
            vec![Value::Unknown(refused); node.outputs().len()]
        } else if present().any(|value| matches!(value, Value::Label)) {
            vec![Value::Label; node.outputs().len()]
        } else {
            match ops::apply(self, node, &inputs) {
                Ok(values) => values,
                Err(what) => vec![Value::Unknown(Rc::new(refuse(what))); node.outputs().len()],
            }
        };
        let more = "an output that the operator does not have";
        for (i, name) in node.outputs().iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let value = outputs.get(i).cloned();
            let value = value.unwrap_or_else(|| Value::Unknown(Rc::new(refuse(more.to_owned()))));
            if self.values.insert(name.clone(), value).is_some() {
                return Err(refuse(format!("its output '{name}' is computed twice")));
            }
        }
        Ok(())
    }

    /// Charges `entries` to the limit.
    pub(super) fn spend(&mut self, entries: usize) -> Result<(), String> {
        match self.budget.checked_sub(entries) {
            Some(left) => self.budget = left,
            None => {
                return Err(format!("the model is too large: more than {BUDGET} entries to keep"));
            }
        }
        Ok(())
    }

    /// The number of a column of the input.
    pub(super) fn column(&self, source: Source) -> Result<usize, String> {
        let encoded =
            |raw| self.first_option.get(raw).copied().ok_or("a category that is not encoded");
        Ok(match &source {
            Source::Number(raw) => *raw,
            Source::Code(raw) => encoded(raw)?,
            Source::Option(raw, option) => encoded(raw)? + option,
        })
    }

    /// Sets the categories of a raw feature.
    pub(super) fn encode(
        &mut self,
        raw: usize,
        categories: Vec<String>,
        onehot: bool,
    ) -> Result<(), String> {
        let coding = if onehot { Coding::Onehot } else { Coding::Ordinal };
        let told = Some((categories, coding));
        let feature = &mut self.raws[raw];
        if feature.categories.is_some() && feature.categories != told {
            return Err(format!("'{}' is encoded in two ways", feature.name));
        }
        if feature.categories.is_none() {
            let n = told.as_ref().map_or(0, |(categories, _)| categories.len());
            feature.categories = told;
            self.first_option.insert(raw, self.sources.len());
            if onehot {
                self.sources.extend((0..n).map(|option| Source::Option(raw, option)));
            } else {
                self.sources.push(Source::Code(raw));
            }
        }
        Ok(())
    }

    /// Entries as they are, of columns or units.
    pub(super) fn units(&mut self, value: &Value) -> Result<Units, String> {
        match value {
            Value::Units(units) => Ok(units.clone()),
            Value::Columns(columns) if columns.dims.len() == 1 => {
                self.spend(3 * columns.cells.len())?;
                let mut entries = Vec::with_capacity(columns.cells.len());
                let mut bias = Vec::with_capacity(columns.cells.len());
                for cell in &columns.cells {
                    let (slope, offset) = cell.affine()?;
                    let column = self.column(cell.source)?;
                    entries.push((column, slope));
                    bias.push(offset);
                }
                let weights = Weights::Picked(entries);
                Ok(Units::plain(Affine { stage: 0, width: self.sources.len(), weights, bias }))
            }
            Value::Columns(columns) => Err(format!(
                "expected rows and columns, found {} dimensions",
                columns.dims.len() + 1
            )),
            other => Err(format!("it is applied to {}", other.describe())),
        }
    }

    /// Entries as an affine map: of what they were made of, or of a new layer if they are an
    /// activation of it.
    pub(super) fn settle(&mut self, units: &Units) -> Result<Rc<Affine>, String> {
        if let Some((offset, slope)) = units.curve.line() {
            if (offset, slope) == (0.0, 1.0) {
                return Ok(Rc::clone(&units.root));
            }
            self.spend_like(&units.root)?;
            return Ok(Rc::new(units.root.mapped(|_| slope, |_| offset)));
        }
        let shape = units.curve.shape()?;
        let n = units.root.n();
        let line = (shape.offset, shape.slope);
        let known = self.layers.iter().position(|layer| {
            Rc::ptr_eq(&layer.root, &units.root)
                && layer.line == line
                && layer.activation == shape.activation
        });
        let index = match known {
            Some(index) => index,
            None => {
                self.spend_like(&units.root)?;
                let before = units.root.mapped(|_| shape.slope, |_| shape.offset);
                let (root, activation) = (Rc::clone(&units.root), shape.activation);
                self.layers.push(Layer {
                    before,
                    root,
                    line,
                    activation,
                    place: self.place.clone(),
                });
                self.layers.len() - 1
            }
        };
        self.spend(3 * n)?;
        let weights = Weights::Picked((0..n).map(|unit| (unit, shape.scale)).collect());
        Ok(Rc::new(Affine { stage: index + 1, width: n, weights, bias: vec![shape.shift; n] }))
    }

    /// Charges a copy to the limit.
    pub(super) fn spend_like(&mut self, affine: &Affine) -> Result<(), String> {
        self.spend(match &affine.weights {
            Weights::Picked(entries) => 3 * entries.len(),
            Weights::Dense(all) => all.len() + affine.n(),
        })
    }

    /// Columns or units as an affine map.
    pub(super) fn affine(&mut self, value: &Value) -> Result<Rc<Affine>, String> {
        let units = self.units(value)?;
        self.settle(&units)
    }
}

/// The version of the default operator set. Fails unless every set that is used is declared, which
/// a file that was cut off may lack.
fn check_sets(model: &proto::Model, graph: &proto::Graph) -> Result<i64, Refused> {
    let default =
        |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    let declared = |domain: &str| {
        model.opset_import.iter().find(|set| default(&set.domain) == default(domain))
    };
    for (number, node) in graph.node.iter().enumerate() {
        if declared(&node.domain).is_none() {
            let what =
                format!("the file does not declare a version of the operators '{}'", node.domain);
            return Err(Refused { place: Node::new(node, number).place(), what });
        }
    }
    let version = declared("").map_or(OLDEST_SET, |set| set.version);
    if version < OLDEST_SET {
        let what = format!("version {version} of the operators is older than {OLDEST_SET}");
        return Err(Refused { place: "opset_import".to_owned(), what });
    }
    Ok(version)
}
