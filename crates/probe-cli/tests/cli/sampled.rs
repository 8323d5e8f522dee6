//! Answers whose rate is sampled: networks, and noise without a closed form.
//!
//! The network is `2 a + b - 2` in disguise (a rectifier of it less a rectifier of its negative),
//! so that every rate is known.

use crate::support::{Folder, upper_tail};
use serde_json::Value;

pub(crate) const NETWORK: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
    r#""activation": "relu",
    "layers": [{"weight": [[2.0, 1.0], [-2.0, -1.0]], "bias": [-2.0, 2.0]}, "#,
    r#"{"weight": [[1.0, -1.0]], "bias": [0.0]}]}"#
);

const PEOPLE: &str = "a,b\n0,0\n-0.5,0.25\n0.3,0.1\n";

fn folder() -> Folder {
    let folder = Folder::with_people(PEOPLE);
    folder.write("network.json", NETWORK);
    folder
}

/// Standard deviation of the score when both features are missed by 0.1.
fn sd() -> f64 {
    0.1 * 5f64.sqrt()
}

#[test]
fn the_aim_moves_the_answer_and_is_named_in_json() {
    let folder = folder();
    let mut costs = Vec::new();
    for aim in ["0.7", "0.9", "0.99"] {
        let table = folder.table(&format!("recourse network.json people.csv --aim {aim}"));
        let aim: f64 = aim.parse().unwrap();
        for row in 0..3 {
            assert_eq!(table.get(row, "status"), "certified");
            let margin = 2.0 * table.number(row, "a") + table.number(row, "b") - 2.0;
            let truth = upper_tail(margin / sd());
            // The search stops within a hundredth of its aim.
            assert!((truth / (0.1 * aim) - 1.0).abs() < 0.01, "{truth} for {aim}");
        }
        costs.push(table.number(0, "cost"));
    }
    assert!(costs[0] > costs[1] && costs[1] > costs[2], "{costs:?}");
    let meta = |flags: &str| {
        let ran = folder.run(&format!("recourse network.json people.csv --format json {flags}"));
        serde_json::from_slice::<Value>(&ran.out).unwrap()["meta"].clone()
    };
    assert_eq!(meta("--aim 0.9")["aim"], 0.9);
    assert_eq!((&meta("")["aim"], &meta("")["confidence_scope"]), (&Value::Null, &"row".into()));
    for aim in ["0", "1", "1.1", "nan", "-0.5", "near"] {
        let ran = folder.run(&format!("recourse network.json people.csv --aim={aim}"));
        ran.fails(2, &["--aim", &format!("'{aim}'")]);
        folder.run(&format!("frontier network.json people.csv --aim={aim}")).fails(2, &["--aim"]);
    }
    let rate = folder.run("rate network.json people.csv --aim 0.9");
    assert!(rate.code == Some(2) && rate.err.contains("'--aim'"), "{rate:?}");
}

#[test]
fn a_confidence_for_the_file_is_divided_over_its_rows() {
    let folder = folder();
    // A target out of reach: what is reported is the bound itself, which widens with the
    // confidence.
    let ask = |command: &str, flags: &str| {
        let line = format!(
            "{command} network.json people.csv --bounds=-1,1.03 --immutable b -r 0.05 {flags}"
        );
        let table = folder.table(&line);
        assert_eq!(table.get(0, "status"), "found");
        table
    };
    let three = 1.0 - 0.1 / 3.0;
    for command in ["recourse", "frontier --rates 0.05,0.03"] {
        let file = ask(command, "--confidence 0.9 --confidence-scope file");
        assert_eq!(file, ask(command, &format!("--confidence {three}")));
        let row = ask(command, "--confidence 0.9 --confidence-scope row");
        assert!(row.number(0, "rate_upper") < file.number(0, "rate_upper"), "{row:?} {file:?}");
    }
    assert_eq!(
        ask("recourse", "--confidence 0.9 --confidence-scope file --rows 30"),
        ask("recourse", &format!("--confidence {}", 1.0 - 0.1 / 30.0)),
    );
    let ran = folder.run("recourse network.json people.csv --confidence-scope file --format jsonl");
    for line in ran.text().lines() {
        let meta = serde_json::from_str::<Value>(line).unwrap()["meta"].clone();
        assert_eq!((&meta["confidence"], &meta["rows"]), (&0.999.into(), &3.into()));
        assert_eq!(meta["confidence_scope"], "file");
    }
}

