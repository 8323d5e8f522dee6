//! A model of two features as a picture: where it says yes, and where people go.

use crate::plot::{Area, Axis, Labels, Scale, Svg, paint_cells};
use probe_core::{Model, Result, Rows};

/// Cells of the picture, across and up.
const CELLS: (usize, usize) = (150, 120);

/// A part of the plane.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct View {
    pub(super) x: [f64; 2],
    pub(super) y: [f64; 2],
}

/// A point to go to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spot {
    pub(super) point: [f64; 2],
    /// Colour.
    pub(super) class: &'static str,
    pub(super) label: String,
    /// Radii of rings around it, in the units of the plane.
    pub(super) rings: Vec<f64>,
}

/// Where `model` says yes on the grid of a view.
pub(super) fn decisions(model: &dyn Model, view: View) -> Result<Vec<bool>> {
    let along = |range: [f64; 2], i: usize, n: usize| {
        range[0] + (i as f64 + 0.5) / n as f64 * (range[1] - range[0])
    };
    let rows: Vec<f64> = (0..CELLS.1)
        .flat_map(|j| {
            (0..CELLS.0).flat_map(move |i| [along(view.x, i, CELLS.0), along(view.y, j, CELLS.1)])
        })
        .collect();
    let mut scores = vec![0.0; CELLS.0 * CELLS.1];
    model.score_batch(Rows::new(&rows, 2)?, &mut scores)?;
    Ok(scores.into_iter().map(|score| score > 0.0).collect())
}

/// Draws the plane, the person and where they may go. A unit is as long across as up where the view
/// has the shape of `size`.
pub(super) fn draw(
    svg: &mut Svg,
    size: (f64, f64),
    view: View,
    yes: &[bool],
    person: [f64; 2],
    spots: &[Spot],
) {
    let x = Axis {
        title: "first feature",
        scale: Scale::new(view.x[0], view.x[1], 0.0, 1.0),
        label: None,
    };
    let y = Axis {
        title: "second feature",
        scale: Scale::new(view.y[0], view.y[1], 0.0, 1.0),
        label: None,
    };
    let area = Area::draw(svg, size, &x, &y);
    svg.begin_clip((area.left, area.top), (area.right, area.bottom));
    paint_cells(svg, &area, (view.x, view.y), CELLS.0, yes);
    let from = area.at(person[0], person[1]);
    let unit = (area.right - area.left) / (view.x[1] - view.x[0]);
    let mut labels =
        Labels::within((area.left + 4.0, area.top + 2.0), (area.right - 4.0, area.bottom - 4.0));
    labels.avoid(from, 8.0);
    for spot in spots {
        let to = area.at(spot.point[0], spot.point[1]);
        labels.avoid(to, 8.0);
        labels.avoid_line(from, to);
        svg.line(from, to, &format!("{} whisker", spot.class));
        for ring in &spot.rings {
            svg.circle(to, ring * unit, &format!("{} line", spot.class));
        }
    }
    for spot in spots {
        let to = area.at(spot.point[0], spot.point[1]);
        svg.circle(to, 5.5, &format!("{} mark", spot.class));
        labels.place(svg, to, 10.0, &[(&spot.label, &format!("{} tone halo", spot.class))], 13.0);
    }
    svg.circle(from, 5.0, "start");
    labels.place(svg, from, 8.0, &[("the person", "halo")], 13.0);
    svg.end_clip();
}
