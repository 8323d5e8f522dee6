//! `probe serve`.

use crate::args::{Common, Serve};
use crate::interrupt::on_signal;
use crate::printer::Printer;
use anyhow::{Context as _, Result, bail};
use probe_core::{Encoding, Engine, Seed, Setup};
use probe_io::{ModelFile, load_schema};
use probe_server::{Config, Listener, Models, State, serve};
use probe_service::SchemaSource;
use probe_train::{FitParams, Learner, LogisticParams, credit, fit_model};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Rows that the built-in model is trained on, as in `probe demo`.
const ROWS: usize = 10_000;
/// People of the built-in model who are shown as examples.
const PEOPLE: usize = 20;
/// Threads that read and write.
const IO_THREADS: usize = 2;

pub(crate) fn run(args: &Serve, common: &Common, printer: &Printer) -> Result<()> {
    let models = models(args, common)?;
    let state = State::new(config(args, common)?, models)?;
    state.refresh();
    if args.models.is_none() && state.models.snapshot().models().next().is_none() {
        bail!("no model to serve");
    }
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let stop = std::sync::Mutex::new(Some(stop));
    on_signal(move || {
        if let Some(stop) = stop.lock().ok().and_then(|mut stop| stop.take()) {
            let _ = stop.send(());
        }
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(IO_THREADS)
        .thread_name("io")
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = Listener::open(&state).await?;
        printer.say(&format!("listening on {}", listener.address()?));
        let stopped = async {
            let _ = stopped.await;
        };
        serve(listener, Arc::clone(&state), stopped).await
    })?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(())
}

fn config(args: &Serve, common: &Common) -> Result<Config> {
    let usual = Config::default();
    let seconds = Duration::from_secs_f64;
    Ok(Config {
        listen: args.listen,
        token_file: args.token_file.clone(),
        tls: args.tls_cert.clone().zip(args.tls_key.clone()),
        max_body: args.max_body,
        max_people: args.max_people,
        timeout: seconds(args.timeout),
        body_timeout: seconds(args.body_timeout),
        header_timeout: seconds(args.header_timeout),
        grace: seconds(args.grace),
        max_connections: args.max_connections,
        queue: args.queue,
        threads: if common.threads > 0 { common.threads } else { usual.threads },
        audit: args.audit.clone(),
        reference: args.seek.reference.clone(),
        cors: args.cors.clone(),
        any_method: args.any_method,
        defaults: args.defaults(common)?,
        ..usual
    })
}

/// The models of the flags; without any, the built-in one.
fn models(args: &Serve, common: &Common) -> Result<Models> {
    let schema = match args.assume.schema.as_deref() {
        Some(path) if path == Path::new("none") => SchemaSource::Ignored,
        Some(path) => SchemaSource::Given(load_schema(path)?),
        None => SchemaSource::Own,
    };
    let models = Models::new(args.models.clone());
    if let Some(folder) = args.models.as_deref().filter(|folder| !folder.is_dir()) {
        bail!("--models: {} is not a folder", folder.display());
    }
    for path in &args.model {
        models.load(Path::new(path), schema.clone())?;
    }
    if args.model.is_empty() && args.models.is_none() {
        let (file, people) = demo(Seed(common.seed))?;
        models.put_with_people("demo", file, None, people)?;
    }
    Ok(models)
}

/// The model of `probe demo`, and people whom it turns down.
fn demo(seed: Seed) -> Result<(ModelFile, Vec<Map<String, Value>>)> {
    let data = credit::generate(ROWS, seed);
    let learner = Learner::Linear(LogisticParams::default());
    let params = FitParams { learner, test_share: 0.2 };
    let trained = fit_model(&data.labelled()?, Some(&credit::schema()), &params, seed)?;
    let names = trained.schema.column_names();
    let file = ModelFile::new(names, trained.model, Some(trained.schema))?;
    let setup =
        Setup::new(Arc::clone(&file.model), file.features.clone(), file.schema.as_ref(), 0.1)
            .context("the built-in model")?;
    let engine = Engine::without_method(setup)?;
    let encoding: &Encoding = &engine.setup().encoding;
    let mut columns = vec![0.0; encoding.n_columns()];
    let mut people = Vec::new();
    for row in 0..data.n_rows() {
        encoding.encode_into(data.person(row), &mut columns);
        if engine.score(&columns)? <= 0.0 {
            let value = |(k, name): (usize, &String)| {
                let number = data.person(row)[k];
                let value = data.category(row, k).map_or_else(|| json!(number), |name| json!(name));
                (name.clone(), value)
            };
            people.push(data.names.iter().enumerate().map(value).collect());
            if people.len() == PEOPLE {
                break;
            }
        }
    }
    Ok((file, people))
}
