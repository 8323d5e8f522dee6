//! The paper's classifiers: its appendix's tables of architecture, training and accuracy.

use super::cell::Kind;
use super::lab::Laboratory;
use super::methods::subjects;
use super::{Experiment, Made, Table, csv, number};
use crate::number::fixed;
use crate::paper_data::{Error, PAPER_DATA};
use probe_core::registry::Entry;

pub(super) const ENTRY: Entry<dyn Experiment> = Entry {
    name: "classifiers",
    reference: "tables of the appendix on classifiers, arXiv:2203.06768",
    item: &Classifiers,
};

struct Classifiers;

impl Experiment for Classifiers {
    fn subjects(&self) -> Vec<(&'static str, Kind)> {
        subjects()
    }

    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for paper in &PAPER_DATA {
            for kind in Kind::ALL {
                let subject = lab.subject(paper.name, kind)?;
                let (units, expected) = match kind {
                    Kind::Linear => {
                        (format!("[{}, 2]", subject.names.len()), paper.logistic_accuracy)
                    }
                    Kind::Network => {
                        (format!("[{}, 50, 2]", subject.names.len()), paper.network_accuracy)
                    }
                };
                let denied = subject.denied.len() / subject.names.len();
                let mut line =
                    vec![paper.name.to_owned(), kind.short().to_owned(), format!("\"{units}\"")];
                line.extend(
                    [paper.epochs as f64, paper.batch as f64, paper.learning_rate].map(number),
                );
                line.extend(
                    [expected, subject.accuracy, subject.tested as f64, denied as f64].map(number),
                );
                numbers.push(line);
                rows.push(vec![
                    format!("{}, {}", paper.title, kind.short()),
                    units,
                    format!("{} / {} / {}", paper.epochs, paper.batch, paper.learning_rate),
                    fixed(expected, 3),
                    fixed(subject.accuracy, 3),
                    fixed(subject.accuracy - expected, 3),
                    fixed(subject.tested as f64, 0),
                    fixed(denied as f64, 0),
                ]);
            }
        }
        let header = vec![
            "classifier",
            "units",
            "epochs / batch / step",
            "accuracy, paper",
            "accuracy, ours",
            "difference",
            "test people",
            "denied",
        ];
        let title = "The paper's classifiers".to_owned();
        let remarks = vec![
            "The split is ours (stratified, by the seed): the paper does not say how it was drawn. \
             The paper's \"50 hidden layers\" is one hidden layer of 50 units, as its appendix has \
             it; its logistic regression is the network without that layer, \
             trained in the same way."
                .to_owned(),
        ];
        let columns = [
            "data",
            "classifier",
            "units",
            "epochs",
            "batch",
            "learning_rate",
            "paper_accuracy",
            "accuracy",
            "test_people",
            "denied",
        ];
        let files = vec![("classifiers.csv", csv(&columns, numbers.into_iter()))];
        Ok(Made {
            tables: vec![Table { title, header, rows, words: &["units"], ..Table::default() }],
            remarks,
            files,
        })
    }
}
