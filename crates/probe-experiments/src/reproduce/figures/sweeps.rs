//! Figures over many targets: Pareto fronts, achieved against asked, and what robustness costs.

use super::super::cell::{Cell, Kind, Run, summary};
use super::super::lab::Laboratory;
use super::super::methods::{Column, OURS, THEIRS, adversarial, subjects};
use super::super::{Experiment, Made, csv, number};
use super::{CHART, heads};
use crate::number::fixed;
use crate::paper_data::Error;
use crate::plot::{Area, Axis, Figure, Path, Scale, Svg};
use probe_core::registry::Entry;

pub(in super::super) const PARETO: Entry<dyn Experiment> =
    Entry { name: "pareto", reference: "Pareto plots, arXiv:2203.06768", item: &Pareto };

pub(in super::super) const ACHIEVED: Entry<dyn Experiment> = Entry {
    name: "achieved",
    reference: "figures of the appendix on empirical invalidation rates, arXiv:2203.06768",
    item: &Achieved,
};

pub(in super::super) const TRADEOFF: Entry<dyn Experiment> = Entry {
    name: "tradeoff",
    reference: "figures of the appendix on costs and robustness, arXiv:2203.06768",
    item: &Tradeoff,
};

const FRONT_RATES: [f64; 5] = [0.35, 0.3, 0.25, 0.2, 0.15];
/// Variances of the noise, and radii of the adversaries.
const FRONT_SIZES: [f64; 3] = [0.005, 0.01, 0.015];
const ACHIEVED_RATES: [f64; 5] = [0.2, 0.25, 0.3, 0.35, 0.4];
const ACHIEVED_VARIANCES: [f64; 2] = [0.01, 0.025];
const TRADEOFF_VARIANCE: f64 = 0.01;

/// Colours of the methods.
const SERIES: [(Column, &str); 2] = [(OURS, "s0"), (THEIRS, "s1")];
const LEGEND: [(&str, &str); 2] = [("s0", "our solver"), ("s1", "the paper's algorithm")];

/// A point of a figure.
#[derive(Debug, Clone, Copy)]
struct Point {
    rate: f64,
    rate_sd: f64,
    cost: f64,
    cost_interval: [f64; 2],
}

impl Point {
    fn of(cell: &Cell) -> Self {
        let (rate, cost) = (summary(&cell.rate), summary(&cell.cost));
        Self { rate: rate.mean, rate_sd: rate.sd, cost: cost.mean, cost_interval: cost.interval }
    }
}

/// All points, and the same as a file: data, classifier, method, varied setting and results.
fn collect(lab: &Laboratory, runs: &[Run]) -> Result<String, Error> {
    let mut rows = Vec::new();
    for run in runs {
        let cell = lab.cell(run)?;
        let (ra, air, rate, cost) = (
            summary(&cell.accuracy),
            summary(&cell.sampled_rate),
            summary(&cell.rate),
            summary(&cell.cost),
        );
        let mut row = vec![
            run.data.to_owned(),
            run.kind.short().to_owned(),
            run.method.to_owned(),
            run.options.join(" "),
        ];
        row.extend([run.rate, run.variance, cell.accuracy.len() as f64].map(number));
        row.extend([ra.mean, air.mean, air.sd, rate.mean, rate.sd, cost.mean, cost.sd].map(number));
        row.extend(cost.interval.map(number));
        rows.push(row);
    }
    let header = [
        "data",
        "classifier",
        "method",
        "settings",
        "target",
        "variance",
        "people",
        "ra",
        "air",
        "air_sd",
        "rate",
        "rate_sd",
        "cost",
        "cost_sd",
        "cost_low",
        "cost_high",
    ];
    Ok(csv(&header, rows.into_iter()))
}

struct Pareto;

impl Pareto {
    fn front(column: Column, data: &'static str, kind: Kind, variance: f64) -> Vec<Run> {
        FRONT_RATES.iter().map(|&rate| column.at(data, kind, variance, rate)).collect()
    }
}

