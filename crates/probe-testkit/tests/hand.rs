//! Instances worked by hand.
//!
//! Rates are chosen so that z is whole: the normal's upper tail is 0.1587 at 1 and 0.0228 at 2.

use probe_testkit::{
    Direction, Feature, Group, Instance, Mask, Norm, Reference, Relative, Spread, assert_close,
    best_rate, checker, max_robust, solve, solve_lp, solve_milp,
};

/// Upper tail of the normal at 1 and at 2.
const ONE: f64 = 0.158_655_253_931_457_05;
const TWO: f64 = 0.022_750_131_948_179_21;

/// Every method that applies must find these costs in l1, l2 and linf.
fn assert_costs(instance: &Instance, expected: [f64; 3]) {
    assert_eq!(instance.faults(), Vec::<String>::new());
    for (norm, expected) in Norm::ALL.into_iter().zip(expected) {
        let best: Reference = solve(instance, norm).expect("an optimum");
        assert_close!(best.cost, expected, Relative(1e-8), "{norm:?} at {:?}", best.point);
        assert_eq!(checker::broken(instance, &best.point, 1e-9), Vec::<String>::new());
        assert_close!(
            checker::cost(instance, &best.point, norm),
            expected,
            Relative(1e-8),
            "{norm:?}"
        );
        for other in [solve_lp(instance, norm), solve_milp(instance, norm)].into_iter().flatten() {
            assert_close!(other.expect("an optimum").cost, expected, Relative(1e-6), "{norm:?}");
        }
    }
}

fn assert_impossible(instance: &Instance) {
    for norm in Norm::ALL {
        assert_eq!(solve(instance, norm), None);
        for other in [solve_lp(instance, norm), solve_milp(instance, norm)].into_iter().flatten() {
            assert_eq!(other, None);
        }
    }
}

fn cost(cost: f64) -> Feature {
    Feature { cost_up: cost, cost_down: cost, ..Feature::default() }
}

fn up_to(high: f64) -> Feature {
    Feature { high, ..Feature::default() }
}

#[test]
fn one_column() {
    // s = 2v − 3, σ = 1/2: the score's sd is 1, z = 2, so s ≥ 2 and v = 2.5 at 3 a unit: 7.5.
    let mut it = Instance::free(&[2.0], -3.0, &[0.0], 0.5, TWO);
    it.features[0] = cost(3.0);
    assert_costs(&it, [7.5; 3]);
    // Going down is 3 a unit, going up 1: from x = 4 with s = −2v + 3 down to v = 0.5, 3.5 units.
    let mut it = Instance::free(&[-2.0], 3.0, &[4.0], 0.5, TWO);
    it.features[0].cost_down = 3.0;
    assert_costs(&it, [10.5; 3]);
}

#[test]
fn a_right_triangle() {
    // w = (3, 4), sd = 5/5 = 1, so the gain must be 24 + 1 = 25. l1: all in the second, 25/4. l2:
    // along w, (3, 4). linf: both by t, 7t = 25.
    let it = Instance::free(&[3.0, 4.0], -24.0, &[0.0, 0.0], 0.2, ONE);
    assert_costs(&it, [6.25, 5.0, 25.0 / 7.0]);
    let best = solve(&it, Norm::L2).unwrap();
    assert_close!(best.point[0], 3.0, Relative(1e-12));
    assert_close!(best.point[1], 4.0, Relative(1e-12));
}

#[test]
fn a_cap_that_binds_in_every_norm() {
    // w = (1, 2), c = (1, 3), first at most 3, noise of 1 on the first: gain 4 + 1 = 5.
    // l1: cost per gain 1 and 1.5, so 3 of the first and 1 of the second: 6.
    // l2: uncapped (k, 2k/9) with 13k/9 = 5, k = 3.46 > 3, so (3, 1): √18.
    // linf: t + 2t/3 = 5, t = 3: (3, 1) again: 3.
    let mut it = Instance::free(&[1.0, 2.0], -4.0, &[0.0, 0.0], 1.0, ONE);
    it.noise.spread = Spread::Diagonal(vec![1.0, 0.0]);
    it.features = vec![up_to(3.0), cost(3.0)];
    assert_costs(&it, [6.0, 18.0_f64.sqrt(), 3.0]);
}

