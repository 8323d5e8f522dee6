"""XGBoost: a `Booster`, or an `XGBClassifier` with the trees that it predicts with."""

import json
import math

from ..errors import UnsupportedError
from ._document import named


def learned(model):
    """XGBoost's own JSON of a model, as Python objects."""
    import xgboost

    if isinstance(model, xgboost.Booster):
        booster, by_sklearn = model, False
    elif isinstance(model, xgboost.XGBClassifier):
        check_classifier(model)
        booster, by_sklearn = model.get_booster(), True
    else:
        raise UnsupportedError(
            f"xgboost {type(model).__name__}", "only Booster and XGBClassifier are read"
        )
    if any(kind == "c" for kind in booster.feature_types or []):
        raise UnsupportedError(
            "XGBoost with enable_categorical",
            "splits on categories are not read; encode them before the model",
        )
    whole = json.loads(bytes(booster.save_raw("json")))
    # The attribute marks a file of the scikit-learn interface, which predicts with the trees up to
    # the best iteration only.
    attributes = whole["learner"].setdefault("attributes", {})
    attributes.pop("scikit_learn", None)
    if by_sklearn:
        attributes["scikit_learn"] = "{}"
    return as_json(whole)


def check_classifier(model):
    classes = model.n_classes_
    if classes != 2:
        raise UnsupportedError(
            f"XGBClassifier with {classes} classes", "models of two classes are read"
        )
    missing = model.missing
    if missing is not None and not (isinstance(missing, float) and math.isnan(missing)):
        raise UnsupportedError(
            f"XGBClassifier(missing={missing!r})", "only NaN may stand for a missing value"
        )


def as_json(value):
    """Replaces NaN and infinities, which JSON lacks, by text."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def document(model: object, features: "list[str] | None" = None) -> bytes:
    """The model's JSON, with the names wanted in it."""
    whole = learned(model)
    learner = whole["learner"]
    n = int(learner["learner_model_param"]["num_feature"])
    own = learner.get("feature_names") or [f"f{j}" for j in range(n)]
    learner["feature_names"] = named(features, own, n)
    return json.dumps(whole, allow_nan=False, ensure_ascii=False).encode()
