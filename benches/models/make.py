"""Models of XGBoost and LightGBM, with rows and the margins that the library gives them once it has
loaded the file again.

    python make.py FOLDER             large models, 10,000 rows each, for `probe-bench models`
    python make.py FOLDER --fixtures  small models, few rows, and files that must be rejected, for
                                      crates/probe-io/tests/models

Each case is a model file and a table beside it: a column per feature, missing values left empty,
and the margin. Rows lie on the models' own thresholds, one step of double and of single precision
beside them, halfway between two singles, at zero, and elsewhere. Data are made up.
"""

import argparse
import json
import re
import warnings
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb

warnings.filterwarnings("ignore")
D = 4
# Values nearer to zero are zero to LightGBM.
ZERO = float(np.float32(1e-35))


class Maker:
    def __init__(self, folder: Path, small: bool):
        self.folder, self.small = folder, small
        self.n_rows = 36 if small else 10_000
        rng = np.random.default_rng(7)
        n = 400 if small else 4_000
        x = rng.normal(size=(n, D))
        # Whole numbers with many zeros, so that LightGBM splits around zero.
        x[:, 3] = np.round(x[:, 3])
        signal = x[:, 0] + x[:, 1] ** 2 - 0.5 * x[:, 2] + 0.7 * x[:, 3] * (x[:, 0] > 0)
        self.y = (signal + rng.normal(size=n) > 0.7).astype(int)
        self.whole = x
        self.x = np.where(rng.random(x.shape) < 0.1, np.nan, x)
        self.x[:, 3] = x[:, 3]

    def rows(self, thresholds, missing, seed):
        """Rows on and beside the thresholds, a list by feature."""
        rng = np.random.default_rng(seed)
        rows = 1.5 * rng.normal(size=(self.n_rows, D))
        if missing:
            rows[rng.random(rows.shape) < 0.08] = np.nan
        features = [j for j in range(D) if thresholds[j]]
        for i in range(0, self.n_rows if features else 0):
            if i % 4 == 3:
                continue
            j = features[rng.integers(len(features))]
            t = float(thresholds[j][rng.integers(len(thresholds[j]))])
            single = np.float32(t)
            up, down = (float(np.nextafter(single, np.float32(s))) for s in (np.inf, -np.inf))
            middle = 0.5 * (float(single) + (up if rng.integers(2) else down))
            near = [
                t,
                np.nextafter(t, np.inf),
                np.nextafter(t, -np.inf),
                up,
                down,
                middle,
                np.nextafter(middle, np.inf),
                np.nextafter(middle, -np.inf),
            ]
            zeros = [
                0.0,
                -0.0,
                ZERO,
                -ZERO,
                np.nextafter(ZERO, 1),
                np.nextafter(-ZERO, -1),
                ZERO / 2,
                -ZERO / 2,
            ]
            rows[i, j] = zeros[rng.integers(8)] if i % 8 == 6 else near[rng.integers(8)]
        return rows

    def write_rows(self, name, columns, rows, margins):
        lines = [",".join([*columns, "margin"])]
        for row, margin in zip(rows, np.asarray(margins, dtype=float)):
            lines.append(
                ",".join(
                    ["" if np.isnan(v) else repr(float(v)) for v in row] + [repr(float(margin))]
                )
            )
        (self.folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


def xgboost_cases(make: Maker) -> None:
    depth, rounds = (2, 3) if make.small else (5, 60)
    names = ["age", "income", "debt", "late payments"]
    matrix = lambda x, **more: xgb.DMatrix(x, nthread=1, **more)
    data = matrix(make.x, label=make.y, feature_names=names)
    plain = matrix(make.whole, label=make.y)
    trees = {"max_depth": depth, "eta": 0.2, "nthread": 1}
    logistic = {"objective": "binary:logistic"}

    def thresholds(path):
        booster = xgb.Booster()
        booster.load_model(path)
        found = [[] for _ in range(D)]
        if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
            return found
        booster.save_model(make.folder / "tmp.json")
        booster = json.loads((make.folder / "tmp.json").read_text())["learner"]["gradient_booster"]
        (make.folder / "tmp.json").unlink()
        for tree in booster.get("model", booster.get("gbtree", {}).get("model"))["trees"]:
            for j, value, left in zip(
                tree["split_indices"], tree["split_conditions"], tree["left_children"]
            ):
                if left >= 0:
                    found[j].append(np.float32(value))
        return found

    def case(name, ending, saver, load, columns, missing=True):
        name = f"xgboost-{xgb.__version__}-{name}"
        path = make.folder / f"{name}.{ending}"
        saver.save_model(path)
        rows = make.rows(thresholds(path), missing, len(name))
        make.write_rows(name, columns, rows, load(path)(rows))

    def by_booster(columns):
        def load(path):
            booster = xgb.Booster()
            booster.load_model(path)
            return lambda rows: booster.predict(
                matrix(rows, feature_names=columns), output_margin=True
            )

        return load

    def by_sklearn(path):
        model = xgb.XGBClassifier(n_jobs=1)
        model.load_model(path)
        return lambda rows: model.predict(rows, output_margin=True)

    unnamed = [f"f{j}" for j in range(D)]
    train = lambda params, data=data: xgb.train({**trees, **params}, data, rounds)
    case("logistic", "json", train(logistic), by_booster(names), names)
    case(
        "sampled", "ubj", train({**logistic, "seed": 1, "subsample": 0.7}), by_booster(names), names
    )
    base = {
        "objective": "reg:logistic",
        "base_score": 0.9995,
        "min_child_weight": 0.01,
        "max_delta_step": 1,
    }
    case("base", "json", train(base, plain), by_booster(None), unnamed)
    case(
        "raw",
        "ubj",
        train({"objective": "binary:logitraw", "base_score": 0.3}, plain),
        by_booster(None),
        unnamed,
    )
    dart = {**logistic, "booster": "dart", "rate_drop": 0.5, "skip_drop": 0.2}
    case("dart", "json", train(dart), by_booster(names), names)
    linear = xgb.train({**logistic, "booster": "gblinear", "nthread": 1}, plain, 5)
    case("linear", "json", linear, by_booster(None), unnamed, missing=False)
    stopped = xgb.XGBClassifier(
        n_estimators=200,
        max_depth=depth,
        learning_rate=1.5,
        early_stopping_rounds=2,
        n_jobs=1,
        num_parallel_tree=2,
        subsample=0.8,
    )
    half = len(make.y) // 4 * 3
    stopped.fit(
        make.x[:half], make.y[:half], eval_set=[(make.x[half:], make.y[half:])], verbose=False
    )
    case("stopped", "ubj", stopped, by_sklearn, unnamed)
    case("stopped-booster", "json", stopped.get_booster(), by_booster(None), unnamed)
    if make.small:
        refuse = lambda name, model: model.save_model(make.folder / f"refused-xgboost-{name}")
        few = lambda params, data: xgb.train({"max_depth": 1, "nthread": 1, **params}, data, 1)
        version = xgb.__version__
        refuse(f"{version}-squares.json", few({"objective": "reg:squarederror"}, plain))
        three = matrix(make.whole, label=make.y + (make.whole[:, 0] > 1))
        refuse(
            f"{version}-classes.json", few({"objective": "multi:softprob", "num_class": 3}, three)
        )
        groups = np.column_stack([make.whole[:, 0], np.abs(make.whole[:, 3])])
        groups = matrix(
            groups,
            label=(groups[:, 1] == 1).astype(int),
            feature_types=["q", "c"],
            enable_categorical=True,
        )
        refuse(f"{version}-categories.json", few({**logistic, "tree_method": "approx"}, groups))
        if version.startswith("1."):
            refuse(f"{version}-binary.model", few(logistic, plain))


def lightgbm_cases(make: Maker) -> None:
    leaves, rounds = (4, 3) if make.small else (31, 60)
    columns = ["age", "income", "debt", "late_payments"]
    params = {
        "objective": "binary",
        "num_leaves": leaves,
        "learning_rate": 0.2,
        "min_data_in_leaf": 15,
        "verbose": -1,
        "num_threads": 1,
        "seed": 3,
        "deterministic": True,
    }

    def shortened(path):
        """Without the parameters, which nothing reads and which are most of a small file."""
        text = re.sub(r"\nparameters:.*end of parameters\n", "\n", path.read_text(), flags=re.S)
        path.write_text(text)

    def train(x, more, rounds=rounds):
        return lgb.train(
            {**params, **more}, lgb.Dataset(x, label=make.y, feature_name=columns), rounds
        )

    def case(name, more, x=make.x, rounds=rounds):
        name = f"lightgbm-{lgb.__version__}-{name}"
        path = make.folder / f"{name}.txt"
        train(x, more, rounds).save_model(path)
        if make.small:
            shortened(path)
        text = path.read_text()
        found = [[] for _ in range(D)]
        for features, values in re.findall(r"split_feature=(.*)\n(?:.*\n)?threshold=(.*)\n", text):
            for j, value in zip(features.split(), values.split()):
                if np.isfinite(float(value)):
                    found[int(j)].append(float(value))
        rows = make.rows(found, True, len(name))
        booster = lgb.Booster(model_file=str(path))
        margins = booster.predict(rows, raw_score=True, num_threads=1) * more.get("sigmoid", 1.0)
        if more.get("boosting") == "rf":
            # Raw scores of forests are sums, probabilities those of the mean.
            margins /= booster.num_trees()
        probabilities = booster.predict(rows, num_threads=1)
        assert np.allclose(probabilities, 1 / (1 + np.exp(-margins)), rtol=0, atol=1e-12)
        make.write_rows(name, columns, rows, margins)

    case("binary", {})
    case("sigmoid", {"sigmoid": 2.5})
    case("forest", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6})
    case("entropy", {"objective": "cross_entropy"})
    case("no-missing", {"use_missing": False})
    case("whole", {}, make.whole)
    case("leaf", {"min_data_in_leaf": 100_000}, rounds=1)
    if make.small:
        # Two rounds, in which zero goes the way of its neighbours at every split.
        case(
            "zeros",
            {"zero_as_missing": True},
            np.abs(make.whole) + np.array([1, 1, 1, 0]),
            rounds=2,
        )

        def refuse(name, more, **data):
            path = make.folder / f"refused-lightgbm-{lgb.__version__}-{name}.txt"
            few = {**params, "num_leaves": 3, **more}
            labels = data.pop("label", make.y)
            lgb.train(
                few, lgb.Dataset(data.pop("x", make.whole), label=labels, **data), 1
            ).save_model(path)
            shortened(path)

        refuse("squares", {"objective": "regression"})
        refuse(
            "classes",
            {"objective": "multiclass", "num_class": 3},
            label=make.y + (make.whole[:, 0] > 1),
        )
        refuse("lambda", {"objective": "cross_entropy_lambda"})
        refuse("linear", {"linear_tree": True})
        # Zero goes the way of 2 and more, 1 the other.
        far = np.abs(make.whole)
        refuse("zeros", {"zero_as_missing": True}, x=far, label=(far[:, 3] != 1).astype(int))
        groups = np.column_stack([make.whole[:, 0], np.abs(make.whole[:, 3])])
        refuse(
            "categories",
            {"min_data_per_group": 10},
            x=groups,
            label=(groups[:, 1] == 1).astype(int),
            categorical_feature=[1],
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--fixtures", action="store_true")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    make = Maker(args.folder, args.fixtures)
    xgboost_cases(make)
    lightgbm_cases(make)


if __name__ == "__main__":
    main()
