//! Alternatives, a person's own costs and preferences, worked out by hand and against brute
//! force.

use super::refusal::{Refusal, linear};
use super::world::World;
use probe_core::{Answer, Engine, Feature, Linear, Purpose, Rows, Schema, Seed, Setup, Status};
use std::sync::Arc;

/// Score 4 a + 2 b + c - 5 of a person at 0, with r = 0.1 and noise 0.1.
fn setup() -> Setup {
    let schema = Schema::new(["a", "b", "c"].map(Feature::numeric).to_vec());
    let model = Arc::new(Linear::new(vec![4.0, 2.0, 1.0], -5.0, 0.0).unwrap());
    let mut setup = Setup::new(model, schema.names(), Some(&schema), 0.1).unwrap();
    setup.max_rate = 0.1;
    setup
}

/// What the score must gain.
fn needed() -> f64 {
    5.0 + 1.281_551_565_544_600_4 * 0.1 * 21.0_f64.sqrt()
}

fn answers(engine: &Engine, person: &[f64]) -> Vec<Answer> {
    let mut session = engine.session();
    let mut answers = vec![Answer::new(person.len()); session.n_options()];
    session.recourse_options(person, &mut answers).unwrap();
    answers
}

#[test]
fn each_way_is_the_cheapest_with_other_features() {
    let mut setup = setup();
    setup.alternatives = 4;
    let found = answers(&Engine::new(setup).unwrap(), &[0.0; 3]);
    for (answer, (j, gain)) in found.iter().zip([(0, 4.0), (1, 2.0), (2, 1.0)]) {
        assert_eq!((answer.status, answer.changed), (Status::Certified, 1), "{answer:?}");
        assert!((answer.point[j] - needed() / gain).abs() < 1e-9, "{answer:?}");
    }
    // There is no fourth that does not merely add to one of these.
    assert_eq!(found[3].status, Status::None);
    assert_eq!(found[3].reason.unwrap().code(), "no-other-way");
}

#[test]
fn what_is_avoided_comes_last_and_costs_what_it_costs() {
    let mut setup = setup();
    setup.preference = vec![10.0, 1.0, 1.0];
    let answer = &Engine::new(setup).unwrap().recourse(Rows::single(&[0.0; 3])).unwrap()[0];
    assert!(answer.point[1] > 0.0 && answer.point[0] == 0.0, "{answer:?}");
    assert!((answer.cost.unwrap() - needed() / 2.0).abs() < 1e-9);
}

#[test]
fn people_have_costs_of_their_own() {
    let engine = Engine::new(setup()).unwrap();
    let mut session = engine.session();
    let mut answer = Answer::new(3);
    session.set_cost_factors(Some(&[3.0, 1.0, 1.0])).unwrap();
    session.recourse(&[0.0; 3], &mut answer).unwrap();
    assert!(
        answer.point[1] > 0.0 && (answer.cost.unwrap() - needed() / 2.0).abs() < 1e-9,
        "{answer:?}"
    );
    session.set_cost_factors(Some(&[1.5, 9.0, 9.0])).unwrap();
    session.recourse(&[0.0; 3], &mut answer).unwrap();
    assert!(
        answer.point[0] > 0.0 && (answer.cost.unwrap() - 1.5 * needed() / 4.0).abs() < 1e-9,
        "{answer:?}"
    );
    session.set_cost_factors(None).unwrap();
    session.recourse(&[0.0; 3], &mut answer).unwrap();
    assert!((answer.cost.unwrap() - needed() / 4.0).abs() < 1e-9, "{answer:?}");
    assert!(session.set_cost_factors(Some(&[0.0, 1.0, 1.0])).is_err());
}

#[derive(Debug)]
struct Way {
    cost: f64,
    changed: Vec<bool>,
    /// What costs a tenth of the most expensive change at least.
    essential: Vec<bool>,
}

#[test]
fn ways_are_those_of_brute_force() {
    let mut several = 0;
    for case in 0..400 {
        let mut stream = Seed(21).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let short = 0.05 + 0.3 * stream.uniform();
        let (refusal, mut setup) = Refusal::new(&world, linear, short, &mut stream);
        setup.max_rate = 0.3;
        setup.alternatives = 3;
        let found = answers(&Engine::new(setup).unwrap(), &refusal.at);
        // All rows, then one after the other that lacks something essential to each before.
        let mut cheapest: Vec<Way> = Vec::new();
        world.rows(usize::MAX, &mut |row| {
            if refusal.score(row) > 1e-9 && refusal.linear_rate(row) <= 0.3 {
                let alone = |k: usize| {
                    let mut only = world.person.clone();
                    only[k] = row[k];
                    world.costs(&only)[0]
                };
                let alone: Vec<f64> = (0..row.len()).map(alone).collect();
                let largest = alone.iter().copied().fold(0.0, f64::max);
                cheapest.push(Way {
                    cost: world.costs(row)[0],
                    changed: alone.iter().map(|cost| *cost > 0.0).collect(),
                    essential: alone
                        .iter()
                        .map(|cost| *cost > 0.0 && *cost >= 0.1 * largest)
                        .collect(),
                });
            }
        });
        cheapest.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        let mut ways: Vec<Way> = Vec::new();
        for way in cheapest {
            let has_all = |earlier: &Way| {
                earlier.essential.iter().zip(&way.changed).all(|(needs, has)| !needs || *has)
            };
            if !ways.iter().any(has_all) {
                ways.push(way);
            }
        }
        ways.truncate(3);
        several += usize::from(ways.len() > 1);
        let certified: Vec<f64> = found
            .iter()
            .filter(|a| a.status == Status::Certified)
            .map(|a| a.cost.unwrap())
            .collect();
        assert_eq!(certified.len(), ways.len(), "case {case}: {certified:?} {ways:?}");
        for (cost, Way { cost: least, .. }) in certified.iter().zip(&ways) {
            assert!(
                (cost - least).abs() <= 1e-9 * least.max(1.0),
                "case {case}: {certified:?} {ways:?}"
            );
        }
    }
    assert!(several > 80, "{several}");
}
