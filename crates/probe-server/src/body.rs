//! Bodies of requests: decompressed, limited in size and time.

use crate::problem::Problem;
use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::body::{Body, BodyDataStream, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use bytes::BytesMut;
use futures_util::TryStreamExt as _;
use futures_util::stream::StreamExt as _;
use std::pin::Pin;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::{Instant, timeout_at};
use tokio_util::io::StreamReader;

/// Largest window of zstd that is accepted, as RFC 9659 recommends: 8 MiB.
const WINDOW: u32 = 23;
/// Bytes that are decompressed at a time.
const PIECE: usize = 1 << 16;

/// A body being read.
pub(crate) enum Source {
    Plain(BodyDataStream),
    Coded(Pin<Box<dyn AsyncRead + Send>>),
}

impl Source {
    /// The body with its coding undone.
    pub(crate) fn new(headers: &HeaderMap, body: Body) -> Result<Self, Problem> {
        let coding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
        let stream = body.into_data_stream();
        let reader =
            |stream: BodyDataStream| StreamReader::new(stream.map_err(std::io::Error::other));
        match coding.map(<[u8]>::to_ascii_lowercase).as_deref() {
            None | Some(b"" | b"identity") => Ok(Self::Plain(stream)),
            Some(b"gzip" | b"x-gzip") => {
                let mut decoder = GzipDecoder::new(reader(stream));
                decoder.multiple_members(true);
                Ok(Self::Coded(Box::pin(decoder)))
            }
            Some(b"zstd") => {
                let window = [DParameter::window_log_max(WINDOW)];
                let mut decoder = ZstdDecoder::with_params(reader(stream), &window);
                decoder.multiple_members(true);
                Ok(Self::Coded(Box::pin(decoder)))
            }
            Some(other) => Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                format!(
                    "Content-Encoding '{}' is not one of gzip, zstd",
                    String::from_utf8_lossy(other)
                ),
            )),
        }
    }

    /// The next bytes; `None` at the end. Fails if none arrive until `deadline`. Nothing is lost if
    /// the future is dropped.
    pub(crate) async fn next(&mut self, deadline: Instant) -> Result<Option<Bytes>, Problem> {
        let next = async {
            match self {
                Self::Plain(stream) => stream
                    .next()
                    .await
                    .transpose()
                    .map_err(|error| Problem::bad(format!("the body cannot be read: {error}"))),
                Self::Coded(reader) => {
                    let mut piece = BytesMut::with_capacity(PIECE);
                    let read = reader.read_buf(&mut piece).await;
                    let n = read.map_err(|error| {
                        Problem::bad(format!("the body cannot be decompressed: {error}"))
                    })?;
                    Ok((n > 0).then(|| piece.freeze()))
                }
            }
        };
        timeout_at(deadline, next).await.unwrap_or_else(|_| {
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time"))
        })
    }

    /// The whole body, of at most `most` decompressed bytes.
    pub(crate) async fn read_all(
        mut self,
        headers: &HeaderMap,
        most: usize,
        within: Duration,
    ) -> Result<Bytes, Problem> {
        let too_large = || {
            let what = format!("the body is larger than {most} bytes; send people as NDJSON");
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, what)
        };
        let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let length = length.and_then(|text| text.parse::<u64>().ok());
        if matches!(self, Self::Plain(_)) && length.is_some_and(|n| n > most as u64) {
            return Err(too_large());
        }
        let deadline = Instant::now() + within;
        let mut first = Bytes::new();
        let mut all = BytesMut::new();
        while let Some(piece) = self.next(deadline).await? {
            if all.len() + first.len() + piece.len() > most {
                return Err(too_large());
            }
            // Most bodies arrive in one piece, which is not copied.
            if first.is_empty() && all.is_empty() {
                first = piece;
                continue;
            }
            if !first.is_empty() {
                all.extend_from_slice(&std::mem::take(&mut first));
            }
            all.extend_from_slice(&piece);
        }
        Ok(if all.is_empty() { first } else { all.freeze() })
    }
}
