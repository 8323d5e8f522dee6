//! A table being written: workers encode batches, and one writer writes them in order.

use super::atomic::AtomicOutput;
use super::batch::{Batch, check_columns};
use super::field::{Field, check_distinct};
use super::parquet::{Packed, ParquetWriter};
use super::{csv, json, parquet};
use crate::error::{Error, Result};
use crate::table::Format;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Encodes batches for the writer. Cheap to clone and to share between threads.
#[derive(Debug, Clone)]
pub struct Encoder {
    style: Style,
    fields: Arc<[Field]>,
}

/// The form in which rows are written.
#[derive(Debug, Clone)]
enum Style {
    Table(Format),
    /// Texts with this between them.
    Prose(Arc<str>),
    #[cfg(feature = "arrow")]
    Arrow(Arc<arrow_schema::Schema>),
}

/// Text before, between and after texts that are written one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prose {
    /// Before the first.
    pub opening: String,
    /// Between two.
    pub separator: String,
    /// After the last.
    pub closing: String,
}

/// An encoded batch.
#[derive(Debug)]
pub struct Encoded {
    n_rows: usize,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Bytes(Vec<u8>),
    Columns(Vec<Packed>),
    #[cfg(feature = "arrow")]
    Arrow(arrow_array::RecordBatch),
}

impl Encoder {
    /// The declared columns.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Encodes a batch. Fails where it does not fit the declared columns.
    pub fn encode(&self, batch: &Batch<'_>) -> Result<Encoded> {
        let n_rows = batch.n_rows();
        if let Batch::Columns(columns) = batch {
            check_columns(columns, &self.fields)?;
        }
        let format = match (&self.style, batch) {
            (Style::Prose(separator), Batch::Prose(texts)) => {
                return Ok(Encoded {
                    n_rows,
                    body: Body::Bytes(texts.join(separator).into_bytes()),
                });
            }
            (Style::Table(format), Batch::Columns(_) | Batch::Objects(_) | Batch::Json(_)) => {
                *format
            }
            #[cfg(feature = "arrow")]
            (Style::Arrow(schema), Batch::Columns(columns)) => {
                let batch = super::arrow::record_batch(columns, &self.fields, schema)?;
                return Ok(Encoded { n_rows, body: Body::Arrow(batch) });
            }
            #[cfg(feature = "arrow")]
            (Style::Arrow(_), _) => {
                let what =
                    "rows were given as objects, which record batches cannot hold".to_owned();
                return Err(Error::Output { column: "all".to_owned(), what });
            }
            (Style::Prose(_), _) | (_, Batch::Prose(_)) => {
                let what = "texts belong to prose, and nothing else does".to_owned();
                return Err(Error::Output { column: "all".to_owned(), what });
            }
        };
        let body = match (format, batch) {
            (Format::Json, _) => Body::Bytes(json::encode(batch, &self.fields, b",\n")?),
            (Format::Jsonl, _) => {
                let mut bytes = json::encode(batch, &self.fields, b"\n")?;
                if n_rows > 0 {
                    bytes.push(b'\n');
                }
                Body::Bytes(bytes)
            }
            (Format::Csv, Batch::Columns(columns)) => Body::Bytes(csv::encode(columns, n_rows)),
            (Format::Parquet, Batch::Columns(columns)) => {
                Body::Columns(parquet::pack(columns, &self.fields))
            }
            (Format::Csv | Format::Parquet, _) => {
                let what = format!("rows were given as objects, which {format} cannot hold");
                return Err(Error::Output { column: "all".to_owned(), what });
            }
        };
        Ok(Encoded { n_rows, body })
    }
}

