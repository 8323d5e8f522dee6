//! Fields of a request that are more than a number or a text.

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeMap;
use std::str::FromStr;

/// What the confidence of sampled certificates covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Each row by itself.
    #[default]
    Row,
    /// All rows together.
    File,
}

/// Bounds on every feature in scaled space. In JSON `"none"`, `[LO, HI]` or `"LO,HI"`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bounds {
    /// Without the bounds learned in training.
    None,
    /// A box.
    Box(f64, f64),
}

impl Bounds {
    fn of(low: f64, high: f64) -> Result<Self, String> {
        // Also false where one is NaN.
        if low <= high { Ok(Self::Box(low, high)) } else { Err("LO must be at most HI".to_owned()) }
    }
}

impl FromStr for Bounds {
    type Err = String;

    /// Reads `LO,HI` or `none`.
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self::None);
        }
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| "not a number".to_owned());
        let (low, high) = text.split_once(',').ok_or("write LO,HI or none")?;
        Self::of(number(low)?, number(high)?)
    }
}

impl Serialize for Bounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::None => serializer.serialize_str("none"),
            Self::Box(low, high) if low.is_finite() && high.is_finite() => {
                [low, high].serialize(serializer)
            }
            // JSON has no infinity.
            Self::Box(low, high) => serializer.collect_str(&format_args!("{low},{high}")),
        }
    }
}

impl<'de> Deserialize<'de> for Bounds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "expected \"none\" or [LO, HI]")]
        enum Given {
            Text(String),
            Pair([f64; 2]),
        }
        let bounds = match Given::deserialize(deserializer)? {
            Given::Text(text) => text.parse(),
            Given::Pair([low, high]) => Self::of(low, high),
        };
        bounds.map_err(D::Error::custom)
    }
}

/// Names: a list, or one text with commas.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a list of names")]
    enum Given {
        Text(String),
        List(Vec<String>),
    }
    Ok(match Given::deserialize(deserializer)? {
        Given::Text(text) => text.split(',').map(str::to_owned).collect(),
        Given::List(list) => list,
    })
}

/// Settings by name: texts, numbers or booleans.
pub(super) fn settings<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text, a number or a boolean")]
    enum Given {
        Text(String),
        Number(serde_json::Number),
        Boolean(bool),
    }
    let text = |given| match given {
        Given::Text(text) => text,
        Given::Number(number) => number.to_string(),
        Given::Boolean(value) => value.to_string(),
    };
    let given = BTreeMap::<String, Given>::deserialize(deserializer)?;
    Ok(given.into_iter().map(|(name, value)| (name, text(value))).collect())
}

/// What is wrong, without the place in the text: the field is named already.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read_or_rejected() {
        assert_eq!("-1,2".parse(), Ok(Bounds::Box(-1.0, 2.0)));
        assert_eq!("none".parse(), Ok(Bounds::None));
        for text in ["2,1", "1", "nan,1", "a,b", ""] {
            assert!(text.parse::<Bounds>().is_err(), "{text}");
        }
    }
}
