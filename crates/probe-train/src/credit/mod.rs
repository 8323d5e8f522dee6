//! The built-in data set: applicants for a consumer loan and whether they were approved.
//!
//! The people are invented, so there are no licence or privacy restrictions. The numbers are
//! plausible for a euro country. Two hidden traits correlate the columns: *affluence* (people
//! who earn much also save much) and *prudence* (people who pay late also use up their card, apply
//! often and save little). Both are standard normal and independent.
//!
//! | feature | unit | range | distribution | approval, if it rises |
//! |---|---|---|---|---|
//! | `age` | years | 20–75 | normal around 42, sd 13, truncated | rises |
//! | `income` | EUR a year | 12,000–100,000 | log-normal, median 33,000, peak at age 50 | rises |
//! | `savings` | EUR | 0–60,000 | a quarter have none, others log-normal around 6,000 | rises |
//! | `debt` | EUR | 0–40,000 | a quarter have none, others log-normal around 9,000 | falls |
//! | `housing_cost` | EUR a month | 250–2,000 | log-normal around 750, more with income | falls |
//! | `card_utilisation` | % of the card limit | 0–100 | logistic-normal, median 30; whole | falls |
//! | `late_payments` | in 24 months | 0–10 | Poisson, half have none | falls |
//! | `credit_applications` | in 12 months | 0–8 | Poisson around 1 | falls |
//! | `open_accounts` | number | 1–12 | one and a Poisson number, together around 3.5 | falls |
//! | `months_employed` | months | 0–360 | a skewed share of adult life, median 60 | rises |
//! | `credit_history_years` | years | 0–57 | a third to nearly all of adult life | rises |
//! | `housing` | | | owners are older and earn more; about a third own | see below |
//! | `employment` | | | depends on `months_employed`; six in ten are permanent | see below |
//! | `education` | `school`, `vocational`, `degree` | | in this order; more with income | rises |
//! | `purpose` | of the loan | | independent | see below |
//!
//! Income, savings and debt are multiples of 100, housing cost of 10. Debt does not include
//! mortgages. Categories, in the order of approval: housing `rented`, `with family`, `owned`;
//! employment `none`, `temporary`, `self-employed`, `permanent`; purpose `car`, `home`, `holiday`,
//! `business`, with most approvals for `home` and fewest for `holiday`.
//!
//! Values beyond a range are clipped. A row holds the number of a category. Correlations:
//! savings, housing cost and debt rise with income. Where prudence is low, savings are low, and
//! debt, card use, late payments and applications are high. Time with the employer and credit
//! history grow with age.
//!
//! `approved` is `yes` for about two thirds. It is drawn with a probability that is monotone in
//! every feature but not linear: logarithms of money, debt and housing cost as shares of income,
//! card use mostly above 30 %, the first late payment more than the fifth (see
//! [`approval_log_odds`]). A logistic regression on the columns as they are has an AUC of 0.88
//! (0.84 to 0.90 when judged on a test part of only 1,000 rows). With 2,000 rows or more each of
//! its weights has the sign of the last column, in every seed tried, so that nobody is told to take
//! on debt.

mod person;
mod rule;

pub use rule::approval_log_odds;

use crate::error::Result;
use crate::fit::Labelled;
use probe_core::schema::Kind;
use probe_core::{Coding, Direction, Feature, Purpose, Rows, Schema, Seed};
use std::collections::BTreeMap;

/// Name of the target.
pub const TARGET: &str = "approved";
/// The target's favourable value.
pub const FAVOURABLE: &str = "yes";
/// The target's other value.
pub const UNFAVOURABLE: &str = "no";
/// Number of features.
pub const N_FEATURES: usize = 15;
/// Names of the features, in order.
pub const FEATURES: [&str; N_FEATURES] = [
    "age",
    "income",
    "savings",
    "debt",
    "housing_cost",
    "card_utilisation",
    "late_payments",
    "credit_applications",
    "open_accounts",
    "months_employed",
    "credit_history_years",
    "housing",
    "employment",
    "education",
    "purpose",
];
/// Number of features that are numbers; categories follow.
const N_NUMBERS: usize = 11;
/// Names of the categories, feature by feature.
const CATEGORIES: [&[&str]; N_FEATURES - N_NUMBERS] = [
    &["rented", "owned", "with family"],
    &["none", "temporary", "permanent", "self-employed"],
    &["school", "vocational", "degree"],
    &["car", "home", "holiday", "business"],
];
/// A usual number of rows: enough that every weight of a fitted model has its documented sign.
pub const DEFAULT_ROWS: usize = 5_000;

/// Applicants and decisions.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CreditData {
    /// [`FEATURES`], as needed for training.
    pub names: Vec<String>,
    /// Row-major, [`N_FEATURES`] numbers a person, raw units.
    pub rows: Vec<f64>,
    /// Whether each was approved.
    pub approved: Vec<bool>,
}

impl CreditData {
    /// Number of people.
    pub fn n_rows(&self) -> usize {
        self.approved.len()
    }

    /// One person's features; panics beyond the last row, as slices do.
    pub fn person(&self, row: usize) -> &[f64] {
        &self.rows[row * N_FEATURES..(row + 1) * N_FEATURES]
    }

