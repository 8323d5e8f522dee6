//! JSON text to a value, refusing repeated keys and naming the path of whatever cannot be read.

use crate::error::{Error, Result};
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Parses a whole document.
pub(crate) fn parse(bytes: &[u8], file: &str) -> Result<Value> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let value = Strict.deserialize(tracked);
    value.and_then(|value| json.end().map(|()| value)).map_err(|error| Error::Document {
        file: file.to_owned(),
        path: document_path(&track.path()),
        what: error.to_string(),
    })
}

/// A tracked path as a JSON path: `$.layers[0].weight`.
pub(crate) fn document_path(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut text = String::from("$");
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("[{index}]")),
            Segment::Map { key } => text.push_str(&format!(".{key}")),
            Segment::Enum { variant } => text.push_str(&format!(".{variant}")),
            Segment::Unknown => {}
        }
    }
    text
}

/// Builds a [`Value`] as `Value`'s own visitor does, but fails on a repeated key.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("{value} is not finite")))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Strict)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key '{key}' appears twice")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        parse(text.as_bytes(), "m.json").unwrap_err().to_string()
    }

    #[test]
    fn values_are_those_of_the_plain_parser() {
        let text = r#"{"a": [1, -2, 0.1, 1e300, true, null, "x\ny"], "b": {"c": {}}}"#;
        assert_eq!(
            parse(text.as_bytes(), "m").unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }

    #[test]
    fn what_json_cannot_hold_is_refused_with_its_path() {
        assert!(
            message(r#"{"layers": [{"bias": [0, 1e999]}]}"#)
                .starts_with("m.json: $.layers[0].bias[1]: ")
        );
        assert!(message(r#"{"a": NaN}"#).starts_with("m.json: $.a: "));
        assert!(message(r#"{"a": 1} x"#).contains("trailing"));
        assert!(message(r#"{"b": {"a": 1, "a": 2}}"#).contains("'a' appears twice"));
    }
}
