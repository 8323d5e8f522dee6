//! Categories, whole numbers and steps, from the file to the answer and back.

use crate::support::{Csv, Folder};

const SCHEMA: &str = r#"
version = 1
target = "approved"
favourable = "yes"

[[feature]]
name = "age"
kind = "integer"
mutable = false

[[feature]]
name = "income"
kind = "numeric"
min = 0
max = 100000
step = 500
direction = "increase"

[[feature]]
name = "loans"
kind = "integer"
min = 0
max = 6

[[feature]]
name = "housing"
kind = "categorical"
categories = ["rent", "own", "free"]
transitions = { rent = ["own"], free = [] }
cost = 0.05

[[feature]]
name = "degree"
kind = "categorical"
categories = ["none", "school", "college"]
encoding = "ordinal"
direction = "increase"
cost = 0.08

[[feature]]
name = "employed"
kind = "categorical"
categories = ["no", "yes"]
encoding = "binary"
mutable = false
"#;

/// Rows with a rule behind them; numbers from a congruence.
fn data(n: usize) -> String {
    let mut state = 12_345_u64;
    let mut next = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut text = "degree,age,housing,income,loans,employed,approved\n".to_owned();
    for _ in 0..n {
        let (age, income, loans) = (18 + next(60), 173 * next(500), next(7));
        let (housing, degree, employed) = (next(3), next(3), next(2));
        let merit = income as f64 / 20_000.0 - 0.4 * loans as f64
            + [0.0, 0.8, 0.3][housing as usize]
            + 0.5 * degree as f64
            + 0.6 * employed as f64
            + next(1_000) as f64 / 500.0;
        text += &format!(
            "{},{age},{},{income},{loans},{},{}\n",
            ["none", "school", "college"][degree as usize],
            ["rent", "own", "free"][housing as usize],
            ["no", "yes"][employed as usize],
            if merit > 3.6 { "yes" } else { "no" },
        );
    }
    text
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("schema.toml", SCHEMA);
    folder.write("data.csv", &data(1_500));
    let people: String =
        data(61).lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    folder.write("people.csv", &people);
    folder
}

/// Every rule of the schema, worked out from the words of the rows alone.
fn check(people: &Csv, answers: &Csv, row: usize) {
    let (from, to) = (|name: &str| people.get(row, name), |name: &str| answers.get(row, name));
    let number = |text: &str| text.parse::<f64>().unwrap();
    assert_eq!((from("age"), from("employed")), (to("age"), to("employed")), "row {row}");
    if from("income") != to("income") {
        let income = number(to("income"));
        assert!(income > number(from("income")) && income <= 100_000.0, "row {row}: {income}");
        assert_eq!(income % 500.0, 0.0, "row {row}");
        assert!(!to("income").contains('.'), "row {row}: {}", to("income"));
    }
    let loans = number(to("loans"));
    assert!(loans.fract() == 0.0 && (0.0..=6.0).contains(&loans), "row {row}: {loans}");
    match (from("housing"), to("housing")) {
        (a, b) if a == b => {}
        ("rent", "own") | ("own", "rent" | "free") => {}
        (a, b) => panic!("row {row}: {a} became {b}"),
    }
    let rank = |text: &str| ["none", "school", "college"].iter().position(|d| *d == text).unwrap();
    assert!(rank(to("degree")) >= rank(from("degree")), "row {row}");
}

