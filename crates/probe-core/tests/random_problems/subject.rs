//! A random problem: a person, what they may change, a model that rejects them, and what is asked
//! for. Limits, costs and rates are worked out here, from their definitions.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use crate::chance::{Chance, Family, Law};
use crate::own_model::{Own, Shift};
use probe_core::noise::{Covariance, Effort, NoiseSpec, Residuals};
use probe_core::schema::Kind;
use probe_core::{
    Answer, Coding, Direction, Engine, Feature, Gaussian, ModelShift, NoiseOn, Rows, Schema, Seed,
    Setup,
};
use std::sync::Arc;

/// One feature, in raw units.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Number { scale: [f64; 2], low: Option<f64>, high: Option<f64>, step: Option<f64>, way: f64 },
    Category { coding: Coding, n: usize, p_fail: f64 },
}

/// A feature with its cost.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub part: Part,
    pub mutable: bool,
    pub cost: f64,
}

impl Column {
    pub(crate) fn n_columns(&self) -> usize {
        match self.part {
            Part::Category { coding: Coding::Onehot, n, .. } => n,
            _ => 1,
        }
    }

    fn feature(&self, k: usize) -> Feature {
        let mut feature = Feature::numeric(&format!("x{k}"));
        (feature.mutable, feature.cost) = (self.mutable, self.cost);
        match self.part {
            Part::Number { scale, low, high, step, way } => {
                (feature.scale, feature.min, feature.max) = (Some(scale), low, high);
                match step {
                    Some(1.0) => feature.kind = Kind::Integer,
                    step => feature.step = step,
                }
                feature.direction = match way {
                    w if w > 0.0 => Direction::Increase,
                    w if w < 0.0 => Direction::Decrease,
                    _ => Direction::Any,
                };
            }
            Part::Category { coding, n, p_fail } => {
                (feature.kind, feature.encoding) = (Kind::Categorical, Some(coding));
                feature.categories = (0..n).map(|o| format!("v{o}")).collect();
                feature.p_fail = (p_fail > 0.0).then_some(p_fail);
            }
        }
        feature
    }

    /// Scaled columns of a raw value.
    fn encode(&self, value: f64, out: &mut Vec<f64>) {
        match self.part {
            Part::Number { scale, .. } => out.push((value - scale[0]) / (scale[1] - scale[0])),
            Part::Category { coding: Coding::Onehot, n, .. } => {
                out.extend((0..n).map(|o| f64::from(u8::from(o as f64 == value))));
            }
            Part::Category { .. } => out.push(value),
        }
    }

    /// What a change costs: one move for each column.
    fn moves(&self, from: f64, to: f64) -> Vec<f64> {
        if from == to {
            return Vec::new();
        }
        match self.part {
            Part::Number { scale, .. } => {
                vec![self.cost * (to - from).abs() / (scale[1] - scale[0])]
            }
            Part::Category { coding: Coding::Onehot, .. } => vec![self.cost; 2],
            Part::Category { .. } => vec![self.cost * (to - from).abs()],
        }
    }

    /// Whether `to` may be told to somebody at `from`.
    fn allows(&self, from: f64, to: f64) -> bool {
        if from == to {
            return true;
        }
        self.mutable
            && match self.part {
                Part::Number { low, high, step, way, .. } => {
                    let on_step = step.is_none_or(|s| (to / s - (to / s).round()).abs() < 1e-9);
                    let within = low.is_none_or(|low| to >= low - 1e-9)
                        && high.is_none_or(|high| to <= high + 1e-9);
                    on_step && within && (to - from) * way >= 0.0
                }
                Part::Category { n, .. } => to >= 0.0 && to < n as f64,
            }
    }

    /// Values to try for somebody at `from`: all of them, or so many.
    pub(crate) fn values(&self, from: f64, most: usize) -> Vec<f64> {
        let mut values = vec![from];
        if !self.mutable {
            return values;
        }
        let (low, high) = self.reach(from);
        match self.part {
            Part::Number { step: Some(step), .. } => {
                let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
                values.extend((first..=last).map(|k| k as f64 * step));
            }
            Part::Number { .. } => {
                let share = |i: usize| i as f64 / (most - 1) as f64;
                values.extend((0..most).map(|i| low + (high - low) * share(i)));
            }
            Part::Category { n, .. } => values.extend((0..n).map(|o| o as f64)),
        }
        values.retain(|to| self.allows(from, *to));
        values
    }

    /// How far to look: to the limits, or three widths where there is none.
    pub(crate) fn reach(&self, from: f64) -> (f64, f64) {
        match self.part {
            Part::Number { scale, low, high, .. } => {
                let far = 3.0 * (scale[1] - scale[0]);
                (low.unwrap_or(from - far), high.unwrap_or(from + far))
            }
            Part::Category { n, .. } => (0.0, (n - 1) as f64),
        }
    }

