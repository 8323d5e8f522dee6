//! Letters of a small lender, read in both languages.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use probe_core::{Answer, Engine, Linear, Rows, Schema, Setup};
use probe_words::{Addressee, Facts, Language, Layout, Letter, Witness};
use std::sync::Arc;

/// Income in thousands, debt in thousands, housing, years that nobody can change.
const SCHEMA: &str = r#"{"version": 1, "feature": [
  {"name": "yearly_income", "min": 0, "max": 90000, "step": 500, "direction": "increase", "scale": [0, 100000], "unit": "EUR", "cost": 2},
  {"name": "debt", "min": 0, "max": 50000, "step": 100, "direction": "decrease", "scale": [0, 50000], "unit": "EUR"},
  {"name": "housing", "kind": "categorical", "categories": ["rent", "own"], "cost": 0.05},
  {"name": "years", "mutable": false, "scale": [0, 50]}]}"#;

/// 4 income − 2 debt + (own: 0.3) + years − 2.2, scaled.
fn engine(max_rate: f64) -> Engine {
    let schema: Schema = serde_json::from_str(SCHEMA).unwrap();
    let names = schema.column_names();
    let model = Linear::new(vec![4.0, -2.0, 1.0, 0.0, 0.3], -2.2, 0.0).unwrap();
    assert_eq!(names, ["yearly_income", "debt", "years", "housing=rent", "housing=own"]);
    let mut setup = Setup::new(Arc::new(model), names, Some(&schema), 0.02).unwrap();
    setup.max_rate = max_rate;
    Engine::new(setup).unwrap()
}

fn facts(engine: &Engine, person: [f64; 5]) -> (Facts, Answer) {
    let answer = engine.recourse(Rows::single(&person)).unwrap().remove(0);
    let to = Addressee { row: 7, ..Addressee::default() };
    let facts = Witness::new(engine).unwrap().facts(&mut engine.session(), to, &person, &answer).unwrap();
    (facts, answer)
}

fn text(facts: &Facts, language: &str, layout: Layout) -> String {
    let language = Language::built_in(language).unwrap();
    Letter::new(&language, facts).unwrap().lay_out(&language, facts, layout).unwrap()
}

#[test]
fn print_all() {
    for (rate, person) in [
        (0.1, [30_000.0, 20_000.0, 10.0, 1.0, 0.0]),
        (1e-30, [30_000.0, 20_000.0, 10.0, 1.0, 0.0]),
        (0.1, [80_000.0, 0.0, 10.0, 0.0, 1.0]),
    ] {
        let (facts, answer) = facts(&engine(rate), person);
        eprintln!("{answer:?}\n{facts:?}");
        for language in ["en", "de"] {
            for layout in [Layout::Text, Layout::Markdown, Layout::Html] {
                eprintln!("{}", text(&facts, language, layout));
            }
        }
    }
}
