//! Picture: noisy implementations against the decision boundary.

use super::data::{Cloud, CloudAxis, Region, Report, Status};
use crate::plot::{Area, Axis, Labels, Path, Scale, Svg, paint_cells};

/// The cloud of noisy implementations in two features. `None` where there is nothing to draw.
pub fn cloud_picture(report: &Report, id: &str, width: f64) -> Option<Svg> {
    let cloud = report.cloud.as_ref().filter(|c| usable(&c.x) && usable(&c.y))?;
    let height = if width < 500.0 { 380.0 } else { 440.0 };
    let described = described(report, cloud);
    let mut svg = Svg::new(id, width, height, "Where noisy attempts end up", &described);
    let (x_title, y_title) = (titled(&cloud.x), titled(&cloud.y));
    let x = Axis { title: &x_title, scale: view(&cloud.x), label: None };
    let y = Axis { title: &y_title, scale: view(&cloud.y), label: None };
    let area = Area::draw(&mut svg, (width, height), &x, &y);

    svg.begin_clip((area.left, area.top), (area.right, area.bottom));
    if let Some(region) = &cloud.region {
        draw_region(&mut svg, &area, region);
    }
    let (mut yes, mut no) = (Path::default(), Path::default());
    for sample in cloud.samples.iter().filter(|s| area.x.contains(s.x) && area.y.contains(s.y)) {
        let at = area.at(sample.x, sample.y);
        if sample.accepted { yes.dot(at) } else { no.cross(at, 2.6) }
    }
    svg.path(&yes, "sample-yes");
    svg.path(&no, "sample-no");
    svg.path(&ellipse(cloud, &area, 1.0), "ring");
    svg.path(&ellipse(cloud, &area, 2.0), "ring-outer");
    svg.end_clip();

    let person = area.at(cloud.x.person, cloud.y.person);
    let centre = area.at(cloud.x.centre, cloud.y.centre);
    let mut labels =
        Labels::within((area.left + 4.0, area.top + 2.0), (area.right - 4.0, area.bottom - 4.0));
    let moved = (person.0 - centre.0).hypot(person.1 - centre.1) > 14.0;
    if moved {
        svg.arrow(person, shortened(person, centre, 9.0), 10.0, "move");
        svg.circle(person, 6.0, "start");
        labels.avoid_line(person, centre);
        labels.avoid(person, 8.0);
    }
    svg.circle(centre, 7.5, if report.answer.status == Status::None { "flip" } else { "chosen" });
    labels.avoid(centre, 9.0);
    for scale in [1.0, 2.0] {
        let (dx, dy) = (scale * cloud.x.sd, scale * cloud.y.sd);
        for (x, y) in [(-dx, 0.0), (dx, 0.0), (0.0, -dy), (0.0, dy)] {
            labels.avoid(area.at(cloud.x.centre + x, cloud.y.centre + y), 3.0);
        }
    }
    if let Some(region) = &cloud.region {
        let marks: &[_] = if moved { &[person, centre] } else { &[centre] };
        name_sides(&mut svg, &mut labels, &area, region, marks);
    }
    if moved {
        labels.place(&mut svg, person, 10.0, &[("today", "strong halo")], 13.0);
    }
    let goal = if report.answer.status == Status::None { "best reachable" } else { "recommended" };
    labels.place(&mut svg, centre, 12.0, &[(goal, "strong halo")], 13.0);
    Some(svg)
}

/// How many samples were accepted and refused, and how many lie outside the picture.
pub(super) fn tally(cloud: &Cloud) -> (usize, usize, usize) {
    let (x, y) = (view(&cloud.x), view(&cloud.y));
    let accepted = cloud.samples.iter().filter(|s| s.accepted).count();
    let outside = cloud.samples.iter().filter(|s| !(x.contains(s.x) && y.contains(s.y))).count();
    (accepted, cloud.samples.len() - accepted, outside)
}

fn usable(axis: &CloudAxis) -> bool {
    axis.person.is_finite() && axis.centre.is_finite() && axis.sd.is_finite() && axis.sd >= 0.0
}

/// Holds the person and three standard deviations around the centre.
fn view(axis: &CloudAxis) -> Scale {
    let reach = 3.0 * axis.sd;
    Scale::over([axis.person, axis.centre - reach, axis.centre + reach], 0.06, 0.0, 1.0)
}

fn titled(axis: &CloudAxis) -> String {
    match axis.unit.as_deref().map(str::trim) {
        None | Some("") => axis.name.clone(),
        Some(unit) => format!("{} ({unit})", axis.name),
    }
}

fn draw_region(svg: &mut Svg, area: &Area, region: &Region) {
    match region {
        Region::HalfPlane { a, b, c } => {
            svg.rect((area.left, area.top), (area.right, area.bottom), 0.0, "region-no");
            let side = |p: (f64, f64)| a * p.0 + b * p.1 - c;
            let yes = cut(&corners(area), side);
            let mut outline = Path::through(yes.iter().map(|p| area.at(p.0, p.1)));
            if !yes.is_empty() {
                outline.close();
            }
            svg.path(&outline, "region-yes");
            let edge = crossings(&corners(area), side);
            if let [from, to] = edge.as_slice() {
                svg.line(area.at(from.0, from.1), area.at(to.0, to.1), "boundary");
            }
        }
        Region::Grid { x, y, columns, accepted } => {
            paint_cells(svg, area, (*x, *y), *columns, accepted);
        }
    }
}

