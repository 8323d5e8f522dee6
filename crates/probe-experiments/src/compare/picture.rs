//! Picture: what each method costs, and how often it fails.

use super::Line;
use crate::number::rounded;
use crate::plot::{Area, Axis, Labels, Scale, Svg};

/// Average cost against average rate, one dot per method with the bootstrap intervals of both;
/// `None` if nobody got an answer.
pub fn comparison_picture(lines: &[Line], target: f64, id: &str, width: f64) -> Option<Svg> {
    let drawn: Vec<&Line> =
        lines.iter().filter(|l| l.rate.mean.is_finite() && l.cost.mean.is_finite()).collect();
    if drawn.is_empty() {
        return None;
    }
    let told: Vec<String> = drawn
        .iter()
        .map(|l| {
            format!(
                "{}: rate {}, cost {}",
                l.method,
                rounded(l.rate.mean, 3),
                rounded(l.cost.mean, 3)
            )
        })
        .collect();
    let height = if width < 500.0 { 340.0 } else { 400.0 };
    let mut svg = Svg::new(id, width, height, "Cost and robustness of methods", &told.join("; "));
    let highest_rate = drawn.iter().map(|l| l.rate.interval[1]).fold(target, f64::max);
    let highest_cost = drawn.iter().map(|l| l.cost.interval[1]).fold(0.0, f64::max);
    let x = Axis {
        title: "attempts that fail, in 100  (left is safer)",
        scale: Scale::new(0.0, (highest_rate * 1.1).clamp(1e-6, 1.0), 0.0, 1.0),
        label: Some(|v| rounded(v * 100.0, 3)),
    };
    let y = Axis {
        title: "average cost  (lower is cheaper)",
        scale: Scale::new(0.0, (highest_cost * 1.12).min(f64::MAX), 0.0, 1.0),
        label: None,
    };
    let area = Area::draw(&mut svg, (width, height), &x, &y);
    let mut labels = Labels::within((area.left + 4.0, area.top), (area.right, area.bottom - 4.0));
    let asked = area.x.at(target);
    svg.line((asked, area.top), (asked, area.bottom), "limit");
    labels.avoid_line((asked, area.top), (asked, area.bottom));
    let at = |l: &Line| area.at(l.rate.mean, l.cost.mean);
    for line in &drawn {
        let (px, py) = at(line);
        let [left, right] = line.rate.interval.map(|v| area.x.at(v));
        let [low, high] = line.cost.interval.map(|v| area.y.at(v));
        svg.line((left, py), (right, py), "axis");
        svg.line((px, low), (px, high), "axis");
        labels.avoid_line((left, py), (right, py));
        labels.avoid_line((px, low), (px, high));
        labels.mark((px, py), 5.0);
    }
    for line in &drawn {
        let ours = line.method == "probe";
        svg.circle(at(line), 5.0, if ours { "chosen" } else { "flip" });
        let text = [(line.method.as_str(), if ours { "yes-text halo" } else { "halo" })];
        labels.place(&mut svg, at(line), 8.0, &text, 13.0);
    }
    let text = [("asked for", "quiet halo")];
    labels.place(&mut svg, (asked, area.top + 8.0), 6.0, &text, 13.0);
    Some(svg)
}
