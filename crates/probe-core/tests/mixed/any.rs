//! For any schema and any person: an admissible answer, or a reason. Rules are worked
//! out from the schema once more, in raw units.

use super::refusal::{Maker, linear, network, trees};
use probe_core::schema::{Kind, Relation};
use probe_core::{
    Answer, Coding, Direction, Encoding, Engine, Feature, Purpose, Schema, Seed, Setup, Status,
    Stream,
};

fn pick<T: Copy>(stream: &mut Stream, from: &[T]) -> T {
    from[stream.below(from.len())]
}

/// A feature of any kind, with or without bounds, steps, units, directions and costs, and a value
/// that need not keep to any of them.
fn feature(stream: &mut Stream, k: usize) -> (Feature, f64) {
    let mut feature = Feature::numeric(&format!("f{k}"));
    feature.mutable = stream.below(5) > 0;
    feature.cost = 0.2 + stream.uniform();
    feature.direction =
        pick(stream, &[Direction::Any, Direction::Any, Direction::Increase, Direction::Decrease]);
    if stream.below(3) == 0 {
        feature.kind = Kind::Categorical;
        let coding = pick(stream, &[Coding::Onehot, Coding::Binary, Coding::Ordinal]);
        feature.encoding = Some(coding);
        if coding == Coding::Onehot {
            feature.direction = Direction::Any;
        }
        let n = if coding == Coding::Binary { 2 } else { 2 + stream.below(3) };
        feature.categories = (0..n).map(|o| format!("v{o}")).collect();
        feature.p_fail = pick(stream, &[None, None, Some(0.01), Some(0.3)]);
        if stream.below(3) == 0 {
            feature.transitions.insert("v0".to_owned(), vec![format!("v{}", n - 1)]);
        }
        return (feature, stream.below(n) as f64);
    }
    let width = pick(stream, &[0.01, 1.0, 50.0, 1e5]);
    let zero = width * (stream.below(5) as f64 - 2.0);
    feature.scale = Some([zero, zero + width]);
    let x = zero + width * (1.4 * stream.uniform() - 0.2);
    feature.min = pick(stream, &[None, Some(zero)]);
    feature.max = pick(stream, &[None, Some(zero + width), Some(zero + 1.5 * width)]);
    match stream.below(4) {
        0 => feature.kind = Kind::Integer,
        1 => feature.step = Some(width * pick(stream, &[0.01, 0.125, 0.3])),
        _ => {}
    }
    // Whole numbers are usually held as such.
    (feature.clone(), if feature.kind == Kind::Integer { x.round() } else { x })
}

/// Whether every rule of the schema is kept; relations are `a <= b` here.
fn check(schema: &Schema, from: &[f64], to: &[f64], case: u64) {
    let mut changed = 0;
    for (k, feature) in schema.features.iter().enumerate() {
        let (x, y) = (from[k], to[k]);
        if x == y {
            continue;
        }
        changed += 1;
        let told = format!("case {case}: {} from {x} to {y}: {feature:?}", feature.name);
        assert!(feature.mutable, "{told}");
        match feature.direction {
            Direction::Any => {}
            Direction::Increase => assert!(y > x, "{told}"),
            Direction::Decrease => assert!(y < x, "{told}"),
        }
        if feature.kind == Kind::Categorical {
            assert!(
                y.fract() == 0.0 && (0.0..feature.categories.len() as f64).contains(&y),
                "{told}"
            );
            let may = feature.transitions.get(&feature.categories[x as usize]);
            assert!(may.is_none_or(|may| may.contains(&feature.categories[y as usize])), "{told}");
            continue;
        }
        assert!(feature.min.is_none_or(|min| y >= min.min(x)), "{told}");
        assert!(feature.max.is_none_or(|max| y <= max.max(x)), "{told}");
        let step = feature.step.or((feature.kind == Kind::Integer).then_some(1.0));
        if let Some(step) = step {
            let at = y / step;
            assert!((at - at.round()).abs() <= 1e-9 * at.abs().max(1.0), "{told}");
        }
    }
    assert!(
        schema.max_changes.is_none_or(|most| changed <= most),
        "case {case}: {changed} changes"
    );
    for relation in &schema.relations {
        let (a, b) = relation.rule.as_deref().and_then(|rule| rule.split_once(" <= ")).unwrap();
        let place = |name: &str| schema.features.iter().position(|f| f.name == name).unwrap();
        let (a, b) = (place(a), place(b));
        let near = 1e-9 * (from[a].abs() + from[b].abs() + to[a].abs() + to[b].abs() + 1.0);
        assert!(
            to[a] - to[b] <= f64::max(0.0, from[a] - from[b]) + near,
            "case {case}: {relation:?} {to:?}"
        );
    }
}

