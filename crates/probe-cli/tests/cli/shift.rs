//! `--model-shift`: rates and recourse where the model may change, too. The model is `2 a + b - 2`,
//! σ = 0.1.

use crate::support::{Folder, Z10, close, upper_tail};

fn folder() -> Folder {
    Folder::with_people("a,b\n1,0.1\n1,1\n")
}

#[test]
fn rates_under_a_shift_are_exact_and_agree_with_samples() {
    let folder = folder();
    let rates = |flags: &str| folder.table(&format!("rate model.json people.csv {flags}"));
    let shifted = rates("--model-shift gaussian:0.05");
    assert_eq!((shifted.get(0, "estimator"), shifted.get(0, "std_error")), ("closed-form", "0.0"));
    // At (1, 0.1): variance 0.01·5 + 0.0025·(1 + 1 + 0.01 + 0.02), third cumulant
    // 6·0.01·0.0025·2.1; Edgeworth's next term is of the order of the squared skewness, 6e-4, times
    // 1/20.
    let sd = (0.05_f64 + 0.0025 * 2.03).sqrt();
    let (m, skewness) = (0.1 / sd, 6.0 * 0.01 * 0.0025 * 2.1 / sd.powi(3));
    let density = (-0.5 * m * m).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let expected = upper_tail(m) - skewness / 6.0 * (m * m - 1.0) * density;
    assert!(
        (shifted.number(0, "rate") - expected).abs() < 2e-4,
        "{} {expected}",
        shifted.number(0, "rate")
    );
    let sampled = rates("--model-shift gaussian:0.05 --estimator monte-carlo --samples 40000");
    let error = sampled.number(0, "std_error");
    assert!((sampled.number(0, "rate") - shifted.number(0, "rate")).abs() < 4.0 * error);
    // A share of √2.5, the root mean square of (2, 1), is the same change.
    let relative = rates(&format!("--model-shift relative:{}", 0.05 / 2.5_f64.sqrt()));
    close(relative.number(0, "rate"), shifted.number(0, "rate"));
    let worst = rates("--model-shift bounded:0.05");
    let alone = rates("");
    for row in 0..2 {
        assert!(worst.number(row, "rate") > alone.number(row, "rate"));
        assert!(shifted.number(row, "rate") > alone.number(row, "rate"));
    }
}

#[test]
fn shifts_are_named_in_json_and_refused_where_they_are_not_served() {
    let folder = folder();
    let ran = folder.run("rate model.json people.csv --model-shift bounded:0.1 --format json");
    let document: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(document["meta"]["model_shift"], "bounded:0.1");
    let line = |flags: &str| folder.run(&format!("rate model.json people.csv {flags}"));
    line("--model-shift uniform:1").fails(2, &["--model-shift", "gaussian, relative, bounded"]);
    line("--model-shift gaussian:-1").fails(2, &["--model-shift", "positive"]);
    line("--model-shift gaussian:0.1 --estimator line").fails(1, &["estimator line", "may change"]);
    line("--model-shift bounded:0.1 --estimator monte-carlo").fails(1, &["worst case"]);
}

#[test]
fn recourse_survives_a_change_of_the_model() {
    let folder = Folder::with_people("a,b\n0,0\n-0.5,0.25\n0.3,0.1\n");
    let alone = folder.table("recourse model.json people.csv");
    for shift in ["gaussian:0.05", "relative:0.03", "bounded:0.05"] {
        let table = folder.table(&format!("recourse model.json people.csv --model-shift {shift}"));
        let columns: Vec<String> = (0..3)
            .map(|row| format!("{},{}\n", table.get(row, "a"), table.get(row, "b")))
            .collect();
        folder.write("points.csv", &format!("a,b\n{}", columns.concat()));
        let rates = folder.table(&format!("rate model.json points.csv --model-shift {shift}"));
        for row in 0..3 {
            assert_eq!(table.get(row, "status"), "certified", "{shift}");
            // The target holds and is met: cheaper would be above it. Rates are known to about
            // 1e-11 here.
            let rate = rates.number(row, "rate");
            assert!(rate <= 0.1 && rate > 0.1 - 1e-9, "{shift}: {rate}");
            close(table.number(row, "rate"), rate);
            assert!(table.number(row, "cost") > alone.number(row, "cost"), "{shift}");
        }
    }
    // Worst case by hand: the score falls by ρ|x'|, its deviation grows by σρ at most.
    let worst = folder.table("recourse model.json people.csv --model-shift bounded:0.05");
    let (a, b) = (worst.number(0, "a"), worst.number(0, "b"));
    let left = 2.0 * a + b - 2.0 - 0.05 * a.hypot(b);
    assert!(
        left > Z10 * 0.1 * (5f64.sqrt() - 0.05) && left < Z10 * 0.1 * (5f64.sqrt() + 0.05),
        "{left}"
    );
    let frontier =
        folder.table("frontier model.json people.csv --rates 0.3,0.1 --model-shift gaussian:0.05");
    assert!(frontier.number(0, "cost") < frontier.number(1, "cost"));
    assert!(
        frontier.rows.len() == 6 && (0..6).all(|row| frontier.get(row, "status") == "certified")
    );
    let ran =
        folder.run("recourse model.json people.csv --model-shift gaussian:0.05 --format json");
    let document: serde_json::Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(document["meta"]["model_shift"], "gaussian:0.05");
    assert!(document["meta"]["note"].as_str().unwrap().contains("change of the model"));
}

