use super::*;
use crate::model::Linear;
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