    pub(crate) fn is_free_number(&self) -> bool {
        self.mutable && matches!(self.part, Part::Number { step: None, .. })
    }
}

pub(crate) struct Problem {
    pub columns: Vec<Column>,
    pub model: Own,
    /// One raw value for each feature.
    pub person: Vec<f64>,
    pub law: Law,
    pub noise_on: NoiseOn,
    pub shift: Option<Shift>,
    pub norm: &'static str,
    pub rate: f64,
    pub max_changes: Option<usize>,
    pub seed: u64,
}

/// Draws that tell rates.
pub(crate) struct Draws {
    errors: Vec<f64>,
    /// One uniform number for each feature: whether a change of category fails.
    failures: Vec<f64>,
    /// Changes of the model.
    models: Vec<f64>,
    n: usize,
}

impl Problem {
    pub(crate) fn n_columns(&self) -> usize {
        self.columns.iter().map(Column::n_columns).sum()
    }

    pub(crate) fn encode(&self, row: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        self.columns.iter().zip(row).for_each(|(column, value)| column.encode(*value, &mut out));
        out
    }

    pub(crate) fn score(&self, row: &[f64]) -> f64 {
        self.model.score(&self.encode(row))
    }

    pub(crate) fn cost(&self, row: &[f64]) -> f64 {
        let moves = self.columns.iter().zip(&self.person).zip(row);
        let moves = moves.flat_map(|((column, from), to)| column.moves(*from, *to));
        match self.norm {
            "l1" => moves.sum(),
            "l2" => moves.map(|m| m * m).sum::<f64>().sqrt(),
            _ => moves.fold(0.0, f64::max),
        }
    }

    pub(crate) fn is_admissible(&self, row: &[f64]) -> bool {
        let changed = row.iter().zip(&self.person).filter(|(a, b)| a != b).count();
        self.max_changes.is_none_or(|most| changed <= most)
            && self
                .columns
                .iter()
                .zip(&self.person)
                .zip(row)
                .all(|((column, from), to)| column.allows(*from, *to))
    }

    pub(crate) fn draws(&self, n: usize, chance: &mut Chance) -> Draws {
        let some = |needed: bool, n: usize| if needed { n } else { 0 };
        let n = match self.has_failures() || self.shift.is_some() {
            true => n,
            false => self.law.exact().unwrap_or(n),
        };
        let models = some(self.shift.is_some(), n * self.model.n_weights());
        let failures = some(self.has_failures(), n * self.columns.len());
        Draws {
            errors: self.law.draw(self.n_columns(), n, chance),
            failures: (0..failures).map(|_| chance.uniform()).collect(),
            models: match self.shift {
                Some(Shift::Bounded(_)) => Vec::new(),
                _ => chance.normals(models, 1.0),
            },
            n,
        }
    }

    pub(crate) fn is_counted_exactly(&self) -> bool {
        self.law.exact().is_some() && !self.has_failures() && self.shift.is_none()
    }

    pub(crate) fn has_failures(&self) -> bool {
        let fails =
            |column: &Column| matches!(column.part, Part::Category { p_fail, .. } if p_fail > 0.0);
        self.columns.iter().any(fails)
    }

    /// Which columns the noise acts on.
    fn noisy(&self, row: &[f64]) -> Vec<bool> {
        let mut noisy = Vec::new();
        for ((column, from), to) in self.columns.iter().zip(&self.person).zip(row) {
            let number = matches!(column.part, Part::Number { .. });
            let acts = match self.noise_on {
                NoiseOn::All => true,
                NoiseOn::Mutable => number && column.mutable,
                NoiseOn::Changed => number && from != to,
            };
            noisy.extend(vec![acts; column.n_columns()]);
        }
        noisy
    }

    /// Share of the first `n` draws for which a row is rejected.
    pub(crate) fn rate(&self, row: &[f64], draws: &Draws, n: usize) -> f64 {
        if let Some(Shift::Bounded(radius)) = self.shift {
            return self.worst_rate(row, radius);
        }
        let (aim, noisy, d) = (self.encode(row), self.noisy(row), self.n_columns());
        let now = self.encode(&self.person);
        let (n_weights, n) = (self.model.n_weights(), n.min(draws.n));
        let (mut x, mut rejected) = (vec![0.0; d], 0);
        for i in 0..n {
            x.copy_from_slice(&aim);
            if !draws.failures.is_empty() {
                self.let_fail(row, &draws.failures[i * row.len()..], &now, &mut x);
            }
            for j in (0..d).filter(|j| noisy[*j]) {
                x[j] += self.law.error(draws.errors[i * d + j], aim[j] - now[j]);
            }
            let change = self.shift.map(|shift| (shift, &draws.models[i * n_weights..]));
            let change = change.map(|(shift, normals)| (shift, &normals[..n_weights]));
            rejected += usize::from(self.model.changed_score(&x, change) <= 0.0);
        }
        rejected as f64 / n as f64
    }

