//! Errors as `application/problem+json` (RFC 9457).

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use probe_io::Error as IoError;
use probe_service::{ErrorKind, RequestError, RowError, Spelling, one_line};
use serde_json::{Map, Value, json};

/// What is wrong with a request, or why it is not answered now.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The HTTP status.
    pub status: StatusCode,
    /// What is wrong, in one sentence.
    pub detail: String,
    /// The field of the request that it is about.
    pub field: Option<String>,
    /// The 0-based row of the people that it is about.
    pub row: Option<u64>,
    /// Seconds after which the same request may succeed.
    pub retry_after: Option<u64>,
}

impl Problem {
    /// A problem with this status.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), field: None, row: None, retry_after: None }
    }

    /// A wrong value, 400.
    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// A wrong value of a field, 400.
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: Some(field.into()), ..Self::bad(detail) }
    }

    /// Not answered now, 503.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self { retry_after: Some(1), ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// A fault of the service, 500. The detail says nothing about its inside.
    pub fn fault() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the service failed; its log has the reason under this request's id",
        )
    }

    /// The document.
    pub fn json(&self) -> Value {
        let mut document = Map::new();
        let title = self.status.canonical_reason().unwrap_or("Error");
        document.insert("title".to_owned(), json!(title));
        document.insert("status".to_owned(), json!(self.status.as_u16()));
        document.insert("detail".to_owned(), json!(self.detail));
        if let Some(field) = &self.field {
            document.insert("field".to_owned(), json!(field));
        }
        if let Some(row) = self.row {
            document.insert("row".to_owned(), json!(row));
        }
        Value::Object(document)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.json().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        let status = match error.kind {
            ErrorKind::Invalid => StatusCode::BAD_REQUEST,
            ErrorKind::Mismatch => StatusCode::UNPROCESSABLE_ENTITY,
        };
        let detail = error.spelled(Spelling::Keyword);
        Self { field: Some(error.field.into_owned()), ..Self::new(status, detail) }
    }
}

impl From<IoError> for Problem {
    fn from(error: IoError) -> Self {
        let detail = one_line(&anyhow::anyhow!("{error}"), Spelling::Keyword);
        let (field, row) = match &error {
            IoError::Cancelled => return Self::unavailable("the work was stopped"),
            IoError::Output { .. } => return Self::fault(),
            IoError::MissingColumn { column, .. }
            | IoError::UnexpectedColumn { column, .. }
            | IoError::DuplicateColumn { column, .. } => (Some(column.clone()), None),
            IoError::Value { column, place, .. }
            | IoError::UnknownCategory { column, place, .. }
            | IoError::MissingValue { column, place, .. } => {
                (Some(column.clone()), Some(place.row))
            }
            IoError::Ragged { place, .. } | IoError::Record { place, .. } => {
                (Some("people".to_owned()), Some(place.row))
            }
            _ => (Some("people".to_owned()), None),
        };
        Self { field, row, ..Self::bad(detail) }
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        let detail = one_line(&error, Spelling::Keyword);
        let error = match error.downcast::<RequestError>() {
            Ok(error) => return Self { detail, ..error.into() },
            Err(error) => error,
        };
        let error = match error.downcast::<IoError>() {
            Ok(error) => return error.into(),
            Err(error) => error,
        };
        let (source, row) = match error.downcast_ref::<RowError>() {
            Some(error) => (Some(&error.source), Some(error.place.row)),
            None => (error.downcast_ref::<probe_core::Error>(), None),
        };
        let (status, field) = match source {
            Some(probe_core::Error::Cancelled) => return Self::unavailable("the work was stopped"),
            Some(probe_core::Error::Unsupported { .. }) => (StatusCode::UNPROCESSABLE_ENTITY, None),
            Some(probe_core::Error::Param(error)) => {
                (StatusCode::BAD_REQUEST, Some(error.field.clone()))
            }
            Some(
                probe_core::Error::NotFinite { feature, .. }
                | probe_core::Error::Missing { feature, .. },
            ) => (StatusCode::BAD_REQUEST, Some(feature.clone())),
            _ => (StatusCode::BAD_REQUEST, None),
        };
        Self { field, row, ..Self::new(status, detail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_io::Place;

    #[test]
    fn a_cell_s_problem_names_column_and_row() {
        let error = IoError::Value {
            file: "people".to_owned(),
            place: Place { row: 3, line: None },
            column: "income".to_owned(),
            value: "x".to_owned(),
            wanted: "a finite number",
        };
        let problem = Problem::from(anyhow::Error::from(error));
        assert_eq!(
            problem.json(),
            json!({
                "title": "Bad Request",
                "status": 400,
                "detail": "people: row 3, column 'income': 'x' is not a finite number",
                "field": "income",
                "row": 3,
            })
        );
    }

    #[test]
    fn what_the_model_does_not_serve_is_422() {
        let error = RequestError::mismatch("estimator", "there is no exact rate");
        assert_eq!(Problem::from(error).status, StatusCode::UNPROCESSABLE_ENTITY);
        let error = RequestError::new("max_rate", "must be between 0 and 1");
        let problem = Problem::from(anyhow::Error::from(error));
        assert_eq!((problem.status.as_u16(), problem.field.as_deref()), (400, Some("max_rate")));
    }
}
