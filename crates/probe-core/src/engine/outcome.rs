//! What a session found out about a person. An answer is derived from it.

use crate::recourse::{Reason, Report, Verdict};

/// Score and rate of a row.
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
    /// Standard error, if the rate is an estimate whose error is known.
    pub(super) std_error: Option<f64>,
}

impl Rate {
    pub(super) fn exact(rate: f64) -> Self {
        Self { value: rate, upper: rate, std_error: None }
    }
}

/// What is proven about all admissible points whose rate is at most the target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Proof {
    /// None of them costs less, with the confidence of certificates.
    pub(super) cost: f64,
    /// None of them costs less, for certain.
    pub(super) certain: f64,
    /// Why there are none, where that is certain.
    pub(super) none: Option<Reason>,
}

impl Proof {
    /// Nothing is proven.
    pub(super) const NOTHING: Self = Self { cost: 0.0, certain: 0.0, none: None };

    /// That none of them costs less than this.
    pub(super) fn certain(cost: f64) -> Self {
        Self { cost, certain: cost, none: None }
    }

    /// That there are none.
    pub(super) fn none(reason: Reason) -> Self {
        Self { none: Some(reason), ..Self::NOTHING }
    }

    /// This proof and another one combined.
    pub(super) fn and(&self, other: &Self) -> Self {
        Self {
            cost: self.cost.max(other.cost),
            certain: self.certain.max(other.certain),
            none: self.none.or(other.none),
        }
    }

    /// Lower bound, and whether the answer is proven to be the cheapest, for one of these points
    /// with this cost.
    #[inline]
    pub(super) fn of_a_cost(&self, cost: f64) -> (f64, bool) {
        /// A cost within this share of its lower bound counts as the lowest.
        const PRECISION: f64 = 1e-6;
        (self.cost.min(cost), self.certain >= cost - PRECISION * cost.max(1.0))
    }

    /// Lower bound, and whether `reason` is proven, for a person without an answer.
    pub(super) fn of_a_miss(&self, reason: Reason) -> (f64, bool) {
        match self.none {
            Some(none) => (0.0, none == reason),
            None => (self.cost, false),
        }
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

/// The result for one person.
pub(super) enum Outcome<'a> {
    /// Favourable already, at this rate.
    Favourable(Rate),
    /// No row was found that is favourable and admissible.
    None {
        /// The rate of the person as they are.
        own: Rate,
        nearest: Nearest<'a>,
    },
    /// A favourable row that the person may change to.
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
    /// Score and rate of the printed row, if the rate is exact.
    pub(super) exact: Option<Judgement>,
    pub(super) proof: Proof,
}

/// A recourse.
pub(super) struct Recourse<'a> {
    /// The printed row, raw.
    pub(super) row: &'a [f64],
    pub(super) judgement: Judgement,
    pub(super) cost: f64,
    pub(super) changed: usize,
    pub(super) outside_range: Option<usize>,
    /// The method's own verdict, and what else it says.
    pub(super) verdict: Verdict,
    pub(super) report: Report,
    pub(super) evidence: Evidence,
    pub(super) proof: Proof,
}

/// How the rate of a recourse is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Evidence {
    /// By a closed form.
    Exact,
    /// From samples, which may have certified the target and give an upper bound. The standard
    /// error is that of the estimated rate, if it is known.
    Sampled { certified: bool, upper: f64, std_error: Option<f64> },
}

