//! Letters of a small lender: read as they are, in both languages, and held against the facts.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use probe_core::{Engine, Linear, Rows, Schema, Setup, Status};
use probe_words::{
    Addressee, Change, Facts, Language, Layout, Leeway, LeewaySide, Letter, Record, Value, Witness,
};
use proptest::prelude::*;
use std::sync::Arc;

const SCHEMA: &str = concat!(
    r#"{"version": 1, "feature": [
  {"name": "yearly_income", "min": 0, "max": 90000, "step": 500, "direction": "increase", "#,
    r#""scale": [0, 100000], "unit": "EUR", "cost": 2},
  {"name": "debt", "min": 0, "max": 50000, "step": 100, "direction": "decrease", "#,
    r#""scale": [0, 50000], "unit": "EUR"},
  {"name": "housing", "kind": "categorical", "categories": ["rent", "own"], "cost": 0.05},
  {"name": "years", "mutable": false, "scale": [0, 50]}]}"#
);

/// 4 income − 2 debt + years + (own: 0.3) − 2.2, scaled.
fn engine(schema: &str, max_rate: f64) -> Engine {
    let schema: Schema = serde_json::from_str(schema).unwrap();
    let names = schema.column_names();
    assert_eq!(names[..3], ["yearly_income", "debt", "years"]);
    let model = Linear::new(vec![4.0, -2.0, 1.0, 0.0, 0.3], -2.2, 0.0).unwrap();
    let mut setup = Setup::new(Arc::new(model), names, Some(&schema), 0.02).unwrap();
    setup.max_rate = max_rate;
    Engine::new(setup).unwrap()
}

fn facts(engine: &Engine, person: [f64; 5]) -> Facts {
    let answer = engine.recourse(Rows::single(&person)).unwrap().remove(0);
    let to = Addressee { row: 7, ..Addressee::default() };
    Witness::new(engine).unwrap().facts(&mut engine.session(), to, &person, &answer).unwrap()
}

fn text(facts: &Facts, language: &str, layout: Layout) -> String {
    let language = Language::built_in(language).unwrap();
    Letter::new(&language, facts).unwrap().lay_out(&language, facts, layout).unwrap()
}

const DENIED: [f64; 5] = [30_000.0, 20_000.0, 10.0, 1.0, 0.0];

/// A letter of each status.
fn cases() -> [(&'static str, Facts); 4] {
    let certified = facts(&engine(SCHEMA, 0.1), DENIED);
    // A sampled answer that missed its target, with more changes than a letter lists.
    let mut found = certified.clone();
    (found.status, found.reason) = (Status::Found, Some("rate-not-reachable".to_owned()));
    (found.rate, found.rate_upper, found.best_rate, found.exact) =
        (0.2345, 0.24, Some(0.21), false);
    for (feature, cost) in [("late_payments", 0.03), ("open_accounts", 0.02), ("card_use", 0.01)] {
        found.changes.push(Change {
            feature: feature.to_owned(),
            unit: None,
            from: Value::Number(3.5),
            to: Value::Number(1.25),
            cost,
            usual_miss: Some(0.333_333),
            outside: false,
            leeway: Some(Leeway { side: LeewaySide::Either, by: 0.1, steps: false }),
            spare: false,
            p_fail: None,
        });
    }
    found.changes[0].outside = true;
    let narrow = SCHEMA.replace("\"max\": 90000", "\"max\": 40000");
    let none = facts(&engine(&narrow, 0.1), DENIED);
    let favourable = facts(&engine(SCHEMA, 0.1), [55_000.0, 0.0, 10.0, 0.0, 1.0]);
    [("certified", certified), ("found", found), ("none", none), ("favourable", favourable)]
}

#[test]
fn letters_read_as_they_were_read_by_people() {
    for (name, facts) in cases() {
        assert_eq!(facts.status.as_str(), name);
        for language in ["en", "de"] {
            let path =
                format!("{}/tests/letters/{name}.{language}.txt", env!("CARGO_MANIFEST_DIR"));
            let found = text(&facts, language, Layout::Text);
            let expected = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(found == expected, "{path} differs from:\n{found}");
        }
    }
}

/// Numbers of an English text, and those that are written in words of their own.
fn numbers(text: &str) -> Vec<f64> {
    let bare = text.replace(',', "");
    bare.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|token| token.trim_matches('.'))
        .filter(|token| !token.is_empty())
        .map(|token| token.parse().unwrap())
        .collect()
}

/// Whether `number` is the share of a million people, rounded to whole ones: no letter counts more
/// finely.
fn is_whole_of_a_million(number: f64, rate: f64) -> bool {
    let off = |share: f64| (number - share * 1e6).abs() < 1.0;
    number.fract() == 0.0 && rate < 1e-4 && (off(rate) || off(1.0 - rate))
}