#[test]
fn changing_a_category_beats_moving() {
    // One-hot columns with weights 0 and 4, leaving costs 1, arriving 1.5; a numeric column with
    // w = c = 1. Only the numeric one is noisy: s ≥ 1. Moving it: from −2 to 1, 3 units. Changing:
    // s = 2 at once; moves (1, 1.5).
    let mut it = Instance::free(&[0.0, 4.0, 1.0], -2.0, &[1.0, 0.0, 0.0], 1.0, ONE);
    it.noise.mask = Mask::Mutable;
    it.groups = vec![Group { columns: vec![0, 1], allowed: Vec::new() }];
    it.features[1].cost_up = 1.5;
    assert_costs(&it, [2.5, 3.25_f64.sqrt(), 1.5]);
    // The change counts as one.
    it.max_changes = Some(1);
    it.features[2].high = 2.0;
    assert_costs(&it, [2.5, 3.25_f64.sqrt(), 1.5]);
    it.max_changes = Some(0);
    assert_impossible(&it);
    // Forbidden by the table or fixed by a column: only moving is left, then not even that.
    it.max_changes = None;
    it.features[2].high = 5.0;
    it.groups[0].allowed = vec![vec![true, false], vec![true, true]];
    assert_costs(&it, [3.0; 3]);
    it.groups[0].allowed.clear();
    it.features[1].mutable = false;
    assert_costs(&it, [3.0; 3]);
    it.features[2].high = 2.5;
    assert_impossible(&it);
}

#[test]
fn more_changes_more_noise() {
    // w = c = (1, 1), each change adds variance 1, s(x) = −1. One change: gain 2. Both: gain 1 +
    // √2 = 2.414. l1: one, 2. l2: both, 2.414/√2 = 1.707 < 2. linf: both, 1.207.
    let mut it = Instance::free(&[1.0, 1.0], -1.0, &[0.0, 0.0], 1.0, ONE);
    it.noise.mask = Mask::Changed;
    let both = 1.0 + 2.0_f64.sqrt();
    assert_costs(&it, [2.0, both / 2.0_f64.sqrt(), both / 2.0]);
    // At most 1.5 each: one alone is not enough, l1 must take both.
    it.features = vec![up_to(1.5), up_to(1.5)];
    assert_costs(&it, [both, both / 2.0_f64.sqrt(), both / 2.0]);
    // And then a single change can do nothing.
    it.max_changes = Some(1);
    assert_impossible(&it);
}

#[test]
fn quiet_but_dear() {
    // Noise on changes, sd 2 and 0, s(x) = −1. The first: gain 3 at 1 a unit. The second: gain 1 at
    // 2.5 a unit, no noise, so s need only be 1e-9. Both are noisy like the first: gain 3, which
    // costs 3 in l1; in l2 3/√(1 + 0.16) = 2.785; in linf 3/1.4 = 2.14.
    let mut it = Instance::free(&[1.0, 1.0], -1.0, &[0.0, 0.0], 1.0, ONE);
    it.noise.mask = Mask::Changed;
    it.noise.spread = Spread::Diagonal(vec![2.0, 0.0]);
    it.features[1] = cost(2.5);
    assert_costs(&it, [2.5 * (1.0 + 1e-9), 2.5 * (1.0 + 1e-9), 3.0 / 1.4]);
}

#[test]
fn strict_bounds_force_a_move() {
    // x = (3, 0), the first bounded to [0, 2], s = v₀ + v₁ − 4 = −1; r = 1/2 asks for s ≥ 1e-9
    // only. Staying allowed: v₁ = 1 + 1e-9, 1 in every norm (the first may not rise, it is outside
    // already).
    let mut it = Instance::free(&[1.0, 1.0], -4.0, &[3.0, 0.0], 1.0, 0.5);
    it.features[0] = Feature { low: 0.0, high: 2.0, cost_down: 0.5, ..Feature::default() };
    assert_costs(&it, [1.0 + 1e-9; 3]);
    // Strict: the first must fall to 2, at 0.5, and the second makes up for it: 2 + 1e-9.
    it.strict = true;
    let second = 2.0 + 1e-9;
    assert_costs(&it, [0.5 + second, (0.25 + second * second).sqrt(), second]);
    // That is two changes, and impossible if the first may only rise or not move.
    let limited = Instance { max_changes: Some(1), ..it.clone() };
    assert_impossible(&limited);
    let mut fixed = it.clone();
    fixed.features[0].mutable = false;
    assert_impossible(&fixed);
    it.features[0].direction = Direction::Increase;
    assert_impossible(&it);
}

