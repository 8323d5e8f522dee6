//! Asks the engine, and brute force about those without a certified answer.

use crate::brute::{FRESH, most_robust};
use crate::chance::Chance;
use crate::subject::Problem;
use probe_core::{Answer, Status};

/// A rate on fresh draws that holds the target with clear room.
const CLEARLY: f64 = 0.85;
/// Draws that check the rate of a certified answer.
const DRAWS: usize = 6_000;
/// Standard errors by which a sampled rate may be off: one of 300,000 is.
const ERRORS: f64 = 4.5;

/// How many people were told what.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub certified: usize,
    /// Told that there is none with a proof, and without one.
    pub proven_none: usize,
    pub other_none: usize,
    /// Of those without a proof, how many rows of brute force are accepted and miss the target.
    pub rate_missed: usize,
    /// What must not be, by problem.
    pub faults: Vec<String>,
}

/// Asks about `n` random problems of a kind; about number `PROBLEM` alone, if that is set, and
/// about `PROBLEMS`, if that is.
pub(crate) fn check(kind: u64, random: fn(&mut Chance) -> Option<Problem>, n: usize) -> Report {
    let mut report = Report::default();
    let (mut asked, mut number) = (0, 0);
    let set = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (only, n) = (set("PROBLEM"), set("PROBLEMS").map_or(n, |n| n as usize));
    while asked < n {
        number += 1;
        assert!(number < 100 * (n as u64 + 1), "only {asked} problems");
        let mut chance = Chance::new(kind, number);
        let Some(problem) = random(&mut chance) else { continue };
        asked += 1;
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let answer = problem.ask();
        let known = report.faults.len();
        one(&problem, &answer, number, &mut chance, &mut report);
        report.faults[known..].iter().for_each(|fault| eprintln!("{fault}"));
    }
    eprintln!(
        "{n} problems: {} certified, {} none with a proof, {} none without ({} of them with a \
         point above the rate), {} faults",
        report.certified,
        report.proven_none,
        report.other_none,
        report.rate_missed,
        report.faults.len()
    );
    report
}

fn error_of(rate: f64, n: usize) -> f64 {
    ERRORS * (rate * (1.0 - rate) / n as f64).sqrt()
}

fn one(problem: &Problem, answer: &Answer, number: u64, chance: &mut Chance, report: &mut Report) {
    let r = problem.rate;
    let exactly = problem.is_counted_exactly();
    let about = |what: &str| {
        format!(
            "problem {number}, {}: {what}\n  {answer:?}\n  {:?} on {:?}, {:?}\n  \
             {} r {r}, {:?}, {:?}",
            problem.model.kind(),
            problem.law,
            problem.noise_on,
            problem.shift,
            problem.norm,
            problem.columns,
            problem.max_changes
        )
    };
    if answer.status == Status::Certified {
        report.certified += 1;
        let row = problem.row_of(answer);
        let cost = problem.cost(&row);
        if !problem.is_admissible(&row) || problem.score(&row) <= 0.0 {
            report.faults.push(about("not admissible, or not accepted"));
        }
        let off = (answer.cost.unwrap_or(f64::INFINITY) - cost).abs();
        if off > 1e-6 * cost.max(1e-3) {
            report.faults.push(about(&format!("costs {cost}")));
        }
        // Where weights are the worst there are, the rate here is an upper bound only.
        if !matches!(problem.shift, Some(crate::own_model::Shift::Bounded(_))) {
            let rate = problem.rate(&row, &problem.draws(DRAWS, chance), DRAWS);
            let doubt = if exactly { 1e-12 } else { error_of(r, DRAWS) };
            if rate > r + doubt {
                report.faults.push(about(&format!("has rate {rate}")));
            }
        }
        return;
    }
    let best = most_robust(problem, chance);
    match answer.proven {
        true => report.proven_none += 1,
        false => report.other_none += 1,
    }
    let Some((row, rate)) = best else { return };
    let wrong_proof = answer.proven && (rate + error_of(r, FRESH) <= r || (exactly && rate <= r));
    // Counted rates need no room.
    let clearly = if exactly { r } else { CLEARLY * r };
    if wrong_proof || rate <= clearly {
        let cost = problem.cost(&row);
        report.faults.push(about(&format!("{row:?} has rate {rate} for {cost}")));
    } else if answer.proven && answer.reason.is_some_and(claims_no_yes) {
        report.faults.push(about(&format!("{row:?} is accepted")));
    } else {
        report.rate_missed += usize::from(!answer.proven);
    }
}

/// Whether a reason, if proven, says that nothing within reach is accepted.
fn claims_no_yes(reason: probe_core::Reason) -> bool {
    use probe_core::Reason::{
        InfeasibleWithinBounds, InfeasibleWithinMaxChanges, NoAdmissibleMove,
    };
    matches!(reason, InfeasibleWithinBounds | InfeasibleWithinMaxChanges | NoAdmissibleMove)
}
