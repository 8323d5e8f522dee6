//! Many categories that may fail to change: costs and rates against brute force over every choice
//! and every outcome, and work that does not grow exponentially.

use probe_core::math::normal::upper_tail;
use probe_core::schema::Kind;
use probe_core::{
    Answer, Coding, Covariance, Encoding, Engine, Feature, Gaussian, Linear, Purpose, Rows, Schema,
    Seed, Setup, Status, Stream,
};
use std::sync::Arc;

/// Categories with so many options each, and one number between 0 and 1; an affine score that
/// rejects the person, who has the first of all options and the number 0.
struct Case {
    schema: Schema,
    /// Of the number, and of each option of each category: what it adds to the score.
    slope: f64,
    gains: Vec<Vec<f64>>,
    p_fail: Vec<f64>,
    /// The person's score, and the deviation of the noise on the number.
    score: f64,
    sigma: f64,
}

/// Noise of deviation `sigma` on the first of so many columns.
fn noise_on_number(n: usize, sigma: f64) -> Arc<Gaussian> {
    let mut sd = vec![0.0; n];
    sd[0] = sigma;
    Arc::new(Gaussian::new(vec![0.0; n], Covariance::Diagonal(sd)).unwrap())
}

impl Case {
    fn random(stream: &mut Stream, n: usize, p_fail: &[f64]) -> Self {
        let slope = [0.0, 0.3, 1.0][stream.below(3)];
        let sigma = [0.0, 0.1][stream.below(2)];
        let mut number = Feature::numeric("number");
        (number.min, number.max, number.scale) = (Some(0.0), Some(1.0), Some([0.0, 1.0]));
        number.cost = 0.5 + 3.0 * stream.uniform();
        let mut features = vec![number];
        let (mut gains, mut fails) = (Vec::new(), Vec::new());
        for k in 0..n {
            let coding = [Coding::Onehot, Coding::Binary][stream.below(2)];
            let options = if coding == Coding::Binary { 2 } else { 2 + stream.below(2) };
            let mut feature = Feature::numeric(&format!("c{k}"));
            feature.kind = Kind::Categorical;
            feature.encoding = Some(coding);
            feature.categories = (0..options).map(|o| format!("v{o}")).collect();
            feature.cost = [0.5, 0.5 + stream.uniform()][stream.below(2)];
            let p = p_fail[stream.below(p_fail.len())];
            feature.p_fail = (p > 0.0).then_some(p);
            features.push(feature);
            fails.push(p);
            let gain = |_| 0.1 * (stream.below(12) as f64 - 3.0) + 0.01 * stream.uniform();
            gains.push(std::iter::once(0.0).chain((1..options).map(gain)).collect());
        }
        let most: f64 =
            gains.iter().map(|g: &Vec<f64>| g.iter().copied().fold(0.0, f64::max)).sum();
        let score = -(0.05 + 0.8 * stream.uniform()) * (most + 0.5 * slope);
        Self { schema: Schema::new(features), slope, gains, p_fail: fails, score, sigma }
    }

    fn engine(&self, norm: &str, rate: f64) -> Engine {
        let names = self.schema.column_names();
        let mut weights = vec![self.slope];
        for (gains, feature) in self.gains.iter().zip(&self.schema.features[1..]) {
            match feature.encoding {
                Some(Coding::Onehot) => weights.extend(gains),
                _ => weights.push(gains[1]),
            }
        }
        let model = Arc::new(Linear::new(weights, self.score, 0.0).unwrap());
        let mut setup = Setup::new(model, names, Some(&self.schema), 0.1).unwrap();
        setup.max_rate = rate;
        setup.noise = noise_on_number(setup.names.len(), self.sigma);
        setup.set_norm(norm).unwrap();
        Engine::new(setup).unwrap()
    }

    fn columns(&self, row: &[f64]) -> Vec<f64> {
        let encoding = Encoding::new(&self.schema, &self.schema.column_names()).unwrap();
        let mut columns = vec![0.0; encoding.columns().features.len()];
        encoding.encode_into(row, &mut columns);
        columns
    }

    fn row(&self, answer: &Answer) -> Vec<f64> {
        let encoding = Encoding::new(&self.schema, &self.schema.column_names()).unwrap();
        let mut row = vec![0.0; self.gains.len() + 1];
        encoding.decode_into(&answer.point, &mut row).unwrap();
        row
    }

