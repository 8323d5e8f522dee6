use super::*;
use serde_json::json;

#[test]
fn json_of_xgboost_is_told_by_its_own_keys() {
    assert!(is_json(b"{\"learner\":{\"attributes\":"));
    assert!(is_json(
        b"\xef\xbb\xbf {\"version\": [3, \"format\", {\"format\": 1}],\n \"learner\" : {"
    ));
    for other in [
        &b"{\"format\": \"probe-model\", \"learner\": 1}"[..],
        b"{\"a\": \"learner\"}",
        b"{\"a\": {\"learner\": 1}}",
        b"[\"learner\", {\"learner\": 1}]",
        b"{\"a\\\"learner\": 1}",
        b"{} {\"learner\": 1}",
        b"{\"learner",
        b"{\"learner\\",
        b"learner",
        b"",
    ] {
        assert!(!is_json(other), "{}", String::from_utf8_lossy(other));
    }
}

fn base(score: Value, objective: &str) -> Result<f64, String> {
    let value = json!({"base_score": score});
    base_margin(&Node::root(&value, "m").need("base_score").unwrap(), objective)
        .map_err(|error| error.to_string())
}

#[test]
fn base_scores_are_read_as_every_version_stores_them() {
    for score in [json!("2.5E-1"), json!("[2.5E-1]"), json!(" [0.25] "), json!(0.25), json!([0.25])]
    {
        // ln(1/3), in single precision.
        assert_eq!(base(score.clone(), "binary:logistic").unwrap(), f64::from(-1.098_612_3_f32));
        assert_eq!(base(score, RAW).unwrap(), 0.25);
    }
    assert_eq!(base(json!("5E-1"), "reg:logistic").unwrap(), 0.0);
    assert_eq!(base(json!(-3), RAW).unwrap(), -3.0);
    for wrong in [
        json!("[0.5,0.5]"),
        json!([0.5, 0.5]),
        json!("x"),
        json!("NaN"),
        json!("0"),
        json!(1),
        json!("inf"),
        json!({}),
    ] {
        assert!(base(wrong.clone(), "binary:logistic").is_err(), "{wrong}");
    }
    for wrong in [json!("NaN"), json!("inf"), json!(1e39)] {
        assert!(base(wrong.clone(), RAW).is_err(), "{wrong}");
    }
}

#[test]
fn numbers_that_json_lacks_become_texts_outside_of_texts() {
    let text =
        |text: &str| String::from_utf8(numbers_as_text(text.as_bytes()).into_owned()).unwrap();
    assert_eq!(text(r#"[NaN,1,-Infinity,Infinity]"#), r#"["NaN",1,"-Infinity","Infinity"]"#);
    for same in [r#"{"NaN \" NaN": "Infinity"}"#, "", "\"", "\"\\"] {
        assert_eq!(text(same), same);
    }
}
