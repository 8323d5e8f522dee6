//! Writes a report about a made-up applicant, with numbers that fit together: the model is a known
//! linear score, the noise is Gaussian, and the recourse is computed here in closed form.
//!
//! ```text
//! cargo run --example sample_report -- report.html [none|one|many|met]
//! ```

use probe_core::{NoiseOn, Purpose, Seed, affine_rate, math::normal::upper_quantile};
use probe_experiments::report::{
    Answer, Batch, Cloud, CloudAxis, Frontier, FrontierPoint, Histogram, Method, ModelCard,
    PersonFeature, Region, Report, Sample, Settings, Status, StatusCount, Value, render,
};
use std::error::Error;

/// name, unit, today, width of a scaled unit, weight of a scaled unit, may change
type Row = (&'static str, &'static str, f64, f64, f64, bool);

const APPLICANT: [Row; 8] = [
    ("Annual income", "EUR", 31_200.0, 50_000.0, 3.0, true),
    ("Open debts", "EUR", 14_300.0, 40_000.0, -2.6, true),
    ("Months in current job", "months", 9.0, 120.0, 1.9, true),
    ("Credit lines in use", "", 6.0, 20.0, -0.9, true),
    ("Savings", "EUR", 2_150.0, 60_000.0, 0.8, true),
    ("Late payments, last 2 years", "", 2.0, 10.0, -2.2, false),
    ("Age", "years", 34.0, 80.0, 0.2, false),
    ("Dependants", "", 1.0, 6.0, -0.3, false),
];
const SCORE_TODAY: f64 = -0.52;
const SIGMA: f64 = 0.04;
const SEED: u64 = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: sample_report FILE [none|one|many|met]")?;
    let report = match arguments.next().as_deref() {
        Some("none") => no_recourse(),
        Some("one") => build(&[1.0, 0.0, 0.0, 0.0, 0.0]),
        Some("many") => with_many_features(build(&SPLIT)),
        Some("met") => already_favourable(),
        _ => build(&SPLIT),
    };
    std::fs::write(path, render(&report))?;
    Ok(())
}

/// How the needed gain in score is shared among the first features.
const SPLIT: [f64; 5] = [0.5, 0.35, 0.15, 0.0, 0.0];

/// Scaled move of each feature that gains `gain` in score.
fn moves(gain: f64, split: &[f64; 5]) -> Vec<f64> {
    APPLICANT
        .iter()
        .enumerate()
        .map(|(j, row)| split.get(j).map_or(0.0, |s| s * gain / row.4))
        .collect()
}

fn noise_in_score() -> f64 {
    APPLICANT.iter().filter(|r| r.5).map(|r| (r.4 * SIGMA).powi(2)).sum::<f64>().sqrt()
}

fn build(split: &[f64; 5]) -> Report {
    let sd = noise_in_score();
    let gain = |rate: f64| sd * upper_quantile(rate) - SCORE_TODAY;
    let cost = |gain: f64| moves(gain, split).iter().map(|m| m.abs()).sum::<f64>();
    let point = |rate: f64| FrontierPoint {
        target_rate: rate,
        rate: affine_rate(SCORE_TODAY + gain(rate), 0.0, sd),
        cost: cost(gain(rate)),
        changed: split.iter().filter(|s| **s > 0.0).count(),
    };
    let rates = [0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.02, 0.01];
    let points: Vec<FrontierPoint> = rates.iter().map(|r| point(*r)).collect();
    let chosen = points[7];
    let delta = moves(gain(0.1), split);
    let score = SCORE_TODAY + gain(0.1);
    let features: Vec<PersonFeature> = APPLICANT
        .iter()
        .zip(&delta)
        .map(|(row, move_by)| PersonFeature {
            name: row.0.to_owned(),
            unit: Some(row.1.to_owned()).filter(|u| !u.is_empty()),
            mutable: row.5,
            current: Value::Number(row.2),
            recommended: Value::Number(row.2 + move_by * row.3),
            scaled_change: *move_by,
            cost_share: move_by.abs() / chosen.cost,
            tolerance: Some(score / row.4.abs() * row.3),
            noise_sd: row.5.then_some(SIGMA * row.3),
        })
        .collect();
    Report {
        title: "Consumer credit, made-up example".to_owned(),
        person: "Applicant 1042 was turned down".to_owned(),
        model: ModelCard {
            kind: "linear".to_owned(),
            n_features: APPLICANT.len(),
            n_train: Some(8_000),
            n_test: Some(2_000),
            accuracy: Some(0.8125),
            balanced_accuracy: Some(0.7934),
            auc: Some(0.8761),
        },
        settings: settings(),
        answer: Answer {
            status: Status::Certified,
            reason: String::new(),
            proven: true,
            cost: Some(chosen.cost),
            rate: Some(chosen.rate),
            bound: None,
            best_rate: None,
            score_before: SCORE_TODAY,
            score_after: Some(score),
        },
        cloud: Some(cloud(&features, score)),
        features,
        methods: methods(&chosen, &point(0.4999)),
        network: None,
        letter: None,
        frontier: Some(Frontier { points, chosen: Some(7), cheapest_flip: Some(point(0.4999)) }),
        batch: Some(batch()),
    }
}

