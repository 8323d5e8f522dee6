//! Counts for Prometheus, in its text format.

use crate::state::State;
use probe_service::Tally;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Bounds of latencies in seconds: from a linear person to the time limit.
const SECONDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    10.0, 60.0,
];
/// Bounds of a rate as a share of its target: above 1, the target was missed.
const SHARES: [f64; 9] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0, 1.5, 3.0];
/// Bounds of evaluations of the model.
const EVALUATIONS: [f64; 8] = [0.0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];

/// A histogram.
#[derive(Debug, Clone)]
struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    fn add(&mut self, value: f64) {
        let place = self.bounds.iter().position(|bound| value <= *bound);
        self.counts[place.unwrap_or(self.bounds.len())] += 1;
        self.sum += value;
    }

    fn write(&self, out: &mut String, name: &str, labels: &str) {
        let mut total = 0;
        let comma = if labels.is_empty() { "" } else { "," };
        for (count, bound) in self.counts.iter().zip(self.bounds) {
            total += count;
            let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"{bound}\"}} {total}");
        }
        total += self.counts[self.bounds.len()];
        let _ = writeln!(out, "{name}_bucket{{{labels}{comma}le=\"+Inf\"}} {total}");
        let braces = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
        let _ = writeln!(out, "{name}_sum{braces} {}", self.sum);
        let _ = writeln!(out, "{name}_count{braces} {total}");
    }
}

/// All counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counts>);

#[derive(Debug)]
struct Counts {
    /// By method, route and status.
    requests: BTreeMap<(String, String, u16), u64>,
    /// By route.
    seconds: BTreeMap<String, Histogram>,
    people: [u64; 4],
    late: u64,
    shares: Histogram,
    evaluations: Histogram,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            requests: BTreeMap::new(),
            seconds: BTreeMap::new(),
            people: [0; 4],
            late: 0,
            shares: Histogram::new(&SHARES),
            evaluations: Histogram::new(&EVALUATIONS),
        }
    }
}

impl Metrics {
    /// Counts a request, when the headers of its answer are known.
    pub(crate) fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry((method.to_owned(), route.to_owned(), status)).or_default() += 1;
        let histogram = counts.seconds.entry(route.to_owned());
        histogram.or_insert_with(|| Histogram::new(&SECONDS)).add(took.as_secs_f64());
    }

    /// Counts answers to people.
    pub(crate) fn answers(&self, tally: &Tally) {
        let people: u64 = tally.statuses.iter().sum();
        if people == 0 {
            return;
        }
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.people.iter_mut().zip(tally.statuses).for_each(|(all, n)| *all += n);
        counts.late += tally.late;
        tally.shares.iter().for_each(|share| counts.shares.add(*share));
        counts.evaluations.add(tally.evaluations as f64 / people as f64);
    }

    /// The text that Prometheus reads.
    pub(crate) fn text(&self, state: &State) -> String {
        let mut out = String::new();
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "probe_http_requests_total";
        head(&mut out, name, "counter", "Requests by method, route and status.");
        for ((method, route, status), n) in &counts.requests {
            let labels = format!("method=\"{method}\",route=\"{route}\",status=\"{status}\"");
            let _ = writeln!(out, "{name}{{{labels}}} {n}");
        }
        let name = "probe_http_request_duration_seconds";
        head(&mut out, name, "histogram", "Time until the answer's headers, by route.");
        for (route, histogram) in &counts.seconds {
            histogram.write(&mut out, name, &format!("route=\"{route}\""));
        }
        let name = "probe_people_total";
        head(&mut out, name, "counter", "Answers by status.");
        for (status, n) in Tally::STATUSES.iter().zip(counts.people) {
            let _ = writeln!(out, "{name}{{status=\"{}\"}} {n}", status.as_str());
        }
        let name = "probe_people_over_time_total";
        head(&mut out, name, "counter", "People without an answer because time was up.");
        let _ = writeln!(out, "{name} {}", counts.late);
        let name = "probe_rate_to_target_ratio";
        head(&mut out, name, "histogram", "Rate of an answer over its target r.");
        counts.shares.write(&mut out, name, "");
        let name = "probe_evaluations_per_answer";
        let help =
            "Evaluations of the model by search and certificate per answer, mean of a chunk.";
        head(&mut out, name, "histogram", help);
        counts.evaluations.write(&mut out, name, "");
        let snapshot = state.models.snapshot();
        let gauges = [
            ("probe_queue_jobs", "Jobs that wait or run.", state.pool.load()),
            ("probe_requests_running", "Requests being answered.", state.n_running()),
            ("probe_models", "Models that are served.", snapshot.models().count()),
            ("probe_model_faults", "Model files that do not load.", snapshot.faults().len()),
        ];
        for (name, help, value) in gauges {
            head(&mut out, name, "gauge", help);
            let _ = writeln!(out, "{name} {value}");
        }
        out
    }
}
