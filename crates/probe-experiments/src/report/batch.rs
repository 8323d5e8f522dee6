//! Many people: counts by outcome, and the picture of their costs.

use super::data::Status;
use crate::number;
use crate::plot::{Area, Axis, Scale, Svg};
use serde::{Deserialize, Serialize};

/// The same question for many people.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Costs of those who got a recourse.
    pub costs: Histogram,
    /// How many people ended where.
    pub statuses: Vec<StatusCount>,
}

/// People with one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCount {
    /// The status.
    pub status: Status,
    /// How many people.
    pub count: usize,
}

/// Counts in bins of equal width.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Lower edge of the first bin.
    pub low: f64,
    /// Upper edge of the last bin.
    pub high: f64,
    /// Counts.
    pub counts: Vec<usize>,
}

impl Histogram {
    /// Counts values in about `bins` bins with round edges; values that are not finite are left
    /// out.
    ///
    /// ```
    /// use probe_experiments::report::Histogram;
    /// let h = Histogram::of(&[0.05, 0.15, 0.19, f64::NAN], 2);
    /// assert_eq!((h.low, h.high, h.counts), (0.0, 0.2, vec![1, 2]));
    /// ```
    pub fn of(values: &[f64], bins: usize) -> Self {
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        if !high.is_finite() {
            return Self::default();
        }
        let low = finite().fold(high, f64::min).min(0.0);
        let scale = Scale::new(low, high, 0.0, 1.0);
        let edges = scale.ticks(bins.max(1)).values;
        let [first, second, ..] = edges.as_slice() else { return Self::default() };
        let step = second - first;
        let low = if *first > low { first - step } else { *first };
        let n = ((high - low) / step - 1e-9).ceil().clamp(1.0, 1000.0) as usize;
        let mut counts = vec![0; n];
        for value in finite() {
            // A value on an edge belongs to the bin above it, the highest to the last bin.
            let bin = (((value - low) / step).max(0.0) as usize).min(n - 1);
            counts[bin] += 1;
        }
        Self { low, high: low + step * n as f64, counts }
    }
}

/// The histogram of costs. `None` where there are no counts.
pub fn batch_picture(batch: &Batch, id: &str, width: f64) -> Option<Svg> {
    let costs = &batch.costs;
    let most = costs.counts.iter().copied().max().filter(|m| *m > 0)?;
    let people: usize = costs.counts.iter().sum();
    let described = format!(
        "Costs of {} people from {} to {}.",
        number::fixed(people as f64, 0),
        number::number(costs.low),
        number::number(costs.high)
    );
    let height = 260.0;
    let mut svg = Svg::new(id, width, height, "What recourse costs, over many people", &described);
    let x = Axis {
        title: "cost of the change",
        scale: Scale::new(costs.low, costs.high, 0.0, 1.0),
        label: None,
    };
    let y = Axis {
        title: "people",
        scale: Scale::new(0.0, most as f64 * 1.05, 0.0, 1.0),
        label: Some(whole),
    };
    let area = Area::draw(&mut svg, (width, height), &x, &y);
    let step = (area.right - area.left) / costs.counts.len() as f64;
    for (i, count) in costs.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let left = area.left + step * i as f64;
        let gap = if step > 6.0 { 1.0 } else { 0.0 };
        svg.rect(
            (left + gap, area.y.at(*count as f64)),
            (left + step - gap, area.bottom),
            0.0,
            "bar",
        );
    }
    Some(svg)
}

/// People come whole: a tick between two numbers has no label.
fn whole(value: f64) -> String {
    if value.fract() == 0.0 { number::fixed(value, 0) } else { String::new() }
}
