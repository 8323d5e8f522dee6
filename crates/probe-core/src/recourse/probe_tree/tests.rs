use super::*;
use crate::cost::Cost;
use crate::math::normal::{upper_quantile, upper_tail};
use crate::model::{Linear, Model, Tree, TreeRules};
use crate::noise::{Covariance, Gaussian, NoiseOn};
use crate::recourse::{
    Ask, Budget, Goal, Proposal, Reason, Reference, SearchEffort, Verdict, method,
};
use crate::schema::{Actions, Group};
use crate::seed::Seed;

fn task(model: Arc<dyn Model>, options: &[&str]) -> Task {
    let n = model.n_features();
    Task {
        noise: Arc::new(Gaussian::isotropic(n, 0.1).unwrap()),
        noise_on: NoiseOn::All,
        cost: Cost::uniform("l1", n).unwrap(),
        actions: Actions::free(n),
        shift: None,
        seed: Seed(7),
        options: MethodOptions::parse(options.iter().copied()).unwrap(),
        effort: SearchEffort::Normal,
        left_out: None,
        reference: Reference::of_ranges(&vec![None; n], &Actions::free(n)),
        model,
    }
}

fn distilled(task: &Task) -> Distilled {
    Distilled::of(task).unwrap()
}

/// Yes where every feature is above its cut.
fn corner(cuts: &[f64]) -> Arc<Trees> {
    let mut tree = Tree::default();
    for (j, cut) in cuts.iter().enumerate() {
        let (at, no) = (tree.push_leaf(0.0), tree.push_leaf(-1.0));
        (tree.feature[at], tree.threshold[at]) = (j, *cut);
        (tree.left[at], tree.right[at]) = (no as i64, no as i64 + 1);
    }
    tree.push_leaf(1.0);
    Arc::new(Trees::new(cuts.len(), vec![tree], TreeRules::default(), 0.0).unwrap())
}

#[test]
fn a_step_is_imitated_and_its_recourse_is_the_known_one() {
    let model = corner(&[0.5, -9.0]);
    let task =
        Arc::new(task(model.clone(), &["learning-rate=0.001", "lambda3=0.25", "steps=3000"]));
    let found = distilled(&task);
    // Neighbouring ones of 10,000 points are 1e-4 apart, ten times that once in e^10 cases; so many
    // of the noisy points lie between the cuts.
    let cut = found.tree.trees()[0].threshold[0];
    assert!((cut - 0.5).abs() < 1e-3, "{cut}");
    assert!(found.n_leaves() == 2 && found.fidelity > 0.998 && found.judged == 10_000, "{found:?}");
    let solver = method(NAME).unwrap().prepare(&task).unwrap();
    let mut proposal = Proposal::new(2);
    for r in [0.35, 0.1, 0.01] {
        solver
            .worker()
            .find(&Ask::new(&[0.3, 0.4], Goal::Rate(r), &Budget::default()), &mut proposal)
            .unwrap();
        assert_eq!(proposal.verdict, Verdict::Reached);
        // Steps are at most a few times the learning rate.
        let past = proposal.point[0] - (cut + 0.1 * upper_quantile(r));
        assert!((0.0..0.01).contains(&past) && proposal.point[1] == 0.4, "{proposal:?}");
        let claimed = upper_tail((proposal.point[0] - cut) / 0.1);
        assert!((proposal.report.claimed_rate.unwrap() - claimed).abs() < 1e-12);
    }
}

#[test]
fn deeper_trees_and_noisy_copies_imitate_better() {
    let model = Arc::new(Linear::new(vec![1.0, 1.0, -1.0], -0.5, 0.0).unwrap());
    let fidelity = |options: &[&str]| distilled(&task(model.clone(), options)).fidelity;
    let (shallow, deep) = (fidelity(&["depth=2"]), fidelity(&["depth=10"]));
    // Noise leaves the unit cube, where points without copies are: the tree has not seen what is
    // there.
    let copies = fidelity(&["depth=10", "copies=4"]);
    assert!(
        shallow + 0.05 < deep && deep + 0.005 < copies && copies < 1.0,
        "{shallow} {deep} {copies}"
    );
    let few = fidelity(&["depth=10", "points=50"]);
    assert!(few + 0.05 < deep, "{few} {deep}");
}

