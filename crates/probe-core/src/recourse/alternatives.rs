//! Several alternatives for a person. Each is the cheapest that avoids an essential change of every
//! alternative before it.
//!
//! A feature is essential if its change costs at least a tenth of the most expensive change of that
//! alternative. After the cheapest answer the search repeats with each of its essential features
//! held, and continues from the cheapest answer that is left. An answer that only adds changes to
//! an earlier alternative is skipped, but its features are held in turn. With an exact solver no
//! cheaper alternative is missed, within the number of searches allowed per person.

use super::ask::Posed;
use super::{Ask, Goal, Notes, Proposal, Reason, Solver, Task, Verdict, Worker};
use crate::error::Result;
use crate::schema::{Actions, Restriction};
use std::sync::Arc;

/// What an essential feature costs at least, as a share of the most expensive change.
const ESSENTIAL: f64 = 0.1;
/// Number of searches per requested alternative.
const SEARCHES: usize = 12;

/// A solver that finds several alternatives.
pub(crate) struct Alternatives {
    inner: Box<dyn Solver>,
    task: Arc<Task>,
    n: usize,
}

impl Alternatives {
    pub(crate) fn new(inner: Box<dyn Solver>, task: &Arc<Task>, n: usize) -> Self {
        Self { inner, task: Arc::clone(task), n }
    }
}

impl Solver for Alternatives {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(AlternativesWorker {
            task: Posed::new(&self.task),
            inner: self.inner.worker(),
            n: self.n,
            person: Vec::new(),
            least: None,
            held: Vec::new(),
            given: Vec::new(),
        })
    }

    fn notes(&self) -> Option<Notes> {
        self.inner.notes()
    }
}

struct AlternativesWorker<'a> {
    task: Posed,
    inner: Box<dyn Worker + 'a>,
    n: usize,
    /// The person whose alternatives are known.
    person: Vec<f64>,
    /// A goal with a proven lower bound on the cost of any point that meets it.
    least: Option<(Goal, f64)>,
    /// The columns that each alternative holds fixed.
    held: Vec<Vec<bool>>,
    /// The essential columns of each alternative that was returned.
    given: Vec<Vec<bool>>,
}

/// The result of a search.
struct Candidate {
    cost: f64,
    held: Vec<bool>,
    /// Columns that change, and those of them that are essential.
    changed: Vec<bool>,
    essential: Vec<bool>,
}

impl Worker for AlternativesWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let (factual, alternative) = (ask.factual, ask.alternative);
        let repriced = self.task.turn_to(ask);
        if repriced || self.person != factual {
            self.explore(ask, proposal)?;
            self.person = factual.to_vec();
            self.given.clear();
        }
        let further = match self.held.get(alternative).cloned() {
            Some(held) => {
                self.find_holding(ask, held, proposal)?;
                self.differs(ask, proposal)
            }
            // If there is no answer at all, the search itself gives the reason.
            None if alternative == 0 => {
                self.find_holding(ask, Vec::new(), proposal)?;
                true
            }
            None => false,
        };
        if !further {
            proposal.point.copy_from_slice(factual);
            proposal.verdict = Verdict::Short(Reason::NoOtherWay);
            proposal.report.claimed_rate = None;
            (proposal.proven, proposal.lower_bound) = (false, 0.0);
        }
        if !proposal.proven
            && let Some((_, least)) = self.least.filter(|(of, _)| *of == ask.goal)
        {
            proposal.lower_bound = proposal.lower_bound.max(least);
        }
        Ok(())
    }

    fn n_lines(&self) -> u64 {
        self.inner.n_lines()
    }

    fn serves_own_costs(&self) -> bool {
        self.inner.serves_own_costs()
    }

    fn looks_far(&self) -> bool {
        self.inner.looks_far()
    }

    fn n_options(&self) -> usize {
        self.n
    }
}

