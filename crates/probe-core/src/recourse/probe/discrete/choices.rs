//! Choices of categories, in ascending order of what they cost.

use super::super::super::Task;
use crate::cost::Norm;
use crate::schema::Group;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An option for each category.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    /// What the changes cost, in the norm's total.
    pub(super) total: f64,
    /// How many categories change.
    pub(super) n_changed: usize,
    /// Which of each category's options, in ascending order of cost.
    ranks: Vec<usize>,
    /// The last place in [`Choices::order`] whose category changes.
    last: usize,
}

impl Eq for Choice {}

impl Ord for Choice {
    fn cmp(&self, other: &Self) -> Ordering {
        other.total.total_cmp(&self.total).then_with(|| other.ranks.cmp(&self.ranks))
    }
}

impl PartialOrd for Choice {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All choices that a person has, with at most as many changes as are allowed.
pub(super) struct Choices<'a> {
    norm: &'static dyn Norm,
    /// Categories that may change, each with its options and their totals, what the person has
    /// first.
    groups: Vec<(&'a Group, Vec<(usize, f64)>)>,
    /// The categories with more than one option, in ascending order of their cheapest change.
    order: Vec<usize>,
    max_changes: usize,
    /// At most three for each choice that came.
    heap: BinaryHeap<Choice>,
}

impl<'a> Choices<'a> {
    /// The choices of a person; only the option they have of groups that are not to be `chosen`
    /// here. `None` if the person's columns are those of no option.
    pub(super) fn new(
        task: &'a Task,
        factual: &[f64],
        chosen: impl Fn(usize) -> bool,
    ) -> Option<Self> {
        let actions = &task.actions;
        let mut groups = Vec::new();
        for (g, group) in actions.groups().iter().enumerate() {
            let current = group.option_of(factual)?;
            if !(chosen(g) && actions.is_mutable_group(g)) {
                continue;
            }
            let mut options: Vec<(usize, f64)> = (0..group.n_options())
                .filter(|&o| o != current && group.allows(current, o))
                .map(|o| (o, task.cost.of_choice(group, current, o)))
                .collect();
            options.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
            options.insert(0, (current, 0.0));
            groups.push((group, options));
        }
        let cheapest = |g: usize| groups[g].1[1].1;
        let mut order: Vec<usize> = (0..groups.len()).filter(|&g| groups[g].1.len() > 1).collect();
        order.sort_by(|&a, &b| cheapest(a).total_cmp(&cheapest(b)).then(b.cmp(&a)));
        let none = Choice { total: 0.0, n_changed: 0, ranks: vec![0; groups.len()], last: 0 };
        let max_changes = actions.max_changes().unwrap_or(usize::MAX);
        let heap = BinaryHeap::from([none]);
        Some(Self { norm: task.cost.norm(), groups, order, max_changes, heap })
    }

    /// The cheapest choice that did not come yet.
    pub(super) fn next(&mut self) -> Option<Choice> {
        let choice = self.heap.pop()?;
        if choice.n_changed == 0 {
            self.raise(&choice, None, 0);
            return Some(choice);
        }
        // Every other choice comes from exactly one that costs no more: its last change is the next
        // option of the category, or follows another change, or takes the place of one.
        let last = self.order[choice.last];
        self.raise(&choice, None, choice.last);
        self.raise(&choice, None, choice.last + 1);
        if choice.ranks[last] == 1 {
            self.raise(&choice, Some(last), choice.last + 1);
        }
        Some(choice)
    }

    /// Adds `choice` with the next option of the category at a `place`, and perhaps another
    /// category
    /// left as it is.
    fn raise(&mut self, choice: &Choice, left: Option<usize>, place: usize) {
        let Some(&g) = self.order.get(place) else { return };
        let mut ranks = choice.ranks.clone();
        left.into_iter().for_each(|left| ranks[left] = 0);
        ranks[g] += 1;
        if ranks[g] < self.groups[g].1.len() {
            let (total, n_changed) = self.price(&ranks);
            if n_changed <= self.max_changes {
                self.heap.push(Choice { total, n_changed, ranks, last: place });
            }
        }
    }

    fn price(&self, ranks: &[usize]) -> (f64, usize) {
        let totals = self.groups.iter().zip(ranks).map(|((_, options), &rank)| options[rank].1);
        let total = totals.fold(0.0, |sum, total| self.norm.join(sum, total));
        (total, ranks.iter().filter(|rank| **rank > 0).count())
    }