impl Encoded {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The rows as text; `None` for formats that are not text.
    pub fn into_text(self) -> Option<Vec<u8>> {
        match self.body {
            Body::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// Writes a table in order. Dropped before [`TableWriter::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct TableWriter {
    encoder: Encoder,
    sink: Sink,
    /// Text before the first row; delayed, so that a run that fails at once prints nothing.
    opening: Vec<u8>,
    /// What comes before the first batch that has rows.
    first: Vec<u8>,
    /// What comes before each further one.
    between: Vec<u8>,
    /// What comes after the last row.
    closing: Vec<u8>,
    rows: u64,
}

#[derive(Debug)]
enum Sink {
    Text(AtomicOutput),
    /// Kept in memory.
    Bytes(Vec<u8>),
    Parquet(Box<ParquetWriter>),
    #[cfg(feature = "arrow-ipc")]
    Stream(super::ipc::IpcWriter),
    #[cfg(feature = "arrow")]
    Arrow(Batches),
}

/// Record batches as they are written, in order.
#[cfg(feature = "arrow")]
pub type Batches = Arc<std::sync::Mutex<Vec<arrow_array::RecordBatch>>>;

impl TableWriter {
    /// Opens `path` (`-` for standard output) and declares its columns. `meta` is `meta` of a JSON
    /// document, a first line `{"meta": …}` in JSON Lines, the key `probe` of Parquet's metadata,
    /// and has no place in CSV.
    pub fn create(
        path: impl AsRef<Path>,
        format: Format,
        fields: Vec<Field>,
        meta: Option<&Value>,
    ) -> Result<Self> {
        check_distinct(&fields)?;
        let output = AtomicOutput::create(path)?;
        let encoder = Encoder { style: Style::Table(format), fields: fields.into() };
        let sink = match format {
            Format::Parquet => {
                Sink::Parquet(Box::new(ParquetWriter::new(output, &encoder.fields, meta)?))
            }
            _ => Sink::Text(output),
        };
        Self::framed(sink, encoder, format, meta)
    }

    /// Keeps the same bytes in memory; see [`TableWriter::into_bytes`]. Parquet is not supported.
    pub fn in_memory(format: Format, fields: Vec<Field>, meta: Option<&Value>) -> Result<Self> {
        check_distinct(&fields)?;
        if format == Format::Parquet {
            let what = "Parquet is written to files only".to_owned();
            return Err(Error::Output { column: "all".to_owned(), what });
        }
        let encoder = Encoder { style: Style::Table(format), fields: fields.into() };
        Self::framed(Sink::Bytes(Vec::new()), encoder, format, meta)
    }

    /// Keeps an Arrow IPC stream in memory.
    #[cfg(feature = "arrow-ipc")]
    pub fn arrow_stream(fields: Vec<Field>) -> Result<Self> {
        check_distinct(&fields)?;
        let schema = Arc::new(super::arrow::schema(&fields));
        let sink = Sink::Stream(super::ipc::IpcWriter::new(&schema)?);
        let encoder = Encoder { style: Style::Arrow(schema), fields: fields.into() };
        let (opening, first, between, closing) = Default::default();
        Ok(Self { encoder, sink, opening, first, between, closing, rows: 0 })
    }

    /// Completes a table that was kept in memory.
    pub fn into_bytes(mut self) -> Result<Vec<u8>> {
        let closing = std::mem::take(&mut self.closing);
        self.put(&closing)?;
        match self.sink {
            Sink::Bytes(bytes) => Ok(bytes),
            #[cfg(feature = "arrow-ipc")]
            Sink::Stream(writer) => writer.finish(),
            _ => {
                let what = "not kept in memory".to_owned();
                Err(Error::Output { column: "all".to_owned(), what })
            }
        }
    }

    /// A table of text with what its format puts around the rows.
    fn framed(sink: Sink, encoder: Encoder, format: Format, meta: Option<&Value>) -> Result<Self> {
        let (mut opening, mut first) = (Vec::new(), Vec::new());
        let (mut between, mut closing) = (Vec::new(), Vec::new());
        match format {
            Format::Csv => opening = csv::header(&encoder.fields),
            Format::Json => {
                opening.push(b'{');
                if let Some(meta) = meta {
                    opening.extend_from_slice(b"\"meta\":");
                    json::append(&mut opening, meta)?;
                    opening.extend_from_slice(b",\n");
                }
                opening.extend_from_slice(b"\"rows\":[");
                first.push(b'\n');
                between.extend_from_slice(b",\n");
                closing.extend_from_slice(b"\n]}\n");
            }
            Format::Jsonl => {
                if let Some(meta) = meta {
                    json::append(&mut opening, &serde_json::json!({ "meta": meta }))?;
                    opening.push(b'\n');
                }
            }
            Format::Parquet => {}
        }
        Ok(Self { encoder, sink, opening, first, between, closing, rows: 0 })
    }

    /// Keeps record batches in memory, in `batches`, of the schema that is returned.
    #[cfg(feature = "arrow")]
    pub fn create_arrow(
        fields: Vec<Field>,
        batches: Batches,
    ) -> Result<(Self, Arc<arrow_schema::Schema>)> {
        check_distinct(&fields)?;
        let schema = Arc::new(super::arrow::schema(&fields));
        let encoder = Encoder { style: Style::Arrow(Arc::clone(&schema)), fields: fields.into() };
        let (opening, first, between, closing) = Default::default();
        let sink = Sink::Arrow(batches);
        Ok((Self { encoder, sink, opening, first, between, closing, rows: 0 }, schema))
    }

    /// Opens `path` (`-` for standard output) for texts instead of a table.
    pub fn create_prose(path: impl AsRef<Path>, prose: Prose) -> Result<Self> {
        Ok(Self::prose(Sink::Text(AtomicOutput::create(path)?), prose))
    }

    /// Keeps texts in memory.
    pub fn prose_in_memory(prose: Prose) -> Self {
        Self::prose(Sink::Bytes(Vec::new()), prose)
    }

    fn prose(sink: Sink, prose: Prose) -> Self {
        let Prose { opening, separator, closing } = prose;
        Self {
            sink,
            opening: opening.into_bytes(),
            first: Vec::new(),
            between: separator.clone().into_bytes(),
            closing: closing.into_bytes(),
            encoder: Encoder { style: Style::Prose(separator.into()), fields: Arc::new([]) },
            rows: 0,
        }
    }

    /// What turns batches into what [`TableWriter::write`] takes.
    pub fn encoder(&self) -> Encoder {
        self.encoder.clone()
    }

    /// Rows written so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends an encoded batch.
    pub fn write(&mut self, encoded: Encoded) -> Result<()> {
        let Encoded { n_rows, body } = encoded;
        match (body, &mut self.sink) {
            (Body::Columns(columns), Sink::Parquet(writer)) => writer.write(columns, n_rows)?,
            (Body::Bytes(bytes), Sink::Text(_) | Sink::Bytes(_)) => {
                if n_rows > 0 {
                    let before =
                        if self.rows == 0 { self.first.clone() } else { self.between.clone() };
                    self.put(&before)?;
                }
                self.put(&bytes)?;
            }
            #[cfg(feature = "arrow")]
            (Body::Arrow(batch), Sink::Arrow(batches)) => {
                if let Ok(mut batches) = batches.lock() {
                    batches.push(batch);
                }
            }
            #[cfg(feature = "arrow-ipc")]
            (Body::Arrow(batch), Sink::Stream(writer)) => writer.write(&batch)?,
            _ => {
                let what = "a batch that was encoded for another format".to_owned();
                return Err(Error::Output { column: "all".to_owned(), what });
            }
        }
        self.rows += n_rows as u64;
        Ok(())
    }

    /// Completes the table and makes it the target's content.
    pub fn finish(mut self) -> Result<()> {
        let closing = std::mem::take(&mut self.closing);
        self.put(&closing)?;
        match self.sink {
            Sink::Text(output) => output.commit(),
            Sink::Parquet(writer) => writer.finish()?.commit(),
            #[cfg(feature = "arrow")]
            Sink::Arrow(_) => Ok(()),
            #[cfg(feature = "arrow-ipc")]
            Sink::Stream(writer) => writer.finish().map(drop),
            Sink::Bytes(_) => Ok(()),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        for piece in [&std::mem::take(&mut self.opening), bytes] {
            match &mut self.sink {
                Sink::Text(output) => {
                    output.write_all(piece).map_err(|source| output.error(source))?;
                }
                Sink::Bytes(kept) => kept.extend_from_slice(piece),
                _ => {}
            }
        }
        Ok(())
    }
}
