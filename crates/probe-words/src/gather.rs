//! Collects the facts of a letter from an engine and its answer.

use crate::facts::{
    Addressee, Basis, Bond, Change, Drift, Facts, Leeway, LeewaySide, Limited, Relief, Stop, Value,
};
use probe_core::{
    Answer, Encoding, Engine, Feature, Limit, Noise, Relaxation, Relaxed, Result, Session, Setup,
    Side, Status, Tolerance,
    schema::{Relation, Tie},
};

/// At most this many principal reasons. The commentary to Regulation B, § 1002.9(b)(2), says that
/// more than four are not likely to help.
const REASONS: usize = 4;
/// A principal reason has at least this share of the weight of the most important one.
const PRINCIPAL: f64 = 0.1;
/// Reasons are found by comparison with at most this many approved people.
const APPROVED: usize = 256;

/// Turns answers of an engine into facts.
pub struct Witness<'e> {
    engine: &'e Engine,
    /// Approved rows of the reference data, one after the other; empty without reference data.
    approved: Vec<f64>,
}

impl<'e> Witness<'e> {
    /// For answers of `engine`. Fails if rows of its reference data cannot be scored.
    pub fn new(engine: &'e Engine) -> Result<Self> {
        let n = engine.setup().names.len();
        let mut approved = Vec::new();
        for row in engine.setup().reference.as_deref().unwrap_or_default().chunks_exact(n.max(1)) {
            if approved.len() < APPROVED * n && engine.score(row)? > 0.0 {
                approved.extend_from_slice(row);
            }
        }
        Ok(Self { engine, approved })
    }

    /// The facts of `answer` for `person`. `session` must belong to the same engine.
    pub fn facts(
        &self,
        session: &mut Session<'_>,
        to: Addressee,
        person: &[f64],
        answer: &Answer,
    ) -> Result<Facts> {
        let setup = self.engine.setup();
        let given = matches!(answer.status, Status::Certified | Status::Found);
        let limits = if given { Vec::new() } else { self.limits(session, person, answer)? };
        let (reasons, reasons_by) = self.reasons(person, answer)?;
        let misses = self.misses(person, &answer.point)?;
        let changes = if given { self.changes(person, answer, &misses)? } else { Vec::new() };
        Ok(Facts {
            to,
            status: answer.status,
            reason: answer.reason.map(|reason| reason.code().to_owned()),
            drifts: self.drifts(&changes, &misses),
            bonds: self.bonds(&changes),
            changes,
            max_rate: setup.max_rate,
            rate: answer.rate,
            rate_upper: answer.rate_upper,
            best_rate: answer.best_rate,
            exact: self.engine.has_exact_rates(),
            confidence: setup.confidence,
            reasons,
            reasons_by,
            limits,
            relaxations: Vec::new(),
            model_may_change: setup.shift.is_some(),
        })
    }

    fn changes(
        &self,
        person: &[f64],
        answer: &Answer,
        misses: &[Option<f64>],
    ) -> Result<Vec<Change>> {
        let (setup, encoding) = (self.engine.setup(), self.encoding());
        let tolerance = self.engine.tolerance(person, answer)?;
        let mut changes = Vec::new();
        for k in changed(encoding, person, &answer.point) {
            let feature = &encoding.features()[k];
            let without = with_feature(encoding, k, &answer.point, person);
            let alone = with_feature(encoding, k, person, &answer.point);
            changes.push(Change {
                feature: feature.name.clone(),
                unit: feature.unit.clone(),
                from: value(encoding, k, person),
                to: value(encoding, k, &answer.point),
                cost: setup.cost.between(&scaled(setup, person), &scaled(setup, &alone)),
                usual_miss: misses[k],
                leeway: tolerance
                    .as_ref()
                    .filter(|_| !self.is_tied(k))
                    .and_then(|t| self.leeway(t, k)),
                spare: self.may_become(person, &without) && self.engine.score(&without)? > 0.0,
                outside: self.is_outside(k, &answer.point),
                p_fail: feature.p_fail.filter(|p| *p > 0.0),
            });
        }
        changes.sort_by(|a, b| b.cost.total_cmp(&a.cost));
        Ok(changes)
    }

    /// Whether a row keeps every rule.
    fn may_become(&self, person: &[f64], row: &[f64]) -> bool {
        let setup = self.engine.setup();
        setup.actions.violations(&scaled(setup, person), &scaled(setup, row)).is_empty()
    }

    /// Whether feature `k` is part of a limited sum, so that it cannot change alone.
    fn is_tied(&self, k: usize) -> bool {
        let is_part = |tie: &Tie| match tie {
            Tie::Sum { .. } => tie.columns().iter().any(|&c| self.encoding().feature_of(c) == k),
            _ => false,
        };
        self.engine.setup().actions.ties().iter().any(is_part)
    }

