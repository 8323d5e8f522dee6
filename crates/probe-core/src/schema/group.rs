//! A category as columns: its options, and which changes between them are allowed.

use crate::error::{Error, Result, require};

/// The columns of one category, with the values they take for each of its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    columns: Vec<usize>,
    /// `options[o][k]`: the value of the k-th column under option `o`.
    options: Vec<Vec<f64>>,
    /// `allowed[from][to]`; empty allows every change.
    allowed: Vec<Vec<bool>>,
    /// `costs[from][to]`, as weighted changes; `None` for the cost of the columns. Empty if all
    /// changes have that cost.
    costs: Vec<Vec<Option<f64>>>,
    /// Probability that a person fails to make a change.
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

    /// One column with a number per option, such as its rank, or 0 and 1.
    pub fn in_one_column(column: usize, values: &[f64]) -> Self {
        Self::of_options(vec![column], values.iter().map(|value| vec![*value]).collect())
    }

    /// Sets which changes are allowed, as `allowed[from][to]`; an empty table allows all.
    #[must_use]
    pub fn allowing(mut self, allowed: Vec<Vec<bool>>) -> Self {
        self.allowed = allowed;
        self
    }

    /// Sets the costs of changes, `costs[from][to]`, as weighted changes in the norm; `None` for
    /// the cost of the columns.
    #[must_use]
    pub fn costing(mut self, costs: Vec<Vec<Option<f64>>>) -> Self {
        self.costs = costs;
        self
    }

    /// Multiplies the costs that were set, if any, by a factor.
    #[must_use]
    pub(crate) fn costs_times(&self, factor: f64) -> Self {
        let times = |row: &Vec<Option<f64>>| {
            row.iter().map(|cost| cost.map(|cost| cost * factor)).collect()
        };
        let costs = self.costs.iter().map(times).collect();
        Self { costs, ..self.clone() }
    }

    /// Sets the probability that a person fails to make a change and keeps their option.
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

    /// Probability that a person fails to make a change.
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

    /// The cost of the change from one option to another, as a weighted change; `None` for the cost
    /// of the columns.
    pub fn cost(&self, from: usize, to: usize) -> Option<f64> {
        match self.costs.is_empty() {
            true => None,
            false if from == to => Some(0.0),
            false => self.costs[from][to],
        }
    }

    /// The option of a row; `None` if its columns match no option.
    pub fn option_of(&self, row: &[f64]) -> Option<usize> {
        let has =
            |values: &Vec<f64>| self.columns.iter().zip(values).all(|(&c, value)| row[c] == *value);
        self.options.iter().position(has)
    }

    /// Sets the columns of `row` to option `o`.
    pub fn set(&self, o: usize, row: &mut [f64]) {
        for (&c, value) in self.columns.iter().zip(&self.options[o]) {
            row[c] = *value;
        }
    }

    /// The option whose columns differ least from those of a row.
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
