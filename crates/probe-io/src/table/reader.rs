//! Opening a table and streaming its chunks.

#[cfg(feature = "arrow")]
use super::arrow::{ArrowReader, ArrowRows};
use super::chunk::{Cells, Chunk};
use super::format::Format;
use super::framing::{ArrayState, Framing};
use super::parquet::ParquetReader;
use super::plan::{ColumnPlan, Columns, check_distinct};
use super::records::{ChunkLimit, RawText, RecordReader};
use super::typed::TypedCells;
use super::{csv, json};
use crate::error::{Error, Result};
use crate::output::FieldKind;
use std::fs::File;
use std::io::{Read, Seek as _};
use std::path::Path;
use std::sync::Arc;

/// An opened table: its header is known, its rows are not read yet.
#[derive(Debug)]
pub struct TableReader {
    file: Arc<str>,
    format: Format,
    header: Vec<String>,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Text(RecordReader),
    Parquet(Box<ParquetReader>),
    #[cfg(feature = "arrow")]
    Arrow(ArrowReader),
}

impl TableReader {
    /// Opens a file, or standard input for `-`. Without a format, the file's ending decides.
    pub fn open(path: impl AsRef<Path>, format: Option<Format>) -> Result<Self> {
        let path = path.as_ref();
        let format = format.unwrap_or_else(|| Format::of_path(path));
        if path == Path::new("-") {
            return Self::from_read("standard input", std::io::stdin(), format);
        }
        let name = path.display().to_string();
        let input = File::open(path).map_err(|source| Error::io(&name, "open", source))?;
        match format {
            Format::Parquet => Self::from_parquet(name.into(), input),
            _ => Self::from_text(name.into(), Box::new(input), format),
        }
    }

    /// Reads a table from any stream; `name` is its name in errors. Parquet needs random access
    /// and goes through a temporary file.
    pub fn from_read(
        name: &str,
        mut input: impl Read + Send + 'static,
        format: Format,
    ) -> Result<Self> {
        if format != Format::Parquet {
            return Self::from_text(name.into(), Box::new(input), format);
        }
        let mut spool = || {
            let mut file = tempfile::tempfile()?;
            std::io::copy(&mut input, &mut file)?;
            file.rewind()?;
            Ok(file)
        };
        let file = spool().map_err(|source| Error::io(name, "read", source))?;
        Self::from_parquet(name.into(), file)
    }

    fn from_text(file: Arc<str>, input: Box<dyn Read + Send>, format: Format) -> Result<Self> {
        let framing = match format {
            Format::Csv => Framing::Csv,
            Format::Json => Framing::Array(ArrayState::Before),
            _ => Framing::Lines,
        };
        let mut records = RecordReader::new(Arc::clone(&file), input, framing);
        let header = if format == Format::Csv {
            match records.header()? {
                Some(raw) => csv::header(&raw, &file)?,
                None => return Err(Error::Empty { file: file.to_string() }),
            }
        } else {
            match records.peek()? {
                Some(raw) => json::header(&raw, &file, format == Format::Jsonl)?,
                None => return Err(Error::file(&file, "no rows, so its columns are unknown")),
            }
        };
        check_distinct(&header, &file)?;
        if format == Format::Csv && header.len() == 1 {
            records.set_framing(Framing::CsvColumn);
        }
        Ok(Self { file, format, header, source: Source::Text(records) })
    }

    fn from_parquet(file: Arc<str>, input: File) -> Result<Self> {
        let reader = ParquetReader::new(Arc::clone(&file), input)?;
        let header = reader.header();
        check_distinct(&header, &file)?;
        Ok(Self {
            file,
            format: Format::Parquet,
            header,
            source: Source::Parquet(Box::new(reader)),
        })
    }

    /// Reads batches that are in memory already, without copying them; `name` is their name in
    /// errors. All must have `schema`.
    #[cfg(feature = "arrow")]
    pub fn from_arrow(
        name: &str,
        schema: &arrow_schema::Schema,
        batches: Vec<arrow_array::RecordBatch>,
    ) -> Result<Self> {
        let header: Vec<String> =
            schema.fields().iter().map(|field| field.name().clone()).collect();
        check_distinct(&header, name)?;
        let reader = ArrowReader::new(name, schema, batches);
        Ok(Self {
            file: name.into(),
            format: Format::Parquet,
            header,
            source: Source::Arrow(reader),
        })
    }

    /// Column names in the file's order.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The file as the user named it.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// How the table is stored.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Counts the rows, in bounded memory and without looking into them; a faulty row may only show
    /// when it is read.
    pub fn count_rows(self) -> Result<u64> {
        match self.source {
            Source::Parquet(reader) => reader.n_rows(),
            #[cfg(feature = "arrow")]
            Source::Arrow(reader) => Ok(reader.n_rows()),
            Source::Text(mut records) => {
                let mut rows = 0;
                while let Some(text) = records.next(ChunkLimit::default())? {
                    rows += text.records.len() as u64;
                }
                Ok(rows)
            }
        }
    }

