//! Possible outcomes of a change, because changes of category may fail.

use super::{Actions, same};
use crate::schema::Group;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The largest number of outcomes that are listed: all of them if at most ten changes may fail.
const MOST: usize = 1 << 10;

/// The possible outcomes of a change. Changes of category fail independently of each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcomes {
    /// Probabilities and points, first the point if everything succeeds. Empty if nothing can fail.
    pub points: Vec<(f64, Vec<f64>)>,
    /// Total probability of all other outcomes: 0 unless more than ten changes may fail. To stay on
    /// the safe side, count it as rejected.
    pub rest: f64,
}

impl Outcomes {
    /// Whether nothing can fail.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }
}

impl Actions {
    /// Whether there is a group that may change and can fail to change.
    pub fn has_failures(&self) -> bool {
        (0..self.groups.len()).any(|g| self.groups[g].p_fail() > 0.0 && self.is_mutable_group(g))
    }

    /// The groups that differ between `from` and `to` and can fail to change.
    pub fn failing<'a>(
        &'a self,
        from: &'a [f64],
        to: &'a [f64],
    ) -> impl Iterator<Item = &'a Group> {
        let changes = |group: &&Group| group.columns().iter().any(|&c| !same(from[c], to[c]));
        self.groups.iter().filter(|group| group.p_fail() > 0.0).filter(changes)
    }

    /// The most probable outcomes of a change from `from` to `to`, at most 1,024.
    pub fn outcomes(&self, from: &[f64], to: &[f64]) -> Outcomes {
        let failing: Vec<&Group> = self.failing(from, to).collect();
        if failing.is_empty() {
            return Outcomes::default();
        }
        if 1_usize.checked_shl(failing.len() as u32).is_none_or(|all| all > MOST) {
            return most_probable(&failing, from, to);
        }
        let mut points = vec![(1.0, to.to_vec())];
        for group in failing {
            for k in 0..points.len() {
                let (p, point) = &mut points[k];
                let failed = (*p * group.p_fail(), undone(group, from, point));
                *p *= 1.0 - group.p_fail();
                points.push(failed);
            }
        }
        Outcomes { points, rest: 0.0 }
    }
}

/// `point` without the change of `group`.
fn undone(group: &Group, from: &[f64], point: &[f64]) -> Vec<f64> {
    let mut failed = point.to_vec();
    group.columns().iter().for_each(|&c| failed[c] = from[c]);
    failed
}

/// An outcome, stored as its difference from the most probable one.
#[derive(PartialEq)]
struct Flips {
    probability: f64,
    /// Places in the list of groups, in ascending order.
    places: Vec<usize>,
}

impl Eq for Flips {}

impl Ord for Flips {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_probability = self.probability.total_cmp(&other.probability);
        by_probability.then_with(|| other.places.cmp(&self.places))
    }
}

