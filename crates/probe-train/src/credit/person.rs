//! One applicant, drawn column by column from the hidden traits.

use super::N_FEATURES;
use probe_core::Stream;

/// Draws one person's features, in the order of [`super::FEATURES`]: numbers by one stream, choices
/// by another.
pub(super) fn draw(stream: &mut Stream, choices: &mut Stream) -> [f64; N_FEATURES] {
    let affluence = stream.normal();
    let prudence = stream.normal();
    let age = age(stream);
    let income = income(stream, age, affluence);
    let savings = savings(stream, age, affluence, prudence);
    let debt = debt(stream, income, prudence);
    let housing_cost = housing_cost(stream, income);
    // The median person uses 30 % of the limit.
    let use_odds = libm::exp(-0.85 - 0.75 * prudence - 0.2 * affluence + 0.8 * stream.normal());
    let card_utilisation = (100.0 * use_odds / (1.0 + use_odds)).round();
    let late_payments = poisson(stream, libm::exp(-0.5 - 0.7 * prudence)).min(10.0);
    let credit_applications = poisson(stream, libm::exp(-0.1 - 0.4 * prudence)).min(8.0);
    let open_accounts =
        1.0 + poisson(stream, libm::exp(0.9 + 0.008 * (age - 42.0) + 0.15 * affluence)).min(11.0);
    let adult_years = age - 18.0;
    let tenure = libm::pow(stream.uniform(), 2.0);
    let months_employed = (12.0 * adult_years * tenure).round().min(360.0);
    let credit_history_years = (adult_years * (0.3 + 0.65 * stream.uniform())).round();
    [
        age,
        income,
        savings,
        debt,
        housing_cost,
        card_utilisation,
        late_payments,
        credit_applications,
        open_accounts,
        months_employed,
        credit_history_years,
        housing(choices, age, income),
        employment(choices, months_employed),
        education(choices, income),
        pick(choices, &[0.35, 0.65, 0.85]),
    ]
}

/// The number of the option that a uniform number falls into, by the ends of all but the last.
fn pick(choices: &mut Stream, ends: &[f64]) -> f64 {
    let u = choices.uniform();
    ends.iter().filter(|end| u >= **end).count() as f64
}

fn housing(choices: &mut Stream, age: f64, income: f64) -> f64 {
    let owned = logistic(-0.8 + 0.05 * (age - 42.0) + 1.2 * libm::log(income / 34_000.0));
    let family = (1.0 - owned) * if age < 30.0 { 0.35 } else { 0.1 };
    pick(choices, &[1.0 - owned - family, 1.0 - family])
}

fn employment(choices: &mut Stream, months: f64) -> f64 {
    if months < 3.0 {
        pick(choices, &[0.5, 0.85])
    } else if months < 24.0 {
        pick(choices, &[0.0, 0.4, 0.85])
    } else {
        pick(choices, &[0.0, 0.1, 0.85])
    }
}

fn education(choices: &mut Stream, income: f64) -> f64 {
    let degree = logistic(-1.1 + 1.5 * libm::log(income / 34_000.0));
    pick(choices, &[0.45 * (1.0 - degree), 1.0 - degree])
}

/// Truncated normal, by drawing again.
fn age(stream: &mut Stream) -> f64 {
    loop {
        let age = (42.0 + 13.0 * stream.normal()).round();
        if (20.0..=75.0).contains(&age) {
            return age;
        }
    }
}

fn income(stream: &mut Stream, age: f64, affluence: f64) -> f64 {
    // 0 at age 50, −0.36 at age 20 and −0.25 at age 75.
    let career = -0.0004 * (age - 50.0) * (age - 50.0);
    let log = libm::log(36_000.0) + career + 0.36 * affluence + 0.25 * stream.normal();
    to_nearest(libm::exp(log).clamp(12_000.0, 100_000.0), 100.0)
}

fn savings(stream: &mut Stream, age: f64, affluence: f64, prudence: f64) -> f64 {
    let has_none = logistic(-1.5 - 0.7 * affluence - 0.9 * prudence);
    let (u, z) = (stream.uniform(), stream.normal());
    if u < has_none {
        return 0.0;
    }
    let log =
        libm::log(6_000.0) + 0.45 * affluence + 0.55 * prudence + 0.02 * (age - 42.0) + 0.6 * z;
    to_nearest(libm::exp(log).min(60_000.0), 100.0)
}

fn debt(stream: &mut Stream, income: f64, prudence: f64) -> f64 {
    let has_none = logistic(-1.2 + 0.6 * prudence);
    let (u, z) = (stream.uniform(), stream.normal());
    if u < has_none {
        return 0.0;
    }
    let log = libm::log(9_000.0) + 0.4 * libm::log(income / 34_000.0) - 0.3 * prudence + 0.65 * z;
    to_nearest(libm::exp(log).clamp(500.0, 40_000.0), 100.0)
}

fn housing_cost(stream: &mut Stream, income: f64) -> f64 {
    // Who earns twice as much pays 1.4 times as much.
    let log = libm::log(750.0) + 0.5 * libm::log(income / 34_000.0) + 0.3 * stream.normal();
    to_nearest(libm::exp(log).clamp(250.0, 2_000.0), 10.0)
}

/// By inversion: the count at which the summed probabilities pass a uniform number. For small
/// means.
fn poisson(stream: &mut Stream, mean: f64) -> f64 {
    let u = stream.uniform();
    let (mut count, mut mass) = (0.0, libm::exp(-mean));
    let mut below = mass;
    while u > below && count < 1000.0 {
        count += 1.0;
        mass *= mean / count;
        below += mass;
    }
    count
}

fn logistic(t: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-t))
}

fn to_nearest(value: f64, step: f64) -> f64 {
    (value / step).round() * step
}
