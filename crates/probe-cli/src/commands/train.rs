//! `probe train`.

use crate::args::{ClassWeight, Common, Kind, Train};
use crate::interrupt::holding_output;
use crate::printer::Printer;
use crate::run::check_writable;
use crate::usage::Usage;
use anyhow::{Result, bail};
use clap::ValueEnum as _;
use probe_core::{Encoding, Rows, Schema, Seed};
use probe_experiments::number::{number, percent};
use probe_io::{Error, ModelFile, Table, TableReader, load_schema, obvious_favourable, read_table};
use probe_train::{
    BoostedParams, FitParams, ForestParams, Labelled, Learner, LogisticParams, Metrics, MlpParams,
    TrainReport, fit_model,
};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) fn run(args: &Train, common: &Common, printer: &Printer) -> Result<()> {
    let report = fit(args, common, printer)?;
    if !common.quiet {
        print_report(&report, printer);
    }
    printer.note(&format!("wrote {}", args.output.display()));
    Ok(())
}

/// Fits and writes the model.
pub(crate) fn fit(args: &Train, common: &Common, printer: &Printer) -> Result<TrainReport> {
    let learner = learner(args)?;
    learner.check()?;
    check_writable(&args.output)?;
    let mut schema = args.schema.as_ref().map(load_schema).transpose()?;
    let target = match (&args.target, schema.as_ref().and_then(|s| s.target.as_ref())) {
        (Some(target), _) | (None, Some(target)) => target.clone(),
        (None, None) => {
            return Err(Usage::new(
                "which column is to be predicted? give --target COL (or target in the schema)",
            )
            .into());
        }
    };
    let mut features = features_of(args, schema.as_ref(), &target)?;
    if let Some(schema) = &mut schema {
        schema.features.retain(|feature| !args.drop.contains(&feature.name));
    }
    for name in &args.immutable {
        if !features.contains(name) {
            let what = format!("no feature '{name}' (there are: {})", features.join(", "));
            return Err(Usage::of("--immutable", what).into());
        }
    }
    let encoding = match &schema {
        Some(schema) if schema.has_categories() => {
            let encoding = Encoding::new(schema, &schema.column_names())?;
            features = encoding.features().iter().map(|feature| feature.name.clone()).collect();
            Some(Arc::new(encoding))
        }
        _ => None,
    };
    let table = read(args, &features, &target, encoding)?;
    let favourable_value = favourable_value(args, schema.as_ref(), &target, &table.target)?;
    if !args.immutable.is_empty() {
        let mut edited = schema.unwrap_or_else(|| {
            Schema::new(features.iter().map(|name| probe_core::Feature::numeric(name)).collect())
        });
        for feature in edited.features.iter_mut().filter(|f| args.immutable.contains(&f.name)) {
            feature.mutable = false;
        }
        schema = Some(edited);
    }
    let favourable: Vec<bool> =
        table.target.iter().map(|value| *value == favourable_value).collect();
    let data = Labelled {
        names: &table.features,
        rows: Rows::new(&table.values, table.features.len())?,
        favourable: &favourable,
        target: &target,
        favourable_value: &favourable_value,
    };
    let params = FitParams { learner, test_share: args.test };
    let trained = fit_model(&data, schema.as_ref(), &params, Seed(common.seed))?;
    let names = trained.schema.column_names();
    let file = ModelFile::new(names, trained.model, Some(trained.schema))?;
    holding_output(|| Ok(file.save(&args.output)?))?;
    if predicts_one_class(&trained.report) {
        printer.warn(
            "the model predicts the same class for every row, so that no change can help anybody; \
             try --class-weight balanced, and for networks more --epochs or another --lr",
        );
    }
    if !trained.report.converged {
        printer.warn("the fit did not converge; a larger --l2 helps");
    }
    Ok(trained.report)
}

/// Reads the data to learn from.
fn read(
    args: &Train,
    features: &[String],
    target: &str,
    encoding: Option<Arc<Encoding>>,
) -> Result<Table> {
    let plain = encoding.is_none();
    let table = match read_table(&args.data, args.format, Some(features), target, true, encoding) {
        Ok(table) => table,
        Err(Error::Value { column, .. })
            if plain && column != target && args.data.as_os_str() != "-" =>
        {
            return Err(not_numbers(args, features, target));
        }
        Err(error) => bail!("{error}"),
    };
    if table.n_rows() == 0 {
        bail!("{}: no rows to learn from", args.data.display());
    }
    Ok(table)
}