impl Experiment for Pareto {
    fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for (data, kind) in subjects() {
            for size in FRONT_SIZES {
                runs.extend(
                    SERIES.iter().flat_map(|(column, _)| Self::front(*column, data, kind, size)),
                );
                runs.extend(adversarial().iter().map(|column| column.within(data, kind, size)));
            }
        }
        runs
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let point = |run: &Run| lab.cell(run).map(Point::of);
        let mut charts = Vec::new();
        for (data, kind) in subjects() {
            let mut lines: Vec<(&str, bool, Vec<Point>)> = Vec::new();
            for size in FRONT_SIZES {
                for (column, class) in SERIES {
                    let front: Result<Vec<_>, _> =
                        Self::front(column, data, kind, size).iter().map(point).collect();
                    lines.push((class, true, front?));
                }
            }
            for (column, class) in adversarial().into_iter().zip(["s2", "s3"]) {
                let points: Result<Vec<_>, _> = FRONT_SIZES
                    .iter()
                    .map(|&size| point(&column.within(data, kind, size)))
                    .collect();
                lines.push((class, false, points?));
            }
            charts.push(lines);
        }
        let caption = "Average l1 cost against average invalidation rate (true rates); left and \
                       low is better. A line joins the targets r = 0.35, 0.3, 0.25, 0.2, 0.15; \
                       there is one for each variance 0.005, 0.01, 0.015 of the noise, and more \
                       noise costs more. ROAR and ARAR have no target: a dot for each radius \
                       0.005, 0.01, 0.015, under noise of that variance, more noise to the right. \
                       Costs on a logarithmic scale.";
        let legend = [LEGEND[0], LEGEND[1], ("s2", "ROAR"), ("s3", "ARAR")];
        let figure = Figure {
            id: "pareto",
            title: "Cost and robustness: what each method makes of the same people",
            caption,
            legend: &legend,
            columns: 3,
            size: CHART,
        };
        let svg = figure.draw(&heads(), |svg, i| pareto_chart(svg, &charts[i]));
        let files =
            vec![("pareto.svg", svg.standalone()), ("pareto.csv", collect(lab, &self.runs())?)];
        Ok(Made { files, ..Made::default() })
    }
}

fn pareto_chart(svg: &mut Svg, lines: &[(&str, bool, Vec<Point>)]) {
    let drawn = |p: &&Point| p.rate.is_finite() && p.cost > 0.0;
    let all: Vec<&Point> = lines.iter().flat_map(|(.., points)| points).filter(drawn).collect();
    let highest = all.iter().map(|p| p.rate).fold(0.4, f64::max);
    let x = Axis {
        title: "attempts that fail, in 100",
        scale: Scale::new(0.0, (highest * 1.05).min(1.0), 0.0, 1.0),
        label: Some(|v| fixed(v * 100.0, 1)),
    };
    let y = Axis {
        title: "average cost",
        scale: Scale::over(all.iter().map(|p| p.cost.log10()), 0.08, 0.0, 1.0).of_logarithms(),
        label: None,
    };
    let area = Area::draw(svg, CHART, &x, &y);
    for (class, joined, points) in lines {
        let at: Vec<(f64, f64)> =
            points.iter().filter(drawn).map(|p| area.at(p.rate, p.cost.log10())).collect();
        if *joined {
            svg.path(&Path::through(at.iter().copied()), &format!("{class} line"));
        }
        at.iter().for_each(|at| {
            svg.circle(*at, if *joined { 3.0 } else { 5.0 }, &format!("{class} mark"))
        });
    }
}

struct Achieved;

impl Achieved {
    fn series(data: &'static str, kind: Kind) -> Vec<(&'static str, f64, Vec<Run>)> {
        let mut series = Vec::new();
        for (column, class) in SERIES {
            for variance in ACHIEVED_VARIANCES {
                let runs = ACHIEVED_RATES
                    .iter()
                    .map(|&rate| column.at(data, kind, variance, rate))
                    .collect();
                series.push((class, variance, runs));
            }
        }
        series
    }
}

