//! Ensembles of trees. Their cuts are moved to the columns of the input, through every scaler
//! before them, to the bit.

use super::super::graph::Graph;
use super::super::node::Node;
use super::super::value::{Columns, Ensemble, Scores, Value};
use super::scores::{check_two, n_classes};
use super::{Inputs, Made, need};
use crate::import::columns::Cell;
use crate::import::columns::Element;
use probe_core::model::{Aggregate, Split, Tree, TreeRules};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a leaf adds to the scores of both classes; of a regressor, to the first.
type Weights = [f64; 2];

/// An ensemble of the file, with its splits on columns of the input.
struct Forest {
    trees: Vec<Tree>,
    /// Of each tree, the weights of its nodes.
    weights: Vec<Vec<Weights>>,
    /// Which classes have weights.
    classes: [bool; 2],
    single: bool,
}

pub(super) fn classifier(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    check_two(n_classes(node, "classlabels_int64s")?)?;
    let forest = Forest::read(graph, node, inputs, "class")?;
    let bases = node.floats_or_tensor("base_values")?;
    let transform = node.text("post_transform", "NONE");
    let (aggregate, value, base) = forest.classified(&bases, &transform)?;
    Ok(vec![Value::Label, forest.finish(aggregate, &value, base)])
}

pub(super) fn regressor(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let targets = node.int("n_targets", 1);
    if targets != 1 {
        return Err(format!("{targets} targets: only one is read"));
    }
    let transform = node.text("post_transform", "NONE");
    if !matches!(transform.as_str(), "NONE" | "LOGISTIC") {
        return Err(format!("post_transform {transform}"));
    }
    let forest = Forest::read(graph, node, inputs, "target")?;
    let base = match node.floats_or_tensor("base_values")?[..] {
        [] => 0.0,
        [base] => base,
        ref more => return Err(format!("{} base_values for one target", more.len())),
    };
    let n = forest.trees.len() as f64;
    let value: Box<dyn Fn(Weights) -> f64> = match node.text("aggregate_function", "SUM").as_str() {
        "SUM" => Box::new(|w| w[0]),
        "AVERAGE" => Box::new(move |w| w[0] / n),
        other => return Err(format!("aggregate_function {other}")),
    };
    Ok(vec![forest.finish(Aggregate::Sum, &value, base)])
}

impl Forest {
    fn read(
        graph: &mut Graph,
        node: &Node<'_>,
        inputs: Inputs<'_>,
        of: &str,
    ) -> Result<Self, String> {
        let Value::Columns(columns) = need(inputs, 0)? else {
            return Err(format!(
                "it is applied to {}: only to columns of the input",
                need(inputs, 0)?.describe()
            ));
        };
        if columns.dims.len() != 1 {
            return Err(format!(
                "expected rows and columns, found {} dimensions",
                columns.dims.len() + 1
            ));
        }
        let nodes = Nodes::read(graph, node)?;
        let columns = compared(graph, columns)?;
        let (trees, single) = nodes.trees(graph, &columns)?;
        let weights = trees.iter().map(|tree| vec![[0.0; 2]; tree.left.len()]).collect();
        let mut forest = Self { trees, weights, classes: [false; 2], single };
        forest.read_weights(node, &nodes.places, of)?;
        Ok(forest)
    }

    fn read_weights(&mut self, node: &Node<'_>, places: &Places, of: &str) -> Result<(), String> {
        let ints = |what: &str| node.ints(&format!("{of}_{what}"));
        let (trees, nodes, classes) = (ints("treeids"), ints("nodeids"), ints("ids"));
        let weights = node.floats_or_tensor(&format!("{of}_weights"))?;
        let n = weights.len();
        if trees.len() != n || nodes.len() != n || classes.len() != n {
            return Err(format!(
                "{of}_treeids, {of}_nodeids, {of}_ids and {of}_weights differ in length"
            ));
        }
        let most = if of == "class" { 1 } else { 0 };
        for i in 0..n {
            let class = usize::try_from(classes[i]).ok().filter(|&class| class <= most);
            let class = class
                .ok_or_else(|| format!("{of}_ids: {} is not one of 0 to {most}", classes[i]))?;
            let place = places.get(&(trees[i], nodes[i]));
            let leaf = place.filter(|(tree, at)| self.trees[*tree].left[*at] == -1);
            let Some(&(tree, at)) = leaf else {
                return Err(format!(
                    "{of}_nodeids: node {} of tree {} is no leaf",
                    nodes[i], trees[i]
                ));
            };
            self.weights[tree][at][class] += weights[i];
            self.classes[class] = true;
        }
        Ok(())
    }

    /// Weights of all leaves.
    fn leaves(&self) -> impl Iterator<Item = Weights> {
        let of = |(tree, weights): (&Tree, &Vec<Weights>)| {
            let leaf = tree.left.iter().zip(weights.clone()).filter(|(left, _)| **left == -1);
            leaf.map(|(_, weights)| weights).collect::<Vec<_>>()
        };
        self.trees.iter().zip(&self.weights).flat_map(of)
    }