    /// Gives `row` the options of `choice`.
    pub(super) fn set(&self, choice: &Choice, row: &mut [f64]) {
        for ((group, options), &rank) in self.groups.iter().zip(&choice.ranks) {
            group.set(options[rank].0, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::Cost;
    use crate::model::Linear;
    use crate::noise::{Gaussian, NoiseOn};
    use crate::recourse::{MethodOptions, Reference, SearchEffort};
    use crate::schema::Actions;
    use crate::seed::{Purpose, Seed};
    use std::sync::Arc;

    /// A task about groups of one column each, with so many options and these costs to leave the
    /// first one.
    fn task(norm: &str, costs: &[Vec<f64>], max_changes: Option<usize>) -> Task {
        let d = costs.len();
        let group = |(c, costs): (usize, &Vec<f64>)| {
            let n = costs.len() + 1;
            let values: Vec<f64> = (0..n).map(|o| o as f64).collect();
            let mut table = vec![vec![None; n]; n];
            table[0] = std::iter::once(None).chain(costs.iter().map(|c| Some(*c))).collect();
            Group::in_one_column(c, &values).costing(table)
        };
        let groups: Vec<Group> = costs.iter().enumerate().map(group).collect();
        let actions =
            Actions::free(d).with_groups(groups.clone()).unwrap().with_max_changes(max_changes);
        Task {
            model: Arc::new(Linear::new(vec![1.0; d], -1.0, 0.0).unwrap()),
            noise: Arc::new(Gaussian::isotropic(d, 0.1).unwrap()),
            noise_on: NoiseOn::All,
            cost: Cost::uniform(norm, d).unwrap().with_groups(&groups),
            reference: Reference::of_ranges(&vec![None; d], &actions),
            actions,
            shift: None,
            seed: Seed(0),
            options: MethodOptions::default(),
            effort: SearchEffort::Normal,
            left_out: None,
        }
    }

    #[test]
    fn choices_come_in_order_of_cost_each_once() {
        for case in 0..300 {
            let mut stream = Seed(8).stream(Purpose::Data, case);
            let n = 1 + stream.below(5);
            // Equal costs are frequent.
            let cost = |stream: &mut crate::seed::Stream| 0.5 + stream.below(3) as f64;
            let costs: Vec<Vec<f64>> =
                (0..n).map(|_| (0..stream.below(4)).map(|_| cost(&mut stream)).collect()).collect();
            let most = [None, Some(1), Some(2)][stream.below(3)];
            let norm = ["l1", "l2", "linf"][case as usize % 3];
            let task = task(norm, &costs, most);
            let mut choices = Choices::new(&task, &vec![0.0; n], |_| true).unwrap();
            let sizes: Vec<usize> = choices.groups.iter().map(|(_, o)| o.len()).collect();
            let all: usize = sizes.iter().product();
            let mut expected: Vec<(f64, Vec<usize>)> = (0..all)
                .map(|mut number| {
                    let digit = |size: &usize| {
                        let digit = number % size;
                        number /= size;
                        digit
                    };
                    sizes.iter().map(digit).collect::<Vec<usize>>()
                })
                .map(|ranks| (choices.price(&ranks), ranks))
                .filter(|((_, changed), _)| most.is_none_or(|most| *changed <= most))
                .map(|((total, _), ranks)| (total, ranks))
                .collect();
            let mut seen: Vec<_> = std::iter::from_fn(|| choices.next())
                .map(|choice| (choice.total, choice.ranks))
                .collect();
            assert!(seen.is_sorted_by(|a, b| a.0 <= b.0), "case {case}, {norm}");
            let order = |a: &(f64, Vec<usize>), b: &(f64, Vec<usize>)| a.1.cmp(&b.1);
            seen.sort_by(order);
            expected.sort_by(order);
            assert_eq!(seen, expected, "case {case}, {norm}");
        }
    }

    #[test]
    fn the_cheapest_of_exponentially_many_choices_take_little_memory() {
        let task = task("l1", &vec![vec![1.0, 1.5]; 25], None);
        let mut choices = Choices::new(&task, &[0.0; 25], |_| true).unwrap();
        for came in 1..2_000 {
            choices.next().unwrap();
            assert!(choices.heap.len() <= 3 * came);
        }
    }
}
