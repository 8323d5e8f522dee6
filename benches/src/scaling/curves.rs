//! The sizes that are varied, and what is timed.

use super::{Curve, Panel, Point};
use anyhow::Result;
use probe_bench::clock::time;
use probe_bench::generated::{boosted, denied, engine, linear, network};
use probe_core::{Answer, Engine, Model, Rows, Status, Trees};
use std::sync::Arc;

const D: usize = 20;
const WIDTH: usize = 50;
const RATE: f64 = 0.1;
/// Features of trees, and the most trees.
const TREE_FEATURES: usize = 10;

/// How much is measured.
struct Plan {
    quick: bool,
    /// Seconds that a point may take, about.
    enough: f64,
}

impl Plan {
    /// Sizes up to a tenth of the largest, for a quick run.
    fn sizes(&self, all: &[usize]) -> Vec<usize> {
        let most = all.last().copied().unwrap_or(0) / if self.quick { 10 } else { 1 };
        all.iter().copied().filter(|size| *size <= most).collect()
    }
}

/// What measures some curves.
type Maker = fn(&Plan) -> Result<Vec<Curve>>;

pub(super) fn measure(quick: bool, only: &str) -> Result<Vec<Curve>> {
    let plan = Plan { quick, enough: if quick { 0.3 } else { 1.5 } };
    let all: [(&str, Maker); 7] = [
        ("people", people),
        ("threads", threads),
        ("features", features),
        ("width", width),
        ("depth", depth),
        ("trees", trees),
        ("rate", rates),
    ];
    let mut curves = Vec::new();
    for (name, make) in all.into_iter().filter(|(name, _)| name.contains(only)) {
        eprintln!("{name}");
        curves.extend(make(&plan)?);
    }
    Ok(curves)
}

/// All people of a batch, on a pool of threads: seconds of the clock and, of one thread, of the
/// processor.
fn batch(engine: &Engine, people: &[f64], threads: usize) -> Result<(f64, f64, Point)> {
    let d = engine.setup().names.len();
    let rows = Rows::new(people, d)?;
    let mut answers = vec![Answer::new(d); rows.n_rows()];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let ((), took) = pool.install(|| time(|| Ok(engine.recourse_into(rows, &mut answers)?)))?;
    let certified = answers.iter().filter(|answer| answer.status == Status::Certified).count();
    let share = certified as f64 / answers.len() as f64;
    let point = Point { size: rows.n_rows() as f64, value: took.cpu, certified: share, lines: 0.0 };
    Ok((took.wall, took.cpu, point))
}

/// One person on the average, warm: as many as there is time for.
fn person(engine: &Engine, size: f64, plan: &Plan) -> Result<Point> {
    const WARM: usize = 4;
    const MOST: usize = 20_000;
    let d = engine.setup().names.len();
    let people = denied(&*engine.setup().model, (4_000_000 / d).clamp(500, MOST).min(2_000))?;
    let (mut session, mut answer) = (engine.session(), Answer::new(d));
    let mut next = people.chunks_exact(d).cycle();
    for person in next.by_ref().take(WARM) {
        session.recourse(person, &mut answer)?;
    }
    let before: u64 = session.n_lines().iter().sum();
    let (mut n, mut certified, mut cpu, mut some) = (0, 0, 0.0, 1);
    while cpu < plan.enough && n < MOST {
        let ((), took) = time(|| {
            for person in next.by_ref().take(some) {
                session.recourse(person, &mut answer)?;
                certified += usize::from(answer.status == Status::Certified);
            }
            Ok(())
        })?;
        n += some;
        cpu += took.cpu;
        some = (2 * some).min(MOST.saturating_sub(n).max(1));
    }
    let lines = (session.n_lines().iter().sum::<u64>() - before) as f64 / n as f64;
    Ok(Point { size, value: cpu / n as f64, certified: certified as f64 / n as f64, lines })
}

fn people(plan: &Plan) -> Result<Vec<Curve>> {
    let mut curves = Vec::new();
    let cases: [(&str, Arc<dyn Model>, &[usize]); 2] = [
        ("linear, d = 20", Arc::new(linear(D)?), &[1_000, 10_000, 100_000, 1_000_000]),
        (
            "network [20, 50, 2]",
            Arc::new(network(&[D, WIDTH, 2])?),
            &[1_000, 3_000, 10_000, 30_000, 100_000],
        ),
    ];
    for (name, model, sizes) in cases {
        let engine = engine(model.clone(), RATE)?;
        let sizes = plan.sizes(sizes);
        let people = denied(&*model, sizes.last().copied().unwrap_or(0))?;
        let mut points = Vec::new();
        for n in sizes {
            points.push(batch(&engine, &people[..n * D], 1)?.2);
        }
        curves.push(Curve { panel: Panel::People, name, theory: "1", expected: Some(1.0), points });
    }
    Ok(curves)
}

fn threads(plan: &Plan) -> Result<Vec<Curve>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sizes: Vec<usize> = (0..).map(|k| 1 << k).take_while(|n| *n < cores).collect();
    sizes.push(cores);
    let mut curves = Vec::new();
    let cases: [(&str, Arc<dyn Model>, usize); 2] = [
        ("linear, d = 20", Arc::new(linear(D)?), 500_000),
        ("network [20, 50, 2]", Arc::new(network(&[D, WIDTH, 2])?), 5_000),
    ];
    for (name, model, n) in cases {
        let engine = engine(model.clone(), RATE)?;
        let people = denied(&*model, if plan.quick { n / 10 } else { n })?;
        let mut best = vec![f64::INFINITY; sizes.len()];
        let mut certified = 1.0;
        // In turns, so that other work on the machine meets all.
        for _ in 0..3 {
            for (best, threads) in best.iter_mut().zip(&sizes) {
                let (wall, _, point) = batch(&engine, &people, *threads)?;
                (*best, certified) = (best.min(wall), point.certified);
            }
        }
        let points = best.iter().zip(&sizes).map(|(wall, threads)| Point {
            size: *threads as f64,
            value: best[0] / wall,
            certified,
            lines: 0.0,
        });
        let points = points.collect();
        curves.push(Curve {
            panel: Panel::Threads,
            name,
            theory: "1, of the speed",
            expected: Some(1.0),
            points,
        });
    }
    Ok(curves)
}

