//! From an engine and a person to the data of a report.

use super::data::{
    Answer, Cloud, CloudAxis, Frontier, FrontierPoint, ModelCard, PersonFeature, Region, Report,
    Sample, Settings, Value,
};
use probe_core::{Engine, Feature, Key, Purpose, Reason, Result, Rows, RowsMut, Schema, Status};

/// Number of noisy implementations drawn for the cloud.
const DRAWS: usize = 500;

/// The input of a report on one person.
pub struct PersonReport<'a> {
    /// The engine that answers.
    pub engine: &'a Engine,
    /// Units, where known; features in the model's order.
    pub schema: Option<&'a Schema>,
    /// The person, raw.
    pub person: &'a [f64],
    /// The answer to the person.
    pub answer: &'a probe_core::Answer,
    /// Rates of the frontier.
    pub rates: &'a [f64],
}

/// The features of a person with what the answer asks of each.
pub fn feature_rows(input: &PersonReport<'_>) -> Result<Vec<PersonFeature>> {
    let PersonReport { engine, person, answer, .. } = *input;
    let (setup, gaussian) = (engine.setup(), engine.task().noise.as_gaussian());
    let encoding = &setup.encoding;
    let tolerance = engine.tolerance(person, answer)?;
    let active = active(input);
    let (from, to) = (scaled(engine, person), scaled(engine, &answer.point));
    // What this feature alone costs.
    let cost = |k: usize| {
        let alone: Vec<f64> = (0..from.len())
            .map(|j| if encoding.feature_of(j) == k { to[j] } else { from[j] })
            .collect();
        setup.cost.between(&from, &alone)
    };
    let total: f64 = (0..encoding.features().len()).map(cost).sum();
    let row = |(k, feature): (usize, &Feature)| {
        let (j, number) = (encoding.column_of(k), !encoding.is_category(k));
        let slack =
            tolerance.as_ref().and_then(|t| t.favourable.iter().find(|s| s.feature == j && number));
        let value = |columns: &[f64]| match encoding.category(k, columns) {
            Some(category) => Value::Category(category.to_owned()),
            None => Value::Number(encoding.value(k, columns)),
        };
        PersonFeature {
            name: feature.name.clone(),
            unit: feature.unit.clone(),
            mutable: setup.actions.room(j).mutable,
            current: value(person),
            recommended: value(&answer.point),
            scaled_change: if number { to[j] - from[j] } else { 0.0 },
            cost_share: if total > 0.0 { cost(k) / total } else { 0.0 },
            tolerance: slack.map(|s| s.alone),
            noise_sd: gaussian
                .filter(|_| active[j] && number)
                .map(|g| g.sd(j) * setup.space.width(j)),
        }
    };
    Ok(encoding.features().iter().enumerate().map(row).collect())
}

/// The best point there is: the answer, or the nearest to one.
fn centre<'a>(input: &'a PersonReport<'_>) -> &'a [f64] {
    if input.answer.nearest.is_empty() { &input.answer.point } else { &input.answer.nearest }
}

fn scaled(engine: &Engine, raw: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; raw.len()];
    engine.setup().space.scale_into(raw, &mut out);
    out
}

/// Which features the noise acts on when the person aims at the best point there is.
fn active(input: &PersonReport<'_>) -> Vec<bool> {
    let engine = input.engine;
    let mut active = vec![false; input.person.len()];
    let (from, to) = (scaled(engine, input.person), scaled(engine, centre(input)));
    engine.setup().noise_on.active_into(&engine.setup().actions, &from, &to, &mut active);
    active
}