#[test]
fn one_class_is_imitated_by_one_leaf_and_nobody_is_helped() {
    let task = Arc::new(task(Arc::new(Linear::new(vec![1.0], -50.0, 0.0).unwrap()), &[]));
    let found = distilled(&task);
    assert_eq!((found.n_leaves(), found.fidelity), (1, 1.0));
    let solver = method(NAME).unwrap().prepare(&task).unwrap();
    let mut proposal = Proposal::new(1);
    solver
        .worker()
        .find(&Ask::new(&[0.3], Goal::Rate(0.1), &Budget::default()), &mut proposal)
        .unwrap();
    assert_eq!(
        (proposal.verdict, &proposal.point[..]),
        (Verdict::Short(Reason::NotFound), &[0.3][..])
    );
}

#[test]
fn one_hot_columns_are_drawn_one_hot_and_stay_as_they_are() {
    let model = Arc::new(Linear::new(vec![1.0, 4.0, 0.0, 0.0], -2.0, 0.0).unwrap());
    let mut asked = task(model, &["points=2000"]);
    asked.actions = Actions::free(4).with_groups(vec![Group::one_hot(vec![1, 2, 3])]).unwrap();
    asked.noise_on = NoiseOn::Mutable;
    let found = distilled(&asked);
    // Yes is where the first option is taken, whatever the number says between 0 and 1.
    assert_eq!(found.n_leaves(), 2);
    assert_eq!((found.tree.trees()[0].feature[0], found.tree.trees()[0].threshold[0]), (1, 0.5));
    assert_eq!(found.fidelity, 1.0);
}

#[test]
fn reference_rows_are_grown_on_and_some_are_held_out() {
    let mut asked = task(corner(&[0.5, 0.5]), &[]);
    let names = ["a", "b"].map(str::to_owned);
    // Rows of a corner that the model refuses, and one row of yes: held out or not, the tree is
    // sure of what it has seen.
    let rows = |n: usize| (0..n).flat_map(|i| [0.1, 0.002 * i as f64]).collect::<Vec<f64>>();
    asked.reference = Reference::of_rows(rows(100), &names).unwrap();
    let found = distilled(&asked);
    assert_eq!((found.n_leaves(), found.judged), (1, 10_000));
    // Rows are at 0.1, noise reaches 0.5 with probability 3e-5, and then mostly not with the other
    // feature.
    assert!(found.fidelity > 0.999, "{}", found.fidelity);
    let mut both = rows(400);
    both.extend((0..400).flat_map(|i| [0.9, 0.6 + 0.001 * f64::from(i)]));
    asked.reference = Reference::of_rows(both, &names).unwrap();
    let found = distilled(&asked);
    // Nothing between 0.1 and 0.9, nor the other feature, is needed to tell the two apart.
    assert_eq!((found.n_leaves(), found.tree.trees()[0].threshold[0]), (2, 0.5));
    asked.reference = Reference::of_rows(vec![0.3, 0.4], &names).unwrap();
    assert_eq!((distilled(&asked).n_leaves(), distilled(&asked).judged), (1, 10_000));
}

#[test]
fn what_cannot_be_served_is_refused_by_name() {
    let model = || corner(&[0.5, 0.5]);
    let refusal = |task: Task| {
        method(NAME)
            .unwrap()
            .prepare(&Arc::new(task))
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
    };
    for (option, word) in [
        ("depth=0", "from 1 to 64, got 0"),
        ("depth=2.5", "whole number"),
        ("copies=-1", "from 0 to 10000, got -1"),
        ("points=nan", "got NaN"),
        ("loss=bce", "(known: depth, copies, points, preset"),
        ("lambda2=1", "'lambda2'"),
    ] {
        let message = refusal(task(model(), &[option]));
        assert!(message.contains(word), "{option}: {message}");
    }
    let many = refusal(task(model(), &["copies=10000"]));
    assert!(many.contains("100010000") && many.contains("fewer copies"), "{many}");
    let mut limited = task(model(), &[]);
    limited.actions = limited.actions.with_max_changes(Some(1));
    assert!(refusal(limited).contains("number of changes"));
    let mut joint = task(model(), &[]);
    let full = Covariance::Full(vec![0.01, 0.005, 0.005, 0.01]);
    joint.noise = Arc::new(Gaussian::new(vec![0.0; 2], full).unwrap());
    assert!(refusal(joint).contains("independent over features"));
}
