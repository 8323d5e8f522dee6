//! Budgets: never exceeded, and as good as the answer of the same cost for a target rate.

use crate::shared::{audit, denied, network, people_denied_by, plain_setup};
use probe_core::{
    Activation, Answer, Engine, Error, Model, NoiseOn, Purpose, Rows, SearchEffort, Seed, Setup,
    Status,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SAMPLES: usize = 200_000;

/// Both searches are local, so they may end at different points; on these people the budget's is
/// never more than this much rate worse (0.036 of margin), and sometimes three times as much
/// better.
const SLACK: f64 = 0.01;

fn check(setup: Setup, people: &[f64]) {
    let (model, d, max_rate) = (setup.model.clone(), setup.names.len(), setup.max_rate);
    let by_rate = Engine::new(setup.clone()).unwrap();
    let mut compared = 0;
    for person in people.chunks(d) {
        let found = by_rate.recourse(Rows::single(person)).unwrap().remove(0);
        if found.status != Status::Certified {
            continue;
        }
        let budget = found.cost.unwrap();
        let engine = Engine::new(Setup { budget: Some(budget), ..setup.clone() }).unwrap();
        let spent = engine.recourse(Rows::single(person)).unwrap().remove(0);
        let cost = setup.cost.between(person, &spent.point);
        assert!(cost <= budget && spent.cost == Some(cost), "{cost} of {budget}");
        let deviations = |point: &[f64]| -> Vec<f64> {
            let noisy = |j: usize| setup.noise_on != NoiseOn::Changed || point[j] != person[j];
            (0..d).map(|j| if noisy(j) { 0.1 } else { 0.0 }).collect()
        };
        let (first, e1) = audit(&*model, &found.point, &deviations(&found.point), SAMPLES, 8);
        let (second, e2) = audit(&*model, &spent.point, &deviations(&spent.point), SAMPLES, 9);
        let error = (e1 * e1 + e2 * e2).sqrt();
        assert!(
            second <= first + SLACK + 4.0 * error,
            "{second} for {budget}, where {first} costs that"
        );
        if spent.status == Status::Certified {
            assert!(second <= max_rate + 4.0 * e2, "{second}");
        }
        compared += 1;
    }
    assert!(3 * compared >= 2 * (people.len() / d), "{compared} compared");
}

#[test]
fn a_budget_buys_what_the_rate_cost() {
    let (model, people) = denied(8);
    for norm in ["l1", "l2", "linf"] {
        let mut setup = plain_setup(model.clone(), 0.2);
        setup.set_norm(norm).unwrap();
        check(setup, &people);
    }
}

#[test]
fn with_limits_and_noise_on_changed_features() {
    let mut stream = Seed(60).stream(Purpose::Data, 0);
    let model = Arc::new(network(&[5, 10, 6, 1], Activation::Relu, &mut stream, -0.4));
    let people = people_denied_by(&model, 6, &mut stream);
    let mut setup = plain_setup(model, 0.2);
    setup.actions.fix(0);
    setup.actions = setup.actions.clone().with_max_changes(Some(2));
    setup.noise_on = NoiseOn::Changed;
    check(setup, &people);
}

#[test]
fn too_little_money_says_so() {
    let (model, people) = denied(6);
    let d = model.n_features();
    for budget in [0.0, 1e-6, 0.05] {
        let mut setup = plain_setup(model.clone(), 0.01);
        setup.budget = Some(budget);
        let answers = Engine::new(setup).unwrap().recourse(Rows::new(&people, d).unwrap()).unwrap();
        for answer in answers {
            assert!(answer.status != Status::Certified && answer.reason.is_some(), "{answer:?}");
            assert!(answer.cost.is_none_or(|cost| cost <= budget));
            assert!(answer.best_rate.is_some_and(|rate| (0.0..=1.0).contains(&rate)));
        }
    }
}

/// Interrupts were noticed between people only, however long one of them took.
#[test]
fn a_search_that_is_cancelled_ends_soon() {
    let (model, people) = denied(8);
    let mut setup = plain_setup(model, 0.1);
    setup.effort = SearchEffort::Thorough;
    let engine = Engine::new(setup).unwrap();
    let flag = AtomicBool::new(false);
    let person = &people[..engine.setup().names.len()];
    let (mut session, mut answer) = (engine.session(), Answer::new(person.len()));
    session.recourse(person, &mut answer).unwrap();
    let (undisturbed, work) = (answer.clone(), session.n_lines());
    // A flag that is not set changes nothing.
    let mut session = engine.session();
    session.end_on(&flag);
    session.recourse(person, &mut answer).unwrap();
    assert_eq!((&answer, session.n_lines()), (&undisturbed, work));
    flag.store(true, Ordering::Relaxed);
    let mut session = engine.session();
    session.end_on(&flag);
    assert_eq!(session.recourse(person, &mut answer), Err(Error::Cancelled));
    // Only the first descent goes to its end.
    let less = session.n_lines();
    assert!(3 * less[0] < work[0], "{less:?} of {work:?}");
    assert_eq!(session.frontier(person, &[0.2, 0.1]).unwrap_err(), Error::Cancelled);
    // Sooner or later it is set while somebody is answered.
    let flag = AtomicBool::new(false);
    let mut session = engine.session();
    session.end_on(&flag);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            flag.store(true, Ordering::Relaxed);
        });
        loop {
            match session.recourse(person, &mut answer) {
                Ok(()) => assert_eq!(answer, undisturbed),
                Err(error) => break assert_eq!(error, Error::Cancelled),
            }
        }
    });
}
