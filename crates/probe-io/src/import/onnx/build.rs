//! From the followed graph to a model: which output is its score, in which order its columns come,
//! and what is known of them.

use super::affine::{Affine, Weights};
use super::graph::Graph;
use super::proto;
use super::value::{Ensemble, Refused, Scores, Units, Value};
use crate::error::Error;
use crate::import::Imported;
use crate::import::order::{Misfit, Order};
use probe_core::model::{Dense, Trees};
use probe_core::{Linear, Mlp, Model};
use std::rc::Rc;
use std::sync::Arc;

/// The model of a graph.
pub(super) fn build(
    graph: &mut Graph,
    model: &proto::Model,
    outputs: &[proto::ValueInfo],
) -> Result<Imported, Fault> {
    let scores = find_scores(graph, outputs)?;
    rename(graph, &model.metadata_props);
    let order = Order::new(&graph.raws, &graph.sources, &used(graph, &scores))
        .map_err(|misfit| unfit(graph, misfit))?;
    let about = about(graph, model, &scores, order.names.len());
    let model: Arc<dyn Model> = match scores {
        Scores::Trees(ensemble) => Arc::new(trees(&ensemble, &order)?),
        Scores::Affine(margin) if margin.stage == 0 => {
            let weights = arrange(&order, &margin, 0)?;
            Arc::new(Linear::new(weights, margin.bias[0], 0.0)?)
        }
        Scores::Affine(margin) => Arc::new(network(graph, &margin, &order)?),
    };
    Ok(Imported { features: order.names, model, schema: order.schema, about })
}

/// The producer of the file, and its content.
fn about(graph: &Graph, model: &proto::Model, scores: &Scores, n_features: usize) -> String {
    let what = match scores {
        Scores::Trees(ensemble) => format!("{} trees", ensemble.trees.len()),
        Scores::Affine(margin) if margin.stage == 0 => "linear".to_owned(),
        Scores::Affine(margin) => {
            format!("network of {} hidden layers", chain(graph, margin).len())
        }
    };
    match model.producer_name.as_str() {
        "" => format!("{what}, {n_features} features"),
        name => format!("by {name} {}, {what}, {n_features} features", model.producer_version),
    }
}

