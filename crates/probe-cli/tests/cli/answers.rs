//! Costs and rates worked out by hand for `2 a + b - 2 > 0` and a person at (0, 0), σ = 0.1.
//!
//! Noise on both features has the standard deviation 0.1·√5 along the score, so a rate of 0.1 needs
//! the score `0.1·√5·z` with `z` the 0.9 quantile: `2 a + b` must rise by `2 + 0.1·√5·z`.

use crate::support::{Csv, Folder, Z10, close, upper_tail};

/// Standard deviation of the score under noise on both features.
fn sd() -> f64 {
    0.1 * 5f64.sqrt()
}

/// How far `2 a + b` must rise for a rate of 0.1.
fn rise() -> f64 {
    2.0 + sd() * Z10
}

#[track_caller]
fn ask(flags: &str) -> Csv {
    let table =
        Folder::with_people("a,b\n0,0\n").table(&format!("recourse model.json people.csv {flags}"));
    assert_eq!(table.rows.len(), 1);
    table
}

/// Asserts status certified, the cost, and the point up to rounding; the rate is at most `r` and
/// next to it.
#[track_caller]
fn certified(table: &Csv, cost: f64, a: f64, b: f64) {
    assert_eq!((table.get(0, "status"), table.get(0, "reason")), ("certified", ""));
    assert_eq!(table.get(0, "best_rate"), "");
    close(table.number(0, "cost"), cost);
    close(table.number(0, "a"), a);
    close(table.number(0, "b"), b);
    let changed = usize::from(a != 0.0) + usize::from(b != 0.0);
    assert_eq!(table.get(0, "changed"), changed.to_string());
}

#[track_caller]
fn meets(table: &Csv, r: f64) {
    let rate = table.number(0, "rate");
    assert!(rate <= r && rate > r - 1e-12, "{rate}");
    assert_eq!(table.get(0, "rate_upper"), table.get(0, "rate"));
}

#[test]
fn l1_moves_the_feature_that_gains_most_per_unit() {
    let table = ask("-r 0.1 --sigma 0.1 --cost l1");
    certified(&table, rise() / 2.0, rise() / 2.0, 0.0);
    meets(&table, 0.1);
    assert_eq!(ask("").rows, table.rows, "these are the defaults");
}

#[test]
fn l2_moves_along_the_weights() {
    let table = ask("--cost l2");
    certified(&table, rise() / 5f64.sqrt(), 2.0 * rise() / 5.0, rise() / 5.0);
    meets(&table, 0.1);
}

#[test]
fn linf_moves_both_features_alike() {
    let table = ask("--cost linf");
    certified(&table, rise() / 3.0, rise() / 3.0, rise() / 3.0);
    meets(&table, 0.1);
}

#[test]
fn bounds_hold_and_the_rest_is_made_up_elsewhere() {
    let spill = rise() - 2.0;
    let table = ask("--bounds 0,1");
    certified(&table, 1.0 + spill, 1.0, spill);
    meets(&table, 0.1);
    assert_eq!(table.get(0, "a"), "1.0", "an answer at a bound prints the bound");
    // Free, a would go to 2 · rise / 5 = 0.91 in l2: the bound at 0.8 binds, and b makes up for it.
    let b = rise() - 1.6;
    certified(&ask("--bounds 0,0.8 --cost l2"), (0.64 + b * b).sqrt(), 0.8, b);
}

#[test]
fn l2_within_a_bound_that_does_not_bind_is_not_changed_by_it() {
    certified(
        &ask("--bounds -1,1 --cost l2"),
        rise() / 5f64.sqrt(),
        2.0 * rise() / 5.0,
        rise() / 5.0,
    );
}

#[test]
fn immutable_features_stay() {
    let table = ask("--immutable a");
    certified(&table, rise(), 0.0, rise());
    assert_eq!(table.get(0, "a"), "0");
}

#[test]
fn at_most_one_change() {
    certified(&ask("--cost l2 --max-changes 1"), rise() / 2.0, rise() / 2.0, 0.0);
    certified(&ask("--cost linf --max-changes 1"), rise() / 2.0, rise() / 2.0, 0.0);
}

