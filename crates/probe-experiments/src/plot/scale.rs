//! Linear scales and round tick values.

use crate::number;

/// Maps values to positions, linearly. Always usable: a range without extent or with gaps is
/// widened.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    start: f64,
    end: f64,
    /// Whether values are decimal logarithms of the tick labels.
    logarithms: bool,
}

/// Tick values with their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Ticks {
    /// Values, increasing.
    pub values: Vec<f64>,
    /// One label for each value.
    pub labels: Vec<String>,
}

impl Scale {
    /// Values `low..=high` at positions `start..=end`; `start` may lie right of or below `end`.
    pub fn new(low: f64, high: f64, start: f64, end: f64) -> Self {
        let (low, high) = usable(low, high);
        Self { low, high, start, end, logarithms: false }
    }

    /// A scale over all finite values, with a margin on both sides as a share of their extent.
    pub fn over(values: impl IntoIterator<Item = f64>, margin: f64, start: f64, end: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().filter(|v| v.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        let (low, high) = usable(low, high);
        let pad = (high - low) * margin;
        Self::new(low - pad, high + pad, start, end)
    }

    /// The same, its values being decimal logarithms: ticks stand at 1, 2 and 5 times powers of
    /// ten, and are labelled so.
    pub fn of_logarithms(self) -> Self {
        Self { logarithms: true, ..self }
    }

    /// Lowest value.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// Highest value.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// The same values at other positions.
    pub fn placed(&self, start: f64, end: f64) -> Self {
        Self { start, end, ..*self }
    }

    /// Position of a value; the start for a value that is not finite.
    pub fn at(&self, value: f64) -> f64 {
        if !value.is_finite() {
            return self.start;
        }
        // A value far off the scale is held at a distance that can still be drawn.
        let share = ((value - self.low) / (self.high - self.low)).clamp(-1e3, 1e3);
        self.start + share * (self.end - self.start)
    }

    /// Whether a value lies on the scale.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// About `count` round values on the scale (never more than twice as many).
    pub fn ticks(&self, count: usize) -> Ticks {
        let count = count.max(1);
        if self.logarithms {
            return self.decades(count);
        }
        let raw = (self.high - self.low) / count as f64;
        let power = 10f64.powf(raw.log10().floor());
        // The round step whose ratio to the wanted one is closest to 1.
        let distance = |step: f64| (step / raw).ln().abs();
        let round = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|f| f * power);
        let step = round.min_by(|a, b| distance(*a).total_cmp(&distance(*b))).unwrap_or(raw);
        if !(step.is_finite() && step > 0.0) {
            return Ticks { values: Vec::new(), labels: Vec::new() };
        }
        let first = (self.low / step - 1e-9).ceil();
        let values: Vec<f64> = (0..=2 * count)
            .map(|i| (first + i as f64) * step)
            .take_while(|v| *v <= self.high + step * 1e-9)
            .collect();
        let decimals = (2.0 - step.log10().floor()).clamp(0.0, 17.0) as usize;
        let extreme = self.low.abs().max(self.high.abs());
        let plain = extreme < 1e12 && (extreme >= 1e-3 || extreme == 0.0);
        let labels = values
            .iter()
            .map(|v| if plain { number::fixed(*v, decimals) } else { number::rounded(*v, 3) })
            .collect();
        Ticks { values, labels }
    }

    /// Powers of ten in steps that leave at most so many of them.
    fn powers(&self, most: usize) -> Vec<f64> {
        let (first, last) =
            (self.low.ceil().max(-300.0) as i32, self.high.floor().min(300.0) as i32);
        let every = |step: i32| (first..=last).filter(move |power| power.rem_euclid(step) == 0);
        let step = (1..=600).find(|step| every(*step).count() <= most).unwrap_or(1);
        every(step).map(f64::from).collect()
    }

