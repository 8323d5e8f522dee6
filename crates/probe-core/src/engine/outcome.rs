//! What the session found out about a person: what an answer is derived from.

use crate::recourse::{Reason, Verdict};

/// What a row is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    pub(super) score: f64,
    pub(super) rate: f64,
}

impl Judgement {
    /// NaN counts as a rejection.
    pub(super) fn is_favourable(self) -> bool {
        self.score > 0.0
    }

    /// Whether the row is favourable and its rate low enough.
    pub(super) fn meets(self, max_rate: f64) -> bool {
        self.is_favourable() && self.rate <= max_rate
    }
}

/// A rate and an upper bound on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) value: f64,
    pub(super) upper: f64,
}

impl Rate {
    pub(super) fn exact(rate: f64) -> Self {
        Self { value: rate, upper: rate }
    }
}

/// Who asked, and for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The person, raw, and their score.
    pub(super) person: &'a [f64],
    pub(super) score: f64,
    pub(super) max_rate: f64,
    /// Whether a budget is to be spent, instead of reaching the rate at least cost.
    pub(super) has_budget: bool,
    /// Whether ranges seen in training are known.
    pub(super) knows_ranges: bool,
}

/// What came of it.
pub(super) enum Outcome<'a> {
    /// Favourable already, at this rate.
    Favourable(Rate),
    /// Nothing that is favourable and admissible.
    None {
        /// The rate of the person as they are.
        own: Rate,
        nearest: Nearest<'a>,
    },
    /// A favourable row that the person may become.
    Recourse(Recourse<'a>),
}

/// What comes nearest to a recourse.
pub(super) struct Nearest<'a> {
    /// The printed row, raw, if it is admissible.
    pub(super) row: Option<&'a [f64]>,
    /// The lowest rate within reach, where that is known.
    pub(super) best_rate: Option<f64>,
    /// What the method said.
    pub(super) verdict: Verdict,
    /// What the printed row is worth, where its rate is exact.
    pub(super) exact: Option<Judgement>,
}

/// A recourse to be told.
pub(super) struct Recourse<'a> {
    /// The printed row, raw.
    pub(super) row: &'a [f64],
    pub(super) judgement: Judgement,
    pub(super) cost: f64,
    pub(super) changed: usize,
    pub(super) outside_range: Option<usize>,
    /// What the method said, and what it took the rate to be.
    pub(super) verdict: Verdict,
    pub(super) claimed: Option<f64>,
    /// Which part of the search the row came from.
    pub(super) source: &'static str,
    pub(super) evidence: Evidence,
}

/// How the rate of a recourse is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Evidence {
    /// By a closed form.
    Exact,
    /// From samples, which may have certified the target and give an upper bound.
    Sampled { certified: bool, upper: f64 },
}