#[test]
fn rows_that_cannot_be_counted_must_be_told() {
    let folder = folder();
    let line = "recourse network.json - --confidence-scope file";
    folder.run_with(line, PEOPLE).fails(2, &["--confidence-scope file", "--rows N"]);
    let told = folder.run_with(&format!("{line} --rows 3 --quiet"), PEOPLE);
    let counted = folder.run("recourse network.json people.csv --confidence-scope file");
    assert_eq!((told.code, told.text()), (Some(0), counted.text()));
    // More rows than were paid for.
    let ran =
        folder.run("recourse network.json people.csv --confidence-scope file --rows 2 -o out.csv");
    ran.fails(1, &["people.csv", "more than the 2 rows"]);
    assert!(!folder.path("out.csv").exists());
    let frontier =
        folder.run("frontier network.json people.csv --confidence-scope file --rows 2 -o out.csv");
    frontier.fails(1, &["people.csv", "more than the 2 rows"]);
    let refused = |flags: &str, words: &[&str]| {
        folder.run(&format!("recourse network.json people.csv {flags}")).fails(2, words);
    };
    refused("--rows 3", &["--rows", "--confidence-scope file"]);
    refused("--confidence-scope file --rows 0", &["--rows", "0"]);
    refused("--confidence-scope file --rows many", &["--rows", "'many'"]);
    refused("--confidence-scope people", &["--confidence-scope", "'people'"]);
    refused(
        "--confidence-scope file --rows 18446744073709551615",
        &["--confidence", "too close to 1"],
    );
    folder.run("recourse network.json gone.csv --confidence-scope file").fails(1, &["gone.csv"]);
}

#[test]
fn a_budget_buys_a_network_s_lowest_rate() {
    let folder = folder();
    let table = folder.table("recourse network.json people.csv --budget 1.2");
    // All of it into `a`, which counts twice.
    assert_eq!((table.get(0, "status"), table.get(1, "reason")), ("certified", "budget-exhausted"));
    assert!(
        (table.number(0, "a") - 1.2).abs() < 1e-6 && table.number(0, "cost") <= 1.2,
        "{table:?}"
    );
    // The mean of 128 lines across the boundary: off by some hundredths.
    assert!((table.number(0, "rate") / upper_tail(0.4 / sd()) - 1.0).abs() < 0.1, "{table:?}");
    assert_eq!(table.get(1, "status"), "none");
    let little = folder.table("recourse network.json people.csv --budget 1.02");
    assert_eq!((little.get(0, "status"), little.get(0, "reason")), ("found", "budget-exhausted"));
    folder.run("recourse network.json people.csv --budget=-1").fails(2, &["--budget", "'-1'"]);
}

#[test]
fn noise_on_what_changes_is_less_noise() {
    let folder = folder();
    let ask = |flags: &str| folder.table(&format!("recourse network.json people.csv {flags}"));
    let (changed, all) = (ask("--noise-on changed"), ask("--noise-on all"));
    for row in [0, 2] {
        assert_eq!((changed.get(row, "status"), changed.get(row, "changed")), ("certified", "1"));
        assert!(changed.number(row, "cost") < all.number(row, "cost"));
        // Only `a` moves and is missed, by 0.1: 0.2 of the score.
        let margin = 2.0 * changed.number(row, "a") + changed.number(row, "b") - 2.0;
        let truth = upper_tail(margin / 0.2);
        assert!(truth <= 0.1 && truth > 0.09, "{truth}");
    }
    folder
        .run("recourse network.json people.csv --noise-on changed -r 0.5")
        .fails(2, &["--noise-on changed"]);
}

