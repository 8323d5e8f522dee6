//! Relations, changes that may fail, several ways, preferences and costs of people's own, by the
//! command line.

use crate::support::{Csv, Folder};

/// The score is 3 income − 2 loans + 2 own − 2, numbers scaled to 0..1.
fn folder(extra: &str, p_fail: f64) -> Folder {
    let folder = Folder::new();
    folder.write(
        "model.json",
        concat!(
            r#"{"format": "probe-model", "version": 1, "kind": "linear", "#,
            r#""features": ["income", "loans", "#,
            r#""housing=rent", "housing=own"],
            "layers": [{"weight": [[3.0, -2.0, 0.0, 2.0]], "bias": [-2.0]}]}"#
        ),
    );
    folder.write(
        "schema.toml",
        &format!(
            r#"version = 1
{extra}
[[feature]]
name = "income"
kind = "numeric"
scale = [0, 1000]

[[feature]]
name = "loans"
kind = "numeric"
scale = [0, 10]
min = 0
max = 10

[[feature]]
name = "housing"
kind = "categorical"
categories = ["rent", "own"]
cost = 0.2
p_fail = {p_fail}
"#
        ),
    );
    folder.write("people.csv", "income,loans,housing\n200,5,rent\n100,2,rent\n");
    folder
}

fn recourse(folder: &Folder, flags: &str) -> Csv {
    let ran = folder.run(&format!(
        "recourse model.json people.csv --schema schema.toml -r 0.1 --sigma 0.05 --quiet {flags}"
    ));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    Csv::parse(&ran.text())
}

#[test]
fn ways_use_other_features() {
    let folder = folder("", 0.0);
    let out = recourse(&folder, "--options 4");
    let mut sets = Vec::new();
    for i in 0..8 {
        assert_eq!(out.get(i, "row"), (i / 4).to_string());
        assert_eq!(out.get(i, "option"), (i % 4).to_string());
    }
    for option in 0..4 {
        let changed = [("income", "200"), ("loans", "5"), ("housing", "rent")]
            .map(|(name, was)| out.get(option, name) != was);
        if out.get(option, "status") == "certified" {
            assert!(!sets.contains(&changed), "{changed:?}");
            sets.push(changed);
        } else {
            assert_eq!(out.get(option, "reason"), "no-other-way");
        }
    }
    assert!(sets.len() >= 2, "{sets:?}");
    let costs: Vec<f64> = (0..sets.len()).map(|i| out.get(i, "cost").parse().unwrap()).collect();
    assert!(costs.is_sorted(), "{costs:?}");
    folder
        .run("recourse model.json people.csv --schema schema.toml --options 2 --method wachter")
        .fails(1, &["several alternatives", "wachter"]);
    folder
        .run("recourse model.json people.csv --schema schema.toml --options 0")
        .fails(2, &["--options"]);
}

#[test]
fn what_may_fail_counts() {
    // r = 0.1 cannot be had by housing that fails one time in five: somebody must do without it.
    let (sure, risky) = (folder("", 0.0), folder("", 0.2));
    let (with, without) = (recourse(&sure, ""), recourse(&risky, ""));
    assert_eq!(with.get(1, "housing"), "own");
    assert_eq!((without.get(1, "housing"), without.get(1, "status")), ("rent", "certified"));
    assert!(risky.run("inspect schema.toml").text().contains("fails with probability 0.2"));
    // The rate of a given point counts both outcomes: here everything rests on the house.
    risky.write("points.csv", "income,loans,housing\n300,2,own\n");
    risky.write("from.csv", "income,loans,housing\n300,2,rent\n");
    let ran = risky.run(
        "rate model.json points.csv --from from.csv --schema schema.toml --sigma 0.05 --quiet",
    );
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    // Margin 3·0.3 − 2·0.2 + 2 − 2 = 0.5, noise 0.05·√13 = 0.18028: Φ(−2.77350) = 0.0027728;
    // without the house it is refused.
    let rate: f64 = Csv::parse(&ran.text()).get(0, "rate").parse().unwrap();
    assert!((rate - (0.2 + 0.8 * 0.002_772_8)).abs() < 1e-5, "{rate}");
}

