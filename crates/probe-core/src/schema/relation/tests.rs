use super::*;
use crate::schema::{Actions, Schema, Violation};

fn features() -> Vec<Feature> {
    let scaled = |name: &str, scale| Feature { scale: Some(scale), ..Feature::numeric(name) };
    let job = Feature {
        name: "job".to_owned(),
        kind: Kind::Categorical,
        categories: ["none", "part time", "full time"].map(str::to_owned).to_vec(),
        ..Feature::default()
    };
    vec![
        scaled("hours-per-week", [0.0, 50.0]),
        scaled("used", [100.0, 300.0]),
        scaled("limit", [0.0, 400.0]),
        job,
    ]
}

fn rule(text: &str) -> Relation {
    Relation { rule: Some(text.to_owned()), ..Relation::default() }
}

fn actions(relation: Relation) -> Result<Actions> {
    let schema = Schema { relations: vec![relation], ..Schema::new(features()) };
    schema.check()?;
    Encoding::new(&schema, &schema.column_names())?.actions(true)
}

/// A row in scaled units: hours, used, limit in raw units and a job.
fn row(hours: f64, used: f64, limit: f64, job: usize) -> Vec<f64> {
    let mut row = vec![hours / 50.0, (used - 100.0) / 200.0, limit / 400.0, 0.0, 0.0, 0.0];
    row[3 + job] = 1.0;
    row
}

#[test]
fn an_order_holds_in_raw_units() {
    let actions = actions(rule("used <= limit")).unwrap();
    let from = row(20.0, 150.0, 200.0, 0);
    assert!(actions.violations(&from, &row(20.0, 200.0, 200.0, 0)).is_empty());
    assert_eq!(actions.violations(&from, &row(20.0, 200.1, 200.0, 0)), [Violation::Relation(0)]);
    // Alone, "used" may grow to the limit, and the limit may fall to what is used.
    let (low, high) = actions.interval_alone(1, &from).unwrap();
    assert!((high - 0.5).abs() < 1e-12 && low == f64::NEG_INFINITY, "{low} {high}");
    assert!((actions.interval_alone(2, &from).unwrap().0 - 150.0 / 400.0).abs() < 1e-12);
}

#[test]
fn who_breaks_an_order_may_not_break_it_further() {
    let actions = actions(rule("limit >= used")).unwrap();
    let from = row(20.0, 250.0, 200.0, 0);
    assert!(actions.violations(&from, &from).is_empty());
    assert!(actions.violations(&from, &row(20.0, 240.0, 195.0, 0)).is_empty());
    assert_eq!(actions.violations(&from, &row(20.0, 250.0, 199.0, 0)), [Violation::Relation(0)]);
}

#[test]
fn sums_have_factors_and_constants() {
    let actions = actions(rule("2 * hours-per-week + 10 = limit - used")).unwrap();
    // 2 * 20 + 10 = 50 = 200 - 150.
    let from = row(20.0, 150.0, 200.0, 0);
    assert!(actions.violations(&from, &row(25.0, 150.0, 210.0, 0)).is_empty());
    assert!(actions.violations(&from, &row(20.0, 160.0, 210.0, 0)).is_empty());
    assert_eq!(actions.violations(&from, &row(25.0, 150.0, 205.0, 0)), [Violation::Relation(0)]);
    let (low, high) = actions.interval_alone(0, &from).unwrap();
    assert_eq!((low, high), (from[0], from[0]));
}

#[test]
fn what_moves_together_keeps_its_proportion() {
    let together = Relation {
        together: vec!["used".to_owned(), "limit".to_owned()],
        ratio: vec![1.0, 2.0],
        ..Relation::default()
    };
    let actions = actions(together).unwrap();
    let from = row(20.0, 150.0, 200.0, 0);
    assert!(actions.violations(&from, &row(20.0, 160.0, 220.0, 0)).is_empty());
    assert_eq!(actions.violations(&from, &row(20.0, 160.0, 210.0, 0)), [Violation::Relation(0)]);
}

