use super::*;
use crate::model::{Activation, Dense, Linear, Mlp};
use crate::schema::{Direction, Feature, Schema};
use std::sync::Arc;

/// An engine with one feature that may move in one direction only. The people's values are far
/// below the zero of the scale, so that one scaled ulp is many raw ulps.
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
        let (mut rounding, space) = (Rounding::new(&engine), &engine.setup().space);
        for i in 0..20_000 {
            let x = 0.000_493 * f64::from(i);
            let scaled = space.to_scaled(0, x);
            let up = direction == Direction::Increase;
            let next = if up { scaled.next_up() } else { scaled.next_down() };
            let raw = space.to_raw(0, next);
            against += usize::from(if up { raw < x } else { raw > x });
            rounding.start(&[x]);
            rounding.print(&[x], &[next]);
            let printed = rounding.row()[0];
            assert!(
                if up { printed >= x } else { printed <= x },
                "{direction:?} from {x}: {printed}"
            );
        }
    }
    assert!(against > 100, "only {against} steps would have gone the other way");
}

#[test]
fn columns_in_which_rows_differ_are_found_wherever_they_are() {
    let mut columns = vec![9];
    for n in 0..10 {
        for marked in 0..1_u32 << n {
            let is_marked = |j: &usize| marked >> j & 1 == 1;
            let a = vec![0.0; n];
            let b: Vec<f64> = (0..n).map(|j| if is_marked(&j) { 1.0 } else { -0.0 }).collect();
            rounding::differing_into(&a, &b, &mut columns);
            assert_eq!(columns, (0..n).filter(is_marked).collect::<Vec<_>>(), "{b:?}");
        }
    }
}

#[test]
fn lines_are_counted_for_search_and_judgement() {
    // One unit that is always on: a straight score, on which all lines have the same mass.
    let layers = vec![
        Dense { weight: vec![1.0, 1.0], bias: vec![10.0] },
        Dense { weight: vec![0.0, 1.0], bias: vec![11.0, 0.0] },
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
    // 8 lines to see whether lines bend, 64 pilot lines, 128 lines for the reported rate, and 64
    // for the bound on the cost.
    assert_eq!(without[1], 264);
    // The certificate reads whole blocks of 64, and does not count as search.
    assert!(with[1] > 264 && (with[1] - 264) % 64 == 0, "{with:?}");
    assert!(with[0] > 0 && with[0] == without[0], "{with:?} {without:?}");
    let engine = engine(Direction::Increase);
    let (mut session, mut answer) = (engine.session(), Answer::new(1));
    session.recourse(&[0.0], &mut answer).unwrap();
    assert_eq!(session.n_lines(), [0, 0]);
}

#[test]
fn filling_in_order_and_the_general_solver_give_the_same_bits() {
    use crate::seed::{Purpose, Seed};
    const D: usize = 7;
    let mut stream = Seed(5).stream(Purpose::Data, 0);
    let mut statuses = [0; 4];
    for case in 0..60 {
        let weights: Vec<f64> =
            (0..D).map(|j| if j == case % 9 { 0.0 } else { stream.normal() }).collect();
        let model = Arc::new(Linear::new(weights, -1.0, 0.0).unwrap());
        let mut features: Vec<Feature> =
            (0..D).map(|j| Feature::numeric(&format!("x{j}"))).collect();
        for feature in &mut features {
            feature.scale = Some([3.0 * stream.normal(), 10.0 + stream.uniform()]);
            feature.mutable = stream.uniform() > 0.2;
            feature.direction = match (3.0 * stream.uniform()) as usize {
                0 => Direction::Increase,
                1 => Direction::Decrease,
                _ => Direction::Any,
            };
        }
        let schema = Schema::new(features);
        let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
        // A limit that never binds. It only makes the engine use the general solver.
        let answers = |limit: Option<usize>, people: &[f64]| {
            let mut setup = Setup::new(model.clone(), names.clone(), Some(&schema), 0.1).unwrap();
            setup.also_favourable = case % 2 == 0;
            if case % 3 > 0 {
                setup.actions.intersect(-0.5, 1.0).unwrap();
            }
            setup.actions = setup.actions.clone().with_max_changes(limit);
            assert_eq!(setup.actions.is_plain(), limit.is_none());
            Engine::new(setup)
                .unwrap()
                .recourse(crate::rows::Rows::new(people, D).unwrap())
                .unwrap()
        };
        let people: Vec<f64> = (0..40 * D).map(|_| 10.0 * stream.normal()).collect();
        let (quick, general) = (answers(None, &people), answers(Some(D), &people));
        // NaN is not equal to itself, so that this also fails if an answer contains NaN.
        assert_eq!(quick, general);
        quick.iter().for_each(|answer| statuses[answer.status as usize] += 1);
    }
    assert!(statuses.iter().all(|n| *n > 20), "{statuses:?}");
}
