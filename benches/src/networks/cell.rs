//! One data set at one target rate.

use super::audit::{Measured, by_lines, by_plain_draws};
use super::offline::{OfflineDraws, Request, search};
use super::{Options, Pools, Subject, plain};
use crate::offline::Against;
use anyhow::Result;
use probe_bench::clock::median_of;
use probe_bench::part::Figures;
use probe_bench::stats::{figure, mean, range};
use probe_core::{Answer, Rows, Status};
use rayon::ThreadPool;

pub(super) const HEADER: &str = "\
| data | r | people | certified | above r: lines, plain | rate / r | cost | to offline (worst) | \
changed: ours, offline | per CPU second | all cores |
|---|---|---|---|---|---|---|---|---|---|---|";

/// What was measured.
pub(super) struct Cell {
    r: f64,
    people: usize,
    certified: usize,
    /// Answers above r, on lines and on plain draws, and mean rate over r; `None` where not
    /// audited.
    audit: Option<(usize, usize, f64)>,
    cost: f64,
    offline: Option<Against>,
    per_cpu_second: f64,
    all_cores: f64,
}

impl Cell {
    pub(super) fn measure(
        subject: &Subject,
        sigma: f64,
        r: f64,
        options: &Options,
        pools: &Pools,
    ) -> Result<Self> {
        let d = subject.names.len();
        let engine = subject.engine(sigma, r)?;
        let rows = Rows::new(&subject.people, d)?;
        let mut answers = vec![Answer::new(d); rows.n_rows()];
        // Measured inside the pool, because processor time is per thread.
        let mut timed = |pool: &ThreadPool| {
            pool.install(|| median_of(5, 2.0, || Ok(engine.recourse_into(rows, &mut answers)?)))
        };
        let (single, many) = (timed(&pools.one)?, timed(&pools.all)?);

        let certified: Vec<&Answer> =
            answers.iter().filter(|a| a.status == Status::Certified).collect();
        let points: Vec<&[f64]> = certified.iter().map(|answer| &answer.point[..]).collect();
        let audit = (!options.no_audit)
            .then(|| pools.aside.install(|| audit(subject, sigma, r, &points)))
            .transpose()?;
        Ok(Self {
            r,
            people: answers.len(),
            certified: certified.len(),
            audit,
            cost: mean(certified.iter().filter_map(|a| a.cost)),
            offline: against(subject, &answers, sigma, r, options.offline, &pools.aside)?,
            per_cpu_second: certified.len() as f64 / single.cpu,
            all_cores: certified.len() as f64 / many.wall,
        })
    }

    pub(super) fn row(&self, title: &str) -> String {
        let share = 100.0 * self.certified as f64 / self.people as f64;
        let (above, rate) = match self.audit {
            Some((lines, plain, ratio)) => (format!("{lines}, {plain}"), format!("{ratio:.4}")),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let [ratio, changed] = Against::cells(self.offline.as_ref());
        format!(
            "| {title} | {} | {} | {share:.1} % | {above} | {rate} | {:.4} | {ratio} | \
             {changed} | {:.0} | {:.0} |",
            self.r, self.people, self.cost, self.per_cpu_second, self.all_cores
        )
    }
}

/// What other texts quote.
pub(super) fn figures(cells: &[(&str, Cell)]) -> Figures {
    let mut figures = Figures::new();
    let certified = cells.iter().map(|(_, cell)| cell.certified as f64 / cell.people as f64);
    let above = cells
        .iter()
        .filter_map(|(_, cell)| cell.audit)
        .map(|(lines, plain, _)| lines + plain)
        .sum::<usize>();
    figures
        .insert("certified".to_owned(), format!("{:.1} %", 100.0 * certified.fold(1.0, f64::min)));
    figures.insert("above".to_owned(), above.to_string());
    figures.insert(
        "rate".to_owned(),
        range(cells.iter().filter_map(|(_, cell)| cell.audit).map(|audit| audit.2), 2),
    );
    let more = cells
        .iter()
        .filter_map(|(_, cell)| cell.offline.as_ref())
        .map(|against| 100.0 * (against.ratio - 1.0));
    figures.insert("more".to_owned(), range(more, 1));
    for (name, cell) in cells {
        let key = format!("{name}_{}", (100.0 * cell.r).round());
        figures.insert(format!("{key}_cpu"), figure(cell.per_cpu_second));
        figures.insert(format!("{key}_all"), figure(cell.all_cores));
    }
    figures
}

/// Answers above r on lines and on plain draws, and the mean rate over r.
fn audit(subject: &Subject, sigma: f64, r: f64, points: &[&[f64]]) -> Result<(usize, usize, f64)> {
    let network = plain(subject)?;
    let lines = by_lines(&network, sigma, points);
    let plain = by_plain_draws(&network, sigma, points);
    let above = |rates: &[Measured]| rates.iter().filter(|rate| rate.above(r)).count();
    Ok((above(&lines), above(&plain), mean(lines.iter().map(|rate| rate.rate / r))))
}

/// Compares with the offline search on `most` people.
pub(crate) fn against(
    subject: &Subject,
    answers: &[Answer],
    sigma: f64,
    r: f64,
    most: usize,
    aside: &ThreadPool,
) -> Result<Option<Against>> {
    let name = format!("{}-{}-sigma{sigma}-r{r}", subject.name, &subject.hash[..16]);
    let people: Vec<&[f64]> = (0..answers.len()).map(|i| subject.person(i)).collect();
    let network = plain(subject)?;
    let draws = OfflineDraws::new(&network);
    let find = |person: &[f64]| search(Request { model: &network, person, sigma, r }, &draws);
    aside.install(|| Against::measure(&name, (&people, answers), most, find))
}
