//! Small random schemas with steps, bounds, directions and categories, and every row that a person
//! may be told.

use probe_core::schema::Kind;
use probe_core::{Coding, Direction, Encoding, Feature, Schema, Stream};

/// A schema, a person, and the values each feature may take.
pub(crate) struct World {
    pub schema: Schema,
    pub person: Vec<f64>,
    /// Admissible raw values of each feature, the person's own first.
    pub values: Vec<Vec<f64>>,
}

impl World {
    pub(crate) fn random(stream: &mut Stream) -> Self {
        let n_numbers = 1 + stream.below(3);
        let n_categories = stream.below(3);
        let (mut features, mut person, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..n_numbers {
            let (feature, x, may) = number(stream, k);
            features.push(feature);
            person.push(x);
            values.push(may);
        }
        for k in 0..n_categories {
            let (feature, x, may) = category(stream, k);
            features.push(feature);
            person.push(x);
            values.push(may);
        }
        Self { schema: Schema::new(features), person, values }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::new(&self.schema, &self.schema.column_names()).unwrap()
    }

    pub(crate) fn encoded(&self, row: &[f64]) -> Vec<f64> {
        let encoding = self.encoding();
        let mut columns = vec![0.0; encoding.columns().features.len()];
        encoding.encode_into(row, &mut columns);
        columns
    }

    /// Calls `each` with every admissible row that changes at most `most` features.
    pub(crate) fn rows(&self, most: usize, each: &mut dyn FnMut(&[f64])) {
        let mut row = self.person.clone();
        self.rows_from(0, most, &mut row, each);
    }

    fn rows_from(&self, k: usize, most: usize, row: &mut Vec<f64>, each: &mut dyn FnMut(&[f64])) {
        if k == row.len() {
            return each(row);
        }
        for (i, value) in self.values[k].iter().enumerate() {
            let spent = usize::from(i > 0);
            if spent <= most {
                row[k] = *value;
                self.rows_from(k + 1, most - spent, row, each);
            }
        }
        row[k] = self.person[k];
    }

    /// The l1, l2 and linf cost of a change, worked out feature by feature.
    pub(crate) fn costs(&self, row: &[f64]) -> [f64; 3] {
        let mut moves = Vec::new();
        for ((feature, from), to) in self.schema.features.iter().zip(&self.person).zip(row) {
            if from == to {
                continue;
            }
            let (up, down) = (
                feature.cost_up.unwrap_or(feature.cost),
                feature.cost_down.unwrap_or(feature.cost),
            );
            match (feature.kind, feature.encoding) {
                (Kind::Categorical, _) if !feature.transition_costs.is_empty() => {
                    let name = |option: f64| feature.categories[option as usize].clone();
                    moves.push(feature.transition_costs[&name(*from)][&name(*to)]);
                }
                (Kind::Categorical, None | Some(Coding::Onehot)) => moves.extend([up, down]),
                (Kind::Categorical, Some(_)) => {
                    moves.push((to - from).abs() * if to > from { up } else { down });
                }
                _ => {
                    let width = feature.scale.map_or(1.0, |[zero, one]| one - zero);
                    moves.push((to - from).abs() / width * if to > from { up } else { down });
                }
            }
        }
        let sum = moves.iter().sum();
        let root = moves.iter().map(|m| m * m).sum::<f64>().sqrt();
        [sum, root, moves.iter().copied().fold(0.0, f64::max)]
    }
}

fn number(stream: &mut Stream, k: usize) -> (Feature, f64, Vec<f64>) {
    let step = [0.25, 0.5, 1.0, 2.0][stream.below(4)];
    let n_steps = 3 + stream.below(6);
    let low = step * (stream.below(5) as f64 - 2.0);
    let high = low + step * n_steps as f64;
    let mut feature = Feature::numeric(&format!("n{k}"));
    (feature.min, feature.max, feature.step) = (Some(low), Some(high), Some(step));
    if step == 1.0 && stream.below(2) == 0 {
        (feature.kind, feature.step) = (Kind::Integer, None);
    }
    feature.scale = Some([low, high]);
    feature.cost = 0.5 + stream.uniform();
    if stream.below(2) == 0 {
        feature.cost_down = Some(0.5 + stream.uniform());
    }
    feature.direction =
        [Direction::Any, Direction::Any, Direction::Increase, Direction::Decrease][stream.below(4)];
    feature.mutable = stream.below(6) > 0;
    // On a step or between two.
    let at = stream.below(n_steps) as f64 + if stream.below(2) == 0 { 0.0 } else { 0.3 };
    let x = low + step * at;
    let mut values = vec![x];
    for i in 0..=n_steps {
        let value = low + step * i as f64;
        let fits = match feature.direction {
            Direction::Any => value != x,
            Direction::Increase => value > x,
            Direction::Decrease => value < x,
        };
        if fits && feature.mutable {
            values.push(value);
        }
    }
    (feature, x, values)
}

fn category(stream: &mut Stream, k: usize) -> (Feature, f64, Vec<f64>) {
    let encoding =
        [Coding::Onehot, Coding::Onehot, Coding::Ordinal, Coding::Binary][stream.below(4)];
    let n = if encoding == Coding::Binary { 2 } else { 2 + stream.below(3) };
    let mut feature = Feature::numeric(&format!("c{k}"));
    feature.kind = Kind::Categorical;
    feature.encoding = Some(encoding);
    feature.categories = (0..n).map(|o| format!("v{o}")).collect();
    feature.cost = 0.05 + 0.4 * stream.uniform();
    feature.mutable = stream.below(6) > 0;
    let x = stream.below(n);
    let mut may: Vec<bool> = vec![true; n];
    if stream.below(3) == 0 {
        may = (0..n).map(|_| stream.below(2) == 0).collect();
        let to = (0..n).filter(|&o| may[o]).map(|o| format!("v{o}")).collect();
        feature.transitions.insert(format!("v{x}"), to);
    }
    if stream.below(3) == 0 {
        for a in 0..n {
            let costs = (0..n).map(|b| (format!("v{b}"), 0.05 + stream.uniform())).collect();
            feature.transition_costs.insert(format!("v{a}"), costs);
        }
    }
    let others = (0..n).filter(|&o| o != x && may[o] && feature.mutable).map(|o| o as f64);
    let values = std::iter::once(x as f64).chain(others).collect();
    (feature, x as f64, values)
}

#[test]
fn features_come_back_from_their_columns() {
    use probe_core::{Purpose, Seed};
    for case in 0..500 {
        let mut stream = Seed(3).stream(Purpose::Data, case);
        let world = World::random(&mut stream);
        let mut names = world.schema.column_names();
        // Models name their columns in any order, and may leave out one of a one-hot feature's.
        let left_out =
            world.schema.features.iter().position(|f| f.encoding == Some(Coding::Onehot));
        if let Some(k) = left_out.filter(|_| case % 2 == 0) {
            let category = format!("c{}=v0", world.schema.features[k].name.trim_start_matches('c'));
            names.retain(|name| *name != category);
        }
        let turn = stream.below(names.len());
        names.rotate_left(turn);
        let encoding = Encoding::new(&world.schema, &names).unwrap();
        let mut columns = vec![f64::NAN; names.len()];
        world.rows(usize::MAX, &mut |row| {
            // The encoding has the features in the order of their first columns.
            let place =
                |f: &Feature| world.schema.features.iter().position(|g| g.name == f.name).unwrap();
            let ordered: Vec<f64> = encoding.features().iter().map(|f| row[place(f)]).collect();
            encoding.encode_into(&ordered, &mut columns);
            let mut back = vec![f64::NAN; ordered.len()];
            encoding.decode_into(&columns, &mut back).unwrap();
            assert_eq!(back, ordered, "case {case}");
        });
    }
}
