//! The promise end to end: train, answer hundreds of people, feed the printed answers back.
//!
//! Everything is checked on the printed text alone: rates by `probe rate` and by a reckoning of our
//! own, and the rules of the schema exactly, without a tolerance.

use crate::support::{Csv, Folder, Random, upper_tail};
use serde_json::Value;

const SIGMA: f64 = 0.037;

/// Offsets and widths that no binary fraction is near; every rule there is.
const SCHEMA: &str = r#"version = 1
target = "approved"
favourable = "yes"
model_input = "INPUT"
[[feature]]
name = "income"
direction = "increase"
scale = [12345.67, 98765.43]
max = 87654.321
[[feature]]
name = "debt"
direction = "decrease"
scale = [-0.3, 30000.7]
min = 0.1
cost = 0.7
[[feature]]
name = "age"
mutable = false
[[feature]]
name = "share"
center = 33.3
scale_by = 0.7
noise = 0.05
cost_up = 0.31
cost_down = 0.17
[[feature]]
name = "temperature"
scale = [1000000.1, 1000001.3]
direction = "increase"
"#;

const NAMES: [&str; 5] = ["income", "debt", "age", "share", "temperature"];

fn person(random: &mut Random) -> [f64; 5] {
    [
        random.between(12_000.0, 95_000.0),
        random.between(0.0, 30_000.0),
        random.between(20.0, 70.0),
        random.between(31.0, 35.0),
        random.between(1_000_000.0, 1_000_001.0),
    ]
}

/// A trained model and 400 people, in raw units with all their digits.
fn folder(input: &str) -> Folder {
    let mut random = Random::new(99);
    let mut data = format!("{},approved\n", NAMES.join(","));
    for _ in 0..1_000 {
        let x = person(&mut random);
        let score = (x[0] - 52_000.0) / 20_000.0 - (x[1] - 15_000.0) / 10_000.0
            + (x[3] - 33.0)
            + (x[4] - 1_000_000.5)
            + random.between(-1.5, 1.5);
        let cells: Vec<String> = x.iter().map(f64::to_string).collect();
        data.push_str(&format!("{},{}\n", cells.join(","), if score > 0.0 { "yes" } else { "no" }));
    }
    let mut people = format!("{}\n", NAMES.join(","));
    for _ in 0..400 {
        let cells: Vec<String> = person(&mut random).iter().map(f64::to_string).collect();
        people.push_str(&format!("{}\n", cells.join(",")));
    }
    let folder = Folder::with_people(&people);
    folder.write("data.csv", &data);
    folder.write("schema.toml", &SCHEMA.replace("INPUT", input));
    let ran = folder.run("train data.csv --schema schema.toml -o trained.json --quiet");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    folder
}

/// One feature of the trained model, read from its file without the engine.
struct Part {
    name: String,
    /// Per unit of what the model takes.
    weight: f64,
    /// Raw value at 0 and raw units per unit of what the model takes.
    offset: f64,
    width: f64,
    /// Standard deviation of the score's noise by this feature.
    spread: f64,
    mutable: bool,
    direction: String,
    low: f64,
    high: f64,
}

/// Parts and bias, as the flags change them. Ranges learned in training bound what has no bound of
/// its own.
fn parts(folder: &Folder, flags: &str) -> (Vec<Part>, f64) {
    let model: Value = serde_json::from_str(&folder.text("trained.json")).unwrap();
    let takes_raw = model["schema"]["model_input"] == "raw";
    let learned = |feature: &Value, side: usize| {
        let kept = !flags.contains("--bounds none");
        kept.then(|| feature["range"][side].as_f64().unwrap())
    };
    let part = |(j, feature): (usize, &Value)| {
        let number = |key: &str| feature[key].as_f64();
        let (offset, width) = match (feature["scale"][0].as_f64(), feature["scale"][1].as_f64()) {
            (Some(zero), Some(one)) => (zero, one - zero),
            _ => (number("center").unwrap(), number("scale_by").unwrap()),
        };
        let weight = model["layers"][0]["weight"][0][j].as_f64().unwrap();
        let raw_noise = number("noise").unwrap_or(SIGMA * width);
        Part {
            name: feature["name"].as_str().unwrap().to_owned(),
            weight,
            offset: if takes_raw { 0.0 } else { offset },
            width: if takes_raw { 1.0 } else { width },
            spread: weight * raw_noise / if takes_raw { 1.0 } else { width },
            mutable: feature["mutable"] == true
                && !flags.contains(&format!("--immutable {}", NAMES[j])),
            direction: feature["direction"].as_str().unwrap().to_owned(),
            low: number("min").or(learned(feature, 0)).unwrap_or(f64::NEG_INFINITY),
            high: number("max").or(learned(feature, 1)).unwrap_or(f64::INFINITY),
        }
    };
    let parts: Vec<Part> =
        model["schema"]["feature"].as_array().unwrap().iter().enumerate().map(part).collect();
    assert_eq!(parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), NAMES);
    (parts, model["layers"][0]["bias"][0].as_f64().unwrap())
}

