//! Which version of a method to use: as in its paper, or as implemented in the recourse library
//! CARLA (Pawelczyk et al. 2021, arXiv:2108.00783), with which PROBE's numbers were computed. The
//! latter is for comparisons with those numbers.

use super::MethodOptions;
use crate::error::Result;

/// `version` of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The default.
    Paper,
    Library,
}

impl Version {
    pub(super) fn new(options: &MethodOptions) -> Result<Self> {
        options.word("version", Self::Paper, &[("paper", Self::Paper), ("library", Self::Library)])
    }
}