    /// The finest of three sets that is not too fine, but never fewer than two ticks where there
    /// are as many.
    fn decades(&self, count: usize) -> Ticks {
        let within = |factors: &[f64]| {
            let (first, last) =
                (self.low.floor().max(-300.0) as i32, self.high.ceil().min(300.0) as i32);
            let all = (first..=last).flat_map(|power| factors.iter().map(move |f| (f, power)));
            let values = all.map(|(f, power)| f.log10() + f64::from(power));
            values.filter(|v| self.contains(*v)).take(4 * count).collect::<Vec<_>>()
        };
        let sets: [&[f64]; 4] =
            [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let sets = sets.map(within);
        let values = match sets.iter().find(|v| v.len() <= count + 2) {
            Some(fine) if fine.len() >= 2 => fine.clone(),
            Some(_) => sets[0].clone(),
            None => self.powers(count + 2),
        };
        let labels = values.iter().map(|v| number::rounded(10f64.powf(*v), 2)).collect();
        Ticks { values, labels }
    }
}

/// Differences of values up to this size do not overflow.
const FAR: f64 = 1e300;

fn usable(low: f64, high: f64) -> (f64, f64) {
    match (low.is_finite(), high.is_finite()) {
        (false, false) => (0.0, 1.0),
        (true, false) => usable(low, low),
        (false, true) => usable(high, high),
        (true, true) if low > high => usable(high, low),
        (true, true) => {
            let (low, high) = (low.clamp(-FAR, FAR), high.clamp(-FAR, FAR));
            let size = low.abs().max(high.abs());
            if high - low > size * 1e-12 {
                return (low, high);
            }
            let pad = if size > 0.0 { size * 0.1 } else { 0.5 };
            (low - pad, high + pad)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let ticks = Scale::new(0.0, 0.5, 0.0, 100.0).ticks(5);
        assert_eq!(ticks.labels, ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]);
        let ticks = Scale::new(28_700.0, 41_200.0, 0.0, 100.0).ticks(5);
        assert_eq!(ticks.labels, ["30,000", "32,500", "35,000", "37,500", "40,000"]);
    }

    #[test]
    fn ticks_of_logarithms_are_round_numbers() {
        let labels = |low: f64, high: f64, count| {
            Scale::new(low.log10(), high.log10(), 0.0, 1.0).of_logarithms().ticks(count).labels
        };
        assert_eq!(labels(0.04, 1.2, 3), ["0.05", "0.1", "0.2", "0.5", "1"]);
        assert_eq!(labels(0.26, 0.9, 3), ["0.3", "0.5", "0.7"]);
        // Five decades on a low chart: every other one.
        assert_eq!(labels(0.000_5, 40.0, 2), ["0.01", "1"]);
        assert_eq!(labels(1e-4, 1e6, 3), ["0.001", "1", "1,000", "1,000,000"]);
        assert_eq!(labels(0.001, 1000.0, 5), ["0.001", "0.01", "0.1", "1", "10", "100", "1,000"]);
    }

    #[test]
    fn positions_follow_values() {
        let scale = Scale::new(10.0, 20.0, 200.0, 100.0);
        assert_eq!(scale.at(10.0), 200.0);
        assert_eq!(scale.at(20.0), 100.0);
        assert_eq!(scale.at(15.0), 150.0);
        assert_eq!(scale.at(f64::NAN), 200.0);
    }

    #[test]
    fn odd_ranges_still_give_ticks() {
        for (low, high) in [
            (0.0, 0.0),
            (5.0, 5.0),
            (f64::NAN, 1.0),
            (f64::NEG_INFINITY, f64::INFINITY),
            (-f64::MAX, f64::MAX),
            (1e-300, 2e-300),
            (1e17, 1e17 + 64.0),
            (3.0, -3.0),
        ] {
            let scale = Scale::over([low, high], 0.05, 0.0, 300.0);
            let ticks = scale.ticks(5);
            assert!(ticks.values.len() <= 11, "{low} {high}");
            assert!(scale.at(low).is_finite() && scale.at(high).is_finite());
            let text = ticks.labels.join(" ");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{low} {high}: {text}");
        }
    }
}
