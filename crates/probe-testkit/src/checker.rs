//! What a point breaks, costs and risks, worked out from the definitions alone.
//!
//! Sums are compensated, so that a judgement does not hang on the order of the columns.

use crate::instance::{Direction, Instance, Mask, Norm};

/// $\sum a_i b_i$ as if in twice the precision (Ogita, Rump and Oishi's Dot2).
fn dot(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for (a, b) in pairs {
        let product = a * b;
        let product_error = libm::fma(a, b, -product);
        let next = sum + product;
        let back = next - sum;
        lost += (sum - (next - back)) + (product - back) + product_error;
        sum = next;
    }
    sum + lost
}

/// The standard normal's upper tail.
fn tail(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The group of column `j`, if any.
fn is_grouped(instance: &Instance, j: usize) -> bool {
    instance.groups.iter().flat_map(|g| &g.columns).any(|&c| c == j)
}

/// The option a one-hot group has at `point`.
fn option_at(columns: &[usize], point: &[f64]) -> Option<usize> {
    let mut hot = None;
    for (option, &c) in columns.iter().enumerate() {
        match (point[c] == 1.0, point[c] == 0.0, hot) {
            (true, _, None) => hot = Some(option),
            (false, true, _) => {}
            _ => return None,
        }
    }
    hot
}

/// $s$ at `point`.
pub fn score(instance: &Instance, point: &[f64]) -> f64 {
    let terms = instance.weights.iter().copied().zip(point.iter().copied());
    dot(terms.chain([(instance.bias, 1.0)]))
}

/// Which columns are noisy for someone aiming at `point`.
pub fn noisy(instance: &Instance, point: &[f64]) -> Vec<bool> {
    (0..point.len())
        .map(|j| match instance.noise.mask {
            Mask::All => true,
            Mask::Mutable => instance.features[j].mutable && !is_grouped(instance, j),
            Mask::Changed => point[j] != instance.person[j] && !is_grouped(instance, j),
        })
        .collect()
}

/// The exact invalidation rate of `point`.
pub fn rate(instance: &Instance, point: &[f64]) -> f64 {
    let active = noisy(instance, point);
    let w: Vec<f64> =
        instance.weights.iter().zip(&active).map(|(&w, &on)| if on { w } else { 0.0 }).collect();
    let n = w.len();
    let terms = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
    let variance = dot(terms.map(|(i, j)| (w[i] * w[j], instance.covariance(i, j))));
    let shift = dot(w.iter().copied().zip(instance.noise.mean.iter().copied()));
    let mean = score(instance, point) + shift;
    if variance > 0.0 {
        tail(mean / variance.sqrt())
    } else if mean > 0.0 {
        0.0
    } else {
        1.0
    }
}

/// What moving the person to `point` costs.
pub fn cost(instance: &Instance, point: &[f64], norm: Norm) -> f64 {
    let moves =
        instance.features.iter().zip(instance.person.iter().zip(point)).map(|(f, (x, v))| {
            let delta = v - x;
            if delta > 0.0 { f.cost_up * delta } else { f.cost_down * -delta }
        });
    match norm {
        Norm::L1 => dot(moves.map(|m| (m, 1.0))),
        Norm::L2 => dot(moves.map(|m| (m, m))).sqrt(),
        Norm::Linf => moves.fold(0.0, f64::max),
    }
}

/// How many columns differ from the person's, a group counting as one.
pub fn n_changed(instance: &Instance, point: &[f64]) -> usize {
    let differs = |j: usize| point[j] != instance.person[j];
    let numeric = (0..point.len()).filter(|&j| !is_grouped(instance, j) && differs(j)).count();
    numeric + instance.groups.iter().filter(|g| g.columns.iter().any(|&c| differs(c))).count()
}

/// The rules that a column in no group breaks.
fn column_faults(instance: &Instance, j: usize, value: f64) -> Vec<String> {
    let (feature, x) = (&instance.features[j], instance.person[j]);
    let mut broken = Vec::new();
    if value != x && !feature.mutable {
        broken.push(format!("column {j} is immutable but moved from {x} to {value}"));
    }
    if value < x && feature.direction == Direction::Increase {
        broken.push(format!("column {j} may only increase but went from {x} to {value}"));
    }
    if value > x && feature.direction == Direction::Decrease {
        broken.push(format!("column {j} may only decrease but went from {x} to {value}"));
    }
    let outside = value < feature.low || value > feature.high;
    // Between the person's value and the bounds nothing is worse than where the person already is.
    let further_out = (value < feature.low && value < x) || (value > feature.high && value > x);
    if if instance.strict { outside } else { further_out } {
        broken
            .push(format!("column {j} at {value} is outside [{}, {}]", feature.low, feature.high));
    }
    broken
}

/// The rules that group `g` breaks.
fn group_faults(instance: &Instance, g: usize, point: &[f64]) -> Vec<String> {
    let group = &instance.groups[g];
    let Some(from) = option_at(&group.columns, &instance.person) else {
        return vec![format!("the person is not one-hot in group {g}")];
    };
    let Some(to) = option_at(&group.columns, point) else {
        return vec![format!("group {g} is not one-hot")];
    };
    if from == to {
        return Vec::new();
    }
    let mut broken = Vec::new();
    if group.columns.iter().any(|&c| !instance.features[c].mutable) {
        broken.push(format!("group {g} is fixed but went from option {from} to {to}"));
    }
    if !group.allowed.is_empty() && !group.allowed[from][to] {
        broken.push(format!("group {g} may not go from option {from} to {to}"));
    }
    broken
}

/// The rules of the action space that `point` breaks, to the last bit; empty if it is admissible.
pub fn broken_rules(instance: &Instance, point: &[f64]) -> Vec<String> {
    if point.len() != instance.n_columns() {
        return vec![format!("{} values for {} columns", point.len(), instance.n_columns())];
    }
    let mut broken = Vec::new();
    for (j, value) in point.iter().enumerate() {
        if !value.is_finite() {
            broken.push(format!("column {j} is {value}"));
        } else if !is_grouped(instance, j) {
            broken.extend(column_faults(instance, j, *value));
        }
    }
    for g in 0..instance.groups.len() {
        broken.extend(group_faults(instance, g, point));
    }
    let changed = n_changed(instance, point);
    if let Some(most) = instance.max_changes.filter(|&most| changed > most) {
        broken.push(format!("{changed} changes, at most {most} allowed"));
    }
    broken
}

/// [`broken_rules`] and the two aims: favourable, and a rate of at most `rate · (1 + slack)`.
pub fn broken(instance: &Instance, point: &[f64], slack: f64) -> Vec<String> {
    let mut broken = broken_rules(instance, point);
    if point.len() != instance.n_columns() {
        return broken;
    }
    let s = score(instance, point);
    if s.is_nan() || s <= 0.0 {
        broken.push(format!("score {s:e} is not favourable"));
    }
    let reached = rate(instance, point);
    if reached.is_nan() || reached > instance.rate * (1.0 + slack) {
        broken.push(format!("rate {reached:e} exceeds {:e}", instance.rate));
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::Group;

    #[test]
    fn dot_survives_cancellation() {
        assert_eq!(dot([(1e16, 1.0), (1.0, 1.0), (-1e16, 1.0)].into_iter()), 1.0);
    }

    #[test]
    fn every_rule_is_reported() {
        let mut it = Instance::free(&[1.0; 5], -10.0, &[0.0, 2.0, 0.0, 1.0, 0.0], 0.1, 0.1);
        it.features[0].direction = Direction::Increase;
        it.features[1] = crate::Feature { low: -1.0, high: 1.0, ..Default::default() };
        it.features[2].mutable = false;
        it.groups =
            vec![Group { columns: vec![3, 4], allowed: vec![vec![true, false], vec![true, true]] }];
        it.max_changes = Some(1);
        let at = |values: [f64; 5]| broken_rules(&it, &values).join("; ");
        assert_eq!(at([0.0, 2.0, 0.0, 1.0, 0.0]), "");
        assert_eq!(at([0.0, 1.5, 0.0, 1.0, 0.0]), "");
        assert!(at([0.0, 2.5, 0.0, 1.0, 0.0]).contains("outside [-1, 1]"));
        assert!(at([-1.0, 2.0, 0.0, 1.0, 0.0]).contains("may only increase"));
        assert!(at([0.0, 2.0, 0.5, 1.0, 0.0]).contains("immutable"));
        assert!(at([0.0, 2.0, 0.0, 0.0, 1.0]).contains("may not go from option 0 to 1"));
        assert!(at([0.0, 2.0, 0.0, 0.5, 0.5]).contains("not one-hot"));
        assert!(at([1.0, 1.0, 0.0, 1.0, 0.0]).contains("2 changes, at most 1"));
        assert!(at([f64::NAN, 2.0, 0.0, 1.0, 0.0]).contains("NaN"));
        it.strict = true;
        assert!(broken_rules(&it, &it.person)[0].contains("outside [-1, 1]"));
        assert_eq!(broken(&it, &[0.0, 1.0, 0.0, 1.0, 0.0], 0.0).len(), 2);
    }
}
