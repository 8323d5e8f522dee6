use super::*;
use crate::engine::{Engine, Setup};
use crate::math::normal::upper_quantile;
use crate::model::{Tree, TreeRules, Trees};
use std::sync::Arc;

#[test]
fn an_attempt_with_far_less_room_than_was_meant_is_given_up() {
    // Yes above 0, missed by a standard deviation of 1.
    let stump = Tree {
        feature: vec![0; 3],
        threshold: vec![0.0; 3],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, -1.0, 1.0],
        default_left: vec![],
    };
    let model = Trees::new(1, vec![stump], TreeRules::default(), 0.0).unwrap();
    let setup = Setup::new(Arc::new(model), vec!["x".to_owned()], None, 1.0).unwrap();
    let engine = Engine::new(setup).unwrap();
    let task = engine.task();
    let sampling = Sampling::new(task).unwrap();
    let mut sampler = Sampler::new(&sampling, task).unwrap();
    // A rate of 0.098 where 0.09 was meant: a fifth of the room to 0.1.
    sampler.look(&[-1.0], &[upper_quantile(0.098)], &[true]).unwrap();
    if let Kind::Forest { trees, .. } = &mut sampler.kind {
        trees.exact = None;
    }
    let Sampling::Forest(sets) = &sampling else { panic!("trees are sampled by errors") };
    // The mean of 4 sets is off by less than 0.001: hypercubes leave the place within a stratum to
    // chance alone.
    let given_up = sampler.certify((0.1, 0.09, true), 1e-3, 0, false).unwrap();
    assert!(!given_up.certified && (given_up.mean - 0.098).abs() < 2e-3, "{}", given_up.mean);
    assert_eq!(sets.cubes.n_made(0), LEAST_SETS);
    // With no lower aim left to try the same point is certified, on several times as many.
    let kept = sampler.certify((0.1, 0.09, false), 1e-3, 1, false).unwrap();
    assert!(kept.certified && sets.cubes.n_made(1) > 2 * LEAST_SETS, "{}", sets.cubes.n_made(1));
    // Where about as much room is left as was meant, nothing is given up.
    let meant = sampler.certify((0.1, 0.098, true), 1e-3, 2, false).unwrap();
    assert!(meant.certified && sets.cubes.n_made(2) > LEAST_SETS, "{}", sets.cubes.n_made(2));
}