    /// How far the target of a feature may be missed, if that is proven: until the decision changes
    /// if that distance is known, else until the rate exceeds its target. For a feature with steps
    /// it is a whole number of steps.
    fn leeway(&self, tolerance: &Tolerance, k: usize) -> Option<Leeway> {
        let step = self.engine.setup().steps[self.encoding().column_of(k)];
        let whole = |leeway: Leeway| match step {
            Some(step) if leeway.side != LeewaySide::Either => {
                // Slightly less, because at the very end of the leeway nothing is guaranteed.
                Leeway {
                    by: (leeway.by * (1.0 - 1e-9) / step).floor() * step,
                    steps: true,
                    ..leeway
                }
            }
            _ => leeway,
        };
        leeway(tolerance, self.encoding(), k).map(whole).filter(|leeway| leeway.by > 0.0)
    }

    /// Relations between numbers that involve some of these changes.
    fn bonds(&self, changes: &[Change]) -> Vec<Bond> {
        let changes = |name: &String| changes.iter().any(|change| change.feature == *name);
        let bond = |relation: &Relation| match &relation.rule {
            Some(rule) => {
                let words: Vec<String> = rule.split_whitespace().map(str::to_owned).collect();
                words.iter().any(changes).then_some(Bond::Rule(words))
            }
            None => relation
                .together
                .iter()
                .any(changes)
                .then(|| Bond::Together(relation.together.clone())),
        };
        self.encoding().columns().relations.iter().filter_map(bond).collect()
    }

    /// Whether a number is outside the range seen in training.
    fn is_outside(&self, k: usize, row: &[f64]) -> bool {
        let j = self.encoding().column_of(k);
        let range = self.engine.setup().ranges[j].filter(|_| !self.encoding().is_category(k));
        range.is_some_and(|[low, high]| !(low..=high).contains(&row[j]))
    }

    fn drifts(&self, changes: &[Change], misses: &[Option<f64>]) -> Vec<Drift> {
        let stays = |feature: &Feature| changes.iter().all(|change| change.feature != feature.name);
        let features = self.encoding().features().iter().zip(misses);
        features
            .filter(|(feature, _)| stays(feature))
            .filter_map(|(feature, miss)| {
                let (feature, unit) = (feature.name.clone(), feature.unit.clone());
                miss.map(|usual_miss| Drift { feature, unit, usual_miss })
            })
            .collect()
    }

    /// The usual miss of each feature for a person who aims at `to`; `None` for features without
    /// noise and for categories.
    fn misses(&self, person: &[f64], to: &[f64]) -> Result<Vec<Option<f64>>> {
        let (setup, encoding) = (self.engine.setup(), self.encoding());
        let mut active = vec![false; person.len()];
        setup.noise_on.active_into(&setup.actions, person, to, &mut active);
        let moved = setup.noise.at(&scaled(setup, person), &scaled(setup, to))?;
        let noise: &dyn Noise = moved.as_ref().map_or(setup.noise.as_ref(), |gaussian| gaussian);
        let miss = |k: usize| {
            let j = encoding.column_of(k);
            let noisy = active[j] && !encoding.is_category(k) && !person[j].is_nan();
            let size = if noisy { root_mean_square(noise, j)? * setup.space.width(j) } else { 0.0 };
            Some(size).filter(|size| *size > 0.0)
        };
        Ok((0..encoding.features().len()).map(miss).collect())
    }

    /// The principal reasons: the features that lower the person's score most, and how they were
    /// found.
    fn reasons(&self, person: &[f64], answer: &Answer) -> Result<(Vec<String>, Basis)> {
        let basis = if self.approved.is_empty() { Basis::Advice } else { Basis::Reference };
        if answer.status == Status::Favourable {
            return Ok((Vec::new(), basis));
        }
        let encoding = self.encoding();
        let mut weights: Vec<(usize, f64)> = Vec::new();
        if basis == Basis::Reference {
            let (now, n) = (self.engine.score(person)?, person.len());
            let people = self.approved.len() / n;
            for k in 0..encoding.features().len() {
                let mut gain = 0.0;
                for other in self.approved.chunks_exact(n) {
                    gain += self.engine.score(&with_feature(encoding, k, person, other))? - now;
                }
                weights.push((k, gain / people as f64));
            }
        } else {
            let best = if answer.nearest.is_empty() { &answer.point } else { &answer.nearest };
            let score = self.engine.score(best)?;
            for k in changed(encoding, person, best) {
                weights.push((
                    k,
                    score - self.engine.score(&with_feature(encoding, k, best, person))?,
                ));
            }
        }
        weights.sort_by(|a, b| b.1.total_cmp(&a.1));
        let most = weights.first().map_or(0.0, |(_, weight)| *weight);
        weights.retain(|(_, weight)| *weight > 0.0 && *weight >= PRINCIPAL * most);
        let name = |(k, _): &(usize, f64)| encoding.features()[*k].name.clone();
        Ok((weights.iter().take(REASONS).map(name).collect(), basis))
    }

