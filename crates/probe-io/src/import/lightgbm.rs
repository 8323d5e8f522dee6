//! LightGBM models, as `save_model` writes them: text of `key=value` lines, versions v3 and v4.
//!
//! A split is `x <= threshold` on `f64`, and the sum of the leaves times `sigmoid` is the log-odds.
//! Each split says which values count as missing: none (NaN then counts as 0),
//! zeros, or NaN.

mod tree;

use super::{Format, Imported};
use crate::content;
use crate::error::{Error, Result, excerpt};
use probe_core::model::{Aggregate, Split, TreeRules, Trees};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const TEXT: Format = Format { name: "LightGBM", is, read };

const VERSIONS: [&str; 2] = ["v3", "v4"];
const END: &str = "end of trees";

fn is(bytes: &[u8]) -> bool {
    let mut lines = content::without_mark(bytes).splitn(3, |&byte| byte == b'\n');
    lines.next().is_some_and(|line| line.trim_ascii_end() == b"tree")
        && lines.next().is_some_and(|line| line.starts_with(b"version="))
}

/// A part of the file: its keys, each with its line's number and its value, empty for a key alone.
struct Section<'a> {
    file: &'a str,
    /// Its name in messages, followed by a colon and a space.
    name: String,
    fields: BTreeMap<&'a str, (usize, &'a str)>,
}

impl<'a> Section<'a> {
    fn new(file: &'a str, name: String) -> Self {
        Self { file, name, fields: BTreeMap::new() }
    }

    fn push(&mut self, number: usize, line: &'a str) -> Result<()> {
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        match self.fields.insert(key, (number, value)) {
            None => Ok(()),
            Some(_) => Err(self.error(key, "appears twice")),
        }
    }

    /// An error about a field, with its line where there is one.
    fn error(&self, key: &str, what: impl std::fmt::Display) -> Error {
        let line =
            self.fields.get(key).map_or_else(String::new, |(number, _)| format!("line {number}: "));
        let key = excerpt(key.as_bytes());
        Error::file(self.file, format!("{line}{}'{key}' {what}", self.name))
    }

    fn get(&self, key: &str) -> Option<&'a str> {
        self.fields.get(key).map(|(_, value)| *value)
    }

    fn need(&self, key: &str) -> Result<&'a str> {
        self.get(key).ok_or_else(|| self.error(key, "is missing"))
    }

    /// The values of a field.
    fn items<T: std::str::FromStr>(&self, key: &str, wanted: &str) -> Result<Vec<T>> {
        let read = |text: &str| {
            text.parse().map_err(|_| {
                self.error(
                    key,
                    format!("has '{}', which is not {wanted}", excerpt(text.as_bytes())),
                )
            })
        };
        self.need(key)?.split_ascii_whitespace().map(read).collect()
    }

    /// As many values as there are `each`.
    fn array<T: std::str::FromStr>(
        &self,
        key: &str,
        n: usize,
        each: &str,
        wanted: &str,
    ) -> Result<Vec<T>> {
        let items = self.items(key, wanted)?;
        match items.len() == n {
            true => Ok(items),
            false => Err(self
                .error(key, format!("has {} values, expected {n} (one per {each})", items.len()))),
        }
    }

    fn numbers(&self, key: &str, n: usize, each: &str) -> Result<Vec<f64>> {
        let numbers: Vec<f64> = self.array(key, n, each, "a number")?;
        match numbers.iter().find(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(number) => Err(self.error(key, format!("has {number}, which is not finite"))),
        }
    }

    fn whole(&self, key: &str) -> Result<usize> {
        Ok(self.array(key, 1, "file", "a whole number")?[0])
    }

    /// Fails if a field is present and not `expected`.
    fn only(&self, key: &str, expected: &str, why: &str) -> Result<()> {
        match self.get(key).map(str::trim) {
            Some(found) if found != expected => {
                Err(self.error(key, format!("is {}: {why}", excerpt(found.as_bytes()))))
            }
            _ => Ok(()),
        }
    }
}

