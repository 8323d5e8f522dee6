//! `l1` and `l2` with discrete parts: branch and bound with a Lagrangian bound.
//!
//! The problem is to minimise $\sum_j c(u_j) + \sum_g e_g$ subject to $\sum_j a_j u_j + \sum_g
//! \text{gain}_g \ge G(V)$ and at most $K$ changes, where $V$ is the noise of the changed features
//! and $G(V) = z\sqrt V$ minus the score (a constant if noise does not depend on the changes).
//! Relaxing both constraints with multipliers $\nu, \kappa \ge 0$ leaves one small problem per item
//! and per group, so that every pair of multipliers gives a lower bound; the bound is concave in
//! them and its best value is found by bisection. $\sqrt V$ is concave, so it is at least its chord
//! between the noise that is already decided and the most that can still come: changing item $j$
//! then costs a fixed amount of score on top. Nodes decide one item (changed or not) or one group
//! (which option) at a time. A node is dropped only when its bound proves that it cannot beat the
//! best known solution by more than a relative $10^{-12}$.

use super::Found;
use super::reduced::{Reduced, Requirement, Solution};
use crate::cost::{Item, Norm, Scratch};

/// What is decided about an item or a group.
#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Open,
    Out,
    /// Changed; for a group, to this choice.
    In(usize),
}

/// Writes the optimum into `solution`.
pub(super) fn solve(
    norm: &dyn Norm,
    reduced: &Reduced,
    requirement: &Requirement,
    solution: &mut Solution,
) -> Found {
    let n = reduced.items.len();
    let mut states = vec![State::Open; n + reduced.choices.len()];
    for (i, (state, it)) in states.iter_mut().zip(&reduced.items).enumerate() {
        // If a change adds no noise and no limit counts it, there is nothing to decide: it may
        // move.
        let free = reduced.max_changes.is_none() && reduced.variances[i] <= 0.0;
        if it.start > 0.0 || (free && it.cap > 0.0) {
            *state = State::In(0);
        } else if it.cap <= 0.0 {
            *state = State::Out;
        }
    }
    let mut search = Search {
        norm,
        reduced,
        requirement,
        states,
        best_total: f64::INFINITY,
        best: None,
        nodes: 0,
        bound: 0.0,
        scratch: Scratch::default(),
    };
    search.explore(None);
    let complete = search.nodes < requirement.max_nodes;
    // Leaves room for the rounding of the sums.
    let stopped = Found::Stopped { bound: search.bound * (1.0 - 1e-9) };
    solution.nodes = search.nodes;
    match search.best {
        Some(best) => {
            *solution = Solution { nodes: search.nodes, ..best };
            if complete { Found::Optimal } else { stopped }
        }
        None if complete => Found::Nothing,
        None => stopped,
    }
}

struct Search<'a> {
    norm: &'a dyn Norm,
    reduced: &'a Reduced,
    requirement: &'a Requirement,
    states: Vec<State>,
    best_total: f64,
    best: Option<Solution>,
    nodes: usize,
    /// The bound of the first node, which holds for all solutions.
    bound: f64,
    scratch: Scratch,
}

/// A node's relaxation: constants of what is decided.
struct Node {
    /// Score still needed if no open item changes.
    needed: f64,
    /// The score that each unit of variance requires, by the chord.
    per_variance: f64,
    /// Changes left.
    room: Option<usize>,
    /// Total of the decided groups and forced moves.
    total: f64,
}

/// The value of the relaxation at a pair of multipliers.
struct Value {
    bound: f64,
    /// Gain of the minimising moves minus what was needed: the multiplier on gain is too low where
    /// negative.
    surplus: f64,
    /// Changes made minus changes left.
    excess: f64,
}

