//! Relations between features: sums and inequalities, features that change together, and features
//! that may not change under a condition.
//!
//! A [`Relation`] of a schema is about features in raw units. A [`Tie`] is the same for columns in
//! scaled space.

use super::actions::Actions;
use super::encoding::Encoding;
use super::feature::{Feature, Kind};
use crate::error::{Error, Result, require};
use serde::{Deserialize, Serialize};

/// A relation between features of a schema: a `rule`, or features that change `together`, or
/// features that are `fixed` under a condition.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Relation {
    /// `a <= b`, `total = a + b`, `2 * a <= b + 10`: sums of numbers, with spaces around the signs.
    /// If the person satisfies it, so does the answer; otherwise the answer must not violate it
    /// further.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Features whose changes have a fixed ratio.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
    /// The ratio, in raw units; 1 to 1 unless given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ratio: Vec<f64>,
    /// A condition on the answer: `job = none`, `job != none`, `hours <= 20`, `hours >= 20`.
    #[serde(rename = "if", skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Features that may not change if the condition holds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<String>,
}

/// A relation between columns, in scaled space.
#[derive(Debug, Clone, PartialEq)]
pub enum Tie {
    /// A weighted sum of columns is at most `limit` or, if the person's own sum is larger, at most
    /// that. With `equal`, the sum keeps the person's value.
    Sum {
        /// Columns and weights.
        terms: Vec<(usize, f64)>,
        /// Upper bound of the sum.
        limit: f64,
        /// Whether the sum may not change at all.
        equal: bool,
    },
    /// Columns that may not change if a condition holds for the answer.
    Fixed {
        /// The condition.
        when: Condition,
        /// The columns.
        columns: Vec<usize>,
    },
}

/// A condition on an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// A group has an option, or does not have it.
    Option {
        /// The group.
        group: usize,
        /// The option.
        option: usize,
        /// True if the group must have the option, false if it must not.
        has: bool,
    },
    /// A column is at most this.
    AtMost(usize, f64),
    /// A column is at least this.
    AtLeast(usize, f64),
}

impl Condition {
    /// Whether the condition holds for `row`.
    pub fn holds(&self, actions: &Actions, row: &[f64]) -> bool {
        match *self {
            Self::Option { group, option, has } => {
                (actions.groups()[group].option_of(row) == Some(option)) == has
            }
            Self::AtMost(column, value) => row[column] <= value,
            Self::AtLeast(column, value) => row[column] >= value,
        }
    }
}

impl Tie {
    /// Bound on the rounding error of the sum for these values.
    fn rounding(terms: &[(usize, f64)], from: &[f64], to: &[f64]) -> f64 {
        1e-9 * (1.0
            + terms.iter().map(|&(c, k)| k.abs() * (from[c].abs() + to[c].abs())).sum::<f64>())
    }

    /// Whether a change from `from` to `to` keeps the relation.
    pub fn is_kept(&self, actions: &Actions, from: &[f64], to: &[f64]) -> bool {
        match self {
            Self::Sum { terms, equal, .. } => {
                let near = Self::rounding(terms, from, to);
                // A missing value does not change.
                let known = terms.iter().filter(|(c, _)| !(from[*c].is_nan() && to[*c].is_nan()));
                let moved: f64 = known.map(|&(c, k)| k * (to[c] - from[c])).sum();
                moved <= self.room(from).unwrap_or(0.0) + near && (!equal || moved >= -near)
            }
            Self::Fixed { when, columns } => {
                columns.iter().all(|&c| from[c] == to[c]) || !when.holds(actions, to)
            }
        }
    }

    /// How much a sum may still grow from the person's value; `None` for other relations.
    pub fn room(&self, from: &[f64]) -> Option<f64> {
        match self {
            Self::Sum { equal: true, .. } => Some(0.0),
            Self::Sum { terms, limit, .. } => {
                Some((limit - terms.iter().map(|&(c, k)| k * from[c]).sum::<f64>()).max(0.0))
            }
            Self::Fixed { .. } => None,
        }
    }

    /// The same relation if only some groups are `kept`, which get new numbers. `None` if its
    /// condition refers to a `missing` value.
    pub(super) fn with_groups(self, kept: &[bool], missing: &[bool]) -> Option<Self> {
        let Self::Fixed { when, columns } = self else { return Some(self) };
        let when = match when {
            Condition::Option { group, option, has } => {
                let before = kept[..group].iter().filter(|kept| **kept).count();
                kept[group].then_some(Condition::Option { group: before, option, has })?
            }
            Condition::AtMost(c, _) | Condition::AtLeast(c, _) if missing[c] => return None,
            other => other,
        };
        Some(Self::Fixed { when, columns })
    }

    /// The columns that it restricts.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            Self::Sum { terms, .. } => terms.iter().map(|(c, _)| *c).collect(),
            Self::Fixed { columns, .. } => columns.clone(),
        }
    }
}

