//! Proofs about all rows that an answer may print, compared with brute force over these rows.

use super::refusal::{Maker, Refusal, linear, network, trees};
use super::world::World;
use probe_core::{Answer, Engine, Purpose, Reason, Rows, Seed, Setup, Status};
use probe_testkit::Stay;

const NORMS: [&str; 3] = ["l1", "l2", "linf"];
/// Rates that the engine computes for one person, at most.
const RATES: usize = 2_048;

/// A question about the person of a world.
struct Question<'w> {
    world: &'w World,
    refusal: Refusal<'w>,
    setup: Setup,
    norm: usize,
    /// At most so many changes.
    most: usize,
}

impl<'w> Question<'w> {
    fn new(world: &'w World, make: Maker, case: u64) -> Self {
        let mut stream = Seed(22).stream(Purpose::Data, case);
        let (norm, short) = (case as usize % 3, 0.05 + 0.5 * stream.uniform());
        let (refusal, mut setup) = Refusal::new(world, make, short, &mut stream);
        setup.max_rate = [0.05, 0.1, 0.3][stream.below(3)];
        setup.set_norm(NORMS[norm]).unwrap();
        let most = if stream.below(3) == 0 { 1 + stream.below(2) } else { usize::MAX };
        setup.actions = setup.actions.with_max_changes((most != usize::MAX).then_some(most));
        Self { world, refusal, setup, norm, most }
    }

    /// The answer of method `probe`, or of none.
    fn answer(&self, probe: bool) -> Answer {
        let setup = self.setup.clone();
        let engine = if probe { Engine::new(setup) } else { Engine::with_method(setup, &Stay) };
        engine.unwrap().recourse(Rows::single(&self.refusal.at)).unwrap().remove(0)
    }

    /// Brute force; `rate` gives bounds on the rate of a row.
    fn least(&self, mut rate: impl FnMut(&[f64]) -> [f64; 2]) -> Least {
        let mut least = Least {
            n: 0,
            favourable: f64::INFINITY,
            surely: f64::INFINITY,
            perhaps: f64::INFINITY,
        };
        self.world.rows(self.most, &mut |row| {
            if self.refusal.score(row) <= 0.0 {
                return;
            }
            let cost = self.world.costs(row)[self.norm];
            least.n += 1;
            least.favourable = least.favourable.min(cost);
            if cost < least.surely {
                let [low, high] = rate(row);
                if low <= self.setup.max_rate {
                    least.perhaps = least.perhaps.min(cost);
                }
                if high <= self.setup.max_rate {
                    least.surely = cost;
                }
            }
        });
        least
    }

    /// The same where rates are sampled, with bounds that allow for the error of four thousand
    /// draws.
    fn least_by_samples(&self, case: u64) -> Least {
        let errors = self.refusal.errors(&mut Seed(23).stream(Purpose::Data, case));
        let off = Refusal::sampling_error(self.setup.max_rate);
        self.least(|row| {
            let point = self.refusal.scale(&self.world.encoded(row));
            let rate = self.refusal.sampled_rate(&point, &errors);
            [rate - off, rate + off]
        })
    }
}

/// The favourable rows: how many there are, and the lowest cost of all of them, of those whose rate
/// is certainly low enough, and of those whose rate may be low enough.
struct Least {
    n: usize,
    favourable: f64,
    surely: f64,
    perhaps: f64,
}

fn world(case: u64) -> World {
    World::random(&mut Seed(21).stream(Purpose::Data, case))
}

fn at_most(bound: f64, cost: f64) -> bool {
    bound <= cost + 1e-9 * cost.max(1.0)
}

#[test]
fn rows_of_a_linear_model_prove_the_optimum_or_that_there_is_none() {
    let (mut optima, mut nothing) = (0, 0);
    for case in 0..4_000 {
        let world = world(case);
        let question = Question::new(&world, linear, case);
        let found = question.answer(false);
        let least = question.least(|row| [question.refusal.linear_rate(row); 2]);
        assert_eq!(found.status, Status::None);
        assert_eq!(found.proven, least.surely.is_infinite(), "case {case}: {found:?}");
        if found.proven {
            nothing += 1;
            let rate_alone = found.reason == Some(Reason::RateNotReachable);
            assert_eq!(rate_alone, least.favourable.is_finite(), "case {case}: {found:?}");
        } else {
            optima += 1;
            assert!(at_most(found.cost_lower, least.surely), "case {case}: {found:?}");
            let exact = at_most(least.surely, found.cost_lower);
            assert!(exact || least.n > RATES, "case {case}: {} {found:?}", least.surely);
        }
    }
    assert!(optima > 2_000 && nothing > 200, "{optima} {nothing}");
}

#[test]
fn rows_of_trees_with_exact_rates_prove_the_optimum_or_that_there_is_none() {
    let (mut optima, mut nothing, mut proven) = (0, 0, 0);
    for case in 0..240 {
        let world = world(case);
        let question = Question::new(&world, trees, case);
        let least = question.least_by_samples(case);
        let found = question.answer(false);
        if found.proven {
            nothing += 1;
            assert!(least.surely.is_infinite(), "case {case}: {} {found:?}", least.surely);
        } else if least.n <= RATES {
            optima += 1;
            assert!(at_most(found.cost_lower, least.surely), "case {case}: {found:?}");
            assert!(at_most(least.perhaps, found.cost_lower), "case {case}: {found:?}");
        }
        let told = question.answer(true);
        proven += usize::from(told.proven);
        match (told.status, told.proven) {
            (Status::Certified, yes) => {
                assert!(at_most(told.cost_lower, least.surely), "case {case}: {told:?}");
                assert_eq!(yes, told.cost_lower >= told.cost.unwrap() - 1e-6, "{told:?}");
            }
            (_, true) => assert!(least.surely.is_infinite(), "case {case}: {told:?}"),
            (_, false) => {
                let reason = told.reason.unwrap();
                assert_eq!(reason.unproven(), reason, "case {case}: {told:?}");
            }
        }
    }
    assert!(optima > 100 && nothing > 20 && proven > 100, "{optima} {nothing} {proven}");
}

#[test]
fn rows_of_a_network_bound_the_cost_and_prove_that_none_is_favourable() {
    let (mut bounds, mut nothing) = (0, 0);
    for case in 0..1_000 {
        let world = world(case);
        let question = Question::new(&world, network, case);
        let found = question.answer(false);
        let least = question.least_by_samples(case);
        if found.proven {
            nothing += 1;
            assert!(least.favourable.is_infinite(), "case {case}: {found:?}");
        } else {
            bounds += 1;
            assert!(at_most(found.cost_lower, least.surely), "case {case}: {found:?}");
            assert!(at_most(least.favourable, found.cost_lower), "case {case}: {found:?}");
        }
    }
    assert!(bounds > 500 && nothing > 50, "{bounds} {nothing}");
}
