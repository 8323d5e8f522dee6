//! A report to start from, and what must hold for every page.

use probe_core::NoiseOn;
use probe_experiments::report::{
    Answer, Batch, Cloud, CloudAxis, Frontier, FrontierPoint, Histogram, Method, ModelCard,
    PersonFeature, Region, Report, Sample, Settings, Status, StatusCount, Value, render, summary,
};

pub(crate) fn feature(name: &str, from: f64, to: f64) -> PersonFeature {
    PersonFeature {
        name: name.to_owned(),
        unit: Some("EUR".to_owned()),
        mutable: true,
        current: Value::Number(from),
        recommended: Value::Number(to),
        scaled_change: (to - from) / 10_000.0,
        cost_share: 0.5,
        tolerance: Some(600.0),
        noise_sd: Some(500.0),
    }
}

pub(crate) fn sample() -> Report {
    let point = |rate: f64, cost: f64| FrontierPoint { target_rate: rate, rate, cost, changed: 2 };
    let axis = |name: &str, person: f64, centre: f64| CloudAxis {
        name: name.to_owned(),
        unit: Some("EUR".to_owned()),
        person,
        centre,
        sd: 500.0,
    };
    Report {
        title: "Credit".to_owned(),
        person: "row 17".to_owned(),
        model: ModelCard {
            kind: "linear".to_owned(),
            n_features: 3,
            accuracy: Some(0.8125),
            ..ModelCard::default()
        },
        settings: Settings {
            max_rate: 0.1,
            noise: "gaussian".to_owned(),
            sigma: Some(0.05),
            noise_on: NoiseOn::Mutable,
            cost: "l1".to_owned(),
            method: "probe".to_owned(),
            seed: 7,
            version: "0.1.0".to_owned(),
        },
        features: vec![
            feature("income", 31_200.0, 36_500.0),
            feature("debts", 14_300.0, 9_100.0),
            PersonFeature { mutable: false, ..feature("age", 34.0, 34.0) },
        ],
        answer: Answer {
            status: Status::Certified,
            reason: String::new(),
            proven: true,
            cost: Some(0.42),
            rate: Some(0.1),
            bound: None,
            best_rate: None,
            score_before: -1.25,
            score_after: Some(0.875),
        },
        frontier: Some(Frontier {
            points: vec![point(0.3, 0.31), point(0.1, 0.42), point(0.02, 0.55)],
            chosen: Some(1),
            cheapest_flip: Some(point(0.5, 0.25)),
        }),
        cloud: Some(Cloud {
            x: axis("income", 31_200.0, 36_500.0),
            y: axis("debts", 14_300.0, 9_100.0),
            correlation: 0.3,
            region: Some(Region::HalfPlane { a: 1.0, b: -1.0, c: 26_000.0 }),
            samples: vec![
                Sample { x: 36_900.0, y: 9_000.0, accepted: true },
                Sample { x: 35_200.0, y: 10_100.0, accepted: false },
                Sample { x: 99_000.0, y: 9_000.0, accepted: true },
            ],
            others_noisy: true,
        }),
        batch: Some(Batch {
            costs: Histogram::of(&[0.1, 0.2, 0.25, 0.7], 5),
            statuses: vec![StatusCount { status: Status::Certified, count: 4 }],
        }),
        methods: vec![Method {
            name: "wachter".to_owned(),
            note: "cheapest flip".to_owned(),
            accuracy: Some(1.0),
            rate: Some(0.5),
            cost: Some(0.25),
            certified: None,
        }],
        network: None,
        letter: None,
    }
}

/// Parses the page, checks what must hold for every page, and returns its visible text.
pub(crate) fn checked(report: &Report) -> String {
    let page = render(report);
    assert_eq!(page, render(report), "same data, same bytes");
    let options =
        roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let document =
        roxmltree::Document::parse_with_options(&page, options).expect("well-formed page");
    let mut text = String::new();
    let mut ids = std::collections::BTreeSet::new();
    for node in document.descendants() {
        let tag = node.tag_name().name();
        assert!(
            !["script", "link", "img", "iframe"].contains(&tag),
            "{tag} in a self-contained page"
        );
        for attribute in node.attributes() {
            assert!(
                !["href", "src"].contains(&attribute.name()),
                "{} points elsewhere",
                attribute.value()
            );
            for word in attribute.value().split(|c: char| !c.is_alphanumeric()) {
                assert!(word != "NaN" && word != "inf", "{tag} {}", attribute.value());
            }
        }
        if let Some(id) = node.attribute("id") {
            assert!(ids.insert(id), "id {id} twice");
        }
        if tag == "svg" {
            let named = node.attribute("aria-labelledby").expect("named picture");
            assert_eq!(named.split(' ').count(), 2);
            let child = |tag: &str| {
                node.children().find(|c| c.tag_name().name() == tag).and_then(|c| c.text())
            };
            assert!(
                child("title").is_some_and(|t| !t.is_empty())
                    && child("desc").is_some_and(|t| !t.is_empty())
            );
        }
        if node.is_text() && node.parent().is_some_and(|p| p.tag_name().name() != "style") {
            text.push_str(node.text().unwrap_or_default());
            text.push('\n');
        }
    }
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        assert!(word != "NaN" && word != "inf", "a number that is none: {text}");
    }
    assert!(!page.contains("url(http") && !page.contains("@import"));
    assert!(summary(report).len() <= 4);
    text
}