/// A sum of features with a constant, in raw units.
#[derive(Debug, Clone, PartialEq, Default)]
struct Sum {
    terms: Vec<(String, f64)>,
    constant: f64,
}

impl Sum {
    /// Parses `text` and adds it, multiplied by `times`.
    fn add(&mut self, text: &str, times: f64, fault: &dyn Fn(&str) -> Error) -> Result<()> {
        let mut sign = times;
        let mut words: Vec<&str> = Vec::new();
        let mut terms = Vec::new();
        for word in text.split_whitespace() {
            match word {
                "+" | "-" if !words.is_empty() => {
                    terms.push((sign, std::mem::take(&mut words)));
                    sign = if word == "-" { -times } else { times };
                }
                _ => words.push(word),
            }
        }
        terms.push((sign, words));
        for (sign, words) in terms {
            if words.is_empty() {
                return Err(fault("a feature or a number is missing"));
            }
            let number = |word: &str| word.parse::<f64>().ok().filter(|k| k.is_finite());
            match (&words[..], number(words[0])) {
                ([_], Some(value)) => self.constant += sign * value,
                ([_, "*", name @ ..], Some(factor)) if !name.is_empty() => {
                    self.terms.push((name.join(" "), sign * factor));
                }
                _ => self.terms.push((words.join(" "), sign)),
            }
        }
        Ok(())
    }
}

/// A rule: a sum that must be at most 0 or, with `equal`, exactly 0.
struct Rule {
    sum: Sum,
    equal: bool,
}

impl Relation {
    /// The relation as text, for messages.
    pub fn text(&self) -> String {
        if let Some(rule) = &self.rule {
            return rule.clone();
        }
        match &self.when {
            Some(when) => format!("if {when}, fixed: {}", self.fixed.join(", ")),
            None if self.ratio.is_empty() => format!("together: {}", self.together.join(", ")),
            None => {
                format!("together: {}, in the ratio {:?}", self.together.join(", "), self.ratio)
            }
        }
    }

    fn fault(&self, why: &str) -> Error {
        Error::Unsupported { what: format!("relation '{}'", self.text()), why: why.to_owned() }
    }

    fn parse_rule(&self, text: &str) -> Result<Rule> {
        let fault = |why: &str| self.fault(why);
        let signs: Vec<&str> =
            text.split_whitespace().filter(|w| matches!(*w, "<=" | ">=" | "=")).collect();
        let [sign] = signs[..] else {
            return Err(fault("it needs one of <=, >= and =, with spaces around it"));
        };
        let (left, right) = text.split_once(&format!(" {sign} ")).unwrap_or((text, ""));
        let times = if sign == ">=" { -1.0 } else { 1.0 };
        let mut sum = Sum::default();
        sum.add(left, times, &fault)?;
        sum.add(right, -times, &fault)?;
        Ok(Rule { sum, equal: sign == "=" })
    }

    /// Fails unless exactly one kind of relation is given and its features exist.
    pub(super) fn check(&self, features: &[Feature]) -> Result<()> {
        let kinds = [self.rule.is_some(), !self.together.is_empty(), self.when.is_some()];
        let fixed = self.when.is_some() != self.fixed.is_empty();
        if kinds.iter().filter(|given| **given).count() != 1 || !fixed {
            return Err(self.fault(
                "give a rule, or two or more features that move together, or if with fixed",
            ));
        }
        let number = |name: &str| match features.iter().find(|f| f.name == name) {
            Some(feature) if feature.kind != Kind::Categorical => Ok(()),
            Some(_) => Err(self.fault(&format!("'{name}' is a category, not a number"))),
            None => Err(self.unknown(name, features)),
        };
        if let Some(rule) = &self.rule {
            let sum = self.parse_rule(rule)?.sum;
            if sum.terms.is_empty() {
                return Err(self.fault("it names no feature"));
            }
            sum.terms.iter().try_for_each(|(name, _)| number(name))?;
        }
        if !self.together.is_empty() {
            if self.together.len() < 2
                || !(self.ratio.is_empty() || self.ratio.len() == self.together.len())
            {
                return Err(
                    self.fault("it needs two or more features, and a ratio for each or none")
                );
            }
            if (1..self.together.len()).any(|i| self.together[..i].contains(&self.together[i])) {
                return Err(self.fault("a feature is given twice"));
            }
            for (name, ratio) in self.together.iter().zip(&self.ratio) {
                let field = format!("relation '{}': ratio of '{name}'", self.text());
                require(*ratio != 0.0 && ratio.is_finite(), &field, "finite and not 0", *ratio)?;
            }
            self.together.iter().try_for_each(|name| number(name))?;
        }
        for name in &self.fixed {
            if features.iter().all(|f| f.name != *name) {
                return Err(self.unknown(name, features));
            }
        }
        if let Some(when) = &self.when {
            let (name, sign, value) = self.parse_condition(when)?;
            let feature = features.iter().find(|f| f.name == name);
            let feature = feature.ok_or_else(|| self.unknown(&name, features))?;
            self.check_condition(feature, &sign, &value)?;
        }
        Ok(())
    }

