//! The paper's figures, one file each. What a figure is made from and how it is drawn stand
//! together.

mod boxes;
mod loan;
mod sigmoid;
mod sweeps;
mod toys;

pub(super) use boxes::{BASELINES, BOUNDS};
pub(super) use loan::LOAN;
pub(super) use sigmoid::SIGMOID;
pub(super) use sweeps::{ACHIEVED, PARETO, TRADEOFF};
pub(super) use toys::{MOTIVATION, NAVIGATION};

use super::cell::Kind;
use super::methods::subjects;
use crate::paper_data::PAPER_DATA;

/// Size of one of six charts.
const CHART: (f64, f64) = (300.0, 240.0);

/// Heads of the six charts, one for each data set and classifier.
fn heads() -> Vec<String> {
    let title = |name: &str| PAPER_DATA.iter().find(|d| d.name == name).map_or("", |d| d.title);
    let kind = |kind: Kind| if kind == Kind::Linear { "logistic regression" } else { "network" };
    subjects().into_iter().map(|(data, of)| format!("{}, {}", title(data), kind(of))).collect()
}
