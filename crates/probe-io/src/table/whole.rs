//! A whole table in memory, for training.

use super::chunk::Id;
use super::format::Format;
use super::plan::Columns;
use super::reader::TableReader;
use crate::error::{Error, Result};
use probe_core::Encoding;
use std::path::Path;
use std::sync::Arc;

/// Numeric columns and one target column.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the features.
    pub features: Vec<String>,
    /// The numbers, row after row.
    pub values: Vec<f64>,
    /// The target of each row, as text.
    pub target: Vec<String>,
}

impl Table {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.target.len()
    }
}

/// Reads `features` (all columns but the target where `None`) and the `target` column of a whole
/// table. With an encoding they are its features, categories as their numbers.
pub fn read_table(
    path: impl AsRef<Path>,
    format: Option<Format>,
    features: Option<&[String]>,
    target: &str,
    ignore_extra: bool,
    encoding: Option<Arc<Encoding>>,
) -> Result<Table> {
    let reader = TableReader::open(path, format)?;
    let others = || reader.header().iter().filter(|name| *name != target).cloned().collect();
    let features: Vec<String> = features.map_or_else(others, <[String]>::to_vec);
    let refused = Some("training takes no missing values; fill them in or leave the rows out");
    let missing = vec![refused; features.len()];
    let ids = vec![target.to_owned()];
    let wanted = Columns { features: features.clone(), ids, ignore_extra, missing, encoding };
    let (mut values, mut labels, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for chunk in reader.select(&wanted)? {
        let chunk = chunk?;
        chunk.features_into(&mut numbers)?;
        values.extend_from_slice(&numbers);
        for row in 0..chunk.n_rows() {
            let label = match chunk.id(row, 0)? {
                Id::Null => String::new(),
                Id::Text(text) => text.trim_matches([' ', '\t']).to_owned(),
                other => other.to_json().to_string(),
            };
            if label.is_empty() {
                return Err(Error::Value {
                    file: chunk.plan().file().to_owned(),
                    place: chunk.place(row),
                    column: target.to_owned(),
                    value: label,
                    wanted: "a target value",
                });
            }
            labels.push(label);
        }
    }
    Ok(Table { features, values, target: labels })
}