fn read(bytes: &[u8], origin: &str) -> Result<Imported> {
    let text = std::str::from_utf8(content::without_mark(bytes))
        .map_err(|_| Error::file(origin, "a LightGBM model that is not UTF-8"))?;
    let (header, sections) = sections(text, origin)?;
    let version = header.need("version")?.trim();
    if !VERSIONS.contains(&version) {
        let known = VERSIONS.join(", ");
        return Err(header.error(
            "version",
            format!("is '{}', which is not read (read are: {known})", excerpt(version.as_bytes())),
        ));
    }
    header.only("num_class", "1", "models with one output are read")?;
    header.only("num_tree_per_iteration", "1", "models with one output are read")?;
    let (objective, sigmoid) = objective(&header)?;
    let features: Vec<String> = header.items("feature_names", "a text")?;
    let last = header.whole("max_feature_idx")?;
    if last.checked_add(1) != Some(features.len()) {
        let what = format!(
            "has {} names, expected max_feature_idx + 1 with max_feature_idx {last}",
            features.len()
        );
        return Err(header.error("feature_names", what));
    }
    if header.get("tree_sizes").is_some() {
        header.array::<u64>("tree_sizes", sections.len(), "tree", "a whole number")?;
    }
    // Forests are averaged, by the number of trees where each iteration has one.
    let averaged = header.get("average_output").is_some();
    let scale = |leaf: f64| {
        let scaled = sigmoid * leaf;
        if averaged { scaled / sections.len() as f64 } else { scaled }
    };
    let trees = sections.iter().map(|section| tree::read(section, features.len(), scale));
    let trees: Vec<_> = trees.collect::<Result<_>>()?;
    let about = format!(
        "{version}, objective {objective}, {} trees{}, {} features",
        trees.len(),
        if averaged { ", averaged" } else { "" },
        features.len()
    );
    let rules =
        TreeRules { split: Split::AtMost, aggregate: Aggregate::Sum, base: 0.0, single: false };
    let model = Trees::new(features.len(), trees, rules, 0.0)
        .map_err(|source| Error::Core { file: origin.to_owned(), source })?;
    Ok(Imported { features, model: Arc::new(model), schema: None, about })
}

/// The header before the trees, and the trees.
fn sections<'a>(text: &'a str, file: &'a str) -> Result<(Section<'a>, Vec<Section<'a>>)> {
    let mut header = Section::new(file, String::new());
    let mut trees: Vec<Section<'a>> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim_end();
        if line == END {
            return match trees.is_empty() {
                true => Err(Error::file(file, "a LightGBM model without trees")),
                false => Ok((header, trees)),
            };
        }
        if let Some(number) = line.strip_prefix("Tree=") {
            if number != trees.len().to_string() {
                let what = format!(
                    "line {}: expected Tree={}, found '{}'",
                    i + 1,
                    trees.len(),
                    excerpt(line.as_bytes())
                );
                return Err(Error::file(file, what));
            }
            trees.push(Section::new(file, format!("tree {number}: ")));
        } else if !line.is_empty() {
            trees.last_mut().unwrap_or(&mut header).push(i + 1, line)?;
        }
    }
    Err(Error::file(
        file,
        format!("a LightGBM model without the line '{END}': the file is cut short"),
    ))
}

/// The objective, and the factor from the sum of the leaves to the margin.
fn objective<'a>(header: &Section<'a>) -> Result<(&'a str, f64)> {
    const KEY: &str = "objective";
    let Some(text) = header.get(KEY) else {
        return Err(header.error(
            KEY,
            "is missing: what the scores of the model's own objective mean is not known",
        ));
    };
    let mut words = text.split_ascii_whitespace();
    let mut sigmoid = 1.0;
    match words.next() {
        Some("binary") => {
            for word in words {
                sigmoid = word
                    .strip_prefix("sigmoid:")
                    .and_then(|value| value.parse().ok())
                    .filter(|value: &f64| *value > 0.0 && value.is_finite())
                    .ok_or_else(|| {
                        header.error(
                            KEY,
                            format!(
                                "has '{}', expected a positive sigmoid",
                                excerpt(word.as_bytes())
                            ),
                        )
                    })?;
            }
            Ok((text, sigmoid))
        }
        Some("cross_entropy") if words.next().is_none() => Ok((text, sigmoid)),
        _ => Err(header.error(
            KEY,
            format!(
                "is '{}', which is not read (read are: binary, cross_entropy)",
                excerpt(text.as_bytes())
            ),
        )),
    }
}

#[cfg(test)]
mod tests;
