//! Noise files: noise measured elsewhere, in scaled units, by feature name.
//!
//! `{"version": 1, "features": [..], "mean": [..], "sd": [..]}` is Gaussian, with `"covariance":
//! [[..]]` instead of `sd` where features are missed together; the mean is zero where it is left
//! out. `"residuals": [[..], ..]`, one row per observation in the order of `features`, is noise as
//! it was observed, without other keys. A fit adds `"fit": {"pairs": n, "rate": r, "inflation": k,
//! "shrinkage": l}`, which says for which rate the covariance was inflated.

use crate::error::{Error, Result};
use crate::json::{self, Node};
use crate::output::AtomicOutput;
use probe_core::noise::NoiseFit;
use probe_core::{Covariance, Gaussian, Noise, Residuals, Rows};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

const VERSION: u64 = 1;

/// Noise as a file gives it.
#[derive(Clone)]
pub struct NoiseFile {
    /// The noise, in the order of the features asked for.
    pub noise: Arc<dyn Noise>,
    /// The target rate that a fit was inflated for; for smaller ones it is optimistic.
    pub fitted_rate: Option<f64>,
}

/// Reads a noise file and puts it into the order of `features`. Fails if it lacks one of them.
pub fn load_noise(path: impl AsRef<Path>, features: &[String]) -> Result<NoiseFile> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| Error::io(&file, "read", source))?;
    parse_noise(&bytes, &file, features)
}

/// Reads noise from memory; `origin` names it in errors.
pub fn parse_noise(bytes: &[u8], origin: &str, features: &[String]) -> Result<NoiseFile> {
    let value = json::parse(bytes, origin)?;
    let root = Node::root(&value, origin);
    root.only(&["version", "features", "mean", "sd", "covariance", "residuals", "fit"])?;
    let version = root.need("version")?;
    if version.value().as_u64() != Some(VERSION) {
        return Err(version.error(format!("expected {VERSION}, found {}", version.value())));
    }
    let names =
        root.need("features")?.items()?.iter().map(Node::text).collect::<Result<Vec<_>>>()?;
    if let Some(i) = (0..names.len()).find(|&i| names[..i].contains(&names[i])) {
        return Err(root.need("features")?.error(format!("'{}' appears twice", names[i])));
    }
    let position = |name: &String| {
        names.iter().position(|n| n == name).ok_or_else(|| Error::Document {
            file: origin.to_owned(),
            path: "$.features".to_owned(),
            what: format!("no feature '{name}'"),
        })
    };
    let order = features.iter().map(position).collect::<Result<Vec<usize>>>()?;
    let n = names.len();
    let noise: Arc<dyn Noise> = match root.get("residuals")? {
        Some(residuals) => {
            for other in ["mean", "sd", "covariance", "fit"] {
                if let Some(node) = root.get(other)? {
                    return Err(node
                        .error("residuals stand alone: they have their own mean and covariance"));
                }
            }
            Arc::new(read_residuals(&residuals, n, &order)?)
        }
        None => Arc::new(read_gaussian(&root, n, &order)?),
    };
    let fitted_rate = root.get("fit")?.map(|fit| read_fit(&fit)).transpose()?;
    Ok(NoiseFile { noise, fitted_rate })
}

/// The rows of an array of arrays of `n` numbers each.
fn read_rows(node: &Node<'_>, n: usize) -> Result<Vec<Vec<f64>>> {
    node.items()?.iter().map(|row| row.numbers(n, "feature")).collect()
}

fn read_residuals(node: &Node<'_>, n: usize, order: &[usize]) -> Result<Residuals> {
    let rows = read_rows(node, n)?;
    if rows.is_empty() {
        return Err(node.error("expected at least one row, found none"));
    }
    let picked: Vec<f64> = rows.iter().flat_map(|row| order.iter().map(|&i| row[i])).collect();
    let core = |source| Error::Core { file: node.file().to_owned(), source };
    Rows::new(&picked, order.len()).and_then(Residuals::new).map_err(core)
}

fn read_fit(node: &Node<'_>) -> Result<f64> {
    node.only(&["pairs", "rate", "inflation", "shrinkage"])?;
    let rate = node.need("rate")?;
    let value = rate.number()?;
    if value > 0.0 && value < 0.5 {
        Ok(value)
    } else {
        Err(rate.error(format!("expected a rate above 0 and below 0.5, found {value}")))
    }
}

