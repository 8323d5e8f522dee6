//! JSON objects into cells. A cell is its value's text in the file: quotes of texts
//! included.

use super::plan::ColumnPlan;
use super::records::RawText;
use super::text::{TextCells, place_of};
use crate::error::{Error, Result};
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The keys of a record, in order.
pub(crate) fn header(raw: &RawText, file: &str, lines: bool) -> Result<Vec<String>> {
    let (start, end) = raw.records[0];
    let entries = parse(&raw.data[start as usize..end as usize]).map_err(|what| Error::Record {
        file: file.to_owned(),
        place: place_of(raw, 0, lines),
        what,
    })?;
    Ok(entries.into_iter().map(|(key, _)| key.into_owned()).collect())
}

/// Cells of a run of records, in the order of the plan's header. A faulty record ends the rows and
/// is returned beside them. `lines`: whether rows have line numbers.
pub(crate) fn decode(raw: RawText, plan: &ColumnPlan, lines: bool) -> (TextCells, Option<Error>) {
    let n_columns = plan.header().len();
    let (mut spans, mut extra) = (Vec::with_capacity(raw.records.len() * n_columns), Vec::new());
    let mut failed = None;
    for (row, &(start, end)) in raw.records.iter().enumerate() {
        let before = (spans.len(), extra.len());
        let record = &raw.data[start as usize..end as usize];
        if let Err(what) = decode_record(record, plan, raw.data.len(), &mut spans, &mut extra) {
            spans.truncate(before.0);
            extra.truncate(before.1);
            let place = place_of(&raw, row, lines);
            failed = Some(Error::Record { file: plan.file().to_owned(), place, what });
            break;
        }
    }
    (TextCells::new(raw, &extra, spans, n_columns, lines), failed)
}

fn decode_record(
    record: &[u8],
    plan: &ColumnPlan,
    base: usize,
    spans: &mut Vec<(u32, u32)>,
    extra: &mut Vec<u8>,
) -> Result<(), String> {
    const ABSENT: (u32, u32) = (u32::MAX, u32::MAX);
    let header = plan.header();
    let first = spans.len();
    spans.resize(first + header.len(), ABSENT);
    for (i, (key, value)) in parse(record)?.into_iter().enumerate() {
        // Keys nearly always come in the first row's order.
        let same_place = header.get(i).is_some_and(|name| *name == key);
        let column = if same_place { Some(i) } else { header.iter().position(|name| *name == key) };
        let Some(column) = column else {
            if plan.ignores_extra() {
                continue;
            }
            return Err(format!("unexpected column '{key}': the first row does not have it"));
        };
        let span = &mut spans[first + column];
        if *span != ABSENT {
            return Err(format!("column '{key}' appears twice"));
        }
        let start = base + extra.len();
        extra.extend_from_slice(value.get().as_bytes());
        *span = (start as u32, (base + extra.len()) as u32);
    }
    let absent = |&&column: &&usize| spans[first + column] == ABSENT;
    if let Some(&column) = plan.feature_columns().iter().chain(plan.id_columns()).find(absent) {
        return Err(format!("no value for column '{}'", header[column]));
    }
    for span in &mut spans[first..] {
        if *span == ABSENT {
            *span = (0, 0);
        }
    }
    Ok(())
}

type Entry<'a> = (Cow<'a, str>, &'a RawValue);

fn parse(record: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    serde_json::from_slice::<Entries<'_>>(record)
        .map(|entries| entries.0)
        .map_err(|error| error.to_string())
}

/// An object's entries in order.
struct Entries<'a>(Vec<Entry<'a>>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one value per column")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<'de>, A::Error> {
        let mut entries = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            let value =
                map.next_value().map_err(|error| A::Error::custom(format!("'{key}': {error}")))?;
            entries.push((key, value));
        }
        Ok(Entries(entries))
    }
}

/// A key that is copied only where it has escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a column name")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
