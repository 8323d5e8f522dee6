//! NDJSON, answered while it arrives, in bounded memory. A client that stops reading is no longer
//! read from.

use crate::answer::{Asked, Call, Done, limit_of, within};
use crate::body::Source;
use crate::pool::Place;
use crate::problem::Problem;
use crate::settings::{Settings, of_query};
use crate::state::Work;
use axum::body::{Body, Bytes};
use axum::response::Response;
use bytes::BytesMut;
use futures_util::future::{Either, FutureExt as _, select};
use futures_util::stream::{FuturesOrdered, StreamExt as _, unfold};
use probe_io::{ChunkLimit, Format, Lines, TableWriter};
use serde_json::Value;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use tokio::time::Instant;

/// Bytes that are worth a job of their own.
const GATHER: usize = 1 << 17;

type Job = std::pin::Pin<Box<dyn Future<Output = Result<Done, Problem>> + Send>>;

/// A stream being answered.
struct Streamer {
    call: Arc<Call>,
    asked: Asked,
    work: Arc<Work>,
    source: Source,
    lines: Lines,
    limit: ChunkLimit,
    jobs: FuturesOrdered<Job>,
    /// A place in the queue that the first chunk has got already.
    place: Option<Place>,
    ended: bool,
}

/// Answers a stream. Until the first answer is ready, an error has its own status; after that, it
/// is the last line.
pub(crate) async fn answer(call: Call, mut source: Source) -> Result<Response, Problem> {
    let call = Arc::new(call);
    // Slow clients take no place in the queue: nothing is done before there is a line.
    let (mut begun, mut ended) = (BytesMut::new(), false);
    let deadline = Instant::now() + call.state.config.body_timeout;
    while !ended && !begun.contains(&b'\n') && begun.len() <= call.state.config.max_body {
        match source.next(deadline).await? {
            Some(piece) => begun.extend_from_slice(&piece),
            None => ended = true,
        }
    }
    let place = call.state.pool.try_place()?;
    let work = Arc::new(Work::new(&call.state));
    let prepare = {
        let call = Arc::clone(&call);
        move || {
            let given = of_query(call.query.as_deref().unwrap_or_default())?;
            let settings = Settings::new(given, &call.state, None)?;
            let question = call.question(&settings, None)?;
            let columns = question.columns(&settings.ids, settings.ignore_extra);
            let (form, _) = call.form();
            // Lines are complete by themselves, so that the columns do not matter.
            let writer = TableWriter::in_memory(Format::Jsonl, Vec::new(), None)?;
            Ok((Asked { question, form, encoder: writer.encoder() }, columns))
        }
    };
    let deadline = Instant::now() + call.state.config.timeout;
    let (asked, columns) = within(deadline, &work, call.state.pool.run(place, prepare)).await?;
    let place = Some(call.state.pool.try_place()?);
    let mut lines = Lines::new("people", columns, call.state.config.max_body);
    lines.push(&begun);
    let mut streamer = Streamer {
        limit: limit_of(&asked.question),
        lines,
        jobs: FuturesOrdered::new(),
        ended,
        call: Arc::clone(&call),
        asked,
        work,
        source,
        place,
    };
    let first = streamer.next().await?;
    let rest = unfold((Some(streamer), first), |(streamer, ready)| async move {
        match (streamer, ready) {
            (streamer, Some(bytes)) => Some((Ok::<_, Infallible>(bytes), (streamer, None))),
            (None, None) => None,
            (Some(mut streamer), None) => match streamer.next().await {
                Ok(Some(bytes)) => Some((Ok(bytes), (Some(streamer), None))),
                Ok(None) => None,
                Err(problem) => {
                    let line = problem.json().to_string() + "\n";
                    Some((Ok(Bytes::from(line)), (None, None)))
                }
            },
        }
    });
    // Compression asks again after the end.
    Ok(call.response(Body::from_stream(rest.fuse())))
}

impl Streamer {
    /// The next lines of the answer.
    async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let width = self.call.state.pool.threads() + 1;
        loop {
            // Lines are answered at once if nothing is being computed; otherwise they gather, so
            // that a fast client costs few jobs.
            while self.jobs.len() < width
                && (self.jobs.is_empty() || self.ended || self.lines.n_waiting() >= GATHER)
            {
                let Some(raw) = self.lines.next_raw(self.limit, self.ended)? else { break };
                self.call.check_people(self.lines.n_rows(), u64::MAX)?;
                self.start(raw);
            }
            if self.jobs.is_empty() && self.ended {
                return match self.lines.n_rows() {
                    0 => Err(Problem::field("people", "people: no rows")),
                    _ => Ok(None),
                };
            }
            let wants_more = !self.ended && self.lines.n_waiting() < 4 * GATHER;
            let deadline = Instant::now() + self.call.state.config.body_timeout;
            let finished = if !wants_more {
                self.jobs.next().await
            } else if self.jobs.is_empty() {
                let piece = self.source.next(deadline).await?;
                self.take(piece);
                continue;
            } else {
                let either = {
                    let next = pin!(self.source.next(deadline));
                    match select(self.jobs.next(), next).await {
                        Either::Left((finished, _)) => Either::Left(finished),
                        Either::Right((piece, _)) => Either::Right(piece),
                    }
                };
                match either {
                    Either::Left(finished) => finished,
                    Either::Right(piece) => {
                        self.take(piece?);
                        continue;
                    }
                }
            };
            if let Some(done) = finished {
                let done = done?;
                if let Some(audit) = &self.call.state.audit {
                    let records: Vec<Value> = done.records;
                    audit.record(&records).await?;
                }
                let text = done.encoded.into_text().ok_or_else(Problem::fault)?;
                if !text.is_empty() {
                    return Ok(Some(text.into()));
                }
            }
        }
    }

    fn take(&mut self, piece: Option<Bytes>) {
        match piece {
            Some(bytes) => self.lines.push(&bytes),
            None => self.ended = true,
        }
    }

    /// Answers a chunk on the engine's threads, with a time limit of its own.
    fn start(&mut self, raw: probe_io::RawChunk) {
        let (call, asked, place) = (Arc::clone(&self.call), self.asked.clone(), self.place.take());
        let whole = Arc::clone(&self.work);
        let job = async move {
            let state = Arc::clone(&call.state);
            let place = match place {
                Some(place) => place,
                None => state.pool.place().await?,
            };
            if whole.stop.is_ended() {
                return Err(Problem::unavailable("the service is shutting down"));
            }
            let work = Work::new(&state);
            let stop = Arc::clone(&work.stop);
            let deadline = Instant::now() + state.config.timeout;
            let run = state.pool.run(place, move || call.chunk(&asked, raw, &stop));
            within(deadline, &work, run).await
        };
        self.jobs.push_back(job.boxed());
    }
}
