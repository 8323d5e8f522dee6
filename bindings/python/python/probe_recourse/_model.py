"""Models: files, objects of other libraries, and functions."""

from __future__ import annotations

import html
import json
import uuid
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any

import pyarrow as pa

from . import _probe
from ._schema import Schema
from ._tables import How, to_arrow


class Model:
    """A model. A margin above zero is favourable.

    Created by :func:`load`, :func:`from_sklearn`, :func:`from_xgboost`, :func:`from_lightgbm`,
    :func:`from_torch` and :func:`from_callable`.
    """

    def __init__(
        self,
        native: _probe.Model,
        remake: tuple[Any, ...],
        classes: Sequence[Any] | None = None,
        scale: str = "log-odds",
    ) -> None:
        self._native = native
        self._remake = remake
        #: The names of the two classes, if known. The margin is that of the second.
        self.classes = None if classes is None else list(classes)
        # Scale of the margin: log-odds, probability minus one half, or neither.
        self._scale = scale

    @classmethod
    def linear(cls, features: Sequence[str], weights: Sequence[float], bias: float = 0.0) -> Model:
        """A linear model: its margin is ``sum(weights * features) + bias``."""
        layer = {"weight": [[float(weight) for weight in weights]], "bias": [float(bias)]}
        document = {
            "format": "probe-model",
            "version": 1,
            "kind": "linear",
            "features": _names(features),
            "layers": [layer],
        }
        return _parse(json.dumps(document, allow_nan=False).encode(), "the model")

    @property
    def kind(self) -> str:
        """``linear``, ``mlp``, ``trees`` or ``black-box``."""
        return self._native.kind

    @property
    def features(self) -> list[str]:
        """The input columns, in order; those of categories are ``feature=category``."""
        return self._native.features

    @property
    def source(self) -> str | None:
        """A short description of another library's model; ``None`` for native files."""
        return self._native.source

    @property
    def schema(self) -> Schema | None:
        """The schema in the model file, if any."""
        native = self._native.schema
        return None if native is None else Schema(native)

    def margins(self, points: Any) -> Any:
        """The margin of each row, as a column of the same library as ``points``.

        Other columns are ignored.
        """
        frame = to_arrow(points, "points")
        native = _probe.Engine(self._native, None, "{}", None, None, (False, False))
        found = pa.table(native.score(frame.table, How(True, 0, None)))
        return frame.back(found)["margin"]

    def to_json(self) -> str:
        """The model as a native file, for the command line."""
        return self._native.to_json()

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a native file."""
        text = self.to_json()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._remake

    def __repr__(self) -> str:
        what = self.source or f"native {self.kind}"
        classes = (
            "" if self.classes is None else f"; classes {self.classes[0]!r}, {self.classes[1]!r}"
        )
        return f"Model({what}; {len(self.features)} columns{classes})"

    def _repr_html_(self) -> str:
        return f"<b>{html.escape(repr(self))}</b><br>{html.escape(', '.join(self.features))}"


def load(path: str | PathLike[str]) -> Model:
    """Reads a model file: native JSON, ONNX, XGBoost (JSON, UBJSON) or LightGBM (text).

    The format is detected from the content.
    """
    origin = fspath(path)
    with open(path, "rb") as file:
        return _parse(file.read(), origin)


def _parse(
    document: bytes, origin: str, classes: list[Any] | None = None, scale: str = "log-odds"
) -> Model:
    return Model(
        _probe.Model.parse(document, origin),
        (_parse, (document, origin, classes, scale)),
        classes,
        scale,
    )


def _classes(estimator: Any) -> list[Any] | None:
    """The classes of an estimator, as plain values."""
    found = getattr(estimator, "classes_", None)
    return (
        None
        if found is None
        else [getattr(label, "item", lambda label=label: label)() for label in found]
    )


def from_sklearn(estimator: Any, features: Sequence[str] | None = None) -> Model:
    """A fitted classifier of scikit-learn, or a pipeline that ends in one (also of XGBoost or
    LightGBM).

    Scalers, encoders and column transformers become part of the model, which then takes raw values;
    categories come with a schema. A part that cannot be imported exactly raises
    :class:`UnsupportedError`.

    :param features: names of the columns, if the estimator was fitted without names.
    """
    from ._objects import sklearn

    scale = "log-odds" if hasattr(estimator, "predict_proba") else "distance"
    return _parse(
        sklearn.document(estimator, _names(features)),
        type(estimator).__name__,
        _classes(estimator),
        scale,
    )


def from_xgboost(booster: Any, features: Sequence[str] | None = None) -> Model:
    """A ``Booster`` or ``XGBClassifier``."""
    from ._objects import xgboost

    return _parse(
        xgboost.document(booster, _names(features)), type(booster).__name__, _classes(booster)
    )


def from_lightgbm(booster: Any, features: Sequence[str] | None = None) -> Model:
    """A ``Booster`` or ``LGBMClassifier``."""
    from ._objects import lightgbm

    if features is None:
        # LightGBM replaces blanks in names by underscores; these are the original names.
        features = getattr(booster, "feature_names_in_", None)
    return _parse(
        lightgbm.document(booster, _names(features)), type(booster).__name__, _classes(booster)
    )


def from_torch(module: Any, features: Sequence[str] | None = None) -> Model:
    """A fully connected ``nn.Sequential``, with one output (the margin, or a sigmoid of it) or two
    (logits).
    """
    from ._objects import torch

    return _parse(torch.document(module, _names(features)), type(module).__name__)


def from_callable(
    function: Callable[[Any], Any],
    features: Sequence[str],
    *,
    output: str = "margin",
    frame: bool = False,
) -> Model:
    """Any function of rows.

    The engine only sees its scores, so it calls the function for some 300,000 rows per person. A
    model that can be imported is thousands of times faster, and its answers cost less.

    :param function: takes an array of rows and columns, or a pandas data frame with ``frame=True``,
        and returns a number for each row. The number of a row must not depend on the other rows.
    :param features: names of the columns, all of them numbers.
    :param output: ``margin`` (favourable above zero) or ``probability`` (favourable above one
        half).
    :param frame: whether the function takes a data frame.
    """
    if output not in ("margin", "probability"):
        raise ValueError(f"output: '{output}' is none of margin, probability")
    names = _names(features)
    if not names:
        raise ValueError("features: at least one name is needed")
    name = getattr(function, "__qualname__", type(function).__qualname__)
    if len(set(names)) != len(names):
        raise ValueError("features: a name is given twice")
    # Two functions with the same name are different models.
    return _callable(function, names, output, frame, f"{name} {uuid.uuid4().hex}")


def _callable(
    function: Callable[[Any], Any], features: list[str], output: str, frame: bool, name: str
) -> Model:
    native = _probe.Model.black_box(_Scores(function, features, output, frame), features, name)
    scale = "probability" if output == "probability" else "distance"
    return Model(native, (_callable, (function, features, output, frame, name)), None, scale)


class _Scores:
    """Adapter that the engine calls: bytes in, bytes out."""

    def __init__(
        self, function: Callable[[Any], Any], features: list[str], output: str, frame: bool
    ) -> None:
        self.function, self.features, self.frame = function, features, frame
        self.offset = 0.5 if output == "probability" else 0.0

    def __call__(self, content: bytes, n_rows: int) -> bytes:
        import numpy

        rows = numpy.frombuffer(content, dtype=numpy.float64).reshape(n_rows, len(self.features))
        asked: Any = rows
        if self.frame:
            import pandas

            asked = pandas.DataFrame(rows, columns=self.features)
        scores = numpy.asarray(self.function(asked), dtype=numpy.float64)
        if scores.shape == (n_rows, 2):
            raise ValueError(
                "the function gave two numbers for each row; give that of the favourable class, as "
                "in predict_proba(x)[:, 1]"
            )
        if scores.shape not in ((n_rows,), (n_rows, 1)):
            raise ValueError(
                f"the function gave an array of shape {scores.shape} for {n_rows} rows"
            )
        if not numpy.isfinite(scores).all():
            raise ValueError("the function gave a score that is not finite")
        return numpy.ascontiguousarray(scores - self.offset).tobytes()


def _names(features: Sequence[str] | None) -> list[str] | None:
    if features is None:
        return None
    if isinstance(features, str):
        raise ValueError("features: expected a list of names, found a text")
    return [str(name) for name in features]


def as_model(given: Any) -> Model:
    """A model from a model, a path, or an object of a supported library."""
    if isinstance(given, Model):
        return given
    if isinstance(given, (str, PathLike)):
        return load(given)
    makers = {
        "sklearn": from_sklearn,
        "xgboost": from_xgboost,
        "lightgbm": from_lightgbm,
        "torch": from_torch,
    }
    for base in type(given).__mro__:
        maker = makers.get(base.__module__.split(".")[0])
        if maker is not None:
            return maker(given)
    what = f"{type(given).__module__}.{type(given).__qualname__}"
    raise TypeError(
        f"model: expected a Model, a path or an estimator, found {what}; a function goes through "
        "from_callable"
    )
