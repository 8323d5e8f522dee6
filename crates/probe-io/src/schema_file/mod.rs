//! Schema files: TOML or JSON, detected from the content.

mod infer;

pub use infer::{Inferred, infer_schema, obvious_favourable};

use crate::content::{self, Content};
use crate::error::{Error, Result};
use crate::json::{self, Node, document_path};
use crate::output::AtomicOutput;
use probe_core::Schema;
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

/// Reads a schema file.
pub fn load_schema(path: impl AsRef<Path>) -> Result<Schema> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| Error::io(&file, "read", source))?;
    parse_schema(&bytes, &file)
}

/// Reads a schema from memory; `origin` names it in errors.
pub fn parse_schema(bytes: &[u8], origin: &str) -> Result<Schema> {
    let body = content::without_mark(bytes);
    let value = match content::recognise(bytes) {
        // A TOML document may start with a table header, which is `[` too.
        Content::Json if body.trim_ascii_start().starts_with(b"{") => json::parse(body, origin)?,
        Content::Json | Content::Text(_) => parse_toml(body, origin)?,
        other => {
            return Err(Error::file(
                origin,
                format!("not a schema: expected TOML or JSON, found {other}"),
            ));
        }
    };
    from_value(&Node::root(&value, origin))
}

/// The schema as TOML text.
pub fn schema_to_toml(schema: &Schema) -> Result<String> {
    toml::to_string(schema).map_err(|error| Error::file("schema", error.to_string()))
}

/// Writes a schema as TOML, whole or not at all.
pub fn save_schema(schema: &Schema, path: impl AsRef<Path>) -> Result<()> {
    let text = schema_to_toml(schema)?;
    let mut output = AtomicOutput::create(path)?;
    output.write_all(text.as_bytes()).map_err(|source| output.error(source))?;
    output.commit()
}

/// The schema in a JSON value.
pub(crate) fn from_value(node: &Node<'_>) -> Result<Schema> {
    refuse_unknown(node)?;
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(node.value(), &mut track);
    let schema: Schema =
        serde::Deserialize::deserialize(tracked).map_err(|error: serde_json::Error| {
            let inner = document_path(&track.path());
            Error::Document {
                file: node.file().to_owned(),
                path: format!("{}{}", node.path(), &inner[1..]),
                what: error.to_string(),
            }
        })?;
    schema.check().map_err(|source| Error::Core { file: node.file().to_owned(), source })?;
    Ok(schema)
}

/// Checks for likely mistakes, with better messages than the deserialiser's.
fn refuse_unknown(node: &Node<'_>) -> Result<()> {
    let Some(features) = node.get("feature")? else { return Ok(()) };
    for (i, feature) in features.items()?.iter().enumerate() {
        let name = match feature.get("name")? {
            Some(name) => name.text()?.to_owned(),
            None => return Err(feature.error(format!("feature {i} has no name"))),
        };
        if let Some(kind) = feature.get("kind")? {
            match kind.text()? {
                "numeric" | "integer" | "categorical" => {}
                other => {
                    let what = format!(
                        "feature '{name}': unknown kind '{other}' (known: numeric, \
                         integer, categorical)"
                    );
                    return Err(Error::file(node.file(), what));
                }
            }
        }
    }
    Ok(())
}

fn parse_toml(bytes: &[u8], origin: &str) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|_| Error::file(origin, "not UTF-8 text"))?;
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line = error
            .span()
            .map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        Error::file(origin, format!("line {line}: {}", error.message().replace('\n', ", ")))
    })?;
    to_json(toml::Value::Table(table), "$", origin)
}

/// Rejects infinities, NaN and dates, which TOML allows but no schema field accepts.
fn to_json(value: toml::Value, path: &str, origin: &str) -> Result<Value> {
    let refuse =
        |what: String| Error::Document { file: origin.to_owned(), path: path.to_owned(), what };
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(number) => {
            return Err(refuse(format!("{number} is not a finite number")));
        }
        toml::Value::Datetime(date) => {
            return Err(refuse(format!("the date {date} has no meaning here")));
        }
        toml::Value::Array(items) => {
            let item = |(i, item)| to_json(item, &format!("{path}[{i}]"), origin);
            Value::Array(items.into_iter().enumerate().map(item).collect::<Result<_>>()?)
        }
        toml::Value::Table(table) => {
            let entry = |(key, value)| {
                let place = format!("{path}.{key}");
                Ok((key, to_json(value, &place, origin)?))
            };
            Value::Object(table.into_iter().map(entry).collect::<Result<_>>()?)
        }
    })
}
