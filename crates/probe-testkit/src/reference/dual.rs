//! Lower bounds on the l2 optimum from Lagrange duality, to test the enumeration of KKT points.
//!
//! For any price $\nu \ge 0$ of score, $\nu\,\mathrm{gap} + \sum_j \min_\delta (c_j^2\delta^2 - \nu
//! w_j\delta)$ bounds the squared cost from below, whatever $\nu$ is and however it was found.

use super::view::{Column, View, add};
use super::{Instance, Norm, solve};
use crate::{Mixed, Shape, assert_close};
use probe_core::{Purpose, Seed};

/// Least $c^2\delta^2 - \nu w\delta$ over the column's interval: at an end, at the person's value,
/// or where flat.
fn cheapest_at(column: &Column, price: f64) -> f64 {
    let (up, down) = column.unit_costs();
    let flat = [up, down].map(|c| column.x + 0.5 * price * column.weight / (c * c));
    [column.low, column.high, column.x, flat[0], flat[1]]
        .into_iter()
        .filter(|v| v.is_finite() && column.low <= *v && *v <= column.high)
        .map(|v| column.move_to(v).powi(2) - price * column.weight * (v - column.x))
        .fold(f64::INFINITY, f64::min)
}

/// The best such bound for the columns in `set`; stops early above `enough`.
fn bound(view: &View, gap: f64, set: usize, enough: f64) -> f64 {
    let moving = || view.columns.iter().enumerate().filter(|(k, _)| set >> k & 1 == 1);
    let at = |price: f64| price * gap + moving().map(|(_, c)| cheapest_at(c, price)).sum::<f64>();
    let mut high = 1.0;
    while at(2.0 * high) > at(high) && at(high) < enough && high < 1e30 {
        high *= 2.0;
    }
    let (mut low, mut high) = (0.0, 2.0 * high);
    for _ in 0..200 {
        let third = (high - low) / 3.0;
        if at(low + third) < at(high - third) { low += third } else { high -= third }
    }
    at(low).max(at(high)).max(at(0.0))
}

/// Over all options and sets of changed columns.
fn lower_bound(instance: &Instance, enough: f64) -> f64 {
    let Some(view) = View::new(instance) else { return f64::INFINITY };
    let mut lowest = f64::INFINITY;
    for setting in view.settings.iter().filter(|s| s.changes <= view.most) {
        let spent = setting.moves.iter().fold(0.0, |t, &m| add(Norm::L2, t, m));
        let base = view.columns.iter().fold(setting.score, |s, c| s + c.weight * c.x);
        for set in 0..1_usize << view.columns.len() {
            let fits =
                view.columns.iter().enumerate().all(|(k, c)| set >> k & 1 == 1 || c.may_stay());
            if fits && setting.changes + set.count_ones() as usize <= view.most {
                lowest = lowest.min(spent + bound(&view, view.needed(set) - base, set, enough));
            }
        }
    }
    lowest
}

#[test]
fn duality_proves_the_l2_optima() {
    let mut proved = 0;
    for key in 0..1500 {
        let mut stream = Seed(77).stream(Purpose::Data, key);
        let it = Instance::random(&mut stream, Shape { max_columns: 7, ..Shape::default() });
        match solve(&it, Norm::L2) {
            Some(best) => {
                let bound = lower_bound(&it, 1e6).sqrt();
                assert_close!(
                    bound,
                    best.cost,
                    Mixed { relative: 1e-7, absolute: 1e-7 },
                    "{it:#?}"
                );
                proved += 1;
            }
            None => assert!(lower_bound(&it, 1e6) > 1e5, "{it:#?}"),
        }
    }
    assert!(proved > 500, "{proved}");
}
