"""Turns model objects of Python libraries into bytes that the engine imports exactly.

`document` finds out which library an object is of. Each library has a module here with a function
of the same name; none of them is imported before an object of its library is there.
"""

from ..errors import UnsupportedError

LIBRARIES = ("xgboost", "lightgbm", "sklearn", "torch")


def library(model):
    """The library of a model's class or of a base class; `None` if it is not supported."""
    for kind in type(model).__mro__:
        root = kind.__module__.partition(".")[0]
        if root in LIBRARIES:
            return root
    return None


def document(model: object, features: "list[str] | None" = None) -> bytes:
    """The model as bytes; `features` replaces the column names of the library."""
    root = library(model)
    if root == "sklearn":
        from . import sklearn as reader
    elif root == "xgboost":
        from . import xgboost as reader
    elif root == "lightgbm":
        from . import lightgbm as reader
    elif root == "torch":
        from . import torch as reader
    else:
        kind = type(model)
        raise UnsupportedError(
            f"{kind.__module__}.{kind.__qualname__}",
            "models of scikit-learn, XGBoost, LightGBM and PyTorch are read",
        )
    return reader.document(model, features)
