//! Categories as columns: the options a person may have, and what becomes of what.

use crate::error::{Error, Result, require};

/// The columns of one category, with the values they take for each of its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    columns: Vec<usize>,
    /// `options[o][k]`: the value of the k-th column under option `o`.
    options: Vec<Vec<f64>>,
    /// `allowed[from][to]`; empty allows every change.
    allowed: Vec<Vec<bool>>,
    /// `costs[from][to]`, as a weighted move, where columns do not cost what they cost by
    /// themselves; empty where none does.
    costs: Vec<Vec<Option<f64>>>,
    /// Probability that a person does not manage a change.
    p_fail: f64,
}

impl Group {
    /// One column per option; exactly one of them is 1.
    pub fn one_hot(columns: Vec<usize>) -> Self {
        let n = columns.len();
        let option = |hot: usize| (0..n).map(|o| if o == hot { 1.0 } else { 0.0 }).collect();
        Self::of_options(columns, (0..n).map(option).collect())
    }

    /// The columns' values under each option.
    pub fn of_options(columns: Vec<usize>, options: Vec<Vec<f64>>) -> Self {
        Self { columns, options, allowed: Vec::new(), costs: Vec::new(), p_fail: 0.0 }
    }

    /// One column that holds a number per option: its place in an order, or 0 and 1.
    pub fn in_one_column(column: usize, values: &[f64]) -> Self {
        Self::of_options(vec![column], values.iter().map(|value| vec![*value]).collect())
    }

    /// With `allowed[from][to]` for each change; an empty table allows all.
    #[must_use]
    pub fn allowing(mut self, allowed: Vec<Vec<bool>>) -> Self {
        self.allowed = allowed;
        self
    }

    /// With `costs[from][to]` for changes, as weighted moves of the norm; `None` is what the
    /// columns cost.
    #[must_use]
    pub fn costing(mut self, costs: Vec<Vec<Option<f64>>>) -> Self {
        self.costs = costs;
        self
    }

    /// The same with costs of its own, if it has any, times a factor.
    #[must_use]
    pub(crate) fn costs_times(&self, factor: f64) -> Self {
        let times = |row: &Vec<Option<f64>>| {
            row.iter().map(|cost| cost.map(|cost| cost * factor)).collect()
        };
        let costs = self.costs.iter().map(times).collect();
        Self { costs, ..self.clone() }
    }

    /// With the probability that a person does not manage a change, and keeps the option they have.
    #[must_use]
    pub fn failing(mut self, p_fail: f64) -> Self {
        self.p_fail = p_fail;
        self
    }

    /// Fails unless tables are square, costs positive and `p_fail` a probability below 1.
    pub(super) fn check(&self, g: usize) -> Result<()> {
        let n = self.options.len();
        let shape =
            |found| Err(Error::Shape { what: "options of a group", expected: n.max(1), found });
        if n == 0 || self.columns.is_empty() {
            return shape(0);
        }
        for rows in [self.allowed.len(), self.costs.len()] {
            if rows != 0 && rows != n {
                return shape(rows);
            }
        }
        let field = format!("p_fail of group {g}");
        require((0.0..1.0).contains(&self.p_fail), &field, "at least 0 and below 1", self.p_fail)?;
        let wrong = |len: &usize| *len != n;
        if let Some(option) = self.options.iter().find(|option| option.len() != self.columns.len())
        {
            return shape(option.len());
        }
        let lengths = self.allowed.iter().map(Vec::len).chain(self.costs.iter().map(Vec::len));
        if let Some(found) = lengths.into_iter().find(|len| wrong(len)) {
            return shape(found);
        }
        for (from, row) in self.costs.iter().enumerate() {
            for (to, cost) in row.iter().enumerate().filter(|(to, _)| *to != from) {
                let field = format!("cost of group {g} from option {from} to option {to}");
                let cost = cost.unwrap_or(1.0);
                require(cost > 0.0 && cost.is_finite(), &field, "positive and finite", cost)?;
            }
        }
        Ok(())
    }

    /// The columns.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Probability that a person does not manage a change.
    pub fn p_fail(&self) -> f64 {
        self.p_fail
    }

    /// Number of options.
    pub fn n_options(&self) -> usize {
        self.options.len()
    }

    /// The columns' values under option `o`.
    pub fn values(&self, o: usize) -> &[f64] {
        &self.options[o]
    }

    /// Whether a person with option `from` may take option `to`.
    pub fn allows(&self, from: usize, to: usize) -> bool {
        from == to || self.allowed.is_empty() || self.allowed[from][to]
    }

    /// What the change from one option to another costs, as a weighted move; `None` where it is
    /// what the columns cost.
    pub fn cost(&self, from: usize, to: usize) -> Option<f64> {
        match self.costs.is_empty() {
            true => None,
            false if from == to => Some(0.0),
            false => self.costs[from][to],
        }
    }

    /// The option a row has. `None` if its columns are those of no option.
    pub fn option_of(&self, row: &[f64]) -> Option<usize> {
        let has =
            |values: &Vec<f64>| self.columns.iter().zip(values).all(|(&c, value)| row[c] == *value);
        self.options.iter().position(has)
    }

    /// Gives `row` option `o`.
    pub fn set(&self, o: usize, row: &mut [f64]) {
        for (&c, value) in self.columns.iter().zip(&self.options[o]) {
            row[c] = *value;
        }
    }

    /// The option nearest to a row: the one whose columns differ least.
    pub(super) fn nearest(&self, row: &[f64], among: impl Fn(usize) -> bool) -> Option<usize> {
        let distance = |o: &usize| -> f64 {
            self.columns
                .iter()
                .zip(&self.options[*o])
                .map(|(&c, value)| (row[c] - value).powi(2))
                .sum()
        };
        (0..self.n_options())
            .filter(|o| among(*o))
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}
