//! A model file read and scored once more, by code that shares nothing with the engine: rows of
//! text in, refusals out.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;

/// One column of the model: a feature's number, whether it is a category's, or its place among the
/// categories.
enum Source {
    Number { feature: String, zero: f64, width: f64 },
    Is { feature: String, category: String },
    Place { feature: String, categories: Vec<String> },
}

enum Kind {
    /// Layers of weights by output, with biases, and rectifiers between them.
    Layers(Vec<(Vec<Vec<f64>>, Vec<f64>)>),
    Trees {
        trees: Vec<Tree>,
        base: f64,
        or_equal: bool,
    },
}

struct Tree {
    feature: Vec<usize>,
    threshold: Vec<f64>,
    left: Vec<i64>,
    right: Vec<i64>,
    value: Vec<f64>,
}

/// A model.
pub(super) struct Scorer {
    sources: Vec<Source>,
    kind: Kind,
    threshold: f64,
    /// Columns that the noise acts on.
    noisy: Vec<usize>,
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map_or_else(Vec::new, |all| all.iter().filter_map(Value::as_f64).collect())
}

fn texts(value: &Value) -> Vec<String> {
    let all = value.as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Scorer {
    pub(super) fn new(file: &Value) -> Result<Self> {
        let features =
            file["schema"]["feature"].as_array().context("no schema in the model file")?;
        let mut sources = Vec::new();
        let mut noisy = Vec::new();
        for (j, column) in texts(&file["features"]).into_iter().enumerate() {
            let named = |name: &str| features.iter().find(|f| f["name"] == *name);
            sources.push(match named(&column) {
                Some(feature) if feature["kind"] == "categorical" => {
                    Source::Place { feature: column, categories: texts(&feature["categories"]) }
                }
                Some(feature) => {
                    let [zero, one] = numbers(&feature["scale"])[..] else {
                        bail!("no scale for {column}")
                    };
                    if feature["mutable"] == true {
                        noisy.push(j);
                    }
                    Source::Number { feature: column, zero, width: one - zero }
                }
                None => {
                    let (feature, category) =
                        column.split_once('=').context("an unknown column")?;
                    Source::Is { feature: feature.to_owned(), category: category.to_owned() }
                }
            });
        }
        let kind = match file["kind"].as_str() {
            Some("linear" | "mlp") => {
                let layer = |layer: &Value| {
                    let weight = layer["weight"].as_array().map_or(&[][..], Vec::as_slice);
                    (weight.iter().map(numbers).collect(), numbers(&layer["bias"]))
                };
                if file["kind"] == "mlp" && file["activation"] != "relu" {
                    bail!("activation {}", file["activation"]);
                }
                Kind::Layers(
                    file["layers"].as_array().context("no layers")?.iter().map(layer).collect(),
                )
            }
            Some("trees") => {
                if file["aggregate"] != "sum" {
                    bail!("aggregate {}", file["aggregate"]);
                }
                let tree = |tree: &Value| Tree {
                    feature: numbers(&tree["feature"])
                        .into_iter()
                        .map(|f| f.max(0.0) as usize)
                        .collect(),
                    threshold: numbers(&tree["threshold"]),
                    left: numbers(&tree["left"]).into_iter().map(|n| n as i64).collect(),
                    right: numbers(&tree["right"]).into_iter().map(|n| n as i64).collect(),
                    value: numbers(&tree["value"]),
                };
                Kind::Trees {
                    trees: file["trees"].as_array().context("no trees")?.iter().map(tree).collect(),
                    base: file["base"].as_f64().unwrap_or(0.0),
                    or_equal: file["split"] == "<=",
                }
            }
            other => bail!("kind {other:?}"),
        };
        Ok(Self { sources, kind, threshold: file["threshold"].as_f64().unwrap_or(0.0), noisy })
    }

    /// How many columns the noise acts on.
    pub(super) fn n_noisy(&self) -> usize {
        self.noisy.len()
    }

    /// The model's input for a row of text.
    pub(super) fn encode(&self, row: &BTreeMap<String, String>) -> Result<Vec<f64>> {
        let cell =
            |feature: &String| row.get(feature).with_context(|| format!("no column {feature}"));
        let column = |source: &Source| -> Result<f64> {
            Ok(match source {
                Source::Number { feature, zero, width } => {
                    (cell(feature)?.parse::<f64>()? - zero) / width
                }
                Source::Is { feature, category } => f64::from(cell(feature)? == category),
                Source::Place { feature, categories } => {
                    let own = cell(feature)?;
                    let place = categories.iter().position(|category| category == own);
                    place.with_context(|| format!("{feature} is '{own}', which is no category"))?
                        as f64
                }
            })
        };
        self.sources.iter().map(column).collect()
    }

    /// The score of an input, above the cut-off or not.
    pub(super) fn score(&self, x: &[f64]) -> f64 {
        let margin = match &self.kind {
            Kind::Layers(layers) => {
                let mut h = x.to_vec();
                for (i, (weight, bias)) in layers.iter().enumerate() {
                    let out = |(row, b): (&Vec<f64>, &f64)| {
                        b + row.iter().zip(&h).map(|(w, x)| w * x).sum::<f64>()
                    };
                    let next: Vec<f64> = weight.iter().zip(bias).map(out).collect();
                    h = if i + 1 < layers.len() {
                        next.into_iter().map(|v| v.max(0.0)).collect()
                    } else {
                        next
                    };
                }
                if h.len() == 2 { h[1] - h[0] } else { h[0] }
            }
            Kind::Trees { trees, base, or_equal } => {
                let leaf = |tree: &Tree| {
                    let mut node = 0;
                    while tree.left[node] >= 0 {
                        let (x, cut) = (x[tree.feature[node]], tree.threshold[node]);
                        let left = if *or_equal { x <= cut } else { x < cut };
                        node = if left { tree.left[node] } else { tree.right[node] } as usize;
                    }
                    tree.value[node]
                };
                base + trees.iter().map(leaf).sum::<f64>()
            }
        };
        margin - self.threshold
    }

    /// The share of errors that are refused at `x`: `errors` are standard normal, one row of
    /// `n_noisy` values after the other, times `sd`.
    pub(super) fn refused(&self, x: &[f64], errors: &[f64], sd: f64) -> f64 {
        let k = self.noisy.len();
        if k == 0 {
            return f64::from(self.score(x) <= 0.0);
        }
        let n = errors.len() / k;
        let refused = match &self.kind {
            Kind::Layers(layers) if layers.len() <= 2 => {
                self.refused_by_layers(layers, x, errors, sd)
            }
            Kind::Trees { trees, base, or_equal } => {
                let pruned: Vec<Pruned> =
                    trees.iter().map(|tree| self.prune(tree, x, *or_equal)).collect();
                let fixed: f64 = pruned
                    .iter()
                    .filter(|tree| tree.nodes.is_empty())
                    .map(|tree| tree.constant)
                    .sum();
                let moving: Vec<&Pruned> =
                    pruned.iter().filter(|tree| !tree.nodes.is_empty()).collect();
                let own: Vec<f64> = self.noisy.iter().map(|&j| x[j]).collect();
                let mut noisy = vec![0.0; k];
                let mut refused = 0;
                for row in errors.chunks_exact(k) {
                    for i in 0..k {
                        noisy[i] = own[i] + sd * row[i];
                    }
                    let sum: f64 = moving.iter().map(|tree| tree.value(&noisy, *or_equal)).sum();
                    refused += usize::from(base + fixed + sum - self.threshold <= 0.0);
                }
                refused
            }
            Kind::Layers(_) => {
                let mut noisy = x.to_vec();
                let mut refused = 0;
                for row in errors.chunks_exact(k) {
                    for (i, &j) in self.noisy.iter().enumerate() {
                        noisy[j] = x[j] + sd * row[i];
                    }
                    refused += usize::from(self.score(&noisy) <= 0.0);
                }
                refused
            }
        };
        refused as f64 / n as f64
    }

    /// [`Scorer::refused`] for at most one hidden layer: the part without noise is computed once.
    fn refused_by_layers(
        &self,
        layers: &[(Vec<Vec<f64>>, Vec<f64>)],
        x: &[f64],
        errors: &[f64],
        sd: f64,
    ) -> usize {
        let (weight, bias) = &layers[0];
        let sum =
            |(row, b): (&Vec<f64>, &f64)| b + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        let base: Vec<f64> = weight.iter().zip(bias).map(sum).collect();
        // By noisy column, then by unit.
        let moves: Vec<Vec<f64>> =
            self.noisy.iter().map(|&j| weight.iter().map(|row| sd * row[j]).collect()).collect();
        let difference =
            |values: &[f64]| if values.len() == 2 { values[1] - values[0] } else { values[0] };
        let last: Option<(Vec<f64>, f64)> = layers.get(1).map(|(weight, bias)| {
            let out =
                |unit: usize| difference(&weight.iter().map(|row| row[unit]).collect::<Vec<_>>());
            ((0..base.len()).map(out).collect(), difference(bias))
        });
        let mut h = base.clone();
        let mut refused = 0;
        for row in errors.chunks_exact(self.noisy.len()) {
            h.copy_from_slice(&base);
            for (e, column) in row.iter().zip(&moves) {
                h.iter_mut().zip(column).for_each(|(h, w)| *h += e * w);
            }
            let margin = match &last {
                None => difference(&h),
                Some((out, bias)) => {
                    bias + h.iter().zip(out).map(|(h, o)| h.max(0.0) * o).sum::<f64>()
                }
            };
            refused += usize::from(margin - self.threshold <= 0.0);
        }
        refused
    }

    /// A tree for people who differ from `x` in noisy columns only.
    fn prune(&self, tree: &Tree, x: &[f64], or_equal: bool) -> Pruned {
        let mut pruned = Pruned { nodes: Vec::new(), constant: 0.0 };
        if let Child::Leaf(value) = self.prune_from(tree, 0, x, or_equal, &mut pruned) {
            pruned.constant = value;
        }
        pruned
    }

    fn prune_from(
        &self,
        tree: &Tree,
        node: usize,
        x: &[f64],
        or_equal: bool,
        pruned: &mut Pruned,
    ) -> Child {
        if tree.left[node] < 0 {
            return Child::Leaf(tree.value[node]);
        }
        let (feature, cut) = (tree.feature[node], tree.threshold[node]);
        let (left, right) = (tree.left[node] as usize, tree.right[node] as usize);
        match self.noisy.iter().position(|&j| j == feature) {
            None => {
                let goes_left = if or_equal { x[feature] <= cut } else { x[feature] < cut };
                self.prune_from(tree, if goes_left { left } else { right }, x, or_equal, pruned)
            }
            Some(noisy) => {
                let at = pruned.nodes.len();
                pruned.nodes.push((noisy, cut, Child::Leaf(0.0), Child::Leaf(0.0)));
                let left = self.prune_from(tree, left, x, or_equal, pruned);
                let right = self.prune_from(tree, right, x, or_equal, pruned);
                (pruned.nodes[at].2, pruned.nodes[at].3) = (left, right);
                Child::Node(at)
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Child {
    Leaf(f64),
    Node(usize),
}

/// The remaining tree, node 0 first: noisy column, threshold and children.
struct Pruned {
    nodes: Vec<(usize, f64, Child, Child)>,
    constant: f64,
}

impl Pruned {
    fn value(&self, noisy: &[f64], or_equal: bool) -> f64 {
        let mut at = 0;
        loop {
            let (column, cut, left, right) = &self.nodes[at];
            let goes_left = if or_equal { noisy[*column] <= *cut } else { noisy[*column] < *cut };
            match if goes_left { left } else { right } {
                Child::Leaf(value) => return *value,
                Child::Node(next) => at = *next,
            }
        }
    }
}