    /// The limits that prevent an answer, feature by feature, if known.
    fn limits(
        &self,
        session: &mut Session<'_>,
        person: &[f64],
        answer: &Answer,
    ) -> Result<Vec<Limited>> {
        let Some(shortfall) = session.shortfall(person, answer)? else { return Ok(Vec::new()) };
        let encoding = self.encoding();
        let mut limits: Vec<Limited> = Vec::new();
        for (j, limit) in shortfall.limits {
            let k = encoding.feature_of(j);
            let feature = &encoding.features()[k];
            let stop = match limit {
                Limit::Immutable => Stop::Immutable,
                // People do not know the columns of a category. A letter can only say whether the
                // category may change.
                _ if encoding.is_category(k) => continue,
                Limit::Direction => Stop::Direction,
                Limit::AtMost(value) => Stop::AtMost(value),
                Limit::AtLeast(value) => Stop::AtLeast(value),
                Limit::MaxChanges => Stop::MaxChanges,
                _ => continue,
            };
            if limits.iter().all(|limited| limited.feature != feature.name) {
                limits.push(Limited {
                    feature: feature.name.clone(),
                    unit: feature.unit.clone(),
                    stop,
                });
            }
        }
        Ok(limits)
    }

    /// The relaxations that would help, in the person's units.
    pub fn reliefs(&self, person: &[f64], relaxations: &[Relaxation]) -> Vec<Relief> {
        let (setup, encoding) = (self.engine.setup(), self.encoding());
        let of = |column: usize, to: &dyn Fn(&Feature) -> Value| {
            let feature = &encoding.features()[encoding.feature_of(column)];
            let to = to(feature);
            let upward = if let Value::Number(to) = to { Some(to > person[column]) } else { None };
            Relief { feature: Some(feature.name.clone()), unit: feature.unit.clone(), to, upward }
        };
        let relief = |relaxation: &Relaxation| match relaxation.limit {
            Relaxed::AtMost { column, needed }
            | Relaxed::AtLeast { column, needed }
            | Relaxed::Direction { column, needed } => Some(of(column, &|_| Value::Number(needed))),
            Relaxed::Transition { group, option } => {
                let column = *setup.actions.groups().get(group)?.columns().first()?;
                Some(of(column, &|feature| Value::Category(feature.categories[option].clone())))
            }
            Relaxed::MaxChanges(most) => Some(Relief {
                feature: None,
                unit: None,
                to: Value::Number(most as f64),
                upward: None,
            }),
            _ => None,
        };
        relaxations.iter().filter_map(relief).collect()
    }

    fn encoding(&self) -> &Encoding {
        &self.engine.setup().encoding
    }
}

/// Features whose value differs.
fn changed(encoding: &Encoding, from: &[f64], to: &[f64]) -> Vec<usize> {
    let differs = |k: &usize| {
        let (a, b) = (encoding.value(*k, from), encoding.value(*k, to));
        a != b && !(a.is_nan() && b.is_nan())
    };
    (0..encoding.features().len()).filter(differs).collect()
}

/// `row` with feature `k` replaced by that of `other`.
fn with_feature(encoding: &Encoding, k: usize, row: &[f64], other: &[f64]) -> Vec<f64> {
    let pick = |j: usize| if encoding.feature_of(j) == k { other[j] } else { row[j] };
    (0..row.len()).map(pick).collect()
}

fn value(encoding: &Encoding, k: usize, columns: &[f64]) -> Value {
    match encoding.category(k, columns) {
        Some(category) => Value::Category(category.to_owned()),
        None => Value::Number(encoding.value(k, columns)),
    }
}

fn scaled(setup: &Setup, raw: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; raw.len()];
    setup.space.scale_into(raw, &mut out);
    // A missing value stays missing. Any number here makes its change and its cost zero.
    out.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = 0.0);
    out
}

/// The leeway that a tolerance leaves to feature `k`.
fn leeway(tolerance: &Tolerance, encoding: &Encoding, k: usize) -> Option<Leeway> {
    let of = |slacks: &[probe_core::Slack]| {
        slacks.iter().find(|s| encoding.feature_of(s.feature) == k).copied()
    };
    let until_no = of(&tolerance.favourable).and_then(|slack| {
        let side = match slack.harmful {
            Side::Below => LeewaySide::Below,
            Side::Above => LeewaySide::Above,
            Side::Either => return None,
        };
        Some(Leeway { side, by: slack.alone, steps: false })
    });
    let until_target = || {
        let slack = of(&tolerance.at_target).filter(|slack| slack.harmful == Side::Either)?;
        Some(Leeway { side: LeewaySide::Either, by: slack.alone, steps: false })
    };
    until_no.or_else(until_target).filter(|leeway| leeway.by > 0.0 && leeway.by.is_finite())
}

/// √E ε² of column `j`, scaled; `None` if the noise does not provide it.
fn root_mean_square(noise: &dyn Noise, j: usize) -> Option<f64> {
    if let Some(gaussian) = noise.as_gaussian() {
        return Some(gaussian.mean()[j].hypot(gaussian.sd(j)));
    }
    if let Some(independent) = noise.as_independent() {
        return Some(independent.mean(j).hypot(independent.sd(j)));
    }
    let residuals = noise.as_residuals()?;
    let sum: f64 = (0..residuals.n_rows()).map(|i| residuals.row(i)[j].powi(2)).sum();
    Some((sum / residuals.n_rows() as f64).sqrt())
}
