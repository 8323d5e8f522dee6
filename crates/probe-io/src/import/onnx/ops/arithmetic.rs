//! Operators on each entry: sums and products with constants and with each other, and activations.

use super::super::affine::Affine;
use super::super::curve::{Curve, Function};
use super::super::graph::Graph;
use super::super::node::Node;
use super::super::tensor::{Data, Tensor};
use super::super::value::{Columns, Scores, Units, Value};
use super::{Inputs, Made, need};
use crate::import::columns::Step;
use std::rc::Rc;

pub(super) fn add(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    match pair(inputs)? {
        (Value::Constant(a), Value::Constant(b)) => constants(a, b, |a, b| a + b),
        (x, Value::Constant(c)) | (Value::Constant(c), x) => shifted(graph, x, c, 1.0),
        (a, b) => sum(graph, a, b, 1.0),
    }
}

pub(super) fn subtract(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    match pair(inputs)? {
        (Value::Constant(a), Value::Constant(b)) => constants(a, b, |a, b| a - b),
        (Value::Columns(x), Value::Constant(c)) => stepped(graph, x, c, Step::Subtract),
        (x, Value::Constant(c)) => shifted(graph, x, c, -1.0),
        (Value::Constant(c), Value::Columns(x)) => stepped(graph, x, c, Step::From),
        (Value::Constant(c), x) => {
            let negative = scaled(graph, x, &single(-1.0), |factor| factor)?;
            shifted(graph, need(&[negative.into_iter().next()], 0)?, c, 1.0)
        }
        (a, b) => sum(graph, a, b, -1.0),
    }
}

pub(super) fn multiply(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    match pair(inputs)? {
        (Value::Constant(a), Value::Constant(b)) => constants(a, b, |a, b| a * b),
        (Value::Columns(x), Value::Constant(c)) | (Value::Constant(c), Value::Columns(x)) => {
            stepped(graph, x, c, Step::Multiply)
        }
        (x, Value::Constant(c)) | (Value::Constant(c), x) => scaled(graph, x, c, |factor| factor),
        (Value::Units(a), Value::Units(b)) if a.same_root(b) => {
            made(a.with(a.curve.times(&b.curve)?))
        }
        (a, b) => {
            Err(format!("a product of {} and {} that are not the same", a.describe(), b.describe()))
        }
    }
}

pub(super) fn divide(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    match pair(inputs)? {
        (Value::Constant(a), Value::Constant(b)) => constants(a, b, |a, b| a / b),
        (Value::Columns(x), Value::Constant(c)) => stepped(graph, x, c, Step::Divide),
        (x, Value::Constant(c)) => scaled(graph, x, c, |divisor| 1.0 / divisor),
        (Value::Units(a), Value::Sum(b)) if a.same_root(b) && a.curve == b.curve => normalised(a),
        (a, b) => Err(format!("{} divided by {}", a.describe(), b.describe())),
    }
}

pub(super) fn negate(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    match need(inputs, 0)? {
        Value::Columns(x) => stepped(graph, x, &single(-1.0), Step::Multiply),
        x => scaled(graph, x, &single(-1.0), |factor| factor),
    }
}

pub(super) fn function(graph: &mut Graph, inputs: Inputs<'_>, function: Function) -> Made {
    let (units, line) = straight(graph, need(inputs, 0)?)?;
    made(units.with(Curve::of(function, line)))
}

pub(super) fn gelu(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let kind = node.text("approximate", "none");
    if kind != "none" {
        return Err(format!("approximate = \"{kind}\": only the exact gelu is read"));
    }
    let units = fresh(graph, need(inputs, 0)?)?;
    made(units.with(Curve::gelu()))
}

pub(super) fn swish(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let alpha = node.float("alpha", 1.0);
    if alpha != 1.0 {
        return Err(format!("alpha is {alpha}; only 1 is read"));
    }
    let units = fresh(graph, need(inputs, 0)?)?;
    made(units.with(Curve::identity().times(&Curve::of(Function::Sigmoid, (0.0, 1.0)))?))
}

fn pair(inputs: Inputs<'_>) -> Result<(&Value, &Value), String> {
    Ok((need(inputs, 0)?, need(inputs, 1)?))
}

fn made(units: Units) -> Made {
    Ok(vec![Value::Units(units)])
}

fn single(c: f64) -> Tensor {
    Tensor { dims: Vec::new(), data: Data::Floats(vec![c]) }
}

/// Entries that are an affine function of their source, with that function.
fn straight(graph: &mut Graph, value: &Value) -> Result<(Units, (f64, f64)), String> {
    let units = graph.units(value)?;
    match units.curve.line() {
        Some(line) => Ok((units, line)),
        None => {
            let root = graph.settle(&units)?;
            Ok((Units { root, curve: Curve::identity() }, (0.0, 1.0)))
        }
    }
}