/// A curve over models of different sizes.
fn over(
    (panel, name, theory, expected): (Panel, &'static str, &'static str, Option<f64>),
    sizes: &[usize],
    plan: &Plan,
    model: impl Fn(usize) -> Result<Arc<dyn Model>>,
) -> Result<Curve> {
    let mut points = Vec::new();
    for &size in sizes {
        points.push(person(&engine(model(size)?, RATE)?, size as f64, plan)?);
    }
    Ok(Curve { panel, name, theory, expected, points })
}

fn features(plan: &Plan) -> Result<Vec<Curve>> {
    let sizes = plan.sizes(&[5, 10, 20, 50, 100, 200, 500, 1_000]);
    let linear_d = (Panel::Features, "linear", "1 to 1.2: d log d", Some(1.0));
    let network_d =
        (Panel::Features, "network, 50 units", "1: gradients, and features tried alone", None);
    Ok(vec![
        over(linear_d, &sizes, plan, |d| Ok(Arc::new(linear(d)?)))?,
        over(network_d, &sizes, plan, |d| Ok(Arc::new(network(&[d, WIDTH, 2])?)))?,
    ])
}

fn width(plan: &Plan) -> Result<Vec<Curve>> {
    let sizes = if plan.quick { vec![10, 20, 50] } else { vec![10, 20, 50, 100, 200, 500] };
    let about =
        (Panel::Width, "network, d = 20, one layer", "1: a line costs its units", Some(1.0));
    Ok(vec![over(about, &sizes, plan, |units| Ok(Arc::new(network(&[D, units, 2])?)))?])
}

fn depth(plan: &Plan) -> Result<Vec<Curve>> {
    let sizes = if plan.quick { vec![1, 2] } else { vec![1, 2, 3, 4] };
    let about = (
        Panel::Depth,
        "network, d = 20, 50 units a layer",
        "no power: one layer is traced root by root, \
         deeper ones are products of matrices in a few places",
        None,
    );
    Ok(vec![over(about, &sizes, plan, |layers| {
        let widths: Vec<usize> =
            [D].into_iter().chain(std::iter::repeat_n(WIDTH, layers)).chain([2]).collect();
        Ok(Arc::new(network(&widths)?))
    })?])
}

fn trees(plan: &Plan) -> Result<Vec<Curve>> {
    let sizes = if plan.quick { vec![10, 20, 50] } else { vec![10, 20, 50, 100, 200, 500] };
    // The first trees of an ensemble are an ensemble.
    let all = boosted(sizes.last().copied().unwrap_or(0), TREE_FEATURES)?;
    let about = (Panel::Trees, "boosting, d = 10, depth 4", "1: a sample costs trees", Some(1.0));
    Ok(vec![over(about, &sizes, plan, |n| {
        Ok(Arc::new(Trees::new(
            TREE_FEATURES,
            all.trees()[..n].to_vec(),
            all.rules(),
            all.threshold(),
        )?))
    })?])
}

fn rates(plan: &Plan) -> Result<Vec<Curve>> {
    let rates: &[f64] = match plan.quick {
        true => &[0.35, 0.1, 0.01],
        false => &[0.35, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4],
    };
    let curve =
        |panel, name, theory, expected| Curve { panel, name, theory, expected, points: Vec::new() };
    let mut exact = curve(Panel::Rate, "linear, d = 20", "0", Some(0.0));
    let mut sampled = curve(Panel::Rate, "network [20, 50, 2]", "as lines", None);
    let mut lines = curve(
        Panel::Lines,
        "network [20, 50, 2]",
        "−¼ while the search stays 0.010 ∜r under r, −1 below r = 0.06, 0 below 0.003 and again \
         below 0.0007, where an attempt reads all it may",
        None,
    );
    let models: [Arc<dyn Model>; 2] = [Arc::new(linear(D)?), Arc::new(network(&[D, WIDTH, 2])?)];
    for &r in rates {
        exact.points.push(person(&engine(models[0].clone(), r)?, r, plan)?);
        let point = person(&engine(models[1].clone(), r)?, r, plan)?;
        sampled.points.push(point);
        lines.points.push(Point { value: point.lines, ..point });
    }
    Ok(vec![exact, sampled, lines])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_timed_until_it_is_enough_and_lines_counted() {
        let plan = Plan { quick: true, enough: 0.01 };
        let exact =
            person(&engine(Arc::new(linear(5).unwrap()), 0.1).unwrap(), 5.0, &plan).unwrap();
        assert!(exact.value > 0.0 && exact.certified == 1.0 && exact.lines == 0.0, "{exact:?}");
        let model = Arc::new(network(&[5, 8, 2]).unwrap());
        let sampled = person(&engine(model, 0.1).unwrap(), 5.0, &plan).unwrap();
        assert!(sampled.lines > 100.0 && sampled.value > 0.0, "{sampled:?}");
    }

    #[test]
    fn a_look_leaves_the_largest_sizes_out() {
        let sizes = |quick| Plan { quick, enough: 0.0 }.sizes(&[5, 10, 100, 1_000]);
        assert_eq!((sizes(true), sizes(false)), (vec![5, 10, 100], vec![5, 10, 100, 1_000]));
    }
}