#[test]
fn lax_rates_still_ask_for_a_yes() {
    // r = 0.84, z = −1: the rate is met at s = −1, but the answer must be yes: s ≥ 1e-9.
    let mut it = Instance::free(&[1.0], -1.0, &[0.0], 1.0, 1.0 - ONE);
    assert_costs(&it, [1.0 + 1e-9; 3]);
    // People miss by −3 on average: s ≥ −1 + 3 = 2, a move of 3.
    it.noise.mean = vec![-3.0];
    assert_costs(&it, [3.0; 3]);
    // s(x) = −50: "just favourable" is 5e-8.
    let it = Instance::free(&[1.0], -50.0, &[0.0], 1.0, 0.6);
    assert_costs(&it, [50.0 + 5e-8; 3]);
}

#[test]
fn covariances_and_masks() {
    // w = (1, 1), variance 1 + 1 + 2ρ; s(x) = −1; only the first can move. ρ = −1/2: sd 1. ρ = 1:
    // sd 2.
    let mut it = Instance::free(&[1.0, 1.0], -1.0, &[0.0, 0.0], 1.0, ONE);
    it.features[1].mutable = false;
    it.noise.spread = Spread::Full(vec![vec![1.0, -0.5], vec![-0.5, 1.0]]);
    assert_costs(&it, [2.0; 3]);
    it.noise.spread = Spread::Full(vec![vec![1.0, 1.0], vec![1.0, 1.0]]);
    assert_costs(&it, [3.0; 3]);
    // Without the immutable column: sd 1, whatever ρ.
    it.noise.mask = Mask::Mutable;
    assert_costs(&it, [2.0; 3]);
}

#[test]
fn few_changes() {
    // w = (1, 3, 4), unit costs, the last two at most 1, noise 1 on the first: gain 5 + 1 = 6.
    // Two changes in l1: 1 of the third, 2/3 of the second. One change: 6 of the first.
    let mut it = Instance::free(&[1.0, 3.0, 4.0], -5.0, &[0.0; 3], 1.0, ONE);
    it.noise.spread = Spread::Diagonal(vec![1.0, 0.0, 0.0]);
    it.features =
        [10.0, 1.0, 1.0].map(|high| Feature { low: 0.0, high, ..Feature::default() }).to_vec();
    it.max_changes = Some(1);
    assert_costs(&it, [6.0; 3]);
    // Two in l2: second and third in proportion 3 : 4 would be (0.72, 0.96), within the caps: 6/5.
    // Two in linf: 7t = 6.
    it.max_changes = Some(2);
    assert_costs(&it, [5.0 / 3.0, 1.2, 6.0 / 7.0]);
    // Three in l2: 6/√26; in linf 8t = 6.
    it.max_changes = Some(3);
    assert_costs(&it, [5.0 / 3.0, 6.0 / 26.0_f64.sqrt(), 0.75]);
}

#[test]
fn rates_in_reach() {
    // s = v − 1 with v ≤ 3 and sd 1: at best s = 2, rate 0.0228; for a budget of 2, s = 1.
    let mut it = Instance::free(&[1.0], -1.0, &[0.0], 1.0, 0.01);
    it.features[0] = up_to(3.0);
    assert_impossible(&it);
    assert_close!(best_rate(&it).unwrap().rate, TWO, Relative(1e-12));
    for norm in Norm::ALL {
        let best = max_robust(&it, 2.0, norm).unwrap();
        assert_close!(best.rate, ONE, Relative(1e-12), "{norm:?}");
        assert_eq!(best.point, Some(vec![2.0]));
        assert_close!(max_robust(&it, 100.0, norm).unwrap().rate, TWO, Relative(1e-12));
    }
    // Without the cap any rate is in reach.
    it.features[0] = Feature::default();
    assert_eq!(best_rate(&it).unwrap().rate, 0.0);
    // (3, 4) and a budget of 5 in l2: gain 25, s = 1, sd 1; in l1 gain 20, s = −4.
    let it = Instance::free(&[3.0, 4.0], -24.0, &[0.0, 0.0], 0.2, ONE);
    assert_close!(max_robust(&it, 5.0, Norm::L2).unwrap().rate, ONE, Relative(1e-12));
    assert_close!(max_robust(&it, 5.0, Norm::L1).unwrap().score, -4.0, Relative(1e-12));
    assert_close!(max_robust(&it, 5.0, Norm::Linf).unwrap().score, 11.0, Relative(1e-12));
}
