"""Made-up people, models of them, and margins as the libraries have them: for tests here and for
benches/models/objects.
"""

import json
import math
import re

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

N_ROWS = 10_000
NUMBERS = ["age", "income", "debt", "years"]
JOBS, GRADES, CODES = ["boss", "clerk", "worker"], ["low", "middle", "high"], [1, 2, 5]


def people(n, rng, missing=False):
    """A frame of numbers of different sizes and of categories: texts, whole numbers and truth
    values.
    """
    frame = pd.DataFrame({
        "age": rng.normal(40, 12, n).round(1),
        "income": rng.lognormal(10, 0.7, n),
        "debt": rng.normal(0, 1e-3, n),
        "years": rng.integers(0, 30, n).astype(float),
        "job": rng.choice(JOBS, n),
        "grade": rng.choice(GRADES, n),
        "code": rng.choice(CODES, n),
        "owner": rng.random(n) < 0.4,
    })  # fmt: skip
    if missing:
        for name in NUMBERS:
            frame.loc[rng.random(n) < 0.1, name] = math.nan
    return frame


def target(frame, rng):
    numbers = frame[NUMBERS].fillna(0.0)
    score = (
        (numbers["age"] - 40) / 12
        + np.log(numbers["income"] + 1)
        - 10
        + 900 * numbers["debt"]
        + (frame["job"] == "boss")
    )
    return (score + rng.normal(0, 0.7, len(frame)) > 0).astype(int)


def rng_of(test):
    return np.random.default_rng(sum(map(ord, test)))


# Rows on cuts: thresholds of the document, taken back through its steps.


def splits(model):
    """Columns and thresholds of a model inside a document, or of a whole file."""
    if isinstance(model, str):
        features = [
            int(j)
            for line in re.findall(r"^split_feature=(.*)$", model, re.M)
            for j in line.split()
        ]
        cuts = [
            float(t) for line in re.findall(r"^threshold=(.*)$", model, re.M) for t in line.split()
        ]
        return list(zip(features, cuts))
    if "learner" in model:
        booster = model["learner"]["gradient_booster"]
        trees = booster.get("gbtree", booster)["model"].get("trees", [])
        nodes = (
            (t["split_indices"][i], t["split_conditions"][i], t["left_children"][i])
            for t in trees
            for i in range(len(t["left_children"]))
        )
        return [(j, c) for j, c, left in nodes if left != -1]
    if model.get("kind") != "trees":
        return []
    nodes = (
        (t["feature"][i], t["threshold"][i], t["left"][i])
        for t in model["trees"]
        for i in range(len(t["left"]))
    )
    return [(j, c) for j, c, left in nodes if left != -1]


def around(value):
    """A value, its neighbours as double, and those as float32 with the doubles halfway."""
    found = [value]
    for side in (-math.inf, math.inf):
        x = value
        for _ in range(4):
            x = float(np.nextafter(x, side))
            found.append(x)
    single = np.float32(value)
    near = [
        np.nextafter(single, np.float32(-np.inf)),
        single,
        np.nextafter(single, np.float32(np.inf)),
    ]
    halves = [(float(a) + float(b)) / 2 for a, b in zip(near, near[1:])]
    return (
        found
        + [float(x) for x in near]
        + [float(np.nextafter(h, side)) for h in halves for side in (-math.inf, h, math.inf)]
    )


def back(value, steps):
    for step in reversed(steps):
        value = {
            "add": lambda x, c: x - c,
            "subtract": lambda x, c: x + c,
            "multiply": lambda x, c: x / c,
            "divide": lambda x, c: x * c,
        }[step[0]](value, step[1])
    return value


def cuts(made):
    """Values on cuts, by the name of the raw feature."""
    try:
        whole = json.loads(made)
    except ValueError:
        whole = made.decode()
    found = {}
    if isinstance(whole, str):
        names = re.search(r"^feature_names=(.*)$", whole, re.M)[1].split()
        for j, cut in splits(whole):
            found.setdefault(names[j], []).append(cut)
    elif "learner" in whole:
        for j, cut in splits(whole):
            found.setdefault(whole["learner"]["feature_names"][j], []).append(cut)
    else:
        for j, cut in splits(whole["model"]):
            column = whole["columns"][j]
            raw = whole["inputs"][column["input"]]
            if "categories" not in raw and abs(cut) < 1e300:
                found.setdefault(raw["name"], []).append(back(cut, column.get("steps", [])))
    return found


