//! Pipelines: a model, its input columns, and the steps from raw columns to them. The Python
//! package turns model objects into such documents.
//!
//! ```json
//! {"format": "probe-pipeline", "version": 1, "source": "scikit-learn 1.9.1 Pipeline(…)",
//!  "inputs": [{"name": "age"},
//!             {"name": "job", "categories": ["boss", "clerk"], "encoding": "onehot"}],
//!  "columns": [{"input": 0, "steps": [["subtract", 38.6], ["divide", 13.7]]},
//!              {"input": 1, "category": 1}],
//!  "model": {"format": "probe-model", "version": 1, "kind": "linear", "…": "…"}}
//! ```
//!
//! Steps are in double precision; `["round"]` rounds to single. `model` is a native model,
//! XGBoost's JSON, or the text of a file. A column says `"imputed": true` if missing values were
//! replaced in training: the model then rejects them.

use super::columns::{Cell, Element, Source, Step};
use super::order::{Misfit, Order, Raw};
use super::{Format, Imported, format_of};
use crate::content;
use crate::error::{Error, Result};
use crate::json::{self, Node};
use crate::model_file::ModelFile;
use probe_core::model::{Dense, Split, TreeRules, Trees};
use probe_core::schema::Coding;
use probe_core::{Linear, Mlp, Model};
use serde_json::Value;
use std::sync::Arc;

/// Our own documents around models of any library.
pub(super) const FORMAT: Format = Format { name: NAME, is, read };

const NAME: &str = "probe-pipeline";
const VERSION: u64 = 1;
/// Limit on the number of weights, so that a small document cannot need unlimited memory.
const MOST_WEIGHTS: usize = 1 << 25;
/// Length limit of `source`, which is a single line.
const MOST_SOURCE: usize = 300;

fn is(bytes: &[u8]) -> bool {
    let named = |after: &[u8]| {
        after.strip_prefix(b"\"").is_some_and(|text| text.starts_with(NAME.as_bytes()))
    };
    content::first_key(bytes, &[b"format"]).is_some_and(|(_, after)| named(after))
}

fn read(bytes: &[u8], origin: &str) -> Result<Imported> {
    let value = json::parse(content::without_mark(bytes), origin)?;
    let root = Node::root(&value, origin);
    check_format(&root)?;
    let source = read_source(&root.need("source")?)?;
    let (inputs, columns, model) =
        (root.need("inputs")?, root.need("columns")?, root.need("model")?);
    let features = Features::read(&inputs)?;
    let cells =
        columns.items()?.iter().map(|item| features.cell(item)).collect::<Result<Vec<_>>>()?;
    let inner = read_model(&model)?;
    if inner.features.len() != cells.len() {
        let n = inner.features.len();
        return Err(columns
            .error(format!("expected {n} (one per feature of the model), found {}", cells.len())));
    }
    let order = Order::new(&features.raws, &features.sources, &vec![false; features.sources.len()]);
    let order = order.map_err(|misfit| match misfit {
        Misfit::Input(raw, what) => inputs.item(raw).error(what),
        Misfit::Inputs(what) => inputs.error(what),
        Misfit::Core(error) => inputs.error(error.to_string()),
    })?;
    let moved = Moved {
        features: &features,
        cells: &cells,
        order: &order,
        columns: &columns,
        model: &model,
    };
    let (moved, size) = moved.model(&*inner.model)?;
    let about = format!("of {source}, {size}, {} features", features.raws.len());
    Ok(Imported { features: order.names, model: moved, schema: order.schema, about })
}

fn check_format(root: &Node<'_>) -> Result<()> {
    let format = root.need("format")?;
    if format.text()? != NAME {
        return Err(format.error(format!("expected \"{NAME}\", found {}", format.value())));
    }
    let version = root.need("version")?;
    if version.value().as_u64() != Some(VERSION) {
        return Err(version.error(format!("expected {VERSION}, found {}", version.value())));
    }
    root.only(&["format", "version", "source", "inputs", "columns", "model"])
}

