//! Curves as pictures: logarithms on both axes, what was measured as lines with dots, what theory
//! says as broken lines.

use super::{Curve, Panel, power_text};
use probe_experiments::plot::{Area, Axis, Figure, Labels, Path, Scale, Svg};

const CHART: (f64, f64) = (360.0, 250.0);
/// Text size of labels, and as much more as bold letters are wider.
const BOLD: f64 = 14.5;

/// A picture of some charts.
struct Picture {
    file: &'static str,
    title: &'static str,
    panels: &'static [Panel],
}

const PICTURES: [Picture; 3] = [
    Picture {
        file: "scaling-people.svg",
        title: "Time grows with the people, and falls with threads",
        panels: &[Panel::People, Panel::Threads],
    },
    Picture {
        file: "scaling-models.svg",
        title: "Time for one person as models grow",
        panels: &[Panel::Features, Panel::Width, Panel::Depth, Panel::Trees],
    },
    Picture {
        file: "scaling-rate.svg",
        title: "Time and lines for one person as the rate gets smaller",
        panels: &[Panel::Rate, Panel::Lines],
    },
];

/// What a picture is about, by its path.
pub(super) fn about(path: &str) -> &'static str {
    PICTURES.iter().find(|picture| path.ends_with(picture.file)).map_or("", |picture| picture.title)
}

/// All pictures of which there are curves, by the names of their files.
pub(super) fn draw(curves: &[Curve]) -> Vec<(&'static str, String)> {
    let of = |panel: Panel| curves.iter().filter(move |curve| curve.panel == panel);
    let caption = "Axes are logarithmic, except those of threads and layers. Dots and full lines: \
                   measured. Broken lines: the theory, through the last point.";
    let mut made = Vec::new();
    for Picture { file, title, panels } in PICTURES {
        let panels: Vec<Panel> =
            panels.iter().copied().filter(|panel| of(*panel).next().is_some()).collect();
        if panels.is_empty() {
            continue;
        }
        let heads: Vec<String> = panels.iter().map(|panel| panel.head().to_owned()).collect();
        let id = file.trim_end_matches(".svg");
        let figure = Figure { id, title, caption, legend: &[], columns: 2, size: CHART };
        let svg =
            figure.draw(&heads, |svg, i| chart(svg, panels[i], &of(panels[i]).collect::<Vec<_>>()));
        made.push((file, svg.standalone()));
    }
    made
}

fn chart(svg: &mut Svg, panel: Panel, curves: &[&Curve]) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let across = |size: f64| if panel.is_small() { size } else { size.log10() };
    let up =
        |value: f64| if panel == Panel::Threads { value } else { (value * panel.factor()).log10() };
    let axis = |title, values: &mut dyn Iterator<Item = f64>, plain: bool| {
        let scale = Scale::over(values, 0.08, 0.0, 1.0);
        let label: Option<fn(f64) -> String> = if plain { Some(whole) } else { None };
        Axis { title, scale: if plain { scale } else { scale.of_logarithms() }, label }
    };
    // As fast as there are threads, if all went well.
    let ideal = points().map(|p| p.size).filter(|_| panel == Panel::Threads);
    let x = axis(panel.axis(), &mut points().map(|p| across(p.size)), panel.is_small());
    let y = axis(
        panel.measure(),
        &mut points().map(|p| up(p.value)).chain(ideal),
        panel == Panel::Threads,
    );
    let area = Area::draw(svg, CHART, &x, &y);
    let mut labels = Labels::within((area.left, area.top), (area.right, area.bottom));
    let mut named = Vec::new();
    svg.begin_clip((area.left, area.top), (area.right, area.bottom));
    for (k, curve) in curves.iter().enumerate() {
        let class = format!("s{k}");
        let (Some(first), Some(last)) = (curve.points.first(), curve.points.last()) else {
            continue;
        };
        if let Some(power) = curve.expected {
            // Straight on these axes: powers between logarithms, and a speed that grows with
            // threads.
            let start = last.value * (first.size / last.size).powf(power);
            let ends = match panel {
                Panel::Threads => [(first.size, first.value), (last.size, last.size)],
                _ => [(first.size, start), (last.size, last.value)],
            };
            let ends = ends.map(|(size, value)| area.at(across(size), up(value)));
            svg.path(&Path::through(ends), &format!("{class} line dash"));
            labels.avoid_line(ends[0], ends[1]);
        }
        let at: Vec<(f64, f64)> =
            curve.points.iter().map(|p| area.at(across(p.size), up(p.value))).collect();
        svg.path(&Path::through(at.iter().copied()), &format!("{class} line"));
        at.windows(2).for_each(|ends| labels.avoid_line(ends[0], ends[1]));
        at.iter().for_each(|at| svg.circle(*at, 3.5, &format!("{class} mark")));
        let slope = curve
            .slope()
            .filter(|_| !panel.is_small())
            .map(|slope| format!("slope {}", power_text(slope)));
        named.push((at[at.len() / 2], curve.name, slope, format!("{class} tone halo")));
    }
    svg.end_clip();
    for (at, name, slope, class) in &named {
        let lines: Vec<(&str, &str)> = std::iter::once(*name)
            .chain(slope.as_deref())
            .map(|text| (text, class.as_str()))
            .collect();
        labels.place(svg, *at, 12.0, &lines, BOLD);
    }
}