/// Why a graph cannot be imported.
pub(super) enum Fault {
    Refused(Refused),
    Core(probe_core::Error),
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<probe_core::Error> for Fault {
    fn from(error: probe_core::Error) -> Self {
        Self::Core(error)
    }
}

impl Fault {
    pub(super) fn into_error(self, file: &str) -> Error {
        let file = file.to_owned();
        match self {
            Self::Refused(Refused { place, what }) => Error::Document { file, path: place, what },
            Self::Core(source) => Error::Core { file, source },
        }
    }
}

fn refused(place: String, what: impl Into<String>) -> Refused {
    Refused { place, what: what.into() }
}

/// The margin, from the outputs that have one.
fn find_scores(graph: &mut Graph, outputs: &[proto::ValueInfo]) -> Result<Scores, Refused> {
    let mut found: Vec<(String, Scores)> = Vec::new();
    // The first one, and whether it is about an output of numbers: those may be what decides,
    // labels do not.
    let mut fault: Option<(Refused, bool)> = None;
    let is_number = |output: &proto::ValueInfo| {
        let tensor = output.r#type.as_ref().and_then(|t| t.tensor_type.as_ref());
        tensor.is_some_and(|tensor| matches!(tensor.elem_type, 1 | 11))
    };
    for output in outputs {
        let place = format!("output '{}'", output.name);
        let value = graph.value(&output.name).cloned();
        match value {
            None => return Err(refused(place, "nothing computes it")),
            Some(Value::Label) => {}
            Some(Value::Unknown(why)) => {
                fault = worse(fault, ((*why).clone(), is_number(output)));
            }
            Some(value) => match margin(graph, &value) {
                Ok(scores) => found.push((place, scores)),
                Err(what) => fault = worse(fault, (refused(place, what), is_number(output))),
            },
        }
    }
    let same = |a: &Scores, b: &Scores| match (a, b) {
        (Scores::Affine(a), Scores::Affine(b)) => a == b,
        (Scores::Trees(a), Scores::Trees(b)) => Rc::ptr_eq(a, b),
        _ => false,
    };
    let mut found = found.into_iter();
    match (found.next(), fault) {
        (Some(_), Some((fault, true))) => Err(fault),
        (Some((first, scores)), _) => match found.find(|(_, other)| !same(&scores, other)) {
            None => Ok(scores),
            Some((other, _)) => {
                Err(refused(other, format!("another score than {first}: which one decides?")))
            }
        },
        (None, Some((fault, _))) => Err(fault),
        (None, None) => Err(refused("outputs".to_owned(), "none of them is a score")),
    }
}

/// The first fault, unless a later one is about numbers.
fn worse(known: Option<(Refused, bool)>, next: (Refused, bool)) -> Option<(Refused, bool)> {
    match known {
        Some(known) if known.1 || !next.1 => Some(known),
        _ => Some(next),
    }
}

/// The margin of the second class in a value.
fn margin(graph: &mut Graph, value: &Value) -> Result<Scores, String> {
    let margin = match value {
        Value::Scores(scores) => return Ok(scores.clone()),
        Value::Units(units) => unit_margin(graph, units)?,
        Value::Parts(parts) => match &parts[..] {
            // 1 - p next to p.
            [no, yes] if yes.root.n() == 1 && is_rest(no, yes) => unit_margin(graph, yes)?,
            _ => {
                return Err(
                    "entries side by side that are no probabilities of two classes".to_owned()
                );
            }
        },
        other => return Err(format!("it is {}, not a score", other.describe())),
    };
    Ok(Scores::Affine(Rc::new(margin)))
}

fn is_rest(no: &Units, yes: &Units) -> bool {
    use super::curve::Curve;
    let sum = no.curve.plus(&yes.curve).ok().and_then(|sum| sum.line());
    no.same_root(yes) && sum == Curve::constant(1.0).line() && yes.curve.sigmoid().is_some()
}

fn unit_margin(graph: &mut Graph, units: &Units) -> Result<Affine, String> {
    let root = &units.root;
    let n = root.n();
    if let Some((slope, offset)) = units.curve.sigmoid() {
        return match n {
            1 => Ok(root.mapped(|_| slope, |_| offset)),
            2 if offset == 0.0 && root.is_opposite() => {
                Ok(root.pick(&[1]).mapped(|_| slope, |_| 0.0))
            }
            _ => Err(format!(
                "a sigmoid of each of {n} scores; only of one, \
                 or of two that are each other's negative"
            )),
        };
    }
    if units.curve.line().is_none() {
        return Err(format!(
            "the last operator must leave a score or a probability, not {}",
            units.curve
        ));
    }
    let root = graph.settle(units)?;
    match n {
        1 => Ok((*root).clone()),
        2 => Ok(root.pick(&[1]).plus(&root.pick(&[0]), -1.0)),
        n => Err(format!("{n} outputs: a model of more than two classes is not read")),
    }
}

/// Hidden layers under a margin, the last one first, by their numbers.
fn chain(graph: &Graph, margin: &Affine) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut stage = margin.stage;
    while stage > 0 {
        chain.push(stage - 1);
        // A layer is created after the layers that it uses.
        stage = graph.layers[stage - 1].before.stage;
    }
    chain
}