impl PersonReport<'_> {
    /// The report, without comparison and batch parts.
    pub fn build(&self, title: &str, who: &str, model: ModelCard) -> Result<Report> {
        let setup = self.engine.setup();
        let answer = self.answer;
        let given = matches!(answer.status, Status::Certified | Status::Found);
        Ok(Report {
            title: title.to_owned(),
            person: who.to_owned(),
            model,
            settings: Settings {
                max_rate: setup.max_rate,
                noise: setup.noise.name().to_owned(),
                sigma: None,
                noise_on: setup.noise_on,
                cost: setup.cost.norm().name().to_owned(),
                method: setup.method.clone(),
                seed: setup.seed.0,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            features: feature_rows(self)?,
            answer: Answer {
                status: answer.status,
                reason: answer.reason.map_or_else(String::new, |r| Reason::code(r).to_owned()),
                proven: answer.proven,
                cost: answer.cost.filter(|_| given),
                rate: Some(answer.rate).filter(|_| given),
                bound: None,
                best_rate: answer.best_rate,
                score_before: answer.score_before,
                score_after: Some(answer.score_after).filter(|_| given),
            },
            frontier: Some(self.frontier()?),
            cloud: self.cloud()?,
            batch: None,
            methods: Vec::new(),
            network: None,
            letter: None,
        })
    }

    fn frontier(&self) -> Result<Frontier> {
        // Just below one half: the cheapest change that flips the decision.
        const FLIP: f64 = 0.499;
        let mut rates = self.rates.to_vec();
        rates.push(FLIP);
        let answers = self.engine.session().frontier(self.person, &rates)?;
        let point = |(answer, &target_rate): (&probe_core::Answer, &f64)| {
            let cost = answer.cost.filter(|_| answer.status == Status::Certified)?;
            Some(FrontierPoint { target_rate, rate: answer.rate, cost, changed: answer.changed })
        };
        let flip = answers.iter().zip(&rates).next_back().and_then(point);
        let points: Vec<FrontierPoint> = answers.iter().zip(self.rates).filter_map(point).collect();
        let chosen = points.iter().position(|p| p.target_rate == self.engine.setup().max_rate);
        Ok(Frontier { points, chosen, cheapest_flip: flip })
    }

    /// Noisy implementations in the two features that matter most; `None` for models without
    /// weights or with one feature.
    fn cloud(&self) -> Result<Option<Cloud>> {
        let (setup, task) = (self.engine.setup(), self.engine.task());
        let (Some(linear), Some(gaussian)) = (task.model.as_linear(), task.noise.as_gaussian())
        else {
            return Ok(None);
        };
        let active = active(self);
        let (from, to) = (scaled(self.engine, self.person), scaled(self.engine, centre(self)));
        // Changed features first, the costliest change leading; then what the score reacts to most.
        let effect = |j: usize| (linear.weights()[j] * gaussian.sd(j)).abs();
        let moved = |j: usize| setup.cost.weight(j, to[j] - from[j]) * (to[j] - from[j]).abs();
        // A category has no axis.
        let mut order: Vec<usize> =
            (0..to.len()).filter(|&j| !setup.actions.is_grouped(j)).collect();
        order.sort_by(|&a, &b| {
            moved(b)
                .total_cmp(&moved(a))
                .then(active[b].cmp(&active[a]))
                .then(effect(b).total_cmp(&effect(a)))
        });
        let &[x, y, ..] = order.as_slice() else { return Ok(None) };
        let axis = |j: usize| CloudAxis {
            name: setup.names[j].clone(),
            unit: self.schema.and_then(|s| s.feature(&setup.names[j])).and_then(|f| f.unit.clone()),
            person: self.person[j],
            centre: centre(self)[j],
            sd: if active[j] { gaussian.sd(j) * setup.space.width(j) } else { 0.0 },
        };
        let sds = gaussian.sd(x) * gaussian.sd(y);
        let correlation = if active[x] && active[y] && sds > 0.0 {
            gaussian.covariance_of(x, y) / sds
        } else {
            0.0
        };
        let (a, b) = (
            linear.weights()[x] / setup.space.width(x),
            linear.weights()[y] / setup.space.width(y),
        );
        let score = task.model.score(&to)?;
        let c = a * centre(self)[x] + b * centre(self)[y] - score;
        Ok(Some(Cloud {
            x: axis(x),
            y: axis(y),
            correlation,
            region: Some(Region::HalfPlane { a, b, c }),
            samples: self.samples(&to, &active, x, y)?,
            others_noisy: (0..to.len())
                .any(|j| active[j] && j != x && j != y && linear.weights()[j] != 0.0),
        }))
    }

    fn samples(&self, to: &[f64], active: &[bool], x: usize, y: usize) -> Result<Vec<Sample>> {
        let (setup, task) = (self.engine.setup(), self.engine.task());
        let d = to.len();
        let mut stream = setup.seed.stream(Purpose::Audit, Key::default().values(to).finish());
        let mut points = vec![0.0; DRAWS * d];
        task.noise.sample_into(&mut stream, RowsMut::new(&mut points, d)?);
        for row in points.chunks_exact_mut(d) {
            for (j, e) in row.iter_mut().enumerate() {
                *e = to[j] + if active[j] { *e } else { 0.0 };
            }
        }
        let mut scores = vec![0.0; DRAWS];
        task.model.score_batch(Rows::new(&points, d)?, &mut scores)?;
        let sample = |(row, score): (&[f64], &f64)| Sample {
            x: setup.space.to_raw(x, row[x]),
            y: setup.space.to_raw(y, row[y]),
            accepted: *score > 0.0,
        };
        Ok(points.chunks_exact(d).zip(&scores).map(sample).collect())
    }
}