/// Every rule of the schema, on the printed texts of one person.
fn check_rules(parts: &[Part], people: &Csv, answers: &Csv, row: usize) {
    for part in parts {
        let (before, after) = (people.get(row, &part.name), answers.get(row, &part.name));
        let (from, to): (f64, f64) = (before.parse().unwrap(), after.parse().unwrap());
        let place = format!("row {row}, {}: {before} to {after}", part.name);
        if from == to {
            assert_eq!(before, after, "{place}");
            continue;
        }
        assert!(part.mutable, "{place}");
        assert!(part.direction != "increase" || to > from, "{place}");
        assert!(part.direction != "decrease" || to < from, "{place}");
        assert!(to >= part.low.min(from), "{place}: below {}", part.low);
        assert!(to <= part.high.max(from), "{place}: above {}", part.high);
    }
}

/// Score, standard deviation, number of changes, and how far rounding may move the rate, all from
/// printed texts.
fn reckon(
    parts: &[Part],
    bias: f64,
    people: &Csv,
    answers: &Csv,
    row: usize,
    flags: &str,
) -> (f64, f64, usize, f64) {
    let (mut score, mut variance, mut changed, mut size) = (bias, 0.0, 0, bias.abs());
    for part in parts {
        let differs = people.get(row, &part.name) != answers.get(row, &part.name);
        let noisy = match flags {
            f if f.contains("--noise-on changed") => differs,
            f if f.contains("--noise-on all") => true,
            _ => part.mutable,
        };
        let term = part.weight * ((answers.number(row, &part.name) - part.offset) / part.width);
        score += term;
        size += term.abs();
        variance += if noisy { part.spread.powi(2) } else { 0.0 };
        changed += usize::from(differs);
    }
    // Each term and each sum rounds; the normal density is below 0.4.
    let sd = f64::sqrt(variance);
    let slop = if sd > 0.0 { 0.4 * 8.0 * f64::EPSILON * size / sd } else { 0.0 };
    (score, sd, changed, slop)
}

