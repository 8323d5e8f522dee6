//! Box plots over people: rates of methods that ignore noise, and Proposition 4 against
//! what is measured.

use super::super::cell::{Cell, Run};
use super::super::lab::Laboratory;
use super::super::methods::{Column, all, baselines, subjects};
use super::super::{Experiment, Made, csv};
use super::{CHART, heads};
use crate::number::percent;
use crate::paper_data::Error;
use crate::plot::{Anchor, Area, Axis, Figure, Scale, Spread, Svg, draw_box};
use probe_core::registry::Entry;

const VARIANCES: [f64; 2] = [0.01, 0.025];

pub(in super::super) const BASELINES: Entry<dyn Experiment> = Entry {
    name: "baselines",
    reference: "box plots of the appendix: rates of AR, Wachter, GS and DiCE, arXiv:2203.06768",
    item: &Baselines,
};

pub(in super::super) const BOUNDS: Entry<dyn Experiment> = Entry {
    name: "bounds",
    reference: "figures on Proposition 4, arXiv:2203.06768",
    item: &Bounds,
};

/// How a box is to be read.
const BOX: &str = "A box holds the middle half of the people, the line in it is their median, and \
                   whiskers end at the farthest within one and a half boxes.";

/// A colour, and the numbers that the boxes show.
type Boxes<'a> = (&'a str, fn(&Cell) -> &[Option<f64>]);

struct Baselines;
struct Bounds;

/// One column of boxes for each method.
fn runs(columns: &[Column]) -> Vec<Run> {
    let mut runs = Vec::new();
    for variance in VARIANCES {
        for (data, kind) in subjects() {
            runs.extend(columns.iter().map(|c| c.run(data, kind, variance)));
        }
    }
    runs
}