fn read_gaussian(root: &Node<'_>, n: usize, order: &[usize]) -> Result<Gaussian> {
    let mean =
        root.get("mean")?.map_or_else(|| Ok(vec![0.0; n]), |node| node.numbers(n, "feature"))?;
    let covariance = match (root.get("sd")?, root.get("covariance")?) {
        (Some(sd), None) => Covariance::Diagonal(sd.numbers(n, "feature")?),
        (None, Some(matrix)) => {
            let rows = matrix.items()?.len();
            if rows != n {
                return Err(
                    matrix.error(format!("expected {n} rows (one per feature), found {rows}"))
                );
            }
            Covariance::Full(read_rows(&matrix, n)?.concat())
        }
        _ => return Err(root.error("give one of sd or covariance, or residuals")),
    };
    let core = |source| Error::Core { file: root.file().to_owned(), source };
    // The whole file is checked, including features that are not requested.
    Gaussian::new(mean.clone(), covariance.clone()).map_err(core)?;
    let pick = |values: &[f64]| -> Vec<f64> { order.iter().map(|&i| values[i]).collect() };
    let covariance = match &covariance {
        Covariance::Full(matrix) => Covariance::Full(
            order.iter().flat_map(|&i| pick(&matrix[i * n..(i + 1) * n])).collect(),
        ),
        Covariance::Diagonal(sd) => Covariance::Diagonal(pick(sd)),
        other => other.clone(),
    };
    Gaussian::new(pick(&mean), covariance).map_err(core)
}

/// A fit as the text of a noise file.
pub fn fit_to_json(features: &[String], fit: &NoiseFit) -> String {
    let (noise, d) = (&fit.noise, features.len());
    let row = |i: usize| (0..d).map(|j| noise.covariance_of(i, j)).collect::<Vec<f64>>();
    document(
        features,
        &[
            ("mean", json!(noise.mean())),
            ("covariance", json!((0..d).map(row).collect::<Vec<_>>())),
            (
                "fit",
                json!({"pairs": fit.pairs, "rate": fit.rate, "inflation": fit.inflation,
                    "shrinkage": fit.shrinkage}),
            ),
        ],
    )
}

/// Residuals as the text of a noise file.
pub fn residuals_to_json(features: &[String], residuals: Rows<'_>) -> String {
    document(features, &[("residuals", json!(residuals.iter().collect::<Vec<_>>()))])
}

/// One field a line, in a fixed order: files stay readable and comparable.
fn document(features: &[String], entries: &[(&str, Value)]) -> String {
    let head = [("version", json!(VERSION)), ("features", json!(features))];
    let lines = head.iter().chain(entries).map(|(key, value)| format!("{}: {value}", json!(key)));
    format!("{{{}}}\n", lines.collect::<Vec<_>>().join(",\n "))
}

