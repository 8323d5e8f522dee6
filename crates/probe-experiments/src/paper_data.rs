//! The paper's data sets and networks: reading, encoding, splitting and training as its appendix
//! says.
//!
//! Every categorical feature has two values and becomes two one-hot columns; all columns are scaled
//! to [0, 1] by their smallest and largest value in the whole table, as the paper's library does,
//! and are treated as continuous numbers. 80 % of the rows are for training. Networks are [d, 50,
//! 2] with relu and softmax, trained by Adam; their margin is the difference of the two logits, so
//! that "favourable" is the softmax's probability above one half.
//!
//! What differs: the split is drawn by our seed and stratified. Class 1 is the favourable one in
//! all three files (Give Me Some Credit's target is flipped in the file; its own 1 is the
//! unfavourable class).

use probe_core::{Linear, Mlp, Model, Rows, Seed};
use probe_io::{Columns, Id, TableReader};
use probe_train::{DEFAULT_TEST_SHARE, Metrics, MlpParams, MlpTrainer, Split};
use std::path::Path;
use thiserror::Error as ThisError;

/// Why data or a network of the paper is not available.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] probe_io::Error),
    /// The network cannot be trained.
    #[error(transparent)]
    Train(#[from] probe_train::Error),
    /// The file is not the expected one.
    #[error("{file}: column {column} has {found} different values, not 2")]
    NotBinary {
        /// The file's name.
        file: &'static str,
        /// Its column.
        column: String,
        /// How many values it has.
        found: usize,
    },
    /// The data are not there.
    #[error(
        "this needs the paper's data sets: give their folder with --data DIR (`probe data \
         download` gets them)"
    )]
    NoFolder,
    /// A finished cell cannot be stored.
    #[error("{name}: {source}")]
    File {
        /// The file.
        name: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// An experiment uses data that it did not request.
    #[error("'{0}' was not prepared")]
    NotPrepared(String),
}

impl Error {
    /// A file that cannot be used.
    pub(crate) fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File { name: path.display().to_string(), source }
    }
}

impl From<probe_core::Error> for Error {
    fn from(error: probe_core::Error) -> Self {
        Self::Train(error.into())
    }
}

/// One of the paper's data sets, with what the paper says of it.
#[derive(Debug, Clone, Copy)]
pub struct PaperData {
    /// A short name, for flags and file names.
    pub name: &'static str,
    /// The displayed name.
    pub title: &'static str,
    /// The file in the data folder.
    pub file: &'static str,
    /// Its target column; 1 is favourable.
    pub target: &'static str,
    /// Columns with two categories each; every other one is numeric.
    pub categorical: &'static [&'static str],
    /// Rows per step of training (table "Training details").
    pub batch: usize,
    /// Passes over the training rows.
    pub epochs: usize,
    /// Adam's step size.
    pub learning_rate: f64,
    /// Accuracy of the paper's network.
    pub network_accuracy: f64,
    /// Accuracy of the paper's logistic regression.
    pub logistic_accuracy: f64,
}

/// The paper's three data sets.
pub const PAPER_DATA: [PaperData; 3] = [
    PaperData {
        name: "adult",
        title: "Adult",
        file: "adult.csv",
        target: "income",
        categorical: &[
            "workclass",
            "marital-status",
            "occupation",
            "relationship",
            "race",
            "sex",
            "native-country",
        ],
        batch: 512,
        epochs: 50,
        learning_rate: 0.002,
        network_accuracy: 0.85,
        logistic_accuracy: 0.83,
    },
    PaperData {
        name: "compas",
        title: "COMPAS",
        file: "compas.csv",
        target: "score",
        categorical: &["c_charge_degree", "race", "sex"],
        batch: 32,
        epochs: 40,
        learning_rate: 0.002,
        network_accuracy: 0.85,
        logistic_accuracy: 0.84,
    },
    PaperData {
        name: "gmc",
        title: "Give Me Some Credit",
        file: "give_me_some_credit.csv",
        target: "SeriousDlqin2yrs",
        categorical: &[],
        batch: 64,
        epochs: 30,
        learning_rate: 0.001,
        network_accuracy: 0.93,
        logistic_accuracy: 0.92,
    },
];

/// HELOC, which the paper does not use: for trees.
pub const HELOC: PaperData = PaperData {
    name: "heloc",
    title: "HELOC",
    file: "heloc.csv",
    target: "RiskPerformance",
    categorical: &[],
    batch: 64,
    epochs: 30,
    learning_rate: 0.001,
    network_accuracy: f64::NAN,
    logistic_accuracy: f64::NAN,
};

