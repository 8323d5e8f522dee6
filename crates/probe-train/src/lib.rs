//! Training for Probe: from raw rows and a yes/no target to a model that the engine can serve.
//!
//! [`fit_model`] does everything: it splits, learns each feature's scale, fits a [`Learner`]'s
//! model and judges it on rows it has not seen. Its parts can be used alone: [`Split`],
//! [`Logistic`], [`MlpTrainer`], [`ForestTrainer`], [`BoostedTrainer`], [`Metrics`]. [`credit`] is
//! the built-in data set, so that everything can be tried without own data.
//!
//! ```
//! use probe_core::Seed;
//! use probe_train::{FitParams, credit, fit_model};
//!
//! let data = credit::generate(2000, Seed(0));
//! let trained = fit_model(&data.labelled()?, Some(&credit::schema()), &FitParams::default(),
//! Seed(0))?; let test = trained.report.test.expect("a fifth of the rows is kept for testing");
//! assert!(trained.report.converged && test.auc > Some(0.8));
//! # Ok::<(), probe_train::Error>(())
//! ```
//!
//! Results depend on the data, the parameters and the seed, to the last bit, and not on the number
//! of threads. Nothing here touches a disk or a clock.

pub mod boosted;
pub mod credit;
mod design;
pub mod error;
pub mod fit;
pub mod forest;
pub mod learner;
pub mod logistic;
pub mod metrics;
pub mod mlp;
mod objective;
mod scaling;
pub mod split;

pub use boosted::{BoostedFit, BoostedParams, BoostedTrainer};
pub use credit::CreditData;
pub use error::{Error, Result};
pub use fit::{FitParams, Labelled, TrainReport, Trained, fit_model};
pub use forest::{ForestParams, ForestTrainer};
pub use learner::Learner;
pub use logistic::{Logistic, LogisticFit, LogisticParams};
pub use metrics::{Confusion, Metrics, auc, log_loss};
pub use mlp::{Epoch, MlpFit, MlpParams, MlpTrainer};
pub use split::{DEFAULT_TEST_SHARE, Split};
