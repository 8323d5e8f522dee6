//! A slow search for the cheapest answer, to compare against: no gradient of the rate, no sequence
//! of linear programs, nothing of the engine's solver.
//!
//! Minimises $\lVert x' - x\rVert_1$ subject to $\Delta(x') \le r$ and $f(x') > 0$, the rate taken
//! on fixed samples.
//!
//! 1. Every single feature, up and down: the first grid step that reaches the target, then
//! bisection.
//! 2. All pairs of the most promising features, in several proportions.
//! 3. Random mixtures of three.
//! 4. From the best of these: take some of one feature's change back, and let another make up for
//!    it at less cost, with shrinking amounts, until nothing helps.
//! 5. On the finest samples the change as a whole is stretched or shrunk until the rate is r.
//!
//! It proves nothing: its result is an upper bound on the lowest cost.

mod stored;

pub(crate) use stored::Against;

use probe_core::{Key, Purpose, Seed, Stream};

/// Single-feature steps that are tried: geometric up to a change of twenty times a feature's range.
const FIRST_STEP: f64 = 0.01;
const GROWTH: f64 = 1.12;
const FARTHEST: f64 = 20.0;
/// Features with a direction, which pairs and mixtures combine.
const PROMISING: usize = 10;
const MIXTURES: usize = 60;
/// Candidates that the fourth step starts from, if they cost at most so much more than the best.
const STARTS: usize = 5;
const WORSE: f64 = 1.15;

/// Rates of a person's changes, on three sets of samples: the first three steps read the first, the
/// fourth the second, the last the third.
pub(crate) trait Rates {
    /// The person.
    fn person(&self) -> &[f64];

    /// The rate after a change; 1 where the point itself is refused.
    fn rate(&self, change: &[f64], level: usize) -> f64;

    /// A change to beat, however expensive.
    fn start(&self) -> Option<Vec<f64>>;
}

/// The cheapest point found for target `r`; `None` where no single feature or mixture reaches it.
pub(crate) fn search(rates: &dyn Rates, r: f64) -> Option<Vec<f64>> {
    let key = Key::default().values(rates.person()).values(&[r]).finish();
    let mut stream = Seed(0).stream(Purpose::Data, key);
    let mut search = Search { rates, r, found: Vec::new(), least: FARTHEST };
    // Something to beat.
    if let Some(change) = rates.start().filter(|change| search.good(change, 0)) {
        search.keep(change);
    }
    let singles = search.singles();
    let promising: Vec<Way> = singles.iter().take(PROMISING).map(|(_, way)| *way).collect();
    search.pairs(&promising);
    search.mixtures(&promising, &mut stream);
    let mut found = search.descend(&promising);
    found.retain_mut(|change| search.land(change));
    let best = found.into_iter().min_by(|a, b| length(a).total_cmp(&length(b)))?;
    Some(rates.person().iter().zip(best).map(|(x, c)| x + c).collect())
}

/// A feature and the direction in which it moves.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Way {
    feature: usize,
    sign: f64,
}

struct Search<'a> {
    rates: &'a dyn Rates,
    r: f64,
    /// Changes that reach the target, on the coarsest samples.
    found: Vec<Vec<f64>>,
    /// The least cost of these.
    least: f64,
}