#[test]
fn relations_are_kept_and_explained() {
    let folder = folder(
        "[[relation]]\nrule = \"income <= 100 * loans\"\n\n[[relation]]\nif = \"housing = \
         own\"\nfixed = [\"loans\"]\n",
        0.0,
    );
    let out = recourse(&folder, "--options 3");
    for row in 0..6 {
        let number = |name: &str| out.get(row, name).parse::<f64>().unwrap();
        let from = [(200.0, "5"), (100.0, "2")][row / 3];
        let room = f64::max(0.0, from.0 - 100.0 * from.1.parse::<f64>().unwrap());
        assert!(number("income") - 100.0 * number("loans") <= room + 1e-6, "row {row}");
        assert!(out.get(row, "housing") != "own" || out.get(row, "loans") == from.1, "row {row}");
    }
    let told = folder.run("inspect schema.toml").text();
    assert!(told.contains("income <= 100 * loans") && told.contains("if housing = own"), "{told}");
    folder
        .run("recourse model.json people.csv --schema schema.toml --cost l2")
        .fails(1, &["relations", "l2"]);
    folder.write("schema.toml", &folder.text("schema.toml").replace("100 * loans", "100 * wealth"));
    folder.run("inspect schema.toml").fails(1, &["wealth"]);
}

#[test]
fn people_say_what_they_would_rather_do() {
    let folder = folder("max_changes = 1\n", 0.0);
    assert_ne!(recourse(&folder, "--prefer income").get(0, "income"), "200");
    let avoided = recourse(&folder, "--avoid housing --max-changes 2");
    assert_eq!(avoided.get(0, "housing"), "rent");
    folder
        .run("recourse model.json people.csv --schema schema.toml --prefer wealth")
        .fails(2, &["--prefer", "wealth"]);
    folder
        .run("recourse model.json people.csv --schema schema.toml --prefer income --avoid income")
        .fails(2, &["income"]);
    // Costs of their own: to the first person income is nothing, to the second a house is.
    folder.write("costs.csv", "income,housing\n0.001,\n,0.001\n");
    let own = recourse(&folder, "--costs costs.csv --max-changes 2");
    assert_ne!(own.get(0, "income"), "200");
    assert_eq!(own.get(1, "housing"), "own");
    let cost: f64 = own.get(0, "cost").parse().unwrap();
    let income: f64 = own.get(0, "income").parse().unwrap();
    assert!((cost - 0.001 * (income - 200.0) / 1000.0).abs() < 1e-9, "{cost}");
    folder.write("short.csv", "income\n2\n");
    folder
        .run("recourse model.json people.csv --schema schema.toml --costs short.csv")
        .fails(1, &["short.csv", "row 1"]);
    folder.write("wrong.csv", "income\n2\n-1\n");
    folder
        .run("recourse model.json people.csv --schema schema.toml --costs wrong.csv")
        .fails(1, &["wrong.csv", "row 1", "positive"]);
    folder.write("both.csv", "income,loans,housing,cost:income\n200,5,rent,0.001\n100,2,rent,\n");
    let ran = folder.run(
        "recourse model.json both.csv --schema schema.toml --costs both.csv \
        --ignore-extra -r 0.1 --sigma 0.05 --quiet",
    );
    assert_ne!(Csv::parse(&ran.text()).get(0, "income"), "200", "{}", ran.err);
}

#[test]
fn what_would_help_is_said() {
    // Score 3 income − 2 loans − 2 with income at most 400 and no house to be had: 1.2 − 2 at best.
    let folder = folder("", 0.0);
    let schema =
        folder.text("schema.toml").replace("scale = [0, 1000]", "scale = [0, 1000]\nmax = 400");
    folder.write("schema.toml", &(schema + "transitions = { rent = [] }\n"));
    let out = recourse(&folder, "--relax");
    assert_eq!(out.get(0, "status"), "none");
    // A third of the range of income is less than what a house costs: 0.4.
    assert!(
        out.get(0, "relaxation").starts_with("income <= 743.67"),
        "{}",
        out.get(0, "relaxation")
    );
    let ran = folder.run(
        "recourse model.json people.csv --schema schema.toml -r 0.1 --sigma 0.05 --quiet --relax \
         --format jsonl",
    );
    let row: serde_json::Value = serde_json::from_str(ran.text().lines().next().unwrap()).unwrap();
    let all = row["relaxations"].as_array().unwrap();
    let income = all.iter().find(|r| r["feature"] == "income").unwrap();
    // 3 x − 2 must reach 1.28155 · 0.05 · √13.
    let needed = (2.0 + 1.281_551_565_5 * 0.05 * 13.0_f64.sqrt()) / 3.0 * 1000.0;
    assert_eq!(income["limit"], "at-most");
    assert!((income["needed"].as_f64().unwrap() - needed).abs() < 0.01, "{income}");
    assert_eq!(income["to"]["loans"], 0.0);
    assert_eq!((&all[1]["limit"], &all[1]["needed"]), (&"transition".into(), &"own".into()));
}
