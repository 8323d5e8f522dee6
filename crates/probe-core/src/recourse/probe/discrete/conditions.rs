//! Conditions under which features stay: for one choice of categories, the rooms that are left, one
//! for each way to keep them.

use crate::recourse::{Proposal, Task, Verdict};
use crate::schema::{Actions, Condition, Tie};

/// How far beyond its limit a number without steps must be.
const BEYOND: f64 = 1e-6;

/// Where conditions are on numbers without steps, points nearer to a limit than [`BEYOND`] were not
/// looked at: an optimum is one of the others, and some may cost a little less.
pub(super) fn weaken_proof(task: &Task, factual: &[f64], proposal: &mut Proposal) {
    if proposal.verdict != Verdict::Reached || !proposal.proven {
        return;
    }
    let passed_over = |tie: &Tie| match tie {
        Tie::Fixed { when: Condition::AtMost(c, _) | Condition::AtLeast(c, _), .. }
            if task.actions.grid(*c).is_none() =>
        {
            BEYOND * task.cost.weight(*c, 1.0).max(task.cost.weight(*c, -1.0))
        }
        _ => 0.0,
    };
    let most: f64 = task.actions.ties().iter().map(passed_over).sum();
    if most > 0.0 {
        let cost = task.cost.between(factual, &proposal.point);
        (proposal.proven, proposal.lower_bound) = (false, (cost - 2.0 * most).max(0.0));
    }
}

/// Rooms for a person at `factual` who is given the categories of `person`, cut from `limits`;
/// `None` if the choice itself breaks a condition.
pub(super) fn rooms(
    actions: &Actions,
    factual: &[f64],
    person: &[f64],
    limits: Vec<(f64, f64)>,
) -> Option<Vec<Vec<(f64, f64)>>> {
    let mut rooms = vec![limits];
    for tie in actions.ties() {
        let Tie::Fixed { when, columns } = tie else { continue };
        // Categories that were changed though they stay while the condition holds.
        let broken = columns.iter().any(|&c| person[c] != factual[c]);
        let held = |room: &Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            let stay = |j: usize, ends: (f64, f64)| {
                if columns.contains(&j) { (factual[j], factual[j]) } else { ends }
            };
            room.iter().enumerate().map(|(j, ends)| stay(j, *ends)).collect()
        };
        rooms = match *when {
            Condition::Option { .. } if !when.holds(actions, person) => rooms,
            Condition::Option { .. } if broken => return None,
            Condition::Option { .. } => rooms.iter().map(held).collect(),
            Condition::AtMost(c, _) | Condition::AtLeast(c, _) => {
                let mut both = Vec::new();
                for room in &rooms {
                    let mut out = room.clone();
                    out[c] = outside(actions, *when, factual[c], room[c]);
                    if out[c].0 <= out[c].1 {
                        both.push(out);
                    }
                    if !broken {
                        both.push(held(room));
                    }
                }
                both
            }
        };
    }
    (!rooms.is_empty()).then_some(rooms)
}

/// The part of an interval in which a condition on a number does not hold, for a person who has
/// `x`.
fn outside(actions: &Actions, when: Condition, x: f64, (low, high): (f64, f64)) -> (f64, f64) {
    /// A share of a step that is no rounding.
    const NEXT: f64 = 1e-3;
    // A bound is a step, if not to the bit.
    let near = |c: usize| actions.grid(c).map_or(0.0, |grid| NEXT * grid.step);
    match when {
        // Where the person is now is as good as a step.
        Condition::AtMost(c, value) => {
            let next = match actions.grid(c) {
                Some(grid) => grid.above(value + NEXT * grid.step),
                None => value + BEYOND,
            };
            let next = if x > value { next.min(x) } else { next };
            (low.max(if next - high <= near(c) { next.min(high) } else { next }), high)
        }
        Condition::AtLeast(c, value) => {
            let next = match actions.grid(c) {
                Some(grid) => grid.below(value - NEXT * grid.step),
                None => value - BEYOND,
            };
            let next = if x < value { next.max(x) } else { next };
            (low, high.min(if low - next <= near(c) { next.max(low) } else { next }))
        }
        Condition::Option { .. } => (low, high),
    }
}
