//! The figure: forest, tree, boxes with a recourse, and the same recourse on the forest.

use super::{Place, Study, TARGET, TREES, VARIANCE};
use crate::number::{fixed, percent};
use crate::plot::{Anchor, Area, Axis, Labels, Path, Scale, Svg, paint_cells, width};
use probe_core::{Model as _, Trees};

/// A part of the plane.
type View = ([f64; 2], [f64; 2]);
/// What the upper panels show; the moons with their spread fit inside.
const VIEW: View = ([-1.7, 2.7], [-1.3, 1.8]);
/// How much smaller the part is that the lower panels show.
const ZOOM: f64 = 2.0;
/// A panel's size, such that a unit is as long across as up.
const PANEL: (f64, f64) = (430.0, 349.0);
const HEAD: f64 = 48.0;
const GAP: f64 = 28.0;
const MARGIN: f64 = 18.0;
const LEGEND: f64 = 70.0;
/// Cells of the forest's picture, across and up.
const CELLS: (usize, usize) = (220, 155);
const TEXT: f64 = 13.0;

pub(super) fn draw(study: &Study) -> Svg {
    let size = (2.0 * (MARGIN + PANEL.0) + GAP, 2.0 * (MARGIN + HEAD + PANEL.1) + GAP + LEGEND);
    let mut svg = Svg::new(
        "trees",
        size.0,
        size.1,
        "A forest, one tree that imitates it, and a recourse",
        &described(study),
    );
    svg.rect((0.0, 0.0), size, 0.0, "paper");
    let fidelity = percent(study.distilled.fidelity);
    let leaves = study.distilled.n_leaves();
    let (theirs, ours) = (&study.theirs.0, &study.ours.0);
    let heads = [
        [
            format!("1  The forest: the mean of {TREES} trees"),
            "with the data that it was trained on".to_owned(),
        ],
        [
            format!("2  One tree that imitates it, {leaves} leaves"),
            format!("it agrees with the forest on {fidelity} of noisy points"),
        ],
        [
            format!("3  The tree's boxes, and a recourse by them, r = {TARGET}"),
            format!(
                "rate on the tree: {} before, {} after",
                rate(study.person.on_tree),
                rate(theirs.on_tree)
            ),
        ],
        [
            "4  The same recourse on the forest, and ours".to_owned(),
            format!(
                "rate on the forest: {} by the tree's, {} by ours",
                rate(theirs.on_forest),
                rate(ours.on_forest)
            ),
        ],
    ];
    for (i, head) in heads.iter().enumerate() {
        let (column, row) = ((i % 2) as f64, (i / 2) as f64);
        svg.begin_part((MARGIN + column * (PANEL.0 + GAP), MARGIN + row * (HEAD + PANEL.1 + GAP)));
        svg.text((0.0, 16.0), &head[0], Anchor::Start, "strong");
        svg.text((0.0, 35.0), &head[1], Anchor::Start, "quiet");
        svg.end_part();
        svg.begin_part((
            MARGIN + column * (PANEL.0 + GAP),
            MARGIN + HEAD + row * (HEAD + PANEL.1 + GAP),
        ));
        panel(&mut svg, study, i);
        svg.end_part();
    }
    svg.begin_part((MARGIN, size.1 - LEGEND));
    legend(&mut svg, size.0 - 2.0 * MARGIN);
    svg.end_part();
    svg
}

fn rate(value: f64) -> String {
    fixed(value, 3)
}

/// The part of the plane around the person and where they are sent.
fn close_up(study: &Study) -> View {
    let about = |k: usize, [low, high]: [f64; 2]| {
        let points = [&study.person, &study.theirs.0, &study.ours.0].map(|place| place.point[k]);
        let (least, most) = points
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), x| (l.min(*x), m.max(*x)));
        let (middle, half) = (0.5 * (least + most), 0.5 * (high - low) / ZOOM);
        [middle - half, middle + half]
    };
    (about(0, VIEW.0), about(1, VIEW.1))
}

