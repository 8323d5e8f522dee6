//! A question of recourse in plain data: what may change, at what cost, and what people miss. Read
//! from the schema by code of its own, so that the rules of an answer are checked a second time.
//!
//! Rows are the model's columns in the person's units. Costs and noise are in scaled units, as in
//! the engine.

use anyhow::{Context as _, Result, bail};
use probe_core::schema::Kind;
use probe_core::{Coding, Cost, Direction, Feature, Group, Key, Model, ModelInput, Schema};
use std::sync::Arc;

/// A column that is a number.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) column: usize,
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) step: Option<f64>,
    pub(super) mutable: bool,
    direction: Direction,
    up: f64,
    down: f64,
    offset: f64,
    pub(super) width: f64,
    /// Standard deviation of how far people miss it, scaled; 0 for what they do not miss.
    sd: f64,
}

/// The columns of one category.
#[derive(Debug, Clone)]
pub(super) struct Category {
    pub(super) columns: Vec<usize>,
    /// What the columns hold, by option.
    pub(super) options: Vec<Vec<f64>>,
    pub(super) mutable: bool,
    allowed: Vec<Vec<bool>>,
    cost: Vec<Vec<f64>>,
}

/// What is asked, apart from person and target rate.
#[derive(Clone)]
pub(super) struct Problem {
    pub(super) model: Arc<dyn Model>,
    pub(super) numbers: Vec<Number>,
    pub(super) categories: Vec<Category>,
    raw_input: bool,
    n_columns: usize,
}

impl Number {
    fn free(column: usize, sd: f64, (low, high): (f64, f64)) -> Self {
        Self {
            column,
            low,
            high,
            step: None,
            mutable: true,
            direction: Direction::Any,
            up: 1.0,
            down: 1.0,
            offset: 0.0,
            width: 1.0,
            sd,
        }
    }

    fn of_feature(column: usize, feature: &Feature, sigma: f64) -> Self {
        let (offset, width) = match (feature.scale, feature.center, feature.scale_by) {
            (Some([zero, one]), _, _) => (zero, one - zero),
            (None, Some(center), Some(by)) => (center, by),
            _ => (0.0, 1.0),
        };
        let whole = (feature.kind == Kind::Integer).then_some(1.0);
        let range = feature.range.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
        Self {
            column,
            low: feature.min.unwrap_or(range[0]),
            high: feature.max.unwrap_or(range[1]),
            step: feature.step.or(whole),
            mutable: feature.mutable,
            direction: feature.direction,
            up: feature.cost_up.unwrap_or(feature.cost),
            down: feature.cost_down.unwrap_or(feature.cost),
            offset,
            width,
            sd: match (feature.mutable, feature.noise) {
                (false, _) => 0.0,
                (true, Some(raw)) => raw / width,
                (true, None) => sigma,
            },
        }
    }

    /// The values it may take for somebody who has `x`.
    pub(super) fn limits(&self, x: f64) -> (f64, f64) {
        if !self.mutable {
            return (x, x);
        }
        let low = if self.direction == Direction::Increase { x } else { self.low.min(x) };
        let high = if self.direction == Direction::Decrease { x } else { self.high.max(x) };
        (low, high)
    }

    pub(super) fn cost(&self, from: f64, to: f64) -> f64 {
        let by = (to - from) / self.width;
        if by < 0.0 { -by * self.down } else { by * self.up }
    }

    /// How far it may move up (`sign` above 0) or down for a cost.
    pub(super) fn reach(&self, sign: f64, cost: f64) -> f64 {
        cost / if sign < 0.0 { self.down } else { self.up } * self.width
    }

    pub(super) fn is_noisy(&self) -> bool {
        self.sd > 0.0
    }

    /// Standard deviation of how far people miss it, in their units.
    pub(super) fn raw_sd(&self) -> f64 {
        self.sd * self.width
    }

    /// The nearest value at `v` or further away from `x` that can be told; `v` is on one side of
    /// `x`. Without such a value within the limits, the last before.
    pub(super) fn told(&self, x: f64, v: f64) -> f64 {
        let (low, high) = self.limits(x);
        let v = v.clamp(low, high);
        let Some(step) = self.step else { return v };
        if v == x {
            return x;
        }
        let at = v / step;
        let near = 1e-7;
        let (out, back) = if v > x {
            ((at - near).ceil() * step, (at + near).floor() * step)
        } else {
            ((at + near).floor() * step, (at - near).ceil() * step)
        };
        let fits = |value: f64| low <= value && value <= high;
        let moved = |value: f64| if v > x { value > x } else { value < x };
        [out, back].into_iter().find(|value| fits(*value) && moved(*value)).unwrap_or(x)
    }

