//! The references agree with one another and with the checker on random instances.

use probe_core::{Purpose, Seed, Stream};
use probe_testkit::{
    Instance, Mask, Mixed, Norm, Reference, Relative, Shape, assert_close, best_rate, checker,
    max_robust, solve, solve_lp, solve_milp,
};

fn stream(key: u64) -> Stream {
    Seed(20_260).stream(Purpose::Data, key)
}

fn random(key: u64, shape: Shape) -> Instance {
    Instance::random(&mut stream(key), shape)
}

const CLOSE: Mixed = Mixed { relative: 1e-9, absolute: 1e-10 };

/// The optimum if the person's score were higher by `by`.
fn shifted(instance: &Instance, by: f64, norm: Norm) -> f64 {
    let shifted = Instance { bias: instance.bias + by, ..instance.clone() };
    solve(&shifted, norm).map_or(f64::INFINITY, |r| r.cost)
}

/// A solver that meets constraints to 1e-7 must land between the optima of slightly easier and
/// harder problems.
fn assert_agrees(instance: &Instance, norm: Norm, found: Option<&Reference>) {
    let exact = solve(instance, norm).map_or(f64::INFINITY, |r| r.cost);
    let found = found.map_or(f64::INFINITY, |r| r.cost);
    if (found - exact).abs() > 1e-8 * (1.0 + exact) || found.is_finite() != exact.is_finite() {
        let (easier, harder) = (shifted(instance, 1e-6, norm), shifted(instance, -1e-6, norm));
        let between = easier - 1e-6 <= found && found <= harder + 1e-6;
        assert!(
            between,
            "{norm:?}: {found} against {exact} in [{easier}, {harder}]\n{instance:#?}"
        );
    }
}

#[test]
fn the_generator_covers_what_it_promises() {
    let mut seen = std::collections::BTreeMap::<&str, usize>::new();
    let n = 4000;
    for key in 0..n {
        let it = random(key, Shape::default());
        assert_eq!(it.faults(), Vec::<String>::new(), "{it:#?}");
        let best = solve(&it, Norm::L1);
        let without_rate = Instance { rate: 0.499_999, noise: noiseless(&it), ..it.clone() };
        let plain = solve(&without_rate, Norm::L1);
        let differs = match (&best, &plain) {
            (Some(a), Some(b)) => a.cost > b.cost * 1.001,
            _ => false,
        };
        let outside = it.features.iter().zip(&it.person).any(|(f, x)| *x < f.low || *x > f.high);
        let ratio = |j: usize| it.features[j].cost_up / it.weights[j].abs();
        let ties = (1..it.n_columns()).any(|j| ratio(j) == ratio(j - 1) && ratio(j).is_finite());
        for (name, holds) in [
            ("feasible", best.is_some()),
            ("infeasible", best.is_none()),
            ("out of reach for the rate only", best.is_none() && plain.is_some()),
            ("rate costs extra", differs),
            ("person outside", outside),
            ("strict and outside", it.strict && outside),
            ("tied ratios", ties),
            ("zero weight", it.weights.contains(&0.0)),
            ("on the boundary", it.score(&it.person) == 0.0),
            ("groups", !it.groups.is_empty()),
            ("groups and limited changes", !it.groups.is_empty() && it.max_changes.is_some()),
            ("no change allowed", it.max_changes == Some(0)),
            ("lax rate", it.rate >= 0.5),
            ("all", it.noise.mask == Mask::All),
            ("mutable", it.noise.mask == Mask::Mutable),
            ("changed", it.noise.mask == Mask::Changed),
            ("mean", it.noise.mean.iter().any(|&m| m != 0.0)),
            ("eight columns", it.n_columns() == 8),
        ] {
            *seen.entry(name).or_default() += usize::from(holds);
        }
    }
    assert_eq!(seen.len(), 18);
    for (name, count) in &seen {
        assert!(*count as f64 >= 0.02 * n as f64, "{name}: {count} of {n}; {seen:?}");
    }
    assert!(seen["feasible"] * 2 > n as usize, "{seen:?}");
}

