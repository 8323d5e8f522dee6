//! Proofs that a person has no answer, from bounds on the model's score.

use super::reach::Reach;
use super::{Reason, Task};
use crate::model::{Activation, Linear, Mlp, Model as _, Trees};
use crate::schema::{Actions, Group};

/// Why no admissible change of a person at `factual` is favourable, if that is proven.
pub(crate) fn infeasible(task: &Task, factual: &[f64]) -> Option<Reason> {
    let mut reach = Reach::new(factual.len());
    if let Err(reason) = reach.turn_to(&task.actions, factual) {
        return Some(reason);
    }
    let mut start = factual.to_vec();
    reach.confine(&mut start);
    match proven(task, &reach, (factual, &start)) {
        Reason::NotFound => None,
        reason => Some(reason),
    }
}

/// The reason to report for a person at `factual` for whom nothing was found. `start` is the person
/// moved inside `reach`.
pub(super) fn proven(task: &Task, reach: &Reach, (factual, start): (&[f64], &[f64])) -> Reason {
    let open = (0..factual.len()).any(|j| reach.is_open(j));
    if start == factual && !open && !allows_an_option(&task.actions, factual) {
        return Reason::NoAdmissibleMove;
    }
    match (task.model.as_linear(), task.model.as_trees()) {
        (Some(model), _) => of_linear(task, model, reach, (factual, start)),
        (None, Some(trees)) => of_trees(trees, factual, &task.actions),
        (None, None) => task
            .model
            .as_mlp()
            .map_or(Reason::NotFound, |network| of_network(network, factual, &task.actions)),
    }
}

/// Whether some group may take another option.
fn allows_an_option(actions: &Actions, factual: &[f64]) -> bool {
    let may = |(g, group): (usize, &Group)| {
        actions.is_mutable_group(g)
            && group.option_of(factual).is_some_and(|current| {
                (0..group.n_options()).any(|o| o != current && group.allows(current, o))
            })
    };
    actions.max_changes() != Some(0) && actions.groups().iter().enumerate().any(may)
}

/// For affine scores: sums what each feature and group can add at most.
fn of_linear(
    task: &Task,
    model: &Linear,
    reach: &Reach,
    (factual, start): (&[f64], &[f64]),
) -> Reason {
    let (weights, actions) = (model.weights(), &task.actions);
    let score = model.score_row(start);
    let numeric = (0..start.len()).filter(|&j| reach.is_open(j) && weights[j] != 0.0).map(|j| {
        let (low, high) = reach.ends(j);
        weights[j] * (if weights[j] > 0.0 { high } else { low } - start[j])
    });
    let mut gains: Vec<f64> = numeric.collect();
    for (_, group) in
        actions.groups().iter().enumerate().filter(|(g, _)| actions.is_mutable_group(*g))
    {
        let Some(current) = group.option_of(factual) else { continue };
        let worth = |o: usize| -> f64 {
            group.columns().iter().zip(group.values(o)).map(|(&c, value)| weights[c] * value).sum()
        };
        let others = (0..group.n_options()).filter(|&o| o != current && group.allows(current, o));
        gains.push(others.map(|o| worth(o) - worth(current)).fold(0.0, f64::max));
    }
    gains.retain(|gain| *gain > 0.0);
    gains.sort_by(|a, b| b.total_cmp(a));
    let most = actions.max_changes().unwrap_or(usize::MAX);
    if gains.is_empty() {
        Reason::NoAdmissibleMove
    } else if score + gains.iter().sum::<f64>() <= 0.0 {
        Reason::InfeasibleWithinBounds
    } else if score + gains.iter().take(most).sum::<f64>() <= 0.0 {
        Reason::InfeasibleWithinMaxChanges
    } else {
        Reason::NotFound
    }
}