    fn breaks(&self, x: f64, v: f64) -> Option<&'static str> {
        let (low, high) = self.limits(x);
        let slack = 1e-9 * self.step.unwrap_or(0.0);
        let off = |step: f64| (v / step - (v / step).round()).abs() > 1e-6;
        match () {
            () if v == x => None,
            () if !v.is_finite() => Some("is no number"),
            () if !self.mutable => Some("may not change"),
            () if v < low - slack || v > high + slack => Some("is out of bounds"),
            () if self.step.is_some_and(off) => Some("is between two steps"),
            () => None,
        }
    }
}

impl Category {
    fn of_feature(feature: &Feature, names: &[String]) -> Result<Self> {
        let find = |name: &String| names.iter().position(|known| known == name);
        let n = feature.categories.len();
        let columns: Vec<usize> = feature.column_names().iter().filter_map(find).collect();
        let options = match feature.coding() {
            Coding::Onehot => {
                let hot = |o: usize| (0..n).map(|k| f64::from(u8::from(k == o))).collect();
                (0..n).map(hot).collect()
            }
            Coding::Binary | Coding::Ordinal => (0..n).map(|o| vec![o as f64]).collect(),
        };
        let options: Vec<Vec<f64>> = options;
        if options.first().is_none_or(|first| first.len() != columns.len()) {
            bail!("the columns of '{}' are not those of its categories", feature.name);
        }
        let may = |from: usize, to: usize| {
            let listed = feature.transitions.get(&feature.categories[from]);
            let listed = listed.is_none_or(|to_be| to_be.contains(&feature.categories[to]));
            let ordered = match feature.direction {
                Direction::Any => true,
                Direction::Increase => to > from,
                Direction::Decrease => to < from,
            };
            from == to || (listed && ordered)
        };
        let allowed = (0..n).map(|from| (0..n).map(|to| may(from, to)).collect()).collect();
        Ok(Self { columns, options, mutable: feature.mutable, allowed, cost: Vec::new() })
    }

    /// The option that a row has.
    pub(super) fn option_of(&self, row: &[f64]) -> Option<usize> {
        let has = |values: &Vec<f64>| self.columns.iter().zip(values).all(|(&c, v)| row[c] == *v);
        self.options.iter().position(has)
    }

    pub(super) fn set(&self, option: usize, row: &mut [f64]) {
        self.columns.iter().zip(&self.options[option]).for_each(|(&c, v)| row[c] = *v);
    }

    /// The other options of somebody who has `from`.
    pub(super) fn others(&self, from: usize) -> impl Iterator<Item = usize> {
        let open = move |to: &usize| *to != from && self.mutable && self.allowed[from][*to];
        (0..self.options.len()).filter(open)
    }

    pub(super) fn cost(&self, from: usize, to: usize) -> f64 {
        self.cost[from][to]
    }
}

impl Problem {
    /// Columns that are free numbers, all of them missed by `sigma`.
    pub(super) fn free(model: Arc<dyn Model>, sigma: f64, bounds: Option<(f64, f64)>) -> Self {
        let bounds = bounds.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let n_columns = model.n_features();
        let numbers = (0..n_columns).map(|j| Number::free(j, sigma, bounds)).collect();
        Self { model, numbers, categories: Vec::new(), raw_input: false, n_columns }
    }

    /// The features of a schema. What a change of category costs is the engine's to say.
    pub(super) fn of_schema(
        model: Arc<dyn Model>,
        schema: &Schema,
        names: &[String],
        (sigma, cost): (f64, &Cost),
    ) -> Result<Self> {
        let (mut numbers, mut categories) = (Vec::new(), Vec::new());
        for feature in &schema.features {
            if feature.kind == Kind::Categorical {
                let mut category = Category::of_feature(feature, names)?;
                let group = Group::of_options(category.columns.clone(), category.options.clone());
                let n = category.options.len();
                let of = |from: usize| {
                    (0..n).map(|to| cost.norm().finish(cost.of_choice(&group, from, to))).collect()
                };
                category.cost = (0..n).map(of).collect();
                categories.push(category);
            } else {
                let column = names.iter().position(|name| *name == feature.name);
                let column = column.with_context(|| format!("no column '{}'", feature.name))?;
                numbers.push(Number::of_feature(column, feature, sigma));
            }
        }
        let raw_input = schema.model_input == Some(ModelInput::Raw);
        Ok(Self { model, numbers, categories, raw_input, n_columns: names.len() })
    }