fn panel(svg: &mut Svg, study: &Study, number: usize) {
    let near = close_up(study);
    let view = if number < 2 { VIEW } else { near };
    let axis = |title: &'static str, [low, high]: [f64; 2]| {
        let scale = Scale::new(low, high, 0.0, 1.0);
        Axis { title, scale, label: None }
    };
    let area =
        Area::draw(svg, PANEL, &axis("first feature", view.0), &axis("second feature", view.1));
    svg.begin_clip((area.left, area.top), (area.right, area.bottom));
    match number {
        0 | 3 => paint_cells(svg, &area, view, CELLS.0, &cells(&study.forest, view)),
        _ => paint_boxes(svg, &area, (&study.distilled.tree, view), number == 2),
    }
    match number {
        0 | 1 => {
            let (mut yes, mut no) = (Path::default(), Path::default());
            for (point, favourable) in study.moons.rows.chunks_exact(2).zip(&study.moons.favourable)
            {
                let at = area.at(point[0], point[1]);
                if *favourable { yes.dot(at) } else { no.cross(at, 2.0) }
            }
            svg.path(&yes, "sample-yes");
            svg.path(&no, "sample-no");
            svg.rect(area.at(near.0[0], near.1[0]), area.at(near.0[1], near.1[1]), 0.0, "frame");
            svg.circle(area.at(study.person.point[0], study.person.point[1]), 5.5, "start");
        }
        2 => recourse(svg, &area, study, &[(&study.theirs.0, "flip", "the tree's")]),
        _ => {
            let points =
                [(&study.theirs.0, "flip", "the tree's"), (&study.ours.0, "chosen", "ours")];
            recourse(svg, &area, study, &points);
        }
    }
    svg.end_clip();
}

/// Where the model says yes, at the middles of the cells.
fn cells(model: &Trees, view: View) -> Vec<bool> {
    let middle = |i: usize, n: usize, [low, high]: [f64; 2]| {
        low + (high - low) * (i as f64 + 0.5) / n as f64
    };
    let yes = |i: usize| {
        let x = [middle(i % CELLS.0, CELLS.0, view.0), middle(i / CELLS.0, CELLS.1, view.1)];
        model.score(&x).is_ok_and(|score| score > 0.0)
    };
    (0..CELLS.0 * CELLS.1).map(yes).collect()
}

/// The leaves of the tree as far as they are in view, with their outlines if wanted.
fn paint_boxes(svg: &mut Svg, area: &Area, (model, view): (&Trees, View), outlined: bool) {
    svg.rect((area.left, area.top), (area.right, area.bottom), 0.0, "region-no");
    let leaves = leaves(model, view);
    let corners =
        |sides: &Sides| (area.at(sides[0][0], sides[1][0]), area.at(sides[0][1], sides[1][1]));
    for (sides, _) in leaves.iter().filter(|(_, yes)| *yes) {
        let (a, b) = corners(sides);
        svg.rect(a, b, 0.0, "region-yes");
    }
    for (sides, _) in leaves.iter().filter(|_| outlined) {
        let (a, b) = corners(sides);
        svg.rect(a, b, 0.0, "box");
    }
}

/// A box: low and high end of both features.
type Sides = [[f64; 2]; 2];

/// The leaves' boxes within the view, and whether they say yes.
fn leaves(model: &Trees, view: View) -> Vec<(Sides, bool)> {
    let tree = &model.trees()[0];
    let mut todo: Vec<(usize, Sides)> = vec![(0, [view.0, view.1])];
    let mut found = Vec::new();
    while let Some((node, sides)) = todo.pop() {
        if tree.left[node] < 0 {
            found.push((sides, tree.value[node] > 0.5));
            continue;
        }
        let (j, cut) = (tree.feature[node], tree.threshold[node]);
        let (mut left, mut right) = (sides, sides);
        left[j][1] = cut.min(sides[j][1]);
        right[j][0] = cut.max(sides[j][0]);
        for (child, sides) in [(tree.left[node], left), (tree.right[node], right)] {
            if sides.iter().all(|[low, high]| low < high) {
                todo.push((child as usize, sides));
            }
        }
    }
    found
}

/// The person, where they are sent, and where nineteen of twenty end up.
fn recourse(svg: &mut Svg, area: &Area, study: &Study, points: &[(&Place, &str, &str)]) {
    let at = |point: &[f64; 2]| area.at(point[0], point[1]);
    let start = at(&study.person.point);
    let mut labels =
        Labels::within((area.left + 4.0, area.top + 4.0), (area.right - 4.0, area.bottom - 4.0));
    labels.avoid(start, 8.0);
    for (place, class, _) in points {
        let ring = if *class == "chosen" { "ring" } else { "ring-outer" };
        svg.path(&circle(area, &place.point, 2.0 * study.sigma), ring);
        let to = at(&place.point);
        let length = (to.0 - start.0).hypot(to.1 - start.1);
        if length > 16.0 {
            let short = 1.0 - 8.0 / length;
            let tip = (start.0 + short * (to.0 - start.0), start.1 + short * (to.1 - start.1));
            svg.arrow(start, tip, 8.0, "move");
        }
        labels.avoid_line(start, to);
        labels.avoid(to, 9.0);
        for i in 0..16 {
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 16.0).sin_cos();
            let r = 2.0 * study.sigma;
            labels.avoid(area.at(place.point[0] + r * cos, place.point[1] + r * sin), 5.0);
        }
    }
    svg.circle(start, 5.5, "start");
    for (place, class, _) in points {
        svg.circle(at(&place.point), 6.0, class);
    }
    labels.place(svg, start, 9.0, &[("the person", "strong halo")], TEXT);
    for (place, _, name) in points {
        labels.place(svg, at(&place.point), 10.0, &[(name, "strong halo")], TEXT);
    }
}