impl Asked<'_> {
    /// Why there is no recourse.
    pub(super) fn why_none(&self, nearest: &Nearest<'_>) -> Reason {
        let over_budget = match (nearest.exact, nearest.verdict) {
            (Some(row), Verdict::Reached) => !row.meets(self.max_rate),
            (Some(_), Verdict::Short(_)) => false,
            (None, _) => true,
        };
        match (nearest.proof.none, nearest.verdict) {
            _ if self.has_budget && over_budget => Reason::BudgetExhausted,
            (Some(proven), _) => proven,
            // Rounding lost what the method had found.
            (None, Verdict::Reached | Verdict::Short(Reason::RateIgnored)) => Reason::NotFound,
            (None, Verdict::Short(reason)) => reason.unproven(),
        }
    }

    /// Why a recourse of this rate is not certified.
    pub(super) fn why_not_certified(&self, recourse: &Recourse<'_>, rate: f64) -> Reason {
        let sampled = matches!(recourse.evidence, Evidence::Sampled { .. });
        match (recourse.proof.none, recourse.verdict) {
            (_, Verdict::Reached) if self.has_budget && !sampled => Reason::BudgetExhausted,
            _ if self.has_budget && sampled && rate > self.max_rate => Reason::BudgetExhausted,
            (Some(proven), _) => proven,
            (None, Verdict::Reached) if sampled => Reason::NotCertified,
            // Rounding lost what the method had found.
            (None, Verdict::Reached) => Reason::NotFound,
            (None, Verdict::Short(reason)) => match reason.unproven() {
                // The last search fell short of a lower aim than the target.
                Reason::NotFound if sampled && rate <= self.max_rate => Reason::NotCertified,
                reason => reason,
            },
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
        with_proof(verdict, rate, evidence, Proof::NOTHING)
    }

    fn with_proof(
        verdict: Verdict,
        rate: f64,
        evidence: Evidence,
        proof: Proof,
    ) -> Outcome<'static> {
        Outcome::Recourse(Recourse {
            row: &[2.0],
            judgement: Judgement { score: 1.0, rate },
            cost: 3.0,
            changed: 1,
            outside_range: Some(1),
            verdict,
            report: Report { claimed_rate: Some(0.05), source: "" },
            evidence,
            proof,
        })
    }

    fn none(verdict: Verdict, exact: Option<Judgement>, proof: Proof) -> Outcome<'static> {
        let nearest = Nearest { row: Some(&[4.0]), best_rate: Some(0.7), verdict, exact, proof };
        Outcome::None { own: Rate { value: 0.8, upper: 1.0, std_error: None }, nearest }
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
        let sampled = |certified| Evidence::Sampled { certified, upper: 0.09, std_error: None };
        let found = |reason| (Status::Found, Some(reason));
        let certified = |reason| [(Status::Certified, reason); 2];
        let exact = |verdict, rate| told(|| recourse(verdict, rate, Evidence::Exact));
        assert_eq!(exact(Reached, 0.1), certified(None));
        assert_eq!(exact(Short(SearchLimit), 0.1), certified(Some(SearchLimit)));
        assert_eq!(exact(Short(RateIgnored), 0.1), certified(None));
        assert_eq!(exact(Reached, 0.2), [found(NotFound), found(BudgetExhausted)]);
        assert_eq!(exact(Short(RateIgnored), 0.2), [found(RateIgnored); 2]);
        assert_eq!(exact(Short(SearchLimit), 0.2), [found(SearchLimit); 2]);
        let seen = |verdict, rate, yes| told(|| recourse(verdict, rate, sampled(yes)));
        assert_eq!(seen(Short(SearchLimit), 0.1, true), certified(None));
        assert_eq!(seen(Reached, 0.2, false), [found(NotCertified), found(BudgetExhausted)]);
        assert_eq!(seen(Short(RateNotReachable), 0.1, false), [found(NotCertified); 2]);
        let short = [found(NotFound), found(BudgetExhausted)];
        assert_eq!(seen(Short(RateNotReachable), 0.2, false), short);
    }

    #[test]
    fn what_a_search_did_not_find_is_said_to_be_out_of_reach_only_with_a_proof() {
        let row = |score| Some(Judgement { score, rate: 0.05 });
        let reasons =
            |verdict, exact, proof| told(|| none(verdict, exact, proof)).map(|(_, reason)| reason);
        let unproven = |verdict, exact| reasons(verdict, exact, Proof::NOTHING);
        assert_eq!(unproven(Reached, row(-1.0)), [Some(NotFound), Some(BudgetExhausted)]);
        // Favourable and robust, but not admissible.
        assert_eq!(unproven(Reached, row(1.0)), [Some(NotFound); 2]);
        assert_eq!(unproven(Short(RateIgnored), row(-1.0)), [Some(NotFound); 2]);
        for claim in
            [NoAdmissibleMove, InfeasibleWithinBounds, InfeasibleWithinMaxChanges, RateNotReachable]
        {
            assert_eq!(unproven(Short(claim), row(-1.0)), [Some(NotFound); 2]);
            let proven = |verdict, exact| reasons(verdict, exact, Proof::none(claim))[0];
            assert_eq!(proven(Short(NotFound), None), Some(claim));
            assert_eq!(proven(Reached, row(-1.0)), Some(claim));
        }
        assert_eq!(unproven(Short(NoOtherWay), row(-1.0)), [Some(NoOtherWay); 2]);
        for verdict in [Reached, Short(RateNotReachable), Short(RateIgnored)] {
            assert_eq!(unproven(verdict, None), [Some(NotFound), Some(BudgetExhausted)]);
        }
    }

    #[test]
    fn bounds_and_proofs_of_answers() {
        let tell = |outcome: Outcome<'static>| {
            let mut answer = Answer::new(1);
            answer.fill(&asked(false), outcome);
            (answer.cost_lower, answer.proven)
        };
        // Every answer here costs 3.
        let certified = |proof| tell(with_proof(Reached, 0.05, Evidence::Exact, proof));
        let sampled = |cost| Proof { cost, ..Proof::NOTHING };
        assert_eq!(certified(Proof::NOTHING), (0.0, false));
        assert_eq!(certified(Proof::certain(3.0)), (3.0, true));
        assert_eq!(certified(Proof::certain(3.0 - 2e-6)), (3.0 - 2e-6, true));
        assert_eq!(certified(Proof::certain(3.0 - 4e-6)), (3.0 - 4e-6, false));
        // A bound from samples proves nothing, even where it comes out too high.
        assert_eq!(certified(sampled(2.0)), (2.0, false));
        assert_eq!(certified(sampled(3.5)), (3.0, false));
        // An answer that misses the target may cost less than those that do not.
        let missed = |proof| tell(with_proof(Reached, 0.2, Evidence::Exact, proof));
        assert_eq!(missed(Proof::certain(3.5)), (3.5, false));
        assert_eq!(missed(Proof::none(RateNotReachable)), (0.0, true));
        let none = |proof| tell(none(Short(NotFound), None, proof));
        assert_eq!(none(sampled(0.4)), (0.4, false));
        assert_eq!(none(Proof::none(InfeasibleWithinBounds)), (0.0, true));
        assert_eq!(tell(Outcome::Favourable(Rate::exact(0.02))), (0.0, true));
        let both = Proof::certain(1.0).and(&sampled(2.0));
        assert_eq!((both.cost, both.certain, both.none), (2.0, 1.0, None));
    }

    #[test]
    fn nothing_of_the_last_person_is_left() {
        let outcomes: [fn() -> Outcome<'static>; 4] = [
            || Outcome::Favourable(Rate::exact(0.02)),
            || none(Reached, None, Proof::certain(0.3)),
            || with_proof(Reached, 0.05, Evidence::Exact, Proof::certain(3.0)),
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
        let evidence = Evidence::Sampled { certified: true, upper: 0.09, std_error: None };
        answer.fill(&asked(false), recourse(Reached, 0.11, evidence));
        assert_eq!((answer.rate, answer.rate_upper), (0.09, 0.09));
    }

    #[test]
    fn an_estimate_with_a_standard_error_is_reported_as_it_is() {
        let mut answer = Answer::new(1);
        let evidence = Evidence::Sampled { certified: true, upper: 0.09, std_error: Some(0.03) };
        answer.fill(&asked(false), recourse(Reached, 0.11, evidence));
        assert_eq!((answer.rate, answer.rate_upper), (0.11, 0.09));
        assert_eq!((answer.status, answer.rate_std_error), (Status::Certified, Some(0.03)));
        answer.fill(&asked(false), recourse(Reached, 0.05, Evidence::Exact));
        assert_eq!(answer.rate_std_error, None);
    }
}
