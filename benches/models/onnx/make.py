"""ONNX models of scikit-learn, PyTorch and by hand, with the margins that the library itself gives
on random rows.

    python make.py DIR            # 10,000 rows each
    python make.py DIR --small    # small models, 40 rows each: crates/probe-io/tests/models/onnx

Writes NAME.onnx and NAME.csv: the columns of the model as Probe names them, and the margin. Rows of
trees also lie on cuts and beside them. Where a file is not its library's model (it holds float32
where the library has doubles, which shows on cuts), margins are those of the ONNX runtime, and how
many rows that are is said. All data are made up.
"""

import argparse
import csv
import json
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import skl2onnx.common._container as container
import torch
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

warnings.filterwarnings("ignore")
OPSET = {"": 17, "ai.onnx.ml": 3}

# This version writes truth values where newer protobuf wants whole numbers.
make_node = container.make_node
container.make_node = lambda op, i, o, name=None, **attributes: make_node(
    op,
    i,
    o,
    name=name,
    **{
        key: [int(x) for x in value] if key == "nodes_missing_value_tracks_true" else value
        for key, value in attributes.items()
    },
)


class Maker:
    def __init__(self, folder: Path, large: bool):
        self.folder, self.large = folder, large
        self.n_rows = 10_000 if large else 40
        self.rng = np.random.default_rng(7)

    def size(self, small, large):
        return large if self.large else small

    def write(self, name, model, columns, rows, margins, runtime=None):
        """`rows` hold the model's columns. `runtime`: margins as the file has them, which count
        where the library's are others or NaN.
        """
        if runtime is not None:
            parted = np.isnan(margins) | (np.abs(runtime - margins) > 1e-5)
            known = ~np.isnan(margins)
            print(
                f"{name}: the file differs from the library on {(parted & known).sum()} of "
                f"{known.sum()} rows"
            )
            margins = np.where(parted, runtime, margins)
        self.folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, self.folder / f"{name}.onnx")
        cell = lambda x: "" if x != x else repr(float(x))
        with open(self.folder / f"{name}.csv", "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow([*columns, "margin"])
            table.writerows(
                [[cell(x) for x in row] + [repr(float(m))] for row, m in zip(rows, margins)]
            )


def around(value):
    """A float32, its neighbours, and the doubles halfway."""
    single = np.float32(value)
    near = [
        np.nextafter(single, np.float32(-np.inf)),
        single,
        np.nextafter(single, np.float32(np.inf)),
    ]
    halves = [(float(a) + float(b)) / 2 for a, b in zip(near, near[1:])]
    return (
        [float(x) for x in near]
        + halves
        + [np.nextafter(h, side) for h in halves for side in (-np.inf, np.inf)]
    )


def mlp_margin(model, x):
    """The last layer's output before its sigmoid."""
    for i, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
        x = x @ weight + bias
        if i + 1 < len(model.coefs_):
            x = {
                "relu": lambda t: np.maximum(t, 0),
                "tanh": np.tanh,
                "logistic": lambda t: 1 / (1 + np.exp(-t)),
            }[model.activation](x)
    return x[:, 0]


def sklearn_margin(model, x):
    last = model[-1] if hasattr(model, "steps") else model
    if isinstance(last, MLPClassifier):
        return mlp_margin(last, model[:-1].transform(x) if hasattr(model, "steps") else x)
    if hasattr(model, "decision_function"):
        return model.decision_function(x)
    return model.predict_proba(x)[:, 1] - 0.5


def thresholds(model):
    """Splits of trees: (feature, threshold)."""
    trees = (
        [model.tree_] if hasattr(model, "tree_") else [t.tree_ for t in np.ravel(model.estimators_)]
    )
    return [(f, t) for tree in trees for f, t in zip(tree.feature, tree.threshold) if f >= 0]


def plain(maker):
    rng, n = maker.rng, maker.size(300, 2000)
    d = 5
    X = (rng.normal(size=(n, d)) * [1, 10, 0.1, 1, 3] + [0, 40, 0, 1, 0]).astype(np.float32)
    signal = X @ [1, 0.1, 5, -1, 0.2] - 3.0 + np.sin(3 * X[:, 0])
    y = (signal + rng.normal(size=n) > 0).astype(int)
    rows = rng.normal(size=(maker.n_rows, d)) * [1, 10, 0.1, 1, 3] + [0, 40, 0, 1, 0]
    names = [f"X_{j}" for j in range(d)]
    z = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    hidden = maker.size((4, 3), (30, 20))
    depth, trees = maker.size(3, 6), maker.size(5, 100)
    models = {
        "logistic": (LogisticRegression(max_iter=1000).fit(X, y), {}),
        "logistic_arrays": (
            LogisticRegression(max_iter=1000).fit(X, y),
            {"options": {"zipmap": False}},
        ),
        "logistic_raw_scores": (
            LogisticRegression(max_iter=1000).fit(X, y),
            {"options": {"zipmap": False, "raw_scores": True}},
        ),
        "linear_svc": (LinearSVC().fit(X, y), {}),
        "scaled_logistic": (z, {}),
        "scaled_logistic_double": (z, {"initial_types": [("X", DoubleTensorType([None, d]))]}),
        "robust_minmax_logistic": (
            make_pipeline(RobustScaler(), MinMaxScaler(), LogisticRegression()).fit(X, y),
            {},
        ),
        "tree": (DecisionTreeClassifier(max_depth=depth + 1, random_state=0).fit(X, y), {}),
        "forest": (
            RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=0).fit(X, y),
            {},
        ),
        "forest_deep": (
            RandomForestClassifier(
                n_estimators=maker.size(4, 20), max_leaf_nodes=maker.size(8, None), random_state=1
            ).fit(X, y),
            {},
        ),
        "forest_double": (
            RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=2).fit(X, y),
            {"initial_types": [("X", DoubleTensorType([None, d]))]},
        ),
        "boosted": (
            GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0).fit(
                X, y
            ),
            {},
        ),
    }
    for activation in ["relu", "tanh", "logistic"]:
        mlp = make_pipeline(
            StandardScaler(),
            MLPClassifier(hidden, activation=activation, max_iter=60, random_state=0),
        ).fit(X, y)
        models[f"mlp_{activation}"] = (
            mlp,
            {"options": {"zipmap": False}} if activation == "relu" else {},
        )
    for name, (model, options) in models.items():
        options = {"X": X[:1], **options} if "initial_types" not in options else options
        graph = to_onnx(model, target_opset=OPSET, **options)
        if hasattr(model, "tree_") or name.startswith(("forest", "boosted")):
            # The library rounds to float32 as the file does: both agree on every double.
            cuts = thresholds(model)
            picks = rng.choice(len(cuts), size=min(len(cuts), maker.size(3, 150)), replace=False)
            base = rows[0]
            near = [
                np.where(np.arange(d) == cuts[k][0], value, base)
                for k in picks
                for value in around(cuts[k][1])
            ]
            rows_here = np.vstack([rows, near])
        else:
            rows_here = rows
        runtime = (
            run(graph, {"X": rows_here}, "output_probability") if name == "forest_double" else None
        )
        maker.write(name, graph, names, rows_here, sklearn_margin(model, rows_here), runtime)
    histogram(maker, X, y, rows, names)


