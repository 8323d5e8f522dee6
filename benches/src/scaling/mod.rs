//! How time grows: with people, features, hidden units, layers, trees and threads, and as rates get
//! smaller, against what theory says. Models and people are generated; one thread unless threads
//! are what varies.

mod curves;
mod picture;

use anyhow::Result;
use probe_bench::part::{BENCHMARKS, Figures, Part};
use probe_bench::stats::{power, upper_half};
use probe_bench::{folders, say};

/// Options of `probe-bench scaling`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Smaller sizes, for a look; nothing is written but the pictures, to the target folder
    #[arg(long)]
    quick: bool,
    /// Only curves whose name contains this; nothing is written but the pictures, to the target
    /// folder
    #[arg(long, default_value = "")]
    only: String,
}

/// One size, and its measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) size: f64,
    /// Seconds for all people or for one person, lines, or a speed-up: see [`Panel`].
    pub(crate) value: f64,
    /// The share of people who need an answer whose answer is certified.
    pub(crate) certified: f64,
    /// Lines read per answer.
    pub(crate) lines: f64,
}

/// Time against a size.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) panel: Panel,
    /// The model on which something is varied, such as "linear".
    pub(crate) name: &'static str,
    /// The exponent that theory gives, in words and, if there is one, as a number.
    pub(crate) theory: &'static str,
    pub(crate) expected: Option<f64>,
    pub(crate) points: Vec<Point>,
}

impl Curve {
    /// The exponent with which time grows over the upper half of the sizes.
    pub(crate) fn slope(&self) -> Option<f64> {
        let points: Vec<(f64, f64)> = self.points.iter().map(|p| (p.size, p.value)).collect();
        power(upper_half(&points))
    }
}

/// What is varied; one chart each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Panel {
    People,
    Threads,
    Features,
    Width,
    Depth,
    Trees,
    Rate,
    Lines,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let curves = curves::measure(options.quick, &options.only)?;
    let full = !options.quick && options.only.is_empty();
    let folder = if full { folders::root().join("docs/images") } else { folders::kept("scaling")? };
    let mut pictures = Vec::new();
    for (name, svg) in picture::draw(&curves) {
        std::fs::write(folder.join(name), svg)?;
        pictures.push(format!("docs/images/{name}"));
    }
    let text = render(&curves, &pictures);
    say(&text);
    if !full {
        eprintln!("pictures written to {}", folder.display());
        return Ok(());
    }
    let quoted = curves.iter().filter_map(|curve| {
        let name = format!("{:?}_{}", curve.panel, curve.name)
            .to_lowercase()
            .replace([' ', ',', '='], "_");
        Some((name, format!("{:.2}", curve.slope()?)))
    });
    Part {
        id: "scaling".into(),
        command: "scaling".into(),
        document: BENCHMARKS.into(),
        title: Some("Scaling".into()),
        text,
        figures: quoted.collect::<Figures>(),
        pictures,
    }
    .store()
}

fn render(curves: &[Curve], pictures: &[String]) -> String {
    let mut lines = vec![
        "Generated models and people, all denied; σ = 0.1 on every feature, l1, r = 0.1 unless it \
         varies; processor time of one thread unless threads vary. The slope is that of the line \
         nearest to the logarithms, over the upper half of the range.\n"
            .to_owned(),
    ];
    for picture in pictures {
        let name = picture.trim_start_matches("docs/");
        lines.push(format!("![{}]({name})\n", picture::about(name)));
    }
    lines.push(
        "| what varies | model | from | to | time at both ends | lines at both ends | slope | \
         theory | certified |"
            .to_owned(),
    );
    lines.push("|---|---|---|---|---|---|---|---|---|".to_owned());
    for curve in curves {
        let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
            continue;
        };
        let slope = curve.slope().filter(|_| curve.panel != Panel::Depth);
        let slope = slope.map_or("–".to_owned(), power_text);
        let lines_read = match last.lines > 0.0 {
            true => format!("{:.0}, {:.0}", first.lines, last.lines),
            false => "–".to_owned(),
        };
        let value = |point: &Point| curve.panel.value(point.value);
        lines.push(format!(
            "| {} | {} | {} | {} | {}, {} | {lines_read} | {slope} | {} | {} |",
            curve.panel.what(),
            curve.name,
            first.size,
            last.size,
            value(first),
            value(last),
            curve.theory,
            curve.certified()
        ));
    }
    lines.join("\n") + "\n"
}

/// Two decimals, without a minus sign for zero.
fn power_text(power: f64) -> String {
    format!("{:.2}", power + 0.0).replace("-0.00", "0.00").replace('-', "−")
}

impl Curve {
    /// The certified share: "100 %", or at which sizes it is lower.
    fn certified(&self) -> String {
        let short = self.points.iter().filter(|point| point.certified < 1.0);
        let words: Vec<String> = short
            .map(|point| format!("{:.0} % at {}", 100.0 * point.certified, point.size))
            .collect();
        if words.is_empty() {
            "100 %".to_owned()
        } else {
            format!("100 % but {}", words.join(", "))
        }
    }
}

impl Panel {
    fn what(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Threads => "threads",
            Self::Features => "features",
            Self::Width => "hidden units",
            Self::Depth => "hidden layers",
            Self::Trees => "trees",
            Self::Rate => "*r*, time",
            Self::Lines => "*r*, lines",
        }
    }

    /// A value as the table prints it.
    fn value(self, value: f64) -> String {
        match self {
            Self::Threads => format!("{value:.2} times as fast"),
            Self::Lines => format!("{value:.0} lines"),
            _ if value >= 1.0 => format!("{value:.2} s"),
            _ if value >= 1e-3 => format!("{:.2} ms", 1e3 * value),
            _ => format!("{:.2} µs", 1e6 * value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_knows_its_slope_at_the_far_end() {
        // Constant at first, then with the square.
        let at = |size: f64| Point { size, value: 100.0 + size * size, certified: 1.0, lines: 0.0 };
        let points = [1.0, 10.0, 1e3, 1e4, 1e5].map(at).to_vec();
        let curve = Curve { panel: Panel::Features, name: "t", theory: "", expected: None, points };
        assert_eq!(curve.certified(), "100 %");
        let slope = curve.slope().unwrap();
        assert!((slope - 2.0).abs() < 1e-3, "{slope}");
    }

    #[test]
    fn values_have_units() {
        let of = |value| Panel::People.value(value);
        assert_eq!([of(2.5), of(2.5e-3), of(2.5e-6)], ["2.50 s", "2.50 ms", "2.50 µs"]);
        assert_eq!([-0.001, -0.5, 1.0].map(power_text), ["0.00", "−0.50", "1.00"]);
        assert_eq!(Panel::Lines.value(1234.4), "1234 lines");
    }
}