/// One error for all columns with values that are not numbers, with advice.
fn not_numbers(args: &Train, features: &[String], target: &str) -> anyhow::Error {
    let fault = |name: &String| {
        let read = read_table(
            &args.data,
            args.format,
            Some(std::slice::from_ref(name)),
            target,
            true,
            None,
        );
        read.err().filter(|error| matches!(error, Error::Value { column, .. } if column == name))
    };
    let faults: Vec<(&String, Error)> =
        features.iter().filter_map(|name| fault(name).map(|error| (name, error))).collect();
    let names: Vec<&str> = faults.iter().map(|(name, _)| name.as_str()).collect();
    let drop = format!("--drop {} leaves", names.join(","));
    match &faults[..] {
        [] => anyhow::anyhow!("{}: the file changed while it was read", args.data.display()),
        [(_, error)] => anyhow::anyhow!(
            "{error} ({drop} the column out; a category needs a schema: probe schema infer makes \
             one)"
        ),
        [(_, first), ..] => anyhow::anyhow!(
            "{}: {} columns are not numbers: {} (first {first}); {drop} them out; categories need \
             a schema: probe schema infer makes one",
            args.data.display(),
            names.len(),
            names.join(", ")
        ),
    }
}

/// The learner that the flags ask for. Flags of another kind of model are errors.
fn learner(args: &Train) -> Result<Learner> {
    check_flags(args)?;
    let (network, trees) = (&args.network, &args.trees);
    let balanced = args.balanced || args.class_weight == Some(ClassWeight::Balanced);
    Ok(match args.kind {
        Kind::Linear => {
            let plain = LogisticParams::default();
            Learner::Linear(LogisticParams { l2: args.l2.unwrap_or(plain.l2), balanced, ..plain })
        }
        Kind::Mlp => {
            let plain = MlpParams::default();
            Learner::Mlp(MlpParams {
                hidden: network.hidden.clone().unwrap_or(plain.hidden),
                activation: network.activation.unwrap_or(plain.activation),
                outputs: network.outputs.map_or(plain.outputs, usize::from),
                epochs: network.epochs.unwrap_or(plain.epochs),
                batch: network.batch.unwrap_or(plain.batch),
                learning_rate: network.lr.unwrap_or(plain.learning_rate),
                l2: args.l2.unwrap_or(plain.l2),
                balanced,
                patience: network.patience.unwrap_or(plain.patience),
                ..plain
            })
        }
        Kind::Forest => {
            let plain = ForestParams::default();
            Learner::Forest(ForestParams {
                trees: trees.trees.unwrap_or(plain.trees),
                depth: trees.depth.unwrap_or(plain.depth),
                min_leaf: trees.min_leaf.unwrap_or(plain.min_leaf),
                features: trees.split_features,
                bootstrap: !trees.no_bootstrap,
                balanced,
            })
        }
        Kind::Boosted => {
            let plain = BoostedParams::default();
            Learner::Boosted(BoostedParams {
                trees: trees.trees.unwrap_or(plain.trees),
                depth: trees.depth.unwrap_or(plain.depth),
                learning_rate: network.lr.unwrap_or(plain.learning_rate),
                l2: args.l2.unwrap_or(plain.l2),
                min_child_weight: trees.min_child_weight.unwrap_or(plain.min_child_weight),
                rows: trees.rows.unwrap_or(plain.rows),
                columns: trees.columns.unwrap_or(plain.columns),
                bins: trees.bins.unwrap_or(plain.bins),
                balanced,
            })
        }
    })
}

