use super::*;
use crate::model::{Activation, Dense, Linear, Mlp};
use crate::schema::{Feature, Schema};
use std::sync::Arc;

/// An engine with one feature that may move one way only, scaled so that a scaled ulp is many raw ones: people stand far
/// below the scale's zero.
fn engine(direction: Direction) -> Engine {
    let mut feature = Feature::numeric("x");
    feature.scale = Some([12_345.67, 12_352.77]);
    feature.direction = direction;
    let schema = Schema::new(vec![feature]);
    let model = Arc::new(Linear::new(vec![1.0], 0.0, 0.0).unwrap());
    Engine::new(Setup::new(model, vec!["x".to_owned()], Some(&schema), 0.1).unwrap()).unwrap()
}

#[test]
fn the_smallest_step_never_prints_as_a_step_the_other_way() {
    let mut against = 0;
    for direction in [Direction::Increase, Direction::Decrease] {
        let engine = engine(direction);
        let (session, space) = (engine.session(), &engine.setup().space);
        for i in 0..20_000 {
            let x = 0.000_493 * f64::from(i);
            let scaled = space.to_scaled(0, x);
            let up = direction == Direction::Increase;
            let raw = space.to_raw(0, if up { scaled.next_up() } else { scaled.next_down() });
            against += usize::from(if up { raw < x } else { raw > x });
            let printed = session.within_bounds(0, x, raw);
            assert!(if up { printed >= x } else { printed <= x }, "{direction:?} from {x}: {printed}");
        }
    }
    assert!(against > 100, "only {against} steps would have gone the other way");
}

#[test]
fn lines_are_counted_for_search_and_judgement() {
    // One unit that is always on: a straight score, on which all lines have the same mass.
    let layers = vec![
        Dense { weight: vec![1.0, 1.0], bias: vec![100.0] },
        Dense { weight: vec![0.0, 1.0], bias: vec![101.0, 0.0] },
    ];
    let model = Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
    let names = vec!["a".to_owned(), "b".to_owned()];
    let read = |certify| {
        let mut setup = Setup::new(model.clone(), names.clone(), None, 0.1).unwrap();
        setup.certify = certify;
        let engine = Engine::new(setup).unwrap();
        let (mut session, mut answer) = (engine.session(), Answer::new(2));
        assert_eq!(session.n_lines(), [0, 0]);
        session.recourse(&[0.2, 0.3], &mut answer).unwrap();
        assert!(matches!(answer.status, Status::Certified | Status::Found), "{answer:?}");
        session.n_lines()
    };
    let (without, with) = (read(false), read(true));
    // 8 that tell whether lines bend, 64 scouts, and 128 lines behind the reported rate.
    assert_eq!(without[1], 200);
    // The certificate reads whole blocks of 64, and leaves the search alone.
    assert!(with[1] > 200 && (with[1] - 200) % 64 == 0, "{with:?}");
    assert!(with[0] > 0 && with[0] == without[0], "{with:?} {without:?}");
    let engine = engine(Direction::Increase);
    let (mut session, mut answer) = (engine.session(), Answer::new(1));
    session.recourse(&[0.0], &mut answer).unwrap();
    assert_eq!(session.n_lines(), [0, 0]);
}
