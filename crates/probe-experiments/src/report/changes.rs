//! Picture: what to change, and how much of it is safety margin.

use super::data::{PersonFeature, Report, Value};
use super::words;
use crate::number;
use crate::plot::{Anchor, Path, Svg, fit, width as text_width};

/// More rows than this go to the table alone.
const MOST_ROWS: usize = 12;
const SIZE: f64 = 14.0;
const SMALL: f64 = 13.0;
/// Bold text is wider by about this factor.
const BOLD: f64 = 1.1;
/// Pages below this width are narrow.
const NARROW: f64 = 500.0;

/// One bar for each changed number: length by scaled change, texts in raw units. A category that
/// changes has its texts alone. `None` where nothing changes.
///
/// The pale end of a bar is what this feature alone could fall short by before the yes becomes a
/// no.
pub fn changes_picture(report: &Report, id: &str, width: f64) -> Option<Svg> {
    let changed = words::changed(&report.features);
    if changed.is_empty() {
        return None;
    }
    let shown = &changed[..changed.len().min(MOST_ROWS)];
    let texts = if width < NARROW { 50.0 } else { 32.0 };
    let row = |f: &PersonFeature| if is_number(f) { texts + 30.0 } else { texts };
    let top = 30.0;
    let rest = changed.len() - shown.len();
    let rows: f64 = shown.iter().map(|f| row(f)).sum();
    let height = top + rows + if rest > 0 { 24.0 } else { 0.0 };
    let mut svg = Svg::new(id, width, height, "What to change", &described(&changed));

    let largest = shown.iter().map(|f| size_of(f)).fold(0.0, f64::max);
    let ups = shown.iter().any(|f| is_number(f) && f.scaled_change >= 0.0);
    let downs = shown.iter().any(|f| is_number(f) && f.scaled_change < 0.0);
    let pad = 14.0;
    // Space for the difference next to the longest bar.
    let one_way = width * 0.72;
    // The line "today" is left, right or in the middle, depending on the directions of the changes.
    let (zero, reach) = match (downs, ups) {
        (true, true) => (width / 2.0, width / 2.0 - pad),
        (true, false) => (width - 1.0, one_way),
        _ => (1.0, one_way),
    };
    let anchor = match (downs, ups) {
        (true, true) => Anchor::Middle,
        (true, false) => Anchor::End,
        _ => Anchor::Start,
    };
    let at = if anchor == Anchor::Middle { zero } else { zero.clamp(0.0, width) };
    if downs || ups {
        svg.text((at, 14.0), "today", anchor, "quiet");
    }
    if downs {
        svg.text((0.0, 14.0), "← less", Anchor::Start, "quiet");
    }
    if ups {
        svg.text((width, 14.0), "more →", Anchor::End, "quiet");
    }
    let mut y = top;
    for feature in shown {
        draw_row(&mut svg, feature, y, width, (zero, reach, largest));
        y += row(feature);
    }
    if rest > 0 {
        let text = format!("and {}: see the table", words::count(rest, "smaller change"));
        svg.text((0.0, height - 6.0), &text, Anchor::Start, "quiet");
    }
    Some(svg)
}

fn draw_row(svg: &mut Svg, feature: &PersonFeature, y: f64, width: f64, frame: (f64, f64, f64)) {
    let (zero, reach, largest) = frame;
    let change = words::change(feature);
    let unit = feature.unit.as_deref();
    let arrow = format!("{} → {}", change.from, number::with_unit(change.to.clone(), unit));
    // On a narrow page the values get a line of their own.
    let narrow = width < NARROW;
    let shown = fit(&arrow, if narrow { width } else { width * 0.62 }, SIZE);
    let room = if narrow { width } else { width - text_width(&shown, SIZE) - 16.0 };
    let name = fit(&feature.name, room / BOLD, SIZE);
    svg.named_text((0.0, y + 16.0), &name, Some(&feature.name), Anchor::Start, "strong halo name");
    let (at, anchor, y) = if narrow {
        ((0.0, y + 34.0), Anchor::Start, y + 18.0)
    } else {
        ((width, y + 16.0), Anchor::End, y)
    };
    svg.named_text(at, &shown, Some(&arrow), anchor, "halo name");
    if !is_number(feature) {
        return;
    }

    let share = if largest > 0.0 { size_of(feature) / largest } else { 0.0 };
    let sign = if feature.scaled_change < 0.0 { -1.0 } else { 1.0 };
    let length = (share * reach).clamp(6.0, reach.max(6.0));
    let (bar_top, bar_bottom) = (y + 26.0, y + 40.0);
    svg.line((zero, bar_top - 5.0), (zero, bar_bottom + 5.0), "axis");
    let spare = spare_share(feature);
    let needed = length * (1.0 - spare);
    let head = length.min(9.0);
    let body_end = length - head;
    let to = |distance: f64| zero + sign * distance;
    if body_end > 0.0 {
        let solid = needed.min(body_end);
        if solid > 0.0 {
            svg.rect((to(0.0), bar_top), (to(solid), bar_bottom), 0.0, "need");
        }
        if body_end > solid {
            svg.rect((to(solid), bar_top), (to(body_end), bar_bottom), 0.0, "spare");
        }
    }
    let mut tip = Path::default();
    tip.move_to((to(body_end), bar_top - 3.0));
    tip.line_to((to(length), (bar_top + bar_bottom) / 2.0));
    tip.line_to((to(body_end), bar_bottom + 3.0));
    tip.close();
    svg.path(&tip, if spare > 0.0 { "spare" } else { "need" });
    if let Some(by) = change.by {
        let by = fit(&number::with_unit(by, unit), width / 2.0, SMALL);
        let wide = text_width(&by, SMALL) + 8.0;
        // Next to the tip if there is space, otherwise on the other side of the line.
        let outside = to(length + 8.0);
        let fits = if sign > 0.0 { outside + wide <= width } else { outside - wide >= 0.0 };
        let (x, right) = if fits { (outside, sign > 0.0) } else { (to(-8.0), sign < 0.0) };
        let crosses = if right { x + wide > width } else { x - wide < 0.0 };
        if !crosses {
            let anchor = if right { Anchor::Start } else { Anchor::End };
            svg.text((x, bar_bottom - 2.0), &by, anchor, "quiet");
        }
    }
}

/// The share of a change that this feature alone may miss, 0 to 1.
fn spare_share(feature: &PersonFeature) -> f64 {
    match (&feature.current, &feature.recommended, feature.tolerance) {
        (Value::Number(from), Value::Number(to), Some(tolerance))
            if tolerance > 0.0 && from != to =>
        {
            let share = tolerance / (to - from).abs();
            if share.is_finite() { share.min(1.0) } else { 0.0 }
        }
        _ => 0.0,
    }
}

/// Whether the change has a length; that of a category has none.
fn is_number(feature: &PersonFeature) -> bool {
    matches!((&feature.current, &feature.recommended), (Value::Number(_), Value::Number(_)))
}

fn size_of(feature: &PersonFeature) -> f64 {
    let size = feature.scaled_change.abs();
    if size.is_finite() { size } else { 0.0 }
}

fn described(changed: &[&PersonFeature]) -> String {
    let parts: Vec<String> = changed
        .iter()
        .take(MOST_ROWS)
        .map(|f| {
            let change = words::change(f);
            format!(
                "{} from {} to {}",
                f.name,
                change.from,
                number::with_unit(change.to, f.unit.as_deref())
            )
        })
        .collect();
    format!("Recommended changes: {}.", parts.join("; "))
}
