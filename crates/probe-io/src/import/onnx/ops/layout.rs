//! Operators that move entries and leave their numbers alone.

use super::super::graph::Graph;
use super::super::node::Node;
use super::super::tensor::{Data, Tensor};
use super::super::value::{Units, Value};
use super::{Inputs, Made, constant, need};
use crate::import::columns::Cell;
use crate::import::columns::Element;
use std::rc::Rc;

pub(super) fn same(node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let training = inputs.get(2).and_then(Option::as_ref).and_then(Value::constant);
    if node.op() == "Dropout" && training.is_some_and(|t| t.wholes().is_ok_and(|t| t != [0])) {
        return Err("training_mode: it drops units by chance".to_owned());
    }
    Ok(vec![need(inputs, 0)?.clone()])
}

pub(super) fn cast(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let to = Element::of_number(node.int("to", 0))?;
    let is_float = matches!(to, Element::Single | Element::Double);
    Ok(vec![match need(inputs, 0)? {
        Value::Columns(columns) => {
            graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
            let cells = columns.cells.iter().map(|cell| cell.cast(to)).collect::<Result<_, _>>()?;
            Value::columns(columns.dims.clone(), cells)
        }
        Value::Constant(tensor) => match (&tensor.data, to) {
            (Data::Floats(x), Element::Single) => {
                let data = Data::Floats(x.iter().map(|&x| f64::from(x as f32)).collect());
                Value::Constant(Rc::new(Tensor { dims: tensor.dims.clone(), data }))
            }
            (Data::Wholes(_), Element::Single | Element::Double) => {
                let data = Data::Floats(tensor.numbers()?);
                Value::Constant(Rc::new(Tensor { dims: tensor.dims.clone(), data }))
            }
            (Data::Floats(_), Element::Double) | (Data::Wholes(_), Element::Whole) => {
                Value::Constant(Rc::clone(tensor))
            }
            _ => return Err(format!("a constant cast to {to:?}")),
        },
        value if is_float => value.clone(),
        value => return Err(format!("{} cast to {to:?}", value.describe())),
    }])
}

/// The number of entries a row has, where it is one table.
fn per_row(value: &Value) -> Option<usize> {
    match value {
        Value::Columns(columns) => Some(columns.cells.len()),
        Value::Units(units) => Some(units.root.n()),
        Value::Scores(_) => Some(2),
        _ => None,
    }
}

/// The same entries in other dimensions after the first.
fn with_dims(graph: &mut Graph, value: &Value, dims: Vec<usize>) -> Made {
    match value {
        Value::Columns(columns) => {
            graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
            Ok(vec![Value::columns(dims, columns.cells.clone())])
        }
        // A single unit may lack its dimension.
        Value::Units(units)
            if dims == [units.root.n()] || (dims.is_empty() && units.root.n() == 1) =>
        {
            Ok(vec![value.clone()])
        }
        Value::Scores(_) if dims == [2] => Ok(vec![value.clone()]),
        other => Err(format!("{} in dimensions {dims:?}", other.describe())),
    }
}

pub(super) fn reshape(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let value = need(inputs, 0)?;
    let wanted = match inputs.get(1) {
        Some(Some(_)) => constant(inputs, 1)?.wholes()?.to_vec(),
        _ => node.ints("shape").to_vec(),
    };
    if let Value::Constant(tensor) = value {
        let known: i64 = wanted
            .iter()
            .filter(|&&dim| dim > 0)
            .try_fold(1_i64, |n, &d| n.checked_mul(d))
            .unwrap_or(0);
        let open = wanted.iter().filter(|&&dim| dim < 0).count();
        let len = tensor.len() as i64;
        if wanted.contains(&0)
            || open > 1
            || known == 0
            || len % known != 0
            || (open == 0 && known != len)
        {
            return Err(format!("a constant of dimensions {:?} made {wanted:?}", tensor.dims));
        }
        let dims =
            wanted.iter().map(|&dim| if dim < 0 { (len / known) as usize } else { dim as usize });
        let tensor = Tensor { dims: dims.collect(), data: tensor.data.clone() };
        return Ok(vec![Value::Constant(Rc::new(tensor))]);
    }
    let n = per_row(value).ok_or_else(|| format!("it is applied to {}", value.describe()))?;
    let refuse = || format!("rows of {n} entries made {wanted:?}: rows must stay rows");
    let Some((rows, rest)) = wanted.split_first() else { return Err(refuse()) };
    let known = rest.iter().filter(|&&dim| dim > 0).try_fold(1_i64, |n, &dim| n.checked_mul(dim));
    let known = known.and_then(|known| usize::try_from(known).ok()).ok_or_else(refuse)?;
    let open = rest.iter().filter(|&&dim| dim < 0).count();
    // Rows stay rows if the rest holds a whole one. The first dimension is open, kept, or the 1 of
    // a graph for single rows.
    let fits = match open {
        0 => known == n && matches!(rows, -1..=1),
        1 => matches!(rows, 0..=1) && n % known == 0,
        _ => false,
    };
    if !fits || rest.contains(&0) {
        return Err(refuse());
    }
    let dims = rest.iter().map(|&dim| if dim < 0 { n / known } else { dim as usize }).collect();
    with_dims(graph, value, dims)
}

