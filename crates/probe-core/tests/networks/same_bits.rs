//! The same bits for any number of threads, any order of people and any chunking.

use crate::shared::{denied, network, people_denied_by, plain_setup};
use probe_core::noise::NoiseSpec;
use probe_core::{Activation, Answer, Engine, Model, NoiseOn, Purpose, Rows, Seed, Setup};
use std::sync::Arc;

fn check(setup: Setup, people: &[f64]) {
    let engine = Engine::new(setup).unwrap();
    let d = engine.setup().names.len();
    let on = |threads: usize, people: &[f64]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| engine.recourse(Rows::new(people, d).unwrap()).unwrap())
    };
    let expected = on(1, people);
    // A pool of errors that is being filled by several threads at once.
    let fresh = Engine::new(engine.setup().clone()).unwrap();
    assert_eq!(fresh.recourse(Rows::new(people, d).unwrap()).unwrap(), expected);
    for threads in [2, 5] {
        assert_eq!(on(threads, people), expected, "{threads} threads");
    }
    let backwards: Vec<f64> = people.chunks(d).rev().flatten().copied().collect();
    let mut answers = on(2, &backwards);
    answers.reverse();
    assert_eq!(answers, expected, "in reverse order");
    let chunked: Vec<Answer> = people.chunks(3 * d).flat_map(|some| on(1, some)).collect();
    assert_eq!(chunked, expected, "three at a time");
    // One session for everybody, whose buffers remember those before.
    let mut session = engine.session();
    let mut answer = Answer::new(d);
    for (person, expected) in people.chunks(d).zip(&expected) {
        session.recourse(person, &mut answer).unwrap();
        assert_eq!(&answer, expected, "one session");
    }
}

#[test]
fn rectifiers() {
    let (model, people) = denied(10);
    check(plain_setup(model, 0.2), &people);
}

#[test]
fn smooth_and_deep_with_limits() {
    let mut stream = Seed(31).stream(Purpose::Data, 0);
    let model = network(&[5, 8, 6, 1], Activation::Tanh, &mut stream, -0.3);
    let people = people_denied_by(&model, 6, &mut stream);
    let mut setup = plain_setup(Arc::new(model), 0.3);
    setup.actions.intersect(-1.5, 1.5).unwrap();
    setup.actions = setup.actions.clone().with_max_changes(Some(2));
    check(setup, &people);
}

#[test]
fn noise_on_changed_features_and_other_noise() {
    let (model, people) = denied(6);
    let mut changed = plain_setup(model.clone(), 0.2);
    changed.noise_on = NoiseOn::Changed;
    check(changed, &people);
    let mut laplace = plain_setup(model.clone(), 0.2);
    laplace.noise =
        NoiseSpec::parse("laplace").unwrap().build(vec![0.1; model.n_features()]).unwrap();
    check(laplace, &people);
}

#[test]
fn budgets() {
    let (model, people) = denied(6);
    let mut setup = plain_setup(model, 0.2);
    setup.budget = Some(0.3);
    check(setup, &people);
}
