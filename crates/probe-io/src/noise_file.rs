//! Noise files: Gaussian noise measured elsewhere, in scaled units, by feature name.
//!
//! `{"version": 1, "features": [..], "mean": [..], "sd": [..]}` or `"covariance": [[..]]` instead of `sd`; the mean is zero where
//! it is left out.

use crate::error::{Error, Result};
use crate::json::{self, Node};
use probe_core::{Covariance, Gaussian};
use std::path::Path;

const VERSION: u64 = 1;

/// Reads a noise file and puts it into the order of `features`. Fails if it lacks one of them.
pub fn load_noise(path: impl AsRef<Path>, features: &[String]) -> Result<Gaussian> {
    let path = path.as_ref();
    let file = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|source| Error::io(&file, "read", source))?;
    parse_noise(&bytes, &file, features)
}

/// Reads noise from memory; `origin` names it in errors.
pub fn parse_noise(bytes: &[u8], origin: &str, features: &[String]) -> Result<Gaussian> {
    let value = json::parse(bytes, origin)?;
    let root = Node::root(&value, origin);
    root.only(&["version", "features", "mean", "sd", "covariance", "residuals"])?;
    let version = root.need("version")?;
    if version.value().as_u64() != Some(VERSION) {
        return Err(version.error(format!("expected {VERSION}, found {}", version.value())));
    }
    if let Some(residuals) = root.get("residuals")? {
        return Err(residuals.error("noise from residuals is not supported yet; give sd or covariance"));
    }
    let names = root.need("features")?.items()?.iter().map(Node::text).collect::<Result<Vec<_>>>()?;
    let position = |name: &String| {
        names.iter().position(|n| n == name).ok_or_else(|| Error::Document {
            file: origin.to_owned(),
            path: "$.features".to_owned(),
            what: format!("no feature '{name}'"),
        })
    };
    let order = features.iter().map(position).collect::<Result<Vec<usize>>>()?;
    let n = names.len();
    let mean = root.get("mean")?.map_or_else(|| Ok(vec![0.0; n]), |node| node.numbers(n, "feature"))?;
    let covariance = match (root.get("sd")?, root.get("covariance")?) {
        (Some(sd), None) => Covariance::Diagonal(sd.numbers(n, "feature")?),
        (None, Some(matrix)) => {
            let rows = matrix.items()?;
            if rows.len() != n {
                return Err(
                    matrix.error(format!("expected {n} rows (one per feature), found {}", rows.len()))
                );
            }
            let rows = rows.iter().map(|row| row.numbers(n, "feature")).collect::<Result<Vec<_>>>()?;
            Covariance::Full(rows.concat())
        }
        _ => return Err(root.error("give either sd or covariance")),
    };
    let core = |source| Error::Core { file: origin.to_owned(), source };
    // The file is checked as it stands, features that nobody asks for included.
    Gaussian::new(mean.clone(), covariance.clone()).map_err(core)?;
    let pick = |values: &[f64]| -> Vec<f64> { order.iter().map(|&i| values[i]).collect() };
    let covariance = match &covariance {
        Covariance::Full(matrix) => {
            Covariance::Full(order.iter().flat_map(|&i| pick(&matrix[i * n..(i + 1) * n])).collect())
        }
        Covariance::Diagonal(sd) => Covariance::Diagonal(pick(sd)),
        other => other.clone(),
    };
    Gaussian::new(pick(&mean), covariance).map_err(core)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, features: &[&str]) -> Result<Gaussian> {
        let features: Vec<String> = features.iter().map(|&f| f.to_owned()).collect();
        parse_noise(text.as_bytes(), "noise.json", &features)
    }

    #[test]
    fn features_are_matched_by_name() {
        let text = r#"{"version": 1, "features": ["a", "b", "c"], "mean": [1, 2, 3],
            "covariance": [[1, 0.5, 0], [0.5, 4, 0.1], [0, 0.1, 9]]}"#;
        let noise = parse(text, &["c", "a"]).unwrap();
        assert_eq!(noise.mean(), [3.0, 1.0]);
        assert_eq!(noise.covariance(), &Covariance::Full(vec![9.0, 0.0, 0.0, 1.0]));
        let noise =
            parse(r#"{"version": 1, "features": ["a", "b"], "sd": [0.1, 0.2]}"#, &["b", "a"]).unwrap();
        assert_eq!(noise.covariance(), &Covariance::Diagonal(vec![0.2, 0.1]));
    }

    #[test]
    fn faults_are_named() {
        let message = |text: &str| parse(text, &["a"]).unwrap_err().to_string();
        assert!(
            message(r#"{"version": 2, "features": ["a"], "sd": [1]}"#)
                .contains("$.version: expected 1, found 2")
        );
        assert!(message(r#"{"version": 1, "features": ["b"], "sd": [1]}"#).contains("no feature 'a'"));
        assert!(message(r#"{"version": 1, "features": ["a"], "sd": [1, 2]}"#).contains("$.sd"));
        assert!(message(r#"{"version": 1, "features": ["a"], "sd": [-1]}"#).contains("noise sd 0"));
        assert!(message(r#"{"version": 1, "features": ["a"]}"#).contains("either sd or covariance"));
        assert!(
            message(r#"{"version": 1, "features": ["a"], "residuals": [[1]]}"#).contains("not supported yet")
        );
        assert!(
            message(r#"{"version": 1, "features": ["a", "b"], "covariance": [[1, 2], [2, 1]]}"#)
                .contains("semi-definite")
        );
    }
}
