//! Several methods on the same people, by the paper's measures.
//!
//! Recourse accuracy, average invalidation rate and average cost are those of section 6 of PROBE
//! (arXiv:2203.06768): the average rate and cost are over people who got an answer, the accuracy
//! over all who need one. The paper's rate of 10,000 draws is reported together with the true one,
//! which is exact or from lines. Answers are measured independently ([`probe_core::evaluation`]); a
//! method's own claims are not used.

mod picture;

pub use picture::comparison_picture;

use probe_core::evaluation::{Measured, Summary, measure};
use probe_core::{Engine, MethodOptions, Result, Rows, Seed, Setup};
use std::time::Instant;

/// A method with its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contender {
    /// The method's name.
    pub method: String,
    /// Its settings.
    pub options: MethodOptions,
}

impl Contender {
    /// A method with its default settings.
    pub fn new(method: &str) -> Self {
        Self { method: method.to_owned(), options: MethodOptions::default() }
    }

    /// The engine for `setup`, with this method instead of its own.
    pub fn engine(&self, setup: &Setup) -> Result<Engine> {
        let (method, options) = (self.method.clone(), self.options.clone());
        Engine::new(Setup { method, options, ..setup.clone() })
    }
}

/// The results of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The method.
    pub method: String,
    /// Share of people in need who got a favourable point.
    pub accuracy: Summary,
    /// Share of 10,000 noisy implementations that are rejected, as in the paper.
    pub sampled_rate: Summary,
    /// The true rate.
    pub rate: Summary,
    /// Cost, by the norm of the request.
    pub cost: Summary,
    /// Features changed.
    pub changed: Summary,
    /// Broken rules of the action space.
    pub violations: Summary,
    /// Wall-clock seconds of the search for all people together.
    pub seconds: f64,
}

impl Line {
    /// From the measured values.
    pub fn of(method: &str, measured: &[Measured], seed: Seed, seconds: f64) -> Self {
        let summary = |name: &'static str| {
            let values = measured.iter().find(|m| m.metric == name).map_or(&[][..], |m| &m.values);
            Summary::of(name, values.iter().copied(), seed)
        };
        Self {
            method: method.to_owned(),
            accuracy: summary("recourse-accuracy"),
            sampled_rate: summary("sampled-invalidation-rate"),
            rate: summary("invalidation-rate"),
            cost: summary("cost"),
            changed: summary("changed"),
            violations: summary("violations"),
            seconds,
        }
    }
}

/// Runs one method and measures it.
pub fn run(engine: &Engine, people: Rows<'_>) -> Result<(Vec<Measured>, f64)> {
    let start = Instant::now();
    let answers = engine.recourse(people)?;
    let seconds = start.elapsed().as_secs_f64();
    Ok((measure(engine, people, &answers)?, seconds))
}
