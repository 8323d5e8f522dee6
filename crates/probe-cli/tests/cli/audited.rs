//! People whom an audit found to have a cheaper answer, or an answer at all. Tests have the numbers
//! of its findings; 2, 8 and 16 are in tests of `probe-core`, 6 and 7 also. Each folder under
//! `tests/audited` has a small random model, the person, and the better point that the audit found.

use crate::support::{Csv, Folder};
use std::path::Path;

/// Draws that check a rate.
const DRAWS: u32 = 200_000;

/// What one audit asked.
struct Case {
    folder: &'static str,
    /// Flags of `recourse`, and those of them that `rate` takes too.
    asks: &'static str,
    noise: &'static str,
    rate: f64,
    seeds: &'static [u32],
    /// How many times the cost of the better point an answer may have; `None` where any answer is
    /// better than none.
    within: Option<(&'static str, f64)>,
}

fn folder_of(name: &str) -> Folder {
    let folder = Folder::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/audited").join(name);
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path(entry.file_name().to_str().unwrap())).unwrap();
    }
    folder
}

/// The cost of `to` for `from`, all features of weight one and in scaled units.
fn cost(norm: &str, from: &Csv, to: &Csv, columns: &[&str]) -> f64 {
    let moves = columns.iter().map(|c| (to.number(0, c) - from.number(0, c)).abs());
    match norm {
        "l1" => moves.sum(),
        "l2" => moves.map(|m| m * m).sum::<f64>().sqrt(),
        _ => moves.fold(0.0, f64::max),
    }
}

/// Asserts that the person gets a certified answer whose rate other draws confirm, at about the
/// cost of the better point.
fn check(case: &Case) {
    let folder = folder_of(case.folder);
    let person = Csv::parse(&folder.text("person.csv"));
    let columns = person.header.clone();
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    for seed in case.seeds {
        let line = format!(
            "recourse model.json person.csv -r {} {} {} --seed {seed} -q",
            case.rate, case.noise, case.asks
        );
        let answers = folder.table(&line);
        assert_eq!(answers.get(0, "status"), "certified", "{}: {line}", case.folder);
        if let Some((norm, times)) = case.within {
            let better = Csv::parse(&folder.text("better.csv"));
            let (own, least) = (answers.number(0, "cost"), cost(norm, &person, &better, &names));
            assert!(own <= times * least, "{}: {own} for {least}", case.folder);
        }
        let values: Vec<&str> = names.iter().map(|name| answers.get(0, name)).collect();
        folder.write("answer.csv", &format!("{}\n{}\n", names.join(","), values.join(",")));
        let rates = folder.table(&format!(
            "rate model.json answer.csv --from person.csv {} --samples {DRAWS} --seed 77 -q",
            case.noise
        ));
        // Four standard errors of a share of so many draws.
        let error = 4.0 * (case.rate * (1.0 - case.rate) / f64::from(DRAWS)).sqrt();
        let rate = rates.number(0, "rate");
        assert!(rate <= case.rate + error, "{}: {rate} with seed {seed}", case.folder);
        assert_eq!(rates.get(0, "favourable"), "true");
    }
}

#[test]
fn finding_1_the_corner_of_a_box_is_reachable_for_every_seed() {
    check(&Case {
        folder: "corner_of_a_box",
        asks: "--cost linf --bounds 0,1",
        noise: "--noise-on mutable --noise laplace:0.2",
        rate: 0.05,
        seeds: &[156, 5, 0],
        within: None,
    });
}

#[test]
fn finding_3_a_slightly_moved_network_is_not_left_for_a_far_answer() {
    check(&Case {
        folder: "three_features_of_a_network",
        asks: "--bounds 0,1 --cost linf",
        noise: "--sigma 0.07",
        rate: 0.2,
        seeds: &[0, 1],
        within: Some(("linf", 1.02)),
    });
}

#[test]
fn finding_4_single_features_of_a_forest_are_found_at_every_rate() {
    for (rate, within) in [(0.05, 1.05), (0.052, 1.05), (0.06, 1.05)] {
        check(&Case {
            folder: "one_feature_of_a_forest",
            asks: "--bounds 0,1 --cost l1",
            noise: "--sigma 0.03",
            rate,
            seeds: &[0, 1],
            within: Some(("l1", within)),
        });
    }
}

#[test]
fn finding_5_moves_of_boosted_trees_across_a_flat_region_are_found() {
    check(&Case {
        folder: "one_feature_of_boosted_trees",
        asks: "--bounds 0,1 --cost l2",
        noise: "--sigma 0.03",
        rate: 0.1,
        seeds: &[0, 1],
        within: Some(("l2", 1.05)),
    });
}

#[test]
fn finding_9_half_open_ranges_do_not_hide_favourable_points() {
    check(&Case {
        folder: "half_open_ranges",
        asks: "",
        noise: "--noise-on all --noise gaussian:0.05 --schema schema.json",
        rate: 0.4,
        seeds: &[0, 1, 2, 3],
        within: None,
    });
}

#[test]
fn finding_10_residuals_before_a_network_are_reachable_for_every_seed() {
    check(&Case {
        folder: "residuals_before_a_network",
        asks: "--bounds 0,1 --max-changes 3",
        noise: "--noise-on all --noise file:noise.json",
        rate: 0.2,
        seeds: &[766, 1, 2],
        within: None,
    });
}