fn read_source<'a>(node: &Node<'a>) -> Result<&'a str> {
    let text = node.text()?;
    let fits = !text.is_empty()
        && text.chars().count() <= MOST_SOURCE
        && !text.chars().any(char::is_control);
    if fits {
        Ok(text)
    } else {
        Err(node.expected(&format!("one line of 1 to {MOST_SOURCE} characters")))
    }
}

/// The model inside, with errors that name the place in the whole document.
fn read_model(node: &Node<'_>) -> Result<ModelFile> {
    let text = match node.value() {
        Value::String(text) => text.clone(),
        object @ Value::Object(_) => object.to_string(),
        _ => return Err(node.expected("a model, or the text of one")),
    };
    if format_of(text.as_bytes()).is_some_and(|format| format.name == NAME) {
        return Err(node.error("a pipeline within a pipeline, which is not read"));
    }
    let model = ModelFile::parse(text.as_bytes(), node.file()).map_err(|error| match error {
        Error::Document { file, path, what } => {
            let inside = path.strip_prefix('$').unwrap_or(&path);
            Error::Document { file, path: format!("{}{inside}", node.path()), what }
        }
        Error::File { what, .. } => node.error(what),
        Error::Core { source, .. } => node.error(source.to_string()),
        other => other,
    })?;
    match &model.schema {
        None => Ok(model),
        Some(_) => Err(node.need("schema").unwrap_or_else(|_| node.clone()).error(
            "a schema of the columns, which is not read: 'inputs' say what is known of features",
        )),
    }
}

/// The raw features.
struct Features {
    raws: Vec<Raw>,
    /// Numbers of all raw features, then the columns of categories.
    sources: Vec<Source>,
    /// The first source of each raw feature.
    first: Vec<usize>,
}

impl Features {
    fn read(node: &Node<'_>) -> Result<Self> {
        let items = node.items()?;
        if items.is_empty() {
            return Err(node.error("expected at least one input"));
        }
        let raws = items.iter().map(read_input).collect::<Result<Vec<_>>>()?;
        let mut sources: Vec<Source> = (0..raws.len()).map(Source::Number).collect();
        let mut first = Vec::with_capacity(raws.len());
        for (raw, about) in raws.iter().enumerate() {
            first.push(if about.categories.is_some() { sources.len() } else { raw });
            match &about.categories {
                Some((categories, Coding::Onehot)) => {
                    sources.extend((0..categories.len()).map(|option| Source::Option(raw, option)));
                }
                Some(_) => sources.push(Source::Code(raw)),
                None => {}
            }
        }
        Ok(Self { raws, sources, first })
    }

    /// The number of a source.
    fn number(&self, source: Source) -> usize {
        match source {
            Source::Option(raw, option) => self.first[raw] + option,
            other => self.first[other.raw()],
        }
    }

    /// A column of the model.
    fn cell(&self, node: &Node<'_>) -> Result<Cell> {
        node.only(&["input", "category", "steps", "imputed"])?;
        let input = node.need("input")?;
        let raw = index(&input, self.raws.len(), "an input")?;
        let category = node.get("category")?;
        let source = match (&self.raws[raw].categories, &category) {
            (Some((all, Coding::Onehot)), Some(category)) => {
                Source::Option(raw, index(category, all.len(), "a category")?)
            }
            (Some((_, Coding::Onehot)), None) => {
                return Err(node.error("the field 'category' is missing: the input is one-hot"));
            }
            (Some(_), None) => Source::Code(raw),
            (None, None) => Source::Number(raw),
            (_, Some(category)) => {
                return Err(
                    category.error("only an input that is one-hot has columns of one category")
                );
            }
        };
        let mut cell = match source {
            Source::Number(_) => Cell::input(raw, Element::Double),
            source => Cell::encoded(source, Element::Double),
        };
        if let Some(imputed) = node.get("imputed")? {
            cell.imputed =
                imputed.value().as_bool().ok_or_else(|| imputed.expected("true or false"))?;
        }
        if let Some(steps) = node.get("steps")? {
            for item in steps.items()? {
                cell = cell.then(read_step(&item)?).map_err(|what| item.error(what))?;
            }
        }
        Ok(cell)
    }
}

