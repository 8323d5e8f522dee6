//! The cheapest admissible row, by the solver and by trying all.

use super::refusal::{Maker, Refusal, linear, network, trees};
use super::world::World;
use probe_core::{Engine, Purpose, Rows, Seed, Status};

const NORMS: [&str; 3] = ["l1", "l2", "linf"];

#[test]
fn the_cheapest_row_of_a_linear_model_is_found() {
    let (mut reached, mut refused) = (0, 0);
    for case in 0..1_000 {
        let mut stream = Seed(7).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let norm = case as usize % 3;
        let short = 0.05 + 0.6 * stream.uniform();
        let (refusal, mut setup) = Refusal::new(&world, linear, short, &mut stream);
        setup.max_rate = [0.05, 0.1, 0.3][stream.below(3)];
        setup.set_norm(NORMS[norm]).unwrap();
        let most = if stream.below(3) == 0 { 1 + stream.below(2) } else { usize::MAX };
        setup.actions = setup.actions.with_max_changes((most != usize::MAX).then_some(most));
        let r = setup.max_rate;
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&refusal.at)).unwrap()[0];
        // Every row there is.
        let mut least = f64::INFINITY;
        world.rows(most, &mut |row| {
            if refusal.score(row) > 1e-9 && refusal.linear_rate(row) <= r {
                least = least.min(world.costs(row)[norm]);
            }
        });
        if least.is_finite() {
            reached += 1;
            assert_eq!(
                answer.status,
                Status::Certified,
                "case {case}: brute force pays {least}, {answer:?}"
            );
            let cost = answer.cost.unwrap();
            assert!(
                (cost - least).abs() <= 1e-9 * least.max(1.0),
                "case {case}: {cost}, brute force {least}"
            );
            let row = refusal.raw(&answer.point);
            for (k, value) in row.iter().enumerate() {
                assert!(
                    world.values[k].contains(value),
                    "case {case}: feature {k} is {value}: {:?}",
                    world.values[k]
                );
            }
            let changed = row.iter().zip(&world.person).filter(|(a, b)| a != b).count();
            assert!(changed <= most && changed == answer.changed, "case {case}");
        } else {
            refused += 1;
            assert_ne!(answer.status, Status::Certified, "case {case}: brute force finds nothing");
            assert!(answer.reason.is_some());
        }
    }
    assert!(reached > 400 && refused > 50, "{reached} reached, {refused} refused");
}

/// How many of the cases had an answer that was within 5 % of the cheapest row, and how many had
/// one at all.
fn compare(n_cases: u64, make: Maker) -> (usize, usize) {
    let (mut good, mut all) = (0, 0);
    for case in 0..n_cases {
        let mut stream = Seed(8).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let short = 0.05 + 0.3 * stream.uniform();
        let (refusal, mut setup) = Refusal::new(&world, make, short, &mut stream);
        let r = [0.1, 0.3][stream.below(2)];
        setup.max_rate = r;
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&refusal.at)).unwrap()[0];
        let errors = refusal.errors(&mut stream);
        // Clearly favourable rows by trying out, cheapest first; the smallest rates that 4,000
        // draws tell from r.
        let mut least = f64::INFINITY;
        world.rows(usize::MAX, &mut |row| {
            let cost = world.costs(row)[0];
            if cost >= least || refusal.score(row) <= 1e-9 {
                return;
            }
            let point = refusal.scale(&world.encoded(row));
            if refusal.sampled_rate(&point, &errors) < 0.8 * r {
                least = cost;
            }
        });
        if answer.status == Status::Certified {
            let row = refusal.raw(&answer.point);
            for (k, value) in row.iter().enumerate() {
                assert!(world.values[k].contains(value), "case {case}: feature {k} is {value}");
            }
            let cost = world.costs(&row)[0];
            assert!((answer.cost.unwrap() - cost).abs() < 1e-9, "case {case}");
        }
        if least.is_finite() {
            all += 1;
            let near =
                answer.status == Status::Certified && answer.cost.unwrap() <= 1.05 * least + 1e-9;
            if !near {
                eprintln!(
                    "case {case}: {:?} {:?} {:?}, brute force {least}",
                    answer.status, answer.reason, answer.cost
                );
            }
            good += usize::from(near);
        }
    }
    (good, all)
}

#[test]
fn answers_on_networks_are_near_the_cheapest_row() {
    let (good, all) = compare(300, network);
    eprintln!("{good} of {all}");
    assert!(all > 100 && good as f64 >= 0.97 * all as f64, "{good} of {all} within 5 %");
}

#[test]
fn answers_on_trees_are_near_the_cheapest_row() {
    let (good, all) = compare(150, trees);
    eprintln!("{good} of {all}");
    assert!(all > 50 && good as f64 >= 0.97 * all as f64, "{good} of {all} within 5 %");
}

#[test]
fn a_model_that_may_change_has_categories_and_steps_too() {
    let mut known = probe_core::invalidation::RATES.iter();
    let estimator = known.find(|entry| entry.name == "closed-form").unwrap().item;
    let (mut reached, mut refused) = (0, 0);
    for case in 0..150 {
        let mut stream = Seed(9).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let short = 0.05 + 0.3 * stream.uniform();
        let (refusal, mut setup) = Refusal::new(&world, linear, short, &mut stream);
        setup.max_rate = 0.3;
        setup.shift = Some(probe_core::ModelShift::Gaussian(0.05));
        let engine = Engine::new(setup).unwrap();
        let answer = &engine.recourse(Rows::single(&refusal.at)).unwrap()[0];
        let mut least = f64::INFINITY;
        world.rows(usize::MAX, &mut |row| {
            let point = world.encoded(row);
            let cost = world.costs(row)[0];
            if cost < least && engine.score(&point).unwrap() > 1e-9 {
                let rate = engine.rate(&point, Some(&refusal.at), estimator).unwrap().rate;
                least = if rate <= 0.3 * (1.0 - 1e-9) { cost } else { least };
            }
        });
        if least.is_finite() {
            reached += 1;
            assert_eq!(
                answer.status,
                Status::Certified,
                "case {case}: brute force pays {least}, {answer:?}"
            );
            let cost = answer.cost.unwrap();
            assert!(cost <= least + 1e-6, "case {case}: {cost}, brute force {least}");
        } else {
            refused += 1;
            assert!(answer.reason.is_some(), "case {case}: {answer:?}");
        }
    }
    assert!(reached > 40 && refused > 10, "{reached} {refused}");
}
