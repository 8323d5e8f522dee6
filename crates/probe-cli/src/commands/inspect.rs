//! `probe inspect`.

use crate::args::Inspect;
use crate::printer::Printer;
use anyhow::{Result, bail};
use probe_core::model::{Aggregate, Layer, Tree};
use probe_core::schema::Kind;
use probe_core::{Coding, Direction, Feature, Mlp, Schema, Trees};
use probe_experiments::number::{number, quantity};
use probe_io::{Columns, ModelFile, TableReader, load_schema};
use std::path::Path;

pub(crate) fn run(args: &Inspect, printer: &Printer) -> Result<()> {
    match what_is(&args.file)? {
        What::Model => inspect_model(&ModelFile::load(&args.file)?, printer),
        What::Schema => print_schema(&load_schema(&args.file)?, printer),
        What::Table => inspect_table(args, printer)?,
    }
    Ok(())
}

enum What {
    Model,
    Schema,
    Table,
}

/// Detects the kind of a file from its content. A file of another library, and JSON with a `format`
/// or `layers`, is a model. A file with features is a schema. Anything else is a table.
fn what_is(path: &Path) -> Result<What> {
    let mut head = Vec::new();
    let file = std::fs::File::open(path)
        .map_err(|error| anyhow::anyhow!("{}: cannot open: {error}", path.display()))?;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut head)?;
    if ModelFile::is_foreign(&head) {
        return Ok(What::Model);
    }
    let text = String::from_utf8_lossy(&head);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let ending = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
    if ending.as_deref() == Some("toml") || start.contains("[[feature]]") {
        return Ok(What::Schema);
    }
    if start.starts_with('{') && ending.as_deref() != Some("jsonl") {
        let model = ["\"format\"", "\"layers\""].iter().any(|key| start.contains(key));
        if model {
            return Ok(What::Model);
        }
        if start.contains("\"feature\"") {
            return Ok(What::Schema);
        }
        if ending.as_deref() == Some("json") && !start.contains("\"rows\"") {
            bail!(
                "{}: a JSON object that is no model (it has no 'format'), no schema (no 'feature') \
                 and no table (an array of objects)",
                path.display()
            );
        }
    }
    Ok(What::Table)
}

fn inspect_model(file: &ModelFile, printer: &Printer) {
    printer.say(&format!(
        "model: {}, {} features, cut-off {}",
        file.model.name(),
        file.features.len(),
        file.model.threshold()
    ));
    if let Some(source) = &file.source {
        printer.say(&format!("from: {source}"));
    }
    printer.say(&format!("sha256: {}", file.hash));
    if let Some(mlp) = file.model.as_mlp() {
        describe_network(mlp, printer);
    } else if let Some(trees) = file.model.as_trees() {
        describe_trees(trees, &file.features, printer);
    } else if let Some(linear) = file.model.as_linear() {
        let mut order: Vec<usize> = (0..file.features.len()).collect();
        order.sort_by(|&a, &b| linear.weights()[b].abs().total_cmp(&linear.weights()[a].abs()));
        let row =
            |&j: &usize| vec![file.features[j].clone(), format!("{:+.6}", linear.weights()[j])];
        printer.heading("weights, strongest first (in the model's input units)");
        printer.table(&["feature", "weight"], &order.iter().map(row).collect::<Vec<_>>(), &[1]);
        printer.say(&format!("bias {:+.6}", linear.bias()));
    }
    match &file.schema {
        Some(schema) => print_schema(schema, printer),
        None if file.source.is_some() => {
            printer.say(
                "no schema: every column is a free number in its own unit (probe schema \
                infer writes a schema from data)",
            );
        }
        None => printer.say("no schema: every column is a free number, used as given"),
    }
}

fn describe_network(mlp: &Mlp, printer: &Printer) {
    let last = mlp.last();
    let widths: Vec<String> = mlp.layers().iter().map(|layer| layer.n_in().to_string()).collect();
    let outputs = if last.n_out() == 2 {
        "2 logits, the margin is their difference"
    } else {
        "1, the margin"
    };
    printer.say(&format!("units: {}, {} (outputs: {outputs})", widths.join(", "), last.n_out()));
    printer.say(&format!(
        "activation: {}; parameters: {}",
        mlp.activation(),
        number(mlp.n_parameters() as f64)
    ));
    let row = |(index, layer): (usize, &Layer)| {
        let largest = layer.weight().iter().fold(0.0, |largest: f64, w| largest.max(w.abs()));
        vec![
            format!("{}", index + 1),
            number(layer.n_in() as f64),
            number(layer.n_out() as f64),
            number((layer.weight().len() + layer.bias().len()) as f64),
            format!("{largest:.4}"),
        ]
    };
    let rows: Vec<_> = mlp.hidden().iter().chain([last]).enumerate().map(row).collect();
    printer.heading("layers");
    printer.table(
        &["layer", "inputs", "outputs", "parameters", "largest weight"],
        &rows,
        &[0, 1, 2, 3, 4],
    );
}