    fn unknown(&self, name: &str, features: &[Feature]) -> Error {
        let known: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
        let hint =
            if name.contains(['*', '+', '-']) { "; signs need spaces around them" } else { "" };
        self.fault(&format!("there is no feature '{name}' (there are: {}){hint}", known.join(", ")))
    }

    /// Feature, sign and value of a condition.
    fn parse_condition(&self, when: &str) -> Result<(String, String, String)> {
        for sign in ["!=", "<=", ">=", "="] {
            if let Some((name, value)) = when.split_once(&format!(" {sign} ")) {
                return Ok((name.trim().to_owned(), sign.to_owned(), value.trim().to_owned()));
            }
        }
        Err(self.fault("the condition needs one of =, !=, <= and >=, with spaces around it"))
    }

    fn check_condition(&self, feature: &Feature, sign: &str, value: &str) -> Result<()> {
        let category = feature.kind == Kind::Categorical;
        match (category, sign) {
            (true, "=" | "!=") if feature.option(value).is_some() => Ok(()),
            (true, "=" | "!=") => Err(self.fault(&format!(
                "'{}' has the categories {}",
                feature.name,
                feature.categories.join(", ")
            ))),
            (true, _) => Err(self.fault(&format!("'{}' is a category: use = or !=", feature.name))),
            (false, "<=" | ">=") => match value.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(()),
                _ => Err(self.fault(&format!("'{value}' is not a number"))),
            },
            (false, _) => Err(self.fault(&format!("'{}' is a number: use <= or >=", feature.name))),
        }
    }

    /// The relation between the columns of `encoding`, in scaled space. Fails if the model lacks a
    /// feature.
    pub(super) fn ties(&self, encoding: &Encoding) -> Result<Vec<Tie>> {
        let place = |name: &str| {
            let known = encoding.features().iter().position(|f| f.name == name);
            known.ok_or_else(|| self.fault(&format!("the model has no feature '{name}'")))
        };
        let scale = |k: usize| encoding.features()[k].offset_and_width().unwrap_or((0.0, 1.0));
        let sum = |sum: &Sum, equal: bool| -> Result<Tie> {
            let (mut terms, mut limit) = (Vec::new(), -sum.constant);
            for (name, factor) in &sum.terms {
                let k = place(name)?;
                let (offset, width) = scale(k);
                let column = encoding.column_of(k);
                match terms.iter_mut().find(|(known, _): &&mut (usize, f64)| *known == column) {
                    Some((_, weight)) => *weight += factor * width,
                    None => terms.push((column, factor * width)),
                }
                limit -= factor * offset;
            }
            terms.retain(|(_, weight)| *weight != 0.0);
            if let Some((column, _)) = terms.iter().find(|(_, weight)| weight.abs() > 1e100) {
                let what = format!(
                    "a factor of '{}' is too large",
                    encoding.columns().features[*column].name
                );
                return Err(self.fault(&what));
            }
            Ok(Tie::Sum { terms, limit, equal })
        };
        if let Some(rule) = &self.rule {
            let rule = self.parse_rule(rule)?;
            return Ok(vec![sum(&rule.sum, rule.equal)?]);
        }
        if let Some(first) = self.together.first() {
            let ratio = |i: usize| self.ratio.get(i).copied().unwrap_or(1.0);
            let pair = |i: usize| {
                let terms = vec![
                    (first.clone(), 1.0 / ratio(0)),
                    (self.together[i].clone(), -1.0 / ratio(i)),
                ];
                sum(&Sum { terms, constant: 0.0 }, true)
            };
            return (1..self.together.len()).map(pair).collect();
        }
        let (name, sign, value) = self.parse_condition(self.when.as_deref().unwrap_or_default())?;
        let k = place(&name)?;
        let feature = &encoding.features()[k];
        let column = encoding.column_of(k);
        let number = || {
            let (offset, width) = scale(k);
            (value.parse::<f64>().unwrap_or(f64::NAN) - offset) / width
        };
        let when = match sign.as_str() {
            "<=" => Condition::AtMost(column, number()),
            ">=" => Condition::AtLeast(column, number()),
            sign => Condition::Option {
                group: (0..k).filter(|&earlier| encoding.is_category(earlier)).count(),
                option: feature.option(&value).unwrap_or(usize::MAX),
                has: sign == "=",
            },
        };
        let fixed = self.fixed.iter().map(|name| place(name)).collect::<Result<Vec<usize>>>()?;
        let columns = (0..encoding.n_columns())
            .filter(|&j| fixed.contains(&encoding.feature_of(j)))
            .collect();
        Ok(vec![Tie::Fixed { when, columns }])
    }
}

#[cfg(test)]
mod tests;
