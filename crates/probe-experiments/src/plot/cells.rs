//! Where a model says yes, as cells of a grid.

use super::axes::Area;
use super::svg::Svg;

/// Paints a grid over the ranges of `x` and `y`, row after row from their lower ends: yes on a
/// ground of no. Neighbours of a row are one rectangle.
pub fn paint_cells(
    svg: &mut Svg,
    area: &Area,
    (x, y): ([f64; 2], [f64; 2]),
    columns: usize,
    yes: &[bool],
) {
    let Some(rows) = yes.len().checked_div(columns).filter(|rows| *rows > 0) else { return };
    let corner = |i: usize, j: usize| {
        let (tx, ty) = (i as f64 / columns as f64, j as f64 / rows as f64);
        area.at(x[0] + tx * (x[1] - x[0]), y[0] + ty * (y[1] - y[0]))
    };
    svg.rect(corner(0, 0), corner(columns, rows), 0.0, "region-no");
    for (j, row) in yes.chunks_exact(columns).enumerate() {
        let mut i = 0;
        while i < columns {
            let run = row[i..].iter().take_while(|yes| **yes).count();
            if run > 0 {
                svg.rect(corner(i, j), corner(i + run, j + 1), 0.0, "region-yes");
            }
            i += run.max(1);
        }
    }
}