/// A table in scaled space, split.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoded {
    /// Columns: numeric ones in the file's order, then `feature=value` for both values of each
    /// categorical one.
    pub names: Vec<String>,
    /// The numbers, row after row, each column from 0 to 1.
    pub values: Vec<f64>,
    /// Whether each row's target is 1.
    pub favourable: Vec<bool>,
    /// Rows for training and for testing.
    pub split: Split,
}

impl PaperData {
    /// Reads, encodes and scales the file in `folder`; the split is drawn by `seed`.
    pub fn load(&self, folder: &Path, seed: Seed) -> Result<Encoded, Error> {
        self.encode(TableReader::open(folder.join(self.file), None)?, seed)
    }

    /// As [`PaperData::load`], from a table that is open already.
    pub fn encode(&self, table: TableReader, seed: Seed) -> Result<Encoded, Error> {
        let is_text = |name: &&String| self.categorical.contains(&name.as_str());
        let numeric: Vec<String> =
            table.header().iter().filter(|n| !is_text(n) && *n != self.target).cloned().collect();
        let ids =
            self.categorical.iter().chain([&self.target]).map(|&name| name.to_owned()).collect();
        let wanted = Columns { features: numeric.clone(), ids, ..Columns::default() };
        let n_text = self.categorical.len();
        let (mut rows, mut favourable, mut texts) =
            (Vec::new(), Vec::new(), vec![Vec::new(); n_text]);
        let mut numbers = Vec::new();
        for chunk in table.select(&wanted)? {
            let chunk = chunk?;
            chunk.numbers_into(&mut numbers)?;
            rows.extend_from_slice(&numbers);
            for row in 0..chunk.n_rows() {
                for (k, column) in texts.iter_mut().enumerate() {
                    column.push(text(chunk.id(row, k)?));
                }
                favourable.push(text(chunk.id(row, n_text)?).parse() == Ok(1.0));
            }
        }
        let mut columns: Vec<Vec<f64>> = (0..numeric.len())
            .map(|j| rows.iter().skip(j).step_by(numeric.len()).copied().collect())
            .collect();
        let mut names = numeric;
        for (feature, column) in self.categorical.iter().zip(&texts) {
            let values = std::collections::BTreeSet::from_iter(column);
            if values.len() != 2 {
                let (column, found) = ((*feature).to_owned(), values.len());
                return Err(Error::NotBinary { file: self.file, column, found });
            }
            for value in values {
                names.push(format!("{feature}={value}"));
                columns
                    .push(column.iter().map(|cell| f64::from(u8::from(cell == value))).collect());
            }
        }
        columns.iter_mut().for_each(|column| scale(column));
        let values =
            (0..favourable.len()).flat_map(|row| columns.iter().map(move |c| c[row])).collect();
        let split = Split::stratified(&favourable, DEFAULT_TEST_SHARE, seed)?;
        Ok(Encoded { names, values, favourable, split })
    }

    /// The settings of the paper's network.
    pub fn network_params(&self) -> MlpParams {
        MlpParams {
            hidden: vec![50],
            outputs: 2,
            epochs: self.epochs,
            batch: self.batch,
            learning_rate: self.learning_rate,
            patience: 0,
            ..MlpParams::default()
        }
    }

    /// Trains the paper's network on the training rows.
    pub fn train_network(&self, data: &Encoded, seed: Seed) -> Result<Mlp, Error> {
        self.train(self.network_params(), data, seed)
    }

    /// Trains the paper's logistic regression, which is the network without its hidden layer,
    /// trained in the same way.
    pub fn train_logistic(&self, data: &Encoded, seed: Seed) -> Result<Linear, Error> {
        let net =
            self.train(MlpParams { hidden: Vec::new(), ..self.network_params() }, data, seed)?;
        let (weights, bias) = net.output();
        Ok(Linear::new(weights.to_vec(), bias, 0.0)?)
    }

    fn train(&self, params: MlpParams, data: &Encoded, seed: Seed) -> Result<Mlp, Error> {
        let (x, favourable) = data.part(&data.split.train);
        let rows = Rows::new(&x, data.names.len())?;
        Ok(MlpTrainer::new(params)
            .map_err(probe_train::Error::from)?
            .fit(rows, &data.names, &favourable, seed)?
            .model)
    }
}

