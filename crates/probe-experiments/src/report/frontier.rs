//! Picture: what safety costs.

use super::data::{FrontierPoint, Report};
use crate::number::{Odds, rounded};
use crate::plot::{Area, Axis, Labels, Path, Scale, Svg};

/// Cost against invalidation rate, with the answer and the cheapest yes marked. `None` where there
/// is nothing to draw.
pub fn frontier_picture(report: &Report, id: &str, width: f64) -> Option<Svg> {
    let frontier = report.frontier.as_ref()?;
    let chosen = frontier.chosen.and_then(|i| frontier.points.get(i)).filter(|p| drawable(p));
    let flip = frontier.cheapest_flip.as_ref().filter(|p| drawable(p));
    let height = if width < 500.0 { 320.0 } else { 360.0 };
    let mut svg = Svg::new(id, width, height, "What safety costs", &described(chosen, flip));
    draw_frontier(&mut svg, report, (width, height)).then_some(svg)
}

/// Draws it, in an area of that width and height; false where there is nothing to draw.
pub(crate) fn draw_frontier(svg: &mut Svg, report: &Report, (width, height): (f64, f64)) -> bool {
    let Some(frontier) = &report.frontier else { return false };
    let mut points: Vec<&FrontierPoint> = frontier.points.iter().filter(|p| drawable(p)).collect();
    points.sort_by(|a, b| a.rate.total_cmp(&b.rate).then(b.cost.total_cmp(&a.cost)));
    let chosen = frontier.chosen.and_then(|i| frontier.points.get(i)).filter(|p| drawable(p));
    let flip = frontier.cheapest_flip.as_ref().filter(|p| drawable(p));
    if points.is_empty() && flip.is_none() {
        return false;
    }
    let all = || points.iter().copied().chain(flip);
    let highest_rate = all().map(|p| p.rate).fold(0.0, f64::max);
    let highest_cost = all().map(|p| p.cost).fold(0.0, f64::max);
    let x = Axis {
        title: "attempts that fail, in 100  (left is safer)",
        scale: Scale::new(0.0, (highest_rate * 1.06).clamp(1e-6, 1.0), 0.0, 1.0),
        label: Some(|v| rounded(v * 100.0, 3)),
    };
    let y = Axis {
        title: "cost of the change",
        scale: Scale::new(0.0, (highest_cost * 1.12).min(f64::MAX), 0.0, 1.0),
        label: None,
    };
    let area = Area::draw(svg, (width, height), &x, &y);
    let at = |p: &FrontierPoint| area.at(p.rate, p.cost);
    let mut labels = Labels::within((area.left + 4.0, area.top), (area.right, area.bottom - 4.0));

    if let Some(best) = report.answer.best_rate.filter(|b| area.x.contains(*b) && *b > 0.0) {
        let x = area.x.at(best);
        svg.line((x, area.top), (x, area.bottom), "limit");
        labels.avoid_line((x, area.top), (x, area.bottom));
        let text = [("no lower rate can be reached", "quiet halo")];
        labels.place(svg, (x, area.top + 8.0), 6.0, &text, 13.0);
    }
    if let Some(point) = chosen {
        let (px, py) = at(point);
        let guide = Path::through([(area.left, py), (px, py), (px, area.bottom)]);
        svg.path(&guide, "guide");
        labels.avoid_line((area.left, py), (px, py));
        labels.avoid_line((px, py), (px, area.bottom));
    }
    let line: Vec<(f64, f64)> = points.iter().map(|p| at(p)).collect();
    for pair in line.windows(2) {
        labels.avoid_line(pair[0], pair[1]);
    }
    svg.path(&Path::through(line.iter().copied()), "curve");
    if let (Some(last), Some(flip)) = (line.last(), flip) {
        svg.line(*last, at(flip), "curve-end");
        labels.avoid_line(*last, at(flip));
    }
    for spot in &line {
        labels.avoid(*spot, 6.0);
        svg.circle(*spot, 3.5, "curve-dot");
    }
    if let Some(point) = flip {
        labels.avoid(at(point), 8.0);
        svg.circle(at(point), 6.5, "flip");
    }
    if let Some(point) = chosen {
        labels.avoid(at(point), 10.0);
        svg.circle(at(point), 9.0, "chosen");
        let text = in_words(point);
        let lines = [("this answer", "yes-text halo"), (text.as_str(), "strong halo")];
        labels.place(svg, at(point), 12.0, &lines, 13.0);
    }
    if let Some(point) = flip {
        let text = in_words(point);
        let lines = [("just enough to flip", "no-text halo"), (text.as_str(), "halo")];
        labels.place(svg, at(point), 12.0, &lines, 13.0);
    }
    let safest = points.first().filter(|p| chosen.is_none_or(|c| c.rate - p.rate > 0.005));
    if let Some(point) = safest {
        labels.place(svg, at(point), 10.0, &[(&in_words(point), "quiet halo")], 13.0);
    }
    true
}

/// A point in plain words.
pub(super) fn in_words(point: &FrontierPoint) -> String {
    let odds =
        Odds::of(point.rate).map_or_else(|| crate::number::MISSING.to_owned(), |o| o.to_string());
    format!("{odds} fail: cost {}", rounded(point.cost, 3))
}

fn drawable(point: &FrontierPoint) -> bool {
    (0.0..=1.0).contains(&point.rate) && point.cost.is_finite() && point.cost >= 0.0
}

fn described(chosen: Option<&FrontierPoint>, flip: Option<&FrontierPoint>) -> String {
    let mut text = "Cost against the share of attempts that fail.".to_owned();
    if let Some(point) = chosen {
        text.push_str(&format!(" This answer: {}.", in_words(point)));
    }
    if let Some(point) = flip {
        text.push_str(&format!(" Just enough to flip the decision: {}.", in_words(point)));
    }
    text
}
