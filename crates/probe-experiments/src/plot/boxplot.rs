//! Box plots: how one number is spread over people.

use super::axes::Area;
use super::svg::Svg;

/// Quartiles and whiskers, as Tukey draws them: whiskers end at the furthest values within one and
/// a half boxes of the box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Ends of the whiskers.
    pub whiskers: [f64; 2],
    /// First and third quartile.
    pub quartiles: [f64; 2],
    /// Median.
    pub median: f64,
}

impl Spread {
    /// Of the values that exist and are finite; `None` without any. Quantiles lie between
    /// neighbours in proportion.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().flatten().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let quantile = |p: f64| {
            let at = p * last as f64;
            let (below, above) = (values[at.floor() as usize], values[at.ceil() as usize]);
            below + (at - at.floor()) * (above - below)
        };
        let quartiles = [quantile(0.25), quantile(0.75)];
        let reach = 1.5 * (quartiles[1] - quartiles[0]);
        let inside = |v: &&f64| **v >= quartiles[0] - reach && **v <= quartiles[1] + reach;
        let mut kept = values.iter().filter(inside);
        let low = kept.next().copied().unwrap_or(quartiles[0]);
        let high = kept.next_back().copied().unwrap_or(low);
        Some(Self { whiskers: [low, high], quartiles, median: quantile(0.5) })
    }
}

/// Draws an upright box at the value `x` of the horizontal scale, `half` pixels to both sides.
pub fn draw_box(svg: &mut Svg, area: &Area, x: f64, half: f64, spread: &Spread, class: &str) {
    let x = area.x.at(x);
    let at = |v: f64| area.y.at(v);
    let [low, high] = spread.whiskers.map(at);
    let [first, third] = spread.quartiles.map(at);
    svg.line((x, low), (x, first), &format!("{class} whisker"));
    svg.line((x, third), (x, high), &format!("{class} whisker"));
    for end in [low, high] {
        svg.line((x - half * 0.5, end), (x + half * 0.5, end), &format!("{class} whisker"));
    }
    svg.rect((x - half, first), (x + half, third), 0.0, &format!("{class} boxed"));
    svg.line(
        (x - half, at(spread.median)),
        (x + half, at(spread.median)),
        &format!("{class} median"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_by_hand() {
        // 0 to 8 and an outlier: quartiles at 2.25 and 6.75, whiskers within 4.5·1.5 of them.
        let values = [8.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 100.0].map(Some);
        let found = Spread::of(values.into_iter().chain([None, Some(f64::NAN)])).unwrap();
        assert_eq!(
            (found.quartiles, found.median, found.whiskers),
            ([2.25, 6.75], 4.5, [0.0, 8.0])
        );
        let one = Spread::of([Some(3.0)]).unwrap();
        assert_eq!((one.quartiles, one.median, one.whiskers), ([3.0, 3.0], 3.0, [3.0, 3.0]));
        assert_eq!(Spread::of([None]), None);
    }
}