def histogram(maker, X, y, rows, names):
    """Compares doubles with double thresholds, the file float32: rows are float32, some of their
    values missing.
    """
    X, rows = X.copy(), rows.astype(np.float32)
    X[maker.rng.random(X.shape) < 0.1] = np.nan
    rows[maker.rng.random(rows.shape) < 0.1] = np.nan
    model = HistGradientBoostingClassifier(
        max_iter=maker.size(4, 100), max_leaf_nodes=maker.size(5, 31), random_state=0
    ).fit(X, y)
    cuts = [
        (node["feature_idx"], node["num_threshold"])
        for trees in model._predictors
        for tree in trees
        for node in tree.nodes
        if not node["is_leaf"]
    ]
    picks = maker.rng.choice(len(cuts), size=min(len(cuts), maker.size(3, 150)), replace=False)
    near = [
        np.where(np.arange(5) == cuts[k][0], np.float32(value), rows[0])
        for k in picks
        for value in around(cuts[k][1])[:3]
    ]
    rows = np.vstack([rows, near]).astype(np.float32)
    graph = to_onnx(model, X[:1], target_opset=OPSET)
    maker.write("hist_boosted", graph, names, rows.astype(float), model.decision_function(rows))


def pipelines(maker):
    rng, n = maker.rng, maker.size(400, 3000)
    make = lambda n: pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(np.float32),
            "income": np.round(rng.gamma(2, 20000, n), 2).astype(np.float32),
            "job": rng.choice(["none", "clerk", "boss"], n),
            "kids": rng.integers(0, 4, n),
            "city": rng.choice(["A", "B", "C", "D"], n),
        }
    )
    table, rows = make(n), make(maker.n_rows)
    y = (
        (
            table.income / 30000
            + (table.job == "boss")
            - 0.02 * table.age
            - 0.3 * table.kids
            + rng.normal(size=n) * 0.4
        )
        > 0.2
    ).astype(int)
    types = [
        ("age", FloatTensorType([None, 1])),
        ("income", FloatTensorType([None, 1])),
        ("job", StringTensorType([None, 1])),
        ("kids", Int64TensorType([None, 1])),
        ("city", StringTensorType([None, 1])),
    ]
    number = ["age", "income"]
    depth, trees = maker.size(3, 6), maker.size(5, 60)
    onehot = lambda: (OneHotEncoder(handle_unknown="ignore"), ["job", "city"])
    scaled = lambda: (StandardScaler(), number)
    models = {
        "pipeline_logistic": (
            make_column_transformer(
                (StandardScaler(), ["age"]),
                (MinMaxScaler(), ["income"]),
                (OneHotEncoder(), ["job", "kids", "city"]),
            ),
            LogisticRegression(max_iter=1000),
        ),
        "pipeline_mlp": (
            make_column_transformer(
                (make_pipeline(SimpleImputer(), StandardScaler()), number),
                (OneHotEncoder(drop="first"), ["job"]),
                (OrdinalEncoder(), ["kids"]),
                onehot_of("city"),
            ),
            MLPClassifier(maker.size((4,), (20, 10)), max_iter=60, random_state=0),
        ),
        "pipeline_forest": (
            make_column_transformer(scaled(), onehot(), (OrdinalEncoder(), ["kids"])),
            RandomForestClassifier(n_estimators=trees, max_depth=depth, random_state=0),
        ),
        "pipeline_boosted": (
            make_column_transformer((MinMaxScaler((-1, 1)), number), onehot()),
            GradientBoostingClassifier(n_estimators=trees, max_depth=depth, random_state=0),
        ),
    }
    for name, (transform, last) in models.items():
        model = make_pipeline(transform, last).fit(table, y)
        graph = to_onnx(model, initial_types=types, target_opset=OPSET, options={"zipmap": False})
        margins, here, runtime = sklearn_margin(model, rows), rows, None
        if name == "pipeline_forest":
            # Rows on the file's own cuts, which are none of the library's.
            near = cuts_of_the_file(maker, graph, table)
            margins, here = np.append(margins, np.full(len(near), np.nan)), pd.concat([rows, near])
            runtime = run_table(graph, here)
        encoded = encode(
            here,
            {column: step for _, step, columns in transform.transformers for column in columns},
        )
        maker.write(name, graph, list(encoded.columns), encoded.to_numpy(float), margins, runtime)