/// Entries as a new source.
fn fresh(graph: &mut Graph, value: &Value) -> Result<Units, String> {
    let root = graph.affine(value)?;
    Ok(Units { root, curve: Curve::identity() })
}

/// A step on every column.
fn stepped(graph: &mut Graph, columns: &Columns, c: &Tensor, step: fn(f64) -> Step) -> Made {
    let n = columns.cells.len();
    // One number goes with any shape; more go with the columns of a table.
    if c.len() != 1 && columns.dims.len() != 1 {
        return Err(format!("a constant of dimensions {:?} with {:?}", c.dims, columns.dims));
    }
    graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
    let constants = c.per_column(n)?;
    let cells = columns.cells.iter().zip(&constants).map(|(cell, &c)| cell.then(step(c)));
    Ok(vec![Value::columns(columns.dims.clone(), cells.collect::<Result<_, _>>()?)])
}

/// `x + sign · c`.
fn shifted(graph: &mut Graph, x: &Value, c: &Tensor, sign: f64) -> Made {
    if let Value::Columns(columns) = x {
        return stepped(graph, columns, c, if sign > 0.0 { Step::Add } else { Step::Subtract });
    }
    let units = graph.units(x)?;
    // The bias of a single unit is one like any other: what follows is a function of the sum.
    let bias = units.root.n() == 1 && units.curve.line().is_some();
    if c.len() == 1 && !bias {
        let c = c.numbers()?[0];
        return made(units.with(units.curve.plus(&Curve::constant(sign * c))?));
    }
    let affine = graph.settle(&units)?;
    graph.spend_like(&affine)?;
    let offsets = c.per_column(affine.n())?;
    Ok(vec![Value::units(affine.mapped(|_| 1.0, |i| sign * offsets[i]))])
}

/// `x · f(c)`, not for columns.
fn scaled(graph: &mut Graph, x: &Value, c: &Tensor, factor: fn(f64) -> f64) -> Made {
    let units = graph.units(x)?;
    if c.len() == 1 {
        let factor = factor(c.numbers()?[0]);
        return made(units.with(units.curve.times(&Curve::constant(factor))?));
    }
    let affine = graph.settle(&units)?;
    graph.spend_like(&affine)?;
    let factors: Vec<f64> = c.per_column(affine.n())?.into_iter().map(factor).collect();
    Ok(vec![Value::units(affine.mapped(|i| factors[i], |_| 0.0))])
}

/// `a + sign · b`, both of the data.
fn sum(graph: &mut Graph, a: &Value, b: &Value, sign: f64) -> Made {
    if let (Value::Units(a), Value::Units(b)) = (a, b)
        && a.same_root(b)
    {
        return made(a.with(a.curve.plus(&b.curve.times(&Curve::constant(sign))?)?));
    }
    let (a, b): (Rc<Affine>, Rc<Affine>) = (graph.affine(a)?, graph.affine(b)?);
    if a.stage != b.stage {
        return Err("it joins different layers (a connection that skips one)".to_owned());
    }
    if a.n() != b.n() {
        return Err(format!("it joins {} and {} columns", a.n(), b.n()));
    }
    graph.spend(a.n().saturating_mul(a.width.max(b.width)))?;
    Ok(vec![Value::units(a.plus(&b, sign))])
}

/// Sigmoids of two opposite scores are made to sum to one, which they do.
fn normalised(units: &Units) -> Made {
    let opposite = units.root.n() == 2 && units.root.is_opposite();
    match units.curve.sigmoid() {
        Some((slope, 0.0)) if opposite => {
            let margin = units.root.pick(&[1]).mapped(|_| slope, |_| 0.0);
            Ok(vec![Value::Scores(Scores::Affine(Rc::new(margin)))])
        }
        _ => {
            Err("entries are made to sum to one that are no probabilities of two classes"
                .to_owned())
        }
    }
}

/// A constant of two.
fn constants(a: &Tensor, b: &Tensor, of: fn(f64, f64) -> f64) -> Made {
    let (x, y) = (a.numbers()?, b.numbers()?);
    let (dims, data) = match (&x[..], &y[..]) {
        (x, [y]) => (&a.dims, x.iter().map(|x| of(*x, *y)).collect()),
        ([x], y) => (&b.dims, y.iter().map(|y| of(*x, *y)).collect()),
        (x, y) if a.dims == b.dims => (&a.dims, x.iter().zip(y).map(|(x, y)| of(*x, *y)).collect()),
        _ => return Err(format!("constants of dimensions {:?} and {:?}", a.dims, b.dims)),
    };
    Ok(vec![Value::Constant(Rc::new(Tensor { dims: dims.clone(), data: Data::Floats(data) }))])
}