    /// The name of a category in one person's feature `k`; `None` where that is a number.
    pub fn category(&self, row: usize, k: usize) -> Option<&'static str> {
        let names = CATEGORIES.get(k.checked_sub(N_NUMBERS)?)?;
        // Rows hold whole numbers here.
        names.get(self.person(row)[k] as usize).copied()
    }

    /// One person's target, as in a file: `yes` or `no`.
    pub fn approved_text(&self, row: usize) -> &'static str {
        if self.approved[row] { FAVOURABLE } else { UNFAVOURABLE }
    }

    /// The data as [`fit_model`](crate::fit_model) takes it. Fails only if `rows` was changed to
    /// something uneven.
    pub fn labelled(&self) -> Result<Labelled<'_>> {
        Ok(Labelled {
            names: &self.names,
            rows: Rows::new(&self.rows, self.names.len())?,
            favourable: &self.approved,
            target: TARGET,
            favourable_value: FAVOURABLE,
        })
    }
}

/// Draws `n` people. The same seed gives the same people to the bit, and the first ones are the
/// same for every `n`.
///
/// ```
/// use probe_core::Seed;
/// use probe_train::credit;
/// let data = credit::generate(100, Seed(7));
/// assert_eq!(data.person(12), credit::generate(13, Seed(7)).person(12));
/// ```
pub fn generate(n: usize, seed: Seed) -> CreditData {
    let mut stream = seed.stream(Purpose::Data, 0);
    let mut choices = seed.stream(Purpose::Data, 1);
    let mut rows = Vec::with_capacity(n * N_FEATURES);
    let mut approved = Vec::with_capacity(n);
    for _ in 0..n {
        let person = person::draw(&mut stream, &mut choices);
        let probability = 1.0 / (1.0 + libm::exp(-approval_log_odds(&person)));
        approved.push(stream.uniform() < probability);
        rows.extend(person);
    }
    CreditData { names: FEATURES.map(str::to_owned).to_vec(), rows, approved }
}

/// What the columns mean and what an applicant can do about them.
///
/// Age, the length of the credit history and the purpose of the loan are not up to the applicant.
/// Everything else moves in the direction that helps: income, savings and time with the employer
/// up, the other numbers down; a home may become one's own, work permanent, and education only
/// more. People are told whole hundreds of euros, whole tens of housing cost, and whole numbers of
/// anything else. Costs are per unit of scaled change, that is for crossing the whole range: paying
/// off debt is the yardstick (1), a late payment is forgotten only after two years (3), earning
/// more is hardest (4). Scales and upper bounds are left to training.
pub fn schema() -> Schema {
    use Direction::{Decrease, Increase};
    let fixed = |name: &str, unit: &str| Feature {
        kind: Kind::Integer,
        mutable: false,
        unit: Some(unit.to_owned()),
        ..Feature::numeric(name)
    };
    let free = |name: &str, unit: &str, min: f64, direction: Direction, cost: f64| Feature {
        unit: Some(unit.to_owned()),
        min: Some(min),
        direction,
        cost,
        ..Feature::numeric(name)
    };
    let stepped = |step: f64, feature: Feature| Feature { step: Some(step), ..feature };
    let whole = |feature: Feature| Feature { kind: Kind::Integer, ..feature };
    let choice = |k: usize| Feature {
        kind: Kind::Categorical,
        categories: CATEGORIES[k].iter().map(|name| (*name).to_owned()).collect(),
        ..Feature::numeric(FEATURES[N_NUMBERS + k])
    };
    let becomes = |pairs: &[(&str, &[&str])]| -> BTreeMap<String, Vec<String>> {
        let names = |to: &[&str]| to.iter().map(|name| (*name).to_owned()).collect();
        pairs.iter().map(|(from, to)| ((*from).to_owned(), names(to))).collect()
    };
    let work: &[(&str, &[&str])] = &[
        ("none", &["temporary", "permanent"]),
        ("temporary", &["permanent"]),
        ("permanent", &[]),
        ("self-employed", &["permanent"]),
    ];
    let homes: &[(&str, &[&str])] =
        &[("rented", &["owned"]), ("owned", &[]), ("with family", &["owned"])];
    Schema {
        target: Some(TARGET.to_owned()),
        favourable: Some(FAVOURABLE.to_owned()),
        ..Schema::new(vec![
            fixed("age", "years"),
            stepped(100.0, free("income", "EUR a year", 12_000.0, Increase, 4.0)),
            stepped(100.0, free("savings", "EUR", 0.0, Increase, 2.0)),
            stepped(100.0, free("debt", "EUR", 0.0, Decrease, 1.0)),
            stepped(10.0, free("housing_cost", "EUR a month", 250.0, Decrease, 1.2)),
            whole(free("card_utilisation", "% of the card limit", 0.0, Decrease, 1.0)),
            whole(free("late_payments", "in 24 months", 0.0, Decrease, 3.0)),
            whole(free("credit_applications", "in 12 months", 0.0, Decrease, 1.5)),
            whole(free("open_accounts", "accounts", 1.0, Decrease, 1.0)),
            whole(free("months_employed", "months", 0.0, Increase, 2.0)),
            fixed("credit_history_years", "years"),
            Feature { transitions: becomes(homes), cost: 0.4, ..choice(0) },
            Feature { transitions: becomes(work), cost: 0.08, ..choice(1) },
            Feature {
                encoding: Some(Coding::Ordinal),
                direction: Increase,
                cost: 0.3,
                ..choice(2)
            },
            Feature { mutable: false, ..choice(3) },
        ])
    }
}

/// A person's columns, raw and scaled.
#[cfg(test)]
pub(crate) fn columns_of(schema: &Schema, person: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let encoding = probe_core::Encoding::new(schema, &schema.column_names()).unwrap();
    let (mut raw, mut scaled) = (vec![0.0; encoding.n_columns()], vec![0.0; encoding.n_columns()]);
    encoding.encode_into(person, &mut raw);
    encoding.columns().space().scale_into(&raw, &mut scaled);
    (raw, scaled)
}

#[cfg(test)]
mod tests;