impl AlternativesWorker<'_> {
    fn find_holding(
        &mut self,
        ask: &Ask<'_>,
        held: Vec<bool>,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let restricts = held.contains(&true);
        let restriction = Restriction::holding(&self.task.actions, held);
        // An eighth of what is left: one alternative must not use up what the others need.
        let budget = ask.budget.part(8);
        let ask = Ask { alternative: 0, restriction: Some(&restriction), budget: &budget, ..*ask };
        self.inner.find(&ask, proposal)?;
        if restricts {
            // This proves nothing about points that change the held features.
            (proposal.proven, proposal.lower_bound) = (false, 0.0);
        }
        Ok(())
    }

    /// The columns of essential features among those that change.
    fn essential(&self, factual: &[f64], point: &[f64], changed: &[bool]) -> Vec<bool> {
        let alone = |feature: &Vec<usize>| {
            let mut only = factual.to_vec();
            feature.iter().for_each(|&j| only[j] = point[j]);
            self.task.cost.between(factual, &only)
        };
        let features = features(&self.task.actions, changed);
        let costs: Vec<f64> = features.iter().map(alone).collect();
        let largest = costs.iter().copied().fold(0.0, f64::max);
        let mut essential = vec![false; factual.len()];
        for (feature, cost) in features.iter().zip(costs) {
            feature.iter().for_each(|&j| essential[j] = cost >= ESSENTIAL * largest);
        }
        essential
    }

    /// Whether a proposal avoids an essential change of every alternative before it. This can fail
    /// at another rate than the one that the alternatives were found for.
    fn differs(&mut self, ask: &Ask<'_>, proposal: &Proposal) -> bool {
        let (factual, alternative) = (ask.factual, ask.alternative);
        let changed = self.task.actions.changed_columns(factual, &proposal.point);
        let before = &self.given[..alternative.min(self.given.len())];
        let differs =
            proposal.verdict != Verdict::Reached || !before.iter().any(|way| covers(&changed, way));
        self.given.resize(alternative.max(self.given.len()), vec![true; factual.len()]);
        self.given.truncate(alternative);
        self.given.push(self.essential(factual, &proposal.point, &changed));
        differs
    }

    /// Finds which features each alternative holds fixed.
    fn explore(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let factual = ask.factual;
        self.held.clear();
        self.least = None;
        let mut taken: Vec<Vec<bool>> = Vec::new();
        let mut open: Vec<Candidate> = Vec::new();
        let mut tried: Vec<Vec<bool>> = Vec::new();
        let mut next = vec![vec![false; factual.len()]];
        while taken.len() < self.n {
            for held in next.drain(..) {
                if tried.len() >= SEARCHES * self.n || tried.contains(&held) {
                    continue;
                }
                self.find_holding(ask, held.clone(), proposal)?;
                if tried.is_empty() {
                    let optimal = proposal.proven && proposal.verdict == Verdict::Reached;
                    let cost = || self.task.cost.between(factual, &proposal.point);
                    let least = if optimal { cost() } else { proposal.lower_bound };
                    self.least = Some((ask.goal, least));
                }
                if matches!(
                    proposal.verdict,
                    Verdict::Reached | Verdict::Short(Reason::SearchLimit)
                ) {
                    let cost = self.task.cost.between(factual, &proposal.point);
                    let changed = self.task.actions.changed_columns(factual, &proposal.point);
                    let essential = self.essential(factual, &proposal.point, &changed);
                    open.push(Candidate { cost, held: held.clone(), changed, essential });
                }
                tried.push(held);
            }
            // The first of the cheapest, so that the order is always the same.
            let cheapest = (0..open.len())
                .reduce(|best, i| if open[i].cost < open[best].cost { i } else { best });
            let Some(Candidate { held, changed, essential, .. }) = cheapest.map(|i| open.remove(i))
            else {
                break;
            };
            let without = match taken.iter().find(|earlier| covers(&changed, earlier)) {
                Some(earlier) => earlier.clone(),
                None => {
                    // The first alternative may change other features at another rate; the others
                    // keep to their own.
                    let others = changed.iter().map(|changed| !changed).collect();
                    self.held.push(if taken.is_empty() { held.clone() } else { others });
                    taken.push(essential.clone());
                    essential
                }
            };
            for features in features(&self.task.actions, &without) {
                let mut more = held.clone();
                features.into_iter().for_each(|j| more[j] = true);
                next.push(more);
            }
        }
        Ok(())
    }
}

/// Whether one set of columns contains another.
fn covers(all: &[bool], some: &[bool]) -> bool {
    some.iter().zip(all).all(|(some, all)| !some || *all)
}

/// The features among some columns: one column each, or those of a group.
fn features(actions: &Actions, columns: &[bool]) -> Vec<Vec<usize>> {
    let groups = actions.groups().iter().map(|group| group.columns().to_vec());
    let numbers = (0..columns.len()).filter(|&j| !actions.is_grouped(j)).map(|j| vec![j]);
    numbers.chain(groups).filter(|feature| feature.iter().any(|&j| columns[j])).collect()
}
