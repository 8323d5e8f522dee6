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
    /// The last category whose rank was raised: only it and those after it are raised further, so
    /// that no choice comes twice.
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

/// All choices that a person has.
pub(super) struct Choices<'a> {
    norm: &'static dyn Norm,
    /// Categories that may change, each with its options and their totals, what the person has
    /// first.
    groups: Vec<(&'a Group, Vec<(usize, f64)>)>,
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
        let none = Choice { total: 0.0, n_changed: 0, ranks: vec![0; groups.len()], last: 0 };
        Some(Self { norm: task.cost.norm(), groups, heap: BinaryHeap::from([none]) })
    }

    /// The cheapest choice that did not come yet.
    pub(super) fn next(&mut self) -> Option<Choice> {
        let choice = self.heap.pop()?;
        for g in choice.last..self.groups.len() {
            let mut ranks = choice.ranks.clone();
            ranks[g] += 1;
            if ranks[g] < self.groups[g].1.len() {
                let (total, n_changed) = self.price(&ranks);
                self.heap.push(Choice { total, n_changed, ranks, last: g });
            }
        }
        Some(choice)
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
