//! `--model-shift`: rates where the model may change, too. The model is `2 a + b - 2`, σ = 0.1.

use crate::support::{Folder, close, upper_tail};

fn folder() -> Folder {
    Folder::with_people("a,b\n1,0.1\n1,1\n")
}

#[test]
fn rates_under_a_shift_are_exact_and_agree_with_samples() {
    let folder = folder();
    let rates = |flags: &str| folder.table(&format!("rate model.json people.csv {flags}"));
    let shifted = rates("--model-shift gaussian:0.05");
    assert_eq!((shifted.get(0, "estimator"), shifted.get(0, "std_error")), ("closed-form", "0.0"));
    // At (1, 0.1): variance 0.01·5 + 0.0025·(1 + 1 + 0.01 + 0.02), third cumulant 6·0.01·0.0025·2.1; Edgeworth's next term is
    // of the order of the squared skewness, 6e-4, times 1/20.
    let sd = (0.05_f64 + 0.0025 * 2.03).sqrt();
    let (m, skewness) = (0.1 / sd, 6.0 * 0.01 * 0.0025 * 2.1 / sd.powi(3));
    let density = (-0.5 * m * m).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let expected = upper_tail(m) - skewness / 6.0 * (m * m - 1.0) * density;
    assert!((shifted.number(0, "rate") - expected).abs() < 2e-4, "{} {expected}", shifted.number(0, "rate"));
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
    let recourse = folder.run("recourse model.json people.csv --model-shift gaussian:0.1");
    recourse.fails(1, &["model that may change", "not supported"]);
}