fn describe_trees(trees: &Trees, features: &[String], printer: &Printer) {
    let shapes: Vec<Shape> =
        trees.trees().iter().map(|tree| Shape::of(tree, features.len())).collect();
    let (n_trees, rules) = (shapes.len(), trees.rules());
    let depth = shapes.iter().map(|shape| shape.depth).max().unwrap_or(0);
    let leaves: usize = shapes.iter().map(|shape| shape.leaves).sum();
    let count = |n: usize, one: &str, many: &str| {
        format!("{} {}", number(n as f64), if n == 1 { one } else { many })
    };
    printer.say(&format!(
        "{}, depth {depth}, {}, {}",
        count(n_trees, "tree", "trees"),
        count(leaves, "leaf", "leaves"),
        count(leaves - n_trees, "split", "splits")
    ));
    let margin = match rules.aggregate {
        Aggregate::Sum => {
            format!("sum: the margin is {:+.6} and the sum of the leaves", rules.base)
        }
        Aggregate::Mean => "mean: the margin is the mean of the leaves less one half".to_owned(),
        Aggregate::Vote => {
            "vote: the margin is the share of leaves above one half, less one half".to_owned()
        }
    };
    printer.say(&format!("aggregate {margin}"));
    let rounded = if rules.single { ", after rounding to f32" } else { "" };
    printer.say(&format!("left where the value is {} the threshold{rounded}", rules.split.name()));
    let splits_on = |j: usize| shapes.iter().map(|shape| shape.splits[j]).sum::<usize>();
    let splits: Vec<usize> = (0..features.len()).map(splits_on).collect();
    let mut order: Vec<usize> = (0..features.len()).filter(|&j| splits[j] > 0).collect();
    order.sort_by_key(|&j| std::cmp::Reverse(splits[j]));
    let row = |&j: &usize| vec![features[j].clone(), number(splits[j] as f64)];
    printer.heading("splits, most first");
    printer.table(&["feature", "splits"], &order.iter().map(row).collect::<Vec<_>>(), &[1]);
    let never: Vec<&str> =
        (0..features.len()).filter(|&j| splits[j] == 0).map(|j| features[j].as_str()).collect();
    let listed =
        |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    printer.say(&format!("never split on: {}", listed(never)));
    let takes =
        (0..features.len()).filter(|&j| trees.takes_missing(j)).map(|j| features[j].as_str());
    printer.say(&format!("may be missing: {}", listed(takes.collect())));
}

/// A tree, counted from its root.
struct Shape {
    depth: usize,
    leaves: usize,
    /// By feature.
    splits: Vec<usize>,
}

impl Shape {
    fn of(tree: &Tree, n_features: usize) -> Self {
        let mut shape = Self { depth: 0, leaves: 0, splits: vec![0; n_features] };
        let mut todo = vec![(0, 0)];
        while let Some((node, depth)) = todo.pop() {
            shape.depth = shape.depth.max(depth);
            match (usize::try_from(tree.left[node]), usize::try_from(tree.right[node])) {
                (Ok(left), Ok(right)) => {
                    shape.splits[tree.feature[node]] += 1;
                    todo.extend([(left, depth + 1), (right, depth + 1)]);
                }
                _ => shape.leaves += 1,
            }
        }
        shape
    }
}

fn print_schema(schema: &Schema, printer: &Printer) {
    printer.heading("schema");
    if let Some(target) = &schema.target {
        let favourable = schema
            .favourable
            .as_deref()
            .map_or_else(String::new, |v| format!(", favourable value '{v}'"));
        printer.say(&format!("predicts '{target}'{favourable}"));
    }
    let rows: Vec<Vec<String>> = schema.features.iter().map(feature_row).collect();
    printer.table(
        &["feature", "may change", "values", "scale (0 … 1)", "cost up / down", "noise"],
        &rows,
        &[],
    );
    if let Some(most) = schema.max_changes {
        printer.say(&format!("at most {most} features may change"));
    }
    for relation in &schema.relations {
        printer.say(&format!("relation: {}", relation.text()));
    }
}

