//! The continuous part by a general LP solver, one problem per choice of options and set of changed
//! columns.

use super::view::{View, add};
use super::{OutOfScope, Reference};
use crate::instance::{Instance, Norm};
use microlp::{
    ComparisonOp, Error, LinearExpr, OptimizationDirection, Problem, Solution, Variable,
};

/// Solves, telling "infeasible" from "failed".
pub(super) fn optimum(problem: &Problem) -> Result<Option<Solution>, OutOfScope> {
    match problem.solve() {
        Ok(outcome) => outcome
            .into_solution()
            .map(Some)
            .map_err(|_| OutOfScope("the solver stopped early".to_owned())),
        Err(Error::Infeasible) => Ok(None),
        Err(error) => Err(OutOfScope(error.to_string())),
    }
}

/// A linear expression from its terms.
pub(super) fn sum_of(terms: &[(Variable, f64)]) -> LinearExpr {
    let mut expr = LinearExpr::empty();
    terms.iter().filter(|(_, a)| *a != 0.0).for_each(|&(v, a)| expr.add(v, a));
    expr
}

/// Like [`solve`](super::solve), for l1 and linf, with all continuous problems handed to an LP
/// solver.
pub fn solve_lp(instance: &Instance, norm: Norm) -> Result<Option<Reference>, OutOfScope> {
    if norm == Norm::L2 {
        return Err(OutOfScope("l2 is not linear".to_owned()));
    }
    let Some(view) = View::new(instance) else { return Ok(None) };
    let mut best: Option<Reference> = None;
    for setting in view.settings.iter().filter(|s| s.changes <= view.most) {
        let spent = setting.moves.iter().fold(0.0, |t, &m| add(norm, t, m));
        for set in 0..1_usize << view.columns.len() {
            let changes = setting.changes + set.count_ones() as usize;
            let fits =
                view.columns.iter().enumerate().all(|(k, c)| set >> k & 1 == 1 || c.may_stay());
            if changes > view.most || !fits {
                continue;
            }
            let found = continuous(&view, setting.score, spent, set, norm)?;
            if let Some((cost, values)) =
                found.filter(|(c, _)| best.as_ref().is_none_or(|b| *c < b.cost))
            {
                let mut point = setting.point.clone();
                view.columns.iter().zip(values).for_each(|(c, v)| point[c.index] = v);
                best = Some(Reference { cost, point });
            }
        }
    }
    Ok(best)
}

/// Least cost and values of the numeric columns when only those in `set` may leave the person's
/// value.
fn continuous(
    view: &View,
    score: f64,
    spent: f64,
    set: usize,
    norm: Norm,
) -> Result<Option<(f64, Vec<f64>)>, OutOfScope> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let per_move = if norm == Norm::L1 { 1.0 } else { 0.0 };
    let largest = problem
        .add_var(1.0 - per_move, (if norm == Norm::Linf { spent } else { 0.0 }, f64::INFINITY));
    let (mut moves, mut gains, mut base) = (Vec::new(), Vec::new(), score);
    for (k, c) in view.columns.iter().enumerate() {
        base += c.weight * c.x;
        if set >> k & 1 == 0 {
            continue;
        }
        let (cost_up, cost_down) = c.unit_costs();
        let up =
            problem.add_var(per_move * cost_up, ((c.low - c.x).max(0.0), (c.high - c.x).max(0.0)));
        let down = problem
            .add_var(per_move * cost_down, ((c.x - c.high).max(0.0), (c.x - c.low).max(0.0)));
        if norm == Norm::Linf {
            let terms = [(largest, 1.0), (up, -cost_up), (down, -cost_down)];
            problem.add_constraint(sum_of(&terms), ComparisonOp::Ge, 0.0);
        }
        gains.extend([(up, c.weight), (down, -c.weight)]);
        moves.push((k, up, down));
    }
    problem.add_constraint(sum_of(&gains), ComparisonOp::Ge, view.needed(set) - base);
    let Some(solution) = optimum(&problem)? else { return Ok(None) };
    let mut values: Vec<f64> = view.columns.iter().map(|c| c.x).collect();
    for (k, up, down) in moves {
        values[k] += solution.var_value(up) - solution.var_value(down);
    }
    Ok(Some((solution.objective() + if norm == Norm::L1 { spent } else { 0.0 }, values)))
}
