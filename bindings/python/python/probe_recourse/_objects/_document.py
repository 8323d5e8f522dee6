"""The document of a pipeline: what people have, the columns made of it, and the model that takes
them.
"""

import json
import math

from ..errors import UnsupportedError

MOST_SOURCE = 300


def finite(value, what):
    """A number as a float of the same value."""
    value = float(value)
    if not math.isfinite(value):
        raise UnsupportedError(f"{what} = {value}", "it is not finite")
    return value


def numbers(values, what):
    """An array of one dimension as a list of finite floats."""
    values = values.tolist()
    for value in values:
        if not math.isfinite(value):
            raise UnsupportedError(f"{what} with {value}", "it is not finite")
    return [float(value) for value in values]


def named(features, own, n):
    """Names of `n` columns: those wanted, else the library's own, else x0, x1 and so on."""
    if features is None:
        features = own if own is not None else [f"x{j}" for j in range(n)]
    if isinstance(features, str):
        raise ValueError("features must be a list of names, not one text")
    features = list(features)
    if len(features) != n:
        raise ValueError(f"features has {len(features)} names, the model takes {n} columns")
    for name in features:
        if not isinstance(name, str) or not name:
            raise ValueError(f"features: expected names, found {name!r}")
    if len(set(features)) != n:
        twice = next(name for j, name in enumerate(features) if name in features[:j])
        raise ValueError(f"features: the name {twice!r} is given twice")
    return [str(name) for name in features]


def native(kind, n, **fields):
    """A native model of `n` columns."""
    return {
        "format": "probe-model",
        "version": 1,
        "kind": kind,
        "features": [f"c{j}" for j in range(n)],
        **fields,
    }


def linear(weights, bias):
    return native("linear", len(weights), layers=[{"weight": [weights], "bias": [bias]}])


def network(layers, activation):
    """Layers as pairs of weights `[outputs][inputs]` and biases; one layer is a linear model."""
    layers = [{"weight": weight, "bias": bias} for weight, bias in layers]
    n = len(layers[0]["weight"][0])
    if len(layers) == 1:
        return native("linear", n, layers=layers)
    return native("mlp", n, activation=activation, layers=layers)


def written(source, inputs, columns, model):
    """The bytes of a document."""
    if len(source) > MOST_SOURCE:
        source = source[: MOST_SOURCE - 1] + "…"
    whole = {
        "format": "probe-pipeline",
        "version": 1,
        "source": source,
        "inputs": inputs,
        "columns": columns,
        "model": model,
    }
    return json.dumps(whole, allow_nan=False, ensure_ascii=False).encode()


def plain(source, names, model):
    """The bytes of a document whose model takes what people have."""
    return written(
        source, [{"name": name} for name in names], [{"input": j} for j in range(len(names))], model
    )