/// One figure for each variance, drawn from the cells of each chart.
fn figures(
    lab: &Laboratory,
    columns: &[Column],
    figure: impl Fn(usize) -> Figure<'static>,
    captions: &[String],
    boxes: &[Boxes<'_>],
) -> Result<Vec<Svg>, Error> {
    let mut made = Vec::new();
    for (v, variance) in VARIANCES.into_iter().enumerate() {
        let mut charts = Vec::new();
        for (data, kind) in subjects() {
            let cells: Result<Vec<&Cell>, Error> =
                columns.iter().map(|c| lab.cell(&c.run(data, kind, variance))).collect();
            charts.push(cells?);
        }
        let figure = Figure { caption: &captions[v], ..figure(v) };
        made.push(
            figure.draw(&heads(), |svg, i| chart(svg, figure.size, columns, &charts[i], boxes)),
        );
    }
    Ok(made)
}

fn chart(
    svg: &mut Svg,
    size: (f64, f64),
    columns: &[Column],
    cells: &[&Cell],
    boxes: &[Boxes<'_>],
) {
    let n = columns.len() as f64;
    let x = Axis { title: "", scale: Scale::new(0.0, n, 0.0, 1.0), label: Some(|_| String::new()) };
    let y = Axis {
        title: "attempts that fail, in 100",
        scale: Scale::new(0.0, 1.0, 0.0, 1.0),
        label: Some(|v| crate::number::fixed(v * 100.0, 0)),
    };
    let area = Area::draw(svg, size, &x, &y);
    let slot = (area.right - area.left) / n;
    let half = (slot / (2.6 * boxes.len() as f64)).min(14.0);
    for (i, (column, cell)) in columns.iter().zip(cells).enumerate() {
        let middle = i as f64 + 0.5;
        for (k, (class, of)) in boxes.iter().enumerate() {
            let off = (k as f64 - (boxes.len() as f64 - 1.0) / 2.0) * 2.2 * half / slot;
            match Spread::of(of(cell).iter().copied()) {
                Some(spread) => draw_box(svg, &area, middle + off, half, &spread, class),
                None => svg.text(
                    (area.x.at(middle + off), area.y.at(0.03)),
                    "–",
                    Anchor::Middle,
                    "quiet",
                ),
            }
        }
        // Names of many methods are in two rows.
        let down = if columns.len() > 4 && i % 2 == 1 { 33.0 } else { 18.0 };
        svg.text(
            (area.x.at(middle), area.bottom + down),
            short(column),
            Anchor::Middle,
            "tick small",
        );
    }
}

fn short(column: &Column) -> &'static str {
    match column.label {
        "PROBE, the paper's algorithm" => "PROBE",
        "PROBE, our solver" => "ours",
        "AR(-LIME)" => "AR",
        label => label,
    }
}

impl Experiment for Baselines {
    fn runs(&self) -> Vec<Run> {
        runs(&baselines())
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let columns = baselines();
        let captions = VARIANCES.map(|variance| {
            format!(
                "Each box shows, over people with an answer, the share of 10,000 noisy \
                 implementations that are refused; noise of variance {variance}. {BOX} Answers \
                 at the boundary fail about every second time. AR is AR-LIME for networks; a \
                 dash means that nobody got an answer."
            )
        });
        let ids = ["baselines-001", "baselines-025"];
        let figure = |v: usize| Figure {
            id: ids[v],
            title: "Methods that do not look at noise: how often their advice fails",
            caption: "",
            legend: &[],
            columns: 3,
            size: CHART,
        };
        let made = figures(lab, &columns, figure, &captions, &[("s1", |cell| &cell.sampled_rate)])?;
        let files = ["baselines-001.svg", "baselines-025.svg"].into_iter().zip(made);
        let mut files: Vec<_> = files.map(|(name, svg)| (name, svg.standalone())).collect();
        files.push(("baselines.csv", people_csv(lab, &columns)?));
        Ok(Made { files, ..Made::default() })
    }
}

impl Experiment for Bounds {
    fn runs(&self) -> Vec<Run> {
        runs(&all())
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let columns = all();
        let mut remarks = Vec::new();
        for variance in VARIANCES {
            remarks.push(violations(lab, &columns, variance)?);
        }
        let captions = [0, 1].map(|v| {
            format!(
                "What 10,000 noisy implementations of each answer do, and what Proposition 4 \
                 says of it; noise of variance {}, r = 0.35 for both PROBEs, radius 0.01 for \
                 ROAR and ARAR. {BOX} For a logistic regression the proposition is a theorem; \
                 draws may exceed it by chance. For networks it is none, although the paper \
                 states it for them. {}",
                VARIANCES[v], remarks[v]
            )
        });
        let ids = ["bounds-001", "bounds-025"];
        let figure = |v: usize| Figure {
            id: ids[v],
            title: "Proposition 4: an upper bound on how often advice fails, and how often it does",
            caption: "",
            legend: &[("s1", "measured"), ("s0", "bound")],
            columns: 3,
            size: (CHART.0 + 40.0, CHART.1),
        };
        let boxes: [Boxes<'_>; 2] = [("s1", |cell| &cell.sampled_rate), ("s0", |cell| &cell.bound)];
        let made = figures(lab, &columns, figure, &captions, &boxes)?;
        let files = ["bounds-001.svg", "bounds-025.svg"].into_iter().zip(made);
        let mut files: Vec<_> = files.map(|(name, svg)| (name, svg.standalone())).collect();
        files.push(("bounds.csv", people_csv(lab, &columns)?));
        Ok(Made { remarks, files, ..Made::default() })
    }
}

/// How often the true rate is above the bound by more than lines leave open.
fn violations(lab: &Laboratory, columns: &[Column], variance: f64) -> Result<String, Error> {
    const OPEN: f64 = 0.01;
    let mut counted = [[0usize; 2]; 2];
    for (data, kind) in subjects() {
        for column in columns {
            let cell = lab.cell(&column.run(data, kind, variance))?;
            for (rate, bound) in cell.rate.iter().zip(&cell.bound) {
                if let (Some(rate), Some(bound)) = (rate, bound) {
                    let count = &mut counted[kind as usize];
                    count[0] += usize::from(rate > &(bound + OPEN));
                    count[1] += 1;
                }
            }
        }
    }
    let told = |[above, all]: [usize; 2]| {
        format!("{above} of {all} answers ({})", percent(above as f64 / all.max(1) as f64))
    };
    Ok(format!(
        "Variance {variance}: the true rate is above Proposition 4's value by more than {OPEN} for \
         {} of logistic regressions and {} of networks.",
        told(counted[0]),
        told(counted[1])
    ))
}

/// Every person of every box.
fn people_csv(lab: &Laboratory, columns: &[Column]) -> Result<String, Error> {
    let mut rows = Vec::new();
    for variance in VARIANCES {
        for (data, kind) in subjects() {
            for column in columns {
                let cell = lab.cell(&column.run(data, kind, variance))?;
                let text = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
                for i in 0..cell.rate.len() {
                    rows.push(vec![
                        variance.to_string(),
                        data.to_owned(),
                        kind.short().to_owned(),
                        format!("\"{}\"", column.label),
                        text(cell.sampled_rate[i]),
                        text(cell.rate[i]),
                        text(cell.bound[i]),
                        text(cell.cost[i]),
                    ]);
                }
            }
        }
    }
    let header =
        ["variance", "data", "classifier", "method", "sampled_rate", "rate", "bound", "cost"];
    Ok(csv(&header, rows.into_iter()))
}
