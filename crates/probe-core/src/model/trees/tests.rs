use super::*;

/// A split of feature 0 at `threshold` into leaves −1 and 1.
fn stump(threshold: f64) -> Tree {
    Tree {
        feature: vec![0, 0, 0],
        threshold: vec![threshold, 0.0, 0.0],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, -1.0, 1.0],
        default_left: vec![],
    }
}

#[test]
fn cuts_take_the_branch_of_the_rule_to_the_bit() {
    for threshold in
        [0.1, 0.5, f64::from(0.1_f32), 1.0 + f64::EPSILON, -3.7, 1e-40, 16_777_217.0, 0.0]
    {
        for split in [Split::AtMost, Split::Below] {
            for single in [false, true] {
                let rules = TreeRules { split, single, ..TreeRules::default() };
                let model = Trees::new(1, vec![stump(threshold)], rules, 0.0).unwrap();
                let cut = rules.cut(threshold);
                let near = f64::from(threshold as f32);
                for start in [
                    threshold,
                    cut,
                    near,
                    f64::from(near.next_up() as f32),
                    f64::from((near as f32).next_up()),
                ] {
                    let mut x = start;
                    for _ in 0..4 {
                        x = x.next_down();
                    }
                    for _ in 0..8 {
                        let seen = if single { f64::from(x as f32) } else { x };
                        let left = match split {
                            Split::AtMost => seen <= threshold,
                            Split::Below => seen < threshold,
                        };
                        let expected = if left { -1.0 } else { 1.0 };
                        assert_eq!(
                            model.score(&[x]).unwrap(),
                            expected,
                            "{x:e} {split:?} {threshold:e} {single}"
                        );
                        x = x.next_up();
                    }
                }
            }
        }
    }
}

#[test]
fn aggregates_are_what_files_say() {
    let leaf = |value: f64| Tree {
        feature: vec![0],
        threshold: vec![0.0],
        left: vec![-1],
        right: vec![-1],
        value: vec![value],
        default_left: vec![],
    };
    let trees = vec![leaf(0.9), leaf(0.5), leaf(0.2)];
    let score = |aggregate, base, negate| {
        let rules = TreeRules { aggregate, base, ..TreeRules::default() };
        let model = Trees::new(1, trees.clone(), rules, 0.0).unwrap();
        model.with_decision(negate, None).unwrap().score(&[0.0]).unwrap()
    };
    assert!((score(Aggregate::Sum, 0.25, false) - 1.85).abs() < 1e-15);
    assert!((score(Aggregate::Sum, 0.25, true) + 1.85).abs() < 1e-15);
    assert!((score(Aggregate::Mean, 0.0, false) - (1.6 / 3.0 - 0.5)).abs() < 1e-15);
    assert!((score(Aggregate::Mean, 0.0, true) + (1.6 / 3.0 - 0.5)).abs() < 1e-15);
    // One vote of three: a leaf of one half is no vote.
    assert!((score(Aggregate::Vote, 0.0, false) - (1.0 / 3.0 - 0.5)).abs() < 1e-15);
    assert!((score(Aggregate::Vote, 0.0, true) - (2.0 / 3.0 - 0.5)).abs() < 1e-15);
    let rules = TreeRules { aggregate: Aggregate::Mean, base: 1.0, ..TreeRules::default() };
    assert!(Trees::new(1, trees, rules, 0.0).is_err());
}

#[test]
fn missing_values_go_where_the_split_says() {
    let mut left = stump(0.5);
    left.default_left = vec![true, false, false];
    let mut right = stump(0.5);
    right.default_left = vec![false; 3];
    for (tree, expected) in [(left, -1.0), (right, 1.0)] {
        let model = Trees::new(2, vec![tree], TreeRules::default(), 0.0).unwrap();
        assert!(model.takes_missing(0) && model.takes_missing(1));
        assert_eq!(model.score(&[f64::NAN, 0.0]).unwrap(), expected);
    }
    assert!(!Trees::new(1, vec![stump(0.5)], TreeRules::default(), 0.0).unwrap().takes_missing(0));
}

#[test]
fn what_is_no_tree_is_refused_and_named() {
    let broken = |change: &dyn Fn(&mut Tree)| {
        let mut tree = stump(0.5);
        change(&mut tree);
        Trees::new(1, vec![stump(0.5), tree], TreeRules::default(), 0.0).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut Tree);
    let cases: [(Change<'_>, &str); 7] = [
        (&|tree| tree.left[0] = 0, "number of ways to node 0 of tree 1 must be 1, got 2"),
        (&|tree| tree.right[0] = 1, "number of ways to node 1 of tree 1 must be 1, got 2"),
        (
            &|tree| tree.right[0] = 3,
            "right child of node 0 of tree 1 must be a node of the tree, \
             or both children -1, got 3",
        ),
        (
            &|tree| tree.right[0] = -1,
            "right child of node 0 of tree 1 must be a node of the tree, \
             or both children -1, got -1",
        ),
        (
            &|tree| tree.threshold[0] = f64::NAN,
            "threshold of node 0 of tree 1 must be finite, got NaN",
        ),
        (
            &|tree| tree.feature[0] = 1,
            "feature of node 0 of tree 1 must be a feature of the model, got 1",
        ),
        (
            &|tree| tree.value[2] = f64::INFINITY,
            "value of node 2 of tree 1 must be finite, got inf",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(broken(change), expected);
    }
    assert!(broken(&|tree| tree.value.truncate(2)).contains("values of a tree's nodes"));
    assert!(Trees::new(1, vec![], TreeRules::default(), 0.0).is_err());
    assert!(Trees::new(1, vec![Tree::default()], TreeRules::default(), 0.0).is_err());
}
