"""Asks one package for counterfactuals until its input ends: one line of JSON in, one line out.

    python serve.py PACKAGE METHOD

{"model": path, "train": path, "fixed": [columns]}
    prepares the package: {"version", "seconds", "margins" of the first training rows}
{"people": [[...]], "seconds": s}
    one person after the other until s processor seconds are used: {"points", "seconds" of each};
    a point is null if the package has no answer

An error is {"error": "..."}. Everything is in scaled space, columns from 0 to 1; class 1 is
favourable.
"""

import argparse
import csv
import importlib
import importlib.metadata
import json
import os
import sys
import time
import warnings
from dataclasses import dataclass

import models
import numpy as np

CHECKED = 2000


@dataclass
class Problem:
    """What a package is told: it knows no rate and no noise."""

    names: list
    train: np.ndarray
    labels: np.ndarray
    classifier: models.Classifier
    fixed: list

    @property
    def free(self):
        return [j for j in range(len(self.names)) if j not in self.fixed]


def load(request):
    with open(request["train"], newline="") as file:
        header, *rows = csv.reader(file)
    table = np.array(rows, dtype=np.float64)
    # Names without signs that tables and formulas trip over.
    names = [f"x{j}" for j in range(len(header) - 1)]
    return Problem(
        names,
        table[:, :-1],
        table[:, -1].astype(int),
        models.load(request["model"]),
        request["fixed"],
    )


def answer(ask, people, budget):
    points, seconds = [], []
    while len(points) < len(people) and sum(seconds) < budget:
        started = time.process_time()
        try:
            point = ask(np.array(people[len(points)], dtype=np.float64))
        except Exception as error:  # No answer is told in many ways.
            print(f"{type(error).__name__}: {error}"[:300], file=sys.stderr)
            point = None
        seconds.append(time.process_time() - started)
        usable = point is not None and np.all(np.isfinite(point))
        points.append([float(value) for value in point] if usable else None)
    return {"points": points, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("package")
    parser.add_argument("method")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    # Packages print as they like; the answers have a way of their own.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    ask = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "model" in request:
                started = time.process_time()
                adaptor = importlib.import_module(f"ask_{options.package}")
                problem = load(request)
                ready = time.process_time()
                ask = adaptor.prepare(problem, options.method)
                reply = {
                    "version": importlib.metadata.version(adaptor.DISTRIBUTION),
                    "seconds": time.process_time() - ready,
                    "start": ready - started,
                    "margins": problem.classifier.margin(problem.train[:CHECKED]).tolist(),
                }
            else:
                reply = answer(ask, request["people"], request["seconds"])
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(reply), file=out, flush=True)


if __name__ == "__main__":
    main()
