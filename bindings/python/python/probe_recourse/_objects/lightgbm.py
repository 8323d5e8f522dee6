"""LightGBM: a `Booster`, or an `LGBMClassifier`, as text with the trees that it predicts with."""

from ..errors import UnsupportedError
from ._document import named, plain


def learned(model):
    """LightGBM's text of a model, and the number of its features."""
    import lightgbm

    if isinstance(model, lightgbm.LGBMClassifier):
        classes = model.n_classes_
        if classes != 2:
            raise UnsupportedError(
                f"LGBMClassifier with {classes} classes", "models of two classes are read"
            )
        booster = model.booster_
    elif isinstance(model, lightgbm.Booster):
        booster = model
    else:
        raise UnsupportedError(
            f"lightgbm {type(model).__name__}", "only Booster and LGBMClassifier are read"
        )
    if booster.pandas_categorical and any(booster.pandas_categorical):
        raise UnsupportedError(
            "LightGBM with categorical features",
            "splits on categories are not read; encode them before the model",
        )
    return booster.model_to_string(), booster.num_feature()


def document(model: object, features: "list[str] | None" = None) -> bytes:
    """The model's text; inside a document where other names than its own are wanted."""
    import lightgbm

    text, n = learned(model)
    if features is None:
        return text.encode()
    return plain(
        f"LightGBM {lightgbm.__version__} {type(model).__name__}", named(features, None, n), text
    )
