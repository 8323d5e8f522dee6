//! The independent judge of the exact solvers.
//!
//! Nothing here calls the solvers it judges: optima come from enumeration, bisection and a general
//! LP/MILP solver, and points are checked by code that shares nothing with these but [`Instance`]'s
//! accessors. Only the random streams come from the engine.
//!
//! - [`Instance`] is one affine recourse problem as plain data, [`Instance::random`] draws one;
//! - [`reference`](mod@reference) solves it by brute force, with several methods;
//! - [`checker`] says which rules a point breaks, and what it costs and risks;
//! - [`Stay`] is a method that finds nothing, to see what is proven without one;
//! - [`assert_close!`](crate::assert_close) compares numbers under a stated [`Tolerance`].

pub mod checker;
pub mod close;
mod generate;
pub mod instance;
pub mod reference;
mod stay;

pub use close::{Absolute, Mixed, MonteCarlo, Relative, Tolerance, Ulp};
pub use generate::Shape;
pub use instance::{Direction, Feature, Group, Instance, Mask, Noise, Norm, Spread};
pub use reference::{
    Best, OutOfScope, Reference, best_rate, max_robust, solve, solve_lp, solve_milp,
};
pub use stay::Stay;
