//! An answer for a network: the least arithmetic that its lines need, against the machine's rate
//! in a matrix product.

use crate::networks::Subject;
use anyhow::{Result, bail};
use ndarray::Array2;
use probe_bench::clock::time;
use probe_bench::part::Figures;
use probe_core::{Answer, Dense, Engine, Mlp, Model as _, Session, Setup};
use probe_experiments::paper_data::PAPER_DATA;
use std::sync::Arc;

const SIGMA: f64 = 0.1;
const RATE: f64 = 0.1;
/// Confidence of certificates that read more lines. The time of one line follows from the
/// difference to the usual confidence.
const SURER: f64 = 1.0 - 1e-6;
/// Operations that a line needs per hidden unit, at least: the unit's value where the line starts
/// (a sum and a multiply-add) and at one place on the line (a multiply-add), and the sums to which
/// it adds its rectified value and its slope.
const PER_UNIT: f64 = 3.0 + 2.0 + 1.0 + 1.0;
/// How often all people are answered.
const ROUNDS: usize = 8;
/// Rows and columns of the product.
const SIZE: usize = 512;

/// The cost of answers for one network.
#[derive(Debug)]
pub(crate) struct OnNetwork {
    title: &'static str,
    units: usize,
    /// Processor time of an answer in seconds, and lines for search and judgement.
    usual: Cost,
    /// Without a certificate.
    uncertified: Cost,
    /// With a certificate that reads more lines.
    surer: Cost,
    /// Seconds per line of the same network, with every unit split into two halves.
    doubled_line: f64,
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    seconds: f64,
    lines: [f64; 2],
}

impl Cost {
    fn n_lines(&self) -> f64 {
        self.lines.iter().sum()
    }
}

impl OnNetwork {
    /// Seconds for one more line of a certificate.
    fn line(&self) -> f64 {
        line(&self.usual, &self.surer)
    }

    /// The part of them that does not grow with the number of units.
    fn fixed(&self) -> f64 {
        (2.0 * self.line() - self.doubled_line).clamp(0.0, self.line())
    }

    /// Operations that the lines of an answer need, at least.
    fn operations(&self) -> f64 {
        self.usual.n_lines() * self.units as f64 * PER_UNIT
    }

    /// Time of an answer over that of as many operations in a matrix product, which makes
    /// `product` per second.
    fn to_limit(&self, product: f64) -> f64 {
        self.usual.seconds * product / self.operations()
    }

    /// The share of an answer's time that its lines take.
    fn share_of_lines(&self) -> f64 {
        self.usual.n_lines() * self.line() / self.usual.seconds
    }
}

/// Seconds for one more line, from answers that read fewer lines and answers that read more.
fn line(fewer: &Cost, more: &Cost) -> f64 {
    (more.seconds - fewer.seconds) / (more.n_lines() - fewer.n_lines())
}

/// Operations per second of a product of two matrices, on one thread.
pub(crate) fn product() -> Result<f64> {
    let [a, b] = [1.0, 2.0].map(|factor| {
        Array2::from_shape_fn((SIZE, SIZE), |(i, j)| factor / (1.0 + i as f64 + (j * j) as f64))
    });
    let mut c = Array2::<f64>::zeros((SIZE, SIZE));
    let mut seconds = f64::INFINITY;
    for _ in 0..40 {
        let ((), took) = time(|| {
            ndarray::linalg::general_mat_mul(1.0, &a, &b, 0.0, &mut c);
            Ok(())
        })?;
        seconds = took.cpu.min(seconds);
    }
    Ok(2.0 * (SIZE as f64).powi(3) / seconds)
}

pub(crate) fn measure(people: usize) -> Result<Vec<OnNetwork>> {
    let mut found = Vec::new();
    for data in &PAPER_DATA {
        let subject = Subject::load(data, people)?;
        eprintln!("{}: lines and time of an answer", data.title);
        let engine = |model: &Arc<Mlp>, change: &dyn Fn(&mut Setup)| -> Result<Engine> {
            let mut setup = Setup::new(model.clone(), subject.names.clone(), None, SIGMA)?;
            setup.max_rate = RATE;
            change(&mut setup);
            Ok(Engine::new(setup)?)
        };
        let surer = |setup: &mut Setup| setup.confidence = SURER;
        let twice = Arc::new(doubled(&subject.model)?);
        let engines = [
            engine(&subject.model, &|_| ())?,
            engine(&subject.model, &|setup| setup.certify = false)?,
            engine(&subject.model, &surer)?,
            engine(&twice, &|_| ())?,
            engine(&twice, &surer)?,
        ];
        let [usual, uncertified, surer, doubled, doubled_surer] =
            costs_of(&engines, &subject.people)?;
        found.push(OnNetwork {
            title: data.title,
            units: subject.model.hidden()[0].n_out(),
            usual,
            uncertified,
            surer,
            doubled_line: line(&doubled, &doubled_surer),
        });
    }
    Ok(found)
}

/// A network with the same score and twice the units, each with half of its outgoing weight.
fn doubled(model: &Mlp) -> Result<Mlp> {
    let [first, last] = model.layers() else { bail!("one hidden layer is needed") };
    let twice = |values: &[f64]| values.iter().chain(values).copied().collect::<Vec<f64>>();
    let halves = last.weight().chunks_exact(last.n_in()).flat_map(|row| row.iter().chain(row));
    let layers = vec![
        Dense { weight: twice(first.weight()), bias: twice(first.bias()) },
        Dense { weight: halves.map(|weight| 0.5 * weight).collect(), bias: last.bias().to_vec() },
    ];
    Ok(Mlp::new(layers, model.activation(), model.threshold())?)
}

