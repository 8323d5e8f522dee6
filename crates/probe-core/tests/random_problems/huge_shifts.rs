//! Finding 8 of an audit: a change of the model that drowns the score overflowed and hung, or was
//! told as `none` with `infeasible-within-bounds` though no bounds were given and accepted points
//! were near.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::{
    Activation, Answer, Dense, Engine, Linear, Mlp, Model, ModelShift, Reason, Rows, Setup, Status,
};
use std::sync::Arc;

fn ask(model: Arc<dyn Model>, shift: ModelShift, bounds: Option<f64>) -> Answer {
    let mut setup = Setup::new(model, vec!["a".to_owned(), "b".to_owned()], None, 0.1).unwrap();
    setup.shift = Some(shift);
    if let Some(most) = bounds {
        setup.actions.intersect(-most, most).unwrap();
    }
    Engine::new(setup).unwrap().recourse(Rows::single(&[0.1, 0.1])).unwrap().remove(0)
}

/// $a + 2b - 1$.
fn line() -> Arc<dyn Model> {
    Arc::new(Linear::new(vec![1.0, 2.0], -1.0, 0.0).unwrap())
}

/// $\max(a, 0) + 2\max(b, 0) - 1$.
fn network() -> Arc<dyn Model> {
    let first = Dense { weight: vec![1.0, 0.0, 0.0, 1.0], bias: vec![0.0; 2] };
    let last = Dense { weight: vec![1.0, 2.0], bias: vec![-1.0] };
    Arc::new(Mlp::new(vec![first, last], Activation::Relu, 0.0).unwrap())
}

/// Both have the same last layer: weights (1, 2) and bias −1. With a standard deviation of t of
/// their changes, the margin is at most √6/t anywhere, and the target of 0.1 asks for 1.2816: out
/// of reach beyond t = 1.911, or 1.209 times the root mean square √2.5 of the weights.
#[test]
fn finding_8_changes_that_drown_the_score_are_told_so() {
    let sizes = [2.0, 3.0, 30.0, 1e3, 1e6, 1e9, 1e20, 1e50, 1e99];
    for model in [line, network] {
        for size in sizes {
            for shift in [ModelShift::Gaussian(size), ModelShift::Relative(size)] {
                for bounds in [None, Some(5.0)] {
                    let answer = ask(model(), shift, bounds);
                    let about = format!("{shift} {bounds:?} {answer:?}");
                    assert_eq!(answer.status, Status::Found, "{about}");
                    assert_eq!(answer.reason, Some(Reason::RateNotReachable), "{about}");
                    assert!(answer.proven && answer.score_after > 0.0, "{about}");
                    assert!(answer.rate > 0.1 && answer.rate <= 0.51, "{about}");
                }
            }
        }
    }
    // At worst all weights vanish.
    for size in [3.0, 1e3, 1e20, 1e99] {
        let answer = ask(line(), ModelShift::Bounded(size), None);
        assert_eq!((answer.status, answer.rate), (Status::Found, 1.0), "{answer:?}");
        assert_eq!((answer.reason, answer.proven), (Some(Reason::RateNotReachable), true));
    }
}

#[test]
fn finding_8_smaller_changes_have_answers() {
    for model in [line, network] {
        for size in [1e-9, 1e-3, 0.1, 0.5] {
            for shift in [ModelShift::Gaussian(size), ModelShift::Relative(size)] {
                let answer = ask(model(), shift, None);
                assert_eq!(answer.status, Status::Certified, "{shift} {answer:?}");
            }
        }
    }
    for size in [1e-9, 0.1, 1.0, 2.0] {
        let answer = ask(line(), ModelShift::Bounded(size), None);
        assert_eq!(answer.status, Status::Certified, "{size} {answer:?}");
    }
}

#[test]
fn finding_8_changes_too_large_for_numbers_are_refused() {
    for size in [1.1e100, 1e200, f64::INFINITY] {
        assert!(ModelShift::parse(&format!("gaussian:{size}")).is_err(), "{size}");
    }
}
