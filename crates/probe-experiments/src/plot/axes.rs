//! The frame of a chart: grid, ticks and axis titles.

use super::scale::{Scale, Ticks};
use super::svg::{Anchor, Svg};
use super::text::{fit, width};

/// Text size of tick labels and axis titles; the style sheet has the same.
const SIZE: f64 = 13.0;

/// One axis before it has a place.
#[derive(Debug, Clone)]
pub struct Axis<'a> {
    /// What is measured, with its unit.
    pub title: &'a str,
    /// Values; positions are set by [`Area::draw`].
    pub scale: Scale,
    /// Tick labels instead of the plain numbers.
    pub label: Option<fn(f64) -> String>,
}

/// Where the data of a chart goes.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Lower edge.
    pub bottom: f64,
    /// Horizontal scale, placed.
    pub x: Scale,
    /// Vertical scale, placed.
    pub y: Scale,
}

impl Area {
    /// Draws grid, ticks and titles, and returns the room that is left for the data.
    ///
    /// The vertical title is above its axis, so that it is horizontal text.
    pub fn draw(svg: &mut Svg, size: (f64, f64), x: &Axis<'_>, y: &Axis<'_>) -> Self {
        let top = 30.0;
        let bottom = (size.1 - 48.0).max(top + 10.0);
        let y_ticks = y.ticks(((bottom - top) / 62.0) as usize);
        let widest = y_ticks.labels.iter().map(|l| width(l, SIZE)).fold(0.0, f64::max);
        let left = (widest + 12.0).min(size.0 / 2.0);
        let right = size.0 - 14.0;
        let x_ticks = x.ticks_within(right - left);
        let area = Self {
            left,
            top,
            right,
            bottom,
            x: x.scale.placed(left, right),
            y: y.scale.placed(bottom, top),
        };
        for (value, label) in y_ticks.values.iter().zip(&y_ticks.labels) {
            let at = area.y.at(*value);
            svg.line((left, at), (right, at), "grid");
            svg.text((left - 8.0, at + SIZE * 0.35), label, Anchor::End, "tick");
        }
        for (value, label) in x_ticks.values.iter().zip(&x_ticks.labels) {
            let at = area.x.at(*value);
            svg.line((at, bottom), (at, bottom + 5.0), "axis");
            let half = width(label, SIZE) / 2.0;
            let at = at.clamp(half, (size.0 - half).max(half));
            svg.text((at, bottom + 20.0), label, Anchor::Middle, "tick");
        }
        svg.line((left, bottom), (right, bottom), "axis");
        let room = size.0 - 4.0;
        svg.named_text(
            (0.0, 14.0),
            &fit(y.title, room, SIZE),
            Some(y.title),
            Anchor::Start,
            "axis-title",
        );
        let title = fit(x.title, room, SIZE);
        let middle = ((left + right) / 2.0).min(size.0 - width(&title, SIZE) / 2.0);
        svg.named_text((middle, size.1 - 6.0), &title, Some(x.title), Anchor::Middle, "axis-title");
        area
    }

    /// Position of a point of the data.
    pub fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.at(x), self.y.at(y))
    }
}

impl Axis<'_> {
    fn ticks(&self, count: usize) -> Ticks {
        let mut ticks = self.scale.ticks(count.max(2));
        if let Some(label) = self.label {
            ticks.labels = ticks.values.iter().map(|v| label(*v)).collect();
        }
        ticks
    }

    /// As many ticks as their labels leave room for.
    fn ticks_within(&self, room: f64) -> Ticks {
        let mut count = 8;
        loop {
            let ticks = self.ticks(count);
            let widest = ticks.labels.iter().map(|l| width(l, SIZE)).fold(0.0, f64::max) + 14.0;
            if count <= 2 || widest * ticks.labels.len() as f64 <= room {
                return ticks;
            }
            count -= 1;
        }
    }
}