#[test]
fn what_is_fixed_depends_on_the_answer() {
    let fixed = |when: &str| Relation {
        when: Some(when.to_owned()),
        fixed: vec!["hours-per-week".to_owned()],
        ..Relation::default()
    };
    let from = row(20.0, 150.0, 200.0, 0);
    let unless = actions(fixed("job = none")).unwrap();
    assert_eq!(unless.violations(&from, &row(30.0, 150.0, 200.0, 0)), [Violation::Relation(0)]);
    assert!(unless.violations(&from, &row(30.0, 150.0, 200.0, 2)).is_empty());
    let only = actions(fixed("job != part time")).unwrap();
    assert_eq!(only.violations(&from, &row(30.0, 150.0, 200.0, 2)), [Violation::Relation(0)]);
    let rich = actions(fixed("limit >= 300")).unwrap();
    assert!(rich.violations(&from, &row(30.0, 150.0, 299.0, 0)).is_empty());
    assert_eq!(rich.violations(&from, &row(30.0, 150.0, 300.0, 0)), [Violation::Relation(0)]);
}

#[test]
fn what_is_missing_holds_what_is_tied_to_it() {
    let mut missing = vec![false; 6];
    missing[1] = true;
    let order = actions(rule("used <= limit")).unwrap().without(&missing);
    assert!(order.ties().is_empty());
    let from = row(20.0, 150.0, 200.0, 0);
    // It stays, and people miss it as they would.
    assert_eq!(order.interval(2, from[2]), Some((from[2], from[2])));
    assert!(order.is_mutable_numeric(2) && order.interval(0, from[0]).unwrap().1 > from[0]);
    assert_eq!(order.violations(&from, &row(20.0, 150.0, 210.0, 0)), [Violation::Bounds(2)]);
}

#[test]
fn nonsense_is_refused_by_name() {
    let fixed = |when: &str, what: &[&str]| Relation {
        when: Some(when.to_owned()),
        fixed: what.iter().map(|f| (*f).to_owned()).collect(),
        ..Relation::default()
    };
    for (relation, words) in [
        (rule("used < limit"), "one of <=, >= and ="),
        (rule("used <= limit <= 5"), "one of <=, >= and ="),
        (rule("used <= wealth"), "wealth"),
        (rule("used <= job"), "'job' is a category"),
        (rule("used + <= limit"), "missing"),
        (rule("1 <= 2"), "names no feature"),
        (Relation::default(), "give a rule"),
        (
            Relation { together: vec!["used".to_owned()], ..Relation::default() },
            "two or more features",
        ),
        (
            Relation {
                together: vec!["used".to_owned(), "used".to_owned()],
                ..Relation::default()
            },
            "twice",
        ),
        (rule("used <= 1e308 * limit"), "too large"),
        (fixed("job = boss", &["used"]), "none, part time, full time"),
        (fixed("job <= none", &["used"]), "use = or !="),
        (fixed("used = 5", &["limit"]), "use <= or >="),
        (fixed("used <= much", &["limit"]), "'much' is not a number"),
        (fixed("used <= 5", &["wealth"]), "wealth"),
        (fixed("used <= 5", &[]), "give a rule"),
    ] {
        let error = actions(relation.clone()).unwrap_err().to_string();
        assert!(error.contains(words), "{relation:?}: {error}");
    }
}

#[test]
fn a_feature_that_is_named_twice_counts_twice() {
    let actions = actions(rule("used + used <= limit")).unwrap();
    let from = row(20.0, 100.0, 200.0, 0);
    assert!(actions.violations(&from, &row(20.0, 150.0, 300.0, 0)).is_empty());
    assert_eq!(actions.violations(&from, &row(20.0, 151.0, 300.0, 0)), [Violation::Relation(0)]);
}