/// Whether `number` follows from the facts: a value to the bit, a miss to three digits, a tolerance
/// never above what is proven, or a count.
fn is_backed(number: f64, facts: &Facts) -> bool {
    let value = |value: &Value| matches!(value, Value::Number(v) if *v == number);
    let about = |size: f64| (number - size).abs() <= 0.005 * size;
    let change = |change: &Change| {
        value(&change.from)
            || value(&change.to)
            || change.usual_miss.is_some_and(about)
            || change.leeway.is_some_and(|leeway| match leeway.steps {
                true => number == leeway.by,
                false => number < leeway.by && number > 0.98 * leeway.by,
            })
    };
    let share = |rate: f64| {
        [100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0].iter().any(|out_of| {
            number == *out_of
                || (number - rate * out_of).abs() <= 0.05 * rate * out_of + 1e-9
                || (number - (1.0 - rate) * out_of).abs() <= 0.05 * rate * out_of + 1e-9
        }) || is_whole_of_a_million(number, rate)
    };
    let rare = number == 1.0 && facts.rate < 1e-6;
    let rates = [Some(facts.rate), Some(facts.rate_upper), Some(facts.max_rate), facts.best_rate];
    let limit = |limit: &probe_words::Limited| {
        matches!(limit.stop,
        probe_words::Stop::AtMost(v) | probe_words::Stop::AtLeast(v) if v == number)
    };
    facts.changes.iter().any(change)
        || facts.drifts.iter().any(|drift| about(drift.usual_miss))
        || rates.into_iter().flatten().any(share)
        || facts.limits.iter().any(limit)
        || rare
        || number == facts.to.row as f64
        || (number - 100.0 * facts.confidence).abs() < 1e-9
        // Numbers of the steps, and how many there are.
        || (number.fract() == 0.0 && number <= facts.changes.len() as f64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_number_is_backed_and_every_change_is_told(
        income in 0.0..100_000.0_f64, debt in 0.0..50_000.0_f64, years in 0.0..50.0_f64, own: bool,
            rate in 0.001..0.6_f64,
    ) {
        let own = f64::from(u8::from(own));
        let facts = facts(&engine(SCHEMA, rate), [income, debt, years, 1.0 - own, own]);
        let told = text(&facts, "en", Layout::Text);
        for number in numbers(&told) {
            prop_assert!(is_backed(number, &facts), "{number} in:\n{told}\n{facts:?}");
        }
        prop_assert!(!told.contains("housing=") && !told.contains('{') && !told.contains("NaN"),
            "{told}");
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for change in &facts.changes {
            prop_assert!(flat.contains(&change.feature.replace('_', " ")), "{} in:\n{told}",
                change.feature);
        }
        prop_assert_eq!(told.contains("at least"), facts.status == Status::Certified, "{}", told);
    }
}

#[test]
fn room_for_the_whole_change_is_said_once() {
    // Without moving to an own home the score is above zero, and with it the rate is as asked.
    let facts = facts(&engine(SCHEMA, 1e-30), DENIED);
    let housing = facts.changes.iter().find(|change| change.feature == "housing").unwrap();
    assert!(housing.spare && housing.leeway.is_none());
    let debt = facts.changes.iter().find(|change| change.feature == "debt").unwrap();
    assert!(debt.spare && debt.leeway.is_some());
    let told = text(&facts, "en", Layout::Text);
    assert_eq!(told.matches("This step is for safety").count(), 2, "{told}");
    assert_eq!(told.matches(", up to ").count(), 1, "{told}");
}

#[test]
fn reasons_are_of_the_advice_or_against_approved_people() {
    let person = DENIED;
    // Income has to rise by most; what its change is worth is 4 · Δ income.
    let by_advice = facts(&engine(SCHEMA, 0.1), person);
    assert_eq!(by_advice.reasons[0], "yearly_income");
    assert!(!by_advice.reasons.contains(&"years".to_owned()));
    // Approved people who differ in income and years. One who is turned down does not count.
    let mut setup = engine(SCHEMA, 0.1).setup().clone();
    let mut approved = person;
    (approved[2], approved[0]) = (50.0, 60_000.0);
    setup.reference = Some([approved, [0.0, 50_000.0, 50.0, 1.0, 0.0]].concat().into());
    let engine = Engine::new(setup).unwrap();
    let by_reference = facts(&engine, person);
    // 4 · 0.3 for income, 40 / 50 for years, and nothing else.
    assert_eq!(by_reference.reasons, ["yearly_income", "years"]);
    assert!(text(&by_reference, "en", Layout::Text).contains("Compared with people who got a yes"));
}

#[test]
fn a_hostile_name_stays_a_name() {
    const NAME: &str = "<script>alert('x')</script> {{ facts }} {% raw %} *b* \u{1b}[31m\n# h";
    let mut facts = cases()[0].1.clone();
    let change = facts.changes.iter_mut().find(|change| change.feature == "housing").unwrap();
    change.to = Value::Category(NAME.to_owned());
    change.feature = "a<u>&\"'".to_owned();
    facts.to.ids = vec![("id".to_owned(), NAME.to_owned())];
    for language in ["en", "de"] {
        let html = text(&facts, language, Layout::Html);
        assert!(
            !html.contains("<script") && !html.contains("<u>") && html.contains("&lt;script&gt;"),
            "{html}"
        );
        assert!(html.contains("{{ facts }} {% raw %}"), "{html}");
        let markdown = text(&facts, language, Layout::Markdown);
        assert!(!markdown.contains("<script") && markdown.contains("\\*b\\*"), "{markdown}");
        assert!(!markdown.contains("\n# h"), "{markdown}");
        for layout in [Layout::Text, Layout::Markdown, Layout::Html] {
            assert!(!text(&facts, language, layout).contains('\u{1b}'));
        }
        let language = Language::built_in(language).unwrap();
        let letter = Letter::new(&language, &facts).unwrap();
        let record = serde_json::to_value(Record { facts: &facts, letter: &letter }).unwrap();
        assert!(record["letter"]["steps"]["items"].to_string().contains("<script>"));
        assert!(record["changes"].as_array().unwrap().iter().any(|change| change["to"] == NAME));
    }
}