impl Experiment for Achieved {
    fn runs(&self) -> Vec<Run> {
        subjects()
            .into_iter()
            .flat_map(|(d, k)| Self::series(d, k))
            .flat_map(|(.., runs)| runs)
            .collect()
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let mut charts = Vec::new();
        for (data, kind) in subjects() {
            let mut lines = Vec::new();
            for (class, variance, runs) in Self::series(data, kind) {
                let points: Result<Vec<_>, _> =
                    runs.iter().map(|run| lab.cell(run).map(Point::of)).collect();
                lines.push((class, variance, points?));
            }
            charts.push(lines);
        }
        let caption = "Mean invalidation rate over people, and one standard deviation to both \
                       sides, against the rate that was asked for. On the thin diagonal both are \
                       the same; above it, advice fails more often than was promised. Noise of \
                       variance 0.01: full lines; 0.025: broken lines. \
                       Our solver's lines lie on each other.";
        let figure = Figure {
            id: "achieved",
            title: "Is the invalidation rate what was asked for?",
            caption,
            legend: &LEGEND,
            columns: 3,
            size: CHART,
        };
        let svg = figure.draw(&heads(), |svg, i| {
            let scale = Scale::new(0.15, 0.45, 0.0, 1.0);
            let label: Option<fn(f64) -> String> = Some(|v| fixed(v * 100.0, 1));
            let x = Axis { title: "asked for: attempts that may fail, in 100", scale, label };
            let y = Axis {
                title: "attempts that do fail, in 100",
                scale: Scale::new(0.0, 0.5, 0.0, 1.0),
                label,
            };
            let area = Area::draw(svg, CHART, &x, &y);
            svg.begin_clip((area.left, area.top), (area.right, area.bottom));
            svg.line(area.at(0.15, 0.15), area.at(0.45, 0.45), "limit");
            for (class, variance, points) in &charts[i] {
                let along: Vec<(f64, Point)> =
                    ACHIEVED_RATES.into_iter().zip(points.iter().copied()).collect();
                let along: Vec<_> = along.into_iter().filter(|(_, p)| p.rate.is_finite()).collect();
                let side = |sign: f64| {
                    along.iter().map(move |(r, p)| {
                        area.at(
                            *r,
                            p.rate + sign * if p.rate_sd.is_finite() { p.rate_sd } else { 0.0 },
                        )
                    })
                };
                let mut band = Path::through(side(1.0).chain(side(-1.0).rev()));
                band.close();
                svg.path(&band, &format!("{class} band"));
                let dash = if *variance > 0.01 { " dash" } else { "" };
                let line = along.iter().map(|(r, p)| area.at(*r, p.rate));
                svg.path(&Path::through(line), &format!("{class} line{dash}"));
            }
            svg.end_clip();
        });
        let files =
            vec![("achieved.svg", svg.standalone()), ("achieved.csv", collect(lab, &self.runs())?)];
        Ok(Made { files, ..Made::default() })
    }
}

struct Tradeoff;

impl Tradeoff {
    fn series(column: Column, data: &'static str, kind: Kind) -> Vec<Run> {
        ACHIEVED_RATES.iter().map(|&rate| column.at(data, kind, TRADEOFF_VARIANCE, rate)).collect()
    }
}

impl Experiment for Tradeoff {
    fn runs(&self) -> Vec<Run> {
        let one =
            |(data, kind)| SERIES.into_iter().flat_map(move |(c, _)| Self::series(c, data, kind));
        subjects().into_iter().flat_map(one).collect()
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let mut charts = Vec::new();
        for (data, kind) in subjects() {
            let mut lines = Vec::new();
            for (column, class) in SERIES {
                let points: Result<Vec<_>, _> = Self::series(column, data, kind)
                    .iter()
                    .map(|run| lab.cell(run).map(Point::of))
                    .collect();
                lines.push((class, points?));
            }
            charts.push(lines);
        }
        let caption = "Average l1 cost over people, with its 95% bootstrap interval, against the \
                       rate that was asked for; noise of variance 0.01. Fewer failures cost more.";
        let figure = Figure {
            id: "tradeoff",
            title: "What robustness costs",
            caption,
            legend: &LEGEND,
            columns: 3,
            size: CHART,
        };
        let svg = figure.draw(&heads(), |svg, i| {
            let top = charts[i].iter().flat_map(|(_, points)| points).map(|p| p.cost_interval[1]);
            let top = top.filter(|v| v.is_finite()).fold(0.0, f64::max);
            let x = Axis {
                title: "asked for: attempts that may fail, in 100",
                scale: Scale::new(0.18, 0.42, 0.0, 1.0),
                label: Some(|v| fixed(v * 100.0, 1)),
            };
            let y = Axis {
                title: "average cost",
                scale: Scale::new(0.0, top * 1.08, 0.0, 1.0),
                label: None,
            };
            let area = Area::draw(svg, CHART, &x, &y);
            for (class, points) in &charts[i] {
                let along: Vec<(f64, &Point)> = ACHIEVED_RATES.into_iter().zip(points).collect();
                let along: Vec<_> = along.into_iter().filter(|(_, p)| p.cost.is_finite()).collect();
                svg.path(
                    &Path::through(along.iter().map(|(r, p)| area.at(*r, p.cost))),
                    &format!("{class} line"),
                );
                for (r, p) in along {
                    let [low, high] = p.cost_interval.map(|v| area.at(r, v));
                    svg.line(low, high, &format!("{class} whisker"));
                    svg.circle(area.at(r, p.cost), 3.5, &format!("{class} mark"));
                }
            }
        });
        let files =
            vec![("tradeoff.svg", svg.standalone()), ("tradeoff.csv", collect(lab, &self.runs())?)];
        Ok(Made { files, ..Made::default() })
    }
}
