//! Picture: a hundred attempts, of which some fail.

use crate::number::Odds;
use crate::plot::{Path, Svg};

/// Ten rows of ten: dots are attempts that end in a yes, crosses those that fail. `None` where the
/// rate is unknown.
pub(super) fn icons(rate: Option<f64>, id: &str) -> Option<Svg> {
    let rate = rate?;
    let odds = Odds::of(rate)?;
    let failing = (rate * 100.0).round() as usize;
    let pitch = 15.0;
    let side = pitch * 10.0;
    let described = format!("Of 100 attempts about {failing} fail ({odds}).");
    let mut svg = Svg::new(id, side, side, "A hundred attempts", &described);
    let mut crosses = Path::default();
    for i in 0..100 {
        let at = ((i % 10) as f64 * pitch + pitch / 2.0, (i / 10) as f64 * pitch + pitch / 2.0);
        if i + failing >= 100 { crosses.cross(at, 3.4) } else { svg.circle(at, 4.8, "icon-yes") }
    }
    svg.path(&crosses, "icon-no");
    Some(svg)
}
