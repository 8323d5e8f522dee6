//! A recourse method of your own: `RecourseMethod` prepares a `Solver`, which gives each thread a
//! `Worker`.
//!
//! A method proposes; others judge. One inside this crate is a line in `METHODS` and judged by the
//! engine. Run it with `cargo run --release -p probe-core --example own_method`.
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::theory::first_order;
use probe_core::{
    Ask, Budget, ClosedForm, Engine, Error, Goal, Linear, Proposal, Reason, RecourseMethod, Result,
    Rows, Setup, Solver, Task, Verdict, Worker,
};
use std::sync::Arc;

/// Small steps along the gradient until the first-order rate is low enough: the steepest path, not
/// the cheapest.
struct Climb;

/// Shared by all threads. A worker may own buffers; this one needs none.
struct Climber(Arc<Task>);

fn unsupported(why: &str) -> Error {
    Error::Unsupported { what: "method climb".to_owned(), why: why.to_owned() }
}

impl RecourseMethod for Climb {
    fn name(&self) -> &'static str {
        "climb"
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        task.check()?;
        Ok(Box::new(Climber(Arc::clone(task))))
    }
}

impl Solver for Climber {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Climber(Arc::clone(&self.0)))
    }
}

impl Worker for Climber {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let (factual, Goal::Rate(target)) = (ask.factual, ask.aim()) else {
            return Err(unsupported("it takes a rate, not a budget"));
        };
        let model =
            self.0.model.as_differentiable().ok_or_else(|| unsupported("it needs a gradient"))?;
        let noise =
            self.0.noise.as_gaussian().ok_or_else(|| unsupported("it needs Gaussian noise"))?;
        let (mut active, mut gradient) = (vec![true; factual.len()], vec![0.0; factual.len()]);
        proposal.point.copy_from_slice(factual);
        proposal.verdict = Verdict::Short(Reason::RateNotReachable);
        // A number of steps, never a time: the answer must not depend on the machine.
        for _ in 0..1_000 {
            self.0.noise_on.active_into(&self.0.actions, factual, &proposal.point, &mut active);
            let found = first_order(model, noise, &active, &proposal.point)?;
            if found.score > 0.0 && found.rate <= target {
                proposal.verdict = Verdict::Reached;
                break;
            }
            model.score_and_gradient(&proposal.point, &mut gradient)?;
            proposal.point.iter_mut().zip(&gradient).for_each(|(x, g)| *x += 0.002 * g);
            self.0.actions.project(factual, &mut proposal.point);
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let model = Arc::new(Linear::new(vec![2.0, 1.0, -1.0], -1.0, 0.0)?);
    let setup = Setup::builder(model, ["a", "b", "c"]).sigma(0.1).immutable(["c"]).build()?;
    let engine = Engine::new(setup)?;
    let (person, task) = ([0.1, 0.2, 0.3], Arc::new(engine.task().clone()));
    let mut climbed = Proposal::new(3);
    Climb
        .prepare(&task)?
        .worker()
        .find(&Ask::new(&person, Goal::Rate(0.1), &Budget::default()), &mut climbed)?;
    let exact = engine.recourse(Rows::single(&person))?.remove(0);
    for (name, point) in [("climb", &climbed.point), ("probe", &exact.point)] {
        let rate = engine.rate(point, Some(&person), &ClosedForm)?.rate;
        println!(
            "{name}: rate {rate:.4}, cost {:.4}, {point:.4?}",
            task.cost.between(&person, point)
        );
        assert!(task.actions.violations(&person, point).is_empty() && rate <= 0.1);
    }
    Ok(())
}
