//! What is proven of all admissible answers to a person: what each of them costs at least, or that
//! there are none.
//!
//! An exact solver proves its own answers, and nothing here is run then. For all others each of
//! [`BOUNDS`] adds what it can show, whatever the method was:
//!
//! - `reach`: the score of everything within reach is bounded; if even that is no yes, there is no
//!   answer;
//! - `noise`: under Gaussian noise no answer is nearer than the smoothed margin allows;
//! - `rows`: where everything that may change is countable, all cheaper rows are looked at.

mod distance;
mod noise;
mod reach;
mod rows;

use super::Case;
use super::judge::Judge;
use super::rounding::Rounding;
use crate::cost::Cost;
use crate::engine::Engine;
use crate::engine::outcome::Proof;
use crate::error::Result;

/// A way to prove something of all answers to one person after another.
trait Bound {
    /// Adds to `proof` what this way can show.
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()>;
}

/// Makes a bound for an engine; `None` where it would never show anything.
type Make = for<'e> fn(&'e Engine) -> Option<Box<dyn Bound + 'e>>;

/// All bounds, in the order in which they are tried.
const BOUNDS: &[Make] = &[reach::MAKE, noise::MAKE, rows::MAKE];

/// A session's bounds, made for the first person who needs them.
#[derive(Default)]
pub(super) struct Bounds<'e>(Option<Vec<Box<dyn Bound + 'e>>>);

/// The person about whom something is to be proven.
struct Person<'p, 'e> {
    engine: &'e Engine,
    /// Raw, and the score.
    raw: &'p [f64],
    score: f64,
    rounding: &'p mut Rounding<'e>,
    judge: &'p mut dyn Judge,
    /// What changes cost.
    cost: &'p Cost,
    max_rate: f64,
    /// The cost of an answer that meets the target: no more than that needs to be shown.
    told: Option<f64>,
}

impl<'e, J: Judge> Case<'_, 'e, J> {
    /// What is proven of all answers of at most `max_rate` to the person, who scores `score`;
    /// `told` is the cost of one of them. The printed row stays as it is.
    pub(super) fn prove(
        &mut self,
        (score, max_rate): (f64, f64),
        told: Option<f64>,
    ) -> Result<Proof> {
        let Self { engine, person, proposer, rounding, judge, bounds } = self;
        let engine: &'e Engine = engine;
        let bounds =
            bounds.0.get_or_insert_with(|| BOUNDS.iter().filter_map(|make| make(engine)).collect());
        let mut proof = Proof::NOTHING;
        let mut person = Person {
            engine,
            raw: person,
            score,
            rounding,
            judge: &mut **judge,
            cost: proposer.cost(),
            max_rate,
            told,
        };
        for bound in bounds {
            bound.prove(&mut person, &mut proof)?;
            if proof.none.is_some() {
                break;
            }
        }
        Ok(proof)
    }
}
