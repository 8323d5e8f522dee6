//! What would help where nothing does: worked out by hand, and tried out.

use super::refusal::{Maker, Refusal, network, trees};
use super::world::World;
use probe_core::schema::Violation;
use probe_core::{
    Answer, Engine, Feature, Linear, Purpose, Relaxed, Rows, Schema, Seed, Setup, Status,
};
use std::sync::Arc;

#[test]
fn the_least_relaxation_of_an_affine_score_is_exact() {
    // 4 a + 2 b - 5 with a <= 1 and b <= 0.2 for somebody at 0: at most -0.6.
    let bounded = |name: &str, max: f64| Feature { max: Some(max), ..Feature::numeric(name) };
    let schema = Schema::new(vec![bounded("a", 1.0), bounded("b", 0.2)]);
    let model = Arc::new(Linear::new(vec![4.0, 2.0], -5.0, 0.0).unwrap());
    let mut setup = Setup::new(model, schema.names(), Some(&schema), 0.1).unwrap();
    setup.max_rate = 0.1;
    let engine = Engine::new(setup.clone()).unwrap();
    let mut session = engine.session();
    let mut answer = Answer::new(2);
    session.recourse(&[0.0, 0.0], &mut answer).unwrap();
    assert_eq!(answer.status, Status::None);
    let needed = 5.0 + 1.281_551_565_544_600_4 * 0.1 * 20.0_f64.sqrt();
    let found = session.relaxations(&[0.0, 0.0], &answer).unwrap();
    let [first, second] = &found[..] else { panic!("{found:?}") };
    let Relaxed::AtMost { column: 0, needed: a } = first.limit else { panic!("{first:?}") };
    assert!(
        (a - (needed - 0.4) / 4.0).abs() < 1e-6 && (first.beyond - (a - 1.0)).abs() < 1e-9,
        "{first:?}"
    );
    assert!(first.rate <= 0.1 && first.rate > 0.0999, "{first:?}");
    let Relaxed::AtMost { column: 1, needed: b } = second.limit else { panic!("{second:?}") };
    assert!((b - (needed - 4.0) / 2.0).abs() < 1e-6, "{second:?}");
    // With the bound moved there, there is an answer; a little before it, there is none.
    for (max, status) in [(a + 1e-6, Status::Certified), (a - 1e-3, Status::Found)] {
        let schema = Schema::new(vec![bounded("a", max), bounded("b", 0.2)]);
        let wider = Setup::new(setup.model.clone(), schema.names(), Some(&schema), 0.1).unwrap();
        let answer = &Engine::new(wider).unwrap().recourse(Rows::single(&[0.0, 0.0])).unwrap()[0];
        assert_eq!(answer.status, status, "{max}");
    }
    // People with an answer need no relaxation.
    session.recourse(&[1.0, 0.2], &mut answer).unwrap();
    let mut free = setup;
    free.actions = probe_core::Actions::free(2);
    let engine = Engine::new(free).unwrap();
    let mut session = engine.session();
    session.recourse(&[0.0, 0.0], &mut answer).unwrap();
    assert!(session.relaxations(&[0.0, 0.0], &answer).unwrap().is_empty());
}

#[test]
fn a_limit_on_changes_says_how_many_it_takes() {
    let bounded = |name: &str| Feature { max: Some(1.0), ..Feature::numeric(name) };
    let schema = Schema { max_changes: Some(1), ..Schema::new(vec![bounded("a"), bounded("b")]) };
    let model = Arc::new(Linear::new(vec![1.0, 1.0], -1.5, 0.0).unwrap());
    let engine =
        Engine::new(Setup::new(model, schema.names(), Some(&schema), 0.1).unwrap()).unwrap();
    let mut session = engine.session();
    let mut answer = Answer::new(2);
    session.recourse(&[0.0, 0.0], &mut answer).unwrap();
    assert_eq!(answer.status, Status::None);
    let found = session.relaxations(&[0.0, 0.0], &answer).unwrap();
    assert_eq!(found[0].limit, Relaxed::MaxChanges(2), "{found:?}");
}

/// Every relaxation on random worlds breaks the limit it names and nothing else, and would be
/// enough when tried out. Returns how many there were, and how many people had none.
fn try_out(n_cases: u64, make: Maker) -> (usize, usize) {
    let (mut relaxations, mut without) = (0, 0);
    for case in 0..n_cases {
        let mut stream = Seed(31).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let short = 0.3 + 0.5 * stream.uniform();
        let (refusal, mut setup) = Refusal::new(&world, make, short, &mut stream);
        setup.max_rate = 0.2;
        let actions = setup.actions.clone();
        let at = &refusal.at;
        let engine = Engine::new(setup).unwrap();
        let mut session = engine.session();
        let mut answer = Answer::new(at.len());
        session.recourse(at, &mut answer).unwrap();
        let found = session.relaxations(at, &answer).unwrap();
        if matches!(answer.status, Status::Certified | Status::Favourable) {
            assert!(found.is_empty(), "case {case}");
            continue;
        }
        without += usize::from(found.is_empty());
        for relaxation in &found {
            relaxations += 1;
            let to = refusal.scale(&relaxation.point);
            let broken = actions.violations(&refusal.scaled, &to);
            let expected = match relaxation.limit {
                Relaxed::AtMost { column, .. } | Relaxed::AtLeast { column, .. } => {
                    Violation::Bounds(column)
                }
                Relaxed::Direction { column, .. } => Violation::Direction(column),
                Relaxed::Transition { group, .. } => Violation::Transition(group),
                other => panic!("case {case}: {other:?}"),
            };
            assert_eq!(broken, [expected], "case {case}: {relaxation:?}");
            let rate = refusal.sampled_rate(&to, &refusal.errors(&mut stream));
            let error = Refusal::sampling_error(0.2);
            assert!(rate <= 0.2 + error, "case {case}: {rate} {relaxation:?}");
        }
    }
    (relaxations, without)
}

#[test]
fn relaxations_on_networks_are_enough() {
    let (relaxations, without) = try_out(150, network);
    assert!(relaxations > 60, "{relaxations}, {without} without");
}

#[test]
fn relaxations_on_trees_are_enough() {
    let (relaxations, without) = try_out(200, trees);
    assert!(relaxations > 10, "{relaxations}, {without} without");
}
