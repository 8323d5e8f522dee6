//! Probabilistically robust recourse.
//!
//! A model said no to a person. This crate finds the least costly change that turns the no into a
//! yes and keeps it a yes with a probability that the person chooses, although nobody carries out
//! advice exactly. The person picks $r$, the share of noisy implementations that may fail; the
//! answer is the cheapest admissible point whose true invalidation rate is at most $r$.
//!
//! The method is PROBE (Pawelczyk et al., ICLR 2023, arXiv:2203.06768). Symbols are listed in
//! `docs/notation.md`.
//!
//! # Quick start
//!
//! ```
//! use probe_core::{Engine, Linear, Rows, Setup, Status};
//! use std::sync::Arc;
//!
//! // s(x) = 2·income − debt − 1, on features scaled to 0..1; favourable iff s(x) > 0.
//! let model = Arc::new(Linear::new(vec![2.0, -1.0], -1.0, 0.0)?);
//!
//! // People miss each feature by a standard deviation of 0.05; one attempt in ten may fail.
//! let setup = Setup::builder(model, ["income", "debt"])
//!     .sigma(0.05)
//!     .max_rate(0.1)
//!     .bounds(0.0, 1.0)
//!     .build()?;
//! let engine = Engine::new(setup)?;
//!
//! // One person, denied: income 0.4, debt 0.3.
//! let answers = engine.recourse(Rows::single(&[0.4, 0.3]))?;
//! assert_eq!(answers[0].status, Status::Certified);
//! assert!(answers[0].rate <= 0.1 && answers[0].score_after > 0.0);
//! // The cheapest change is income alone, from 0.4 to 0.72.
//! assert_eq!(answers[0].changed, 1);
//! assert!((answers[0].point[0] - 0.7216).abs() < 1e-4);
//! # Ok::<(), probe_core::Error>(())
//! ```
//!
//! The folder `examples` has five more: scoring, closed-form rates, limits in raw units with a
//! frontier, a model of your own, and a method of your own.
//!
//! # Map
//!
//! Modules are layers: each uses only those above it in this table, and a test keeps it so.
//!
//! | module | what it holds |
//! |---|---|
//! | [`error`] | [`Error`], which names field and value; [`ParamError`] |
//! | [`rows`] | [`Rows`], [`RowsMut`]: row-major views of tables |
//! | [`registry`] | names to things: one explicit slice per kind |
//! | [`seed`] | [`Seed`] to [`Stream`], keyed by purpose and person |
//! | [`math`] | normal, Student and binomial tails that stay accurate, Cholesky, Sobol' points |
//! | [`schema`] | [`Schema`]: units, scales and bounds; [`Actions`]: what may change |
//! | [`model`] | [`Model`], [`Differentiable`]; [`Linear`] |
//! | [`noise`] | [`Noise`], [`NoiseOn`], [`Gaussian`], [`Effort`], [`Residuals`]; fits from pairs |
//! | [`cost`] | [`Cost`], and norms with their exact one-constraint solvers |
//! | [`theory`] | the paper's theorem and propositions as functions |
//! | [`invalidation`] | [`InvalidationRate`]: [`Exact`], [`ClosedForm`], [`MonteCarlo`], … |
//! | [`recourse`] | [`RecourseMethod`], [`Solver`], [`Worker`]; method `probe` |
//! | [`engine`] | [`Setup`], [`Engine`], [`Session`]: raw units in, judged [`Answer`]s out |
//! | [`evaluation`] | metrics that re-score answers from outside |

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
pub use engine::{
    Answer, Engine, Limit, Relaxation, Relaxed, Session, Setup, SetupBuilder, Shortfall, Side,
    Slack, Status, Tolerance,
};
pub use error::{Error, ParamError, Result};
pub use invalidation::{
    ClosedForm, Enumeration, Estimate, Exact, ExactOrSampled, InvalidationRate, LineSampling,
    MonteCarlo, Query, SmoothedMonteCarlo, SobolMonteCarlo, affine_rate,
};
pub use model::{
    Activation, BlackBox, Dense, Differentiable, Linear, Mlp, Model, ModelShift, Trees,
};
pub use noise::{Covariance, Effort, Gaussian, Independent, Noise, NoiseOn, Residuals};
pub use recourse::{
    Ask, Budget, GENERATORS, Goal, METHODS, MethodOptions, Notes, Proposal, Reason, RecourseMethod,
    Reference, Report, SearchEffort, Solver, Task, Verdict, Worker,
};
pub use rows::{Rows, RowsMut};
pub use schema::{
    Actions, Coding, Direction, Encoding, Feature, FeatureLimits, Grid, Group, ModelInput, Schema,
    Space, Violation,
};
pub use seed::{Key, Purpose, Seed, Stream};
