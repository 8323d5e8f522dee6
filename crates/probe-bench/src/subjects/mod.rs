//! Models on real data and the people they deny, shared by all measurements.

pub mod networks;
pub mod trees;
