//! Odd input: the page stays well-formed and prints no broken numbers.

use crate::sample::{checked, feature, sample};
use probe_experiments::report::{
    Batch, Bound, Frontier, Histogram, Method, ModelAnswer, NetworkPart, Region, Status, Value,
    cloud_picture,
};

#[test]
fn one_changed_feature_points_one_way() {
    let mut report = sample();
    report.features[1].recommended = report.features[1].current.clone();
    let cloud = report.cloud.as_mut().unwrap();
    (cloud.y.centre, cloud.y.sd) = (cloud.y.person, 0.0);
    let text = checked(&report);
    assert!(text.contains("more →") && !text.contains("← less"));
    assert!(!text.contains("86.5%"), "rings that are lines hold no such share");
}

#[test]
fn forty_features_long_names_and_extreme_numbers() {
    let mut report = sample();
    for j in 0..40 {
        let size = 10f64.powi(15 * (j % 40 - 20));
        let mut extra =
            feature(&format!("{}{j}", "a_very_long_column_name_".repeat(8)), size, size * 1.5);
        extra.tolerance = [Some(f64::NAN), Some(f64::INFINITY), None, Some(size)][j as usize % 4];
        extra.scaled_change = [f64::NAN, f64::INFINITY, -3.0, 0.0][j as usize % 4];
        extra.cost_share = f64::NAN;
        extra.noise_sd = Some(f64::INFINITY);
        report.features.push(extra);
    }
    let text = checked(&report);
    assert!(text.contains("Make 42 changes, above all"));
    assert!(text.contains("and 30 smaller changes: see the table"));
    assert!(text.contains("42 of 43 features"));
    assert!(
        text.contains("any amount") && text.contains("n/a"),
        "unlimited and unknown tolerances differ"
    );
}

#[test]
fn broken_numbers_are_left_out() {
    let bad =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 2.0, f64::MAX, 0.0, f64::MIN_POSITIVE];
    for a in bad {
        for b in bad {
            let mut report = sample();
            report.settings.max_rate = a;
            report.settings.sigma = Some(b);
            report.answer.cost = Some(a);
            report.answer.rate = Some(b);
            report.answer.best_rate = Some(a);
            report.answer.score_before = b;
            report.answer.score_after = Some(a);
            report.features[0].recommended = Value::Number(a);
            report.features[0].current = Value::Number(b);
            let frontier = report.frontier.as_mut().unwrap();
            frontier.points[0].cost = a;
            frontier.points[1].rate = b;
            frontier.chosen = Some(99);
            let cloud = report.cloud.as_mut().unwrap();
            (cloud.x.person, cloud.x.sd, cloud.y.centre, cloud.correlation) = (a, b.abs(), b, a);
            cloud.region = Some(Region::HalfPlane { a, b, c: a });
            cloud.samples[0].x = a;
            report.methods[0].rate = Some(a);
            let batch = report.batch.as_mut().unwrap();
            batch.costs = Histogram::of(&[a, b, 0.3], 10);
            checked(&report);
        }
    }
}

#[test]
fn empty_reports_are_pages_too() {
    let mut report = sample();
    report.features.clear();
    report.methods.clear();
    (report.frontier, report.cloud, report.batch) =
        (Some(Frontier::default()), None, Some(Batch::default()));
    for status in [Status::Certified, Status::Found, Status::None, Status::Favourable] {
        report.answer.status = status;
        checked(&report);
    }
}

#[test]
fn grids_shade_any_model() {
    let mut report = sample();
    let grid = |columns: usize, accepted: Vec<bool>| Region::Grid {
        x: [30_000.0, 39_000.0],
        y: [7_000.0, 15_000.0],
        columns,
        accepted,
    };
    report.cloud.as_mut().unwrap().region =
        Some(grid(3, vec![false, true, true, true, false, true]));
    let svg = cloud_picture(&report, "c", 700.0).unwrap().standalone();
    assert_eq!(svg.matches("class=\"region-yes\"").count(), 3, "one rectangle for each run");
    checked(&report);
    for (columns, cells) in [(0, 4), (5, 4), (3, 0)] {
        report.cloud.as_mut().unwrap().region = Some(grid(columns, vec![true; cells]));
        checked(&report);
    }
}

#[test]
fn a_network_beside_the_model_has_its_section() {
    let mut report = sample();
    assert!(!checked(&report).contains("scored by a network"));
    let answer = |name: &str, status, bound| ModelAnswer {
        name: name.to_owned(),
        accuracy: Some(0.8),
        status,
        cost: Some(0.5),
        rate: Some(0.09),
        bound,
        features: report.features.clone(),
    };
    let bound = Some(Bound { upper: 0.1, confidence: 0.999 });
    let answers = vec![
        answer("linear", Status::Certified, None),
        answer("network <1>", Status::Certified, bound),
        answer("unsure", Status::Found, bound),
        answer("none", Status::None, None),
    ];
    let method = Method { certified: Some(0.975), ..report.methods[0].clone() };
    report.network = Some(NetworkPart { answers, n_people: 1_200, methods: vec![method] });
    let text = checked(&report);
    for words in [
        "9%, exactly",
        "10%, tested",
        "not certified",
        "at most 0.1%",
        "for 1,200 people",
        "97.5%",
        "network <1>",
    ] {
        assert!(text.contains(words), "no '{words}' in {text}");
    }
    // Nobody to compare on: no table of methods.
    if let Some(part) = &mut report.network {
        part.n_people = 0;
    }
    assert!(!checked(&report).contains("Methods on the network"));
}