def encode(table, kinds):
    """Columns in the order of the features, those of a category in its place."""
    parts = []
    for name in table.columns:
        column, kind = table[name], kinds.get(name)
        categories = sorted(column.unique())
        if isinstance(kind, OneHotEncoder):
            parts += [(column == c).astype(float).rename(f"{name}={c}") for c in categories]
        elif isinstance(kind, OrdinalEncoder):
            parts.append(column.map({c: i for i, c in enumerate(categories)}))
        else:
            parts.append(column)
    return pd.concat(parts, axis=1)


def onehot_of(column):
    return OneHotEncoder(handle_unknown="ignore"), [column]


def run(graph, feed, output):
    """Probabilities of the ONNX runtime, less one half."""
    found = onnxruntime.InferenceSession(graph.SerializeToString()).run([output], feed)[0]
    return np.array([p[1] for p in found], float) - 0.5


def run_table(graph, frame):
    types = {
        "age": np.float32,
        "income": np.float32,
        "job": object,
        "kids": np.int64,
        "city": object,
    }
    wanted = {i.name for i in graph.graph.input}
    return run(
        graph,
        {c: frame[c].to_numpy().astype(t).reshape(-1, 1) for c, t in types.items() if c in wanted},
        "probabilities",
    )


def cuts_of_the_file(maker, graph, table):
    """Rows whose scaled values lie on splits of the file."""
    tree = next(n for n in graph.graph.node if n.op_type == "TreeEnsembleClassifier")
    scaler = next(n for n in graph.graph.node if n.op_type == "Scaler")
    read = lambda node, name: helper.get_attribute_value(
        next(a for a in node.attribute if a.name == name)
    )
    features, values, modes = (
        read(tree, "nodes_featureids"),
        read(tree, "nodes_values"),
        read(tree, "nodes_modes"),
    )
    offset, scale = read(scaler, "offset"), read(scaler, "scale")
    splits = [(f, v) for f, v, m in zip(features, values, modes) if m != b"LEAF" and f < 2]
    rows = []
    for f, v in splits[: maker.size(3, 200)]:
        start = np.float32(v / scale[f] + offset[f])
        near = start
        for _ in range(6):
            near = np.nextafter(near, np.float32(-np.inf))
        for _ in range(13):
            row = table.iloc[int(maker.rng.integers(len(table)))].copy()
            row.iloc[f] = near
            rows.append(row)
            near = np.nextafter(near, np.float32(np.inf))
    frame = pd.DataFrame(rows)
    return frame.assign(
        kids=frame.kids.astype(int), age=frame.age.astype(float), income=frame.income.astype(float)
    )


