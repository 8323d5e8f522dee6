"""How fast XGBoost scores noisy samples around points, on the same trees.

Reads a folder: model.json (kind trees of Probe, whose leaves are summed; splits are <=), points.csv
and errors.csv. Writes scores.csv with the margins of the first points' samples, and out.json with
samples scored per second by each way, for each number of threads.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import xgboost as xgb


def single_above(threshold: float) -> float:
    """The least float32 above a threshold: x < it is x <= threshold, for any float32 x."""
    nearest = np.float32(threshold)
    below = nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf))
    return float(np.nextafter(below, np.float32(np.inf)))


def as_xgboost(model: dict, leaf, base: float) -> dict:
    """The model in XGBoost's own JSON."""
    trees = []
    for number, tree in enumerate(model["trees"]):
        left, right = tree["left"], tree["right"]
        n = len(left)
        parents = [2147483647] * n
        for i in range(n):
            if left[i] >= 0:
                parents[left[i]] = parents[right[i]] = i
        is_leaf = [child < 0 for child in left]
        conditions = [
            leaf(v) if end else single_above(t)
            for end, v, t in zip(is_leaf, tree["value"], tree["threshold"])
        ]
        trees.append(
            {
                "base_weights": [0.0] * n,
                "categories": [],
                "categories_nodes": [],
                "categories_segments": [],
                "categories_sizes": [],
                "default_left": [0] * n,
                "id": number,
                "left_children": left,
                "right_children": right,
                "parents": parents,
                "loss_changes": [0.0] * n,
                "sum_hessian": [1.0] * n,
                "split_conditions": conditions,
                "split_indices": [0 if end else f for end, f in zip(is_leaf, tree["feature"])],
                "split_type": [0] * n,
                "tree_param": {
                    "num_deleted": "0",
                    "num_feature": str(len(model["features"])),
                    "num_nodes": str(n),
                    "size_leaf_vector": "1",
                },
            }
        )
    return {
        "version": [2, 0, 0],
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
                    "iteration_indptr": list(range(len(trees) + 1)),
                    "tree_info": [0] * len(trees),
                    "trees": trees,
                },
            },
            "learner_model_param": {
                "base_score": repr(base),
                "boost_from_average": "1",
                "num_class": "0",
                "num_feature": str(len(model["features"])),
                "num_target": "1",
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    folder = args.folder
    model = json.loads((folder / "model.json").read_text())
    n_trees = len(model["trees"])
    if model["aggregate"] == "sum":
        converted = as_xgboost(
            model, lambda v: v, model.get("base", 0.0) - model.get("threshold", 0.0)
        )
    else:
        # The mean of probabilities less one half, as a sum.
        converted = as_xgboost(model, lambda v: v / n_trees, -0.5 - model.get("threshold", 0.0))
    (folder / "xgboost.json").write_text(json.dumps(converted))
    points = np.loadtxt(folder / "points.csv", delimiter=",", ndmin=2)
    errors = np.loadtxt(folder / "errors.csv", delimiter=",", ndmin=2)
    # Made before the clock runs: drawing and adding the noise is not counted.
    batches = [np.ascontiguousarray((point + errors).astype(np.float32)) for point in points]
    whole = np.concatenate(batches)
    found = {}
    for threads in args.threads:
        booster = xgb.Booster({"nthread": threads})
        booster.load_model(folder / "xgboost.json")
        booster.set_param({"nthread": threads})
        by_point = [booster.inplace_predict(batch, predict_type="margin") for batch in batches]
        ways = {
            "inplace_predict": (
                lambda: batches,
                lambda batch: booster.inplace_predict(batch, predict_type="margin"),
            ),
            # New matrices each time: predictions of a matrix that was seen before are remembered.
            "predict on a DMatrix": (
                lambda: [xgb.DMatrix(batch, nthread=threads) for batch in batches],
                lambda matrix: booster.predict(matrix, output_margin=True),
            ),
            "inplace_predict, all points at once": (
                lambda: [whole],
                lambda batch: booster.inplace_predict(batch, predict_type="margin"),
            ),
        }
        for name, (prepare, predict) in ways.items():
            best = min(timed(prepare(), predict) for _ in range(args.repeats))
            found.setdefault(name, []).append(len(points) * len(errors) / best)
    margins = np.stack(by_point[:8])
    np.savetxt(folder / "scores.csv", margins, delimiter=",", fmt="%.9g")
    (folder / "out.json").write_text(json.dumps({"version": xgb.__version__, "per_second": found}))


def timed(inputs, predict) -> float:
    started = time.perf_counter()
    for each in inputs:
        predict(each)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
