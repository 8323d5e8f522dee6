//! Tables of prescribed and implemented values, from which noise is learned.
//!
//! A feature `income` has the columns `income` (prescribed) and `income__implemented`. The residual
//! is the implemented value minus the prescribed one, divided by the feature's scale.

use crate::error::{Error, Result};
use crate::table::{Columns, TableReader};
use probe_core::Schema;

/// Suffix of the name of a column with implemented values.
pub const IMPLEMENTED: &str = "__implemented";

/// Residuals read from pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs {
    /// Feature names.
    pub features: Vec<String>,
    /// Residuals in scaled units, row after row.
    pub residuals: Vec<f64>,
    /// Features that may change but have no columns. They get no noise.
    pub unpaired: Vec<String>,
}

/// Reads all pairs of `reader`.
///
/// With `features`, a feature without both columns has residuals of 0. One of the two columns alone
/// is an error. Without `features`, they are those with a column of implemented values, in the
/// order of their columns of prescribed values. `schema` gives the scales. Fails on missing columns
/// and on cells that are not finite numbers; the error names column and row.
pub fn read_pairs(
    reader: TableReader,
    features: Option<&[String]>,
    schema: Option<&Schema>,
) -> Result<Pairs> {
    let (file, header) = (reader.name().to_owned(), reader.header().to_vec());
    let has = |column: &str| header.iter().any(|name| name == column);
    let implemented = |name: &str| format!("{name}{IMPLEMENTED}");
    let missing = |column: String, hint: &str| Error::MissingColumn {
        file: file.clone(),
        column,
        hint: hint.to_owned(),
    };
    let all: Vec<String> = match features {
        Some(features) => features.to_vec(),
        None => {
            for column in &header {
                if let Some(name) = column.strip_suffix(IMPLEMENTED).filter(|name| !has(name)) {
                    return Err(missing(
                        name.to_owned(),
                        &format!(", the prescribed values of '{column}'"),
                    ));
                }
            }
            let paired = |name: &&String| has(&implemented(name));
            header.iter().filter(paired).cloned().collect()
        }
    };
    if all.is_empty() {
        let what = format!(
            "no pairs: no column ends in '{IMPLEMENTED}' \
             (NAME is prescribed, NAME{IMPLEMENTED} is implemented)"
        );
        return Err(Error::file(&file, what));
    }
    // For each feature, the index of its pair of columns; `None` if it has no noise.
    let mut pairs = Vec::with_capacity(all.len());
    let (mut columns, mut unpaired) = (Vec::new(), Vec::new());
    for name in &all {
        if !has(name) && !has(&implemented(name)) {
            let fixed = schema
                .and_then(|schema| schema.feature(name))
                .is_some_and(|feature| !feature.mutable);
            if !fixed {
                unpaired.push(name.clone());
            }
            pairs.push(None);
            continue;
        }
        for (column, what) in [(name.clone(), "prescribed"), (implemented(name), "implemented")] {
            if !has(&column) {
                return Err(missing(column, &format!(", the {what} values of '{name}'")));
            }
            columns.push(column);
        }
        pairs.push(Some(columns.len() / 2 - 1));
    }
    let width = |name: &str| {
        let feature = schema.and_then(|schema| schema.feature(name));
        feature.and_then(probe_core::Feature::offset_and_width).map_or(1.0, |(_, width)| width)
    };
    let widths: Vec<f64> = all.iter().map(|name| width(name)).collect();
    let cells = columns.len();
    if cells == 0 {
        let what = format!(
            "no pairs: no feature has both columns \
             (NAME is prescribed, NAME{IMPLEMENTED} is implemented): {}",
            all.join(", ")
        );
        return Err(Error::file(&file, what));
    }
    let wanted = Columns { features: columns, ignore_extra: true, ..Columns::default() };
    let (mut residuals, mut numbers) = (Vec::new(), Vec::new());
    for chunk in reader.select(&wanted)? {
        let chunk = chunk?;
        chunk.numbers_into(&mut numbers)?;
        for (i, row) in numbers.chunks_exact(cells).enumerate() {
            for (j, pair) in pairs.iter().enumerate() {
                let residual = pair.map_or(0.0, |k| (row[2 * k + 1] - row[2 * k]) / widths[j]);
                if !residual.is_finite() {
                    return Err(Error::Value {
                        file,
                        place: chunk.place(i),
                        column: implemented(&all[j]),
                        value: row[1 + 2 * pair.unwrap_or(0)].to_string(),
                        wanted: "within reach of the prescribed value",
                    });
                }
                residuals.push(residual);
            }
        }
    }
    Ok(Pairs { features: all, residuals, unpaired })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Format;
    use probe_core::Feature;

    fn read(text: &str, features: Option<&[&str]>, schema: Option<&Schema>) -> Result<Pairs> {
        let reader = TableReader::from_read(
            "pairs.csv",
            std::io::Cursor::new(text.to_owned()),
            Format::Csv,
        )?;
        let features: Option<Vec<String>> =
            features.map(|names| names.iter().map(|&n| n.to_owned()).collect());
        read_pairs(reader, features.as_deref(), schema)
    }

    const TEXT: &str = "who,b,a__implemented,a,b__implemented\nAnn,10,1.5,1,14\nBob,20,2,3,16\n";

    #[test]
    fn residuals_are_implemented_less_prescribed_over_the_scale() {
        let pairs = read(TEXT, None, None).unwrap();
        assert_eq!(
            (pairs.features.join(","), pairs.residuals),
            ("b,a".to_owned(), vec![4.0, 0.5, -4.0, -1.0])
        );
        let mut scaled = Schema::new(vec![
            Feature { scale: Some([5.0, 7.0]), ..Feature::numeric("b") },
            Feature { mutable: false, ..Feature::numeric("age") },
            Feature::numeric("a"),
        ]);
        let names = ["a", "age", "b"];
        let pairs = read(TEXT, Some(&names), Some(&scaled)).unwrap();
        assert_eq!(pairs.residuals, [0.5, 0.0, 2.0, -1.0, 0.0, -2.0]);
        assert!(pairs.unpaired.is_empty());
        // A feature that may change and is not observed gets no noise, too, and is named.
        scaled.features[1].mutable = true;
        let again = read(TEXT, Some(&names), Some(&scaled)).unwrap();
        assert_eq!((again.residuals, again.unpaired), (pairs.residuals, vec!["age".to_owned()]));
        let half =
            read(&TEXT.replace("who", "age"), Some(&names), Some(&scaled)).unwrap_err().to_string();
        assert_eq!(
            half,
            "pairs.csv: no column 'age__implemented', the implemented values of 'age'"
        );
        let none = read(TEXT, Some(&["age"]), Some(&scaled)).unwrap_err().to_string();
        assert_eq!(
            none,
            "pairs.csv: no pairs: no feature has both columns (NAME is prescribed, \
             NAME__implemented is implemented): age"
        );
    }

    #[test]
    fn faults_are_named() {
        let message = |text: &str| read(text, None, None).unwrap_err().to_string();
        assert!(message("a,b\n1,2\n").contains("no column ends in '__implemented'"));
        assert_eq!(
            message("a__implemented,b\n1,2\n"),
            "pairs.csv: no column 'a', the prescribed values of 'a__implemented'"
        );
        let error =
            read("a,b,b__implemented\n1,2,2\n", Some(&["a"]), None).unwrap_err().to_string();
        assert_eq!(error, "pairs.csv: no column 'a__implemented', the implemented values of 'a'");
        for cell in ["nan", "", "x", "inf"] {
            let error = message(&format!("a,a__implemented\n1,2\n3,{cell}\n"));
            assert!(error.contains("row 1") && error.contains("'a__implemented'"), "{error}");
        }
        let error = message("a,a__implemented\n-1e308,1e308\n");
        assert!(error.contains("row 0") && error.contains("'a__implemented'"), "{error}");
    }
}