/// Fails on a flag that the kind does not have.
fn check_flags(args: &Train) -> Result<()> {
    let (network, trees) = (&args.network, &args.trees);
    let (mlp, forest, boosted): (&[_], &[_], &[_]) =
        (&[Kind::Mlp], &[Kind::Forest], &[Kind::Boosted]);
    let both = &[Kind::Forest, Kind::Boosted][..];
    let flags = [
        ("--hidden", network.hidden.is_some(), mlp),
        ("--activation", network.activation.is_some(), mlp),
        ("--outputs", network.outputs.is_some(), mlp),
        ("--epochs", network.epochs.is_some(), mlp),
        ("--batch", network.batch.is_some(), mlp),
        ("--lr", network.lr.is_some(), &[Kind::Mlp, Kind::Boosted]),
        ("--patience", network.patience.is_some(), mlp),
        ("--l2", args.l2.is_some(), &[Kind::Linear, Kind::Mlp, Kind::Boosted]),
        ("--trees", trees.trees.is_some(), both),
        ("--depth", trees.depth.is_some(), both),
        ("--min-leaf", trees.min_leaf.is_some(), forest),
        ("--split-features", trees.split_features.is_some(), forest),
        ("--no-bootstrap", trees.no_bootstrap, forest),
        ("--min-child-weight", trees.min_child_weight.is_some(), boosted),
        ("--rows", trees.rows.is_some(), boosted),
        ("--columns", trees.columns.is_some(), boosted),
        ("--bins", trees.bins.is_some(), boosted),
    ];
    let Some((flag, _, kinds)) =
        flags.iter().find(|(_, given, kinds)| *given && !kinds.contains(&args.kind))
    else {
        return Ok(());
    };
    if *kinds == mlp {
        bail!("{flag} is for networks: give --kind mlp with it");
    }
    let names: Vec<_> = kinds.iter().filter_map(|kind| kind.to_possible_value()).collect();
    let names: Vec<&str> = names.iter().map(|value| value.get_name()).collect();
    bail!("{flag} is not for this kind of model: give --kind {} with it", names.join(" or "));
}

/// Whether a model puts all rows that it was fitted to into one class. Its accuracy is then the
/// share of that class.
fn predicts_one_class(report: &TrainReport) -> bool {
    let balanced =
        report.train.balanced_accuracy.is_some_and(|balanced| (balanced - 0.5).abs() < 1e-12);
    let [yes, no] = [report.share_favourable, 1.0 - report.share_favourable];
    // The share is that of all rows, the accuracy that of the training part.
    let near = |share: f64| (report.train.accuracy - share).abs() < 0.05;
    balanced && (near(yes) || near(no))
}

/// All columns but the target and those dropped, or the schema's.
fn features_of(args: &Train, schema: Option<&Schema>, target: &str) -> Result<Vec<String>> {
    if let Some(schema) = schema {
        let names = schema.names();
        check_dropped(args, "the schema", &names)?;
        return Ok(names.into_iter().filter(|name| !args.drop.contains(name)).collect());
    }
    if args.data.as_os_str() == "-" {
        let what = "training from standard input needs --schema FILE, which names the features";
        return Err(Usage::new(what).into());
    }
    let reader = TableReader::open(&args.data, args.format)?;
    check_dropped(args, reader.name(), reader.header())?;
    let kept = |name: &&String| *name != target && !args.drop.contains(name);
    Ok(reader.header().iter().filter(kept).cloned().collect())
}

fn check_dropped(args: &Train, place: &str, names: &[String]) -> Result<()> {
    match args.drop.iter().find(|name| !names.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Usage::of("--drop", format!("{place} has no column '{name}'")).into()),
    }
}

/// The favourable value of the target: given, or obvious.
fn favourable_value(
    args: &Train,
    schema: Option<&Schema>,
    target: &str,
    labels: &[String],
) -> Result<String> {
    let values: BTreeSet<&str> = labels.iter().map(String::as_str).collect();
    let column = format!("{}: column '{target}'", args.data.display());
    let list = || values.iter().take(10).copied().collect::<Vec<_>>().join(", ");
    let given = args.favourable.clone().or_else(|| schema.and_then(|s| s.favourable.clone()));
    if let Some(given) = given.as_ref().filter(|given| !values.contains(given.as_str())) {
        bail!("{column} has no value '{given}' (it has: {})", list());
    }
    if values.len() < 2 {
        bail!("{column} has only one value ({}): a model needs two classes", list());
    }
    if let Some(given) = given {
        return Ok(given);
    }
    match obvious_favourable(&values) {
        Some(value) => Ok(value.to_owned()),
        None => bail!(
            "{column}: which value is favourable? give --favourable VALUE (it has: {})",
            list()
        ),
    }
}

pub(crate) fn print_report(report: &TrainReport, printer: &Printer) {
    let share = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |v| format!("{v:.3}"));
    let row = |name: &str, n: usize, m: &Metrics| {
        vec![
            name.to_owned(),
            number(n as f64),
            share(Some(m.accuracy)),
            share(m.balanced_accuracy),
            share(m.auc),
        ]
    };
    let mut rows = vec![row("training", report.n_train, &report.train)];
    rows.extend(report.test.as_ref().map(|m| row("test", report.n_test, m)));
    printer.table(&["part", "rows", "accuracy", "balanced", "AUC"], &rows, &[1, 2, 3, 4]);
    printer.say(&format!("{} of the rows are favourable", percent(report.share_favourable)));
}
