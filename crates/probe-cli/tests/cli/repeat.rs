//! The same question has the same bytes as its answer: on any number of threads, in any order of
//! rows.

use crate::support::{Folder, Random};

/// 9,001 people around the boundary: several chunks, the last one ragged.
fn people() -> Vec<String> {
    let mut random = Random::new(1);
    (0..9_001)
        .map(|_| format!("{:.6},{:.6}", random.between(-1.0, 2.0), random.between(-1.0, 2.0)))
        .collect()
}

fn folder(rows: &[String]) -> Folder {
    Folder::with_people(&format!("a,b\n{}\n", rows.join("\n")))
}

#[track_caller]
fn bytes(folder: &Folder, line: &str) -> Vec<u8> {
    let ran = folder.run(line);
    assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
    ran.out
}

const COMMANDS: [&str; 4] = [
    "recourse model.json people.csv --cost l2 --noise-on changed",
    "frontier model.json people.csv --rates 0.3,0.05 --max-changes 1",
    "rate model.json people.csv",
    "rate model.json people.csv --estimator monte-carlo --samples 300 --seed 5",
];

#[test]
fn one_thread_and_two_write_the_same_bytes_in_every_format() {
    let folder = folder(&people());
    for command in COMMANDS {
        for format in ["csv", "json", "jsonl", "parquet"] {
            let line = format!("{command} --format {format} --threads");
            let one = bytes(&folder, &format!("{line} 1"));
            assert!(one == bytes(&folder, &format!("{line} 2")), "{line}");
            assert!(one == bytes(&folder, &format!("{line} 5")), "{line}");
        }
    }
}

/// The rows of a CSV output without their row number.
fn without_row(bytes: Vec<u8>) -> Vec<String> {
    let text = String::from_utf8(bytes).unwrap();
    text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.to_owned()).collect()
}

#[test]
fn answers_do_not_depend_on_where_a_row_stands() {
    let rows = people();
    let reversed: Vec<String> = rows.iter().rev().cloned().collect();
    for command in [COMMANDS[0], COMMANDS[2], COMMANDS[3]] {
        let forward = without_row(bytes(&folder(&rows), command));
        let mut backward = without_row(bytes(&folder(&reversed), command));
        backward.reverse();
        assert!(forward == backward, "{command}");
        // Cut in two.
        let (first, second) = rows.split_at(1_234);
        let mut parts = without_row(bytes(&folder(first), command));
        parts.extend(without_row(bytes(&folder(second), command)));
        assert!(forward == parts, "{command}");
    }
}

#[test]
fn a_point_that_stands_twice_has_one_sampled_rate() {
    let folder = Folder::with_people("a,b\n1,0.1\n0.5,1.1\n1,0.1\n");
    let table = folder.table("rate model.json people.csv --estimator monte-carlo --samples 1000");
    assert_eq!(table.rows[0][1..], table.rows[2][1..]);
    assert_ne!(table.rows[0][1..], table.rows[1][1..]);
    assert_eq!(table.get(0, "estimator"), "monte-carlo");
}

#[test]
fn another_seed_draws_other_samples() {
    let folder = folder(&people()[..200]);
    let line = "rate model.json people.csv --estimator monte-carlo --samples 1000 --seed";
    assert!(bytes(&folder, &format!("{line} 0")) != bytes(&folder, &format!("{line} 1")));
    assert!(
        bytes(&folder, &format!("{line} 0")) == bytes(&folder, line.trim_end_matches(" --seed"))
    );
}

#[test]
fn sampled_rates_agree_with_the_exact_ones() {
    let folder = folder(&people()[..300]);
    let exact = folder.table("rate model.json people.csv");
    let sampled = folder.table(
        "rate model.json people.csv --estimator monte-carlo --samples 20000 --confidence 0.99999",
    );
    for row in 0..300 {
        let rate = exact.number(row, "rate");
        // 300 intervals at 0.99999: all of them hold with probability 0.997, and the seed is fixed.
        assert!(
            sampled.number(row, "lower") <= rate && rate <= sampled.number(row, "upper"),
            "row {row}"
        );
        assert_eq!(exact.get(row, "favourable"), sampled.get(row, "favourable"));
        let (p, n) = (sampled.number(row, "rate"), 20_000.0);
        assert!((sampled.number(row, "std_error") - (p * (1.0 - p) / n).sqrt()).abs() < 1e-15);
    }
}

#[test]
fn training_repeats_itself() {
    let mut random = Random::new(3);
    let mut data = "x,z,y\n".to_owned();
    for _ in 0..500 {
        let (x, z) = (random.between(0.0, 9.0), random.between(-3.0, 3.0));
        data.push_str(&format!(
            "{x:.4},{z:.4},{}\n",
            u8::from(x + z + random.between(-2.0, 2.0) > 4.5)
        ));
    }
    let folder = Folder::new();
    folder.write("data.csv", &data);
    for (output, threads) in [("one.json", 1), ("two.json", 2)] {
        bytes(&folder, &format!("train data.csv --target y -o {output} --threads {threads}"));
    }
    assert_eq!(folder.text("one.json"), folder.text("two.json"));
    bytes(&folder, "train data.csv --target y -o three.json --seed 1");
    assert_ne!(folder.text("one.json"), folder.text("three.json"), "another seed is another split");
}

/// A network of two features.
const NETWORK: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "mlp", "features": ["a", "b"], "#,
    r#""activation": "relu",
    "layers": [{"weight": [[2.0, 1.0], [-1.0, 0.5], [0.3, -1.2]], "bias": [-0.5, 0.2, "#,
    r#"0.1]},
               {"weight": [[1.5, -0.7, 0.4]], "bias": [-2.0]}]}"#
);

#[test]
fn answers_are_those_of_the_library_to_the_bit() {
    let rows = &people()[..300];
    let folder = folder(rows);
    folder.write("network.json", NETWORK);
    let numbers: Vec<f64> =
        rows.iter().flat_map(|row| row.split(',')).map(|cell| cell.parse().unwrap()).collect();
    for file in ["model.json", "network.json"] {
        let model = probe_io::ModelFile::load(folder.path(file)).unwrap();
        let mut setup = probe_core::Setup::new(model.model, model.features, None, 0.1).unwrap();
        setup.max_rate = 0.2;
        let engine = probe_core::Engine::new(setup).unwrap();
        let answers = engine.recourse(probe_core::Rows::new(&numbers, 2).unwrap()).unwrap();
        let text = String::from_utf8(bytes(&folder, &format!("recourse {file} people.csv -r 0.2")))
            .unwrap();
        assert!(answers.iter().filter(|answer| answer.cost > Some(0.0)).count() > 50, "{file}");
        for (line, answer) in text.lines().skip(1).zip(&answers) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells[1], answer.status.as_str(), "{file}: {line}");
            assert_eq!(cells[3].parse().ok(), answer.cost, "{file}: {line}");
            assert_eq!(cells[4].parse(), Ok(answer.rate), "{file}: {line}");
            let point: Vec<f64> = cells[11..].iter().map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(point, answer.point, "{file}: {line}");
        }
        assert_eq!(text.lines().count(), answers.len() + 1);
    }
}
