//! What is proven about all admissible answers to a person: the least that any of them costs, or
//! that there are none.
//!
//! An exact solver proves its own answers, so that nothing here runs. For all other answers, of any
//! method, each of [`BOUNDS`] adds what it can show:
//!
//! - `reach`: an upper bound on the score over everything within reach; if even that is a
//!   rejection, there is no answer;
//! - `shift`: if the model may change by much, no point has a small rate;
//! - `noise`: under Gaussian noise, the person's smoothed margin says how far away every answer is;
//! - `space`: if few numbers may change and rates are exact, boxes of the space are ruled out;
//! - `rows`: if everything that may change is countable, all cheaper rows are judged.

mod distance;
mod noise;
mod reach;
mod rows;
mod shift;
mod space;

use super::Case;
use super::judge::Judge;
use super::rounding::Rounding;
use crate::cost::Cost;
use crate::engine::Engine;
use crate::engine::outcome::Proof;
use crate::error::Result;

/// A way to prove something about all answers to a person.
trait Bound {
    /// Adds to `proof` what can be shown in this way.
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()>;
}

/// Makes a bound for an engine; `None` if it could never show anything.
type Make = for<'e> fn(&'e Engine) -> Option<Box<dyn Bound + 'e>>;

/// All bounds, in the order in which they are tried.
const BOUNDS: &[Make] = &[reach::MAKE, shift::MAKE, noise::MAKE, space::MAKE, rows::MAKE];

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
    /// The cost of an answer that meets the target, if there is one. A higher bound than this is of
    /// no use.
    answer_cost: Option<f64>,
}

impl<'e, J: Judge> Case<'_, 'e, J> {
    /// What is proven about all answers with a rate of at most `max_rate` to the person, whose
    /// score is `score`. `answer_cost` is the cost of one of them, if one is known. The printed row
    /// stays as it is.
    pub(super) fn prove(
        &mut self,
        (score, max_rate): (f64, f64),
        answer_cost: Option<f64>,
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
            answer_cost,
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
