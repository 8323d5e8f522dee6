//! From a request with people to the bytes of its answer.

use crate::body::Source;
use crate::cache::Key;
use crate::config::MOST_PEOPLE;
use crate::media::Media;
use crate::models::Served;
use crate::problem::Problem;
use crate::settings::{Parts, Settings, of_query};
use crate::state::{State, Work};
use crate::stream;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use futures_util::stream::{StreamExt as _, TryStreamExt as _, iter};
use probe_io::{ChunkLimit, Chunks, Columns, Encoded, Encoder, Format, TableReader, TableWriter};
use probe_service::letters::{Kind, language};
use probe_service::people::people_of;
use probe_service::rate::Origins;
use probe_service::{Ask, Form, Inputs, Question, ReadOrigins};
use serde_json::{Value, json};
use std::io::Cursor;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout, timeout_at};

/// How long work may go on after its time is up, before the request is answered without it.
const LEEWAY: Duration = Duration::from_secs(5);
/// Rows of a job. Small jobs let other requests take turns.
const ROWS: usize = 1024;

/// What a route asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kindred {
    Score,
    Recourse,
    Frontier,
    Rate,
    Letters,
}

impl Kindred {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Score => "score",
            Self::Recourse => "recourse",
            Self::Frontier => "frontier",
            Self::Rate => "rate",
            Self::Letters => "letters",
        }
    }

    pub(crate) fn offers(self) -> &'static [Media] {
        match self {
            Self::Letters => &Media::LETTERS,
            _ => &Media::TABLES,
        }
    }
}

/// A request about people.
pub(crate) struct Call {
    pub(crate) state: Arc<State>,
    pub(crate) model: Arc<Served>,
    pub(crate) kind: Kindred,
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) input: Media,
    pub(crate) output: Media,
}

impl Call {
    /// Answers the people of a body.
    pub(crate) async fn answer(self, body: Body) -> Result<Response, Problem> {
        let source = Source::new(&self.headers, body)?;
        if (self.input, self.output) == (Media::Ndjson, Media::Ndjson) {
            return stream::answer(self, source).await;
        }
        let config = &self.state.config;
        let bytes = source.read_all(&self.headers, config.max_body, config.body_timeout).await?;
        let place = self.state.pool.try_place()?;
        let work = Work::new(&self.state);
        let deadline = Instant::now() + config.timeout;
        let call = Arc::new(self);
        let done = call.clone().whole(bytes, place, &work);
        let bytes = within(deadline, &work, done).await?;
        Ok(call.response(Body::from(bytes)))
    }

    /// The headers of an answer.
    pub(crate) fn response(&self, body: Body) -> Response {
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static(self.output.content_type());
        headers.insert(header::CONTENT_TYPE, kind);
        headers.insert(header::VARY, HeaderValue::from_static("accept"));
        if let Ok(hash) = HeaderValue::from_str(&self.model.file.hash) {
            headers.insert("x-model-hash", hash);
        }
        response
    }

    /// Answers a body that is in memory.
    async fn whole(
        self: Arc<Self>,
        bytes: Bytes,
        place: crate::pool::Place,
        work: &Work,
    ) -> Result<Bytes, Problem> {
        let (state, stop) = (Arc::clone(&self.state), Arc::clone(&work.stop));
        let (call, first_stop) = (Arc::clone(&self), Arc::clone(&stop));
        let opened = state
            .pool
            .run(place, move || {
                let mut opened = call.open(bytes)?;
                // Nearly all requests are short: they are done in one go.
                if let [raw] = &mut opened.chunks[..] {
                    let raw = raw.take().ok_or_else(Problem::fault)?;
                    opened.done.push(call.chunk(&opened.asked, raw, &first_stop)?);
                    opened.chunks.clear();
                }
                Ok(opened)
            })
            .await?;
        let Opened { asked, chunks, done, writer } = opened;
        let jobs = chunks.into_iter().flatten().map(|raw| {
            let (call, asked, stop) = (Arc::clone(&self), asked.clone(), Arc::clone(&stop));
            let state = Arc::clone(&state);
            async move {
                let place = state.pool.place().await?;
                state.pool.run(place, move || call.chunk(&asked, raw, &stop)).await
            }
        });
        let more: Vec<Done> = iter(jobs).buffered(state.pool.threads() + 1).try_collect().await?;
        let done: Vec<Done> = done.into_iter().chain(more).collect();
        if let Some(audit) = &state.audit {
            let records: Vec<Value> =
                done.iter().flat_map(|done| done.records.iter().cloned()).collect();
            audit.record(&records).await?;
        }
        let rows: usize = done.iter().map(|done| done.encoded.n_rows()).sum();
        if rows <= ROWS {
            return self.close(&asked, done, writer);
        }
        let place = state.pool.place().await?;
        let (call, asked) = (Arc::clone(&self), asked.clone());
        state.pool.run(place, move || call.close(&asked, done, writer)).await
    }

