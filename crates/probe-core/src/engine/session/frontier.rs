//! Answers to several target rates for one person.

use super::{AnyCase, Session};
use crate::engine::answer::{Answer, Status};
use crate::error::Result;
use crate::recourse::Goal;

impl Session<'_> {
    /// One answer per target rate.
    pub fn frontier(&mut self, person: &[f64], rates: &[f64]) -> Result<Vec<Answer>> {
        if let Some(filled) = self.engine.filled(person)? {
            return filled.frontier(person, rates, self.proposer.cancelled);
        }
        let answers = match self.case(person)? {
            AnyCase::Exact(mut case) => case.frontier(rates)?,
            AnyCase::Sampled(mut case) => {
                let mut answers = vec![Answer::new(person.len()); rates.len()];
                for (answer, &rate) in answers.iter_mut().zip(rates) {
                    Goal::Rate(rate).check()?;
                    case.recourse((rate, rates.len()), answer)?;
                }
                if case.setup().budget.is_none() && case.proposer.retries() {
                    carry_over(rates, &mut answers);
                }
                answers
            }
        };
        self.proposer.check()?;
        Ok(answers)
    }
}

/// Replaces an answer by one that is certified for a stricter rate and cheaper. Such an answer can
/// exist because a search may miss the optimum, and a certificate for one rate is valid for every
/// higher rate. All certificates share the error probability, so that all hold together.
fn carry_over(rates: &[f64], answers: &mut [Answer]) {
    let mut order: Vec<usize> = (0..rates.len()).collect();
    order.sort_by(|&a, &b| rates[a].total_cmp(&rates[b]));
    let cost = |answer: &Answer| match answer.status {
        Status::Certified => answer.cost.unwrap_or(f64::INFINITY),
        _ => f64::INFINITY,
    };
    let mut cheapest: Option<usize> = None;
    for i in order {
        let least = cheapest.map_or(f64::INFINITY, |at| cost(&answers[at]));
        if cost(&answers[i]) <= least {
            cheapest = Some(i);
        } else if let Some(at) = cheapest.filter(|_| answers[i].status != Status::Favourable) {
            // A lower bound for the stricter rate does not hold for the looser one, which has its
            // own.
            let (cost_lower, cost) = (answers[i].cost_lower, cost(&answers[at]));
            answers[i] = answers[at].clone();
            (answers[i].cost_lower, answers[i].proven) = (cost_lower.min(cost), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_looser_rate_takes_the_answer_of_a_stricter_one_if_that_is_cheaper() {
        let answer = |status, cost: f64, upper| {
            let mut answer = Answer::new(1);
            (answer.status, answer.cost, answer.rate_upper) = (status, Some(cost), upper);
            answer
        };
        let rates = [0.4, 0.1, 0.3, 0.2];
        let mut answers = [
            answer(Status::Certified, 0.1, 0.39),
            answer(Status::Certified, 0.5, 0.09),
            answer(Status::Certified, 0.7, 0.29),
            answer(Status::Found, 0.2, 1.0),
        ];
        let own = [0.05, 0.3, 0.6, 0.2];
        answers.iter_mut().zip(own).for_each(|(answer, least)| answer.cost_lower = least);
        carry_over(&rates, &mut answers);
        let costs = answers.clone().map(|answer| answer.cost.unwrap_or(f64::NAN));
        assert_eq!(costs, [0.1, 0.5, 0.5, 0.5]);
        assert!(answers.iter().zip(rates).all(|(answer, rate)| answer.rate_upper <= rate));
        // Bounds stay with their rates.
        let bounds = answers.clone().map(|answer| answer.cost_lower);
        assert_eq!(bounds, [0.05, 0.3, 0.5, 0.2]);
        // A person who needs no change keeps that answer.
        let mut answers =
            [answer(Status::Favourable, 0.0, 0.3), answer(Status::Certified, 0.5, 0.09)];
        carry_over(&[0.4, 0.1], &mut answers);
        assert_eq!(answers[0].status, Status::Favourable);
    }
}
