"""Our model files as what packages take: classifiers with `predict`, `predict_proba` and
`classes_`, as scikit-learn has them.

Trees become a forest or boosting of scikit-learn itself, with its own compiled scorer, so that
nobody is slowed down by a wrapper.
"""

import json

import numpy as np


class Classifier:
    """Probabilities from margins; favourable is class 1. Tables and arrays alike."""

    classes_ = np.array([0, 1])
    n_classes_ = 2
    _estimator_type = "classifier"

    def margin(self, x):
        raise NotImplementedError

    def predict_proba(self, x):
        m = self.margin(np.asarray(x, dtype=np.float64))
        p = 0.5 * (1.0 + np.tanh(0.5 * m))
        return np.stack([1.0 - p, p], axis=1)

    def predict(self, x):
        return (self.margin(np.asarray(x, dtype=np.float64)) > 0).astype(int)


class LinearModel(Classifier):
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias

    def margin(self, x):
        return x @ self.weights + self.bias


class Network(Classifier):
    """One hidden layer of rectifiers."""

    def __init__(self, w, b, v, c):
        self.w, self.b, self.v, self.c = w, b, v, c

    def margin(self, x):
        return np.maximum(x @ self.w.T + self.b, 0.0) @ self.v + self.c


class Forest(Classifier):
    """A forest of scikit-learn whose trees are ours; the score is the mean of their probabilities
    less one half.
    """

    def __init__(self, forest):
        self.forest = forest

    def margin(self, x):
        return self.forest.predict_proba(x)[:, 1] - 0.5

    def predict_proba(self, x):
        return self.forest.predict_proba(np.asarray(x, dtype=np.float64))


def outputs(layer):
    """Weights and bias of the margin; two softmax logits come down to their difference."""
    weight, bias = np.array(layer["weight"]), np.array(layer["bias"])
    return (weight[1] - weight[0], bias[1] - bias[0]) if len(bias) == 2 else (weight[0], bias[0])


def load(path):
    with open(path) as file:
        model = json.load(file)
    threshold = model.get("threshold", 0.0)
    if model["kind"] == "linear":
        weights, bias = outputs(model["layers"][0])
        return LinearModel(weights, bias - threshold)
    if model["kind"] == "mlp":
        hidden, last = model["layers"]
        v, c = outputs(last)
        return Network(np.array(hidden["weight"]), np.array(hidden["bias"]), v, c - threshold)
    if model["kind"] == "trees" and model["aggregate"] == "mean" and threshold == 0.0:
        return Forest(as_forest(model))
    raise ValueError(f"{path}: no classifier for a model of kind {model['kind']}")


def as_forest(model):
    """A scikit-learn forest with these trees: a fitted one of the right form whose trees are
    replaced.
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree._tree import Tree

    d = len(model["features"])
    forest = RandomForestClassifier(
        n_estimators=len(model["trees"]), max_depth=1, n_jobs=1, random_state=0
    )
    forest.fit(np.eye(max(d, 2), d), np.arange(max(d, 2)) % 2)
    for estimator, ours in zip(forest.estimators_, model["trees"]):
        tree = Tree(d, np.array([2], dtype=np.intp), 1)
        state = estimator.tree_.__getstate__()
        n = len(ours["left"])
        nodes = np.zeros(n, dtype=state["nodes"].dtype)
        left = np.array(ours["left"])
        leaf = left < 0
        nodes["left_child"], nodes["right_child"] = (
            np.where(leaf, -1, left),
            np.where(leaf, -1, ours["right"]),
        )
        nodes["feature"] = np.where(leaf, -2, numbers(ours["feature"]).astype(int))
        nodes["threshold"] = np.where(leaf, -2.0, numbers(ours["threshold"]))
        nodes["n_node_samples"], nodes["weighted_n_node_samples"] = 1, 1.0
        p = numbers(ours["value"])
        values = np.stack([1.0 - p, p], axis=1)[:, None, :]
        tree.__setstate__(
            {
                "max_depth": depth(ours),
                "node_count": n,
                "nodes": nodes,
                "values": np.ascontiguousarray(values),
            }
        )
        estimator.tree_ = tree
    return forest


def numbers(values):
    """What a node does not use may be null."""
    return np.array([0.0 if value is None else value for value in values], dtype=np.float64)


def depth(tree):
    deepest, todo = 0, [(0, 0)]
    while todo:
        node, level = todo.pop()
        deepest = max(deepest, level)
        if tree["left"][node] >= 0:
            todo += [(tree["left"][node], level + 1), (tree["right"][node], level + 1)]
    return deepest