    /// Changes of category that fail leave the person's own.
    fn let_fail(&self, row: &[f64], uniforms: &[f64], now: &[f64], x: &mut [f64]) {
        let mut at = 0;
        for (((column, from), to), u) in
            self.columns.iter().zip(&self.person).zip(row).zip(uniforms)
        {
            let width = column.n_columns();
            if let Part::Category { p_fail, .. } = column.part
                && from != to
                && *u < p_fail
            {
                x[at..at + width].copy_from_slice(&now[at..at + width]);
            }
            at += width;
        }
    }

    /// An upper bound on the rate where an affine score's weights may be anything within `radius`:
    /// the worst of the mean score over the worst of its deviation.
    fn worst_rate(&self, row: &[f64], radius: f64) -> f64 {
        let Own::Linear { weights, bias } = &self.model else { panic!("linear") };
        let Law::Family { sd, .. } = self.law else { panic!("gaussian") };
        let x = self.encode(row);
        let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let mean: f64 = weights.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() + bias;
        let least = mean - radius * norm(&x);
        if least <= 0.0 {
            return 1.0;
        }
        upper_tail(least / (sd * (norm(weights) + radius)))
    }

    pub(crate) fn engine(&self) -> Engine {
        let features = self.columns.iter().enumerate().map(|(k, column)| column.feature(k));
        let schema = Schema::new(features.collect());
        let names = schema.column_names();
        let d = names.len();
        let mut setup = Setup::new(self.model.for_engine(), names, Some(&schema), 0.1).unwrap();
        setup.noise = match &self.law {
            Law::Residuals(rows) => {
                Arc::new(Residuals::new(Rows::new(&rows.concat(), d).unwrap()).unwrap())
            }
            Law::Family { family, sd, common } => {
                let spec =
                    |text: &str| NoiseSpec::parse(text).unwrap().build(vec![*sd; d]).unwrap();
                match family {
                    Family::Gaussian if *common > 0.0 => {
                        let of = |i: usize| if i.is_multiple_of(d + 1) { 1.0 } else { *common };
                        let matrix = (0..d * d).map(|i| sd * sd * of(i)).collect();
                        let full = Covariance::Full(matrix);
                        Arc::new(Gaussian::new(vec![0.0; d], full).unwrap())
                    }
                    Family::Gaussian => spec("gaussian"),
                    Family::Uniform => spec("uniform"),
                    Family::Laplace => spec("laplace"),
                    Family::StudentT { df } => spec(&format!("student-t:1,df={df}")),
                    Family::Effort { rho, a } => {
                        Arc::new(Effort::new(vec![*sd; d], vec![*rho; d], *a).unwrap())
                    }
                }
            }
        };
        setup.shift = self.shift.map(|shift| match shift {
            Shift::Gaussian(sd) => ModelShift::Gaussian(sd),
            Shift::Relative(share) => ModelShift::Relative(share),
            Shift::Bounded(radius) => ModelShift::Bounded(radius),
        });
        setup.set_norm(self.norm).unwrap();
        (setup.noise_on, setup.max_rate, setup.seed) = (self.noise_on, self.rate, Seed(self.seed));
        setup.actions = setup.actions.with_max_changes(self.max_changes);
        Engine::new(setup).unwrap()
    }

    /// The raw columns of a row, as tables have them.
    fn raw_columns(&self, row: &[f64]) -> Vec<f64> {
        let mut raw = Vec::new();
        for (column, value) in self.columns.iter().zip(row) {
            match column.part {
                Part::Number { .. } => raw.push(*value),
                Part::Category { .. } => column.encode(*value, &mut raw),
            }
        }
        raw
    }

    pub(crate) fn ask(&self) -> Answer {
        let person = self.raw_columns(&self.person);
        self.engine().recourse(Rows::single(&person)).unwrap().remove(0)
    }

    /// The row of an answer.
    pub(crate) fn row_of(&self, answer: &Answer) -> Vec<f64> {
        let mut at = 0;
        let value = |column: &Column| {
            let own = &answer.point[at..at + column.n_columns()];
            at += own.len();
            match column.part {
                Part::Category { coding: Coding::Onehot, .. } => {
                    own.iter().position(|v| *v == 1.0).unwrap() as f64
                }
                _ => own[0],
            }
        };
        self.columns.iter().map(value).collect()
    }
}

/// $1 - \Phi(z)$ for $z \ge 0$: Abramowitz and Stegun 26.2.17, to 7.5e-8.
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let factors = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let sum = factors.iter().rev().fold(0.0, |sum, b| t * (b + sum));
    sum * (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt()
}