impl PartialOrd for Flips {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The most probable outcomes, and the total probability of all others.
fn most_probable(failing: &[&Group], from: &[f64], to: &[f64]) -> Outcomes {
    // Sorted by how little the probability falls if a group has its less likely result.
    let odds = |group: &Group| {
        let p = group.p_fail();
        p.min(1.0 - p) / p.max(1.0 - p)
    };
    let mut groups: Vec<&Group> = failing.to_vec();
    groups.sort_by(|a, b| odds(b).total_cmp(&odds(a)).then(a.columns().cmp(b.columns())));
    let success: f64 = groups.iter().map(|group| 1.0 - group.p_fail()).product();
    let most: f64 = groups.iter().map(|group| group.p_fail().max(1.0 - group.p_fail())).product();
    let mut heap = BinaryHeap::from([Flips { probability: most, places: Vec::new() }]);
    let mut points = vec![(success, to.to_vec())];
    let mut listed = success;
    // The successors of a set have one more flip, or its last flip moved by one place. Every set is
    // reached exactly once, and after a more probable one.
    while let Some(Flips { probability, places }) = heap.pop().filter(|_| points.len() < MOST) {
        let next = places.last().map_or(0, |last| last + 1);
        if let Some(group) = groups.get(next) {
            let longer = [&places[..], &[next]].concat();
            let p = probability * odds(group);
            heap.push(Flips { probability: p, places: longer });
            if let Some((last, before)) = places.split_last() {
                let moved = [before, &[next]].concat();
                let p = probability / odds(groups[*last]) * odds(group);
                heap.push(Flips { probability: p, places: moved });
            }
        }
        // A change fails if failure is its more likely result and it is not flipped, or the other
        // way round.
        let fails = |place: usize| (groups[place].p_fail() > 0.5) != places.contains(&place);
        let failed: Vec<usize> = (0..groups.len()).filter(|&place| fails(place)).collect();
        if !failed.is_empty() {
            let point = |point: Vec<f64>, &place: &usize| undone(groups[place], from, &point);
            points.push((probability, failed.iter().fold(to.to_vec(), point)));
            listed += probability;
        }
    }
    Outcomes { points, rest: (1.0 - listed).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    /// Groups of one column each, with these probabilities to fail.
    fn actions(p_fail: &[f64]) -> Actions {
        let group = |(c, p): (usize, &f64)| Group::in_one_column(c, &[0.0, 1.0]).failing(*p);
        Actions::free(p_fail.len())
            .with_groups(p_fail.iter().enumerate().map(group).collect())
            .unwrap()
    }

    #[test]
    fn outcomes_of_many_changes_are_the_most_probable_ones() {
        for case in 0..20 {
            let mut stream = Seed(5).stream(Purpose::Data, case);
            let n = 11 + stream.below(4);
            let p_fail: Vec<f64> = (0..n).map(|_| 0.6 * stream.uniform() + 0.01).collect();
            let (from, to) = (vec![0.0; n], vec![1.0; n]);
            let seen = actions(&p_fail).outcomes(&from, &to);
            let probability = |point: &[f64]| -> f64 {
                let each = point.iter().zip(&p_fail);
                each.map(|(x, p)| if *x == 0.0 { *p } else { 1.0 - p }).product()
            };
            assert_eq!((seen.points.len(), &seen.points[0].1), (MOST, &to));
            let mut all: Vec<f64> = (1..1_usize << n)
                .map(|set| {
                    let at = |c: usize| f64::from(u8::from(set >> c & 1 == 0));
                    probability(&(0..n).map(at).collect::<Vec<f64>>())
                })
                .collect();
            all.sort_by(|a, b| b.total_cmp(a));
            for ((p, point), expected) in seen.points[1..].iter().zip(&all) {
                assert!((p - probability(point)).abs() < 1e-12, "case {case}");
                assert!((p - expected).abs() < 1e-12, "case {case}: {p} {expected}");
            }
            let listed: f64 = seen.points.iter().map(|(p, _)| p).sum();
            assert!((listed + seen.rest - 1.0).abs() < 1e-12, "case {case}");
            let mut points: Vec<_> = seen.points.iter().map(|(_, point)| point.clone()).collect();
            points.sort_by(|a, b| a.partial_cmp(b).unwrap());
            points.dedup();
            assert_eq!(points.len(), MOST, "case {case}");
        }
    }

    #[test]
    fn changes_that_may_fail_do_not_take_exponential_work() {
        let n = 70;
        let seen = actions(&vec![0.01; n]).outcomes(&vec![0.0; n], &vec![1.0; n]);
        assert_eq!(seen.points.len(), MOST);
        assert!((seen.points[0].0 - 0.99_f64.powi(70)).abs() < 1e-12);
        // None, one, and some of those with two.
        let one = 70.0 * 0.01 * 0.99_f64.powi(69);
        let two = (MOST - 71) as f64 * 1e-4 * 0.99_f64.powi(68);
        assert!((seen.rest - (1.0 - seen.points[0].0 - one - two)).abs() < 1e-9);
    }
}