#[test]
fn noise_on_mutable_features_leaves_out_fixed_ones() {
    // Only b is noisy: standard deviation 0.1 · 1.
    let needed = 2.0 + 0.1 * Z10;
    let table = ask("--immutable a --noise-on mutable");
    certified(&table, needed, 0.0, needed);
    meets(&table, 0.1);
}

#[test]
fn noise_on_changed_features_makes_single_changes_cheaper() {
    // Moving a alone is noisy in a alone: standard deviation 0.1 · 2.
    let a = (2.0 + 0.2 * Z10) / 2.0;
    let table = ask("--noise-on changed");
    certified(&table, a, a, 0.0);
    meets(&table, 0.1);
    // Both: rise / √5 = 1.0226; a alone: 1.1281. Two changes remain the better choice in l2.
    certified(
        &ask("--noise-on changed --cost l2"),
        rise() / 5f64.sqrt(),
        2.0 * rise() / 5.0,
        rise() / 5.0,
    );
    certified(&ask("--noise-on changed --cost l2 --max-changes 1"), a, a, 0.0);
}

#[test]
fn variance_and_deviation_say_the_same() {
    // The square root of 0.0625 is exact.
    assert_eq!(ask("--sigma2 0.0625").rows, ask("--sigma 0.25").rows);
    assert_eq!(ask("--noise gaussian:0.25").rows, ask("--sigma 0.25").rows);
    let needed = (2.0 + 0.25 * 5f64.sqrt() * Z10) / 2.0;
    certified(&ask("--sigma 0.25"), needed, needed, 0.0);
}

#[test]
fn noise_files_give_mean_and_deviation_by_name() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write(
        "noise.json",
        r#"{"version": 1, "features": ["b", "a"], "mean": [0.1, 0.05], "sd": [0.3, 0.2]}"#,
    );
    let table = folder.table("recourse model.json people.csv --noise file:noise.json");
    // Mean of the score's noise 2·0.05 + 0.1 = 0.2, its deviation √(4·0.04 + 0.09) = 0.5.
    let a = (2.0 - 0.2 + 0.5 * Z10) / 2.0;
    certified(&table, a, a, 0.0);
}

#[test]
fn thresholds_move_the_cut_off() {
    let a = (rise() + 1.0) / 2.0;
    certified(&ask("--threshold 1"), a, a, 0.0);
    certified(&ask("--threshold -1"), a - 1.0, a - 1.0, 0.0);
    // The probability 1 / (1 + e⁻¹) is the margin 1.
    certified(&ask("--threshold-prob 0.7310585786300049"), a, a, 0.0);
    certified(&ask("--threshold-prob 0.5"), rise() / 2.0, rise() / 2.0, 0.0);
}

#[test]
fn the_other_class_may_be_the_favourable_one() {
    let folder = Folder::with_people("a,b\n2,0\n");
    let table = folder.table("recourse model.json people.csv --favourable-class 0");
    assert_eq!(table.get(0, "status"), "certified");
    close(table.number(0, "cost"), rise() / 2.0);
    close(table.number(0, "a"), 2.0 - rise() / 2.0);
    let rate = folder.table("rate model.json people.csv --favourable-class 0");
    assert_eq!((rate.get(0, "favourable"), rate.get(0, "margin")), ("false", "-2.0"));
    // The cut-off is one on the negated margin: -(2 a + b - 2) > 1.
    let table = folder.table("recourse model.json people.csv --favourable-class 0 --threshold 1");
    close(table.number(0, "a"), 2.0 - (rise() + 1.0) / 2.0);
}

