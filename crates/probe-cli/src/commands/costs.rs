//! Personal costs, from a file.

use crate::args::Recourse;
use anyhow::{Result, bail};
use probe_core::Setup;
use probe_io::{Columns, TableReader};
use probe_service::columns_of;
use std::path::Path;

/// Factors of the usual costs of each person, column by column.
pub(crate) struct Costs {
    file: String,
    factors: Vec<f64>,
    n_columns: usize,
}

impl Costs {
    /// Reads `path`. Fails on a factor that is not positive, on a feature that the model does not
    /// have, and if no column contains costs.
    pub(crate) fn read(path: &Path, args: &Recourse, setup: &Setup) -> Result<Self> {
        let file = path.display().to_string();
        let same = path
            .canonicalize()
            .is_ok_and(|path| args.ask.people.canonicalize().is_ok_and(|p| p == path));
        let reader = TableReader::open(path, None)?;
        let mut features: Vec<(String, Vec<usize>)> = Vec::new();
        for name in reader.header() {
            let known = setup.encoding.features().iter().any(|f| f.name == *name);
            if let Some(feature) = name.strip_prefix("cost:") {
                features.push((name.clone(), columns_of(setup, feature, "costs")?));
            } else if !same && known {
                features.push((name.clone(), columns_of(setup, name, "costs")?));
            } else if !same && !args.table.id.contains(name) && !args.table.ignore_extra {
                bail!(
                    "{file}: column '{name}' is not a feature of the model (--ignore-extra ignores \
                     it)"
                );
            }
        }
        for (i, (name, columns)) in features.iter().enumerate() {
            if let Some((other, _)) = features[..i].iter().find(|(_, earlier)| earlier == columns) {
                bail!("{file}: '{other}' and '{name}' are columns of the same feature");
            }
        }
        if features.is_empty() {
            bail!("{file}: no column with costs; name them cost:FEATURE");
        }
        let names: Vec<String> = features.iter().map(|(name, _)| name.clone()).collect();
        let wanted = Columns {
            missing: vec![None; names.len()],
            ignore_extra: true,
            ..Columns::features(&names)
        };
        let n_columns = setup.names.len();
        let (mut factors, mut numbers) = (Vec::new(), Vec::new());
        for chunk in reader.select(&wanted)? {
            let chunk = chunk?;
            chunk.numbers_into(&mut numbers)?;
            for (row, given) in numbers.chunks_exact(names.len()).enumerate() {
                let start = factors.len();
                factors.resize(start + n_columns, 1.0);
                for ((name, columns), &value) in features.iter().zip(given) {
                    let factor = if value.is_nan() { 1.0 } else { value };
                    if !(factor > 0.0 && factor.is_finite()) {
                        bail!(
                            "{file}: {}, column '{name}': a cost must be positive, got {value}",
                            chunk.place(row)
                        );
                    }
                    columns.iter().for_each(|&j| factors[start + j] = factor);
                }
            }
        }
        Ok(Self { file, factors, n_columns })
    }

    /// Number of people with costs.
    pub(crate) fn n_rows(&self) -> u64 {
        (self.factors.len() / self.n_columns) as u64
    }

    /// The factors of the person in `row`. Fails if the file has fewer rows.
    pub(crate) fn of(&self, row: u64) -> Result<&[f64]> {
        let factors = self.factors.chunks_exact(self.n_columns).nth(row as usize);
        let Some(factors) = factors else {
            bail!("{}: no costs for row {row}: it has {} rows", self.file, self.n_rows());
        };
        Ok(factors)
    }
}