def networks(maker):
    rng = maker.rng
    torch.manual_seed(3)
    d, widths = 4, maker.size([5, 3], [50, 30])
    rows = rng.normal(size=(maker.n_rows, d)).astype(np.float32)
    names = [f"x_{j}" for j in range(d)]
    nn = torch.nn
    activations = {
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "sigmoid": nn.Sigmoid,
        "gelu": nn.GELU,
        "silu": nn.SiLU,
        "softplus": nn.Softplus,
        "leaky_relu": nn.LeakyReLU,
    }

    def net(activation, last, norm=False):
        layers, n_in = [], d
        for width in widths:
            layers += (
                [nn.Linear(n_in, width)]
                + ([nn.BatchNorm1d(width)] if norm else [])
                + [activation()]
                + ([nn.Dropout(0.3)] if norm else [])
            )
            n_in = width
        return nn.Sequential(
            *layers, nn.Linear(n_in, len(last)), *[part for part in last if part is not None][:1]
        )

    cases = {f"torch_{name}": (net(kind, [None]), 17, False) for name, kind in activations.items()}
    cases["torch_gelu_20"] = (net(nn.GELU, [None]), 20, False)
    cases["torch_batch_norm_sigmoid"] = (net(nn.ReLU, [nn.Sigmoid()], norm=True), 17, False)
    cases["torch_softmax"] = (net(nn.Tanh, [nn.Softmax(dim=1), None]), 17, False)
    cases["torch_two_logits"] = (net(nn.SiLU, [None, None]), 13, False)
    cases["torch_log_softmax"] = (net(nn.ReLU, [nn.LogSoftmax(dim=1), None]), 12, False)
    cases["torch_gelu_new_exporter"] = (net(nn.GELU, [None]), 20, True)
    for name, (model, opset, dynamo) in cases.items():
        with torch.no_grad():
            for part in model:
                if isinstance(part, nn.BatchNorm1d):
                    for p in (part.running_mean, part.weight, part.bias):
                        p.add_(torch.randn_like(p) * 0.3)
                    part.running_var.mul_(torch.rand_like(part.running_var) + 0.5)
            model.eval()
            x = torch.from_numpy(rows)
            logits = (
                model[:-1]
                if isinstance(model[-1], (nn.Sigmoid, nn.Softmax, nn.LogSoftmax))
                else model
            )
            # Weights as after some training, and both decisions about as often.
            for part in logits:
                if isinstance(part, nn.Linear):
                    part.weight.mul_(2.5)
            logits[-1].bias.sub_(logits(x).mean(dim=0))
            z = logits(x)
            margins = (z[:, 0] if z.shape[1] == 1 else z[:, 1] - z[:, 0]).numpy()
        path = maker.folder / "export.onnx"
        maker.folder.mkdir(parents=True, exist_ok=True)
        torch.onnx.export(
            model,
            (x[:2],),
            str(path),
            input_names=["x"],
            opset_version=opset,
            dynamo=dynamo,
            **({} if dynamo else {"dynamic_axes": {"x": {0: "n"}}}),
        )
        graph = onnx.load(path)
        for left in maker.folder.glob("export.onnx*"):
            left.unlink()
        for node in graph.graph.node:
            node.doc_string = ""
            del node.metadata_props[:]
        maker.write(name, graph, names, rows.astype(float), margins)