/// For each column of the graph, whether the score depends on it.
fn used(graph: &Graph, scores: &Scores) -> Vec<bool> {
    let mut used = vec![false; graph.sources.len()];
    match scores {
        Scores::Trees(ensemble) => {
            for tree in &ensemble.trees {
                for at in (0..tree.left.len()).filter(|&at| tree.left[at] != -1) {
                    used[tree.feature[at]] = true;
                }
            }
        }
        Scores::Affine(margin) => {
            let first = chain(graph, margin).last().map(|&layer| &graph.layers[layer].before);
            let first = first.unwrap_or(margin);
            match &first.weights {
                Weights::Picked(entries) => entries.iter().for_each(|entry| used[entry.0] = true),
                Weights::Dense(all) => {
                    for (at, _) in all.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                        used[at % first.width] = true;
                    }
                }
            }
        }
    }
    used
}

/// Names from the file's own list of features, where it has one of the right length.
fn rename(graph: &mut Graph, properties: &[proto::Entry]) {
    let listed = properties.iter().find(|entry| entry.key == "feature_names");
    let names = listed.and_then(|entry| serde_json::from_str::<Vec<String>>(&entry.value).ok());
    if let Some(names) = names.filter(|names| names.len() == graph.raws.len()) {
        graph.raws.iter_mut().zip(names).for_each(|(raw, name)| raw.name = name);
    }
}

/// The error of a feature order, in terms of the graph.
fn unfit(graph: &Graph, misfit: Misfit) -> Fault {
    let name = |raw: usize| format!("input '{}'", graph.raws[raw].name);
    match misfit {
        Misfit::Input(raw, what) => refused(name(raw), what).into(),
        Misfit::Inputs(what) => refused("inputs".to_owned(), what).into(),
        Misfit::Core(error) => error.into(),
    }
}

/// Row `i` in the model's order.
fn arrange(order: &Order, affine: &Affine, i: usize) -> Result<Vec<f64>, Refused> {
    let row = affine.row(i, order.place.len());
    let mut weights = vec![0.0; order.names.len()];
    for (j, weight) in row.into_iter().enumerate().filter(|(_, weight)| *weight != 0.0) {
        weights[place(order, j)?] = weight;
    }
    Ok(weights)
}

/// The position of column `j` of the graph in the model.
fn place(order: &Order, j: usize) -> Result<usize, Refused> {
    order.place[j].ok_or_else(|| refused("inputs".to_owned(), "a column that the model lacks"))
}

fn network(graph: &mut Graph, margin: &Affine, order: &Order) -> Result<Mlp, Fault> {
    let chain: Vec<usize> = chain(graph, margin).into_iter().rev().collect();
    let first = &graph.layers[chain[0]];
    let activation = first.activation;
    if let Some(&other) = chain.iter().find(|&&layer| graph.layers[layer].activation != activation)
    {
        let (a, b) = (first, &graph.layers[other]);
        let what = format!(
            "activation {} before it, {} before {}: only networks with one activation are read",
            b.activation, a.activation, a.place
        );
        return Err(refused(b.place.clone(), what).into());
    }
    let size = |affine: &Affine| affine.n().saturating_mul(affine.width.max(order.place.len()));
    let total = chain
        .iter()
        .fold(0_usize, |sum, &layer| sum.saturating_add(size(&graph.layers[layer].before)));
    graph.spend(total).map_err(|what| refused("network".to_owned(), what))?;
    let mut layers = Vec::with_capacity(chain.len() + 1);
    for before in chain.iter().map(|&layer| &graph.layers[layer].before).chain([margin]) {
        let mut weight = Vec::new();
        for i in 0..before.n() {
            weight.extend(match before.stage {
                0 => arrange(order, before, i)?,
                _ => before.row(i, before.width),
            });
        }
        layers.push(Dense { weight, bias: before.bias.clone() });
    }
    Ok(Mlp::new(layers, activation, 0.0)?)
}

fn trees(ensemble: &Ensemble, order: &Order) -> Result<Trees, Fault> {
    let mut trees = ensemble.trees.clone();
    for tree in &mut trees {
        for at in (0..tree.left.len()).filter(|&at| tree.left[at] != -1) {
            tree.feature[at] = place(order, tree.feature[at])?;
        }
    }
    Ok(Trees::new(order.names.len(), trees, ensemble.rules, 0.0)?)
}