impl Search<'_> {
    fn rate(&self, change: &[f64], level: usize) -> f64 {
        self.rates.rate(change, level)
    }

    fn good(&self, change: &[f64], level: usize) -> bool {
        self.rate(change, level) <= self.r
    }

    fn keep(&mut self, change: Vec<f64>) {
        self.least = self.least.min(length(&change));
        self.found.push(change);
    }

    /// The change of cost `cost` along `mix`, whose shares add up to 1.
    fn along(&self, mix: &[(Way, f64)], cost: f64) -> Vec<f64> {
        let mut change = vec![0.0; self.rates.person().len()];
        mix.iter().for_each(|(way, share)| change[way.feature] += cost * share * way.sign);
        change
    }

    /// The first cost along `mix` that is good enough, no more than `most`, and the lowest rate
    /// seen up to there.
    fn first_along(&self, mix: &[(Way, f64)], costs: &[f64]) -> (Option<f64>, f64) {
        let (mut before, mut lowest) = (0.0, 1.0f64);
        for &cost in costs {
            let rate = self.rate(&self.along(mix, cost), 0);
            lowest = lowest.min(rate);
            if rate <= self.r {
                let good = |cost: f64| self.good(&self.along(mix, cost), 0);
                return (Some(bisect(before, cost, 14, good)), lowest);
            }
            before = cost;
        }
        (None, lowest)
    }

    /// Every feature up and down, the most promising first: those that reach the target by cost,
    /// then the others by the lowest rate that they reach.
    fn singles(&mut self) -> Vec<(f64, Way)> {
        let mut ways: Vec<(f64, Way)> = Vec::new();
        for feature in 0..self.rates.person().len() {
            for sign in [1.0, -1.0] {
                let way = Way { feature, sign };
                let most = (WORSE * self.least).min(FARTHEST);
                let steps = std::iter::successors(Some(FIRST_STEP), |cost| Some(cost * GROWTH));
                let costs: Vec<f64> = steps.take_while(|cost| *cost < most).chain([most]).collect();
                let (cost, lowest) = self.first_along(&[(way, 1.0)], &costs);
                if let Some(cost) = cost {
                    self.keep(self.along(&[(way, 1.0)], cost));
                }
                ways.push((cost.unwrap_or(FARTHEST + lowest), way));
            }
        }
        ways.sort_by(|a, b| a.0.total_cmp(&b.0));
        ways
    }

    /// All pairs of directed features, in several proportions.
    fn pairs(&mut self, ways: &[Way]) {
        for (i, &one) in ways.iter().enumerate() {
            for &other in ways[..i].iter().filter(|other| other.feature != one.feature) {
                let cost_at = |search: &Self, share: f64| {
                    let mix = [(one, share), (other, 1.0 - share)];
                    search.first_along(&mix, &steps_below(search.least * WORSE)).0
                };
                let grid = [0.15, 0.3, 0.5, 0.7, 0.85];
                let best = grid
                    .iter()
                    .filter_map(|&share| cost_at(self, share).map(|cost| (cost, share)))
                    .min_by(|a, b| a.0.total_cmp(&b.0));
                let Some((mut cost, mut share)) = best else { continue };
                let mut step = 0.07;
                while step > 0.01 {
                    let near = [share - step, share + step];
                    let better = near
                        .iter()
                        .filter_map(|&s| {
                            cost_at(self, s.clamp(0.0, 1.0)).map(|c| (c, s.clamp(0.0, 1.0)))
                        })
                        .filter(|(c, _)| *c < cost)
                        .min_by(|a, b| a.0.total_cmp(&b.0));
                    match better {
                        Some(found) => (cost, share) = found,
                        None => step *= 0.5,
                    }
                }
                self.keep(self.along(&[(one, share), (other, 1.0 - share)], cost));
            }
        }
    }

    /// Random mixtures of three directed features.
    fn mixtures(&mut self, ways: &[Way], stream: &mut Stream) {
        for _ in 0..MIXTURES {
            // Exponential shares: uniform on the simplex.
            let mut mix: Vec<(Way, f64)> =
                (0..3).map(|_| (ways[stream.below(ways.len())], -stream.uniform().ln())).collect();
            let total: f64 = mix.iter().map(|(_, share)| share).sum();
            mix.iter_mut().for_each(|(_, share)| *share /= total);
            if let (Some(cost), _) = self.first_along(&mix, &steps_below(self.least * WORSE)) {
                self.keep(self.along(&mix, cost));
            }
        }
    }

    /// Exchanges from the best candidates, no two of which change the same features.
    fn descend(&mut self, ways: &[Way]) -> Vec<Vec<f64>> {
        self.found.sort_by(|a, b| length(a).total_cmp(&length(b)));
        let mut starts: Vec<&Vec<f64>> = Vec::new();
        for change in &self.found {
            let other = |start: &&Vec<f64>| {
                start.iter().zip(change).any(|(a, b)| (*a != 0.0) != (*b != 0.0))
            };
            if length(change) <= WORSE * self.least
                && starts.iter().all(other)
                && starts.len() < STARTS
            {
                starts.push(change);
            }
        }
        starts.into_iter().filter_map(|change| self.exchange(change.clone(), ways)).collect()
    }

    /// Takes back some of one feature's change and lets another make up for it, as long as that
    /// saves cost.
    fn exchange(&self, start: Vec<f64>, ways: &[Way]) -> Option<Vec<f64>> {
        let mut change = self.stretched(&start, 1)?;
        let mut amount = 0.25 * length(&change);
        let smallest = 0.002 * amount;
        while amount > smallest {
            match self.better(&change, amount, ways) {
                Some(found) => change = found,
                None => amount *= 0.4,
            }
        }
        Some(change)
    }

    fn better(&self, change: &[f64], amount: f64, ways: &[Way]) -> Option<Vec<f64>> {
        let now = length(change);
        for from in (0..change.len()).filter(|&j| change[j] != 0.0) {
            let mut less = change.to_vec();
            // What is smaller than the amount is taken back altogether.
            less[from] -= amount.min(change[from].abs()).copysign(change[from]);
            let room = now - length(&less);
            for way in ways.iter().filter(|way| way.feature != from) {
                let with = |by: f64| {
                    let mut other = less.clone();
                    other[way.feature] += by * way.sign;
                    other
                };
                // A hundredth of the amount must be saved, or it is not worth the steps.
                let most = with(0.99 * room);
                if length(&most) < now && self.good(&most, 1) {
                    let by = bisect(0.0, 0.99 * room, 10, |by| self.good(&with(by), 1));
                    return Some(with(by));
                }
            }
        }
        None
    }

    /// The change as a whole, stretched or shrunk to the target on finer samples; `None` where a
    /// fifth more is not enough.
    fn stretched(&self, change: &[f64], level: usize) -> Option<Vec<f64>> {
        let times = |by: f64| change.iter().map(|c| by * c).collect::<Vec<f64>>();
        let good = |by: f64| self.good(&times(by), level);
        let (mut low, mut high) = (0.98, 1.02);
        while high < 1.2 && !good(high) {
            (low, high) = (high, high * 1.02);
        }
        while low > 0.5 && good(low) {
            (low, high) = (low * 0.98, low);
        }
        good(high).then(|| times(bisect(low, high, 24, good)))
    }

    fn land(&self, change: &mut Vec<f64>) -> bool {
        match self.stretched(change, 2) {
            Some(landed) => {
                *change = landed;
                true
            }
            None => false,
        }
    }
}

fn length(change: &[f64]) -> f64 {
    change.iter().map(|c| c.abs()).sum()
}

/// A few costs up to `most`.
fn steps_below(most: f64) -> [f64; 7] {
    [0.4, 0.55, 0.7, 0.8, 0.87, 0.94, 1.0].map(|share| share * most)
}

/// The smaller end of what is good between a bad `low` and a good `high`.
pub(crate) fn bisect(mut low: f64, mut high: f64, steps: usize, good: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..steps {
        let middle = 0.5 * (low + high);
        *(if good(middle) { &mut high } else { &mut low }) = middle;
    }
    high
}
