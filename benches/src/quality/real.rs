//! Real data sets: as columns between 0 and 1, free or bounded, and as they are, with the schema
//! that is inferred from the file.

use super::problem::Problem;
use super::subject::{Case, Half};
use anyhow::{Context as _, Result};
use probe_bench::folders;
use probe_core::{Activation, Encoding, Model, NoiseOn, Rows, Seed, Setup};
use probe_experiments::paper_data::PaperData;
use probe_io::{TableReader, infer_schema, read_table};
use probe_train::{
    BoostedParams, FitParams, ForestParams, Labelled, Learner, LogisticParams, MlpParams, fit_model,
};
use std::sync::Arc;

const SIGMA: f64 = 0.1;
const RAW_SIGMA: f64 = 0.05;
/// Rows that a model is trained on, at most.
const TRAINING: usize = 10_000;
const SEED: Seed = Seed(0);

/// Kinds of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Linear,
    /// ReLU, one hidden layer.
    Relu,
    /// Tanh, two hidden layers.
    Tanh,
    /// GELU, three hidden layers.
    Gelu,
    Forest,
    Boosted,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Linear, Self::Relu, Self::Tanh, Self::Gelu, Self::Forest, Self::Boosted];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Relu => "ReLU network",
            Self::Tanh => "tanh network, 2 layers",
            Self::Gelu => "GELU network, 3 layers",
            Self::Forest => "forest",
            Self::Boosted => "boosted",
        }
    }

    fn learner(self) -> Learner {
        let network = |hidden: &[usize], activation| {
            Learner::Mlp(MlpParams {
                hidden: hidden.to_vec(),
                activation,
                epochs: 20,
                batch: 64,
                learning_rate: 2e-3,
                patience: 0,
                ..MlpParams::default()
            })
        };
        match self {
            Self::Linear => Learner::Linear(LogisticParams::default()),
            Self::Relu => network(&[50], Activation::Relu),
            Self::Tanh => network(&[24, 24], Activation::Tanh),
            Self::Gelu => network(&[16, 16, 16], Activation::Gelu),
            Self::Forest => Learner::Forest(ForestParams::default()),
            Self::Boosted => Learner::Boosted(BoostedParams::default()),
        }
    }
}

/// A data set in its own units.
pub(super) struct RawData {
    pub(super) title: &'static str,
    pub(super) file: &'static str,
    target: &'static str,
    favourable: &'static str,
    immutable: &'static [&'static str],
}

/// Data sets with whole numbers, steps and, but for HELOC, categories.
pub(super) const RAW: [RawData; 4] = [
    RawData {
        title: "German Credit",
        file: "german_credit.csv",
        target: "default",
        favourable: "0",
        immutable: &[],
    },
    RawData {
        title: "Adult",
        file: "adult_raw.csv",
        target: "income",
        favourable: ">50K",
        immutable: &["age", "sex", "race", "capital-gain", "capital-loss", "fnlwgt"],
    },
    RawData {
        title: "COMPAS",
        file: "compas.csv",
        target: "score",
        favourable: "1",
        immutable: &["age", "race", "sex"],
    },
    RawData {
        title: "HELOC",
        file: "heloc.csv",
        target: "RiskPerformance",
        favourable: "1.0",
        immutable: &[],
    },
];

/// Whether the file of a data set is there.
pub(super) fn has(file: &str) -> bool {
    folders::data().join(file).exists()
}

/// A model of a data set in its own units.
pub(super) fn raw(data: &RawData, kind: Kind, which: (Half, usize)) -> Result<Case> {
    let path = folders::data().join(data.file);
    let immutable: Vec<String> = data.immutable.iter().map(|&name| name.to_owned()).collect();
    let inferred = infer_schema(TableReader::open(&path, None)?, Some(data.target), &immutable)?;
    let mut schema = inferred.schema;
    schema.favourable = Some(data.favourable.to_owned());
    let names = schema.column_names();
    let encoding = Arc::new(Encoding::new(&schema, &names)?);
    let features: Vec<String> =
        encoding.features().iter().map(|feature| feature.name.clone()).collect();
    let table =
        read_table(&path, None, Some(&features), data.target, true, Some(Arc::clone(&encoding)))?;
    let d = table.features.len();
    let all = Rows::new(&table.values, d)?;
    let favourable: Vec<bool> = table.target.iter().map(|text| text == data.favourable).collect();
    let n = TRAINING.min(all.n_rows());
    let some: Vec<usize> = (0..n).map(|i| i * all.n_rows() / n).collect();
    let values: Vec<f64> = some.iter().flat_map(|&i| all.row(i)).copied().collect();
    let labels: Vec<bool> = some.iter().map(|&i| favourable[i]).collect();
    let labelled = Labelled {
        names: &table.features,
        rows: Rows::new(&values, d)?,
        favourable: &labels,
        target: data.target,
        favourable_value: data.favourable,
    };
    let params = FitParams { learner: kind.learner(), ..FitParams::default() };
    let trained = fit_model(&labelled, Some(&schema), &params, SEED)?;
    let names = trained.schema.column_names();
    let setup =
        Setup::new(Arc::clone(&trained.model), names.clone(), Some(&trained.schema), RAW_SIGMA)?;
    let rules = (RAW_SIGMA, &setup.cost);
    let problem = Problem::of_schema(trained.model, &trained.schema, &names, rules)?;
    let mut rows = Vec::new();
    for row in all.iter() {
        let mut columns = vec![0.0; names.len()];
        setup.encoding.encode_into(row, &mut columns);
        rows.push(columns);
    }
    Case::new(data.file.trim_end_matches(".csv").to_owned(), (problem, setup), &rows, which)
}

/// A model of a data set as columns between 0 and 1, all of them free numbers; `bounded` keeps
/// them between 0 and 1.
pub(super) fn columns(
    data: &PaperData,
    kind: Kind,
    bounded: bool,
    which: (Half, usize),
) -> Result<Case> {
    let encoded =
        data.load(&folders::data(), SEED).with_context(|| format!("cannot load {}", data.file))?;
    let d = encoded.names.len();
    let train = &encoded.split.train;
    let n = TRAINING.min(train.len());
    let some: Vec<usize> = (0..n).map(|i| train[i * train.len() / n]).collect();
    let (values, labels) = encoded.part(&some);
    let labelled = Labelled {
        names: &encoded.names,
        rows: Rows::new(&values, d)?,
        favourable: &labels,
        target: "favourable",
        favourable_value: "1",
    };
    let params = FitParams { learner: kind.learner(), test_share: 0.0 };
    let trained = fit_model(&labelled, Some(&unit_schema(&encoded.names)), &params, SEED)?;
    let model: Arc<dyn Model> = trained.model;
    let mut setup = Setup::new(Arc::clone(&model), encoded.names.clone(), None, SIGMA)?;
    setup.noise_on = NoiseOn::All;
    let bounds = bounded.then_some((0.0, 1.0));
    if let Some((low, high)) = bounds {
        setup.actions.intersect(low, high)?;
    }
    let problem = Problem::free(model, SIGMA, bounds);
    let (test, _) = encoded.part(&encoded.split.test);
    let rows: Vec<Vec<f64>> = test.chunks_exact(d).map(<[f64]>::to_vec).collect();
    Case::new(data.name.to_owned(), (problem, setup), &rows, which)
}

/// Columns that are scaled already.
fn unit_schema(names: &[String]) -> probe_core::Schema {
    let unit = |name: &String| probe_core::Feature {
        scale: Some([0.0, 1.0]),
        ..probe_core::Feature::numeric(name)
    };
    probe_core::Schema::new(names.iter().map(unit).collect())
}
