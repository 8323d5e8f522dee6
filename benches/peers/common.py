"""What the scripts share: models, people, the clock, the result file."""

import csv
import json
import time
from dataclasses import dataclass

import torch


@dataclass
class Network:
    """f(x) = v . relu(W x + b) + c; favourable above 0."""

    w: torch.Tensor
    b: torch.Tensor
    v: torch.Tensor
    c: torch.Tensor

    def score(self, x):
        return torch.addmv(self.c, torch.addmm(self.b, x, self.w.T).clamp_min(0), self.v)


@dataclass
class Linear:
    """f(x) = w . x + c; favourable above 0."""

    w: torch.Tensor
    c: torch.Tensor

    def score(self, x):
        return torch.mv(x, self.w) + self.c


def load_model(path, dtype):
    """Reads a native model file: linear, or with one hidden relu layer; one or two outputs."""
    with open(path) as file:
        model = json.load(file)
    *hidden, output = model["layers"]
    last, bias = (torch.tensor(output[key], dtype=torch.float64) for key in ("weight", "bias"))
    # Two softmax logits come down to their difference.
    v, c = (last[1] - last[0], bias[1] - bias[0]) if len(bias) == 2 else (last[0], bias[0])
    c = c - model.get("threshold", 0.0)
    if model["kind"] == "linear":
        return Linear(v.to(dtype), c.to(dtype))
    if model["activation"] != "relu" or len(hidden) != 1:
        raise SystemExit(f"{path}: one hidden relu layer is needed")
    w, b = (torch.tensor(hidden[0][key], dtype=torch.float64) for key in ("weight", "bias"))
    return Network(*(t.to(dtype).contiguous() for t in (w, b, v, c)))


def load_people(path, dtype):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return torch.tensor([[float(cell) for cell in row] for row in rows], dtype=dtype)


def upper_quantile(r):
    return float(torch.special.ndtri(torch.tensor(1.0 - r, dtype=torch.float64)))


class Timer:
    def __enter__(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.cpu, self.wall = time.process_time() - self.cpu, time.perf_counter() - self.wall


def write_result(path, points, found, timer, note):
    """Points of people without an answer are null."""
    points = points.to(torch.float64).tolist()
    with open(path, "w") as file:
        json.dump(
            {
                "points": [point if ok else None for point, ok in zip(points, found.tolist())],
                "cpu_seconds": timer.cpu,
                "wall_seconds": timer.wall,
                "note": note,
            },
            file,
        )
