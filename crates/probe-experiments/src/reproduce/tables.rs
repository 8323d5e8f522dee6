//! Table 1 and the appendix's table for a variance of 0.025: the paper's number, the paper's
//! algorithm as we run it, and our solver.

use super::cell::{Cell, Kind, Run, summary};
use super::lab::Laboratory;
use super::methods::{
    Column, LIBRARY, OURS, RELEASED, TARGET, THEIRS, adversarial, baselines, subjects,
};
use super::published::{Printed, published};
use super::{Experiment, Made, Table, csv, number};
use crate::number::{fixed, rounded};
use crate::paper_data::{Error, PAPER_DATA};
use probe_core::evaluation::Summary;
use probe_core::registry::Entry;

pub(super) const TABLE_1: Entry<dyn Experiment> = Entry {
    name: "table1",
    reference: "Table 1 (a) and (b), arXiv:2203.06768",
    item: &Compared { name: "table1.csv", variance: 0.01, adversarial: true },
};

pub(super) const SIGMA_025: Entry<dyn Experiment> = Entry {
    name: "sigma025",
    reference: "the appendix's table for a variance of 0.025, arXiv:2203.06768",
    item: &Compared { name: "sigma025.csv", variance: 0.025, adversarial: false },
};

/// Average rates that differ by no more than this count as the same, and costs by no more than this
/// part.
const SAME_RATE: f64 = 0.05;
const SAME_COST: f64 = 0.25;

struct Compared {
    name: &'static str,
    variance: f64,
    /// With ROAR and ARAR.
    adversarial: bool,
}

impl Compared {
    fn columns(&self) -> Vec<Column> {
        let mut columns = baselines();
        if self.adversarial {
            columns.extend(adversarial());
        }
        // CARLA's version is below ours.
        for library in LIBRARY {
            if let Some(at) = columns.iter().position(|c| c.paper == library.paper) {
                columns.insert(at + 1, library);
            }
        }
        [columns, vec![RELEASED, THEIRS, OURS]].concat()
    }
}

/// One line of the table.
struct Line<'a> {
    title: &'static str,
    kind: Kind,
    column: Column,
    paper: Option<Printed>,
    cell: &'a Cell,
}

impl Experiment for Compared {
    fn runs(&self) -> Vec<Run> {
        let one = |(data, kind)| {
            self.columns().into_iter().map(move |c| c.run(data, kind, self.variance))
        };
        subjects().into_iter().flat_map(one).collect()
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let mut lines = Vec::new();
        for (data, kind) in subjects() {
            let title = PAPER_DATA.iter().find(|d| d.name == data).map_or(data, |d| d.title);
            for column in self.columns() {
                let cell = lab.cell(&column.run(data, kind, self.variance))?;
                let paper = published(self.variance, column.paper, kind, data);
                lines.push(Line { title, kind, column, paper, cell });
            }
        }
        let table = Table {
            title: format!("Methods at r = {TARGET} and noise of variance {}", self.variance),
            header: vec![
                "data, classifier, method",
                "RA paper",
                "RA",
                "AIR paper",
                "AIR",
                "true rate",
                "AIR difference",
                "AC paper",
                "AC",
                "AC ratio",
                "changed",
                "what explains it",
            ],
            rows: lines.iter().map(Line::cells).collect(),
            sentences: true,
            ..Table::default()
        };
        let csv = csv(&HEADER, lines.iter().map(Line::numbers));
        Ok(Made { tables: vec![table], remarks: remarks(&lines), files: vec![(self.name, csv)] })
    }
}

const HEADER: [&str; 21] = [
    "data",
    "classifier",
    "method",
    "people",
    "paper_ra",
    "ra",
    "paper_air",
    "air",
    "air_sd",
    "air_low",
    "air_high",
    "rate",
    "rate_sd",
    "paper_ac",
    "paper_ac_sd",
    "ac",
    "ac_sd",
    "ac_low",
    "ac_high",
    "changed",
    "seconds",
];