fn settings() -> Settings {
    Settings {
        max_rate: 0.1,
        noise: "gaussian".to_owned(),
        sigma: Some(SIGMA),
        noise_on: NoiseOn::Mutable,
        cost: "l1".to_owned(),
        method: "probe".to_owned(),
        seed: SEED,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn cloud(features: &[PersonFeature], score: f64) -> Cloud {
    let number = |v: &Value| if let Value::Number(v) = v { *v } else { 0.0 };
    let axis = |j: usize| CloudAxis {
        name: features[j].name.clone(),
        unit: features[j].unit.clone(),
        person: number(&features[j].current),
        centre: number(&features[j].recommended),
        sd: features[j].noise_sd.unwrap_or(0.0),
    };
    let (x, y) = (axis(0), axis(1));
    let (a, b) = (APPLICANT[0].4 / APPLICANT[0].3, APPLICANT[1].4 / APPLICANT[1].3);
    let c = a * x.centre + b * y.centre - score;
    let mut stream = Seed(SEED).stream(Purpose::Audit, 0);
    let samples = (0..500)
        .map(|_| {
            let noise: Vec<f64> =
                APPLICANT.iter().map(|r| if r.5 { SIGMA * stream.normal() } else { 0.0 }).collect();
            let noisy: f64 =
                score + noise.iter().zip(&APPLICANT).map(|(e, r)| e * r.4).sum::<f64>();
            let (dx, dy) = (noise[0] * APPLICANT[0].3, noise[1] * APPLICANT[1].3);
            Sample { x: x.centre + dx, y: y.centre + dy, accepted: noisy > 0.0 }
        })
        .collect();
    Cloud {
        x,
        y,
        correlation: 0.0,
        region: Some(Region::HalfPlane { a, b, c }),
        samples,
        others_noisy: true,
    }
}

fn methods(ours: &FrontierPoint, flip: &FrontierPoint) -> Vec<Method> {
    let row = |name: &str, note: &str, rate: f64, cost: f64| Method {
        name: name.to_owned(),
        note: note.to_owned(),
        accuracy: Some(1.0),
        rate: Some(rate),
        cost: Some(cost),
        certified: None,
    };
    vec![
        row("probe", "cheapest change that keeps the target", ours.rate, ours.cost),
        row("wachter", "cheapest flip, no robustness", flip.rate, flip.cost),
        row("growing-spheres", "random search around the person", 0.412, flip.cost * 1.31),
    ]
}

fn batch() -> Batch {
    let mut stream = Seed(SEED).stream(Purpose::Audit, 1);
    let costs: Vec<f64> = (0..1_640).map(|_| 0.32 * (0.55 * stream.normal()).exp()).collect();
    let count = |status, count| StatusCount { status, count };
    Batch {
        costs: Histogram::of(&costs, 24),
        statuses: vec![
            count(Status::Certified, 1_640),
            count(Status::Found, 118),
            count(Status::None, 42),
        ],
    }
}

fn no_recourse() -> Report {
    let mut report = build(&SPLIT);
    // The limits end where about half of the way is done; the picture is drawn around that point.
    let gain = 0.27;
    for (feature, move_by) in report.features.iter_mut().zip(moves(gain, &SPLIT)) {
        if let (Value::Number(today), Some(sd)) = (&feature.current, feature.noise_sd) {
            feature.recommended = Value::Number(today + move_by * sd / SIGMA);
        }
    }
    report.cloud = Some(cloud(&report.features, SCORE_TODAY + gain));
    for feature in &mut report.features {
        feature.recommended = feature.current.clone();
        (feature.scaled_change, feature.cost_share) = (0.0, 0.0);
    }
    report.answer.status = Status::None;
    report.answer.reason = "infeasible-within-bounds".to_owned();
    report.answer.best_rate = Some(affine_rate(SCORE_TODAY + gain, 0.0, noise_in_score()));
    (report.answer.cost, report.answer.rate, report.answer.score_after) = (None, None, None);
    report.frontier = None;
    (report.methods, report.batch) = (Vec::new(), None);
    report
}

fn already_favourable() -> Report {
    let mut report = no_recourse();
    report.person = "Applicant 7".to_owned();
    report.answer.status = Status::Favourable;
    report.answer.reason = String::new();
    report.answer.best_rate = None;
    (report.answer.rate, report.answer.score_before) = (Some(0.0034), 0.71);
    report.cloud = None;
    report
}

fn with_many_features(mut report: Report) -> Report {
    for j in 0..32 {
        report.features.push(PersonFeature {
            name: format!("account <{j}> & a rather long column name from a warehouse_{j:02}"),
            unit: Some(if j % 3 == 0 { "EUR/month".to_owned() } else { String::new() }),
            mutable: true,
            current: Value::Number(10f64.powi(j - 16)),
            recommended: Value::Number(10f64.powi(j - 16) * if j % 2 == 0 { 1.37 } else { 1.0 }),
            scaled_change: if j % 2 == 0 { 0.01 * f64::from(j + 1) } else { 0.0 },
            cost_share: 0.001 * f64::from(j),
            tolerance: None,
            noise_sd: None,
        });
    }
    report.features.push(PersonFeature {
        name: "Housing".to_owned(),
        unit: None,
        mutable: true,
        current: Value::Category("rents".to_owned()),
        recommended: Value::Category("owns".to_owned()),
        scaled_change: 0.2,
        cost_share: 0.5,
        tolerance: None,
        noise_sd: None,
    });
    report
}
