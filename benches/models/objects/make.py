"""Models of scikit-learn, XGBoost and LightGBM as the Python package hands them to the engine, with
the margins that the library itself gives.

    python make.py DIR            # 10,000 rows each
    python make.py DIR --small    # small models, 40 rows each: crates/probe-io/tests/models/objects

Writes NAME.json, a document of the model and of what comes before it, and NAME.csv: the columns of
the model, and the margin. Rows also lie on cuts and beside them. All data are made up.
"""

import argparse
import csv
import json
import sys
import types
import warnings
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[3] / "bindings" / "python"
sys.path.insert(0, str(PACKAGE / "tests"))
# The package without its engine, which these documents are for.
sys.modules["probe_recourse"] = types.ModuleType("probe_recourse")
sys.modules["probe_recourse"].__path__ = [str(PACKAGE / "python" / "probe_recourse")]

from made import (
    ALL,
    LINEAR,
    NUMBERS,
    TREES,
    boosters,
    encoders,
    library_margin,
    people,
    rng_of,
    rows_for,
    target,
)  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler  # noqa: E402

from probe_recourse._objects import document  # noqa: E402

warnings.filterwarnings("ignore")
# Models that take missing values behind a scaler.
MISSING = ("tree", "forest", "extra-trees", "hist", "xgboost", "lightgbm")


def models():
    """Names, models, their columns, and whether values may be missing."""
    last = {**TREES, **boosters()}
    for name, model in LINEAR.items():
        yield name, make_pipeline(StandardScaler(), model), NUMBERS, False
    for name, model in last.items():
        yield (
            f"{name}-scaled",
            make_pipeline(RobustScaler(), MinMaxScaler((-1, 2)), model),
            NUMBERS,
            False,
        )
    for name in MISSING:
        yield f"{name}-missing", make_pipeline(StandardScaler(), last[name]), NUMBERS, True
    for name in ("logistic", "mlp-tanh", "forest", "boosting", "hist", "xgboost", "lightgbm"):
        yield f"{name}-columns", make_pipeline(encoders(), {**LINEAR, **last}[name]), ALL, False


def columns_of(made, frame):
    """The model's columns, by name: numbers, a column for each category, or a category's number."""
    columns = {}
    for feature in json.loads(made)["inputs"]:
        name, values = feature["name"], frame[feature["name"]].tolist()
        categories = feature.get("categories")
        if categories is None:
            columns[name] = values
        elif feature["encoding"] == "onehot":
            for category in categories:
                columns[f"{name}={category}"] = [float(str(value) == category) for value in values]
        else:
            columns[name] = [float(categories.index(str(value))) for value in values]
    return columns


def shrunk(model):
    """A model small enough for a fixture."""
    sizes = {
        "n_estimators": 4,
        "max_iter": 4,
        "max_depth": 3,
        "num_leaves": 6,
        "hidden_layer_sizes": (4, 3),
    }
    last = model[-1]
    known = last.get_params()
    few = {key: value for key, value in sizes.items() if key in known and known[key] != ()}
    if type(last).__name__ not in ("MLPClassifier", "HistGradientBoostingClassifier"):
        few.pop("max_iter", None)
    last.set_params(**few)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, model, used, missing in models():
        rng = rng_of(name)
        train = people(300 if options.small else 1500, rng, missing)
        model = (shrunk(model) if options.small else model).fit(train[used], target(train, rng))
        made = document(model)
        frame = rows_for(made, rng, missing, 40 if options.small else 10_000)
        columns = columns_of(made, frame)
        margins = library_margin(model, frame[used])
        (options.folder / f"{name}.json").write_bytes(made)
        text = lambda x: "" if x != x else repr(float(x))
        with open(options.folder / f"{name}.csv", "w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow([*columns, "margin"])
            table.writerows([text(x) for x in row] for row in zip(*columns.values(), margins))


main()
