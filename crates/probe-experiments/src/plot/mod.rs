//! A small SVG drawing kit: scales with round ticks, axes, and labels that avoid each other.
//!
//! Pictures carry classes instead of colours, so that one style sheet serves the light page, the
//! dark page and print. Each picture is laid out once for a wide and once for a narrow page, so
//! that text
//! keeps its size.

mod axes;
mod boxplot;
mod cells;
mod labels;
mod panels;
mod scale;
mod style;
mod svg;
mod text;

pub use axes::{Area, Axis};
pub use boxplot::{Spread, draw_box};
pub use cells::paint_cells;
pub use labels::Labels;
pub use panels::Figure;
pub use scale::{Scale, Ticks};
pub use style::STYLE;
pub use svg::{Anchor, Path, Svg, escape};
pub use text::{fit, width};