#[test]
fn budgets_buy_the_most_robust_answer() {
    let table = ask("--budget 1.1");
    assert_eq!((table.get(0, "status"), table.get(0, "reason")), ("found", "budget-exhausted"));
    close(table.number(0, "cost"), 1.1);
    close(table.number(0, "a"), 1.1);
    close(table.number(0, "rate"), upper_tail(0.2 / sd()));
    assert_eq!(table.get(0, "best_rate"), table.get(0, "rate"));

    let table = ask("--budget 1.5 --cost l1");
    assert_eq!((table.get(0, "status"), table.get(0, "best_rate")), ("certified", ""));
    close(table.number(0, "a"), 1.5);
    close(table.number(0, "rate"), upper_tail(1.0 / sd()));

    // l2 spends along the weights: the score rises by budget · √5. linf by budget · 3.
    close(ask("--budget 1 --cost l2").number(0, "rate"), upper_tail((5f64.sqrt() - 2.0) / sd()));
    close(ask("--budget 1 --cost linf").number(0, "rate"), upper_tail(1.0 / sd()));
    assert!(ask("--budget 0.7 --max-changes 1 --bounds 0,1").get(0, "status") == "none");
}

#[test]
fn rates_of_one_half_and_more_still_ask_for_a_favourable_answer() {
    for (cost, least) in [("l1", 1.0), ("l2", 2.0 / 5f64.sqrt()), ("linf", 2.0 / 3.0)] {
        for r in ["0.5", "0.6", "0.99"] {
            let table = ask(&format!("-r {r} --cost {cost}"));
            assert_eq!(table.get(0, "status"), "certified");
            let found = table.number(0, "cost");
            assert!(found > least && found < least + 1e-8, "{cost}, {r}: {found}");
            let (a, b) = (table.number(0, "a"), table.number(0, "b"));
            assert!(2.0 * a + b - 2.0 > 0.0, "{a}, {b}");
            assert!(table.number(0, "rate") < 0.5);
        }
    }
}

#[test]
fn tiny_rates_keep_their_digits() {
    let table = ask("-r 1e-300");
    assert_eq!(table.get(0, "status"), "certified");
    let rate = table.number(0, "rate");
    assert!(rate <= 1e-300 && rate > 0.999e-300, "{rate}");
    let score = 2.0 * table.number(0, "a") - 2.0;
    let independent = upper_tail(score / sd());
    assert!((independent / rate - 1.0).abs() < 1e-9, "{independent} {rate}");
}

#[test]
fn the_frontier_has_the_hand_worked_cost_at_every_rate() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let table = folder.table("frontier model.json people.csv --rates 0.5,0.1,0.01 --cost l2");
    // Quantiles of 0.9 and 0.99.
    for (row, z) in [(1, Z10), (2, 2.326_347_874_040_840_8)] {
        close(table.number(row, "cost"), (2.0 + sd() * z) / 5f64.sqrt());
    }
    assert!(table.number(0, "cost") < 2.0 / 5f64.sqrt() + 1e-8);
}

#[test]
fn rates_of_points_are_the_normal_tail() {
    let folder = Folder::with_people("a,b\n1.05,0\n1,0\n0,0\n");
    let table = folder.table("rate model.json people.csv --sigma 0.1");
    close(table.number(0, "margin"), 2.0 * 1.05 - 2.0);
    close(table.number(0, "rate"), upper_tail((2.0 * 1.05 - 2.0) / sd()));
    assert_eq!(table.get(1, "favourable"), "false", "a tie is unfavourable");
    close(table.number(1, "rate"), 0.5);
    close(table.number(2, "rate"), 1.0 - upper_tail(2.0 / sd()));
    let mutable = folder.table("rate model.json people.csv --noise-on mutable --immutable a");
    close(mutable.number(0, "rate"), upper_tail((2.0 * 1.05 - 2.0) / 0.1));
    folder.write("from.csv", "a,b\n0,0\n1,1\n0,0\n");
    let changed = folder.table("rate model.json people.csv --noise-on changed --from from.csv");
    close(changed.number(0, "rate"), upper_tail((2.0 * 1.05 - 2.0) / 0.2));
    close(changed.number(1, "rate"), 0.5);
    assert_eq!(changed.get(2, "rate"), "1.0", "nothing changed, so nothing is noisy");
}
