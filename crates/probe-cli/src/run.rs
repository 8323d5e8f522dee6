//! Streams people through a command, with progress and cancellation. Output is written completely
//! or not at all.

use crate::args::{Ask, Common, Tables};
use crate::interrupt::{CANCELLED, Hold, holding_output};
use crate::printer::Printer;
use crate::usage::Usage;
use anyhow::{Result, bail};
use indicatif::HumanCount;
use probe_core::Setup;
use probe_io::{
    AtomicOutput, Batch, Chunk, ChunkLimit, Columns, Field, Format, Job, Prose, Summary,
    TableReader, TableWriter, run_pipeline,
};
use probe_service::Work;
use probe_service::people::{columns_of_people, feature_fields};
use serde_json::Value;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

/// Keys of JSON rows that are no columns of the other formats.
const JSON_KEYS: [&str; 9] = [
    "from",
    "to",
    "changes",
    "claimed_rate",
    "tolerance",
    "shortfall",
    "relaxations",
    "exact",
    "meta",
];

/// What a streaming command needs besides its work.
pub(crate) struct Stream<'a> {
    ask: &'a Ask,
    tables: &'a Tables,
    common: &'a Common,
    printer: &'a Printer,
    /// Typical computing time for one person.
    work: Work,
    /// Called with the number of rows written.
    written: Option<&'a (dyn Fn(u64) + Sync)>,
    /// What is written instead of a table.
    instead: Option<Instead>,
}

/// What is written instead of a table.
#[derive(Debug, Clone)]
pub(crate) enum Instead {
    /// Texts, one after the other.
    Prose(Prose),
    /// JSON other than the table's.
    Json(Format),
}

impl<'a> Stream<'a> {
    pub(crate) fn new(
        ask: &'a Ask,
        tables: &'a Tables,
        common: &'a Common,
        printer: &'a Printer,
        work: Work,
    ) -> Self {
        Self { ask, tables, common, printer, work, written: None, instead: None }
    }

    /// Calls `written` with the number of rows written so far.
    pub(crate) fn telling(self, written: &'a (dyn Fn(u64) + Sync)) -> Self {
        Self { written: Some(written), ..self }
    }

    /// Writes something else than a table.
    pub(crate) fn writing(self, instead: Option<Instead>) -> Self {
        Self { instead, ..self }
    }

    /// The format of the output.
    pub(crate) fn format(&self) -> Format {
        if let Some(Instead::Json(format)) = self.instead {
            return format;
        }
        let by_ending = || self.tables.output.as_deref().map_or(Format::Csv, Format::of_path);
        self.tables.format.unwrap_or_else(by_ending)
    }

