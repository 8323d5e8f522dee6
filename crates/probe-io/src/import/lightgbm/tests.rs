use super::*;

/// One split on the only feature, left −1 and right 1.
fn stump(threshold: &str, decision: u8) -> String {
    format!(
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nmax_feature_idx=0\n\
         objective=binary sigmoid:1\nfeature_names=a\n\n\
         Tree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=0\nthreshold={threshold}\n\
         decision_type={decision}\nleft_child=-1\n\
         right_child=-2\nleaf_value=-1 1\nis_linear=0\n\nend of trees\n"
    )
}

fn score(text: &str, x: f64) -> f64 {
    read(text.as_bytes(), "m").unwrap().model.score(&[x]).unwrap()
}

#[test]
fn missing_values_go_where_each_kind_of_split_sends_them() {
    let goes = |threshold: &str, decision| score(&stump(threshold, decision), f64::NAN);
    // Nothing is missing: NaN counts as 0, whatever the default.
    for decision in [0, 2] {
        assert_eq!(
            (goes("0.5", decision), goes("0", decision), goes("-0.5", decision)),
            (-1.0, -1.0, 1.0)
        );
    }
    // NaN goes to the default.
    assert_eq!(
        (goes("0.5", 8), goes("0.5", 10), goes("-0.5", 8), goes("-0.5", 10)),
        (1.0, -1.0, 1.0, -1.0)
    );
    // Zero is missing: read where the default is its own side.
    assert_eq!((goes("0.5", 6), goes("-0.5", 4)), (-1.0, 1.0));
    for (threshold, decision) in [("0.5", 4), ("-0.5", 6), ("0.5", 1), ("0.5", 12), ("0.5", 16)] {
        assert!(
            read(stump(threshold, decision).as_bytes(), "m").is_err(),
            "{threshold} {decision}"
        );
    }
}

#[test]
fn values_next_to_zero_are_zero() {
    let zero = f64::from(1e-35_f32);
    let near = [-zero, -zero / 2.0, -0.0, 0.0, zero / 2.0, zero];
    // LightGBM's own thresholds around zero, and others within.
    for (threshold, side) in [
        ("-1.0000000180025095e-35", 1.0),
        ("-1e-36", 1.0),
        ("0", -1.0),
        ("1e-36", -1.0),
        ("1.0000000180025095e-35", -1.0),
    ] {
        let text = stump(threshold, 2);
        assert!(near.iter().all(|&x| score(&text, x) == side), "{threshold}");
        assert_eq!(
            (score(&text, (-zero).next_down()), score(&text, zero.next_up())),
            (-1.0, 1.0),
            "{threshold}"
        );
    }
}

#[test]
fn text_with_other_line_ends_and_a_byte_order_mark_is_the_same() {
    let text = stump("0.5", 2);
    let other = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert!(is(other.as_bytes()) && score(&other, 0.6) == 1.0 && score(&other, 0.5) == -1.0);
    assert!(!is(b"tree\n1\n") && !is(b"tree") && !is(b"trees\nversion=v4\n"));
}

#[test]
fn a_split_at_infinity_is_between_missing_values_and_all_others() {
    let text = stump("inf", 8);
    assert_eq!(
        (score(&text, f64::MAX), score(&text, -f64::MAX), score(&text, f64::NAN)),
        (-1.0, -1.0, 1.0)
    );
    assert_eq!(score(&stump("inf", 2), f64::NAN), -1.0);
    for threshold in ["-inf", "nan"] {
        assert!(read(stump(threshold, 8).as_bytes(), "m").is_err(), "{threshold}");
    }
}