fn circle(area: &Area, centre: &[f64; 2], radius: f64) -> Path {
    let points = 72;
    let mut path = Path::through((0..points).map(|i| {
        let (sin, cos) = (f64::from(i) / f64::from(points) * std::f64::consts::TAU).sin_cos();
        area.at(centre[0] + radius * cos, centre[1] + radius * sin)
    }));
    path.close();
    path
}

/// The legend, from left to right, on as many lines as needed.
fn legend(svg: &mut Svg, room: f64) {
    type Sign = fn(&mut Svg, (f64, f64));
    let signs: [(&str, Sign); 9] = [
        ("says yes", |svg, at| {
            svg.rect((at.0 - 8.0, at.1 - 6.0), (at.0 + 8.0, at.1 + 6.0), 2.0, "region-yes")
        }),
        ("says no", |svg, at| {
            svg.rect((at.0 - 8.0, at.1 - 6.0), (at.0 + 8.0, at.1 + 6.0), 2.0, "region-no")
        }),
        ("favourable in the data", |svg, at| {
            let mut path = Path::default();
            path.dot(at);
            svg.path(&path, "sample-yes");
        }),
        ("unfavourable in the data", |svg, at| {
            let mut path = Path::default();
            path.cross(at, 3.0);
            svg.path(&path, "sample-no");
        }),
        ("the person", |svg, at| svg.circle(at, 5.5, "start")),
        ("recourse by the distilled tree (probe-tree)", |svg, at| svg.circle(at, 6.0, "flip")),
        ("recourse by method probe, on the forest itself", |svg, at| svg.circle(at, 6.0, "chosen")),
        ("2σ around it", |svg, at| svg.circle(at, 7.0, "ring-outer")),
        ("part shown below", |svg, at| {
            svg.rect((at.0 - 8.0, at.1 - 6.0), (at.0 + 8.0, at.1 + 6.0), 0.0, "frame")
        }),
    ];
    let (mut x, mut y) = (0.0, 8.0);
    for (text, sign) in signs {
        let wide = 26.0 + width(text, TEXT) + 14.0;
        if x > 0.0 && x + wide > room {
            (x, y) = (0.0, y + 24.0);
        }
        sign(svg, (x + 9.0, y));
        svg.text((x + 24.0, y + 4.5), text, Anchor::Start, "tick");
        x += wide;
    }
}

fn described(study: &Study) -> String {
    format!(
        "Four panels on two moons with noise of variance {VARIANCE}. The person's rate is {} on \
         the tree. The recourse that is found on the tree has a rate of {} there and {} on the \
         forest; that of method probe has {} on the forest.",
        rate(study.person.on_tree),
        rate(study.theirs.0.on_tree),
        rate(study.theirs.0.on_forest),
        rate(study.ours.0.on_forest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::model::{Tree, TreeRules};

    #[test]
    fn boxes_are_the_leaves_in_view() {
        let mut tree = Tree::default();
        (0..5).for_each(|_| _ = tree.push_leaf(0.0));
        // Left of 0; above it, below and above 0.5.
        (tree.feature, tree.threshold) = (vec![0, 0, 1, 0, 0], vec![0.0, 0.0, 0.5, 0.0, 0.0]);
        (tree.left, tree.right) = (vec![1, -1, 3, -1, -1], vec![2, -1, 4, -1, -1]);
        tree.value = vec![0.0, 0.2, 0.0, 0.9, 0.5];
        let model = Trees::new(2, vec![tree], TreeRules::default(), 0.0).unwrap();
        let ([x0, x1], [y0, y1]) = VIEW;
        let mut found = leaves(&model, VIEW);
        found.sort_by(|a, b| a.0[0][0].total_cmp(&b.0[0][0]).then(a.0[1][0].total_cmp(&b.0[1][0])));
        let expected = [
            ([[x0, 0.0], [y0, y1]], false),
            ([[0.0, x1], [y0, 0.5]], true),
            ([[0.0, x1], [0.5, y1]], false),
        ];
        assert_eq!(found, expected);
    }
}