    /// The rate of a row, from every set of changes that fails.
    fn rate(&self, row: &[f64]) -> f64 {
        let sd = self.sigma * self.slope;
        let mut outcomes = vec![(1.0, self.score + self.slope * row[0])];
        for ((gains, p), option) in self.gains.iter().zip(&self.p_fail).zip(&row[1..]) {
            let gain = gains[*option as usize];
            let both = |&(q, score): &(f64, f64)| match *option > 0.0 && *p > 0.0 {
                true => vec![(q * (1.0 - p), score + gain), (q * p, score)],
                false => vec![(q, score + gain)],
            };
            outcomes = outcomes.iter().flat_map(both).collect();
        }
        let refused = |score: f64| match sd > 0.0 {
            true => upper_tail(score / sd),
            false => f64::from(u8::from(score <= 0.0)),
        };
        outcomes.iter().map(|(q, score)| q * refused(*score)).sum()
    }

    /// The number that a choice of options needs for a rate; `None` if none suffices. By bisection:
    /// the rate falls with the number.
    fn number_for(&self, row: &mut [f64], rate: f64) -> Option<f64> {
        let gained: f64 = self.gains.iter().zip(&row[1..]).map(|(g, o)| g[*o as usize]).sum();
        let mut suffices = |number: f64| {
            row[0] = number;
            self.score + self.slope * number + gained > 1e-9 && self.rate(row) <= rate
        };
        if suffices(0.0) {
            return Some(0.0);
        }
        if !suffices(1.0) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..50 {
            let middle = 0.5 * (low + high);
            if suffices(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// What a row costs.
    fn cost(&self, norm: &str, row: &[f64]) -> f64 {
        let mut moves = vec![self.schema.features[0].cost * row[0]];
        for (feature, option) in self.schema.features[1..].iter().zip(&row[1..]) {
            if *option > 0.0 {
                let twice = feature.encoding == Some(Coding::Onehot);
                moves.extend(vec![feature.cost; if twice { 2 } else { 1 }]);
            }
        }
        match norm {
            "l1" => moves.iter().sum(),
            "l2" => moves.iter().map(|m| m * m).sum::<f64>().sqrt(),
            _ => moves.iter().copied().fold(0.0, f64::max),
        }
    }

    /// The least cost of a rate over all choices.
    fn least_cost(&self, norm: &str, rate: f64) -> f64 {
        let all: usize = self.gains.iter().map(Vec::len).product();
        let mut least = f64::INFINITY;
        let mut row = vec![0.0; self.gains.len() + 1];
        for mut number in 0..all {
            for (option, gains) in row[1..].iter_mut().zip(&self.gains) {
                *option = (number % gains.len()) as f64;
                number /= gains.len();
            }
            row[0] = 0.0;
            if self.cost(norm, &row) < least
                && let Some(number) = self.number_for(&mut row, rate)
            {
                row[0] = number;
                least = least.min(self.cost(norm, &row));
            }
        }
        least
    }
}

#[test]
fn the_cheapest_choice_of_categories_that_may_fail_is_found() {
    let (mut reached, mut none) = (0, 0);
    for case in 0..1_000 {
        let mut stream = Seed(61).stream(Purpose::Data, case);
        let n = 1 + stream.below(6);
        let subject = Case::random(&mut stream, n, &[0.0, 0.01, 0.1, 0.3]);
        let norm = ["l1", "l2", "linf"][case as usize % 3];
        let rate = [0.02, 0.1, 0.3][stream.below(3)];
        let engine = subject.engine(norm, rate);
        let person = subject.columns(&vec![0.0; n + 1]);
        let answer = &engine.recourse(Rows::single(&person)).unwrap()[0];
        // What is within rounding of the target may go either way.
        let least = subject.least_cost(norm, rate * (1.0 - 1e-9));
        if least.is_finite() {
            reached += 1;
            assert_eq!(answer.status, Status::Certified, "case {case}: {least} {answer:?}");
            assert_eq!(answer.reason, None, "case {case}");
            let cost = answer.cost.unwrap();
            assert!(cost <= least * (1.0 + 1e-6) + 1e-6, "case {case}: {cost} {least} {answer:?}");
        }
        if answer.status == Status::Certified {
            let row = subject.row(answer);
            let truth = subject.rate(&row);
            assert!((answer.rate - truth).abs() < 1e-9, "case {case}: {} {truth}", answer.rate);
            assert!(subject.least_cost(norm, rate * (1.0 + 1e-9)) <= answer.cost.unwrap() + 1e-6);
        } else {
            none += 1;
        }
    }
    assert!(reached > 400 && none > 100, "{reached} {none}");
}

/// The share of failures and errors that reject a row.
fn sampled(subject: &Case, row: &[f64], n: usize, stream: &mut Stream) -> f64 {
    let refused = (0..n).filter(|_| {
        let mut score = subject.score + subject.slope * (row[0] + subject.sigma * stream.normal());
        for ((gains, p), option) in subject.gains.iter().zip(&subject.p_fail).zip(&row[1..]) {
            if stream.uniform() >= *p {
                score += gains[*option as usize];
            }
        }
        score <= 0.0
    });
    refused.count() as f64 / n as f64
}

/// Forty categories: 2^40 outcomes and choices. This took more time and memory than there is
/// (finding 6 of an audit).
#[test]
fn finding_6_many_categories_that_may_fail_take_little_work() {
    const DRAWS: usize = 20_000;
    let mut with_many = 0;
    for case in 0..12 {
        let mut stream = Seed(62).stream(Purpose::Data, case);
        let subject = Case::random(&mut stream, 40, &[[0.01], [0.05], [0.2]][case as usize % 3]);
        let rate = [0.1, 0.3][case as usize % 2];
        let engine = subject.engine("l1", rate);
        let person = subject.columns(&vec![0.0; 41]);
        let answer = &engine.recourse(Rows::single(&person)).unwrap()[0];
        if answer.status != Status::Certified {
            continue;
        }
        let row = subject.row(answer);
        with_many += usize::from(row[1..].iter().filter(|option| **option > 0.0).count() > 10);
        let seen = sampled(&subject, &row, DRAWS, &mut stream);
        let error = 4.5 * (rate * (1.0 - rate) / DRAWS as f64).sqrt();
        let told = format!("case {case}: {seen} of {}", answer.rate);
        assert!(answer.rate <= rate && (seen - answer.rate).abs() < error, "{told}");
    }
    assert!(with_many >= 6, "{with_many}");
}

/// The rate of a choice of thirty is an upper bound, and a close one: without noise, of equal
/// changes, it is a binomial tail.
#[test]
fn rates_over_very_many_outcomes_are_close() {
    let n = 30;
    let features = (0..n).map(|k| {
        let mut feature = Feature::numeric(&format!("c{k}"));
        feature.kind = Kind::Categorical;
        feature.encoding = Some(Coding::Binary);
        feature.categories = vec!["no".to_owned(), "yes".to_owned()];
        feature.p_fail = Some(0.1);
        feature
    });
    let schema = Schema::new(features.collect());
    // Favourable while at least 26 of 30 succeed; weights differ a little, so that no two sums are
    // equal.
    let weights = (0..n).map(|k| 1.0 + 1e-6 * (k as f64).sqrt()).collect();
    let model = Arc::new(Linear::new(weights, -25.5, 0.0).unwrap());
    let setup = Setup::new(model, schema.column_names(), Some(&schema), 0.1).unwrap();
    let engine = Engine::new(setup).unwrap();
    let estimate =
        engine.rate(&vec![1.0; n], Some(&vec![0.0; n]), &probe_core::ClosedForm).unwrap();
    let mut accepted = 0.0;
    let mut term = 0.9_f64.powi(30);
    for failures in 0..=4 {
        accepted += term;
        term *= (30 - failures) as f64 / (failures + 1) as f64 * 0.1 / 0.9;
    }
    let truth = 1.0 - accepted;
    assert!(estimate.upper >= truth * (1.0 - 1e-12) && estimate.rate == estimate.upper);
    assert!(estimate.rate < truth * 1.01, "{} {truth}", estimate.rate);
    assert!(estimate.lower <= truth);
}

/// Without noise a number still makes up for a category that fails. Choices were judged at the
/// number
/// that the person has now.
#[test]
fn exact_numbers_make_up_for_categories_that_fail() {
    let mut number = Feature::numeric("number");
    (number.min, number.max, number.scale) = (Some(0.0), Some(1.0), Some([0.0, 1.0]));
    number.cost = 10.0;
    let mut category = Feature::numeric("category");
    (category.kind, category.encoding) = (Kind::Categorical, Some(Coding::Binary));
    category.categories = vec!["no".to_owned(), "yes".to_owned()];
    category.p_fail = Some(0.2);
    let other = Feature { name: "other".to_owned(), ..category.clone() };
    let schema = Schema::new(vec![number, category, other]);
    let model = Arc::new(Linear::new(vec![1.0, 1.0, 1.0], -1.2, 0.0).unwrap());
    let mut setup = Setup::new(model, schema.column_names(), Some(&schema), 0.1).unwrap();
    setup.noise = noise_on_number(3, 0.0);
    let engine = Engine::new(setup).unwrap();
    let answer = &engine.recourse(Rows::single(&[0.0; 3])).unwrap()[0];
    assert_eq!(answer.status, Status::Certified, "{answer:?}");
    // With both and 0.2 of the number one of the two may fail.
    assert!((answer.cost.unwrap() - 4.0).abs() < 1e-6, "{answer:?}");
    assert!((answer.rate - 0.04).abs() < 1e-12, "{answer:?}");
}
