//! Probe over HTTP (`probe serve`): models are served, and questions about people are answered
//! with the bytes of the command.
//!
//! - [`Config`], [`Models`], [`State`]: settings, what is served, and what requests share.
//! - [`app`]: all routes, without a socket; [`serve`]: the same on a socket until it is told to
//!   stop.
//!
//! A route parses, asks a [`probe_service::Question`], and renders. Answers are computed by the
//! engine's own threads (`pool`), never by those that read and write.

mod answer;
mod audit;
mod auth;
mod body;
mod cache;
mod config;
mod listen;
mod media;
mod metrics;
mod middleware;
mod models;
mod openapi;
mod pool;
mod problem;
mod routes;
mod settings;
mod state;
mod stream;

pub use config::Config;
pub use listen::{Listener, serve};
pub use models::{Models, Served, Snapshot};
pub use problem::Problem;
pub use routes::app;
pub use state::State;
