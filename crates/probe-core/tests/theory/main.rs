//! The theory against independent computations, and the paper's errata one by one.

mod agreement;
mod errata;
mod scores;