fn name_sides(
    svg: &mut Svg,
    labels: &mut Labels,
    area: &Area,
    region: &Region,
    marks: &[(f64, f64)],
) {
    /// As far as a name and the name of a mark reach.
    const CLEAR: f64 = 110.0;
    let Region::HalfPlane { a, b, c } = region else { return };
    let side = |p: (f64, f64)| a * p.0 + b * p.1 - c;
    if let [from, to] = crossings(&corners(area), side).as_slice() {
        labels.avoid_line(area.at(from.0, from.1), area.at(to.0, to.1));
    }
    let corners = corners(area);
    let around = (0..4).flat_map(|i| {
        let ((x, y), (u, v)) = (corners[i], corners[(i + 1) % 4]);
        [0.0, 0.25, 0.5, 0.75].map(|t| (x + t * (u - x), y + t * (v - y)))
    });
    let around: Vec<(f64, f64)> = around.collect();
    let is_clear = |p: &(f64, f64)| {
        let at = area.at(p.0, p.1);
        marks.iter().all(|mark| (mark.0 - at.0).hypot(mark.1 - at.1) > CLEAR)
    };
    // Where the frame lies deepest on a side, and clear of what is marked, its name disturbs least.
    let deepest = |yes: bool| {
        let depth = |p: &(f64, f64)| if yes { side(*p) } else { -side(*p) };
        let worse = |p: &&(f64, f64), q: &&(f64, f64)| {
            is_clear(p).cmp(&is_clear(q)).then(depth(p).total_cmp(&depth(q)))
        };
        around.iter().filter(|p| depth(p) > 0.0).max_by(worse).copied()
    };
    for (yes, text, class) in
        [(true, "model says yes", "yes-text"), (false, "model says no", "no-text")]
    {
        if let Some(corner) = deepest(yes) {
            let at = area.at(corner.0, corner.1);
            labels.place(svg, at, 6.0, &[(text, class)], 13.0);
        }
    }
}

fn corners(area: &Area) -> [(f64, f64); 4] {
    let (x, y) = (area.x, area.y);
    [(x.low(), y.low()), (x.high(), y.low()), (x.high(), y.high()), (x.low(), y.high())]
}

/// The part of a convex outline where `side` is positive.
fn cut(outline: &[(f64, f64)], side: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for (i, &p) in outline.iter().enumerate() {
        let q = outline[(i + 1) % outline.len()];
        if side(p) > 0.0 {
            kept.push(p);
        }
        kept.extend(between(p, q, &side));
    }
    kept
}

/// Where the outline changes sides.
fn crossings(outline: &[(f64, f64)], side: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let next = |i: usize| outline[(i + 1) % outline.len()];
    outline.iter().enumerate().filter_map(|(i, &p)| between(p, next(i), &side)).collect()
}

fn between(p: (f64, f64), q: (f64, f64), side: &impl Fn((f64, f64)) -> f64) -> Option<(f64, f64)> {
    let (sp, sq) = (side(p), side(q));
    if (sp > 0.0) == (sq > 0.0) {
        return None;
    }
    let t = sp / (sp - sq);
    t.is_finite().then_some((p.0 + t * (q.0 - p.0), p.1 + t * (q.1 - p.1)))
}

/// The points at `k` standard deviations, correlation included.
fn ellipse(cloud: &Cloud, area: &Area, k: f64) -> Path {
    if cloud.x.sd == 0.0 && cloud.y.sd == 0.0 {
        return Path::default();
    }
    let rho = if cloud.correlation.is_finite() { cloud.correlation.clamp(-1.0, 1.0) } else { 0.0 };
    let rest = (1.0 - rho * rho).sqrt();
    let points = 96;
    let mut path = Path::through((0..points).map(|i| {
        let (sin, cos) = (f64::from(i) / f64::from(points) * std::f64::consts::TAU).sin_cos();
        area.at(
            cloud.x.centre + k * cloud.x.sd * cos,
            cloud.y.centre + k * cloud.y.sd * (rho * cos + rest * sin),
        )
    }));
    path.close();
    path
}

fn shortened(from: (f64, f64), to: (f64, f64), by: f64) -> (f64, f64) {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let t = if length > by { 1.0 - by / length } else { 1.0 };
    (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1))
}

fn described(report: &Report, cloud: &Cloud) -> String {
    let (accepted, refused, _) = tally(cloud);
    let goal = if report.answer.status == Status::None { "best reachable" } else { "recommended" };
    format!(
        "{} against {}: {accepted} noisy attempts around the {goal} point are \
         accepted, {refused} refused.",
        cloud.y.name, cloud.x.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cuts_the_square_in_two() {
        let square = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        let side = |p: (f64, f64)| p.0 - 0.25;
        let area = |o: &[(f64, f64)]| {
            let turn = |i: usize| {
                let (p, q) = (o[i], o[(i + 1) % o.len()]);
                p.0 * q.1 - q.0 * p.1
            };
            (0..o.len()).map(turn).sum::<f64>() / 2.0
        };
        assert_eq!(area(&cut(&square, side)), 0.75);
        assert_eq!(crossings(&square, side), [(0.25, 0.0), (0.25, 1.0)]);
        assert!(cut(&square, |p| p.0 - 2.0).is_empty());
        assert_eq!(cut(&square, |p| p.0 + 2.0).len(), 4);
        assert!(cut(&square, |_| f64::NAN).is_empty());
    }
}
