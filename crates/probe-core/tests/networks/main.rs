//! Networks: rates, certificates and recourses against known values, or what an independent program
//! would measure.
//!
//! Tests that take minutes are ignored; `cargo xtask test --full` runs them.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod black_box;
mod budget;
mod certificates;
mod changed;
mod edges;
mod family;
mod hopeless;
mod limits;
mod lines;
mod same_bits;
mod shared;
mod starts;
