//! Schema files: TOML and JSON, and what is not supported yet.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::{Direction, ModelInput, Schema};
use probe_io::{load_schema, parse_schema, save_schema, schema_to_toml};

const TOML: &str = r#"
version = 1
target = "approved"
favourable = 1
model_input = "raw"

[[feature]]
name = "age"
kind = "numeric"
mutable = false

[[feature]]
name = "income"
min = 0
max = 250000.0
direction = "increase"
scale = [0.0, 250000.0]
noise = 2500.0
unit = "EUR"
"#;

const JSON: &str = concat!(
    r#"{"version": 1, "target": "approved", "favourable": "1", "model_input": "raw", "feature": [
  {"name": "age", "kind": "numeric", "mutable": false},
  {"name": "income", "min": 0, "max": 250000.0, "direction": "increase", "scale": [0.0, "#,
    r#"250000.0],
   "noise": 2500.0, "unit": "EUR"}]}"#
);

fn message(text: &str) -> String {
    parse_schema(text.as_bytes(), "schema.toml").unwrap_err().to_string()
}

fn with_field(field: &str) -> String {
    message(&TOML.replace("min = 0", field))
}

#[test]
fn toml_and_json_say_the_same() {
    let toml = parse_schema(TOML.as_bytes(), "s").unwrap();
    assert_eq!(toml, parse_schema(JSON.as_bytes(), "s").unwrap());
    assert_eq!(toml.model_input, Some(ModelInput::Raw));
    assert_eq!(toml.favourable.as_deref(), Some("1"));
    let income = toml.feature("income").unwrap();
    assert_eq!((income.min, income.direction), (Some(0.0), Direction::Increase));
}

#[test]
fn content_decides_and_not_the_ending() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("schema.toml");
    std::fs::write(&path, format!("\u{feff}{JSON}")).unwrap();
    assert_eq!(load_schema(&path).unwrap().features.len(), 2);
    // A TOML file may start with a bracket.
    let bracket = parse_schema(b"[[feature]]\nname = \"a\"\n", "s").unwrap_err().to_string();
    assert_eq!(bracket, "s: $: missing field `version`");
}

#[test]
fn written_toml_reads_back() {
    let schema = parse_schema(TOML.as_bytes(), "s").unwrap();
    let text = schema_to_toml(&schema).unwrap();
    assert!(text.contains("[[feature]]"), "{text}");
    assert_eq!(parse_schema(text.as_bytes(), "s").unwrap(), schema);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("schema.toml");
    save_schema(&schema, &path).unwrap();
    assert_eq!(load_schema(&path).unwrap(), schema);
}

#[test]
fn what_makes_no_sense_says_so() {
    let error = with_field("p_fail = 0.1");
    assert!(error.contains("feature 'income'") && error.contains("p_fail"), "{error}");
    assert_eq!(
        with_field("kind = \"ordinal\""),
        "schema.toml: feature 'income': unknown kind 'ordinal' (known: numeric, \
         integer, categorical)"
    );
}

#[test]
fn categories_and_steps_are_read_and_written() {
    let text = "version = 1\n[[feature]]\nname = \"housing\"\nkind = \"categorical\"\n\
                categories = [\"rent\", \"own\"]\nencoding = \"ordinal\"\n\
                transitions = { rent = [\"own\"] }\ntransition_costs = { rent = { own = 2.5 } }\n\
                [[feature]]\nname = \"rooms\"\nkind = \"integer\"\n[[feature]]\n\
                name = \"income\"\nstep = 0.25\n";
    let schema = parse_schema(text.as_bytes(), "s").unwrap();
    let housing = &schema.features[0];
    assert_eq!(housing.transitions["rent"], ["own"]);
    assert_eq!(housing.transition_costs["rent"]["own"], 2.5);
    assert_eq!((schema.features[1].step(), schema.features[2].step()), (Some(1.0), Some(0.25)));
    let written = schema_to_toml(&schema).unwrap();
    assert_eq!(parse_schema(written.as_bytes(), "s").unwrap(), schema, "{written}");
}

#[test]
fn faults_name_their_place() {
    let unknown = with_field("minn = 0");
    assert!(
        unknown.starts_with("schema.toml: $.feature[1].minn: unknown field `minn`"),
        "{unknown}"
    );
    assert_eq!(
        with_field("min = inf"),
        "schema.toml: $.feature[1].min: inf is not a finite number"
    );
    assert_eq!(
        with_field("min = nan"),
        "schema.toml: $.feature[1].min: NaN is not a finite number"
    );
    assert!(with_field("min = 1979-05-27").contains("$.feature[1].min: the date 1979-05-27"));
    let wrong = with_field("min = \"low\"");
    assert!(wrong.starts_with("schema.toml: $.feature[1].min: invalid type: string"), "{wrong}");
    assert_eq!(
        with_field("cost = -1.0"),
        "schema.toml: feature 'income': cost must be positive and finite, got -1"
    );
    assert_eq!(
        message(&TOML.replace("version = 1", "version = 3")),
        "schema.toml: schema version must be 1, got 3"
    );
    assert!(
        message(&TOML.replace("\"age\"", "\"income\""))
            .contains("an earlier feature has that name")
    );
    assert_eq!(
        message(&TOML.replace("name = \"age\"\n", "")),
        "schema.toml: $.feature[0]: feature 0 has no name"
    );
}

#[test]
fn what_is_neither_toml_nor_json_is_described() {
    assert!(
        message("version = 1\nfoo bar\n").starts_with("schema.toml: line 2: "),
        "{}",
        message("a b")
    );
    assert_eq!(
        message(""),
        "schema.toml: not a schema: expected TOML or JSON, found an empty file"
    );
    let parquet = parse_schema(b"PAR1xxxx", "s").unwrap_err().to_string();
    assert_eq!(parquet, "s: not a schema: expected TOML or JSON, found a Parquet file");
    assert!(load_schema("no/such/file").unwrap_err().is_not_found());
}

#[test]
fn every_schema_that_was_checked_can_be_written() {
    let schema = Schema::new(Vec::new());
    assert_eq!(parse_schema(schema_to_toml(&schema).unwrap().as_bytes(), "s").unwrap(), schema);
}

/// The keys that an error lists as known.
fn known_keys(message: &str) -> Vec<String> {
    let list = message.split("expected").nth(1).unwrap_or_default();
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_schema_reference_lists_every_key() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/schema.md")).unwrap();
    let relation = format!("{TOML}\n[[relation]]\nstrange = 1\n");
    let messages = [
        message("version = 1\nstrange = 1\nfeature = []\n"),
        with_field("strange = 1"),
        message(&relation),
    ];
    for (message, n_keys) in messages.iter().zip([7, 20, 5]) {
        let keys = known_keys(message);
        assert!(keys.len() >= n_keys, "{message}");
        for key in keys {
            assert!(page.contains(&format!("`{key}`")), "docs/schema.md does not list `{key}`");
        }
    }
}