fn read_input(node: &Node<'_>) -> Result<Raw> {
    node.only(&["name", "categories", "encoding"])?;
    let name = node.need("name")?;
    let raw = |categories| {
        Ok(Raw { name: name.text()?.to_owned(), element: Element::Double, categories })
    };
    let Some(categories) = node.get("categories")? else {
        return match node.get("encoding")? {
            None => raw(None),
            Some(encoding) => Err(encoding.error("an input without categories has none")),
        };
    };
    let encoding = node.need("encoding")?;
    let coding = match encoding.text()? {
        "onehot" => Coding::Onehot,
        "ordinal" => Coding::Ordinal,
        "binary" => Coding::Binary,
        other => {
            return Err(encoding
                .error(format!("unknown encoding '{other}' (known: onehot, ordinal, binary)")));
        }
    };
    let mut names = Vec::new();
    for item in categories.items()? {
        names.push(item.text()?.to_owned());
    }
    raw(Some((names, coding)))
}

fn read_step(node: &Node<'_>) -> Result<Step> {
    const KNOWN: &str =
        "[\"add\" | \"subtract\" | \"multiply\" | \"divide\", number] or [\"round\"]";
    let items = node.items()?;
    let (name, constant) = match &items[..] {
        [name] => (name.text()?, None),
        [name, constant] => (name.text()?, Some(constant.number()?)),
        _ => return Err(node.expected(KNOWN)),
    };
    Ok(match (name, constant) {
        ("round", None) => Step::Round,
        ("add", Some(c)) => Step::Add(c),
        ("subtract", Some(c)) => Step::Subtract(c),
        ("multiply", Some(c)) => Step::Multiply(c),
        ("divide", Some(c)) => Step::Divide(c),
        _ => return Err(node.error(format!("unknown step: expected {KNOWN}"))),
    })
}

/// A whole number below `n`.
fn index(node: &Node<'_>, n: usize, what: &str) -> Result<usize> {
    let found = node.value().as_u64().and_then(|value| usize::try_from(value).ok());
    found.filter(|&value| value < n).ok_or_else(|| match n {
        0 => node.error(format!(
            "there is no {}",
            what.trim_start_matches("an ").trim_start_matches("a ")
        )),
        _ => node.expected(&format!("{what} (a whole number from 0 to {})", n - 1)),
    })
}

/// Turns a model of encoded columns into a model of raw features.
struct Moved<'a> {
    features: &'a Features,
    cells: &'a [Cell],
    order: &'a Order,
    columns: &'a Node<'a>,
    model: &'a Node<'a>,
}

