"""Recourse that holds although nobody carries out advice exactly.

A model rejected a person. Probe finds the cheapest change that turns the no into a yes, such that
at most a given share of inexact attempts fails.

>>> import probe_recourse as pr, pyarrow as pa
>>> model = pr.Model.linear(["income", "debt"], [1.0, -1.0], 0.0)
>>> engine = pr.Engine(model, noise=pr.Gaussian(0.1), max_rate=0.1)
>>> out = engine.recourse(pa.table({"income": [0.2], "debt": [0.5]}))
>>> out.column("status")[0].as_py(), out.column("rate")[0].as_py() <= 0.1
('certified', True)
"""

from . import spark
from ._engine import Engine, ProbeWarning
from ._frontier import Frontier
from ._model import (
    Model,
    from_callable,
    from_lightgbm,
    from_sklearn,
    from_torch,
    from_xgboost,
    load,
)
from ._probe import __version__
from ._schema import Schema
from .errors import UnsupportedError
from .noise import Effort, Gaussian, Laplace, Noise, NoiseFile, StudentT, Uniform

__all__ = [
    "Effort",
    "Engine",
    "Frontier",
    "Gaussian",
    "Laplace",
    "Model",
    "Noise",
    "NoiseFile",
    "ProbeWarning",
    "Schema",
    "StudentT",
    "Uniform",
    "UnsupportedError",
    "__version__",
    "from_callable",
    "from_lightgbm",
    "from_sklearn",
    "from_torch",
    "from_xgboost",
    "load",
    "spark",
]