pub(super) fn flatten(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let value = need(inputs, 0)?;
    let axis = node.int("axis", 1);
    match per_row(value) {
        Some(n) if axis == 1 => with_dims(graph, value, vec![n]),
        _ => Err(format!("axis {axis} of {}", value.describe())),
    }
}

pub(super) fn squeeze(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let value = need(inputs, 0)?;
    let axes = match inputs.get(1) {
        Some(Some(_)) => constant(inputs, 1)?.wholes()?.to_vec(),
        _ => node.ints("axes").to_vec(),
    };
    let dims = match value {
        Value::Columns(columns) => columns.dims.clone(),
        Value::Units(units) => vec![units.root.n()],
        other => return Err(format!("it is applied to {}", other.describe())),
    };
    let adds = node.op() == "Unsqueeze";
    let [axis] = axes[..] else { return Err(format!("axes {axes:?}: one is expected")) };
    let rank = dims.len() as i64 + 1 + i64::from(adds);
    let at = if axis < 0 { axis + rank } else { axis };
    // The first dimension is the rows.
    let mut dims = dims;
    match usize::try_from(at - 1) {
        Ok(at) if adds && at <= dims.len() => dims.insert(at, 1),
        Ok(at) if !adds && dims.get(at) == Some(&1) => drop(dims.remove(at)),
        _ => return Err(format!("axis {axis}: rows must stay rows")),
    }
    with_dims(graph, value, dims)
}

pub(super) fn transpose(_graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let perm = node.ints("perm");
    let tensor = constant(inputs, 0)?;
    match perm {
        [] | [1, 0] => Ok(vec![Value::Constant(Rc::new(tensor.transposed()?))]),
        _ => Err(format!("perm {perm:?}")),
    }
}

pub(super) fn concat(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let values: Vec<&Value> =
        (0..inputs.len()).map(|i| need(inputs, i)).collect::<Result<_, _>>()?;
    let axis = node.int("axis", 1);
    side_by_side(graph, &values, axis)
}

fn side_by_side(graph: &mut Graph, values: &[&Value], axis: i64) -> Made {
    if let [one] = values {
        return Ok(vec![(*one).clone()]);
    }
    if values.iter().all(|value| matches!(value, Value::Columns(_))) {
        let (mut cells, mut dims): (Vec<Cell>, Option<Vec<usize>>) = (Vec::new(), None);
        for value in values {
            let Value::Columns(columns) = value else { continue };
            graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
            let rank = columns.dims.len() as i64;
            let last = axis == -1 || axis == rank;
            // Entries of one row then follow each other.
            let single = columns.dims.iter().rev().skip(1).all(|&dim| dim == 1);
            if rank == 0
                || !last
                || !single
                || dims.as_ref().is_some_and(|dims| dims.len() != columns.dims.len())
            {
                return Err(format!("along axis {axis} of {:?}", columns.dims));
            }
            let sum = dims.get_or_insert_with(|| vec![1; columns.dims.len() - 1]);
            if sum.len() < columns.dims.len() {
                sum.push(0);
            }
            cells.extend(columns.cells.iter().cloned());
        }
        let mut dims = dims.unwrap_or_default();
        if let Some(last) = dims.last_mut() {
            *last = cells.len();
        }
        return Ok(vec![Value::columns(dims, cells)]);
    }
    if !matches!(axis, 1 | -1) {
        return Err(format!("along axis {axis}"));
    }
    let units: Vec<Units> =
        values.iter().map(|value| graph.units(value)).collect::<Result<_, _>>()?;
    let lines = units.iter().all(|units| units.curve.line().is_some());
    let one_root = units.windows(2).all(|pair| pair[0].same_root(&pair[1]));
    if !lines && one_root {
        return Ok(vec![Value::Parts(Rc::new(units))]);
    }
    let mut sum = graph.settle(&units[0])?;
    for units in &units[1..] {
        let next = graph.settle(units)?;
        if next.stage != sum.stage {
            return Err("it joins different layers".to_owned());
        }
        graph.spend((sum.n() + next.n()).saturating_mul(sum.width.max(next.width)))?;
        sum = Rc::new(sum.and(&next));
    }
    Ok(vec![Value::Units(Units::plain((*sum).clone()))])
}