#[test]
fn recourse_under_a_shift_without_a_solver_is_refused_by_name() {
    let folder = folder();
    folder.write(
        "network.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
            r#""activation": "relu",
        "layers": [{"weight": [[2.0, 1.0]], "bias": [-2.0]}, {"weight": [[1.0]], "#,
            r#""bias": [-1.0]}]}"#
        ),
    );
    let ask =
        |model: &str, flags: &str| folder.run(&format!("recourse {model}.json people.csv {flags}"));
    for method in ["probe", "probe-gradient", "probe-mc"] {
        let ran = ask(
            "model",
            &format!("--model-shift gaussian:0.1 --noise-on changed --method {method}"),
        );
        ran.fails(1, &["changed", "not supported"]);
    }
    ask("network", "--model-shift bounded:0.1").fails(1, &["bounded", "not supported"]);
    ask("model", "--model-shift gaussian:0.1 --max-changes 1")
        .fails(1, &["model shift", "not supported"]);
    ask("model", "--model-shift gaussian:0.1 --noise laplace:0.1")
        .fails(1, &["laplace", "Gaussian"]);
    ask("model", "--model-shift gaussian:0").fails(2, &["--model-shift", "positive"]);
}

#[test]
fn networks_that_may_change_are_served_by_samples() {
    let folder = Folder::with_people("a,b\n0,0\n0.3,0.1\n");
    folder.write("network.json", crate::sampled::NETWORK);
    let alone = folder.table("recourse network.json people.csv");
    let table = folder.table("recourse network.json people.csv --model-shift gaussian:0.05");
    let columns: Vec<String> =
        (0..2).map(|row| format!("{},{}\n", table.get(row, "a"), table.get(row, "b"))).collect();
    folder.write("points.csv", &format!("a,b\n{}", columns.concat()));
    let line = "rate network.json points.csv --model-shift gaussian:0.05 --estimator monte-carlo \
        --samples 40000";
    let rates = folder.table(line);
    for row in 0..2 {
        assert_eq!(table.get(row, "status"), "certified");
        assert!(table.number(row, "cost") > alone.number(row, "cost"));
        assert!(
            rates.number(row, "rate") <= 0.1 + 4.0 * rates.number(row, "std_error"),
            "{rates:?}"
        );
    }
}

/// The first one hung, the second one said "infeasible-within-bounds".
#[test]
fn huge_shifts_are_refused_or_told_to_drown_the_score() {
    let folder = Folder::with_people("a,b\n0.1,0.1\n");
    for size in ["1e200", "1e101", "inf"] {
        let line = format!("recourse model.json people.csv --model-shift gaussian:{size}");
        folder.run(&line).fails(2, &["--model-shift", "positive and at most 1e100"]);
    }
    for shift in ["gaussian:1e20", "relative:1e90", "bounded:1e20"] {
        let line = format!("recourse model.json people.csv --model-shift {shift}");
        let table = folder.table(&line);
        assert_eq!(table.get(0, "status"), "found", "{shift}");
        assert_eq!(table.get(0, "reason"), "rate-not-reachable", "{shift}");
        assert_eq!(table.get(0, "proven"), "true", "{shift}");
        assert!(2.0 * table.number(0, "a") + table.number(0, "b") > 2.0, "{shift}");
        assert!(table.number(0, "rate") >= 0.5 - 1e-9, "{shift}");
        let warned = folder.run(&line).err;
        assert!(warned.contains("drowns the score"), "{warned}");
    }
}