    /// Parses a body and prepares its question.
    fn open(&self, bytes: Bytes) -> Result<Opened, Problem> {
        let name = "people";
        let mut given = of_query(self.query.as_deref().unwrap_or_default())?;
        let (from, reader) = match self.input {
            Media::Json => {
                let Parts { people, from, given: in_body } = Parts::of(&bytes)?;
                if let Some(field) = in_body.keys().find(|field| given.contains_key(*field)) {
                    let what = format!("{field}: given twice, in the query and in the body");
                    return Err(Problem::field(field, what));
                }
                given.extend(in_body);
                let reader = TableReader::from_read(name, Cursor::new(people), Format::Json)?;
                (from, reader)
            }
            Media::Csv | Media::Ndjson => {
                let format = if self.input == Media::Csv { Format::Csv } else { Format::Jsonl };
                (None, TableReader::from_read(name, Cursor::new(bytes.clone()), format)?)
            }
            _ => (None, probe_io::read_ipc(name, bytes.to_vec())?),
        };
        if from.is_some() && self.kind != Kindred::Rate {
            return Err(Problem::field("from", "from: only rates take it"));
        }
        let rows = match given.get("confidence_scope") {
            Some(scope) if scope == "file" => Some(self.count(bytes)?),
            _ => None,
        };
        let settings = Settings::new(given, &self.state, rows)?;
        let question = self.question(&settings, from)?;
        let columns = question.columns(&settings.ids, settings.ignore_extra);
        let mut chunks = self.select(reader, &columns, &question)?;
        let mut rows = 0;
        let mut all = Vec::new();
        while let Some(raw) = chunks.next_raw()? {
            rows += raw.n_rows() as u64;
            self.check_people(rows, MOST_PEOPLE)?;
            all.push(Some(raw));
        }
        let fields = question.fields(chunks.plan());
        check_names(&fields)?;
        let (form, format) = self.form();
        let writer = match (self.output, question.prose(self.kind_of_letters())?) {
            (_, Some(prose)) => TableWriter::prose_in_memory(prose),
            (Media::Arrow, _) => TableWriter::arrow_stream(fields)?,
            _ => TableWriter::in_memory(format, fields, None)?,
        };
        let asked = Asked { question, form, encoder: writer.encoder() };
        Ok(Opened { asked, chunks: all, done: Vec::new(), writer })
    }

    /// Picks the columns of a table.
    pub(crate) fn select(
        &self,
        reader: TableReader,
        columns: &Columns,
        question: &Question,
    ) -> Result<Chunks, Problem> {
        Ok(reader.select(columns)?.with_limit(limit_of(question)))
    }

    /// Number of rows of a body.
    fn count(&self, bytes: Bytes) -> Result<u64, Problem> {
        let reader = match self.input {
            Media::Json => {
                let people = Parts::of(&bytes)?.people;
                TableReader::from_read("people", Cursor::new(people), Format::Json)?
            }
            Media::Csv => TableReader::from_read("people", Cursor::new(bytes), Format::Csv)?,
            Media::Ndjson => TableReader::from_read("people", Cursor::new(bytes), Format::Jsonl)?,
            _ => probe_io::read_ipc("people", bytes.to_vec())?,
        };
        Ok(reader.count_rows()?)
    }

