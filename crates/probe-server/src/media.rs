//! Which formats a request has and wants, by `Content-Type` and `Accept`.

use crate::problem::Problem;
use axum::http::{HeaderMap, StatusCode, header};
use probe_words::Layout;

/// A format of tables or letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Ndjson,
    Csv,
    Arrow,
    Text,
    Markdown,
    Html,
}

impl Media {
    /// Formats of people.
    pub(crate) const TABLES: [Self; 4] = [Self::Json, Self::Ndjson, Self::Csv, Self::Arrow];
    /// Formats of letters.
    pub(crate) const LETTERS: [Self; 5] =
        [Self::Json, Self::Ndjson, Self::Text, Self::Markdown, Self::Html];

    /// The type as it stands in headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Csv => "text/csv",
            Self::Arrow => "application/vnd.apache.arrow.stream",
            Self::Text => "text/plain",
            Self::Markdown => "text/markdown",
            Self::Html => "text/html",
        }
    }

    /// The value of `Content-Type`.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Text => "text/plain; charset=utf-8",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
            other => other.name(),
        }
    }

    /// The layout of letters that are texts.
    pub(crate) fn layout(self) -> Option<Layout> {
        match self {
            Self::Text => Some(Layout::Text),
            Self::Markdown => Some(Layout::Markdown),
            Self::Html => Some(Layout::Html),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "application/json" => Self::Json,
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Self::Ndjson,
            "text/csv" => Self::Csv,
            "application/vnd.apache.arrow.stream" => Self::Arrow,
            _ => return None,
        })
    }

    /// The format of a body. Without a header it is JSON.
    pub(crate) fn of_body(headers: &HeaderMap) -> Result<Self, Problem> {
        let Some(value) = headers.get(header::CONTENT_TYPE) else { return Ok(Self::Json) };
        let text = value.to_str().unwrap_or_default();
        let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        Self::parse(&kind).ok_or_else(|| {
            let known = Self::TABLES.map(Self::name).join(", ");
            let what = format!("Content-Type '{kind}' is not one of {known}");
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, what)
        })
    }

    /// The format of the answer: the one of `offered` that the client likes best; among equals,
    /// `own` first.
    pub(crate) fn of_answer(
        headers: &HeaderMap,
        offered: &[Self],
        own: Self,
    ) -> Result<Self, Problem> {
        let ranges: Vec<Range> = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(Range::parse)
            .collect();
        let own = offered.iter().copied().filter(|media| *media == own);
        let mut best: Option<(Self, f32)> = None;
        for media in own.chain(offered.iter().copied()) {
            let quality = match ranges.is_empty() {
                true => 1.0,
                false => Range::quality(&ranges, media),
            };
            if quality > best.map_or(0.0, |(_, quality)| quality) {
                best = Some((media, quality));
            }
        }
        best.map(|(media, _)| media).ok_or_else(|| {
            let known: Vec<&str> = offered.iter().map(|media| media.name()).collect();
            let what = format!("Accept admits none of {}", known.join(", "));
            Problem::new(StatusCode::NOT_ACCEPTABLE, what)
        })
    }
}

/// One entry of `Accept`.
struct Range {
    kind: String,
    quality: f32,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let kind = parts.next()?.trim().to_ascii_lowercase();
        let quality = parts.find_map(|part| part.trim().strip_prefix("q=")?.parse().ok());
        (!kind.is_empty()).then(|| Self { kind, quality: quality.unwrap_or(1.0) })
    }

    /// How much `media` is liked: the most specific entry decides.
    fn quality(ranges: &[Self], media: Media) -> f32 {
        let major = media.name().split('/').next().unwrap_or_default();
        let rank = |range: &&Self| {
            if range.kind == media.name() || Media::parse(&range.kind) == Some(media) {
                Some(2)
            } else if range.kind.strip_suffix("/*") == Some(major) {
                Some(1)
            } else {
                (range.kind == "*/*").then_some(0)
            }
        };
        let found = ranges.iter().filter_map(|range| Some((rank(&range)?, range.quality)));
        found.max_by_key(|(rank, _)| *rank).map_or(0.0, |(_, quality)| quality)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(accept: &str, own: Media) -> Option<Media> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, accept.parse().unwrap());
        Media::of_answer(&headers, &Media::TABLES, own).ok()
    }

    #[test]
    fn accept_decides_and_a_tie_goes_to_the_body_s_format() {
        assert_eq!(answer("*/*", Media::Csv), Some(Media::Csv));
        assert_eq!(answer("application/json", Media::Csv), Some(Media::Json));
        assert_eq!(answer("text/csv;q=0.5, application/json", Media::Csv), Some(Media::Json));
        assert_eq!(answer("application/json;q=0, */*;q=0.1", Media::Json), Some(Media::Ndjson));
        assert_eq!(answer("text/*", Media::Json), Some(Media::Csv));
        assert_eq!(answer("application/jsonl", Media::Json), Some(Media::Ndjson));
        assert_eq!(answer("image/png", Media::Json), None);
        assert_eq!(answer("text/html", Media::Json), None);
    }

    #[test]
    fn a_body_s_type_is_known_or_refused() {
        let mut headers = HeaderMap::new();
        assert_eq!(Media::of_body(&headers), Ok(Media::Json));
        headers.insert(header::CONTENT_TYPE, "Text/CSV; charset=utf-8".parse().unwrap());
        assert_eq!(Media::of_body(&headers), Ok(Media::Csv));
        headers.insert(header::CONTENT_TYPE, "application/xml".parse().unwrap());
        assert_eq!(Media::of_body(&headers).unwrap_err().status.as_u16(), 415);
    }
}