impl Encoded {
    /// Some rows and whether they are favourable.
    pub fn part(&self, rows: &[usize]) -> (Vec<f64>, Vec<bool>) {
        let d = self.names.len();
        let x =
            rows.iter().flat_map(|&row| &self.values[row * d..(row + 1) * d]).copied().collect();
        (x, rows.iter().map(|&row| self.favourable[row]).collect())
    }

    /// How good `model` is on the test rows.
    pub fn judge(&self, model: &dyn Model) -> Result<Metrics, Error> {
        let (x, favourable) = self.part(&self.split.test);
        let mut scores = vec![0.0; favourable.len()];
        model.score_batch(Rows::new(&x, self.names.len())?, &mut scores)?;
        Ok(Metrics::of(&scores, &favourable)?)
    }

    /// People of the test rows whom `model` denies, row after row: all of them, or `most` spread
    /// evenly over them.
    pub fn denied(&self, model: &dyn Model, most: usize) -> Result<Vec<f64>, Error> {
        let d = self.names.len();
        let (x, _) = self.part(&self.split.test);
        let mut scores = vec![0.0; self.split.test.len()];
        model.score_batch(Rows::new(&x, d)?, &mut scores)?;
        let denied: Vec<usize> = (0..scores.len()).filter(|&i| scores[i] <= 0.0).collect();
        let n = most.min(denied.len());
        Ok((0..n).flat_map(|i| &x[denied[i * denied.len() / n] * d..][..d]).copied().collect())
    }
}

fn text(id: Id<'_>) -> String {
    match id {
        Id::Text(text) => text.trim().to_owned(),
        other => other.to_json().to_string(),
    }
}

/// To [0, 1]; a constant column becomes 0.
fn scale(column: &mut [f64]) {
    let low = column.iter().copied().fold(f64::INFINITY, f64::min);
    let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = if high > low { high - low } else { 1.0 };
    column.iter_mut().for_each(|value| *value = (*value - low) / width);
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_io::Format;

    const SMALL: PaperData =
        PaperData { target: "score", categorical: &["race", "sex"], ..PAPER_DATA[1] };

    fn encode(text: &'static str) -> Result<Encoded, Error> {
        let table =
            TableReader::from_read("x.csv", std::io::Cursor::new(text), Format::Csv).unwrap();
        SMALL.encode(table, Seed(0))
    }

    #[test]
    fn two_columns_per_category_and_everything_from_0_to_1() {
        let data =
            encode("age,race,priors,sex,score\n20,b,4,M,1\n30,a,4,F,0\n60,a,4,M,1\n60,b,4,M,0\n")
                .unwrap();
        assert_eq!(data.names, ["age", "priors", "race=a", "race=b", "sex=F", "sex=M"]);
        assert_eq!(data.favourable, [true, false, true, false]);
        let expected = [
            [0.0, 0.0, 0.0, 1.0, 0.0, 1.0],
            [0.25, 0.0, 1.0, 0.0, 1.0, 0.0],
            [1.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        ];
        assert_eq!(data.values[..18], expected.concat());
    }

    #[test]
    fn a_third_category_is_refused_by_name() {
        let error = encode("age,race,sex,score\n1,a,M,0\n2,b,F,1\n3,c,M,1\n").unwrap_err();
        assert_eq!(error.to_string(), "compas.csv: column race has 3 different values, not 2");
    }

    #[test]
    fn denied_people_are_spread_over_the_test_rows() {
        let rows: Vec<String> =
            (0..100).map(|i| format!("{i},{},M,{}", ["a", "b"][i % 2], i / 50)).collect();
        let text = format!("age,race,sex,score\n{}\n0,a,F,0\n", rows.join("\n"));
        let table =
            TableReader::from_read("x.csv", std::io::Cursor::new(text), Format::Csv).unwrap();
        let data = SMALL.encode(table, Seed(0)).unwrap();
        let half = probe_core::Linear::new(vec![1.0, 0.0, 0.0, 0.0, 0.0], -0.5, 0.0).unwrap();
        let all = data.denied(&half, 1000).unwrap();
        let some = data.denied(&half, 3).unwrap();
        assert!(all.len() > 8 * 5 && all.chunks(5).all(|person| person[0] <= 0.5));
        assert_eq!(some.len(), 15);
        assert_eq!(some[..5], all[..5]);
        assert!(some[10] > 0.25, "{some:?}");
        assert!(data.judge(&half).unwrap().accuracy > 0.94);
    }
}
