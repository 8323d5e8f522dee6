//! Wrong usage: exit status 2, the flag and its value named, no output.

use crate::support::Folder;

#[track_caller]
fn refused(command: &str, flags: &str, words: &[&str]) {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.run(&format!("{command} model.json people.csv -o out.csv {flags}")).fails(2, words);
    assert_eq!(folder.files(), ["model.json", "people.csv"]);
}

#[test]
fn rates_outside_the_open_interval() {
    for r in ["0", "1", "NaN", "-0.1", "1.5", "inf", "ten"] {
        refused("recourse", &format!("-r={r}"), &["--max-rate", &format!("'{r}'")]);
        refused("frontier", &format!("--rates 0.3,{r}"), &["--rates", &format!("'{r}'")]);
    }
    refused("recourse", "--confidence 1", &["--confidence", "'1'"]);
    refused("recourse", "--threshold-prob 0", &["--threshold-prob", "'0'"]);
}

#[test]
fn deviations_that_are_not_positive() {
    for sigma in ["0", "-0.1", "NaN", "inf", "-0", "much"] {
        let value = format!("'{sigma}'");
        refused("recourse", &format!("--sigma={sigma}"), &["--sigma", &value]);
        refused("rate", &format!("--sigma2={sigma}"), &["--sigma2", &value]);
        refused(
            "recourse",
            &format!("--noise gaussian:{sigma}"),
            &["--noise", &format!("gaussian:{sigma}")],
        );
    }
    refused("recourse", "--sigma 0.1 --sigma2 0.1", &["--sigma", "--sigma2"]);
    refused("recourse", "--sigma 0.1 --noise gaussian:0.1", &["--sigma", "--noise"]);
    refused("recourse", "--noise cauchy:1", &["--noise", "'cauchy'", "gaussian"]);
}

#[test]
fn features_that_the_model_does_not_have() {
    refused("recourse", "--immutable a,age", &["--immutable", "'age'", "a, b"]);
}

#[test]
fn noise_on_changed_features_needs_rates_below_one_half() {
    refused("recourse", "--noise-on changed -r 0.5", &["--noise-on changed", "-r", "0.5"]);
    refused("recourse", "--noise-on changed -r 0.7", &["--noise-on changed", "0.7"]);
    refused(
        "frontier",
        "--noise-on changed --rates 0.4,0.6",
        &["--noise-on changed", "--rates", "0.6"],
    );
    refused("recourse", "--noise-on some", &["--noise-on", "'some'", "all, mutable or changed"]);
}

#[test]
fn ids_that_clash_with_output_columns() {
    for id in ["row", "cost", "a"] {
        refused("recourse", &format!("--id {id}"), &[&format!("--id {id}"), "column of this name"]);
    }
    refused("frontier", "--id target_rate", &["--id target_rate", "column of this name"]);
    refused("rate", "--id estimator", &["--id estimator", "column of this name"]);
    let folder = Folder::with_people("a,b,k\n0,0,1\n");
    folder
        .run("recourse model.json people.csv --id k --id k")
        .fails(2, &["--id k", "column of this name"]);
    // An id that the table does not have is a fault of the table or of the flag: the file is named.
    folder
        .run("recourse model.json people.csv --id key")
        .fails(1, &["people.csv", "no column 'key'"]);
}

#[test]
fn bounds_and_budgets_and_other_numbers() {
    for bounds in ["1,0", "1", "a,b", "nan,1", ""] {
        refused("recourse", &format!("--bounds={bounds}"), &["--bounds"]);
    }
    refused("recourse", "--budget=-1", &["--budget", "'-1'"]);
    refused("recourse", "--budget nan", &["--budget", "'nan'"]);
    refused("recourse", "--max-changes=-1", &["--max-changes", "'-1'"]);
    refused("recourse", "--threshold nan", &["--threshold", "'nan'"]);
    refused("recourse", "--favourable-class 2", &["--favourable-class", "2"]);
    refused("recourse", "--threads many", &["--threads", "'many'"]);
}

#[test]
fn names_that_nobody_knows_are_listed_with_those_that_are_known() {
    refused("recourse", "--cost l3", &["--cost", "l3", "l1", "l2", "linf"]);
    refused("recourse", "--method magic", &["--method", "magic", "probe"]);
    refused("recourse", "--format xlsx", &["--format", "xlsx", "csv", "jsonl", "parquet"]);
    refused("rate", "--estimator guess", &["--estimator", "guess", "closed-form", "monte-carlo"]);
    refused("rate", "--samples 0", &["--samples", "0"]);
}

#[test]
fn no_command_or_an_unknown_one() {
    let folder = Folder::new();
    let ran = folder.run("");
    assert_eq!((ran.code, ran.out.len()), (Some(2), 0));
    assert!(ran.err.contains("Usage: probe"), "{}", ran.err);
    assert_eq!(folder.run("frobnicate").code, Some(2));
    assert_eq!(folder.run("recourse model.json").code, Some(2));
}

#[test]
fn noise_with_a_mean_on_changed_features_is_refused_by_name() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write(
        "noise.json",
        r#"{"version": 1, "features": ["a", "b"], "mean": [1, 0], "sd": [0.1, 0.1]}"#,
    );
    let ran =
        folder.run("recourse model.json people.csv --noise file:noise.json --noise-on changed");
    ran.fails(1, &["noise with a mean on changed features only", "not supported"]);
}

#[test]
fn flags_that_only_a_search_reads_are_not_those_of_rate() {
    for flags in [
        "-r 0.2",
        "--cost l2",
        "--bounds=-1,1",
        "--strict-bounds",
        "--max-changes 1",
        "--method probe",
        "--option a=b",
        "--paper-text",
        "--no-certify",
        "--also-favourable",
    ] {
        let flag = flags.split([' ', '=']).next().unwrap();
        let folder = Folder::with_people("a,b\n0,0\n");
        let ran = folder.run(&format!("rate model.json people.csv -o out.csv {flags}"));
        let unknown = format!("error: unexpected argument '{flag}' found");
        assert!(ran.code == Some(2) && ran.err.starts_with(&unknown), "{}", ran.err);
        assert_eq!(folder.files(), ["model.json", "people.csv"]);
    }
}

#[test]
fn a_rate_given_twice() {
    refused("frontier", "--rates 0.3,0.1,0.30", &["--rates", "0.3", "twice"]);
}