fn noiseless(instance: &Instance) -> probe_testkit::Noise {
    let n = instance.n_columns();
    let spread = probe_testkit::Spread::Diagonal(vec![0.0; n]);
    probe_testkit::Noise { mean: vec![0.0; n], spread, mask: instance.noise.mask }
}

#[test]
fn optima_pass_the_checker_and_cost_what_they_say() {
    for key in 0..10_000 {
        let it = random(key, Shape::default());
        for norm in Norm::ALL {
            let Some(best) = solve(&it, norm) else { continue };
            let broken = checker::broken_rules(&it, &best.point);
            assert_eq!(broken, Vec::<String>::new(), "{norm:?} {it:#?}");
            assert_close!(
                checker::cost(&it, &best.point, norm),
                best.cost,
                CLOSE,
                "{norm:?} {it:#?}"
            );
            let rate = checker::rate(&it, &best.point);
            assert!(rate <= it.rate * (1.0 + 1e-8), "{norm:?}: rate {rate} {it:#?}");
            assert!(checker::score(&it, &best.point) > 0.0);
        }
    }
}

#[test]
fn lp_agrees_with_enumeration() {
    let mut compared = 0;
    for key in 0..400 {
        let it = random(key, Shape { max_columns: 6, ..Shape::default() });
        for norm in [Norm::L1, Norm::Linf] {
            let found = solve_lp(&it, norm).unwrap();
            assert_agrees(&it, norm, found.as_ref());
            compared += usize::from(found.is_some());
        }
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn milp_agrees_with_enumeration() {
    let (mut compared, mut limited) = (0, 0);
    for key in 0..1500 {
        let mask = [Mask::All, Mask::Mutable][key as usize % 2];
        let it = random(key, Shape { mask: Some(mask), ..Shape::default() });
        for norm in [Norm::L1, Norm::Linf] {
            let Ok(found) = solve_milp(&it, norm) else { continue };
            assert_agrees(&it, norm, found.as_ref());
            compared += usize::from(found.is_some());
            limited += usize::from(found.is_some() && it.max_changes.is_some());
        }
    }
    assert!(compared > 500 && limited > 40, "{compared}, {limited}");
}

/// A random admissible point, often near the person or at a limit of a feature; it may break the
/// limit on the number of changes.
fn admissible(it: &Instance, stream: &mut Stream) -> Vec<f64> {
    let mut point = it.person.clone();
    for group in &it.groups {
        let to = stream.below(group.columns.len());
        group
            .columns
            .iter()
            .enumerate()
            .for_each(|(o, &c)| point[c] = f64::from(u8::from(o == to)));
    }
    for j in (0..point.len()).filter(|j| !it.groups.iter().any(|g| g.columns.contains(j))) {
        let f = &it.features[j];
        point[j] = match stream.below(5) {
            0 | 1 => point[j],
            2 => point[j] + 3.0 * stream.normal(),
            3 => [f.low, f.high][stream.below(2)].clamp(-10.0, 10.0),
            _ => f.low.max(-5.0) + stream.uniform() * (f.high.min(5.0) - f.low.max(-5.0)).max(0.0),
        };
    }
    point
}

#[test]
fn random_feasible_points_are_never_cheaper() {
    let mut beaten = 0;
    for key in 0..3000 {
        let it = random(key, Shape::default());
        let optima = Norm::ALL.map(|norm| solve(&it, norm).map_or(f64::INFINITY, |r| r.cost));
        let mut stream = stream(1_000_000 + key);
        for _ in 0..200 {
            let point = admissible(&it, &mut stream);
            if !checker::broken(&it, &point, 0.0).is_empty()
                || checker::score(&it, &point) < it.least_score()
            {
                continue;
            }
            for (norm, optimum) in Norm::ALL.into_iter().zip(optima) {
                let cost = checker::cost(&it, &point, norm);
                assert!(
                    cost >= optimum - 1e-9 * (1.0 + optimum),
                    "{norm:?}: {cost} < {optimum} {it:#?} {point:?}"
                );
                beaten += 1;
            }
        }
    }
    assert!(beaten > 50_000, "{beaten}");
}

#[test]
fn points_near_an_optimum_cost_more_or_are_infeasible() {
    for key in 0..2000 {
        let it = random(key, Shape::default());
        let mut stream = stream(2_000_000 + key);
        for norm in Norm::ALL {
            let Some(best) = solve(&it, norm) else { continue };
            for _ in 0..50 {
                let size = [1e-1, 1e-3, 1e-5][stream.below(3)];
                let mut point = best.point.clone();
                for (j, value) in point.iter_mut().enumerate() {
                    if it.groups.iter().any(|g| g.columns.contains(&j)) || stream.below(3) == 0 {
                        continue;
                    }
                    *value += size * stream.normal();
                }
                let feasible = checker::broken(&it, &point, 0.0).is_empty()
                    && checker::score(&it, &point) >= it.least_score();
                let cost = checker::cost(&it, &point, norm);
                assert!(
                    !feasible || cost >= best.cost - 1e-9 * (1.0 + best.cost),
                    "{norm:?} {it:#?}"
                );
            }
        }
    }
}

#[test]
fn rates_in_reach_decide_feasibility_and_budgets_mirror_costs() {
    for key in 0..3000 {
        let it = random(key, Shape::default());
        let lowest = best_rate(&it);
        for norm in Norm::ALL {
            let Some(best) = solve(&it, norm) else {
                // Nothing in reach: no admissible point, nothing favourable, or too high a rate.
                let reachable = lowest
                    .as_ref()
                    .is_some_and(|b| b.favourable && b.rate < it.rate * (1.0 - 1e-9));
                assert!(!reachable, "{norm:?} {lowest:?} {it:#?}");
                continue;
            };
            let lowest = lowest.as_ref().unwrap();
            assert!(
                lowest.favourable && lowest.rate <= it.rate * (1.0 + 1e-9),
                "{lowest:?} {it:#?}"
            );
            // With the optimum's cost the rate is within reach, with a little less it is not.
            let reached = max_robust(&it, best.cost * (1.0 + 1e-9) + 1e-11, norm).unwrap();
            assert!(reached.rate <= it.rate * (1.0 + 1e-7), "{norm:?} {reached:?} {it:#?}");
            let short = max_robust(&it, best.cost * (1.0 - 1e-6), norm);
            let out_of_reach = best.cost < 1e-6
                || short.as_ref().is_none_or(|s| !s.favourable || s.rate > it.rate);
            assert!(out_of_reach, "{norm:?} {} {short:?} {it:#?}", best.cost);
            // An unlimited budget reaches the lowest rate of all.
            let rich = max_robust(&it, 1e7, norm).unwrap();
            assert_close!(
                rich.rate,
                lowest.rate,
                Mixed { relative: 1e-7, absolute: 1e-300 },
                "{norm:?} {it:#?}"
            );
            let point = rich.point.unwrap();
            assert_eq!(checker::broken_rules(&it, &point), Vec::<String>::new(), "{it:#?}");
            assert_close!(checker::rate(&it, &point), rich.rate, Relative(1e-7), "{it:#?}");
            // Random budgets: nothing affordable has a lower rate.
            let mut stream = stream(3_000_000 + key);
            let budget = best.cost * (0.3 + 2.0 * stream.uniform());
            let reached = max_robust(&it, budget, norm);
            for _ in 0..30 {
                let point = admissible(&it, &mut stream);
                let fine = checker::broken_rules(&it, &point).is_empty()
                    && checker::cost(&it, &point, norm) <= budget
                    && checker::score(&it, &point) > it.least_score();
                let rate = checker::rate(&it, &point);
                let beaten = fine && reached.as_ref().is_none_or(|r| rate < r.rate * (1.0 - 1e-9));
                assert!(!beaten, "{norm:?} {rate} {reached:?} {it:#?}");
            }
        }
    }
}
