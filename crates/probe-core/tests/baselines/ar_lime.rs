//! `ar-lime`: against answers by hand, and against all points of the grid.

use crate::support::{answer, assert_near, curved, refusal, setup};
use probe_core::model::{Tree, TreeRules};
use probe_core::{
    Actions, Answer, Engine, FeatureLimits, Group, Model, Purpose, Reason, Rows, Seed, Setup,
    Status, Stream, Trees,
};
use std::sync::Arc;

fn lime(model: &Arc<dyn Model>, options: &[&str]) -> Setup {
    setup(model, "ar-lime", options)
}

#[test]
fn surrogates_follow_a_curved_score_across_its_boundary() {
    // tanh(2 x0 - x1) > 0.5 from 0: 2 x0 > atanh(0.5) = 0.5493, so 0.28 on the grid. The first
    // surrogate, the steeper tangent, stops at 0.26.
    let model = curved(&[2.0, -1.0], 0.5);
    assert_near(&answer(lime(&model, &[]), &[0.0; 2]).point, &[0.28, 0.0], 1e-12);
    let once = answer(lime(&model, &["samples=5000", "tries=1", "spread=0.1"]), &[0.0; 2]);
    assert_eq!((once.status, once.reason), (Status::None, Some(Reason::NotFound)));
    assert_near(&once.nearest, &[0.26, 0.0], 1e-12);
    // 0.2 x0 - 0.1 x1 > atanh(0.05) = 0.05004 from x1 = 0.5: x0 > 0.5002.
    let found = answer(lime(&curved(&[0.2, -0.1], 0.05), &[]), &[0.0, 0.5]);
    assert_near(&found.point, &[0.51, 0.5], 1e-12);
}

/// An ensemble of shallow trees, most of which prefer high values.
fn boosted(d: usize, n: usize, stream: &mut Stream) -> Arc<dyn Model> {
    let mut trees = Vec::new();
    for _ in 0..n {
        // Three splits and four leaves, root first.
        let mut tree = Tree {
            feature: vec![0; 7],
            threshold: vec![0.0; 7],
            left: vec![1, 3, 5, -1, -1, -1, -1],
            right: vec![2, 4, 6, -1, -1, -1, -1],
            value: vec![0.0; 7],
            default_left: Vec::new(),
        };
        for i in 0..3 {
            tree.feature[i] = stream.below(d);
            tree.threshold[i] = stream.uniform();
        }
        for (leaf, merit) in (3..7).zip([-2.0, 0.0, 0.0, 2.0]) {
            tree.value[leaf] = 0.1 * (merit - 0.5 + stream.normal());
        }
        trees.push(tree);
    }
    Arc::new(Trees::new(d, trees, TreeRules::default(), 0.0).unwrap())
}

/// The cost of the cheapest favourable point of a grid of twentieths, by trying all of them.
fn by_listing(model: &dyn Model, person: &[f64]) -> Option<f64> {
    let mut least: Option<f64> = None;
    for code in 0..22_usize.pow(person.len() as u32) {
        let (mut point, mut rest) = (person.to_vec(), code);
        for x in &mut point {
            // The last choice is to stay.
            if rest % 22 < 21 {
                *x = (rest % 22) as f64 / 20.0;
            }
            rest /= 22;
        }
        if model.score(&point).unwrap() > 0.0 {
            let cost: f64 = point.iter().zip(person).map(|(a, b)| (a - b).abs()).sum();
            least = Some(least.map_or(cost, |known| known.min(cost)));
        }
    }
    least
}

#[test]
fn trees_are_served_and_limits_never_help() {
    let mut stream = Seed(5).stream(Purpose::Data, 1);
    let (mut possible, mut answered, mut first, mut limited_to_one) = (0, 0, 0, 0);
    let (mut cost, mut least) = (0.0, 0.0);
    for _ in 0..6 {
        let model = boosted(3, 25, &mut stream);
        let ask = |options: &[&str], limit: Option<usize>| {
            let mut asked = lime(&model, options);
            asked.actions = asked.actions.with_max_changes(limit);
            Engine::new(asked).unwrap()
        };
        let [free, once, one] = [
            ask(&["step=0.05"], None),
            ask(&["step=0.05", "tries=1"], None),
            ask(&["step=0.05"], Some(1)),
        ];
        for _ in 0..10 {
            let person: Vec<f64> = (0..3).map(|_| stream.uniform()).collect();
            let Some(optimum) = by_listing(&*model, &person).filter(|cost| *cost > 0.0) else {
                continue;
            };
            let found = |engine: &Engine| engine.recourse(Rows::single(&person)).unwrap().remove(0);
            let (free, one) = (found(&free), found(&one));
            possible += 1;
            first += usize::from(found(&once).status != Status::None);
            limited_to_one += usize::from(one.status != Status::None);
            assert!(one.status == Status::None || free.status != Status::None, "{person:?}");
            assert!(one.status == Status::None || one.changed == 1, "{one:?}");
            if let Some(paid) = free.cost {
                assert!(paid >= optimum - 1e-9, "{paid} {optimum}");
                answered += 1;
                cost += paid;
                least += optimum;
            }
        }
    }
    // Nearly everybody who can have an answer has one, for little more than the lowest cost; one
    // surrogate alone does not do.
    assert!(possible >= 30, "{possible}");
    assert!(20 * answered >= 19 * possible, "{answered} of {possible}");
    assert!(first < answered && limited_to_one <= answered, "{first} {limited_to_one} {answered}");
    assert!(cost <= 1.25 * least, "{cost} {least}");
}