/// A whole number; nothing for others.
fn whole(value: f64) -> String {
    if (value - value.round()).abs() < 1e-9 { format!("{value:.0}") } else { String::new() }
}

impl Panel {
    /// Whether sizes are so few that an axis of their logarithms would say less.
    fn is_small(self) -> bool {
        matches!(self, Self::Threads | Self::Depth)
    }

    fn head(self) -> &'static str {
        match self {
            Self::People => "People in a batch",
            Self::Threads => "Threads",
            Self::Features => "Features",
            Self::Width => "Hidden units in one layer",
            Self::Depth => "Hidden layers",
            Self::Trees => "Trees",
            Self::Rate => "Time",
            Self::Lines => "Lines read",
        }
    }

    fn axis(self) -> &'static str {
        match self {
            Self::People => "people",
            Self::Threads => "threads",
            Self::Features => "features",
            Self::Width => "units",
            Self::Depth => "layers",
            Self::Trees => "trees",
            Self::Rate | Self::Lines => "target rate r",
        }
    }

    fn measure(self) -> &'static str {
        match self {
            Self::People => "seconds for all",
            Self::Threads => "times as fast as one thread",
            Self::Lines => "lines for one person",
            _ => "milliseconds for one person",
        }
    }

    /// From measured values to values on the axis.
    fn factor(self) -> f64 {
        match self {
            Self::People | Self::Threads | Self::Lines => 1.0,
            _ => 1e3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Point;
    use super::*;

    #[test]
    fn pictures_name_their_curves_and_slopes() {
        let points = [5.0, 50.0, 500.0].map(|size| Point {
            size,
            value: 1e-6 * size,
            certified: 1.0,
            lines: 0.0,
        });
        let curve = |panel, name| Curve {
            panel,
            name,
            theory: "1",
            expected: Some(1.0),
            points: points.to_vec(),
        };
        let made = draw(&[curve(Panel::Features, "straight"), curve(Panel::Trees, "wood")]);
        assert_eq!(made.len(), 1);
        let (file, text) = &made[0];
        assert_eq!(*file, "scaling-models.svg");
        for word in [">straight<", ">wood<", ">slope 1.00<", ">Trees<", "logarithmic"] {
            assert!(text.contains(word), "{word}");
        }
        assert!(!text.contains("NaN") && !text.contains(">Hidden layers<"));
        assert_eq!(about("images/scaling-rate.svg"), PICTURES[2].title);
    }
}