    /// Fails if there are too many people.
    pub(crate) fn check_people(&self, rows: u64, usual: u64) -> Result<(), Problem> {
        let most = self.state.config.max_people.unwrap_or(usual);
        if rows > most {
            let what = format!("people: more than {most}");
            let problem = Problem::field("people", what);
            return Err(Problem { status: StatusCode::PAYLOAD_TOO_LARGE, ..problem });
        }
        Ok(())
    }

    /// The prepared question, from the cache or new.
    pub(crate) fn question(
        &self,
        settings: &Settings,
        from: Option<Bytes>,
    ) -> Result<Arc<Question>, Problem> {
        let prepare = || -> Result<Question, Problem> {
            let ask = match self.kind {
                Kindred::Score => Ask::Score,
                Kindred::Recourse => Ask::Recourse,
                Kindred::Frontier => Ask::Frontier,
                Kindred::Rate => Ask::Rate,
                Kindred::Letters => {
                    let found = language(&settings.language, None)
                        .map_err(|error| Problem::field("language", format!("{error:#}")))?;
                    Ask::Letters(Arc::new(found))
                }
            };
            let schema = self.model.schema.clone();
            let reference = self.state.config.reference.as_deref();
            let inputs = Inputs {
                schema: schema.map_or_else(Default::default, probe_service::SchemaSource::Given),
                origin: self.model.name.clone(),
                noise: None,
                reference: reference.map(|path| TableReader::open(path, None)).transpose()?,
            };
            let origins = from.clone().map(|bytes| {
                let read = move |prepared: &probe_service::Prepared| {
                    let reader = TableReader::from_read("from", Cursor::new(bytes), Format::Json)?;
                    let people = people_of(reader, &prepared.setup, true)?;
                    Ok(Origins { name: "from".to_owned(), people })
                };
                Box::new(read) as ReadOrigins
            });
            let request = settings.request.clone();
            let question = Question::new(ask, &self.model.file, inputs, request, origins, &Silent)?;
            Ok(question)
        };
        if from.is_some() {
            return prepare().map(Arc::new);
        }
        let key = Key {
            version: self.model.version,
            ask: self.kind.name(),
            language: settings.language.clone(),
            request: serde_json::to_string(&settings.request).unwrap_or_default(),
        };
        self.state.cache.get(key, prepare)
    }

    pub(crate) fn kind_of_letters(&self) -> Kind {
        match self.output.layout() {
            Some(layout) => Kind::Prose(layout),
            None => Kind::Json(Format::Jsonl),
        }
    }

    /// The form of rows, and the format that they are encoded in.
    pub(crate) fn form(&self) -> (Form, Format) {
        let form = match self.output {
            _ if self.kind == Kindred::Letters => Form::Letters(self.kind_of_letters()),
            Media::Csv | Media::Arrow => Form::Columns,
            _ => Form::Lines,
        };
        (form, if self.output == Media::Csv { Format::Csv } else { Format::Jsonl })
    }

    /// Answers the people of a chunk.
    pub(crate) fn chunk(
        &self,
        asked: &Asked,
        raw: probe_io::RawChunk,
        stop: &probe_service::Stop,
    ) -> Result<Done, Problem> {
        let (chunk, late) = raw.decode();
        let answered = asked.question.answer(&chunk, asked.form, stop)?;
        self.state.metrics.answers(&answered.tally);
        // Rows before a faulty one are processed first: their errors come first.
        if let Some(error) = late {
            return Err(error.into());
        }
        let encoded = asked.encoder.encode(&answered.batch)?;
        let mut records = Vec::new();
        if self.state.audit.is_some() {
            records = answered.records;
            let time = now();
            records.iter_mut().for_each(|record| {
                record["time"] = json!(time);
                record["model"] = json!(self.model.name);
                if let Some(id) = self.headers.get("x-request-id") {
                    record["request_id"] = json!(id.to_str().unwrap_or_default());
                }
            });
        }
        Ok(Done { encoded, records })
    }

