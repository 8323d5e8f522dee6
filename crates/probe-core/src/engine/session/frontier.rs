//! Several rates for one person.

use super::Session;
use crate::engine::answer::{Answer, Status};
use crate::error::Result;
use crate::recourse::{Ask, Goal, Proposal};

impl Session<'_> {
    /// One answer per rate.
    pub fn frontier(&mut self, person: &[f64], rates: &[f64]) -> Result<Vec<Answer>> {
        if let Some(filled) = self.engine.filled(person)? {
            return filled.frontier(person, rates);
        }
        let n = person.len();
        let mut blank = Answer::new(n);
        if let Some(sampling) = &self.engine.sampling {
            let mut answers = vec![blank; rates.len()];
            for (answer, &rate) in answers.iter_mut().zip(rates) {
                Goal::Rate(rate).check()?;
                self.recourse_sampled(sampling, person, (rate, rates.len()), answer)?;
            }
            if self.setup().budget.is_none() && self.worker.retries() {
                carry_over(rates, &mut answers);
            }
            return Ok(answers);
        }
        let now = self.start(person, &mut blank)?;
        let mut answers = vec![blank; rates.len()];
        let mut proposals = vec![Proposal::new(n); rates.len()];
        let mut proposal = Proposal::new(n);
        let ask = Ask {
            cost: self.own_costs.as_ref().map(|own| &own.search),
            effort: self.setup().effort,
            ..Ask::new(&self.scaled, Goal::Rate(self.setup().max_rate), &self.budget)
        };
        self.worker.frontier(&ask, rates, &mut proposal, &mut |i, found| {
            proposals[i].clone_from(found);
            Ok(())
        })?;
        for ((answer, proposal), &rate) in answers.iter_mut().zip(&mut proposals).zip(rates) {
            if !self.is_settled(now, rate, answer) {
                self.judge(person, rate, proposal, answer)?;
            }
        }
        Ok(answers)
    }
}

/// Takes what is certified for a stricter rate for a looser one, where that is cheaper: searches
/// have luck, and a certificate below one rate is one below every rate above it. All of them share
/// the error probability, so that all hold together.
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
            answers[i] = answers[at].clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_looser_rate_takes_what_a_stricter_one_has_where_that_is_cheaper() {
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
        carry_over(&rates, &mut answers);
        let costs = answers.clone().map(|answer| answer.cost.unwrap_or(f64::NAN));
        assert_eq!(costs, [0.1, 0.5, 0.5, 0.5]);
        assert!(answers.iter().zip(rates).all(|(answer, rate)| answer.rate_upper <= rate));
        // Whoever needs nothing is told nothing.
        let mut answers =
            [answer(Status::Favourable, 0.0, 0.3), answer(Status::Certified, 0.5, 0.09)];
        carry_over(&[0.4, 0.1], &mut answers);
        assert_eq!(answers[0].status, Status::Favourable);
    }
}
