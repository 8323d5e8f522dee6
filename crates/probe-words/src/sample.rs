//! Sample letters, with which every template is tested before the first real letter.

use crate::error::Result;
use crate::facts::{
    Addressee, Basis, Bond, Change, Drift, Facts, Leeway, LeewaySide, Limited, Relief, Stop, Value,
};
use crate::language::Language;
use crate::letter::Letter;
use crate::output::{Layout, Pages};
use probe_core::Status;

/// Writes a letter of every status in every layout, and fails if one of them fails.
pub(crate) fn try_out(language: &Language) -> Result<()> {
    for status in [Status::Certified, Status::Found, Status::None, Status::Favourable] {
        let facts = facts(status);
        let letter = Letter::new(language, &facts)?;
        for layout in [Layout::Text, Layout::Markdown, Layout::Html] {
            letter.lay_out(language, &facts, layout)?;
        }
    }
    Pages::new(language, Layout::Html).map(|_| ())
}

/// Facts in which every field is filled.
fn facts(status: Status) -> Facts {
    let unit = || Some("EUR".to_owned());
    let change = |feature: &str, from: Value, to: Value, side: Option<LeewaySide>| Change {
        feature: feature.to_owned(),
        unit: unit(),
        from,
        to,
        cost: 1.0,
        usual_miss: Some(2.0),
        leeway: side.map(|side| Leeway { side, by: 3.0, steps: false }),
        spare: side.is_none(),
        outside: true,
        p_fail: Some(0.1),
    };
    let (low, high) = (|| Value::Number(1.0), || Value::Number(2.0));
    let choice = |name: &str| Value::Category(name.to_owned());
    let given = matches!(status, Status::Certified | Status::Found);
    let limited = |stop: Stop| Limited { feature: "b".to_owned(), unit: unit(), stop };
    Facts {
        to: Addressee { row: 0, option: Some(0), ids: vec![("id".to_owned(), "1".to_owned())] },
        status,
        reason: Some("rate-not-reachable".to_owned()),
        changes: if given {
            vec![
                change("a", low(), high(), Some(LeewaySide::Below)),
                change("b", high(), low(), Some(LeewaySide::Above)),
                change("c", choice("x"), choice("y"), None),
                change("d", low(), high(), Some(LeewaySide::Either)),
                change("e", low(), high(), None),
            ]
        } else {
            Vec::new()
        },
        drifts: vec![Drift { feature: "f".to_owned(), unit: unit(), usual_miss: 1.0 }],
        max_rate: 0.1,
        rate: 0.2,
        rate_upper: 0.1,
        best_rate: Some(0.15),
        exact: false,
        confidence: 0.999,
        reasons: vec!["a".to_owned()],
        reasons_by: Basis::Advice,
        limits: vec![
            limited(Stop::Immutable),
            limited(Stop::Direction),
            limited(Stop::AtMost(1.0)),
            limited(Stop::AtLeast(1.0)),
            limited(Stop::MaxChanges),
        ],
        relaxations: vec![
            Relief { feature: Some("a".to_owned()), unit: unit(), to: low(), upward: Some(true) },
            Relief { feature: Some("a".to_owned()), unit: unit(), to: low(), upward: Some(false) },
            Relief {
                feature: Some("a".to_owned()),
                unit: None,
                to: Value::Category("b".to_owned()),
                upward: None,
            },
            Relief { feature: None, unit: None, to: low(), upward: None },
        ],
        bonds: vec![
            Bond::Rule(["a", "<=", "b"].map(str::to_owned).to_vec()),
            Bond::Together(vec!["a".to_owned(), "b".to_owned()]),
        ],
        model_may_change: false,
    }
}