    /// Puts the rows together.
    fn close(
        &self,
        asked: &Asked,
        done: Vec<Done>,
        mut writer: TableWriter,
    ) -> Result<Bytes, Problem> {
        if self.output != Media::Json {
            for done in done {
                writer.write(done.encoded)?;
            }
            return Ok(writer.into_bytes()?.into());
        }
        let mut out = b"{\"answers\":[".to_vec();
        for done in done {
            // Lines become elements: the line end before the last is a comma.
            let text = done.encoded.into_text().unwrap_or_default();
            for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                if out.last() != Some(&b'[') {
                    out.push(b',');
                }
                out.push(b'\n');
                out.extend_from_slice(line);
            }
        }
        out.extend_from_slice(b"\n],\"meta\":");
        out.extend_from_slice(asked.question.meta().to_string().as_bytes());
        out.extend_from_slice(b"}\n");
        Ok(out.into())
    }
}

/// How many rows a job takes.
pub(crate) fn limit_of(question: &Question) -> ChunkLimit {
    let rows = question.work().portion().unwrap_or(ROWS);
    ChunkLimit { rows, ..ChunkLimit::default() }
}

/// Fails if two columns of the answer have the same name.
fn check_names(fields: &[probe_io::Field]) -> Result<(), Problem> {
    for (k, field) in fields.iter().enumerate() {
        if fields[..k].iter().any(|other| other.name() == field.name()) {
            let what = format!("'{}' is also a column of the answer", field.name());
            return Err(Problem::field("id", what));
        }
    }
    Ok(())
}

/// A prepared question in the form of its answer.
#[derive(Clone)]
pub(crate) struct Asked {
    pub(crate) question: Arc<Question>,
    pub(crate) form: Form,
    pub(crate) encoder: Encoder,
}

/// The rows of a chunk.
pub(crate) struct Done {
    pub(crate) encoded: Encoded,
    pub(crate) records: Vec<Value>,
}

struct Opened {
    asked: Asked,
    chunks: Vec<Option<probe_io::RawChunk>>,
    done: Vec<Done>,
    writer: TableWriter,
}

/// Waits for work; when its time is up, tells it, and waits a little longer.
pub(crate) async fn within<T>(
    deadline: Instant,
    work: &Work,
    done: impl Future<Output = Result<T, Problem>>,
) -> Result<T, Problem> {
    let mut done = Box::pin(done);
    if let Ok(done) = timeout_at(deadline, &mut done).await {
        return done;
    }
    work.stop.time_is_up();
    let late = || Problem::unavailable("time is up: ask for fewer people or less work");
    match timeout(LEEWAY, done).await {
        Ok(Err(problem)) if problem.status == StatusCode::SERVICE_UNAVAILABLE => Err(late()),
        Ok(done) => done,
        Err(_) => Err(late()),
    }
}

/// The time now, as in RFC 3339.
fn now() -> String {
    date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// The date so long after the start of 1970.
fn date(since: Duration) -> String {
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Civil date of a day number; years start in March, so that leap days come last.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (d, m) =
        (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    let y = year + era * 400 + u64::from(m <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{y:04}-{m:02}-{d:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// Says nothing.
struct Silent;

impl probe_service::Diagnostics for Silent {
    fn note(&self, message: &probe_service::Message) {
        tracing::debug!(note = message.spelled(probe_service::Spelling::Keyword));
    }

    fn warn(&self, message: &probe_service::Message) {
        tracing::debug!(warning = message.spelled(probe_service::Spelling::Keyword));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        // From `date -u -d @… +%F`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_399, "2100-02-28T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(date(Duration::from_secs(seconds)), text);
        }
    }
}