    /// How the leaves of a classifier make a margin: how they are taken together, what each is, and
    /// what is added.
    #[expect(clippy::type_complexity, reason = "told once, used once")]
    fn classified(
        &self,
        bases: &[f64],
        transform: &str,
    ) -> Result<(Aggregate, Box<dyn Fn(Weights) -> f64>, f64), String> {
        let n = self.trees.len() as f64;
        let no_base = bases.iter().all(|&base| base == 0.0);
        let opposite = self.leaves().all(|[no, yes]| no == -yes);
        let both = match self.classes {
            [one, true] => one,
            [true, false] => false,
            [false, false] => return Err("no leaf has a weight".to_owned()),
        };
        if self.classes == [false, true] {
            return Err(
                "class_ids: weights of class 1 alone, which runtimes take in different ways"
                    .to_owned(),
            );
        }
        if both {
            let (no, yes) = match *bases {
                [] => (0.0, 0.0),
                [no, yes] => (no, yes),
                _ => return Err(format!("{} base_values for two classes", bases.len())),
            };
            // Weights of float32 that are shares of one tree's one.
            let shares = self.leaves().all(|[no, yes]| {
                no >= 0.0
                    && yes >= 0.0
                    && ((no + yes) * n - 1.0).abs() <= 4.0 * f64::from(f32::EPSILON)
            });
            return match transform {
                "NONE" if shares && no_base => {
                    Ok((Aggregate::Mean, Box::new(|[no, yes]| yes / (no + yes)), 0.0))
                }
                "NONE" | "LOGISTIC" if opposite && no == -yes => {
                    Ok((Aggregate::Sum, Box::new(|[_, yes]| yes), yes))
                }
                "SOFTMAX" => Ok((Aggregate::Sum, Box::new(|[no, yes]| yes - no), yes - no)),
                _ => Err(format!(
                    "post_transform {transform} of leaves whose weights are neither probabilities \
                     nor each other's negative"
                )),
            };
        }
        let base = match *bases {
            [] => 0.0,
            [base] => base,
            _ => return Err(format!("{} base_values for one class", bases.len())),
        };
        // The one score is of the second class, whatever class its weights name. If none is
        // negative it is a probability, not a margin.
        let probability = self.leaves().all(|[score, _]| score >= 0.0);
        match transform {
            "NONE" if probability && no_base => {
                Ok((Aggregate::Mean, Box::new(move |[score, _]| share(score, n)), 0.0))
            }
            "NONE" if probability => Err("base_values are added to probabilities".to_owned()),
            "NONE" | "LOGISTIC" => Ok((Aggregate::Sum, Box::new(|[score, _]| score), base)),
            _ => Err(format!("post_transform {transform} of one score")),
        }
    }

    fn finish(mut self, aggregate: Aggregate, value: &dyn Fn(Weights) -> f64, base: f64) -> Value {
        for (tree, weights) in self.trees.iter_mut().zip(&self.weights) {
            for (at, weights) in weights.iter().enumerate().filter(|(at, _)| tree.left[*at] == -1) {
                tree.value[at] = value(*weights);
            }
        }
        let rules = TreeRules { split: Split::AtMost, aggregate, base, single: self.single };
        Value::Scores(Scores::Trees(Rc::new(Ensemble { trees: self.trees, rules })))
    }
}

/// Columns as they are compared: whole numbers as float32.
fn compared(graph: &mut Graph, columns: &Columns) -> Result<Columns, String> {
    graph.spend(columns.cells.iter().map(|cell| 8 + 2 * cell.n_steps()).sum())?;
    let cast = |cell: &Cell| match cell.element {
        Element::Whole if !cell.truncated => cell.cast(Element::Single),
        _ => Ok(cell.clone()),
    };
    let cells = columns.cells.iter().map(cast).collect::<Result<_, _>>()?;
    Ok(Columns { dims: columns.dims.clone(), cells })
}

/// The probability of which `weight` is the n-th part as float32. Several may be: the one with the
/// fewest digits, so that trees whose leaves are pure sum to whole numbers and ties stay ties.
fn share(weight: f64, n: f64) -> f64 {
    let near = (weight * n) as f32;
    let candidates = [near.next_down(), near, near.next_up()];
    let fitting =
        candidates.into_iter().filter(|&p| f64::from((f64::from(p) / n) as f32) == weight);
    fitting.max_by_key(|p| p.to_bits().trailing_zeros()).map_or(weight * n, f64::from)
}

/// Tree and node, by what the file calls them.
type Places = BTreeMap<(i64, i64), (usize, usize)>;

/// Nodes as they are listed.
struct Nodes<'m> {
    trees: &'m [i64],
    features: &'m [i64],
    modes: Vec<String>,
    values: Vec<f64>,
    children: [&'m [i64]; 2],
    /// Whether a missing value takes the branch of a true comparison; empty if no node says so.
    tracks_true: &'m [i64],
    places: Places,
    n_trees: usize,
}