fn feature_row(feature: &Feature) -> Vec<String> {
    let unit = feature.unit.as_deref();
    let may_change = match (feature.mutable, feature.direction) {
        (false, _) => "no",
        (true, Direction::Any) => "yes",
        (true, Direction::Increase) => "up only",
        (true, Direction::Decrease) => "down only",
    };
    let bounds = match feature.bounds(true) {
        _ if feature.kind == Kind::Categorical => feature.categories.join(", "),
        (None, None) => "none".to_owned(),
        (low, high) => {
            let side = |v: Option<f64>| v.map_or_else(|| "…".to_owned(), |v| quantity(v, unit));
            format!("{} to {}", side(low), side(high))
        }
    };
    let steps = feature
        .step()
        .map_or_else(String::new, |step| format!(", steps of {}", quantity(step, unit)));
    let fails = feature.p_fail.filter(|p| *p > 0.0);
    let fails = fails
        .map_or_else(String::new, |p| format!(", a change fails with probability {}", number(p)));
    let listed = feature.transitions.iter().map(|(from, to)| {
        if to.is_empty() {
            format!("{from} stays")
        } else {
            format!("{from} → {}", to.join(" or "))
        }
    });
    let only: Vec<String> = listed.collect();
    let only = if only.is_empty() { String::new() } else { format!("; only {}", only.join(", ")) };
    let bounds = bounds + &only + &steps + &fails;
    let scale = feature.offset_and_width().map_or_else(
        || match (feature.kind, feature.coding()) {
            (Kind::Categorical, Coding::Onehot) => "one column each, 0 or 1".to_owned(),
            (Kind::Categorical, _) => format!("0 … {}", feature.categories.len() - 1),
            _ => "as given".to_owned(),
        },
        |(zero, width)| format!("{} … {}", quantity(zero, unit), quantity(zero + width, unit)),
    );
    let (up, down) =
        (feature.cost_up.unwrap_or(feature.cost), feature.cost_down.unwrap_or(feature.cost));
    let cost = if up == down { number(up) } else { format!("{} / {}", number(up), number(down)) };
    let noise = match feature.kind {
        Kind::Categorical => "none".to_owned(),
        _ => feature.noise.map_or_else(|| "--sigma".to_owned(), |v| quantity(v, unit)),
    };
    vec![feature.name.clone(), may_change.to_owned(), bounds, scale, cost, noise]
}

/// Running statistics of one column.
#[derive(Clone, Copy)]
struct Column {
    low: f64,
    high: f64,
    sum: f64,
    whole: bool,
    /// Cells with a number, and cells with nothing.
    n: u64,
    missing: u64,
}

fn inspect_table(args: &Inspect, printer: &Printer) -> Result<()> {
    let reader = TableReader::open(&args.file, args.format)?;
    let (format, header) = (reader.format(), reader.header().to_vec());
    let columns = Columns { ids: header.clone(), ignore_extra: true, ..Columns::default() };
    let blank = Column {
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        sum: 0.0,
        whole: true,
        n: 0,
        missing: 0,
    };
    let mut numeric: Vec<Option<Column>> = vec![Some(blank); header.len()];
    let mut examples: Vec<Vec<String>> = vec![Vec::new(); header.len()];
    let mut n = 0u64;
    for chunk in reader.select(&columns)? {
        let chunk = chunk?;
        for row in 0..chunk.n_rows() {
            n += 1;
            for k in 0..header.len() {
                let id = chunk.id(row, k)?;
                let text = match id.to_json() {
                    serde_json::Value::String(text) => text,
                    other => other.to_string(),
                };
                match (text.trim().parse::<f64>(), &mut numeric[k]) {
                    // As cells of people are read.
                    (_, Some(column)) if id.is_missing() => column.missing += 1,
                    (Ok(value), Some(column)) if value.is_finite() => {
                        column.n += 1;
                        column.low = column.low.min(value);
                        column.high = column.high.max(value);
                        column.sum += value;
                        column.whole &= value.fract() == 0.0;
                    }
                    _ => numeric[k] = None,
                }
                let seen = &mut examples[k];
                if seen.len() < 5 && !seen.contains(&text) {
                    seen.push(text);
                }
            }
        }
    }
    printer.say(&format!("table: {format}, {} rows, {} columns", number(n as f64), header.len()));
    let row = |k: usize| match numeric[k] {
        Some(c) if c.n > 0 => {
            let kind = if c.whole { "whole numbers" } else { "numbers" };
            let gaps = if c.missing > 0 {
                format!(", {} missing", number(c.missing as f64))
            } else {
                String::new()
            };
            vec![
                header[k].clone(),
                kind.to_owned() + &gaps,
                number(c.low),
                number(c.sum / c.n as f64),
                number(c.high),
                String::new(),
            ]
        }
        other => {
            let blank = String::new;
            let kind = if other.is_some() && n > 0 { "nothing" } else { "text" };
            vec![
                header[k].clone(),
                kind.to_owned(),
                blank(),
                blank(),
                blank(),
                examples[k].join(", "),
            ]
        }
    };
    let rows: Vec<_> = (0..header.len()).map(row).collect();
    printer.table(
        &["column", "holds", "lowest", "mean", "highest", "for example"],
        &rows,
        &[2, 3, 4],
    );
    Ok(())
}