impl Search<'_> {
    /// Searches below the current decisions; `hint` are the parent's multipliers.
    fn explore(&mut self, hint: Option<(f64, f64)>) {
        self.nodes += 1;
        if self.nodes >= self.requirement.max_nodes {
            return;
        }
        let Some(node) = self.node() else { return };
        if let Some((price, per_change)) = hint
            && self.value(&node, price, per_change).bound >= self.cutoff()
        {
            return;
        }
        let Some((price, per_change)) = self.multipliers(&node) else { return };
        if self.nodes == 1 {
            self.bound = self.value(&node, price, per_change).bound.max(0.0);
        }
        self.try_solution(&node, price, per_change);
        // The bound may have been reached by the solution just found.
        if self.value(&node, price, per_change).bound >= self.cutoff() {
            return;
        }
        let critical = self.critical(&node, price, per_change);
        let Some(i) = critical else { return };
        let i = self.twins(i).next().map_or(i, |first| first.min(i));
        let (reduced_cost, choice) = self.reduced_cost(&node, i, price, per_change);
        let mut branches: Vec<State> = self.branches(i, choice);
        if reduced_cost > 0.0 {
            branches.rotate_right(1);
        }
        for state in branches {
            self.states[i] = state;
            // Of items that are equal in everything, the first ones change. If this one does not
            // change, none of its twins does.
            let twins: Vec<usize> = match state {
                State::Out => self.twins(i).collect(),
                _ => Vec::new(),
            };
            twins.iter().for_each(|&j| self.states[j] = State::Out);
            self.explore(Some((price, per_change)));
            twins.iter().for_each(|&j| self.states[j] = State::Open);
        }
        self.states[i] = State::Open;
    }

    /// The open item or group whose decision moves the bound most: where noise depends on the
    /// changes, the noisiest one that the relaxation changes at the price of the chord; else the
    /// one whose reduced cost is nearest to zero.
    fn critical(&self, node: &Node, price: f64, per_change: f64) -> Option<usize> {
        let open = || (0..self.states.len()).filter(|&i| self.states[i] == State::Open);
        let distance = |i: usize| self.reduced_cost(node, i, price, per_change).0;
        let variance = |i: usize| self.reduced.variances.get(i).copied().unwrap_or(0.0);
        let noisy =
            open().filter(|&i| variance(i) > 0.0 && distance(i) <= 1e-9 * self.best_total.min(1e9));
        noisy
            .max_by(|&a, &b| variance(a).total_cmp(&variance(b)).then(b.cmp(&a)))
            .or_else(|| open().min_by(|&a, &b| distance(a).abs().total_cmp(&distance(b).abs())))
    }

    /// Open items other than `i` that are the same as `i` in everything.
    fn twins(&self, i: usize) -> impl Iterator<Item = usize> {
        let item = self.reduced.items.get(i);
        let same = |j: usize| {
            j != i
                && self.states[j] == State::Open
                && item == self.reduced.items.get(j)
                && self.reduced.variances.get(i) == self.reduced.variances.get(j)
        };
        let n = if item.is_some() { self.reduced.items.len() } else { 0 };
        (0..n).filter(|&j| same(j)).collect::<Vec<_>>().into_iter()
    }

    /// All decisions about `i`, the preferred change first and `Out` last.
    fn branches(&self, i: usize, preferred: usize) -> Vec<State> {
        let options =
            i.checked_sub(self.reduced.items.len()).map_or(1, |g| self.reduced.choices[g].len());
        let others = (0..options).filter(|&o| o != preferred).map(State::In);
        std::iter::once(State::In(preferred)).chain(others).chain([State::Out]).collect()
    }

    /// Totals at or above this cannot improve on the best known solution.
    fn cutoff(&self) -> f64 {
        self.best_total * (1.0 - 1e-12)
    }

    /// The node's constants; `None` if it breaks the limit on changes or cannot gain enough.
    fn node(&self) -> Option<Node> {
        let reduced = self.reduced;
        let n = reduced.items.len();
        let (mut variance, mut total, mut gained) =
            (reduced.base_variance, reduced.base_total, reduced.base_score);
        let mut changes = reduced.base_changes;
        let mut open = Vec::new();
        // Totals of the items decided to change, at their caps: all but one of them are there, see
        // `most_variance`.
        let (mut full, mut largest): (f64, f64) = (0.0, 0.0);
        for (i, state) in self.states.iter().enumerate() {
            match (*state, i.checked_sub(n)) {
                (State::In(_), None) => {
                    variance += reduced.variances[i];
                    changes += 1;
                    let it = &reduced.items[i];
                    if reduced.variances[i] > 0.0 && it.start <= 0.0 {
                        (full, largest) =
                            (full + it.weight * it.cap, largest.max(it.weight * it.cap));
                    } else {
                        // Free to stay where it is, or to stay at its forced start.
                        full += it.weight * it.start;
                    }
                }
                (State::In(choice), Some(g)) => {
                    gained += reduced.choices[g][choice].gain;
                    total = self.norm.join(total, reduced.choices[g][choice].total);
                    changes += 1;
                }
                (State::Open, None) if reduced.variances[i] > 0.0 => open.push(i),
                _ => {}
            }
        }
        let room = match reduced.max_changes {
            Some(k) => Some(k.checked_sub(changes)?),
            None => None,
        };
        let most = self.most_variance(&mut open, room, total + (full - largest).max(0.0));
        let low = self.requirement.score(variance);
        let (needed, per_variance) = if most > 0.0 {
            let at = |v: f64| self.requirement.z * v.sqrt();
            (at(variance).min(low) - gained, (at(variance + most) - at(variance)) / most)
        } else {
            (low - gained, 0.0)
        };
        let node = Node { needed, per_variance, room, total };
        (self.most_gain(&node) >= node.needed).then_some(node)
    }

    /// The most noise that open items can still bring into a solution better than the best known.
    ///
    /// For `l1` and a given set of changes, all items but one are at their caps in some optimum
    /// (one linear constraint), so the budget left by the best known total bounds how many more can
    /// change: one of any size, and a knapsack of full ones.
    fn most_variance(&self, open: &mut [usize], room: Option<usize>, spent: f64) -> f64 {
        let reduced = self.reduced;
        let room = room.unwrap_or(open.len()).min(open.len());
        if self.norm.is_linear() && self.best_total.is_finite() {
            let price = |i: usize| reduced.items[i].weight * reduced.items[i].cap;
            open.sort_by(|&a, &b| {
                (reduced.variances[b] * price(a))
                    .total_cmp(&(reduced.variances[a] * price(b)))
                    .then(a.cmp(&b))
            });
            let largest = open.iter().map(|&i| reduced.variances[i]).fold(0.0, f64::max);
            let (mut left, mut sum) = ((self.best_total - spent).max(0.0), largest);
            for &i in open.iter() {
                let share = (left / price(i)).min(1.0);
                sum += share * reduced.variances[i];
                left -= share * price(i);
                if left <= 0.0 {
                    break;
                }
            }
            let all: f64 = open.iter().map(|&i| reduced.variances[i]).sum();
            return sum.min(all);
        }
        open.sort_by(|&a, &b| reduced.variances[b].total_cmp(&reduced.variances[a]));
        open[..room].iter().map(|&i| reduced.variances[i]).sum()
    }

    /// The largest gain the relaxation can make.
    fn most_gain(&self, node: &Node) -> f64 {
        let reduced = self.reduced;
        let n = reduced.items.len();
        let mut gains = Vec::new();
        let mut decided = 0.0;
        for (i, state) in self.states.iter().enumerate() {
            match (*state, i.checked_sub(n)) {
                (State::In(_), None) => decided += reduced.items[i].gain * reduced.items[i].cap,
                (State::Open, None) => {
                    let it = &reduced.items[i];
                    gains.push(it.gain * it.cap - node.per_variance * reduced.variances[i]);
                }
                (State::Open, Some(g)) => {
                    gains.push(reduced.choices[g].iter().map(|c| c.gain).fold(0.0, f64::max))
                }
                _ => {}
            }
        }
        gains.retain(|&g| g > 0.0);
        gains.sort_by(|a, b| b.total_cmp(a));
        decided + gains.iter().take(node.room.unwrap_or(usize::MAX)).sum::<f64>()
    }

    /// Cost minus priced gain of changing open `i`, at its best move or choice.
    fn reduced_cost(&self, node: &Node, i: usize, price: f64, per_change: f64) -> (f64, usize) {
        let reduced = self.reduced;
        match i.checked_sub(reduced.items.len()) {
            None => {
                let it = &reduced.items[i];
                let fixed = per_change + price * node.per_variance * reduced.variances[i];
                (fixed + self.priced(it, self.norm.response(it, price), price), 0)
            }
            Some(g) => {
                let values =
                    reduced.choices[g].iter().map(|c| c.total - price * c.gain + per_change);
                values
                    .enumerate()
                    .fold((f64::INFINITY, 0), |best, (o, v)| if v < best.0 { (v, o) } else { best })
            }
        }
    }

    fn priced(&self, item: &Item, u: f64, price: f64) -> f64 {
        if u.is_infinite() {
            f64::NEG_INFINITY
        } else {
            self.norm.add(0.0, item.weight * u) - price * item.gain * u
        }
    }

    /// The relaxation at a pair of multipliers: a lower bound on every solution below this node.
    fn value(&self, node: &Node, price: f64, per_change: f64) -> Value {
        let reduced = self.reduced;
        let n = reduced.items.len();
        let mut bound =
            node.total + price * node.needed - per_change * node.room.unwrap_or(0) as f64;
        let mut surplus = -node.needed;
        let mut excess = -(node.room.unwrap_or(usize::MAX) as f64);
        for (i, state) in self.states.iter().enumerate() {
            match (*state, i.checked_sub(n)) {
                (State::In(_), None) => {
                    let it = &reduced.items[i];
                    let u = self.norm.response(it, price);
                    bound += self.priced(it, u, price);
                    surplus += it.gain * u;
                }
                (State::Open, position) => {
                    let (value, choice) = self.reduced_cost(node, i, price, per_change);
                    if value < 0.0 {
                        bound += value;
                        excess += 1.0;
                        surplus += match position {
                            None => {
                                let it = &reduced.items[i];
                                it.gain * self.norm.response(it, price)
                                    - node.per_variance * reduced.variances[i]
                            }
                            Some(g) => reduced.choices[g][choice].gain,
                        };
                    }
                }
                _ => {}
            }
        }
        Value { bound, surplus, excess }
    }

    /// The best multipliers, or `None` as soon as some pair proves that the node cannot improve.
    fn multipliers(&self, node: &Node) -> Option<(f64, f64)> {
        let price = self.price(node, 0.0)?;
        if node.room.is_none() || self.value(node, price, 0.0).excess <= 0.0 {
            return Some((price, 0.0));
        }
        let (mut low, mut high) = (0.0, 1.0);
        let mut best = (price, 0.0, self.value(node, price, 0.0).bound);
        let mut try_at = |per_change: f64| {
            let price = self.price(node, per_change)?;
            let value = self.value(node, price, per_change);
            if value.bound > best.2 {
                best = (price, per_change, value.bound);
            }
            Some(value.excess)
        };
        while try_at(high)? > 0.0 && high < 1e18 {
            (low, high) = (high, high * 4.0);
        }
        for _ in 0..40 {
            let mid = 0.5 * (low + high);
            if try_at(mid)? > 0.0 { low = mid } else { high = mid }
        }
        Some((best.0, best.1))
    }

    /// The price of score that maximises the bound at a given cost per change.
    fn price(&self, node: &Node, per_change: f64) -> Option<f64> {
        let prune = |value: &Value| value.bound >= self.cutoff() && self.best.is_some();
        let (mut low, mut high) = (0.0, 1.0);
        loop {
            let value = self.value(node, high, per_change);
            if prune(&value) {
                return None;
            }
            if value.surplus >= 0.0 || high > 1e18 {
                break;
            }
            (low, high) = (high, high * 4.0);
        }
        let (mut below, mut above) =
            (self.value(node, low, per_change).surplus, self.value(node, high, per_change).surplus);
        for round in 0..200 {
            // The surplus grows with the price, linearly between jumps: every other try follows the
            // line.
            let share =
                if round % 2 == 0 && above.is_finite() { -below / (above - below) } else { 0.5 };
            let mid = low + share * (high - low);
            if mid <= low || mid >= high {
                if round % 2 == 0 {
                    continue;
                }
                break;
            }
            let value = self.value(node, mid, per_change);
            if prune(&value) {
                return None;
            }
            if value.surplus.abs() <= 1e-15 * node.needed.abs() {
                return Some(mid);
            }
            if value.surplus >= 0.0 {
                (high, above) = (mid, value.surplus)
            } else {
                (low, below) = (mid, value.surplus)
            }
            if high - low <= 1e-15 * high {
                break;
            }
        }
        let (a, b) =
            (self.value(node, low, per_change).bound, self.value(node, high, per_change).bound);
        Some(if a >= b { low } else { high })
    }

    /// Turns the relaxation into solutions: the changes it makes, and more of the next best until
    /// they suffice.
    fn try_solution(&mut self, node: &Node, price: f64, per_change: f64) {
        let n = self.reduced.items.len();
        let mut open: Vec<(f64, usize, usize)> = (0..self.states.len())
            .filter(|&i| self.states[i] == State::Open)
            .map(|i| {
                let (value, choice) = self.reduced_cost(node, i, price, per_change);
                (value, i, choice)
            })
            .collect();
        open.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut picks: Vec<Option<usize>> = self.states[n..]
            .iter()
            .map(|state| if let State::In(choice) = state { Some(*choice) } else { None })
            .collect();
        let mut changed: Vec<bool> =
            self.states[..n].iter().map(|s| matches!(s, State::In(_))).collect();
        let room = node.room.unwrap_or(usize::MAX);
        let wanted = open.iter().take(room).filter(|o| o.0 < 0.0).count();
        for (count, &(_, i, choice)) in open.iter().enumerate() {
            if count >= wanted && self.try_changes(&changed, &picks) {
                return;
            }
            if count >= room {
                break;
            }
            match i.checked_sub(n) {
                None => changed[i] = true,
                Some(g) => picks[g] = Some(choice),
            }
        }
        self.try_changes(&changed, &picks);
    }

    /// The cheapest solution that changes exactly these; true if there is one.
    fn try_changes(&mut self, changed: &[bool], picks: &[Option<usize>]) -> bool {
        let reduced = self.reduced;
        let (mut total, mut gained) = (reduced.base_total, reduced.base_score);
        for (choices, pick) in reduced.choices.iter().zip(picks) {
            if let Some(pick) = pick {
                total = self.norm.join(total, choices[*pick].total);
                gained += choices[*pick].gain;
            }
        }
        let mut used: Vec<usize> = (0..changed.len()).filter(|&i| changed[i]).collect();
        loop {
            let items: Vec<Item> = used.iter().map(|&i| reduced.items[i]).collect();
            let variance =
                reduced.base_variance + used.iter().map(|&i| reduced.variances[i]).sum::<f64>();
            let mut moves = vec![0.0; items.len()];
            self.norm.prepare(&items, &mut self.scratch);
            let needed = self.requirement.score(variance) - gained;
            if !self.norm.cheapest(&items, &self.scratch, needed, &mut moves) {
                return false;
            }
            let cost =
                items.iter().zip(&moves).fold(total, |t, (it, u)| self.norm.add(t, it.weight * u));
            if cost < self.best_total {
                self.best_total = cost;
                let mut solution = Solution::default();
                solution.reset(reduced);
                solution.picks.copy_from_slice(picks);
                used.iter().zip(&moves).for_each(|(&i, &u)| solution.moves[i] = u);
                self.best = Some(solution);
            }
            // Features that did not move add no noise.
            let before = used.len();
            let mut kept = moves.iter().map(|&u| u > 0.0);
            used.retain(|_| kept.next().unwrap_or(false));
            if used.len() == before || variance <= 0.0 {
                return true;
            }
        }
    }
}
