//! What is asked beside the people: fields of a JSON body, or the query string.

use crate::problem::Problem;
use crate::state::State;
use axum::body::Bytes;
use probe_service::Request;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::fmt;

/// Most draws per point that a request may ask for.
const MOST_SAMPLES: u64 = 1_000_000;
/// Most rates of a frontier.
const MOST_RATES: usize = 100;

/// A request's settings.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Columns that are carried through.
    pub(crate) ids: Vec<String>,
    /// Whether unknown columns are ignored.
    pub(crate) ignore_extra: bool,
    /// Language of letters.
    pub(crate) language: String,
    /// The flags.
    pub(crate) request: Request,
}

/// A JSON body, taken apart.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The array of people.
    pub(crate) people: Bytes,
    /// The people to whom points were advised, for rates.
    pub(crate) from: Option<Bytes>,
    /// The other fields.
    pub(crate) given: Map<String, Value>,
}

impl Parts {
    /// Takes a body apart.
    pub(crate) fn of(body: &Bytes) -> Result<Self, Problem> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Problem::bad("the body is not JSON: it is not UTF-8"))?;
        let entries: Entries<'_> = serde_json::from_str(text)
            .map_err(|error| Problem::bad(format!("the body is not as expected: {error}")))?;
        let (mut people, mut from, mut given) = (None, None, Map::new());
        for (key, value) in entries.0 {
            let bytes = || body.slice_ref(value.get().as_bytes());
            let array = || match value.get().starts_with('[') {
                true => Ok(bytes()),
                false => Err(Problem::field(&*key, format!("{key}: expected an array of objects"))),
            };
            let again = match &*key {
                "people" => people.replace(array()?).is_some(),
                "from" if value.get() == "null" => false,
                "from" => from.replace(array()?).is_some(),
                _ => {
                    let parsed = serde_json::from_str(value.get())
                        .map_err(|error| Problem::field(&*key, format!("{key}: {error}")))?;
                    given.insert(key.clone(), parsed).is_some()
                }
            };
            if again {
                return Err(Problem::field(&*key, format!("{key}: given twice")));
            }
        }
        let people = people.ok_or_else(|| {
            Problem::field("people", "people: needed, an array of objects, one per person")
        })?;
        Ok(Self { people, from, given })
    }
}

/// Fields of a query string, as those of a JSON body.
pub(crate) fn of_query(query: &str) -> Result<Map<String, Value>, Problem> {
    let default = serde_json::to_value(Request::default()).unwrap_or_default();
    let mut given = Map::new();
    for (key, text) in form_urlencoded::parse(query.as_bytes()) {
        let text = text.into_owned();
        let wrong = |what: &str| Problem::field(&*key, format!("{key}: {what}"));
        let again = || wrong("given twice");
        if key == "id" {
            let ids = given.entry("id").or_insert_with(|| json!([]));
            if let Value::Array(ids) = ids {
                ids.push(json!(text));
            }
            continue;
        }
        if key == "option" {
            let (name, value) = text.split_once('=').ok_or_else(|| wrong("write NAME=VALUE"))?;
            let options = given.entry("option").or_insert_with(|| json!({}));
            let Value::Object(options) = options else { continue };
            if options.insert(name.to_owned(), json!(value)).is_some() {
                return Err(again());
            }
            continue;
        }
        let value = match (&*key, &default[&*key]) {
            ("language", _) | (_, Value::String(_)) => json!(text),
            ("rates", _) => serde_json::from_str(&format!("[{text}]"))
                .map_err(|_| wrong("expected numbers with commas"))?,
            (_, Value::Array(_)) => json!(text),
            _ if text.is_empty() => json!(true),
            _ => match serde_json::from_str(&text) {
                Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
                _ => json!(text),
            },
        };
        if given.insert(key.clone().into_owned(), value).is_some() {
            return Err(again());
        }
    }
    Ok(given)
}

impl Settings {
    /// Settings from what is given, and the service's defaults. `rows` is the number of people,
    /// where it is known.
    pub(crate) fn new(
        mut given: Map<String, Value>,
        state: &State,
        rows: Option<u64>,
    ) -> Result<Self, Problem> {
        let ids = match given.remove("id") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(id)) => vec![id],
            Some(list) => serde_json::from_value(list)
                .map_err(|_| Problem::field("id", "id: expected a list of column names"))?,
        };
        let ignore_extra = match given.remove("ignore_extra") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => value,
            Some(_) => return Err(Problem::field("ignore_extra", "ignore_extra: true or false")),
        };
        let language = match given.remove("language") {
            None | Some(Value::Null) => "en".to_owned(),
            Some(Value::String(name)) => name,
            Some(_) => return Err(Problem::field("language", "language: expected a name")),
        };
        let mut fields = state.config.defaults.clone();
        // What is given replaces a default that it excludes.
        for group in [&["sigma", "sigma2", "noise"][..], &["threshold", "threshold_prob"]] {
            if group.iter().any(|name| given.contains_key(*name)) {
                group.iter().for_each(|name| drop(fields.remove(*name)));
            }
        }
        fields.extend(given);
        let mut request = Request::from_json(&Value::Object(fields).to_string())?;
        if request.confidence_scope == probe_service::Scope::File && request.rows.is_none() {
            request.rows = rows.map(|rows| rows.max(1));
        }
        request.check()?;
        limit(&request, state)?;
        Ok(Self { ids, ignore_extra, language, request })
    }
}

/// Fails on work without bound, which a command may do and a service may not.
fn limit(request: &Request, state: &State) -> Result<(), Problem> {
    let refuse = |field: &str, what: String| Err(Problem::field(field, format!("{field}: {what}")));
    if request.samples > MOST_SAMPLES {
        return refuse("samples", format!("at most {MOST_SAMPLES} here"));
    }
    if request.rates.len() > MOST_RATES {
        return refuse("rates", format!("at most {MOST_RATES} here"));
    }
    if request.method != "probe" && !state.config.any_method {
        let what = format!("'{}' is not served here; `probe serve --any-method`", request.method);
        let problem = Problem::field("method", format!("method: {what} would"));
        let status = axum::http::StatusCode::UNPROCESSABLE_ENTITY;
        return Err(Problem { status, ..problem });
    }
    Ok(())
}

/// An object's entries in order.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;
        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the field people")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
                let mut entries = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    let value = map
                        .next_value()
                        .map_err(|error| A::Error::custom(format!("{key}: {error}")))?;
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(EntriesVisitor)
    }
}