impl Asked<'_> {
    /// Why there is no recourse.
    pub(super) fn why_none(&self, nearest: &Nearest<'_>) -> Reason {
        match (nearest.exact, nearest.verdict) {
            // Rounding lost what the method had found.
            (Some(_), Verdict::Short(Reason::RateIgnored)) => Reason::NotFound,
            (Some(row), Verdict::Reached) if self.has_budget && !row.meets(self.max_rate) => {
                Reason::BudgetExhausted
            }
            (Some(_), Verdict::Reached) => Reason::RateNotReachable,
            (None, _) if self.has_budget => Reason::BudgetExhausted,
            // A search on samples has ended, and proves nothing.
            (
                None,
                Verdict::Reached | Verdict::Short(Reason::RateNotReachable | Reason::RateIgnored),
            ) => Reason::NotFound,
            (_, Verdict::Short(reason)) => reason,
        }
    }

    /// Why a recourse of this rate is not certified.
    pub(super) fn why_not_certified(&self, recourse: &Recourse<'_>, rate: f64) -> Reason {
        match (recourse.evidence, recourse.verdict) {
            (Evidence::Exact, Verdict::Reached) if self.has_budget => Reason::BudgetExhausted,
            (Evidence::Exact, Verdict::Reached) => Reason::RateNotReachable,
            (Evidence::Sampled { .. }, _) if self.has_budget && rate > self.max_rate => {
                Reason::BudgetExhausted
            }
            // The last search fell short of a lower aim than the target.
            (Evidence::Sampled { .. }, Verdict::Short(Reason::RateNotReachable))
                if rate <= self.max_rate =>
            {
                Reason::NotCertified
            }
            (Evidence::Sampled { .. }, Verdict::Reached) => Reason::NotCertified,
            (_, Verdict::Short(reason)) => reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Answer, Status};
    use Reason::*;
    use Verdict::{Reached, Short};

    fn asked(has_budget: bool) -> Asked<'static> {
        Asked { person: &[1.0], score: -1.0, max_rate: 0.1, has_budget, knows_ranges: true }
    }

    fn recourse(verdict: Verdict, rate: f64, evidence: Evidence) -> Outcome<'static> {
        Outcome::Recourse(Recourse {
            row: &[2.0],
            judgement: Judgement { score: 1.0, rate },
            cost: 3.0,
            changed: 1,
            outside_range: Some(1),
            verdict,
            claimed: Some(0.05),
            source: "",
            evidence,
        })
    }

    fn none(verdict: Verdict, exact: Option<Judgement>) -> Outcome<'static> {
        let nearest = Nearest { row: Some(&[4.0]), best_rate: Some(0.7), verdict, exact };
        Outcome::None { own: Rate { value: 0.8, upper: 1.0 }, nearest }
    }

    /// Status and reason, without and with a budget.
    fn told(outcome: impl Fn() -> Outcome<'static>) -> [(Status, Option<Reason>); 2] {
        [false, true].map(|has_budget| {
            let mut answer = Answer::new(1);
            answer.fill(&asked(has_budget), outcome());
            (answer.status, answer.reason)
        })
    }

    #[test]
    fn status_and_reason_follow_from_verdict_and_rate() {
        let sampled = |certified| Evidence::Sampled { certified, upper: 0.09 };
        let found = |reason| (Status::Found, Some(reason));
        let certified = |reason| [(Status::Certified, reason); 2];
        let exact = |verdict, rate| told(|| recourse(verdict, rate, Evidence::Exact));
        assert_eq!(exact(Reached, 0.1), certified(None));
        assert_eq!(exact(Short(SearchLimit), 0.1), certified(Some(SearchLimit)));
        assert_eq!(exact(Short(RateIgnored), 0.1), certified(None));
        assert_eq!(exact(Reached, 0.2), [found(RateNotReachable), found(BudgetExhausted)]);
        assert_eq!(exact(Short(RateIgnored), 0.2), [found(RateIgnored); 2]);
        let seen = |verdict, rate, yes| told(|| recourse(verdict, rate, sampled(yes)));
        assert_eq!(seen(Short(SearchLimit), 0.1, true), certified(None));
        assert_eq!(seen(Reached, 0.2, false), [found(NotCertified), found(BudgetExhausted)]);
        assert_eq!(seen(Short(RateNotReachable), 0.1, false), [found(NotCertified); 2]);
        let short = [found(RateNotReachable), found(BudgetExhausted)];
        assert_eq!(seen(Short(RateNotReachable), 0.2, false), short);
    }

    #[test]
    fn only_exact_rates_prove_that_nothing_is_within_reach() {
        let reasons = |verdict, exact| told(|| none(verdict, exact)).map(|(_, reason)| reason);
        let row = |score| Some(Judgement { score, rate: 0.05 });
        assert_eq!(reasons(Reached, row(-1.0)), [Some(RateNotReachable), Some(BudgetExhausted)]);
        // Favourable and robust, but not admissible.
        assert_eq!(reasons(Reached, row(1.0)), [Some(RateNotReachable); 2]);
        assert_eq!(reasons(Short(RateIgnored), row(-1.0)), [Some(NotFound); 2]);
        assert_eq!(reasons(Short(NoAdmissibleMove), row(-1.0)), [Some(NoAdmissibleMove); 2]);
        for verdict in [Reached, Short(RateNotReachable), Short(RateIgnored)] {
            assert_eq!(reasons(verdict, None), [Some(NotFound), Some(BudgetExhausted)]);
        }
    }

    #[test]
    fn nothing_of_the_last_person_is_left() {
        let outcomes: [fn() -> Outcome<'static>; 4] = [
            || Outcome::Favourable(Rate::exact(0.02)),
            || none(Reached, None),
            || recourse(Reached, 0.05, Evidence::Exact),
            || recourse(Reached, 0.5, Evidence::Exact),
        ];
        for first in outcomes {
            for second in outcomes {
                let (mut used, mut fresh) = (Answer::new(1), Answer::new(1));
                used.fill(&asked(false), first());
                used.fill(&asked(false), second());
                fresh.fill(&asked(false), second());
                assert_eq!(used, fresh);
            }
        }
    }

    #[test]
    fn an_estimate_above_its_certificate_is_cut() {
        let mut answer = Answer::new(1);
        let evidence = Evidence::Sampled { certified: true, upper: 0.09 };
        answer.fill(&asked(false), recourse(Reached, 0.11, evidence));
        assert_eq!((answer.rate, answer.rate_upper), (0.09, 0.09));
    }
}