/// Mean cost of an answer of each engine: the minimum over several rounds. Engines take turns, so
/// that other load on the machine affects all of them.
fn costs_of<const N: usize>(engines: &[Engine; N], people: &[f64]) -> Result<[Cost; N]> {
    let d = engines[0].setup().names.len();
    let n = (people.len() / d) as f64;
    let mut answer = Answer::new(d);
    let mut pass = |session: &mut Session<'_>| -> Result<()> {
        people.chunks_exact(d).try_for_each(|person| Ok(session.recourse(person, &mut answer)?))
    };
    let mut sessions = engines.each_ref().map(Engine::session);
    let mut costs = [Cost { seconds: f64::INFINITY, lines: [0.0; 2] }; N];
    for (session, cost) in sessions.iter_mut().zip(&mut costs) {
        // The first pass draws the errors that all people share.
        pass(session)?;
        cost.lines = session.n_lines().map(|lines| lines as f64 / n);
    }
    for _ in 0..ROUNDS {
        for (session, cost) in sessions.iter_mut().zip(&mut costs) {
            let ((), took) = time(|| pass(session))?;
            cost.seconds = cost.seconds.min(took.cpu / n);
        }
    }
    Ok(costs)
}

pub(crate) fn render(networks: &[OnNetwork], product: f64) -> String {
    let mut lines = vec![
        format!(
            "### Arithmetic of an answer for a network\n\n\
             One thread, r = {RATE}; the least of {ROUNDS} rounds. A product of {SIZE} × {SIZE} \
             matrices (`matrixmultiply`) makes {:.1} GFLOP/s here. A line needs {PER_UNIT} \
             operations per hidden unit at least: to place it, and to \
             evaluate it once.\n",
            1e-9 * product
        ),
        "| network | lines: search, certificate and report | µs an answer | without a \
         certificate | least operations | to a product of as many | ns a line | of that for any \
         number of units | to a product | lines' share of the time |\n\
         |---|---|---|---|---|---|---|---|---|---|"
            .to_owned(),
    ];
    for network in networks {
        let OnNetwork { title, units, usual, uncertified, .. } = network;
        let line = network.line();
        lines.push(format!(
            "| {title} | {:.0}, {:.0} | {:.0} | {:.0} | {:.0}k | {:.1} times | {:.0} | {:.0} | \
             {:.1} times | {:.0} % |",
            usual.lines[0],
            usual.lines[1],
            1e6 * usual.seconds,
            1e6 * uncertified.seconds,
            1e-3 * network.operations(),
            network.to_limit(product),
            1e9 * line,
            1e9 * network.fixed(),
            line * product / (*units as f64 * PER_UNIT),
            100.0 * network.share_of_lines()
        ));
    }
    lines.push(format!(
        "\nWhat a line takes is the difference between answers of confidence {SURER} and of 0.999, \
         over the lines that they read more. What it takes whatever the units is the difference to \
         the same network with every unit split in two: the normal distribution of the root, the \
         bet, and the hand-over. The rest of a line grows with the units: beyond placing them and \
         looking at them once, bounds that prove there is one root, and further Newton steps; \
         where lines bend, pieces of them. What is not lines is the search between its looks: \
         gradients, linear programs and features tried alone.\n"
    ));
    lines.join("\n")
}

pub(crate) fn quote(networks: &[OnNetwork], product: f64, figures: &mut Figures) {
    figures.insert("gflops".to_owned(), format!("{:.0}", 1e-9 * product));
    let ratios = networks.iter().map(|network| network.to_limit(product));
    figures.insert("network_to_product".to_owned(), probe_bench::stats::range(ratios, 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_units_make_the_same_score() {
        let model = probe_bench::generated::network(&[3, 4, 2]).unwrap();
        let twice = doubled(&model).unwrap();
        assert_eq!(twice.hidden()[0].n_out(), 8);
        for x in [[0.1, 0.9, 0.4], [0.7, 0.2, 0.3]] {
            let [a, b] = [model.score(&x), twice.score(&x)].map(Result::unwrap);
            assert!((a - b).abs() < 1e-12 && a != 0.0, "{a} {b}");
        }
    }

    #[test]
    fn shares_by_hand() {
        let cost = |seconds, lines| Cost { seconds, lines };
        let on = OnNetwork {
            title: "t",
            units: 50,
            usual: cost(1e-3, [200.0, 1_800.0]),
            uncertified: cost(4e-4, [200.0, 200.0]),
            surer: cost(1.4e-3, [200.0, 2_800.0]),
            doubled_line: 7e-7,
        };
        // 0.4 ms for a thousand more lines.
        assert!((on.line() - 4e-7).abs() < 1e-18);
        // 0.3 µs of it are for the units, and twice as much of the 0.7 µs.
        assert!((on.fixed() - 1e-7).abs() < 1e-18);
        assert!((on.share_of_lines() - 0.8).abs() < 1e-12);
        assert!((on.operations() - 2_000.0 * 350.0).abs() < 1e-6);
        // 0.7 million operations are 0.07 ms at ten thousand million a second.
        assert!((on.to_limit(1e10) - 1e-3 / 7e-5).abs() < 1e-9);
    }
}
