//! Labels next to points that overlap neither each other nor the drawing.

use super::svg::{Anchor, Svg};
use super::text::width;

/// Places labels one after the other; each takes the first free spot around its point.
#[derive(Debug, Clone)]
pub struct Labels {
    bounds: Rect,
    taken: Vec<Rect>,
    /// Points that have labels of their own.
    marks: Vec<(f64, f64)>,
}

/// Penalty for a label nearer to another mark than to its own, in units of covered area.
const MISTAKEN: f64 = 60.0;

#[derive(Debug, Clone, Copy)]
struct Rect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Rect {
    /// How far a point is from here.
    fn distance(&self, at: (f64, f64)) -> f64 {
        let (x, y) = (at.0.clamp(self.left, self.right), at.1.clamp(self.top, self.bottom));
        (at.0 - x).hypot(at.1 - y)
    }

    fn overlap(&self, other: &Rect) -> f64 {
        let w = self.right.min(other.right) - self.left.max(other.left);
        let h = self.bottom.min(other.bottom) - self.top.max(other.top);
        if w > 0.0 && h > 0.0 { w * h } else { 0.0 }
    }
}

impl Labels {
    /// Labels must stay between these two corners.
    pub fn within(top_left: (f64, f64), bottom_right: (f64, f64)) -> Self {
        let bounds = Rect {
            left: top_left.0,
            top: top_left.1,
            right: bottom_right.0,
            bottom: bottom_right.1,
        };
        Self { bounds, taken: Vec::new(), marks: Vec::new() }
    }

    /// Keeps labels away from a point of the drawing.
    pub fn avoid(&mut self, at: (f64, f64), radius: f64) {
        self.taken.push(Rect {
            left: at.0 - radius,
            top: at.1 - radius,
            right: at.0 + radius,
            bottom: at.1 + radius,
        });
    }

    /// Keeps labels away from a point that will have a label itself, so that no other label seems
    /// to belong to it.
    pub fn mark(&mut self, at: (f64, f64), radius: f64) {
        self.avoid(at, radius);
        self.marks.push(at);
    }

    /// Keeps labels away from a straight line.
    pub fn avoid_line(&mut self, from: (f64, f64), to: (f64, f64)) {
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let pieces = (length / 8.0).ceil().clamp(1.0, 400.0) as usize;
        for i in 0..=pieces {
            let t = i as f64 / pieces as f64;
            self.avoid((from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)), 2.0);
        }
    }

    /// Writes lines of text of one size beside a point, at least `gap` away from it.
    pub fn place(
        &mut self,
        svg: &mut Svg,
        at: (f64, f64),
        gap: f64,
        lines: &[(&str, &str)],
        size: f64,
    ) {
        let w = lines.iter().map(|(text, _)| width(text, size)).fold(0.0, f64::max);
        let h = lines.len() as f64 * size * 1.3;
        let mut best: Option<(f64, Rect)> = None;
        for (order, (dx, dy)) in spots().into_iter().enumerate() {
            // dx, dy in -1..=1: where the box lies relative to the point.
            let centre_x = at.0 + dx * (w / 2.0 + gap);
            let centre_y = at.1 + dy * (h / 2.0 + gap * 0.8);
            let left = (centre_x - w / 2.0)
                .clamp(self.bounds.left, (self.bounds.right - w).max(self.bounds.left));
            let top = (centre_y - h / 2.0)
                .clamp(self.bounds.top, (self.bounds.bottom - h).max(self.bounds.top));
            let spot = Rect { left, top, right: left + w, bottom: top + h };
            let point =
                Rect { left: at.0 - 3.0, top: at.1 - 3.0, right: at.0 + 3.0, bottom: at.1 + 3.0 };
            let covered: f64 = self.taken.iter().map(|t| t.overlap(&spot)).sum();
            let own = spot.distance(at);
            let mistaken =
                self.marks.iter().filter(|m| **m != at && spot.distance(**m) < own + 2.0).count();
            let badness = covered
                + 20.0 * point.overlap(&spot)
                + MISTAKEN * mistaken as f64
                + order as f64 * 0.01;
            if best.is_none_or(|(b, _)| badness < b) {
                best = Some((badness, spot));
            }
        }
        let Some((_, spot)) = best else { return };
        let anchor = if spot.right < at.0 {
            Anchor::End
        } else if spot.left > at.0 {
            Anchor::Start
        } else {
            Anchor::Middle
        };
        let x = match anchor {
            Anchor::Start => spot.left,
            Anchor::Middle => (spot.left + spot.right) / 2.0,
            Anchor::End => spot.right,
        };
        for (i, (text, class)) in lines.iter().enumerate() {
            svg.text((x, spot.top + size * (1.3 * i as f64 + 1.0)), text, anchor, class);
        }
        if spot.distance(at) > LEADER * gap {
            let end = (at.0.clamp(spot.left, spot.right), at.1.clamp(spot.top, spot.bottom));
            svg.line(at, end, "leader");
        }
        self.taken.push(spot);
    }
}

/// A label farther away than so many gaps gets a line to its point.
const LEADER: f64 = 2.5;

/// Directions to try: first close by, then twice as far, then far.
fn spots() -> Vec<(f64, f64)> {
    let near = [
        (1.0, -1.0),
        (1.0, 0.0),
        (1.0, 1.0),
        (0.0, -1.0),
        (0.0, 1.0),
        (-1.0, -1.0),
        (-1.0, 0.0),
        (-1.0, 1.0),
    ];
    let farther = |by: (f64, f64)| near.iter().map(move |(x, y)| (x * by.0, y * by.1));
    near.iter().copied().chain(farther((1.4, 1.9))).chain(farther((1.8, 3.2))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_labels_apart() {
        let mut labels = Labels::within((0.0, 0.0), (300.0, 200.0));
        let points = [(150.0, 100.0), (157.0, 101.0), (160.0, 92.0)];
        points.iter().for_each(|at| labels.mark(*at, 5.0));
        let mut svg = Svg::new("t", 300.0, 200.0, "", "");
        for at in points {
            labels.place(&mut svg, at, 8.0, &[("a method", "label")], 13.0);
        }
        let boxes = &labels.taken[labels.taken.len() - 3..];
        for (spot, own) in boxes.iter().zip(points) {
            let others = points.iter().filter(|other| **other != own);
            assert!(
                others.clone().all(|other| spot.distance(*other) > spot.distance(own)),
                "{spot:?} {own:?}"
            );
            assert!(points.iter().all(|point| spot.distance(*point) > 0.0), "{spot:?}");
        }
        for (i, a) in boxes.iter().enumerate() {
            assert!(boxes[..i].iter().all(|b| a.overlap(b) == 0.0));
        }
    }

    #[test]
    fn labels_avoid_each_other_and_the_line() {
        let mut labels = Labels::within((0.0, 0.0), (300.0, 200.0));
        labels.avoid_line((150.0, 100.0), (300.0, 100.0));
        let mut svg = Svg::new("t", 300.0, 200.0, "", "");
        for _ in 0..3 {
            labels.place(&mut svg, (150.0, 100.0), 8.0, &[("a label", "label")], 13.0);
        }
        let boxes = &labels.taken[labels.taken.len() - 3..];
        for (i, a) in boxes.iter().enumerate() {
            assert!(a.left >= 0.0 && a.right <= 300.0 && a.top >= 0.0 && a.bottom <= 200.0);
            let others =
                labels.taken.iter().enumerate().filter(|(j, _)| *j != labels.taken.len() - 3 + i);
            assert_eq!(others.map(|(_, b)| a.overlap(b)).sum::<f64>(), 0.0);
        }
    }
}