/// Writes the text of a noise file, whole or not at all.
pub fn save_noise(text: &str, path: impl AsRef<Path>) -> Result<()> {
    let mut output = AtomicOutput::create(path)?;
    output.write_all(text.as_bytes()).map_err(|source| output.error(source))?;
    output.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::noise::fit_gaussian;

    fn parse(text: &str, features: &[&str]) -> Result<NoiseFile> {
        parse_noise(text.as_bytes(), "noise.json", &names(features))
    }

    fn names(features: &[&str]) -> Vec<String> {
        features.iter().map(|&f| f.to_owned()).collect()
    }

    fn gaussian(text: &str, features: &[&str]) -> Gaussian {
        parse(text, features).unwrap().noise.as_gaussian().unwrap().clone()
    }

    #[test]
    fn features_are_matched_by_name() {
        let text = r#"{"version": 1, "features": ["a", "b", "c"], "mean": [1, 2, 3],
            "covariance": [[1, 0.5, 0], [0.5, 4, 0.1], [0, 0.1, 9]]}"#;
        let noise = gaussian(text, &["c", "a"]);
        assert_eq!(noise.mean(), [3.0, 1.0]);
        assert_eq!(noise.covariance(), &Covariance::Full(vec![9.0, 0.0, 0.0, 1.0]));
        let noise =
            gaussian(r#"{"version": 1, "features": ["a", "b"], "sd": [0.1, 0.2]}"#, &["b", "a"]);
        assert_eq!(noise.covariance(), &Covariance::Diagonal(vec![0.2, 0.1]));
    }

    /// Every row that residual noise can give, by drawing long enough.
    fn support(noise: &dyn Noise) -> Vec<Vec<f64>> {
        use probe_core::{Purpose, RowsMut, Seed};
        let d = noise.dim();
        let mut draws = vec![0.0; 200 * d];
        noise.sample_into(
            &mut Seed(0).stream(Purpose::Data, 0),
            RowsMut::new(&mut draws, d).unwrap(),
        );
        let mut rows: Vec<Vec<f64>> = draws.chunks(d).map(<[f64]>::to_vec).collect();
        rows.sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows.dedup();
        rows
    }

    #[test]
    fn residuals_are_matched_by_name_and_written_back() {
        let text =
            r#"{"version": 1, "features": ["a", "b"], "residuals": [[1, 2], [3, 4], [5, 6]]}"#;
        let file = parse(text, &["b", "a"]).unwrap();
        assert_eq!((file.noise.name(), file.fitted_rate), ("residuals", None));
        let expected = vec![vec![2.0, 1.0], vec![4.0, 3.0], vec![6.0, 5.0]];
        // Each of three rows is missed by 200 draws with probability (2/3)^200.
        assert_eq!(support(&*file.noise), expected);
        assert_eq!(support(&*parse(text, &["b"]).unwrap().noise), [[2.0], [4.0], [6.0]]);
        let written =
            residuals_to_json(&names(&["b", "a"]), Rows::new(&expected.concat(), 2).unwrap());
        assert_eq!(support(&*parse(&written, &["b", "a"]).unwrap().noise), expected);
    }

    #[test]
    fn fits_are_read_as_they_were_written() {
        let rows = [0.1, 0.0, 0.3, -0.2, 0.2, 0.4, -0.1, 0.1];
        let fit = fit_gaussian(Rows::new(&rows, 2).unwrap(), 0.05).unwrap();
        let text = fit_to_json(&names(&["a", "b"]), &fit);
        assert_eq!(parse(&text, &["a", "b"]).unwrap().fitted_rate, Some(0.05));
        let read = gaussian(&text, &["a", "b"]);
        assert_eq!((read.mean(), read.covariance()), (fit.noise.mean(), fit.noise.covariance()));
    }

    #[test]
    fn faults_are_named() {
        let message = |text: &str| parse(text, &["a"]).err().unwrap().to_string();
        assert!(
            message(r#"{"version": 2, "features": ["a"], "sd": [1]}"#)
                .contains("$.version: expected 1, found 2")
        );
        assert!(
            message(r#"{"version": 1, "features": ["b"], "sd": [1]}"#).contains("no feature 'a'")
        );
        assert!(
            message(r#"{"version": 1, "features": ["a", "a"], "sd": [1, 1]}"#)
                .contains("'a' appears twice")
        );
        assert!(message(r#"{"version": 1, "features": ["a"], "sd": [1, 2]}"#).contains("$.sd"));
        assert!(message(r#"{"version": 1, "features": ["a"], "sd": [-1]}"#).contains("noise sd 0"));
        assert!(
            message(r#"{"version": 1, "features": ["a"]}"#)
                .contains("sd or covariance, or residuals")
        );
        assert!(
            message(r#"{"version": 1, "features": ["a", "b"], "covariance": [[1, 2], [2, 1]]}"#)
                .contains("semi-definite")
        );
        let residuals = |rows: &str, more: &str| {
            message(&format!(
                r#"{{"version": 1, "features": ["a", "b"], "residuals": {rows}{more}}}"#
            ))
        };
        assert!(residuals("[[1, 2], [3]]", "").contains("$.residuals[1]: expected 2 numbers"));
        assert!(
            residuals("[[1, 2], [3, \"x\"]]", "")
                .contains("$.residuals[1][1]: expected a finite number")
        );
        assert!(residuals("[]", "").contains("$.residuals: expected at least one row"));
        assert!(
            residuals("[[1, 2]]", ", \"mean\": [0, 0]").contains("$.mean: residuals stand alone")
        );
        let fit = |fit: &str| {
            message(&format!(r#"{{"version": 1, "features": ["a"], "sd": [1], "fit": {fit}}}"#))
        };
        assert!(fit(r#"{"rate": 0.7}"#).contains("$.fit.rate"));
        assert!(fit(r#"{"pairs": 3}"#).contains("$.fit: the field 'rate' is missing"));
        assert!(fit(r#"{"rate": 0.1, "df": 3}"#).contains("$.fit.df: unknown field"));
    }
}