def by_hand(maker):
    """As Keras has it after tf2onnx: a normalisation layer, MatMul and Add, swish, one sigmoid."""
    rng, d, h = maker.rng, 3, 4
    mean, sd = (
        rng.normal(size=d).astype(np.float32) * 10,
        (rng.random(d) + 0.5).astype(np.float32) * 5,
    )
    w1, b1 = rng.normal(size=(d, h)).astype(np.float32), rng.normal(size=h).astype(np.float32)
    w2, b2 = rng.normal(size=(h, 1)).astype(np.float32), rng.normal(size=1).astype(np.float32)
    rows = rng.normal(size=(maker.n_rows, d)) * sd + mean
    t = (rows - mean) / sd @ w1 + b1
    margins = (t / (1 + np.exp(-t)) @ w2 + b2)[:, 0]
    constant = lambda name, value: numpy_helper.from_array(value, name)
    nodes = [
        helper.make_node("Sub", ["in", "mean"], ["a"], "norm/sub"),
        helper.make_node("Div", ["a", "sd"], ["b"], "norm/div"),
        helper.make_node("MatMul", ["b", "w1"], ["c"], "dense/MatMul"),
        helper.make_node("Add", ["c", "b1"], ["d"], "dense/BiasAdd"),
        helper.make_node("Sigmoid", ["d"], ["e"], "dense/Sigmoid"),
        helper.make_node("Mul", ["d", "e"], ["f"], "dense/mul"),
        helper.make_node("MatMul", ["f", "w2"], ["g"], "out/MatMul"),
        helper.make_node("Add", ["g", "b2"], ["h"], "out/BiasAdd"),
        helper.make_node("Sigmoid", ["h"], ["out"], "out/Sigmoid"),
    ]
    graph = helper.make_graph(
        nodes,
        "keras",
        [helper.make_tensor_value_info("in", TensorProto.FLOAT, ["unk", d])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["unk", 1])],
        [
            constant("mean", mean),
            constant("sd", sd),
            constant("w1", w1),
            constant("b1", b1),
            constant("w2", w2),
            constant("b2", b2),
        ],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 15)], producer_name="by hand"
    )
    helper.set_model_props(model, {"feature_names": json.dumps(["age", "income", "debt"])})
    maker.write("keras_like", model, ["age", "income", "debt"], rows, margins)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("dir", type=Path)
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    maker = Maker(arguments.dir, not arguments.small)
    for part in (plain, pipelines, networks, by_hand):
        part(maker)


if __name__ == "__main__":
    main()