#[test]
fn noise_on_what_changes_leaves_nobody_out() {
    let folder = folder();
    for flags in ["", "--bounds=-1,1.5", "--model-shift gaussian:0.000001"] {
        let table =
            folder.table(&format!("recourse network.json people.csv --noise-on changed {flags}"));
        // Only `a` moves: at a rate of 0.1 to 1.0031, for 1.5031; the aim is a little lower.
        assert_eq!(table.get(1, "status"), "certified", "{flags}");
        assert!((1.5031..1.52).contains(&table.number(1, "cost")), "{flags}: {table:?}");
    }
}

/// A noise, and P(T <= -x) in its standard units.
type Family = (&'static str, fn(f64) -> f64);

/// Noise on `a` alone.
fn families() -> [Family; 4] {
    fn uniform(x: f64) -> f64 {
        (0.5 - x / (2.0 * 3f64.sqrt())).max(0.0)
    }
    fn laplace(x: f64) -> f64 {
        0.5 * (-2f64.sqrt() * x).exp()
    }
    /// Four degrees of freedom: ¼(1-u)²(2+u) with u = t/√(4+t²), where t = √2 x.
    fn student(x: f64) -> f64 {
        let t = 2f64.sqrt() * x;
        let u = t / (4.0 + t * t).sqrt();
        0.25 * (1.0 - u) * (1.0 - u) * (2.0 + u)
    }
    [
        ("gaussian:0.1", upper_tail),
        ("uniform:0.1", uniform),
        ("laplace:0.1", laplace),
        ("student-t:0.1,df=4", student),
    ]
}

#[test]
fn every_noise_has_recourse() {
    let folder = folder();
    for model in ["model", "network"] {
        let line = format!("recourse {model}.json people.csv --immutable b --noise-on mutable");
        for (noise, tail) in families() {
            let table = folder.table(&format!("{line} --noise {noise}"));
            for row in 0..3 {
                assert_eq!(table.get(row, "status"), "certified", "{model}, {noise}");
                let short = table.number(row, "a") - 1.0 + table.number(row, "b") / 2.0;
                let truth = tail(short / 0.1);
                assert!(truth <= 0.1 + 1e-12 && truth > 0.09, "{model}, {noise}: {truth}");
            }
        }
        // Misses that grow with the change: a tenth, and a fifth of the change.
        let table = folder.table(&format!("{line} --noise effort:0.1,rho=0.2"));
        for (row, from) in [0.0, -0.5, 0.3].into_iter().enumerate() {
            let (a, b) = (table.number(row, "a"), table.number(row, "b"));
            let truth =
                upper_tail((a - 1.0 + b / 2.0) / (0.01 + 0.04 * (a - from) * (a - from)).sqrt());
            assert_eq!(table.get(row, "status"), "certified", "{model}");
            assert!(truth <= 0.1 && truth > 0.09, "{model}, effort: {truth}");
        }
        // Twenty misses by 0.01 to 0.2, of which two may fail.
        let misses: Vec<String> =
            (1..=20).map(|i| format!("[{}, 0]", -0.01 * f64::from(i))).collect();
        let text = format!(
            r#"{{"version": 1, "features": ["a", "b"], "residuals": [{}]}}"#,
            misses.join(",")
        );
        folder.write("noise.json", &text);
        let table = folder.table(&format!("{line} --noise file:noise.json"));
        for row in 0..3 {
            let short = table.number(row, "a") - 1.0 + table.number(row, "b") / 2.0;
            assert_eq!(table.get(row, "status"), "certified", "{model}");
            assert_eq!(table.get(row, "rate"), table.get(row, "rate_upper"));
            // Those by 0.19 and by 0.2 fail.
            assert!(short > 0.18 - 1e-9 && short < 0.2, "{model}, residuals: {short}");
        }
    }
    folder
        .run("recourse network.json people.csv --noise cauchy:0.1")
        .fails(2, &["--noise", "'cauchy'"]);
    folder
        .run("recourse network.json people.csv --noise student-t:0.1,df=1")
        .fails(2, &["--noise", "df"]);
}

/// Sampling ends as soon as the target is certified, so that the bound is the target: it is said,
/// not printed as zeros.
#[test]
fn a_network_s_tolerance_is_never_a_list_of_zeros() {
    let folder = folder();
    let ran = folder.run("recourse network.json people.csv -r 0.3 --format jsonl --quiet");
    let mut at_target = 0;
    for line in ran.text().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["status"], "certified");
        let tolerance = &row["tolerance"];
        if row["rate_upper"] == 0.3 {
            assert!(tolerance["at_target_rate"].is_null(), "{line}");
            assert!(
                tolerance["note"].as_str().unwrap().contains("none beyond the noise"),
                "{line}"
            );
            at_target += 1;
        } else {
            assert!(tolerance["at_target_rate"]["a"]["alone"].as_f64().unwrap() > 0.0, "{line}");
        }
    }
    assert!(at_target > 0);
}

