//! The appendix's figure on trees: a forest on two moons, the one tree that is distilled from it,
//! the tree's boxes, and a recourse on them.
//!
//! The paper calls that recourse certified. This holds for the tree; the figure shows its rate on
//! the forest, next to our answer.
//!
//! Source: PROBE, arXiv:2203.06768, figure "Computing certified recourses on the 2d Moon data set":
//! 30 trees, noise of variance 0.025, a person with a rate of about 0.5 and a recourse with one of
//! about 0.05. It does not say how many points, how deep the trees, or which person; ours are
//! [`POINTS`], [`DEPTH`], and the denied person whose rate on the tree is closest to one half.

mod picture;

use super::moons::{Moons, moons};
use super::{Experiment, Inputs, Laboratory, Made, Table, csv, number};
use crate::number::{fixed, percent};
use crate::paper_data::Error;
use probe_core::recourse::Distilled;
use probe_core::registry::Entry;
use probe_core::{Answer, Engine, Exact, Model as _, Rows, Setup, Status, Trees};
use probe_train::{ForestParams, ForestTrainer};
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn Experiment> = Entry {
    name: "trees",
    reference: "figure of the appendix on tree based classifiers, arXiv:2203.06768",
    item: &OnMoons,
};

const POINTS: usize = 1_000;
/// Standard deviation of the points about their moons.
const SPREAD: f64 = 0.2;
const TREES: usize = 30;
const DEPTH: usize = 6;
/// Variance of the noise.
const VARIANCE: f64 = 0.025;
const TARGET: f64 = 0.05;
/// Boxes that an exact rate may take: two features have few.
const BOXES: usize = 1 << 20;

struct OnMoons;

/// A point with its rates.
struct Place {
    point: [f64; 2],
    on_tree: f64,
    on_forest: f64,
}

/// All that the figure shows.
struct Study {
    moons: Moons,
    forest: Arc<Trees>,
    distilled: Distilled,
    sigma: f64,
    person: Place,
    /// By method `probe-tree`, with its cost.
    theirs: (Place, f64),
    /// By method `probe`.
    ours: (Place, f64),
}

impl Experiment for OnMoons {
    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let study = Study::new(&lab.inputs)?;
        let picture = picture::draw(&study).standalone();
        Ok(Made {
            tables: vec![study.table()],
            remarks: study.remarks(),
            files: vec![("trees.svg", picture), ("trees.csv", study.csv())],
        })
    }
}

impl Study {
    fn new(inputs: &Inputs) -> Result<Self, Error> {
        let (moons, sigma) = (moons(POINTS, SPREAD, inputs.seed), VARIANCE.sqrt());
        let names = ["x1", "x2"].map(str::to_owned).to_vec();
        let params = ForestParams { trees: TREES, depth: DEPTH, ..ForestParams::default() };
        let trainer = ForestTrainer::new(params).map_err(probe_train::Error::from)?;
        let rows = Rows::new(&moons.rows, 2)?;
        let forest = Arc::new(trainer.fit(rows, &names, &moons.favourable, inputs.seed)?);
        let setup = |model: &Arc<Trees>, method: &str| -> Result<Setup, Error> {
            let mut setup = Setup::new(model.clone(), names.clone(), None, sigma)?;
            setup.max_rate = TARGET;
            setup.seed = inputs.seed;
            setup.method = method.to_owned();
            setup.reference = Some(moons.rows.clone().into());
            Ok(setup)
        };
        let [by_tree, by_forest] = ["probe-tree", "probe"].map(|method| setup(&forest, method));
        let (by_tree, by_forest) = (Engine::new(by_tree?)?, Engine::new(by_forest?)?);
        let distilled = Distilled::of(by_tree.task())?;
        let tree_alone = Engine::new(setup(&Arc::new(distilled.tree.clone()), "probe")?)?;
        let rate =
            |engine: &Engine, point: &[f64]| engine.rate(point, None, &Exact { boxes: BOXES });
        let place = |point: &[f64]| -> Result<Place, Error> {
            let (on_tree, on_forest) =
                (rate(&tree_alone, point)?.rate, rate(&by_forest, point)?.rate);
            Ok(Place { point: [point[0], point[1]], on_tree, on_forest })
        };
        let mut person: Option<Place> = None;
        for row in rows.iter() {
            if forest.score(row)? > 0.0 || distilled.tree.score(row)? > 0.0 {
                continue;
            }
            let found = place(row)?;
            let off = |place: &Place| (place.on_tree - 0.5).abs();
            if person.as_ref().is_none_or(|best| off(&found) < off(best)) {
                person = Some(found);
            }
        }
        // A forest that has learned anything denies some of the upper moon.
        let person = person.ok_or(probe_train::Error::NoRows { what: "deny" })?;
        let ask = |engine: &Engine| -> Result<(Place, f64), Error> {
            let mut answer = Answer::new(2);
            engine.session().recourse(&person.point, &mut answer)?;
            let point = if answer.status == Status::None { &answer.nearest } else { &answer.point };
            Ok((place(point)?, answer.cost.unwrap_or(f64::NAN)))
        };
        let (theirs, ours) = (ask(&by_tree)?, ask(&by_forest)?);
        Ok(Self { moons, forest, distilled, sigma, person, theirs, ours })
    }

    fn table(&self) -> Table {
        let row = |name: &str, place: &Place, cost: Option<f64>, paper: &str| {
            let cost = cost.map_or_else(|| "–".to_owned(), |cost| fixed(cost, 3));
            vec![
                name.to_owned(),
                fixed(place.on_tree, 3),
                fixed(place.on_forest, 3),
                cost,
                paper.to_owned(),
            ]
        };
        Table {
            title: format!("Recourse on two moons, r = {TARGET}, noise of variance {VARIANCE}"),
            header: vec!["point", "rate on the tree", "rate on the forest", "l1 cost", "paper"],
            rows: vec![
                row("the person", &self.person, None, "about 0.5"),
                row(
                    "recourse by the distilled tree",
                    &self.theirs.0,
                    Some(self.theirs.1),
                    "about 0.05",
                ),
                row("recourse by method probe", &self.ours.0, Some(self.ours.1), "–"),
            ],
            ..Table::default()
        }
    }

    fn csv(&self) -> String {
        let line = |name: &str, place: &Place, cost: f64| {
            let [x1, x2] = place.point;
            let numbers = [x1, x2, place.on_tree, place.on_forest, cost].map(number);
            std::iter::once(name.to_owned()).chain(numbers).collect::<Vec<_>>()
        };
        let lines = vec![
            line("person", &self.person, 0.0),
            line("probe-tree", &self.theirs.0, self.theirs.1),
            line("probe", &self.ours.0, self.ours.1),
        ];
        csv(&["point", "x1", "x2", "rate_on_tree", "rate_on_forest", "cost"], lines.into_iter())
    }

    fn remarks(&self) -> Vec<String> {
        vec![format!(
            "The tree has {} leaves and agrees with the forest of {TREES} trees on {} of noisy \
             points. The paper gives one rate for each point; ours are exact, on the tree (Theorem \
             2) and on the forest itself.",
            self.distilled.n_leaves(),
            percent(self.distilled.fidelity)
        )]
    }
}