def rows_for(made, rng, missing, n=N_ROWS):
    """Random people, some of them on cuts and beside them."""
    frame = people(n, rng, missing)
    for name, values in cuts(made).items():
        values = [
            x
            for cut in rng.permutation(sorted(set(values)))[:60]
            for x in around(float(cut))
            if math.isfinite(x)
        ]
        where = rng.choice(n, min(len(values), n // 6), replace=False)
        frame.loc[where, name] = rng.permutation(values)[: len(where)]
    return frame


def mlp_margin(model, x):
    act = {
        "relu": lambda t: np.maximum(t, 0),
        "tanh": np.tanh,
        "logistic": lambda t: 1 / (1 + np.exp(-t)),
        "identity": lambda t: t,
    }
    for i, (weight, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
        x = x @ weight + bias
        if i + 1 < len(model.coefs_):
            x = act[model.activation](x)
    return x[:, 0]


def library_margin(model, frame):
    """The margin that the library computes."""
    if type(model).__name__ == "Pipeline":
        x = model[:-1].transform(frame) if len(model) > 1 else frame
        return library_margin(model[-1], x)
    kind = type(model).__name__
    if kind == "XGBClassifier":
        return model.predict(frame, output_margin=True)
    if kind == "LGBMClassifier":
        return model.predict(frame, raw_score=True)
    if kind == "MLPClassifier":
        return mlp_margin(
            model, np.asarray(frame.todense() if hasattr(frame, "todense") else frame, dtype=float)
        )
    if hasattr(model, "decision_function"):
        return model.decision_function(frame)
    return model.predict_proba(frame)[:, 1] - 0.5


LINEAR = {
    "logistic": LogisticRegression(),
    "logistic-cv": LogisticRegressionCV(cv=3),
    "linear-svc": LinearSVC(random_state=0),
    "sgd": SGDClassifier(loss="log_loss", random_state=0),
    "ridge": RidgeClassifier(),
    "perceptron": Perceptron(random_state=0),
    "lda": LinearDiscriminantAnalysis(),
    **{
        f"mlp-{act}": MLPClassifier((12, 7), activation=act, max_iter=40, random_state=0)
        for act in ("relu", "tanh", "logistic", "identity")
    },
    "mlp-no-hidden": MLPClassifier((), max_iter=40, random_state=0),
}


TREES = {
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "extra-tree": ExtraTreeClassifier(max_depth=6, random_state=0),
    "forest": RandomForestClassifier(25, max_depth=8, random_state=0),
    "extra-trees": ExtraTreesClassifier(25, max_depth=8, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=40, learning_rate=0.13, random_state=0),
    "boosting-zero": GradientBoostingClassifier(n_estimators=20, init="zero", random_state=0),
    "hist": HistGradientBoostingClassifier(max_iter=40, random_state=0),
}


def encoders(dense=True):
    extra = {"sparse_threshold": 0} if dense else {}
    scaler, frequent = StandardScaler(), SimpleImputer(strategy="most_frequent")
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(strategy="median"), scaler), ["income", "age"]),
            ("jobs", OneHotEncoder(drop="first", handle_unknown="ignore"), ["job"]),
            ("grades", OrdinalEncoder(categories=[GRADES]), ["grade"]),
            ("codes", make_pipeline(frequent, OneHotEncoder()), ["code"]),
            ("owner", OneHotEncoder(drop="if_binary"), ["owner"]),
            ("away", "drop", ["years"]),
        ],
        remainder="passthrough",
        **extra,
    )  # fmt: skip


def boosters():
    import lightgbm
    import xgboost

    return {
        "xgboost": xgboost.XGBClassifier(n_estimators=40, max_depth=4),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=40, verbose=-1),
    }


ALL = [*NUMBERS, "job", "grade", "code", "owner"]