/// For affine scores: bounds the score over a person's ranges, and ignores rules between features.
pub(super) fn of_affine(model: &Linear, person: &[f64], actions: &Actions) -> Reason {
    let (weights, mut most, mut moves) = (model.weights(), model.score_row(person), false);
    for (j, (low, high)) in ranges(person, actions).into_iter().enumerate() {
        if weights[j] != 0.0 && low < high {
            let gain = weights[j] * (if weights[j] > 0.0 { high } else { low } - person[j]);
            moves |= gain > 0.0;
            // A person outside their bounds may stay there.
            most += gain.max(0.0);
        }
    }
    match moves {
        false => Reason::NoAdmissibleMove,
        // Sums in another order may differ by rounding.
        true if most < -1e-9 * model.threshold().abs().max(1.0) => Reason::InfeasibleWithinBounds,
        true => Reason::NotFound,
    }
}

/// For trees: their leaves bound the score over a person's ranges.
pub(super) fn of_trees(trees: &Trees, person: &[f64], actions: &Actions) -> Reason {
    match trees.most_within(&ranges(person, actions)) {
        (_, false) => Reason::NoAdmissibleMove,
        (most, true) if most <= 0.0 => Reason::InfeasibleWithinBounds,
        _ => Reason::NotFound,
    }
}

/// For networks: bounds on every unit over a person's ranges. If the upper bound of the score is
/// not favourable, no point is.
pub(super) fn of_network(network: &Mlp, person: &[f64], actions: &Actions) -> Reason {
    let mut ends = ranges(person, actions);
    if ends.iter().all(|(low, high)| low == high) {
        return Reason::NoAdmissibleMove;
    }
    // If no range ends, the bounds of features are not the reason.
    if !ends.iter().any(|(low, high)| low < high && (low.is_finite() || high.is_finite())) {
        return Reason::NotFound;
    }
    let layers = network.layers();
    for (l, layer) in layers.iter().enumerate() {
        let n_in = layer.n_in();
        let unit = |(weights, bias): (&[f64], &f64)| {
            let add = |(low, high): (f64, f64), (w, (from, to)): (&f64, &(f64, f64))| match *w {
                w if w > 0.0 => (low + w * from, high + w * to),
                w if w < 0.0 => (low + w * to, high + w * from),
                _ => (low, high),
            };
            weights.iter().zip(&ends).fold((*bias, *bias), add)
        };
        let sums: Vec<(f64, f64)> =
            layer.weight().chunks(n_in).zip(layer.bias()).map(unit).collect();
        ends = if l + 1 == layers.len() {
            sums
        } else {
            sums.into_iter().map(|sum| image(network.activation(), sum)).collect()
        };
    }
    // Sums in another order may differ by rounding.
    let most = ends.first().map_or(f64::NAN, |(_, high)| *high) - network.threshold();
    if most < -1e-9 * network.threshold().abs().max(1.0) {
        Reason::InfeasibleWithinBounds
    } else {
        Reason::NotFound
    }
}

/// Bounds on an activation over an interval.
fn image(activation: Activation, (low, high): (f64, f64)) -> (f64, f64) {
    let ends = (activation.value(low), activation.value(high));
    let Some(minimum) = activation.minimum() else { return ends };
    // The minimum is at a negative argument; above zero the activation rises.
    let from = if low >= 0.0 { ends.0 } else { minimum };
    (from, ends.0.max(ends.1))
}

/// The range of each feature for a person; columns of a category may have any of their values.
pub(super) fn ranges(person: &[f64], actions: &Actions) -> Vec<(f64, f64)> {
    let range = |(j, &x): (usize, &f64)| match actions.interval(j, x) {
        _ if actions.max_changes() == Some(0) => (x, x),
        _ if actions.is_grouped(j) => range_in_group(j, x, actions),
        Some(range) => range,
        None => (x, x),
    };
    person.iter().enumerate().map(range).collect()
}

/// The values that a category's column has under any of its options.
fn range_in_group(j: usize, x: f64, actions: &Actions) -> (f64, f64) {
    let of = |(g, group): (usize, &Group)| Some((g, group.columns().iter().position(|&c| c == j)?));
    let found = actions.groups().iter().enumerate().find_map(of);
    let Some((g, k)) = found.filter(|(g, _)| actions.is_mutable_group(*g)) else { return (x, x) };
    let group = &actions.groups()[g];
    let values = (0..group.n_options()).map(|o| group.values(o)[k]);
    values.fold((x, x), |(low, high), value| (low.min(value), high.max(value)))
}