    /// Picks columns; the rows can then be read. Fails on missing and, unless ignored, on
    /// unexpected columns.
    pub fn select(self, wanted: &Columns) -> Result<Chunks> {
        let kind_of = |column| match &self.source {
            Source::Text(_) => FieldKind::Text,
            Source::Parquet(reader) => reader.id_kind(column),
            #[cfg(feature = "arrow")]
            Source::Arrow(reader) => reader.id_kind(column),
        };
        let plan = ColumnPlan::new(&self.file, &self.header, wanted, kind_of)?;
        if let Source::Parquet(reader) = &self.source {
            reader.check(&plan)?;
        }
        #[cfg(feature = "arrow")]
        if let Source::Arrow(reader) = &self.source {
            reader.check(&plan)?;
        }
        let (plan, limit) = (Arc::new(plan), ChunkLimit::default());
        Ok(Chunks {
            plan,
            source: self.source,
            format: self.format,
            limit,
            failed: None,
            ended: false,
        })
    }
}

/// A stream of chunks. As an iterator it decodes on the spot; [`Chunks::next_raw`] leaves that to
/// the caller's threads.
#[derive(Debug)]
pub struct Chunks {
    plan: Arc<ColumnPlan>,
    source: Source,
    format: Format,
    limit: ChunkLimit,
    failed: Option<Error>,
    ended: bool,
}

/// Rows as they came from the file.
#[derive(Debug)]
pub struct RawChunk {
    plan: Arc<ColumnPlan>,
    content: RawContent,
}

#[derive(Debug)]
enum RawContent {
    Csv(RawText),
    Json {
        text: RawText,
        lines: bool,
    },
    Typed(TypedCells),
    #[cfg(feature = "arrow")]
    Arrow(ArrowRows),
}

impl Chunks {
    /// Changes how large chunks may be: small ones where a row is a lot of work.
    #[must_use]
    pub fn with_limit(mut self, limit: ChunkLimit) -> Self {
        self.limit = limit.clamped();
        self
    }

    /// Which columns are read.
    pub fn plan(&self) -> &ColumnPlan {
        &self.plan
    }

    /// The next rows, not yet decoded; `None` at the end and after an error.
    pub fn next_raw(&mut self) -> Result<Option<RawChunk>> {
        if self.ended {
            return Ok(None);
        }
        let content = self.next_content();
        self.ended = !matches!(content, Ok(Some(_)));
        Ok(content?.map(|content| RawChunk { plan: Arc::clone(&self.plan), content }))
    }

    fn next_content(&mut self) -> Result<Option<RawContent>> {
        Ok(match &mut self.source {
            Source::Parquet(reader) => reader.next(&self.plan, self.limit)?.map(RawContent::Typed),
            #[cfg(feature = "arrow")]
            Source::Arrow(reader) => reader.next(self.limit).map(RawContent::Arrow),
            Source::Text(records) => records.next(self.limit)?.map(|text| match self.format {
                Format::Csv => RawContent::Csv(text),
                _ => RawContent::Json { text, lines: self.format == Format::Jsonl },
            }),
        })
    }
}

impl RawChunk {
    /// Lines of JSON.
    pub(super) fn lines(plan: Arc<ColumnPlan>, text: RawText) -> Self {
        Self { plan, content: RawContent::Json { text, lines: true } }
    }

    /// Number of rows, the faulty ones counted.
    pub fn n_rows(&self) -> usize {
        match &self.content {
            RawContent::Csv(text) | RawContent::Json { text, .. } => text.records.len(),
            RawContent::Typed(cells) => cells.n_rows,
            #[cfg(feature = "arrow")]
            RawContent::Arrow(rows) => rows.n_rows(),
        }
    }

    /// Splits the rows into cells. A faulty row is returned as an error with the good rows before
    /// it, so that errors are reported in row order.
    pub fn decode(self) -> (Chunk, Option<Error>) {
        let Self { plan, content } = self;
        let (cells, error) = match content {
            RawContent::Csv(text) => {
                let (cells, error) = csv::decode(text, plan.header().len(), plan.file());
                (Cells::Csv(cells), error)
            }
            RawContent::Json { text, lines } => {
                let (cells, error) = json::decode(text, &plan, lines);
                (Cells::Json(cells), error)
            }
            RawContent::Typed(cells) => (Cells::Typed(cells), None),
            #[cfg(feature = "arrow")]
            RawContent::Arrow(rows) => (Cells::Typed(rows.decode(&plan)), None),
        };
        (Chunk::new(plan, cells), error)
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.failed.take() {
            return Some(Err(error));
        }
        let (chunk, error) = match self.next_raw().transpose()? {
            Ok(raw) => raw.decode(),
            Err(error) => return Some(Err(error)),
        };
        self.ended |= error.is_some();
        self.failed = error;
        Some(Ok(chunk))
    }
}