#[test]
fn finding_11_residuals_before_a_forest_are_reachable_for_every_seed() {
    check(&Case {
        folder: "residuals_before_a_forest",
        asks: "",
        noise: "--noise-on mutable --noise file:noise.json",
        rate: 0.2,
        seeds: &[0, 2, 3],
        within: None,
    });
}

#[test]
fn finding_12_two_of_seven_features_are_found_where_no_slope_leads_to_them() {
    check(&Case {
        folder: "two_of_seven_features",
        asks: "--max-changes 2",
        noise: "--noise-on changed --noise student-t:0.2,df=8.0",
        rate: 0.35,
        seeds: &[109, 1, 2],
        within: None,
    });
}

#[test]
fn finding_13_a_category_and_far_numbers_are_found_together() {
    check(&Case {
        folder: "a_category_before_a_network",
        asks: "--cost linf",
        noise: "--noise-on mutable --noise student-t:0.05,df=2.5",
        rate: 0.2,
        seeds: &[0, 1, 2],
        within: None,
    });
}

/// A count of exactly 1 is rejected, 0 and 2 are accepted. Noise nearly always leaves the rejected
/// place, so the person's own rate is low, and the cheapest point without steps is 1 but for
/// rounding.
#[test]
fn finding_15_a_person_of_low_rate_is_told_the_next_step() {
    let folder = Folder::new();
    folder.write(
        "model.json",
        r#"{"format": "probe-model", "version": 1, "kind": "trees", "features": ["count", "x"],
            "split": "<=", "aggregate": "sum", "trees": [{"feature": [0, 0, 0, 0, 0],
            "threshold": [0.99999999, 0.0, 1.00000001, 0.0, 0.0], "left": [1, -1, 3, -1, -1],
            "right": [2, -1, 4, -1, -1], "value": [0.0, 1.0, 0.0, -1.0, 1.0]}]}"#,
    );
    folder.write(
        "schema.toml",
        "version = 1\nmodel_input = \"raw\"\n[[feature]]\nname = \"count\"\nkind = \"integer\"\n\
         min = 0\nmax = 6\nscale = [0.0, 6.0]\n[[feature]]\nname = \"x\"\nkind = \"numeric\"\n\
         scale = [0.0, 1.0]\n",
    );
    folder.write("person.csv", "count,x\n1,0.5\n");
    let answers =
        folder.table("recourse model.json person.csv --schema schema.toml -r 0.1 --sigma 0.05 -q");
    assert_eq!(answers.get(0, "status"), "certified");
    assert!(["0", "2"].contains(&answers.get(0, "count")), "{}", answers.get(0, "count"));
    assert_eq!(answers.get(0, "x"), "0.5");
}

/// The same for numbers without steps, under correlated noise on all features: exactly 1 is
/// rejected, the next numbers on both sides are not. The nearest accepted point, printed, was 1
/// again.
#[test]
fn finding_14_a_person_of_low_rate_is_told_the_least_change() {
    let folder = Folder::new();
    let stump = |feature: usize, cut: f64| {
        format!(
            r#"{{"feature": [{feature}, 0, 0], "threshold": [{cut}, 0.0, 0.0], "left": [1, -1, -1],
                "right": [2, -1, -1], "value": [0.0, -0.1, 0.1]}}"#
        )
    };
    let pit = r#"{"feature": [0, 0, 0, 0, 0], "threshold": [1.0, 0.0, 1.000000001, 0.0, 0.0],
        "left": [1, -1, 3, -1, -1], "right": [2, -1, 4, -1, -1],
        "value": [0.0, 0.5, 0.0, -1.0, 0.5]}"#;
    let trees = [pit.to_owned(), stump(1, 0.3), stump(2, 0.4), stump(3, 0.6), stump(4, 0.2)];
    folder.write(
        "model.json",
        &format!(
            r#"{{"format": "probe-model", "version": 1, "kind": "trees", "split": "<",
                "features": ["late", "v", "w", "x", "y"], "aggregate": "sum",
                "trees": [{}]}}"#,
            trees.join(", ")
        ),
    );
    let mut schema = "version = 1\nmodel_input = \"raw\"\n[[feature]]\nname = \"late\"\n\
                      kind = \"numeric\"\nmin = 0.0\nmax = 10.0\nscale = [0.0, 6.0]\n"
        .to_owned();
    for name in ["v", "w", "x", "y"] {
        schema.push_str(&format!(
            "[[feature]]\nname = \"{name}\"\nkind = \"numeric\"\nscale = [0.0, 1.0]\n"
        ));
    }
    folder.write("schema.toml", &schema);
    let covariance: Vec<String> = (0..5)
        .map(|i| {
            let row = (0..5).map(|j| if i == j { "0.0006" } else { "0.0002" });
            format!("[{}]", row.collect::<Vec<_>>().join(", "))
        })
        .collect();
    folder.write(
        "noise.json",
        &format!(
            r#"{{"version": 1, "features": ["late", "v", "w", "x", "y"],
                "mean": [0.002, -0.001, 0.0, 0.001, 0.0], "covariance": [{}]}}"#,
            covariance.join(", ")
        ),
    );
    folder.write("person.csv", "late,v,w,x,y\n1.0,0.5,0.6,0.4,0.5\n");
    for seed in 0..6 {
        let answers = folder.table(&format!(
            "recourse model.json person.csv --schema schema.toml -r 0.1 --noise-on all \
             --noise file:noise.json --seed {seed} -q"
        ));
        assert_eq!(answers.get(0, "status"), "certified", "seed {seed}");
        assert!(answers.number(0, "cost") < 1e-6, "seed {seed}: {}", answers.get(0, "cost"));
    }
}