#[test]
fn a_network_s_tolerance_may_be_asked_for() {
    let folder = folder();
    let ask = |flags: &str| -> Vec<Value> {
        let ran = folder.run(&format!(
            "recourse network.json people.csv -r 0.3 --format jsonl --quiet {flags}"
        ));
        ran.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let number = |value: &Value| value.as_f64().unwrap();
    for (plain, row) in ask("").iter().zip(ask("--tolerance")) {
        assert_eq!(
            (&plain["meta"]["tolerance"], &row["meta"]["tolerance"]),
            (&false.into(), &true.into())
        );
        assert_eq!(row["status"], "certified");
        assert!(number(&row["cost"]) > number(&plain["cost"]));
        let margin = 2.0 * number(&row["to"]["a"]) + number(&row["to"]["b"]) - 2.0;
        let upper = number(&row["rate_upper"]);
        assert!(upper_tail(margin / sd()) < upper && upper < 0.25, "{row}");
        // `a` too low by its slack: still at most r, and nearly that; only a miss along the
        // gradient takes it all.
        let alone = number(&row["tolerance"]["at_target_rate"]["a"]["alone"]);
        let missed = upper_tail((margin - 2.0 * alone) / sd());
        assert!(missed <= 0.3 && missed > 0.27, "{row}: {missed}");
    }
    // An aim of one's own is kept.
    let near = ask("--tolerance --aim 0.9");
    assert!(near.iter().all(|row| (number(&row["rate"]) / 0.27 - 1.0).abs() < 0.05), "{near:?}");
    assert!(near.iter().all(|row| number(&row["rate_upper"]) < 0.3), "{near:?}");
}

/// A network that bends across every line, under noise with tails: 128 lines say little of its
/// rate.
const BENT: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
    r#""activation": "relu",
    "layers": [{"weight": [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], "#,
    r#""bias": [0.0, 0.0, 0.0, -0.1]},
               {"weight": [[1.0, -1.0, 2.0, -3.0]], "bias": [-1.0]}]}"#
);

#[test]
fn a_certified_rate_is_never_above_its_bound() {
    let folder = folder();
    folder.write("bent.json", BENT);
    for (noise, _) in families() {
        for seed in 0..4 {
            let line =
                format!("recourse bent.json people.csv -r 0.05 --noise {noise} --seed {seed}");
            let table = folder.table(&line);
            for row in 0..3 {
                assert_eq!(table.get(row, "status"), "certified", "{noise}");
                let (rate, upper) = (table.number(row, "rate"), table.number(row, "rate_upper"));
                assert!(
                    rate <= upper && upper <= 0.05,
                    "{noise}, seed {seed}: {rate} above {upper}"
                );
                // What it is an estimate of, to one per cent.
                let point = format!("a,b\n{},{}\n", table.get(row, "a"), table.get(row, "b"));
                folder.write("point.csv", &point);
                let line = format!("rate bent.json point.csv --noise {noise} --samples 200000");
                let truth = folder.table(&line).number(0, "rate");
                assert!(
                    (rate / truth - 1.0).abs() < 0.06,
                    "{noise}, seed {seed}: {rate} for {truth}"
                );
            }
        }
    }
}