impl Line<'_> {
    fn cells(&self) -> Vec<String> {
        let (accuracy, air, cost) = (
            summary(&self.cell.accuracy),
            summary(&self.cell.sampled_rate),
            summary(&self.cell.cost),
        );
        let printed = |of: fn(&Printed) -> f64| {
            self.paper.map_or_else(|| "not printed".to_owned(), |p| fixed(of(&p), 2))
        };
        let difference = self.paper.map_or_else(|| "–".to_owned(), |p| signed(air.mean - p.rate));
        let ratio = self.paper.map_or_else(|| "–".to_owned(), |p| fixed(cost.mean / p.cost, 2));
        vec![
            format!("{}, {}, {}", self.title, self.kind.short(), self.column.label),
            printed(|p| p.accuracy),
            fixed(accuracy.mean, 2),
            printed(|p| p.rate),
            spread(&air),
            fixed(summary(&self.cell.rate).mean, 3),
            difference,
            printed(|p| p.cost),
            spread(&cost),
            ratio,
            fixed(summary(&self.cell.changed).mean, 1),
            self.why(&air, &cost).to_owned(),
        ]
    }

    fn numbers(&self) -> Vec<String> {
        let s = |values: &[Option<f64>]| summary(values);
        let (air, rate, cost) =
            (s(&self.cell.sampled_rate), s(&self.cell.rate), s(&self.cell.cost));
        let printed =
            |of: fn(&Printed) -> f64| self.paper.map_or_else(String::new, |p| number(of(&p)));
        let texts = [self.title, self.kind.short(), self.column.label].map(|t| format!("\"{t}\""));
        let mut row = texts.to_vec();
        row.extend([
            self.cell.accuracy.len().to_string(),
            printed(|p| p.accuracy),
            number(s(&self.cell.accuracy).mean),
            printed(|p| p.rate),
            number(air.mean),
            number(air.sd),
            number(air.interval[0]),
            number(air.interval[1]),
            number(rate.mean),
            number(rate.sd),
            printed(|p| p.cost),
            printed(|p| p.cost_sd),
            number(cost.mean),
            number(cost.sd),
            number(cost.interval[0]),
            number(cost.interval[1]),
            number(s(&self.cell.changed).mean),
            number(self.cell.seconds),
        ]);
        row
    }

    /// Why the numbers are what they are, by what other rows or the settings show; what is said of
    /// a difference is said only where there is one.
    fn why(&self, air: &Summary, cost: &Summary) -> &'static str {
        let Some(paper) = self.paper else { return "the paper prints no numbers for DiCE" };
        let close_rate = (air.mean - paper.rate).abs() <= SAME_RATE;
        let close_cost = (cost.mean / paper.cost - 1.0).abs() <= SAME_COST;
        let network = self.kind == Kind::Network;
        let library = LIBRARY.contains(&self.column);
        match self.column.paper {
            "PROBE" if self.column == OURS => {
                "least cost at a rate just under r; theirs overshoots"
            }
            _ if air.n == 0 => "nobody got an answer",
            _ if paper.accuracy < 0.1 => {
                "the paper found fewer than one answer in ten; ours are of all people"
            }
            _ if close_rate && close_cost => "agrees",
            "PROBE" if close_rate => {
                "same rate; what it costs depends on the step, and on the classifier's weights"
            }
            "PROBE" => {
                "the step size decides how far the first point lies beyond the boundary: \
                 compare the two rows"
            }
            "AR" if library && network => {
                "CARLA fits its surrogate to the probability and uses it as a score: what its \
                 actions gain is arbitrary"
            }
            "AR" if library && close_cost => "same cost: the authors charge shifts in percentiles",
            "AR" if library => {
                "the authors charge shifts in percentiles, by which large moves can be cheap"
            }
            "AR" if network => {
                "ours is the cheapest action that the network accepts, near the boundary; \
                 the library's: next row"
            }
            "AR" if close_rate => {
                "same rate; ours has the least l1 cost, \
                 the authors charge shifts in percentiles: next row"
            }
            "AR" => {
                "ours ends on the boundary, where half of all attempts fail; \
                 the library's: next row"
            }
            "Wachter" if library && close_rate => {
                "same rate; all features are moved alike, whatever that costs"
            }
            "Wachter" if library => {
                "the first favourable point of plain steps lies beyond the boundary"
            }
            "Wachter" => {
                "ours is the nearest point; the library takes the first one on \
                 plain steps: next row"
            }
            "GS" if library && close_rate => {
                "same rate; categories jump, and what that costs depends on the \
                 classifier's weights"
            }
            "GS" if library => {
                "categories jump, as far beyond the boundary as the classifier's weights say"
            }
            "GS" if close_rate => {
                "layers get narrower near the boundary; the library's do not: next row"
            }
            "GS" => {
                "ours ends near the boundary; the library tosses coins for categories, \
                 which jump: next row"
            }
            "ROAR" if library && close_rate => {
                "same rate; the library moves all features until its objective hardly changes"
            }
            "ROAR" if library => {
                "the library ends where its objective hardly changes, wherever that is"
            }
            "ARAR" if library => {
                "the library takes the first safe point of steps of 0.1: \
                 the step decides the rate (settings)"
            }
            "ROAR" => {
                "ours goes on to the least of the objective; the library ends early, with all \
                 features moved: next row"
            }
            "ARAR" => {
                "ours goes on to the least of the objective; the library takes the first point of \
                 large steps: next row"
            }
            _ => "",
        }
    }
}

