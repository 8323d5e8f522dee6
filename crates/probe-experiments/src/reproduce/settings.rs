//! Results of other methods' settings, on people whom the classifier denies among the rows
//! that it was trained on: so that settings can be chosen without the people of tables and figures.
//! The default is the cheapest of those with the most answers, or the published one where that is
//! as good.

use super::cell::{Kind, Run, Size, summary};
use super::lab::Laboratory;
use super::methods::{FIRST_POINT, TARGET, subjects};
use super::{Experiment, Made, Table, csv, number};
use crate::number::fixed;
use crate::paper_data::{Error, PAPER_DATA};
use probe_core::registry::Entry;

pub(super) const ENTRY: Entry<dyn Experiment> = Entry {
    name: "settings",
    reference: "settings of the methods compared with, on training people (not in the paper)",
    item: &Settings,
};

const VARIANCE: f64 = 0.01;

struct Settings;

/// A method with some settings.
struct Trial {
    method: &'static str,
    /// Without them the defaults.
    options: &'static [&'static str],
    /// Whose they are.
    whose: &'static str,
    /// On these classifiers only: elsewhere they do not matter.
    only: Option<Kind>,
}

const fn trial(
    method: &'static str,
    options: &'static [&'static str],
    whose: &'static str,
) -> Trial {
    Trial { method, options, whose, only: None }
}

const fn on_networks(
    method: &'static str,
    options: &'static [&'static str],
    whose: &'static str,
) -> Trial {
    Trial { method, options, whose, only: Some(Kind::Network) }
}

const fn on_linear(
    method: &'static str,
    options: &'static [&'static str],
    whose: &'static str,
) -> Trial {
    Trial { method, options, whose, only: Some(Kind::Linear) }
}

const DEFAULT: &str = "default";
const PUBLISHED: &str = "published";

const TRIALS: [Trial; 38] = [
    on_networks("wachter", &[], DEFAULT),
    on_networks("wachter", &["kink=plain"], "–"),
    trial("growing-spheres", &[], DEFAULT),
    trial("growing-spheres", &["version=library"], PUBLISHED),
    trial("dice", &[], DEFAULT),
    trial("dice", &["sparsity=0.5"], "–"),
    trial("dice", &["sparsity=0.1"], PUBLISHED),
    trial("dice", &["proximity=0.1"], "–"),
    trial("dice", &["proximity=2"], "–"),
    on_linear("ar", &[], DEFAULT),
    on_linear("ar", &["step=0.1"], "–"),
    on_linear("ar", &["version=library"], PUBLISHED),
    on_networks("ar-lime", &[], DEFAULT),
    on_networks("ar-lime", &["tries=1"], "–"),
    on_networks("ar-lime", &["spread=0.1"], "–"),
    on_networks("ar-lime", &["spread=1"], "–"),
    on_networks("ar-lime", &["version=library"], PUBLISHED),
    trial("roar", &[], DEFAULT),
    on_networks("roar", &["spread=0.3"], "–"),
    on_networks("roar", &["spread=1"], PUBLISHED),
    trial("roar", &["lambda=0.01"], "–"),
    trial("roar", &["kink=plain"], "–"),
    trial("roar", &["version=library"], PUBLISHED),
    trial("roar", &["version=library", "lambda=0.25"], "–"),
    trial("roar", &["version=library", "lambda=0"], "tables"),
    trial("arar", &[], DEFAULT),
    trial("arar", &["kink=plain"], "–"),
    trial("arar", &["version=library"], PUBLISHED),
    trial("arar", &["version=library", "learning-rate=0.03"], "–"),
    trial("arar", &["version=library", "learning-rate=0.01"], "–"),
    trial("arar", &["version=library", "learning-rate=0.001", "lambda=1"], "–"),
    trial("arar", &FIRST_POINT, "published for Wachter"),
    trial("probe-gradient", &["learning-rate=0.01"], "tables"),
    trial("probe-gradient", &["learning-rate=0.02"], "–"),
    trial("probe-gradient", &["learning-rate=0.03"], "–"),
    trial("probe-gradient", &["learning-rate=0.05"], "–"),
    trial("probe-gradient", &[], "released"),
    trial("probe", &[], DEFAULT),
];

impl Settings {
    fn trials() -> impl Iterator<Item = (&'static Trial, Run)> {
        subjects().into_iter().flat_map(|(data, kind)| {
            TRIALS.iter().filter(move |t| t.only.is_none_or(|only| only == kind)).map(move |t| {
                let options = t.options.iter().map(|&o| o.to_owned()).collect();
                let (method, size) = (t.method, Size::Training);
                (t, Run { data, kind, method, options, rate: TARGET, variance: VARIANCE, size })
            })
        })
    }
}

impl Experiment for Settings {
    fn runs(&self) -> Vec<Run> {
        Self::trials().map(|(_, run)| run).collect()
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for (trial, run) in Self::trials() {
            let cell = lab.cell(&run)?;
            let title =
                PAPER_DATA.iter().find(|d| d.name == run.data).map_or(run.data, |d| d.title);
            let [ra, air, cost, changed] =
                [&cell.accuracy, &cell.sampled_rate, &cell.cost, &cell.changed]
                    .map(|column| summary(column));
            rows.push(vec![
                format!("{title}, {}, {}", run.kind.short(), run.method),
                run.options.join(" "),
                trial.whose.to_owned(),
                fixed(ra.mean, 2),
                fixed(air.mean, 2),
                fixed(cost.mean, 2),
                fixed(changed.mean, 1),
            ]);
            let texts =
                [run.data, run.kind.short(), run.method, &run.options.join(" "), trial.whose];
            let mut line: Vec<String> = texts.map(str::to_owned).to_vec();
            line.extend([cell.cost.len() as f64, ra.mean, air.mean, air.sd].map(number));
            line.extend([cost.mean, cost.sd, changed.mean, cell.seconds].map(number));
            numbers.push(line);
        }
        let header = vec![
            "data, classifier, method",
            "settings",
            "whose",
            "RA",
            "AIR",
            "AC",
            "features changed",
        ];
        let title = "Settings of other methods, on denied people of the training rows".to_owned();
        let header_csv = [
            "data",
            "classifier",
            "method",
            "settings",
            "whose",
            "people",
            "ra",
            "air",
            "air_sd",
            "ac",
            "ac_sd",
            "changed",
            "seconds",
        ];
        Ok(Made {
            tables: vec![Table {
                title,
                header,
                rows,
                words: &["settings", "whose"],
                ..Table::default()
            }],
            remarks: vec![
                "version=library is a method as the recourse library CARLA has it, with which the \
                 paper's numbers were made. Plain steps (kink=plain) move all features at once, as \
                 Adam does; by default a feature stays put while it is worth less than it costs."
                    .to_owned(),
            ],
            files: vec![("settings.csv", csv(&header_csv, numbers.into_iter()))],
        })
    }
}
