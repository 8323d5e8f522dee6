//! The written page: well-formed, self-contained, complete, the same every time, and never at a
//! loss.

mod edges;
mod sample;

use probe_experiments::report::{
    Answer, Bound, Report, Status, Value, changes_picture, cloud_picture, frontier_picture, render,
    summary,
};
use sample::{checked, sample};

#[test]
fn the_first_screen_says_what_to_do_and_how_sure_it_is() {
    let report = sample();
    let sentences = summary(&report);
    assert_eq!(
        sentences[0],
        "Raise income from 31,200 to 36,500 EUR and lower debts from 14,300 to 9,100 EUR."
    );
    assert!(sentences[1].contains("90 in 100 attempts still get a yes"), "{}", sentences[1]);
    assert!(sentences[2].contains("0.25 instead of 0.42") && sentences[2].contains("50 in 100"));
    let page = render(&report);
    let first = page.find(&sentences[0]).expect("advice on the page");
    assert!(first < page.find("<section>").expect("sections"), "the advice comes first");
}

#[test]
fn numbers_and_captions_are_there() {
    let text = checked(&sample());
    for part in [
        "10 in 100 fail: cost 0.42",
        "50 in 100 fail: cost 0.25",
        "31,200 → 36,500 EUR",
        "14,300 → 9,100 EUR",
        "+5,300 EUR",
        "−5,200 EUR",
        "0.812",
        "86.5%",
        "some crosses lie on the yes side",
        "1 lie outside the picture",
        "How people miss was assumed, not observed",
        "wachter",
        "missed",
    ] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn a_cloud_without_other_noise_does_not_excuse_itself() {
    let mut report = sample();
    report.cloud.as_mut().unwrap().others_noisy = false;
    let text = checked(&report);
    assert!(
        text.contains("the drawn line decides every attempt") && !text.contains("some crosses lie")
    );
}

#[test]
fn names_are_escaped_everywhere() {
    let mut report = sample();
    let evil = "<script>alert(\"1\")</script> & 'co' \u{1}";
    report.title = evil.to_owned();
    report.person = evil.to_owned();
    report.settings.noise = evil.to_owned();
    report.answer.status = Status::Found;
    report.features[0].name = evil.to_owned();
    report.features[0].unit = Some("<b>".to_owned());
    report.features[1].current = Value::Category(evil.to_owned());
    report.features[1].recommended = Value::Category("]]>".to_owned());
    report.cloud.as_mut().unwrap().x.name = evil.to_owned();
    report.methods[0].note = evil.to_owned();
    let text = checked(&report);
    assert!(text.contains("<script>alert(\"1\")</script> & 'co'"), "text survives as text");
    assert!(!render(&report).contains("<script"));
}

#[test]
fn no_recourse_gives_reason_and_best_rate() {
    let mut report = sample();
    for feature in &mut report.features {
        feature.recommended = feature.current.clone();
    }
    report.answer = Answer {
        status: Status::None,
        reason: "infeasible-within-bounds".to_owned(),
        proven: true,
        cost: None,
        rate: None,
        bound: None,
        best_rate: Some(0.86),
        score_before: -1.25,
        score_after: None,
    };
    (report.frontier, report.batch) = (None, None);
    let text = checked(&report);
    for part in [
        "There is no recourse",
        "the allowed ranges end before the model says yes",
        "86 in 100",
        "best reachable",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("What to change") && !text.contains("What safety costs"));
    report.cloud = None;
    (report.answer.reason, report.answer.best_rate) = (String::new(), None);
    assert!(!checked(&report).contains("The reason"));
    assert!(checked(&report).contains("no allowed change makes this model say yes"));
    report.answer.proven = false;
    assert!(checked(&report).contains("which does not prove that there is none"));
}

#[test]
fn missed_and_sampled_targets_are_not_sold_as_kept() {
    let mut report = sample();
    report.answer.status = Status::Found;
    report.answer.rate = Some(0.22);
    report.answer.best_rate = Some(0.2);
    let second = summary(&report)[1].clone();
    assert!(second.starts_with("This is less safe than was asked: 22 in 100"), "{second}");
    assert!(second.contains("no allowed change gets below 20 in 100"), "{second}");
    report.answer.proven = false;
    let second = summary(&report)[1].clone();
    assert!(second.contains("the search found no allowed change below 20 in 100"), "{second}");
    report.answer.status = Status::Certified;
    report.answer.rate = Some(0.08);
    report.answer.bound = Some(Bound { upper: 0.095, confidence: 0.999 });
    let second = summary(&report)[1].clone();
    assert!(second.contains("99.9% confidence") && second.contains("95 in 1,000"), "{second}");
}

#[test]
fn pictures_stand_alone() {
    let report = sample();
    for svg in [
        frontier_picture(&report, "f", 700.0),
        changes_picture(&report, "c", 340.0),
        cloud_picture(&report, "n", 340.0),
    ] {
        let text = svg.unwrap().standalone();
        let document = roxmltree::Document::parse(&text).expect("well-formed picture");
        assert_eq!(
            document.root_element().tag_name().namespace(),
            Some("http://www.w3.org/2000/svg")
        );
        assert!(text.contains("<style>"));
        // Programs that are no browsers know no custom properties, and would draw all in black.
        assert!(!text.contains("var("), "{text}");
    }
}

#[test]
fn another_category_has_no_bar() {
    let mut report = sample();
    let bars = |report: &Report| {
        let text = changes_picture(report, "c", 700.0).unwrap().inline();
        (
            text.matches("class=\"need\"").count(),
            text.contains("today"),
            text.contains("temporary → permanent"),
        )
    };
    let (before, ..) = bars(&report);
    let mut category = report.features[0].clone();
    category.name = "employment".to_owned();
    (category.current, category.recommended) =
        (Value::Category("temporary".to_owned()), Value::Category("permanent".to_owned()));
    category.scaled_change = 0.0;
    report.features.push(category.clone());
    assert_eq!(bars(&report), (before, true, true));
    assert!(checked(&report).contains("A change of category has no length, and no bar"));
    report.features = vec![category];
    assert_eq!(bars(&report), (0, false, true));
    assert!(!checked(&report).contains("Bars are as long"));
}

#[test]
fn reports_survive_json() {
    let report = sample();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}