/// How the goals that can be counted were met.
fn remarks(lines: &[Line<'_>]) -> Vec<String> {
    let of = |column: Column| lines.iter().filter(move |l| l.column == column).collect::<Vec<_>>();
    let near = |l: &&Line<'_>| {
        l.paper.is_some_and(|p| (summary(&l.cell.sampled_rate).mean - p.rate).abs() <= SAME_RATE)
    };
    let (theirs, ours) = (of(THEIRS), of(OURS));
    let compared = |l: &&Line<'_>| l.paper.is_some() && !LIBRARY.contains(&l.column);
    let others: Vec<&Line<'_>> =
        lines.iter().filter(compared).filter(|l| l.column.paper != "PROBE").collect();
    // The paper leaves out what fewer than one in ten people get.
    let fair = |l: &&Line<'_>| l.paper.is_some_and(|p| p.accuracy >= 0.1);
    let considered: Vec<&Line<'_>> = others.iter().chain(&theirs).copied().filter(fair).collect();
    let library: Vec<&Line<'_>> =
        lines.iter().filter(|l| LIBRARY.contains(&l.column)).filter(fair).collect();
    // A cell counts once, whether our version or CARLA's meets it.
    let met = |l: &&&Line<'_>| {
        let same = |other: &&Line<'_>| {
            (other.title, other.kind, other.column.paper) == (l.title, l.kind, l.column.paper)
                && other.column != OURS
                && other.column != RELEASED
        };
        lines.iter().filter(same).any(|other| near(&other))
    };
    let cells: Vec<&Line<'_>> = others.iter().chain(&theirs).copied().collect();
    let n_near = |lines: &[&Line<'_>]| lines.iter().copied().filter(near).count();
    let full = ours.iter().filter(|l| summary(&l.cell.accuracy).mean == 1.0).count();
    // A mean of rates that all are r may be above it by rounding.
    let most = TARGET * (1.0 + 1e-12);
    let within = |l: &&&Line<'_>| (0.9 * TARGET..=most).contains(&summary(&l.cell.rate).mean);
    let cheaper = |l: &&&Line<'_>| l.paper.is_some_and(|p| summary(&l.cell.cost).mean <= p.cost);
    vec![
        "RA: share of people in need who got a favourable point. AIR: average share refused of \
         10,000 noisy implementations, over people with an answer, ± standard deviation; the true \
         rate is exact or by lines. AC: average l1 cost."
            .to_owned(),
        format!(
            "The paper's algorithm: AIR within {SAME_RATE} of the paper's in {} of {} cells (a \
             step of 0.01; the released 0.07: {}); other methods in {} of {}; both together, where \
             the paper has answers for at least one in ten people, in {} of {}. Methods as the \
             library has them: {} of {}. Ours or the library's way: {} of {} cells.",
            n_near(&theirs),
            theirs.len(),
            n_near(&of(RELEASED)),
            n_near(&others),
            others.len(),
            n_near(&considered),
            considered.len(),
            n_near(&library),
            library.len(),
            cells.iter().filter(met).count(),
            cells.len()
        ),
        format!(
            "Our solver: RA 1 in {full} of {n} cells, true rate between 0.9 r and r in {} of {n}, \
             cost at or below the paper's in {} of {n}.",
            ours.iter().filter(within).count(),
            ours.iter().filter(cheaper).count(),
            n = ours.len()
        ),
        format!(
            "Seconds of the searches, all cells together: {}.",
            rounded(lines.iter().map(|l| l.cell.seconds).sum(), 3)
        ),
    ]
}

fn spread(s: &Summary) -> String {
    if s.sd.is_finite() {
        format!("{} ± {}", fixed(s.mean, 2), fixed(s.sd, 2))
    } else {
        fixed(s.mean, 2)
    }
}

fn signed(value: f64) -> String {
    let text = fixed(value, 2);
    if value > 0.0 && text != "0" { format!("+{text}") } else { text }
}
