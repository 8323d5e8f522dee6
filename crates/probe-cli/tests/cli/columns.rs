//! Names and order of the output columns, in every format.

use crate::support::{Csv, Folder};
use probe_io::{Columns, Format, TableReader};
use serde_json::Value;

const RECOURSE: &str = "row,status,reason,cost,rate,rate_upper,best_rate,changed,outside_range,\
     cost_lower,proven,a,b,who";
const FRONTIER: &str = "row,target_rate,status,reason,cost,rate,rate_upper,changed,a,b,who";
const RATE: &str = "row,favourable,margin,rate,std_error,lower,upper,estimator,who";

/// One person of each kind: reachable, favourable, and out of reach for nobody here.
const PEOPLE: &str = "a,b,who\n0,0,Ann\n0.250,1e-1,Bob\n2,2,Cleo\n";

fn commands() -> [(&'static str, &'static str, usize); 3] {
    [
        ("recourse model.json people.csv --id who", RECOURSE, 3),
        ("frontier model.json people.csv --id who --rates 0.3,0.1", FRONTIER, 6),
        ("rate model.json people.csv --id who", RATE, 3),
    ]
}

#[test]
fn csv_has_the_contract_s_columns() {
    let folder = Folder::with_people(PEOPLE);
    for (command, header, n_rows) in commands() {
        let table = folder.table(command);
        assert_eq!(table.header.join(","), header);
        assert_eq!(table.rows.len(), n_rows, "{command}");
    }
}

#[test]
fn frontiers_have_one_row_per_person_and_rate() {
    let table = Folder::with_people(PEOPLE)
        .table("frontier model.json people.csv --id who --rates 0.3,0.1");
    let keys: Vec<_> = (0..6)
        .map(|i| (table.get(i, "row"), table.get(i, "target_rate"), table.get(i, "who")))
        .collect();
    let expected = [
        ("0", "0.3", "Ann"),
        ("0", "0.1", "Ann"),
        ("1", "0.3", "Bob"),
        ("1", "0.1", "Bob"),
        ("2", "0.3", "Cleo"),
        ("2", "0.1", "Cleo"),
    ];
    assert_eq!(keys, expected);
}

#[test]
fn the_default_frontier_falls_from_0_45_to_0_01() {
    let table = Folder::with_people("a,b\n0,0\n").table("frontier model.json people.csv");
    let rates: Vec<_> = (0..table.rows.len()).map(|i| table.number(i, "target_rate")).collect();
    assert_eq!(rates, [0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.01]);
    let costs: Vec<_> = (0..table.rows.len()).map(|i| table.number(i, "cost")).collect();
    assert!(costs.windows(2).all(|pair| pair[0] < pair[1]), "{costs:?}");
}

/// The table as probe-io reads it back: header and every cell as text.
fn read_back(folder: &Folder, name: &str, format: Format) -> Csv {
    let reader = TableReader::open(folder.path(name), Some(format)).unwrap();
    let header = reader.header().to_vec();
    let all = Columns { ids: header.clone(), ..Columns::default() };
    let mut rows = Vec::new();
    for chunk in reader.select(&all).unwrap() {
        let chunk = chunk.unwrap();
        for row in 0..chunk.n_rows() {
            let text = |k: usize| match chunk.id(row, k).unwrap().to_json() {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => other.to_string(),
            };
            rows.push((0..header.len()).map(text).collect());
        }
    }
    Csv { header, rows }
}