    /// Whether rows are objects rather than columns.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.format(), Format::Json | Format::Jsonl)
    }

    /// Runs `work` over all people of `setup`. `fields` are the output columns before those of the
    /// features (left out unless `with_features`) and the ids.
    pub(crate) fn run<S>(
        &self,
        setup: &Setup,
        mut fields: Vec<Field>,
        with_features: bool,
        meta: Value,
        scratch: impl Fn() -> S + Sync,
        work: impl for<'c> Fn(&mut S, &'c Chunk) -> Result<Batch<'c>> + Sync,
    ) -> Result<Summary> {
        let features: Vec<String> =
            setup.encoding.features().iter().map(|f| f.name.clone()).collect();
        let wanted = Columns {
            ids: self.tables.id.clone(),
            ignore_extra: self.tables.ignore_extra,
            ..columns_of_people(setup)
        };
        self.check_names(&fields, with_features.then_some(&features))?;
        self.check_output()?;
        if self.instead.is_none() {
            self.warn_of_ending();
        }
        let size = text_size(&self.ask.people, self.tables.input_format);
        // If people take long, the file is read long before they are answered. Rows are then
        // counted first, for the progress bar.
        let people = match size {
            Some(_) if self.work != Work::Light && self.printer.shows_progress() => {
                TableReader::open(&self.ask.people, self.tables.input_format)?.count_rows().ok()
            }
            _ => None,
        };
        let bar = self.printer.progress(people.or(size));
        let idle = indicatif::ProgressBar::hidden();
        let mut reader = self.open(if people.is_some() { &idle } else { &bar })?.select(&wanted)?;
        if let Some(rows) = self.work.portion() {
            reader = reader.with_limit(ChunkLimit { rows, ..ChunkLimit::default() });
        }
        if with_features {
            fields.extend(feature_fields(setup, reader.plan()));
        }
        fields.extend(reader.plan().id_fields());
        let path = self.tables.output.as_deref().unwrap_or(Path::new("-"));
        // JSON Lines have the meta object in every row instead, so that each line is complete.
        let meta = Some(&meta).filter(|_| self.format() != Format::Jsonl);
        let summary = holding_output(|| {
            let writer = match &self.instead {
                Some(Instead::Prose(prose)) => TableWriter::create_prose(path, prose.clone())?,
                _ => TableWriter::create(path, self.format(), fields, meta)?,
            };
            let job = Job { reader, writer, threads: self.common.threads, cancelled: &CANCELLED };
            run_pipeline(job, scratch, work, |rows| {
                if let Some(written) = self.written {
                    written(rows);
                }
                if people.is_some() {
                    bar.set_position(rows);
                }
                bar.set_message(format!("{} people", HumanCount(rows)));
            })
        });
        bar.finish_and_clear();
        summary
    }

    /// Warns of an output file whose extension is not a known format.
    fn warn_of_ending(&self) {
        let Some(path) = self.tables.output.as_deref().filter(|_| self.tables.format.is_none())
        else {
            return;
        };
        if let (None, Some(ending)) = (Format::of_ending(path), path.extension()) {
            self.printer.warn(&format!(
                "{}: '.{}' stands for no format (csv, json, jsonl, parquet), so this is CSV; \
                 --format says otherwise",
                path.display(),
                ending.display()
            ));
        }
    }

    /// Fails if two output columns have the same name.
    fn check_names(&self, fields: &[Field], features: Option<&[String]>) -> Result<()> {
        let own = |name: &String| fields.iter().any(|field| field.name() == name);
        if let Some(name) = features.unwrap_or(&[]).iter().find(|name| own(name)) {
            bail!(
                "{}: the feature '{name}' has the name of an output column; rename it",
                self.ask.model.display()
            );
        }
        for (k, id) in self.tables.id.iter().enumerate() {
            let repeated = self.tables.id[..k].contains(id);
            let key = self.is_json() && JSON_KEYS.contains(&id.as_str());
            if repeated || own(id) || key || features.is_some_and(|names| names.contains(id)) {
                let what = "the output has a column of this name already";
                return Err(Usage::of(&format!("--id {id}"), what).into());
            }
        }
        Ok(())
    }

    /// Fails if the output would overwrite an input file.
    fn check_output(&self) -> Result<()> {
        let Some(output) = self.tables.output.as_deref().and_then(|path| path.canonicalize().ok())
        else {
            return Ok(());
        };
        for (what, path) in [("model", &self.ask.model), ("people", &self.ask.people)] {
            if path.canonicalize().is_ok_and(|path| path == output) {
                let problem =
                    format!("{} is the {what} file, which would be overwritten", output.display());
                return Err(Usage::of("--output", problem).into());
            }
        }
        Ok(())
    }

    fn open(&self, bar: &indicatif::ProgressBar) -> Result<TableReader> {
        let path = &self.ask.people;
        let format = self.tables.input_format.unwrap_or_else(|| Format::of_path(path));
        if format == Format::Parquet || path == Path::new("-") {
            return Ok(TableReader::open(path, Some(format))?);
        }
        match File::open(path) {
            Ok(file) => Ok(TableReader::from_read(
                &path.display().to_string(),
                bar.wrap_read(file),
                format,
            )?),
            // The reader reports this error.
            Err(_) => Ok(TableReader::open(path, Some(format))?),
        }
    }
}

/// Fails if the file of a flag would overwrite an input file or the table.
pub(crate) fn check_path(flag: &str, path: &Path, tables: &Tables, ask: &Ask) -> Result<()> {
    let same = |other: &Path| match (path.canonicalize(), other.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => path == other,
    };
    let table = tables.output.as_deref().unwrap_or(Path::new("-"));
    if same(table) {
        return Err(Usage::of(flag, format!("{} has the table already", path.display())).into());
    }
    let inputs = [("model", &ask.model), ("people", &ask.people)];
    match inputs.into_iter().find(|(_, input)| same(input)) {
        None => Ok(()),
        Some((what, _)) => {
            let problem =
                format!("{} is the {what} file, which would be overwritten", path.display());
            Err(Usage::of(flag, problem).into())
        }
    }
}

/// Fails if the file cannot be written, so that a bad output path is found before any work is done.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let _hold = Hold::new()?;
    AtomicOutput::create(path)?;
    Ok(())
}

/// Writes a file, completely or not at all.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    holding_output(|| {
        let mut out = AtomicOutput::create(path)?;
        out.write_all(text.as_bytes()).map_err(|source| out.error(source))?;
        Ok(out.commit()?)
    })
}

/// The number of rows of the people's file; reads the file.
pub(crate) fn count_rows(ask: &Ask, tables: &Tables) -> Result<u64> {
    let twice = std::fs::metadata(&ask.people).map_or(true, |found| found.is_file());
    if ask.people == Path::new("-") || !twice {
        return Err(Usage::of(
            "--confidence-scope file",
            "the number of rows must be known first, and this input cannot be read twice; give \
             --rows N",
        )
        .into());
    }
    Ok(TableReader::open(&ask.people, tables.input_format)?.count_rows()?)
}

/// Size of a file that is read as one stream of text.
fn text_size(path: &Path, format: Option<Format>) -> Option<u64> {
    let text = format.unwrap_or_else(|| Format::of_path(path)) != Format::Parquet;
    std::fs::metadata(path).ok().filter(|m| text && m.is_file()).map(|m| m.len())
}
