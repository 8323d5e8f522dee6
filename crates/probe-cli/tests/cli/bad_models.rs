//! Model, schema and noise files that cannot be meant: the file and the place in it are named.

use crate::support::{Folder, MODEL};

#[track_caller]
fn refused(model: &str, words: &[&str]) {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write("bad.json", model);
    for line in ["recourse bad.json people.csv -o out.csv", "rate bad.json people.csv -o out.csv"] {
        folder.run(line).fails(1, &[&["bad.json"], words].concat());
    }
    assert_eq!(folder.files(), ["bad.json", "model.json", "people.csv"]);
}

#[test]
fn wrong_version() {
    refused(
        &MODEL.replace("\"version\": 1", "\"version\": 2"),
        &["$.version", "expected 1", "found 2"],
    );
    refused(&MODEL.replace("\"version\": 1,", ""), &["'version' is missing"]);
}

#[test]
fn wrong_kind() {
    refused(&MODEL.replace("linear", "oracle"), &["$.kind", "'oracle'", "linear"]);
}

#[test]
fn wrong_format() {
    refused(&MODEL.replace("probe-model", "other-model"), &["$.format", "other-model"]);
}

#[test]
fn weight_shape_mismatch() {
    refused(
        &MODEL.replace("[2.0, 1.0]", "[2.0, 1.0, 3.0]"),
        &["$.layers[0].weight[0]", "expected 2 numbers", "found 3"],
    );
    refused(
        &MODEL.replace("\"bias\": [-2.0]", "\"bias\": [1, 2]"),
        &["$.layers[0].bias", "expected 1", "found 2"],
    );
    refused(&MODEL.replace("[[2.0, 1.0]]", "[]"), &["$.layers[0]"]);
    refused(&MODEL.replace("[\"a\", \"b\"]", "[\"a\"]"), &["$.layers[0].weight[0]", "expected 1"]);
}

#[test]
fn numbers_that_are_none() {
    refused(&MODEL.replace("[2.0, 1.0]", "[2.0, \"x\"]"), &["$.layers[0].weight[0][1]", "x"]);
    refused(&MODEL.replace("[2.0, 1.0]", "[2.0, null]"), &["$.layers[0].weight[0][1]", "null"]);
    refused(&MODEL.replace("[2.0, 1.0]", "[2.0, 1e999]"), &["bad.json"]);
}

#[test]
fn unknown_field() {
    refused(&MODEL.replace("\"kind\"", "\"tint\": 1, \"kind\""), &["$.tint", "unknown field"]);
    refused(
        &MODEL.replace("\"bias\"", "\"tint\": 1, \"bias\""),
        &["$.layers[0].tint", "unknown field"],
    );
}

#[test]
fn repeated_features_and_fields() {
    refused(
        &MODEL.replace("[\"a\", \"b\"]", "[\"a\", \"a\"]"),
        &["$.features[1]", "'a' appears twice"],
    );
    refused(&MODEL.replace("\"kind\"", "\"version\": 1, \"kind\""), &["version"]);
}

#[test]
fn not_json() {
    refused("a,b\n0,0\n", &["not a model file"]);
    refused("{\"format\": \"probe-model\",", &["line 1"]);
    refused("", &["not a model file"]);
}

#[test]
fn a_model_file_that_is_not_there() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let ran = folder.run("recourse nothing.json people.csv");
    ran.fails(1, &["nothing.json", "cannot read", "No such file"]);
    assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
}

#[track_caller]
fn schema_refused(schema: &str, words: &[&str]) {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write("schema.toml", schema);
    let ran = folder.run("recourse model.json people.csv --schema schema.toml -o out.csv");
    ran.fails(1, &[&["schema.toml"], words].concat());
    assert_eq!(folder.files(), ["model.json", "people.csv", "schema.toml"]);
}

const FEATURES: &str = "[[feature]]\nname = \"a\"\nmin = 0\nmax = 1\n[[feature]]\nname = \"b\"\n";

#[test]
fn crossed_bounds_in_a_schema() {
    let text = format!("version = 1\n{FEATURES}").replace("min = 0", "min = 2");
    schema_refused(&text, &["feature 'a'", "max", "at least min", "got 1"]);
}

#[test]
fn schemas_that_are_wrong_elsewhere() {
    schema_refused(&format!("version = 3\n{FEATURES}"), &["version", "3"]);
    schema_refused("version = 1\n[[feature]]\nname = \"a\"\n", &["'b'"]);
    schema_refused(
        &format!("version = 1\n{FEATURES}").replace("max = 1", "scale = [5, 5]"),
        &["'a'", "scale[1]", "5"],
    );
    schema_refused(
        &format!("version = 1\n{FEATURES}").replace("max", "maximum"),
        &["$.feature[0]", "maximum"],
    );
    schema_refused(
        &format!("version = 1\n{FEATURES}").replace("max = 1", "max = inf"),
        &["max", "inf"],
    );
    schema_refused(
        &format!("version = 1\n{FEATURES}").replace("min = 0", "kind = \"colour\""),
        &["'a'", "'colour'"],
    );
    schema_refused("version = = 1\n", &["line 1"]);
}

#[test]
fn bounds_that_leave_a_schema_s_feature_no_room() {
    let folder = Folder::with_people("a,b\n0,0\n");
    folder.write("schema.toml", &format!("version = 1\n{FEATURES}"));
    let line = "recourse model.json people.csv --schema schema.toml --bounds 2,3";
    folder.run(line).fails(2, &["--bounds", "2,3", "'a'", "0,1"]);
}

#[test]
fn noise_files_that_are_wrong() {
    let folder = Folder::with_people("a,b\n0,0\n");
    let cases = [
        (
            "{\"version\": 1, \"features\": [\"a\"], \"sd\": [0.1]}",
            &["$.features", "no feature 'b'"][..],
        ),
        ("{\"version\": 1, \"features\": [\"a\", \"b\"], \"sd\": [0.1]}", &["$.sd", "expected 2"]),
        ("{\"version\": 1, \"features\": [\"a\", \"b\"], \"sd\": [0.1, -1]}", &["-1"]),
        ("{\"version\": 1, \"features\": [\"a\", \"b\"]}", &["sd or covariance"]),
    ];
    for (text, words) in cases {
        folder.write("noise.json", text);
        let ran = folder.run("recourse model.json people.csv --noise file:noise.json");
        ran.fails(1, &[&["noise.json"], words].concat());
    }
    folder
        .run("recourse model.json people.csv --noise file:gone.json")
        .fails(1, &["gone.json", "No such file"]);
}

#[test]
fn a_feature_with_the_name_of_an_output_column_is_refused_by_name() {
    let folder = Folder::with_people("a,cost\n0,0\n");
    folder.write("model.json", &MODEL.replace("\"b\"", "\"cost\""));
    folder
        .run("recourse model.json people.csv")
        .fails(1, &["model.json", "'cost'", "output column"]);
    // `rate` does not print features, so it may have them.
    assert_eq!(folder.run("rate model.json people.csv").code, Some(0));
}