#[test]
fn parquet_has_the_same_columns_and_values() {
    let folder = Folder::with_people(PEOPLE);
    for (command, header, n_rows) in commands() {
        assert_eq!(folder.run(&format!("{command} -o out.parquet")).code, Some(0));
        let parquet = read_back(&folder, "out.parquet", Format::Parquet);
        assert_eq!(parquet.header.join(","), header);
        assert_eq!(parquet.rows.len(), n_rows);
        let csv = folder.table(command);
        for (ours, theirs) in parquet.rows.iter().zip(&csv.rows) {
            for (column, (found, expected)) in header.split(',').zip(ours.iter().zip(theirs)) {
                match (found.parse::<f64>(), expected.parse::<f64>()) {
                    (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{column}"),
                    _ => assert_eq!(found, expected, "{column}"),
                }
            }
        }
    }
}

/// Fields of a JSON row, in order.
fn keys(row: &Value) -> Vec<&str> {
    row.as_object().unwrap().keys().map(String::as_str).collect()
}

const META: [&str; 7] =
    ["version", "command", "seed", "model_hash", "noise", "sigma", "confidence"];

#[test]
fn json_rows_have_from_to_changes_and_the_document_has_meta() {
    let folder = Folder::with_people(PEOPLE);
    let ran = folder.run("recourse model.json people.csv --id who --format json --seed 7 -r 0.2");
    let document: Value = serde_json::from_slice(&ran.out).unwrap();
    for key in META {
        assert!(document["meta"].get(key).is_some(), "no {key} in {}", document["meta"]);
    }
    let meta = &document["meta"];
    assert_eq!(
        (&meta["command"], &meta["seed"], &meta["r"]),
        (&"recourse".into(), &7.into(), &0.2.into())
    );
    assert!(meta["note"].as_str().unwrap().contains("noise model"), "{meta}");
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    let expected = [
        "row",
        "status",
        "reason",
        "cost",
        "rate",
        "rate_upper",
        "best_rate",
        "changed",
        "outside_range",
        "cost_lower",
        "proven",
        "from",
        "to",
        "changes",
        "tolerance",
        "shortfall",
        "who",
    ];
    for row in rows {
        assert_eq!(keys(row), expected);
        assert_eq!((keys(&row["from"]), keys(&row["to"])), (vec!["a", "b"], vec!["a", "b"]));
    }
    let bob = &rows[1];
    assert_eq!(
        (&bob["from"]["a"], &bob["from"]["b"], &bob["who"]),
        (&0.25.into(), &0.1.into(), &"Bob".into())
    );
    assert_eq!(keys(&bob["changes"]), ["a"]);
    assert_eq!(bob["changes"]["a"]["from"], 0.25);
    assert_eq!(bob["changes"]["a"]["to"], bob["to"]["a"]);
    assert_eq!(bob["to"]["b"], 0.1);
    assert!(bob["reason"].is_null() && bob["shortfall"].is_null());
    let cleo = &rows[2];
    assert_eq!((&cleo["status"], &cleo["changes"]), (&"favourable".into(), &serde_json::json!({})));
    assert!(cleo["tolerance"].is_null());
}

#[test]
fn json_lines_stand_for_themselves() {
    let folder = Folder::with_people(PEOPLE);
    for (command, header, n_rows) in commands() {
        let ran = folder.run(&format!("{command} --format jsonl"));
        let text = ran.text();
        let rows: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), n_rows, "{command}");
        for row in &rows {
            for column in header.split(',').filter(|column| !["a", "b"].contains(column)) {
                assert!(row.get(column).is_some(), "{command}: no {column} in {row}");
            }
            assert_eq!(row["meta"]["command"], command.split(' ').next().unwrap());
        }
    }
}

#[test]
fn a_frontier_s_meta_names_its_rates() {
    let ran = Folder::with_people(PEOPLE)
        .run("frontier model.json people.csv --id who --rates 0.3,0.1 --format json");
    let document: Value = serde_json::from_slice(&ran.out).unwrap();
    assert_eq!(document["meta"]["r"], serde_json::json!([0.3, 0.1]));
}

#[test]
fn the_ending_of_the_output_decides_the_format() {
    let folder = Folder::with_people(PEOPLE);
    for (name, start) in [
        ("o.csv", "row,"),
        ("o.json", "{\"meta\""),
        ("o.jsonl", "{\"row\":0"),
        ("o.parquet", "PAR1"),
        ("o", "row,"),
    ] {
        assert_eq!(
            folder.run(&format!("rate model.json people.csv --id who -o {name}")).code,
            Some(0)
        );
        assert!(folder.read(name).starts_with(start.as_bytes()), "{name}");
    }
    assert_eq!(
        folder.run("rate model.json people.csv --id who -o p.csv --format jsonl").code,
        Some(0)
    );
    assert!(folder.text("p.csv").starts_with("{\"row\":0"));
}

#[test]
fn tolerances_are_the_slack_over_the_weight() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let ran = folder.run("recourse model.json people.csv --budget 1.5 --format jsonl");
    let row: Value = serde_json::from_slice(&ran.out).unwrap();
    let (target, yes) =
        (&row["tolerance"]["at_target_rate"]["a"], &row["tolerance"]["still_favourable"]["a"]);
    // The budget buys a = 1.5 and the score 1; a rate of 0.1 needs 0.1·√5·z of it. The weight of a
    // is 2.
    let needed = 0.1 * 5f64.sqrt() * crate::support::Z10;
    crate::support::close(target["alone"].as_f64().unwrap(), (1.0 - needed) / 2.0);
    crate::support::close(yes["alone"].as_f64().unwrap(), 0.5);
    assert_eq!((&target["harmful"], keys(&row["changes"])), (&"below".into(), vec!["a"]));
}
