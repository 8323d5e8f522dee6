//! `--noise` beyond the Gaussian, and `noise fit`.

use crate::support::{Folder, close, upper_tail};

/// Noise on `a` alone, at a point where `a` may fall short by 0.1: the rate is P(error of a <=
/// -0.1).
const POINT: &str = "a,b\n1.1,0\n";
const ON_A: &str = "--immutable b --noise-on mutable";

/// P(T <= -1) in standard units: (√3-1)/(2√3), e^{-√2}/2, and ¼(1-u)²(2+u) with u = √2/√6 for four
/// degrees of freedom.
fn known() -> [(&'static str, f64); 4] {
    let (root3, u) = (3f64.sqrt(), (1.0f64 / 3.0).sqrt());
    [
        ("gaussian:0.1", upper_tail(1.0)),
        ("uniform:0.1", (root3 - 1.0) / (2.0 * root3)),
        ("laplace:0.1", 0.5 * (-2f64.sqrt()).exp()),
        ("student-t:0.1,df=4", 0.25 * (1.0 - u) * (1.0 - u) * (2.0 + u)),
    ]
}

#[test]
fn every_family_has_its_rate() {
    let folder = Folder::with_people(POINT);
    for (noise, truth) in known() {
        let table = folder
            .table(&format!("rate model.json people.csv {ON_A} --noise {noise} --samples 100000"));
        if noise.starts_with("gaussian") {
            assert_eq!(table.get(0, "estimator"), "closed-form");
            close(table.number(0, "rate"), truth);
            continue;
        }
        assert_eq!(table.get(0, "estimator"), "monte-carlo", "{noise}");
        let error = (truth * (1.0 - truth) / 1e5).sqrt();
        assert!((table.number(0, "rate") - truth).abs() < 4.0 * error, "{noise}: {table:?}");
        assert!(
            table.number(0, "lower") < truth && truth < table.number(0, "upper"),
            "{noise}: {table:?}"
        );
        let refused = folder
            .run(&format!("rate model.json people.csv {ON_A} --noise {noise} --estimator exact"));
        refused.fails(1, &["no exact rate", noise.split(':').next().unwrap()]);
    }
    // Four degrees of freedom are the default.
    let ask =
        |noise: &str| folder.table(&format!("rate model.json people.csv --noise {noise}")).rows;
    assert_eq!(ask("student-t:0.1"), ask("student-t:0.1,df=4"));
    assert_ne!(ask("student-t:0.1"), ask("student-t:0.1,df=3"));
}

#[test]
fn sobol_points_and_sigmoids_estimate_the_same() {
    let folder = Folder::with_people(POINT);
    for (noise, truth) in known() {
        let line = format!("rate model.json people.csv {ON_A} --noise {noise} --samples 20000");
        let sobol = folder.table(&format!("{line} --estimator monte-carlo-sobol"));
        assert_eq!(sobol.get(0, "estimator"), "monte-carlo-sobol");
        // One feature: each scramble of 2048 points is off by less than one point.
        assert!((sobol.number(0, "rate") - truth).abs() < 1.0 / 2048.0, "{noise}: {sobol:?}");
        let smoothed = folder.table(&format!("{line} --estimator smoothed-monte-carlo"));
        assert_eq!(smoothed.get(0, "estimator"), "smoothed-monte-carlo");
        assert!(
            smoothed.number(0, "lower") < truth && truth < smoothed.number(0, "upper"),
            "{noise}: {smoothed:?}"
        );
    }
    folder
        .run("rate model.json people.csv --estimator best")
        .fails(2, &["--estimator", "'best'", "monte-carlo-sobol"]);
}

#[test]
fn effort_noise_grows_with_the_change() {
    let folder = Folder::with_people(POINT);
    folder.write("from.csv", "a,b\n0.1,0\n");
    let ask = |noise: &str| {
        let table = folder
            .table(&format!("rate model.json people.csv {ON_A} --from from.csv --noise {noise}"));
        assert_eq!(table.get(0, "estimator"), "closed-form");
        table.number(0, "rate")
    };
    // A change of 1: sd √(0.01 + 0.04), twice that on the score, which has 0.2 to spare.
    close(ask("effort:0.1,rho=0.2"), upper_tail(0.2 / (2.0 * 0.05f64.sqrt())));
    close(ask("effort:0.1,rho=0"), upper_tail(1.0));
    // Who stops a tenth short loses 0.2 of the score on average, all there is to spare.
    assert!((ask("effort:0.1,rho=0.2,a=-0.1") - 0.5).abs() < 1e-12);
    let without = folder.run("rate model.json people.csv --noise effort:0.1");
    without.fails(2, &["effort", "--from", "row by row"]);
}

#[test]
fn specs_that_cannot_be_meant() {
    let folder = Folder::with_people(POINT);
    let cases = [
        ("student-t:0.1,df=2", &["df", "above 2", "got 2"][..]),
        ("student-t:0.1,nu=3", &["'nu'", "df"]),
        ("laplace:0.1,df=3", &["laplace", "'df'", "none"]),
        ("uniform:-1", &["uniform:-1", "positive"]),
        ("uniform:wide", &["'wide'", "not a number"]),
        ("effort:0.1,rho=-1", &["rho", "at least 0"]),
        ("residuals:0.1", &["'residuals'", "laplace"]),
    ];
    for (spec, words) in cases {
        folder
            .run(&format!("rate model.json people.csv --noise {spec}"))
            .fails(2, &[&["--noise"], words].concat());
    }
}

#[test]
fn observed_misses_are_drawn_as_they_are() {
    let folder = Folder::with_people(POINT);
    folder.write(
        "noise.json",
        concat!(
            r#"{"version": 1, "#,
            r#""features": ["b", "a"], "residuals": [[0, -0.2], [0, 0.2], [-0.3, 0], "#,
            r#"[0.1, -0.04]]}"#
        ),
    );
    // The first and the third row take more than the 0.2 there is to spare.
    let table = folder.table("rate model.json people.csv --noise file:noise.json");
    assert_eq!((table.get(0, "estimator"), table.number(0, "rate")), ("enumeration", 0.5));
    let table = folder.table(
        "rate model.json people.csv --noise file:noise.json --estimator monte-carlo \
            --samples 40000",
    );
    assert!((table.number(0, "rate") - 0.5).abs() < 4.0 * (0.25f64 / 40_000.0).sqrt(), "{table:?}");
    folder
        .run("rate model.json people.csv --estimator enumeration")
        .fails(1, &["gaussian", "residuals"]);
    folder
        .run("rate model.json people.csv --noise file:noise.json --estimator monte-carlo-sobol")
        .fails(1, &["residuals"]);
}

const PAIRS: &str = "who,a,a__implemented,b,b__implemented\n\
    Ann,1,1.1,10,10\nBob,2,2.3,10,12\nCid,3,3.5,10,11\nDee,1,1.1,10,10\n\
    Eve,2,2.3,10,12\nFay,3,3.5,10,11\n\
    Gus,1,1.1,10,10\nHal,2,2.3,10,12\nIda,3,3.5,10,11\nJon,1,1.1,10,10\n\
    Kim,2,2.3,10,12\nLea,3,3.5,10,11\n";

#[track_caller]
fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_fit_has_the_mean_and_the_inflated_covariance() {
    let folder = Folder::with_people(POINT);
    folder.write("pairs.csv", PAIRS);
    let ran = folder.run("noise fit pairs.csv --model model.json -o noise.json");
    assert_eq!((ran.code, ran.text().as_str()), (Some(0), ""), "{}", ran.err);
    assert!(ran.err.contains("12 pairs") && ran.err.contains("rate of 0.1"), "{}", ran.err);
    let file = json(&folder.text("noise.json"));
    // Residuals (0.1, 0), (0.3, 2), (0.5, 1), four times each: mean (0.3, 1), sums of products
    // 0.32, 0.8,
    // 8 over 11; t_{11,0.9} = 1.36343031802, z = 1.28155156554.
    let kappa = 1.363_430_318_020_5 / 1.281_551_565_544_6 * (13.0f64 / 12.0).sqrt();
    let near = |value: &serde_json::Value, expected: f64| {
        assert!((value.as_f64().unwrap() / expected - 1.0).abs() < 1e-11, "{value} for {expected}");
    };
    near(&file["mean"][0], 0.3);
    near(&file["mean"][1], 1.0);
    for (i, j, sum) in [(0, 0, 0.32), (0, 1, 0.8), (1, 0, 0.8), (1, 1, 8.0)] {
        near(&file["covariance"][i][j], kappa * kappa * sum / 11.0);
    }
    near(&file["fit"]["inflation"], kappa);
    assert_eq!((&file["fit"]["pairs"], &file["fit"]["rate"]), (&12.into(), &0.1.into()));
    // The file serves, in full at its own rate and with a warning at a smaller one.
    let line = "recourse model.json people.csv --noise file:noise.json";
    let ran = folder.run(line);
    assert_eq!((ran.code, ran.err.contains("warning")), (Some(0), false), "{}", ran.err);
    let ran = folder.run(&format!("{line} -r 0.05"));
    assert!(ran.err.contains("warning: ") && ran.err.contains("noise fit -r 0.05"), "{}", ran.err);
    // Without -o the file is the output.
    assert_eq!(
        folder.run("noise fit pairs.csv --model model.json -q").text(),
        folder.text("noise.json")
    );
}

#[test]
fn a_fit_is_in_scaled_units_and_may_be_the_misses_themselves() {
    let folder = Folder::new();
    folder.write("pairs.csv", PAIRS);
    folder.write(
        "schema.toml",
        "version = 1\n[[feature]]\nname = \"b\"\nscale = [0, 4]\n[[feature]]\nname \
         = \"age\"\nmutable = false\n\
         [[feature]]\nname = \"a\"\n",
    );
    let file = json(&folder.run("noise fit pairs.csv --schema schema.toml --residuals").text());
    assert_eq!(file["features"], serde_json::json!(["b", "age", "a"]));
    let second: Vec<f64> =
        file["residuals"][1].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
    close(second[0], 0.5);
    close(second[2], 2.3 - 2.0);
    assert_eq!((second[1], file["residuals"].as_array().unwrap().len()), (0.0, 12));
    assert!(file.get("mean").is_none() && file.get("fit").is_none());
    // Standard input, and features by their columns.
    let file = json(&folder.run_with("noise fit - --residuals", "x,x__implemented\n1,2\n").text());
    assert_eq!(file["residuals"], serde_json::json!([[1.0]]));
    // Few pairs per feature: correlations are shrunk, and it is said.
    let few: String = PAIRS.lines().take(4).map(|line| format!("{line}\n")).collect();
    folder.write("few.csv", &few);
    let ran = folder.run("noise fit few.csv");
    assert!(ran.err.contains("warning: ") && ran.err.contains("shrunk"), "{}", ran.err);
    assert!(json(&ran.text())["fit"]["shrinkage"].as_f64().unwrap() > 0.0);
    // Two pairs do not even tell by how much.
    let two: String = PAIRS.lines().take(3).map(|line| format!("{line}\n")).collect();
    folder.write("two.csv", &two);
    let ran = folder.run("noise fit two.csv");
    assert!(
        ran.err.contains("warning: ") && ran.err.contains("fewer than five pairs"),
        "{}",
        ran.err
    );
    // One feature has no correlations.
    let ran = folder.run_with("noise fit -", "x,x__implemented\n1,2\n2,3.5\n");
    assert!(ran.code == Some(0) && !ran.err.contains("warning"), "{}", ran.err);
}

#[test]
fn pairs_that_cannot_be_fitted() {
    let folder = Folder::new();
    folder.write("schema.toml", "version = 1\n[[feature]]\nname = \"b\"\n");
    let cases = [
        ("a,a__implemented\n1,2\n", "", &["1 pair", "at least 2"][..]),
        ("a,a__implemented\n", "", &["0 pairs"]),
        ("a,a__implemented\n", "--residuals", &["empty list of residuals"]),
        ("a,b\n1,2\n", "", &["'__implemented'"]),
        (
            "c,c__implemented\n1,2\n2,3\n",
            "--model model.json",
            &["no feature has both columns", "a, b"],
        ),
        (
            "a,b,b__implemented\n1,2,3\n",
            "--model model.json",
            &["no column 'a__implemented'", "'a'"],
        ),
        ("a__implemented\n1\n", "", &["no column 'a'"]),
        ("a,a__implemented\n1,2\n2,nan\n", "", &["row 1", "'a__implemented'", "'nan'"]),
        ("a,a__implemented\n1,2\n,3\n", "", &["row 1", "'a'"]),
    ];
    for (text, flags, words) in cases {
        folder.write("pairs.csv", text);
        let ran = folder.run(&format!("noise fit pairs.csv {flags} -o noise.json"));
        ran.fails(1, &[&["pairs.csv"], words].concat());
        assert!(!folder.path("noise.json").exists());
    }
    folder.write("pairs.csv", PAIRS);
    let ran = folder.run("noise fit pairs.csv --model model.json --schema schema.toml");
    ran.fails(1, &["schema.toml", "'a'"]);
    for rate in ["0.5", "0", "1", "x"] {
        folder.run(&format!("noise fit pairs.csv -r {rate}")).fails(2, &["--max-rate", rate]);
    }
    folder.run("noise fit pairs.csv --residuals -r 0.1").fails(2, &["--residuals", "--max-rate"]);
    folder.run("noise fit gone.csv").fails(1, &["gone.csv", "No such file"]);
}

#[test]
fn pairs_of_some_features_leave_the_others_without_noise() {
    let folder = Folder::with_people(POINT);
    let only_a: String = PAIRS
        .lines()
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    folder.write("pairs.csv", &only_a);
    let ran = folder.run("noise fit pairs.csv --model model.json -o noise.json");
    assert!(ran.code == Some(0) && ran.err.contains("no pairs for b"), "{}", ran.err);
    // Twelve pairs are enough for the one feature that varies.
    assert!(!ran.err.contains("fewer than five"), "{}", ran.err);
    let file = json(&folder.text("noise.json"));
    assert_eq!((&file["mean"][1], &file["covariance"][1][1]), (&0.0.into(), &0.0.into()));
    assert!(file["covariance"][0][0].as_f64().unwrap() > 0.0);
    folder.write("pairs.csv", &only_a.replace("who", "b"));
    folder
        .run("noise fit pairs.csv --model model.json -o noise.json")
        .fails(1, &["pairs.csv", "'b__implemented'"]);
}
