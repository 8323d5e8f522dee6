//! Where to download the data of the experiments, and how to check that they are the right files.
//!
//! The files are those of the recourse library CARLA (Pawelczyk et al. 2021, arXiv:2108.00783),
//! which the paper's experiments were made with. It reads them from the repository
//! `carla-recourse/cf-data`; that repository has had other versions of some files under the same
//! names, so that checksums are needed.

/// A file with its length and checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// A short name, as in [`PaperData`](crate::paper_data::PaperData).
    pub name: &'static str,
    /// The file's name, at the address and in the folder of data.
    pub file: &'static str,
    /// Its length.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal digits.
    pub sha256: &'static str,
    /// Who collected the data.
    pub origin: &'static str,
}

/// The folder in which the library looks for its data.
pub const BASE_URL: &str = "https://raw.githubusercontent.com/carla-recourse/cf-data/master";

/// The paper's three data sets, and HELOC.
pub const SOURCES: [Source; 4] = [
    Source {
        name: "adult",
        file: "adult.csv",
        bytes: 3_917_306,
        sha256: "e98ef37848b34919802d9e110718dd02ccbc8ec0369677f92bb1fd40b71eccdc",
        origin: "UCI Machine Learning Repository, Adult",
    },
    Source {
        name: "compas",
        file: "compas.csv",
        bytes: 193_928,
        sha256: "e99430e4bdeebc858ba22726be3c3924c8435e6c890e2ae7f52d0411a3cc0516",
        origin: "ProPublica, compas-analysis",
    },
    Source {
        name: "gmc",
        file: "give_me_some_credit.csv",
        bytes: 5_701_520,
        sha256: "fee57a61d39f555c51908e5ecce6796fa9b9a8d85eee649ab045712834c53f74",
        origin: "Kaggle, Give Me Some Credit (training rows)",
    },
    Source {
        name: "heloc",
        file: "heloc.csv",
        bytes: 1_074_131,
        sha256: "6a668dddbd2b59aed119c0169c562d54ad6a462580ca783628e88cbc59315d41",
        origin: "FICO, Home Equity Line of Credit",
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper_data::{HELOC, PAPER_DATA};

    #[test]
    fn every_data_set_has_a_source_and_every_checksum_its_digits() {
        for data in PAPER_DATA.iter().chain([&HELOC]) {
            let source = SOURCES.iter().find(|s| s.name == data.name).unwrap();
            assert_eq!(source.file, data.file);
        }
        assert_eq!(SOURCES.len(), PAPER_DATA.len() + 1);
        let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        assert!(SOURCES.iter().all(|s| s.sha256.len() == 64 && s.sha256.chars().all(hexadecimal)));
    }
}
