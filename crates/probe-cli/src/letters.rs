//! The letters of a run: instead of the table, or in addition to it.

use crate::args::{Explain, Form, Tables};
use crate::interrupt::Hold;
use crate::ledger::Queue;
use crate::usage::Usage;
use anyhow::{Context as _, Result};
use probe_core::Engine;
use probe_io::{Batch, Encoded, Encoder, Field, Format, TableWriter};
use probe_service::letters::{Kind, Letters, language};
use probe_words::Layout;
use serde_json::Value;
use std::path::Path;
use std::sync::Mutex;

/// The requested letters; `None` without any. Fails on flags that exclude each other.
pub(crate) fn letters_of<'e>(
    args: &Explain,
    tables: &Tables,
    engine: &'e Engine,
) -> Result<Option<Letters<'e>>> {
    let path = args.explain_out.as_deref();
    if args.explain.is_none() && path.is_none() {
        let idle =
            [("--language", args.language.is_some()), ("--templates", args.templates.is_some())];
        return match idle.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(Usage::of(flag, "needs --explain").into()),
            None => Ok(None),
        };
    }
    let kind = kind(args, tables)?;
    let language = language(args.language.as_deref().unwrap_or("en"), args.templates.as_deref())?;
    Letters::new(engine, language, kind).map(Some)
}

fn kind(args: &Explain, tables: &Tables) -> Result<Kind> {
    let (flag, path) = match args.explain_out.as_deref() {
        Some(path) => ("--explain-out", Some(path)),
        None => ("--explain", tables.output.as_deref()),
    };
    let ending =
        path.and_then(Path::extension).and_then(|ending| ending.to_str()).map(str::to_lowercase);
    let by_ending = match ending.as_deref() {
        Some("txt") => Some(Form::Text),
        Some("md") => Some(Form::Markdown),
        Some("html" | "htm") => Some(Form::Html),
        Some("json" | "jsonl") => Some(Form::Json),
        _ => None,
    };
    let Some(form) = args.explain.or(by_ending) else {
        let what = "the ending stands for no form of letters (txt, md, html, json, jsonl); \
            --explain says which";
        return Err(Usage::of(flag, what).into());
    };
    // `--format` is about the table, unless letters replace it.
    let format = tables.format.filter(|_| args.explain_out.is_none());
    let jsonl = || if ending.as_deref() == Some("jsonl") { Format::Jsonl } else { Format::Json };
    match (form, format) {
        (Form::Json, None) => Ok(Kind::Json(jsonl())),
        (Form::Json, Some(format @ (Format::Json | Format::Jsonl))) => Ok(Kind::Json(format)),
        (Form::Text, None) => Ok(Kind::Prose(Layout::Text)),
        (Form::Markdown, None) => Ok(Kind::Prose(Layout::Markdown)),
        (Form::Html, None) => Ok(Kind::Prose(Layout::Html)),
        (_, Some(_)) => {
            let what = "it is the table's; --explain-out writes letters beside the table";
            Err(Usage::of("--format", what).into())
        }
    }
}

/// Letters that wait to be written to their file in the order of the rows.
pub(crate) struct Post {
    encoder: Encoder,
    waiting: Mutex<Waiting>,
    /// Last field, so that it is dropped after the file.
    _hold: Hold,
}

struct Waiting {
    writer: TableWriter,
    queue: Queue<Encoded>,
    /// The first fault; nothing is left behind then.
    fault: Option<anyhow::Error>,
}

impl Post {
    pub(crate) fn open(letters: &Letters<'_>, path: &Path, meta: &Value) -> Result<Self> {
        let hold = Hold::new()?;
        let writer = match (letters.prose()?, letters.format()) {
            (Some(prose), _) => TableWriter::create_prose(path, prose)?,
            (None, format) => {
                let format = format.unwrap_or(Format::Json);
                let meta = Some(meta).filter(|_| format != Format::Jsonl);
                TableWriter::create(path, format, vec![Field::integer("row")], meta)?
            }
        };
        let encoder = writer.encoder();
        Ok(Self {
            encoder,
            waiting: Mutex::new(Waiting { writer, queue: Queue::new(), fault: None }),
            _hold: hold,
        })
    }

    /// Takes the letters of the chunk that starts at this row.
    pub(crate) fn note(&self, first_row: u64, letters: &Batch<'_>) -> Result<()> {
        let encoded = self.encoder.encode(letters)?;
        if let Ok(mut waiting) = self.waiting.lock() {
            waiting.queue.put(first_row, encoded);
        }
        Ok(())
    }

    /// Passes on the letters of the first `rows` rows, which have been written.
    pub(crate) fn pass(&self, rows: u64) {
        let Ok(mut waiting) = self.waiting.lock() else { return };
        while let Some(encoded) = waiting.queue.next_before(rows) {
            if let Err(error) = waiting.writer.write(encoded) {
                waiting.fault.get_or_insert(error.into());
            }
        }
    }

    /// Makes the letters the file's content.
    pub(crate) fn commit(self) -> Result<()> {
        self.pass(u64::MAX);
        let waiting = self
            .waiting
            .into_inner()
            .map_err(|_| anyhow::anyhow!("--explain-out: a worker failed"))?;
        match waiting.fault {
            Some(fault) => Err(fault.context("--explain-out")),
            None => waiting.writer.finish().context("--explain-out"),
        }
    }
}