#[test]
fn fewer_misses_than_features_are_noise_too() {
    let folder = Folder::with_people("a,b,c,d,e\n0,0,0,0,0\n");
    folder.write(
        "wide.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "mlp", "#,
            r#""features": ["a", "b", "c", "d", "#,
            r#""e"], "activation": "tanh",
        "layers": [{"weight": [[1, 0.5, 0.25, 2, 0.1]], "bias": [0]}, {"weight": [[1]], "#,
            r#""bias": [-0.5]}]}"#
        ),
    );
    // Two to four misses of five features, of awkward numbers: covariances that are singular up to
    // rounding.
    for n in 2..=4 {
        for k in 0..8 {
            let miss = |i: u32| -> String {
                let value = |j: u32| 0.3 * f64::from((i + 5 * k) * 7 + j * 3 + 1).powi(2).sin();
                (0..5).map(|j| value(j).to_string()).collect::<Vec<_>>().join(",")
            };
            let rows: Vec<String> = (0..n).map(|i| format!("[{}]", miss(i))).collect();
            let features = r#"["a", "b", "c", "d", "e"]"#;
            let text = format!(
                r#"{{"version": 1, "features": {features}, "residuals": [{}]}}"#,
                rows.join(",")
            );
            folder.write("noise.json", &text);
            let ran = folder.run("recourse wide.json people.csv -r 0.1 --noise file:noise.json");
            assert_eq!(ran.code, Some(0), "{n}, {k}: {}", ran.err);
            // Misses with a mean may leave nobody a target: not these three.
            assert!(n != 3 || ran.text().contains("0,certified,"), "{k}: {}", ran.text());
        }
    }
}

#[test]
fn the_summary_tells_what_is_above_from_what_was_not_tested() {
    let folder = folder();
    let ran = folder.run("recourse network.json people.csv --no-certify");
    assert!(ran.err.contains("0 found above r, 3 found but not certified"), "{}", ran.err);
    let ran = folder.run("recourse network.json people.csv --bounds=-1,1.03 --immutable b -r 0.05");
    assert!(
        ran.err.contains("3 found above r, ") && !ran.err.contains("not certified"),
        "{}",
        ran.err
    );
}

#[test]
fn bounds_are_named_only_where_there_are_some() {
    let folder = folder();
    // At most -0.5, though it rises for ever.
    folder.write(
        "below.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
            r#""activation": "tanh",
        "layers": [{"weight": [[1, 1]], "bias": [0]}, {"weight": [[0.5]], "bias": [-1]}]}"#
        ),
    );
    for (flags, reason) in [
        ("", "not-found"),
        ("--immutable b", "not-found"),
        ("--bounds=-2,2", "infeasible-within-bounds"),
    ] {
        let table = folder.table(&format!("recourse below.json people.csv {flags}"));
        assert_eq!((table.get(0, "status"), table.get(0, "reason")), ("none", reason), "{flags}");
    }
}

#[test]
fn a_first_order_rate_claims_no_exactness() {
    let folder = folder();
    let line = "network.json people.csv --estimator closed-form";
    let table = folder.table(&format!("rate {line}"));
    assert_eq!(["std_error", "lower", "upper"].map(|name| table.get(0, name)), ["", "0.0", "1.0"]);
    let ran = folder.run(&format!("rate {line} --format jsonl"));
    let row: Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
    assert_eq!((&row["exact"], &row["std_error"]), (&false.into(), &Value::Null));
    let table = folder.table("rate model.json people.csv --estimator closed-form");
    assert_eq!((table.get(0, "std_error"), table.get(0, "lower")), ("0.0", table.get(0, "rate")));
}

#[test]
fn rates_too_small_for_samples_are_warned_of() {
    let folder = folder();
    let warns = |line: &str| {
        let ran = folder.run(line);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err.contains("too small to be certified by sampling")
    };
    assert!(warns("recourse network.json people.csv -r 0.0001"));
    assert!(warns("frontier network.json people.csv --rates 0.1,0.0001"));
    assert!(!warns("recourse network.json people.csv -r 0.0006"));
    assert!(warns("recourse network.json people.csv -r 0.0003 --confidence 0.9999999"));
    // Exact, and not to be certified at all.
    assert!(!warns("recourse model.json people.csv -r 0.0001"));
    assert!(!warns("recourse network.json people.csv -r 0.0001 --no-certify"));
}