impl Moved<'_> {
    /// The model and its size in words.
    fn model(&self, inner: &dyn Model) -> Result<(Arc<dyn Model>, String)> {
        if let Some(trees) = inner.as_trees() {
            let size = format!("{} trees", trees.trees().len());
            return Ok((Arc::new(self.trees(trees)?), size));
        }
        if let Some(mlp) = inner.as_mlp().filter(|mlp| !mlp.hidden().is_empty()) {
            let mut layers: Vec<Dense> = mlp.dense().cloned().collect();
            layers[0] = self.layer(&layers[0].weight, &layers[0].bias)?;
            let moved = Mlp::new(layers, mlp.activation(), inner.threshold())
                .map_err(|e| self.fault(&e))?;
            return Ok((
                Arc::new(moved),
                format!("network of {} hidden layers", mlp.hidden().len()),
            ));
        }
        let Some(linear) = inner.as_linear() else {
            return Err(self
                .model
                .error(format!("a {} model, which has no place in a pipeline", inner.name())));
        };
        let layer = self.layer(linear.weights(), &[linear.bias()])?;
        let moved = Linear::new(layer.weight, layer.bias[0], inner.threshold())
            .map_err(|e| self.fault(&e))?;
        Ok((Arc::new(moved), "linear".to_owned()))
    }

    fn fault(&self, error: &probe_core::Error) -> Error {
        self.columns.error(error.to_string())
    }

    /// The position of a column's source in the model.
    fn place(&self, column: usize) -> Result<usize> {
        let place = self.order.place[self.features.number(self.cells[column].source)];
        place.ok_or_else(|| self.columns.item(column).error("a column that the model lacks"))
    }

    /// A layer with the steps before it in its weights. Those of several columns of one input add
    /// up.
    fn layer(&self, weight: &[f64], bias: &[f64]) -> Result<Dense> {
        let (n, width) = (self.cells.len(), self.order.names.len());
        if bias.len().saturating_mul(width) > MOST_WEIGHTS {
            return Err(self
                .columns
                .error(format!("the model is too large: more than {MOST_WEIGHTS} weights")));
        }
        let mut maps = Vec::with_capacity(n);
        for (j, cell) in self.cells.iter().enumerate() {
            let (slope, offset) = cell.affine().map_err(|what| self.columns.item(j).error(what))?;
            maps.push((self.place(j)?, slope, offset));
        }
        let mut layer = Dense { weight: vec![0.0; bias.len() * width], bias: bias.to_vec() };
        let rows =
            weight.chunks_exact(n).zip(layer.weight.chunks_exact_mut(width)).zip(&mut layer.bias);
        for ((from, to), bias) in rows {
            for (weight, &(place, slope, offset)) in from.iter().zip(&maps) {
                to[place] += weight * slope;
                *bias += weight * offset;
            }
        }
        Ok(layer)
    }

    /// Trees with thresholds on raw features. Without steps in between, splits stay as they
    /// are.
    fn trees(&self, inner: &Trees) -> Result<Trees> {
        let rules = inner.rules();
        let mut trees = inner.trees().to_vec();
        let splits = || inner.trees().iter().flat_map(splits_of).map(|(_, column)| column);
        let untouched = splits().all(|column| self.cells[column].n_steps() == 0);
        let cells = match rules.single {
            false => self.cells.to_vec(),
            true => self.cells.iter().map(|cell| self.rounded(cell)).collect::<Result<_>>()?,
        };
        for (tree, from) in trees.iter_mut().zip(inner.trees()) {
            for (at, column) in splits_of(from) {
                tree.feature[at] = self.place(column)?;
                if untouched {
                    continue;
                }
                // Of numbers, those below a threshold are those up to the one before it.
                let threshold = match rules.split {
                    Split::AtMost => tree.threshold[at],
                    Split::Below => tree.threshold[at].next_down(),
                };
                let cut = cells[column]
                    .cut(threshold)
                    .map_err(|what| self.columns.item(column).error(what))?;
                tree.threshold[at] = cut.at;
                if cut.falls {
                    (tree.left[at], tree.right[at]) = (tree.right[at], tree.left[at]);
                    if let Some(side) = tree.default_left.get_mut(at) {
                        *side = !*side;
                    }
                }
            }
            if splits_of(from).any(|(_, column)| self.cells[column].imputed) {
                tree.default_left.clear();
            }
        }
        let rules = if untouched {
            rules
        } else {
            TreeRules { split: Split::AtMost, single: false, ..rules }
        };
        Trees::new(self.order.names.len(), trees, rules, inner.threshold())
            .map_err(|e| self.fault(&e))
    }

    /// A column for trees that round values before comparing them.
    fn rounded(&self, cell: &Cell) -> Result<Cell> {
        cell.then(Step::Round).map_err(|what| self.columns.error(what))
    }
}

/// Splits of a tree, each with its column.
fn splits_of(tree: &probe_core::model::Tree) -> impl Iterator<Item = (usize, usize)> {
    (0..tree.left.len()).filter(|&at| tree.left[at] != -1).map(|at| (at, tree.feature[at]))
}

#[cfg(test)]
mod tests;
