//! Probabilistically robust recourse.
//!
//! A model said no to a person. This crate finds the least costly change that turns the no into a yes and keeps it a
//! yes with a probability that the person chooses, although nobody carries out advice exactly. The person picks
//! $r$, the share of noisy implementations that may fail; the answer is the cheapest admissible point whose true
//! invalidation rate is at most $r$.
//!
//! The method is PROBE (Pawelczyk et al., ICLR 2023, arXiv:2203.06768). Symbols are listed in `docs/notation.md`.

pub mod cost;
pub mod engine;
pub mod error;
pub mod evaluation;
pub mod invalidation;
pub mod math;
pub mod model;
pub mod noise;
pub mod recourse;
pub mod registry;
pub mod rows;
pub mod schema;
pub mod seed;
pub mod theory;

pub use cost::Cost;
pub use engine::{Answer, Engine, Limit, Session, Setup, Shortfall, Slack, Status, Tolerance};
pub use error::{Error, ParamError, Result};
pub use invalidation::{ClosedForm, Estimate, InvalidationRate, MonteCarlo, Query, affine_rate};
pub use model::{Activation, Dense, Differentiable, Linear, Mlp, Model};
pub use noise::{Covariance, Gaussian, Noise, NoiseOn};
pub use recourse::{Goal, METHODS, Proposal, Reason, RecourseMethod, Solver, Task, Verdict, Worker};
pub use rows::{Rows, RowsMut};
pub use schema::{Actions, Direction, Feature, Group, ModelInput, Room, Schema, Space, Violation};
pub use seed::{Key, Purpose, Seed, Stream};
