//! Who is approved: a rule that is monotone in every feature, but not linear.

use super::N_FEATURES;

/// How sharply the decision follows the rule: the larger, the less of it is chance.
const SHARPNESS: f64 = 1.25;
/// Sets the share that is approved.
const LEVEL: f64 = 1.5;
/// What each choice is worth, in the order of the categories.
const HOUSING: [f64; 3] = [0.0, 0.4, 0.1];
const EMPLOYMENT: [f64; 4] = [-0.9, -0.35, 0.2, 0.0];
const PURPOSE: [f64; 4] = [0.0, 0.2, -0.3, -0.1];
/// What each step of education is worth.
const EDUCATION: f64 = 0.2;

/// The log-odds of approval that the data set is drawn with, for a person's raw features in the
/// order of [`FEATURES`](super::FEATURES).
///
/// It is 1.25 times the sum of 1.5 + 0.8 ln(`income` / 34,000) + 0.3 ln(1 + `savings` / 1,000) −
/// 0.3 ln(1 + `debt` / 2,000) − 1.5 `debt` / `income` − 4 · 12 `housing_cost` / `income` − 0.006
/// `card_utilisation` − 0.02 max(`card_utilisation` − 30, 0) − 0.9 ln(1 + `late_payments`) − 0.5
/// ln(1 + `credit_applications`) − 0.15 `open_accounts` + 0.35 ln(1 + `months_employed` / 12) plus
/// 0.04 min(`credit_history_years`, 25) + 0.02 min(`age`, 60) + 0.2 `education`, and what the other
/// choices are worth: 0, 0.4 and 0.1 for `housing`, −0.9, −0.35, 0.2 and 0 for `employment`, and 0,
/// 0.2, −0.3 and −0.1 for `purpose`.
pub fn approval_log_odds(person: &[f64; N_FEATURES]) -> f64 {
    let [
        age,
        income,
        savings,
        debt,
        housing_cost,
        utilisation,
        late,
        applications,
        accounts,
        employed,
        history,
        ..,
    ] = *person;
    let [.., housing, employment, education, purpose] = *person;
    let worth = |of: &[f64], choice: f64| of.get(choice as usize).copied().unwrap_or(0.0);
    let ln = libm::log;
    let score = LEVEL + 0.8 * ln(income / 34_000.0) + 0.3 * ln(1.0 + savings / 1_000.0)
        - 0.3 * ln(1.0 + debt / 2_000.0)
        - 1.5 * (debt / income)
        - 4.0 * (12.0 * housing_cost / income)
        - 0.006 * utilisation
        - 0.02 * (utilisation - 30.0).max(0.0)
        - 0.9 * ln(1.0 + late)
        - 0.5 * ln(1.0 + applications)
        - 0.15 * accounts
        + 0.35 * ln(1.0 + employed / 12.0)
        + 0.04 * history.min(25.0)
        + 0.02 * age.min(60.0)
        + worth(&HOUSING, housing)
        + worth(&EMPLOYMENT, employment)
        + EDUCATION * education
        + worth(&PURPOSE, purpose);
    SHARPNESS * score
}