#[test]
fn categories_are_drawn_as_categories() {
    // Yes where the second of three categories is taken; draws around 0 and 1 would show that only
    // by chance.
    let tree = Tree {
        feature: vec![1, 0, 0],
        threshold: vec![0.5, 0.0, 0.0],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, -1.0, 1.0],
        default_left: Vec::new(),
    };
    let model: Arc<dyn Model> =
        Arc::new(Trees::new(3, vec![tree], TreeRules::default(), 0.0).unwrap());
    let ask = |group: Group| {
        let mut asked = lime(&model, &[]);
        asked.actions = Actions::free(3).with_groups(vec![group]).unwrap();
        answer(asked, &[1.0, 0.0, 0.0])
    };
    assert_eq!(ask(Group::one_hot(vec![0, 1, 2])).point, [0.0, 1.0, 0.0]);
    // Where that is not allowed nothing helps. Trees are bounded column by column, which proves
    // nothing here, but there are only two rows to look at.
    let only_the_third = vec![vec![true, false, true]; 3];
    let none = ask(Group::one_hot(vec![0, 1, 2]).allowing(only_the_third));
    let reason = Some(Reason::InfeasibleWithinBounds);
    assert_eq!((none.status, none.reason, none.proven), (Status::None, reason, true));
}

#[test]
fn what_trees_cannot_say_is_proven() {
    let mut stream = Seed(6).stream(Purpose::Data, 1);
    let model = boosted(2, 10, &mut stream);
    let person = [0.0, 0.0];
    assert!(model.score(&person).unwrap() < 0.0);
    let ask = |actions: Actions| {
        let mut asked = lime(&model, &[]);
        asked.actions = actions;
        answer(asked, &person)
    };
    let tiny = FeatureLimits { low: 0.0, high: 1e-9, ..FeatureLimits::default() };
    assert_eq!(ask(Actions::new(vec![tiny; 2])).reason, Some(Reason::NoAdmissibleMove));
    let mut fixed = Actions::free(2);
    fixed.fix(0);
    fixed.fix(1);
    assert_eq!(ask(fixed).reason, Some(Reason::NoAdmissibleMove));
    // The first cut above 0 changes the score of one tree a little, and that is all there is.
    let never: Arc<dyn Model> = {
        let tree = Tree {
            feature: vec![0, 0, 0],
            threshold: vec![0.5, 0.0, 0.0],
            left: vec![1, -1, -1],
            right: vec![2, -1, -1],
            value: vec![0.0, -2.0, -1.0],
            default_left: Vec::new(),
        };
        Arc::new(Trees::new(2, vec![tree], TreeRules::default(), 0.0).unwrap())
    };
    assert_eq!(answer(lime(&never, &[]), &person).reason, Some(Reason::InfeasibleWithinBounds));
}

#[test]
fn surrogates_are_the_same_for_any_order_and_threads() {
    let model = curved(&[0.2, -0.1], 0.05);
    let engine = Engine::new(lime(&model, &[])).unwrap();
    let people = [0.0, 0.5, 0.1, 0.9];
    let both: Vec<Answer> = engine.recourse(Rows::new(&people, 2).unwrap()).unwrap();
    let turned = [0.1, 0.9, 0.0, 0.5];
    let back: Vec<Answer> = engine.recourse(Rows::new(&turned, 2).unwrap()).unwrap();
    assert_eq!(both, back.into_iter().rev().collect::<Vec<_>>());
    for wrong in ["tries=0", "samples=0", "spread=0.1,-1", "step=1e-7", "version=mine"] {
        let name = wrong.split('=').next().unwrap();
        assert!(refusal(lime(&model, &[wrong])).contains(name), "{wrong}");
    }
}

#[test]
fn the_library_takes_the_first_of_its_list_that_the_model_accepts() {
    let model = curved(&[2.0, -1.0], 0.5);
    let ask = |person: &[f64]| answer(lime(&model, &["version=library"]), person);
    // A probability is above 0 wherever one is, so that a single step is action enough for its
    // surrogate; who is one step away has an answer.
    assert_near(&ask(&[0.27, 0.0]).point, &[0.28, 0.0], 1e-12);
    let none = ask(&[0.0; 2]);
    assert_eq!((none.status, none.reason), (Status::None, Some(Reason::NotFound)));
}