#[test]
fn answers_keep_every_rule_and_hold_when_they_are_read_again() {
    let folder = folder();
    let people = Csv::parse(&folder.text("people.csv"));
    let kinds = ["linear --l2 1", "mlp --hidden 8 --epochs 30", "boosted --trees 20"];
    for kind in kinds {
        let name = kind.split(' ').next().unwrap();
        let train =
            format!("train data.csv --schema schema.toml --kind {kind} -o {name}.json --quiet");
        assert_eq!(folder.run(&train).code, Some(0), "{train}: {}", folder.run(&train).err);
        let recourse =
            format!("recourse {name}.json people.csv -r 0.1 --sigma 0.05 --quiet -o out.csv");
        let ran = folder.run(&recourse);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let answers = Csv::parse(&folder.text("out.csv"));
        let rated = folder.table(&format!(
            "rate {name}.json out.csv --from people.csv --ignore-extra --sigma 0.05 --estimator \
             monte-carlo --samples 40000 --quiet"
        ));
        let mut certified = 0;
        for row in 0..people.rows.len() {
            check(&people, &answers, row);
            if answers.get(row, "status") == "certified" {
                certified += 1;
                assert_eq!(rated.get(row, "favourable"), "true", "{name}, row {row}");
                let rate: f64 = rated.get(row, "rate").parse().unwrap();
                // Four standard errors of 40,000 draws at 0.1.
                assert!(rate <= 0.1 + 4.0 * 0.0015, "{name}, row {row}: {rate}");
            }
        }
        let denied = (0..people.rows.len())
            .filter(|&row| answers.get(row, "status") != "favourable")
            .count();
        assert!(
            certified >= denied / 2 && certified >= 5,
            "{name}: {certified} of {denied} certified"
        );
    }
}

#[test]
fn categories_have_names_in_json() {
    let folder = folder();
    folder.run("train data.csv --schema schema.toml -o m.json --quiet");
    let ran = folder.run("recourse m.json people.csv -r 0.1 --sigma 0.05 --format jsonl --quiet");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.text();
    let rows: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        rows[0]["from"]["housing"].is_string() && rows[0]["to"]["income"].is_number(),
        "{}",
        rows[0]
    );
    let changes = rows.iter().filter(|row| {
        row["changes"]["degree"].is_object() || row["changes"]["housing"].is_object()
    });
    let changed: Vec<_> = changes.collect();
    assert!(!changed.is_empty(), "no category changes: {text}");
    for row in changed {
        let entry = row["changes"]
            .as_object()
            .unwrap()
            .iter()
            .find(|(name, _)| *name == "degree" || *name == "housing");
        let change = entry.unwrap().1;
        assert!(
            change["from"].is_string() && change["to"].is_string() && change.get("delta").is_none(),
            "{change}"
        );
    }
    // And back in: JSON rows of people are read as CSV ones are.
    folder.write(
        "one.jsonl",
        "{\"age\":30,\"income\":1000,\"loans\":2,\"housing\":\"rent\",\
         \"degree\":\"none\",\"employed\":\"no\"}\n",
    );
    let again = folder.run("recourse m.json one.jsonl -r 0.1 --sigma 0.05 --quiet");
    assert_eq!(again.code, Some(0), "{}", again.err);
}

#[test]
fn what_is_no_category_is_named() {
    let folder = folder();
    folder.run("train data.csv --schema schema.toml -o m.json --quiet");
    folder.write("odd.csv", "degree,age,housing,income,loans,employed\nnone,30,tent,1000,2,no\n");
    folder
        .run("recourse m.json odd.csv -r 0.1")
        .fails(1, &["odd.csv", "housing", "'tent'", "rent, own, free"]);
    folder.write("gap.csv", "degree,age,housing,income,loans,employed\nnone,30,,1000,2,no\n");
    folder.run("recourse m.json gap.csv -r 0.1").fails(1, &["gap.csv", "housing"]);
    folder.write(
        "bad.toml",
        "version = 1\n[[feature]]\nname = \"a\"\nkind = \"categorical\"\ncategories = \
         [\"x\", \"x\"]\n",
    );
    folder.run("inspect bad.toml").fails(1, &["'a'", "category 'x'", "twice"]);
    folder.write("bad.toml", "version = 1\n[[feature]]\nname = \"a\"\nkind = \"categorical\"\n");
    folder.run("inspect bad.toml").fails(1, &["'a'", "categories"]);
    folder.write(
        "bad.toml",
        "version = 1\n[[feature]]\nname = \"a\"\nkind = \"categorical\"\ncategories = \
         [\"x\", \"y\"]\ntransitions = { z = [\"x\"] }\n",
    );
    folder.run("inspect bad.toml").fails(1, &["'z'", "x, y"]);
    folder.write("bad.toml", "version = 1\n[[feature]]\nname = \"a\"\nstep = -1\n");
    folder.run("inspect bad.toml").fails(1, &["'a'", "step", "-1"]);
}