impl<'m> Nodes<'m> {
    fn read(graph: &mut Graph, node: &Node<'m>) -> Result<Self, String> {
        let (trees, ids) = (node.ints("nodes_treeids"), node.ints("nodes_nodeids"));
        graph.spend(ids.len().saturating_mul(16))?;
        let mut nodes = Self {
            trees,
            features: node.ints("nodes_featureids"),
            modes: node.texts("nodes_modes")?,
            values: node.floats_or_tensor("nodes_values")?,
            children: [node.ints("nodes_truenodeids"), node.ints("nodes_falsenodeids")],
            tracks_true: node.ints("nodes_missing_value_tracks_true"),
            places: Places::new(),
            n_trees: 0,
        };
        // Where no node sends missing values anywhere, the model was not made for them.
        if nodes.tracks_true.iter().all(|&side| side == 0) {
            nodes.tracks_true = &[];
        }
        let lengths = [
            ("nodes_nodeids", ids.len()),
            ("nodes_featureids", nodes.features.len()),
            ("nodes_modes", nodes.modes.len()),
            ("nodes_values", nodes.values.len()),
            ("nodes_truenodeids", nodes.children[0].len()),
            ("nodes_falsenodeids", nodes.children[1].len()),
            (
                "nodes_missing_value_tracks_true",
                nodes.tracks_true.len().max(if nodes.tracks_true.is_empty() {
                    trees.len()
                } else {
                    0
                }),
            ),
        ];
        if let Some((name, n)) = lengths.into_iter().find(|(_, n)| *n != trees.len()) {
            return Err(format!("{name} has {n} entries, nodes_treeids {}", trees.len()));
        }
        let mut numbers: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
        for (&tree, &id) in trees.iter().zip(ids) {
            let next = numbers.len();
            let (number, size) = numbers.entry(tree).or_insert((next, 0));
            if nodes.places.insert((tree, id), (*number, *size)).is_some() {
                return Err(format!("node {id} of tree {tree} is given twice"));
            }
            *size += 1;
        }
        nodes.n_trees = numbers.len();
        Ok(nodes)
    }

    /// The trees on columns of the input, and whether values are compared as float32.
    fn trees(&self, graph: &Graph, columns: &Columns) -> Result<(Vec<Tree>, bool), String> {
        let splits = || (0..self.trees.len()).filter(|&i| self.modes[i] != "LEAF");
        let mut single = true;
        let mut takes_missing = !self.tracks_true.is_empty();
        for i in splits() {
            let cell = self.cell(i, columns)?;
            single &= cell.is_single();
            takes_missing &= !cell.imputed;
        }
        let mut trees = vec![Tree::default(); self.n_trees];
        for i in 0..self.trees.len() {
            let name = self.trees[i];
            let find = |side: usize| {
                let child = self.children[side][i];
                let place = self.places.get(&(name, child));
                place
                    .map(|(_, at)| *at as i64)
                    .ok_or_else(|| format!("tree {name} has no node {child}"))
            };
            // Nodes of one tree come in the order of their places.
            let number = self.number_of(name)?;
            let tree = &mut trees[number];
            let at = tree.push_leaf(0.0);
            let mut left = false;
            if self.modes[i] != "LEAF" {
                let cell = self.cell(i, columns)?;
                let threshold = match self.modes[i].as_str() {
                    "BRANCH_LEQ" => self.values[i],
                    "BRANCH_LT" => self.values[i].next_down(),
                    other => return Err(format!("nodes_modes: {other} of a node of tree {name}")),
                };
                if threshold.is_nan() {
                    return Err(format!("nodes_values: NaN of a node of tree {name}"));
                }
                // Infinite where only missing values take the other branch.
                let threshold = threshold.clamp(-f64::MAX, f64::MAX);
                let (mut at_most, mut above) = (find(0)?, find(1)?);
                left = self.tracks_true.get(i).is_some_and(|&side| side != 0);
                tree.feature[at] = graph.column(cell.source)?;
                tree.threshold[at] = threshold;
                if !single {
                    let cut = cell.cut(threshold)?;
                    tree.threshold[at] = cut.at;
                    if cut.falls {
                        (at_most, above, left) = (above, at_most, !left);
                    }
                }
                (tree.left[at], tree.right[at]) = (at_most, above);
            }
            if takes_missing {
                tree.default_left.push(left);
            }
        }
        Ok((trees, single))
    }

    fn number_of(&self, name: i64) -> Result<usize, String> {
        let first = self.places.range((name, i64::MIN)..).next();
        first.map(|(_, place)| place.0).ok_or_else(|| format!("tree {name} has no node"))
    }

    fn cell<'c>(&self, i: usize, columns: &'c Columns) -> Result<&'c Cell, String> {
        let feature = self.features[i];
        let cell = usize::try_from(feature).ok().and_then(|j| columns.cells.get(j));
        cell.ok_or_else(|| {
            format!("nodes_featureids: {feature} of {} columns", columns.cells.len())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn shares_of_any_number_of_trees_are_found_again() {
        for n in 1..=1000 {
            for p in [0.0, 0.25, 0.5, 0.75, 1.0] {
                let weight = f64::from((p / f64::from(n)) as f32);
                assert_eq!(share(weight, f64::from(n)), p, "{n}");
            }
        }
        // No probability of one tree in two has this weight, which is no float32.
        assert_eq!(share(0.3, 2.0), 0.6);
    }
}