/// Answers for random schemas: how many were certified, and how many had none.
fn ask(seed: u64, n_cases: u64, make: Maker) -> (usize, usize) {
    let (mut certified, mut none) = (0, 0);
    for case in 0..n_cases {
        let mut stream = Seed(seed).stream(Purpose::Data, case);
        let n = 1 + stream.below(5);
        let (features, person): (Vec<Feature>, Vec<f64>) =
            (0..n).map(|k| feature(&mut stream, k)).unzip();
        let numbers: Vec<&Feature> =
            features.iter().filter(|f| f.kind != Kind::Categorical).collect();
        let mut relations = Vec::new();
        if numbers.len() > 1 && stream.below(3) == 0 {
            let rule = format!("{} <= {}", numbers[0].name, numbers[1].name);
            relations.push(Relation { rule: Some(rule), ..Relation::default() });
        }
        let mut schema = Schema { relations, ..Schema::new(features) };
        schema.max_changes = pick(&mut stream, &[None, None, Some(1), Some(2)]);
        let names = schema.column_names();
        let encoding = Encoding::new(&schema, &names).unwrap();
        // The encoding has numbers first.
        let order: Vec<usize> = encoding
            .features()
            .iter()
            .map(|f| schema.features.iter().position(|g| g.name == f.name).unwrap())
            .collect();
        let ordered: Vec<f64> = order.iter().map(|&k| person[k]).collect();
        let mut at = vec![0.0; names.len()];
        encoding.encode_into(&ordered, &mut at);
        let mut scaled = vec![0.0; names.len()];
        encoding.columns().space().scale_into(&at, &mut scaled);
        let model = make(&scaled, 0.5 * stream.uniform() - 0.05, &mut stream);
        let mut setup = Setup::new(model, names, Some(&schema), 0.05).unwrap();
        setup.max_rate = pick(&mut stream, &[0.05, 0.2, 0.45]);
        setup.alternatives = pick(&mut stream, &[1, 1, 3]);
        let (r, engine) = (setup.max_rate, Engine::new(setup).unwrap());
        let mut session = engine.session();
        let mut answers = vec![Answer::new(at.len()); session.n_options()];
        session.recourse_options(&at, &mut answers).unwrap();
        for answer in &answers {
            let mut row = vec![0.0; n];
            encoding.decode_into(&answer.point, &mut row).unwrap();
            let mut to = vec![0.0; n];
            order.iter().zip(&row).for_each(|(&k, value)| to[k] = *value);
            check(&schema, &person, &to, case);
            match answer.status {
                Status::Certified => {
                    certified += 1;
                    assert!(
                        answer.rate_upper <= r && engine.score(&answer.point).unwrap() > 0.0,
                        "case {case}"
                    );
                }
                Status::Favourable => assert_eq!(to, person, "case {case}"),
                Status::Found => assert!(answer.reason.is_some(), "case {case}: {answer:?}"),
                Status::None => {
                    none += 1;
                    assert!(answer.reason.is_some() && to == person, "case {case}: {answer:?}");
                }
            }
        }
    }
    (certified, none)
}

#[test]
fn linear_models_answer_or_say_why() {
    let (certified, none) = ask(41, 1_000, linear);
    assert!(certified > 400 && none > 100, "{certified} {none}");
}

#[test]
fn networks_answer_or_say_why() {
    let (certified, none) = ask(42, 250, network);
    assert!(certified > 80 && none > 20, "{certified} {none}");
}

#[test]
fn trees_answer_or_say_why() {
    let (certified, none) = ask(43, 150, trees);
    assert!(certified > 30 && none > 20, "{certified} {none}");
}