pub(super) fn gather(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let value = need(inputs, 0)?;
    let axis = node.int("axis", 0);
    let last = match value {
        Value::Columns(columns) => columns.dims.len() as i64,
        _ => 1,
    };
    if axis != -1 && axis != last {
        return Err(format!("axis {axis} of {}: only columns can be chosen", value.describe()));
    }
    choose(graph, value, constant(inputs, 1)?)
}

pub(super) fn array_feature_extractor(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    choose(graph, need(inputs, 0)?, constant(inputs, 1)?)
}

/// Some of the columns.
fn choose(graph: &mut Graph, value: &Value, indices: &Tensor) -> Made {
    let wanted = indices.wholes()?;
    let n = match value {
        Value::Columns(columns) if columns.dims.iter().rev().skip(1).all(|&dim| dim == 1) => {
            columns.cells.len()
        }
        Value::Units(units) => units.root.n(),
        Value::Scores(_) => 2,
        other => return Err(format!("it is applied to {}", other.describe())),
    };
    let mut rows = Vec::with_capacity(wanted.len());
    for &index in wanted {
        let index_of = if index < 0 { index + n as i64 } else { index };
        let at = usize::try_from(index_of).ok().filter(|&at| at < n);
        rows.push(at.ok_or_else(|| format!("column {index} of {n}"))?);
    }
    if rows.is_empty() {
        return Err("no column is chosen".to_owned());
    }
    // An index without a dimension takes the columns' dimension away.
    let dims_after = |mut dims: Vec<usize>| {
        dims.pop();
        if !indices.dims.is_empty() {
            dims.push(rows.len());
        }
        dims
    };
    Ok(vec![match value {
        Value::Columns(columns) => {
            let cells: Vec<Cell> = rows.iter().map(|&i| columns.cells[i].clone()).collect();
            graph.spend(cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
            Value::columns(dims_after(columns.dims.clone()), cells)
        }
        Value::Units(units) => {
            graph.spend(rows.len().saturating_mul(units.root.width))?;
            let root = Rc::new(units.root.pick(&rows));
            Value::Units(Units { root, curve: units.curve.clone() })
        }
        // What is said of the second class.
        Value::Scores(scores) if rows == [1] => Value::Scores(scores.clone()),
        _ => {
            return Err(format!("column {} of the scores: only that of the second class", rows[0]));
        }
    }])
}

/// Inputs side by side, as float32.
pub(super) fn feature_vectorizer(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let mut values = Vec::with_capacity(inputs.len());
    for (i, &wanted) in node.ints("inputdimensions").iter().enumerate() {
        let Value::Columns(columns) = need(inputs, i)? else {
            return Err(format!("it is applied to {}", need(inputs, i)?.describe()));
        };
        if columns.cells.len() as i64 != wanted || columns.dims.len() != 1 {
            return Err(format!("input {i} has {} columns, not {wanted}", columns.cells.len()));
        }
        graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
        let cells = columns
            .cells
            .iter()
            .map(|cell| cell.cast(Element::Single))
            .collect::<Result<_, _>>()?;
        values.push(Value::columns(columns.dims.clone(), cells));
    }
    if values.len() != inputs.len() || values.is_empty() {
        return Err(format!("{} inputs and {} inputdimensions", inputs.len(), values.len()));
    }
    side_by_side(graph, &values.iter().collect::<Vec<_>>(), 1)
}