    pub(super) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Columns that people miss.
    pub(super) fn noisy(&self) -> impl Iterator<Item = &Number> {
        self.numbers.iter().filter(|number| number.is_noisy())
    }

    /// The l1 cost of a move.
    pub(super) fn cost(&self, from: &[f64], to: &[f64]) -> f64 {
        let numbers = self.numbers.iter().map(|n| n.cost(from[n.column], to[n.column]));
        let of_category =
            |category: &Category| match (category.option_of(from), category.option_of(to)) {
                (Some(a), Some(b)) if a == b => 0.0,
                (Some(a), Some(b)) => category.cost(a, b),
                _ => f64::INFINITY,
            };
        numbers.sum::<f64>() + self.categories.iter().map(of_category).sum::<f64>()
    }

    /// The first rule that a move breaks.
    pub(super) fn broken(&self, from: &[f64], to: &[f64]) -> Option<String> {
        for number in &self.numbers {
            let j = number.column;
            if let Some(why) = number.breaks(from[j], to[j]) {
                return Some(format!("column {j} {why}: {} to {}", from[j], to[j]));
            }
        }
        for category in &self.categories {
            let j = category.columns[0];
            match (category.option_of(from), category.option_of(to)) {
                (Some(a), Some(b)) if a == b || category.others(a).any(|o| o == b) => {}
                (Some(_), Some(_)) => return Some(format!("category at column {j} may not do so")),
                _ => return Some(format!("columns from {j} on are no category")),
            }
        }
        None
    }

    /// What the model is given for a row; `errors` are standard normals, one per noisy column.
    pub(super) fn input_into(&self, row: &[f64], errors: Option<&[f64]>, out: &mut [f64]) {
        out.copy_from_slice(row);
        let mut errors = errors.map(|errors| errors.iter());
        for number in &self.numbers {
            let error = match (&mut errors, number.is_noisy()) {
                (Some(errors), true) => errors.next().map_or(0.0, |z| z * number.sd),
                _ => 0.0,
            };
            let j = number.column;
            out[j] = if self.raw_input {
                row[j] + number.width * error
            } else {
                (row[j] - number.offset) / number.width + error
            };
        }
    }

    /// A value of a number as the model is given it.
    pub(super) fn input(&self, number: &Number, raw: f64) -> f64 {
        if self.raw_input { raw } else { (raw - number.offset) / number.width }
    }

    /// Standard deviation of how far people miss a number, in units of the model's input.
    pub(super) fn input_sd(&self, number: &Number) -> f64 {
        if self.raw_input { number.raw_sd() } else { number.sd }
    }

    /// The score of a row that is carried out exactly.
    pub(super) fn score(&self, row: &[f64]) -> Result<f64> {
        let mut input = vec![0.0; row.len()];
        self.input_into(row, None, &mut input);
        Ok(self.model.score(&input)?)
    }

    /// Names the problem in stored results: rules, noise, and what the model says of some rows.
    pub(super) fn key(&self, rows: &[Vec<f64>]) -> Result<u64> {
        let mut key = Key::default().word(u64::from(self.raw_input));
        for number in &self.numbers {
            let Number { column, low, high, step, mutable, direction, .. } = number;
            key = key.word(*column as u64).word(u64::from(*mutable)).word(*direction as u64);
            key = key.values(&[*low, *high, step.unwrap_or(0.0), number.up, number.down]);
            key = key.values(&[number.offset, number.width, number.sd]);
        }
        for category in &self.categories {
            key = key.word(u64::from(category.mutable)).values(&category.cost.concat());
            key = category.allowed.concat().iter().fold(key, |key, a| key.word(u64::from(*a)));
        }
        for row in rows.iter().take(500) {
            key = key.values(row).values(&[self.score(row)?]);
        }
        Ok(key.finish())
    }
}