#[test]
fn a_schema_is_guessed_from_data_and_serves_at_once() {
    let folder = folder();
    let ran = folder.run("schema infer data.csv --target approved -o guessed.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("'age' sounds like"), "{}", ran.err);
    let schema = probe_io::load_schema(folder.path("guessed.toml")).unwrap();
    assert_eq!(
        (schema.target.as_deref(), schema.favourable.as_deref()),
        (Some("approved"), Some("yes"))
    );
    let kind = |name: &str| format!("{:?}", schema.feature(name).unwrap().kind);
    assert_eq!(["age", "income", "loans"].map(kind), ["Integer"; 3]);
    assert_eq!(["housing", "degree", "employed"].map(kind), ["Categorical"; 3]);
    assert_eq!(schema.feature("housing").unwrap().categories, ["free", "own", "rent"]);
    let (age, income) = (schema.feature("age").unwrap(), schema.feature("income").unwrap());
    assert!(!age.mutable && age.step() == Some(1.0));
    // 173 times 499 is the highest: 86,327, in steps of at most a 200th.
    assert_eq!((income.step(), income.max), (Some(200.0), Some(86_400.0)));
    assert_eq!(folder.run("train data.csv --schema guessed.toml -o g.json --quiet").code, Some(0));
    let answers = folder.table("recourse g.json people.csv -r 0.1 --sigma 0.05 --quiet");
    assert!((0..60).any(|row| answers.get(row, "status") == "certified"));
    let ran = folder.run("schema infer data.csv --target nothing");
    ran.fails(1, &["data.csv", "nothing"]);
    folder.write("empty.csv", "a,b\n");
    folder.run("schema infer empty.csv").fails(1, &["empty.csv", "no rows"]);
}

#[test]
fn flags_that_are_about_numbers_leave_categories_alone() {
    let folder = folder();
    folder.run("train data.csv --schema schema.toml -o m.json --quiet");
    // Scaled bounds of 0 and 1 hold for numbers, not for the codes of three degrees: whoever needs
    // one more degree still gets it.
    let ask = "recourse m.json people.csv -r 0.1 --sigma 0.05 --quiet";
    let (free, bounded) = (folder.table(ask), folder.table(&format!("{ask} --bounds 0,1")));
    let rank = |table: &Csv, row: usize| table.get(row, "degree") == "college";
    let people = Csv::parse(&folder.text("people.csv"));
    let rise = |row: &usize| people.get(*row, "degree") == "school" && rank(&free, *row);
    let risen: Vec<usize> = (0..60).filter(rise).collect();
    assert!(!risen.is_empty());
    for row in
        risen.into_iter().filter(|&row| free.get(row, "income").parse::<f64>().unwrap() < 86_000.0)
    {
        assert_eq!(bounded.rows[row], free.rows[row], "row {row}");
    }
    // How far a category may be missed is no question.
    let json = folder.run(&format!("{ask} --format jsonl"));
    for line in json.text().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let tolerances = row["tolerance"]["at_target_rate"].as_object().into_iter().flatten();
        tolerances
            .for_each(|(name, _)| assert!(["income", "loans"].contains(&name.as_str()), "{name}"));
    }
    // A column that is dropped is dropped, also where a schema names it.
    let ran =
        folder.run("train data.csv --schema schema.toml --drop loans,degree -o d.json --quiet");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let file = probe_io::ModelFile::load(folder.path("d.json")).unwrap();
    let names = ["age", "income", "housing=rent", "housing=own", "housing=free", "employed"];
    assert_eq!(file.features, names);
    // Noise is fitted for a model with categories as for any other.
    folder.write(
        "pairs.csv",
        "income,income__implemented\n1000,1500\n2000,1800\n3000,3100\n2500,2400\n",
    );
    let ran = folder.run("noise fit pairs.csv --model m.json --schema schema.toml -o noise.json");
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}