/// Answers all people with these flags and checks each printed row; returns how many were
/// certified.
fn check(folder: &Folder, r: f64, flags: &str) -> usize {
    let (parts, bias) = parts(folder, flags);
    let asked = format!("--sigma {SIGMA} {flags}");
    let ran = folder.run(&format!("recourse trained.json people.csv -r {r} {asked} -o out.csv"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let from = if flags.contains("changed") { "--from people.csv" } else { "" };
    // Of the flags, those that tell where noise acts.
    let noise: Vec<&str> = flags.split(' ').collect();
    let noise: Vec<String> = noise
        .windows(2)
        .filter(|pair| ["--noise-on", "--immutable", "--schema", "--noise"].contains(&pair[0]))
        .map(|pair| pair.join(" "))
        .collect();
    let noise = noise.join(" ");
    let rates = folder
        .table(&format!("rate trained.json out.csv --ignore-extra --sigma {SIGMA} {noise} {from}"));
    let (people, answers) =
        (Csv::parse(&folder.text("people.csv")), Csv::parse(&folder.text("out.csv")));
    assert_eq!((answers.rows.len(), rates.rows.len()), (people.rows.len(), people.rows.len()));
    let mut certified = 0;
    for row in 0..people.rows.len() {
        check_rules(&parts, &people, &answers, row);
        let (score, sd, changed, slop) = reckon(&parts, bias, &people, &answers, row, flags);
        assert_eq!(answers.get(row, "changed"), changed.to_string(), "row {row}");
        let own = if sd > 0.0 { upper_tail(score / sd) } else { f64::from(u8::from(score <= 0.0)) };
        let printed = answers.number(row, "rate");
        assert!((own - printed).abs() <= slop + 1e-14, "row {row}: {own} {printed} {slop}");
        assert_eq!(
            rates.get(row, "rate"),
            answers.get(row, "rate"),
            "row {row}: one point, two rates"
        );
        if answers.get(row, "status") == "certified" {
            certified += 1;
            assert!(printed <= r, "row {row}: {printed}");
            assert_eq!(rates.get(row, "favourable"), "true", "row {row}");
        }
    }
    certified
}

#[test]
fn certified_answers_hold_when_fed_back() {
    let folder = folder("scaled");
    for cost in ["l1", "l2", "linf"] {
        for (r, noise) in
            [(0.1, ""), (0.01, "--noise-on all"), (0.2, "--noise-on changed"), (0.6, "")]
        {
            let certified = check(&folder, r, &format!("--cost {cost} {noise}"));
            assert!(certified > 100, "{cost}, {r}, {noise}: only {certified} certified");
        }
        assert!(check(&folder, 0.1, &format!("--cost {cost} --max-changes 1")) > 50, "{cost}");
        assert!(
            check(&folder, 0.05, &format!("--cost {cost} --bounds none --immutable debt")) > 50,
            "{cost}"
        );
    }
}

#[test]
fn certified_answers_of_a_raw_input_model_hold_too() {
    let folder = folder("raw");
    for cost in ["l1", "l2", "linf"] {
        assert!(check(&folder, 0.1, &format!("--cost {cost}")) > 100, "{cost}");
        assert!(check(&folder, 0.02, &format!("--cost {cost} --noise-on changed")) > 100, "{cost}");
    }
}

#[test]
fn frontiers_and_recourse_are_one_and_the_same() {
    let folder = folder("scaled");
    let flags = format!("trained.json people.csv --sigma {SIGMA} --cost l2");
    let frontier = folder.table(&format!("frontier {flags} --rates 0.3,0.1"));
    let recourse = folder.table(&format!("recourse {flags} -r 0.1"));
    for row in 0..recourse.rows.len() {
        for column in ["status", "reason", "cost", "rate", "income", "debt", "share", "temperature"]
        {
            assert_eq!(
                frontier.get(2 * row + 1, column),
                recourse.get(row, column),
                "row {row}, {column}"
            );
        }
    }
}

#[test]
fn steps_of_some_ulps_keep_every_rule_too() {
    for input in ["scaled", "raw"] {
        let folder = folder(input);
        let (before, mut certified) = (folder.text("people.csv"), 0);
        for cost in ["l1", "l2", "linf"] {
            check(&folder, 0.1, &format!("--cost {cost}"));
            // Whoever just meets 0.1 seeks a little less: the step is lost in the digits of the
            // larger features.
            let answers = Csv::parse(&folder.text("out.csv"));
            let mut people = format!("{}\n", NAMES.join(","));
            for row in
                (0..answers.rows.len()).filter(|&row| answers.get(row, "status") == "certified")
            {
                people
                    .push_str(&format!("{}\n", NAMES.map(|name| answers.get(row, name)).join(",")));
            }
            folder.write("people.csv", &people);
            for r in [0.099_999_999_999_99, 0.099_999_999_9] {
                certified += check(&folder, r, &format!("--cost {cost} --also-favourable"));
                let answers = folder.text("out.csv");
                let missed = ["rate-not-reachable", "not-found"].map(|why| answers.contains(why));
                assert_eq!(
                    missed, [false; 2],
                    "{input}, {cost}, {r}: nothing stands in the way of so small a step"
                );
            }
            folder.write("people.csv", &before);
        }
        assert!(certified > 100, "{input}: only {certified}");
    }
}
