//! What pipelines do to columns before the model: scalers, imputers, encoders of categories.

use super::super::graph::Graph;
use super::super::node::Node;
use super::super::tensor::Data;
use super::super::value::{Columns, Value};
use super::{Inputs, Made, need};
use crate::import::columns::Element;
use crate::import::columns::{Cell, Source, Step};
use std::collections::BTreeSet;

fn columns(inputs: Inputs<'_>) -> Result<&Columns, String> {
    match need(inputs, 0)? {
        Value::Columns(columns) => Ok(columns),
        other => Err(format!("it is applied to {}", other.describe())),
    }
}

/// `(x - offset) · scale`, in float32.
pub(super) fn scaler(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let columns = columns(inputs)?;
    let n = columns.cells.len();
    graph.spend(columns.cells.iter().map(|cell| 12 + 2 * cell.n_steps()).sum())?;
    let per_column = |name: &str, default: f64| match &node.floats(name)[..] {
        [] => Ok(vec![default; n]),
        [one] => Ok(vec![*one; n]),
        all if all.len() == n => Ok(all.to_vec()),
        all => Err(format!("{name} has {} entries for {n} columns", all.len())),
    };
    let (offset, scale) = (per_column("offset", 0.0)?, per_column("scale", 1.0)?);
    let mut cells = Vec::with_capacity(n);
    for (i, cell) in columns.cells.iter().enumerate() {
        if cell.element == Element::Double {
            return Err(
                "it is applied to doubles, whose rounding the operator leaves open".to_owned()
            );
        }
        let cell = cell.cast(Element::Single)?;
        cells.push(cell.then(Step::Subtract(offset[i]))?.then(Step::Multiply(scale[i]))?);
    }
    Ok(vec![Value::columns(columns.dims.clone(), cells)])
}

/// Replaces missing values; others stay. A model after it rejects missing values.
pub(super) fn imputer(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let replaced = node.float("replaced_value_float", 0.0);
    if !node.has("imputed_value_floats") || !replaced.is_nan() {
        return Err(format!("it replaces {replaced}; only the replacement of NaN is read"));
    }
    let columns = columns(inputs)?;
    graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
    let imputed = |cell: &Cell| {
        let mut cell = cell.clone();
        cell.imputed = true;
        cell
    };
    Ok(vec![Value::columns(columns.dims.clone(), columns.cells.iter().map(imputed).collect())])
}

/// The raw feature that is encoded here.
fn category(graph: &Graph, cell: &Cell, wanted: Element) -> Result<usize, String> {
    let Source::Number(raw) = cell.source else {
        return Err("a column that is encoded already".to_owned());
    };
    if cell.element != wanted || !cell.is_untouched() {
        return Err(format!(
            "'{}' is {:?}, the categories are {wanted:?}",
            graph.raws[raw].name, cell.element
        ));
    }
    Ok(raw)
}

pub(super) fn one_hot(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let columns = columns(inputs)?;
    let (texts, wholes) = (node.texts("cats_strings")?, node.ints("cats_int64s"));
    let (categories, element) = match (&texts[..], wholes) {
        ([], [_, ..]) => (wholes.iter().map(i64::to_string).collect(), Element::Whole),
        ([_, ..], []) => (texts, Element::Text),
        _ => return Err("expected cats_strings or cats_int64s".to_owned()),
    };
    check_distinct(&categories)?;
    let n = categories.len();
    let mut cells = Vec::new();
    for cell in &columns.cells {
        graph.spend(n.saturating_mul(16))?;
        let raw = category(graph, cell, element)?;
        graph.encode(raw, categories.clone(), true)?;
        cells.extend(
            (0..n).map(|option| Cell::encoded(Source::Option(raw, option), Element::Single)),
        );
    }
    let mut dims = columns.dims.clone();
    dims.push(n);
    Ok(vec![Value::columns(dims, cells)])
}

/// Categories as 0, 1, 2 and so on: the only codes that are read.
pub(super) fn label_encoder(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let columns = columns(inputs)?;
    let (texts, wholes) = (keys(node, "strings")?, keys(node, "int64s")?);
    let (names, element) = match (&texts[..], &wholes[..]) {
        ([], [_, ..]) => (wholes, Element::Whole),
        ([_, ..], []) => (texts, Element::Text),
        _ => return Err("expected keys_strings or keys_int64s".to_owned()),
    };
    check_distinct(&names)?;
    let (codes, kind) = codes(node)?;
    if codes.len() != names.len() {
        return Err(format!("{} keys and {} values", names.len(), codes.len()));
    }
    let mut categories = vec![String::new(); names.len()];
    let mut told = vec![false; names.len()];
    for (name, code) in names.into_iter().zip(codes) {
        let place = usize::try_from(code).ok().filter(|&place| told.get(place) == Some(&false));
        let place = place.ok_or_else(|| {
            format!("'{name}' becomes {code}; expected 0, 1, 2 and so on, each once")
        })?;
        told[place] = true;
        categories[place] = name;
    }
    graph.spend(columns.cells.len().saturating_mul(16 + categories.len()))?;
    let mut cells = Vec::new();
    for cell in &columns.cells {
        let raw = category(graph, cell, element)?;
        graph.encode(raw, categories.clone(), false)?;
        cells.push(Cell::encoded(Source::Code(raw), kind));
    }
    Ok(vec![Value::columns(columns.dims.clone(), cells)])
}

/// Keys of a label encoder, as text.
fn keys(node: &Node<'_>, kind: &str) -> Result<Vec<String>, String> {
    if let Some(tensor) = node.tensor("keys_tensor")? {
        return match (&tensor.data, kind) {
            (Data::Texts(texts), "strings") => Ok(texts.clone()),
            (Data::Wholes(wholes), "int64s") => Ok(wholes.iter().map(i64::to_string).collect()),
            _ => Ok(Vec::new()),
        };
    }
    match kind {
        "strings" => node.texts("keys_strings"),
        _ => Ok(node.ints("keys_int64s").iter().map(i64::to_string).collect()),
    }
}

/// Values of a label encoder, as whole numbers, and their type.
fn codes(node: &Node<'_>) -> Result<(Vec<i64>, Element), String> {
    let tensor = node.tensor("values_tensor")?;
    let (floats, wholes) = match &tensor {
        Some(tensor) => match &tensor.data {
            Data::Floats(x) => (x.clone(), Vec::new()),
            Data::Wholes(x) => (Vec::new(), x.clone()),
            Data::Texts(_) => return Err("values are texts".to_owned()),
        },
        None => (node.floats("values_floats"), node.ints("values_int64s").to_vec()),
    };
    match (&floats[..], &wholes[..]) {
        ([], [_, ..]) => Ok((wholes, Element::Whole)),
        ([_, ..], []) => {
            let whole = |x: &f64| {
                if x.fract() == 0.0 { Ok(*x as i64) } else { Err(format!("a value of {x}")) }
            };
            Ok((floats.iter().map(whole).collect::<Result<_, _>>()?, Element::Single))
        }
        _ => Err("expected values_int64s or values_floats".to_owned()),
    }
}

fn check_distinct(categories: &[String]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    match categories.iter().find(|category| !seen.insert(*category)) {
        Some(twice) => Err(format!("the category '{twice}' is given twice")),
        None => Ok(()),
    }
}
