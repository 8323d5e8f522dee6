"""scikit-learn: binary classifiers, and pipelines with scalers, imputers and encoders.

Transformers are followed column by column. Each input of the model comes from one column of the
frame, by steps in the order and the double precision of scikit-learn. Classes are compared by name,
so that no missing library is imported.
"""

import math
import sys

from ..errors import UnsupportedError
from . import _document as doc

LINEAR = (
    "LogisticRegression", "LogisticRegressionCV", "LinearSVC", "SGDClassifier", "RidgeClassifier",
    "RidgeClassifierCV", "Perceptron", "LinearDiscriminantAnalysis",
)  # fmt: skip
ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "logistic": "sigmoid"}


def refuse(what, why):
    raise UnsupportedError(what, why)


def kind_of(estimator):
    """The class name if it is of a supported library, else `None`. A subclass may do anything."""
    root = type(estimator).__module__.partition(".")[0]
    return type(estimator).__name__ if root in ("sklearn", "xgboost", "lightgbm") else None


def name_of(estimator):
    """The name of a class for messages."""
    return kind_of(estimator) or f"{type(estimator).__module__}.{type(estimator).__qualname__}"


def document(estimator: object, features: "list[str] | None" = None) -> bytes:
    """The bytes of a document."""
    import sklearn

    steps = flat_steps(estimator)
    n, own = frame_of(steps)
    frame = Frame(doc.named(features, own, n))
    state = State([Column(j) for j in range(n)], sparse=False)
    for step in steps[:-1]:
        state = transformed(step, state, frame)
    last = steps[-1]
    model = model_of(last, state)
    source = f"scikit-learn {sklearn.__version__} {described(estimator)}"
    used = sorted({column.raw for column in state.columns})
    if not used:
        refuse(name_of(estimator), "no column of the frame reaches the model")
    place = {raw: number for number, raw in enumerate(used)}
    inputs = [frame.input(raw) for raw in used]
    return doc.written(
        source, inputs, [column.written(place, frame) for column in state.columns], model
    )


def described(estimator):
    """The classes of a pipeline, as text."""
    if kind_of(estimator) == "Pipeline":
        inner = ", ".join(
            step if isinstance(step, str) else described(step)
            for _, step in estimator.steps
            if step is not None
        )
        return f"Pipeline({inner})"
    return type(estimator).__name__


def flat_steps(estimator):
    """All transformers and the classifier, with nested pipelines expanded."""
    if kind_of(estimator) != "Pipeline":
        return [estimator]
    steps = []
    for _, step in estimator.steps:
        steps.extend(flat_steps(step) if kind_of(step) == "Pipeline" else [step])
    if is_nothing(steps[-1]):
        refuse("Pipeline", "its last step is no classifier")
    return steps


def is_nothing(step):
    return step is None or (isinstance(step, str) and step == "passthrough")


def frame_of(steps):
    """How many columns the frame has, and their names if they are known."""
    for step in steps:
        if is_nothing(step):
            continue
        n = getattr(step, "n_features_in_", None)
        if n is None and kind_of(step) == "FunctionTransformer":
            continue
        if n is None:
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(step)
            refuse(name_of(step), "it does not say how many columns it was fitted to")
        names = getattr(step, "feature_names_in_", None)
        return int(n), None if names is None else [str(name) for name in names]
    return refuse("Pipeline", "no step says how many columns it was fitted to")


class Frame:
    """The columns of the input frame."""

    def __init__(self, names):
        self.names = names
        self.categories = {}

    def encode(self, raw, categories, encoding):
        told = (categories, encoding)
        if self.categories.setdefault(raw, told) != told:
            refuse(f"column '{self.names[raw]}'", "it is encoded in two ways")

    def input(self, raw):
        if raw not in self.categories:
            return {"name": self.names[raw]}
        categories, encoding = self.categories[raw]
        return {"name": self.names[raw], "categories": categories, "encoding": encoding}


class Column:
    """One input of the model: a number of the frame, or the output of an encoder."""

    def __init__(self, raw, category=None, encoded=False, steps=(), imputed=False, single=False):
        self.raw, self.category, self.encoded = raw, category, encoded
        self.steps, self.imputed, self.single = tuple(steps), imputed, single

    def then(self, *steps):
        """Adds steps, except those that change nothing."""
        nothing = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0}
        more = [step for step in steps if step[1] != nothing[step[0]]]
        return Column(
            self.raw, self.category, self.encoded, [*self.steps, *more], self.imputed, self.single
        )

    def filled(self):
        """The column after an imputer. Missing categories are rejected elsewhere."""
        return Column(
            self.raw,
            self.category,
            self.encoded,
            self.steps,
            self.imputed or not self.encoded,
            self.single,
        )

    def written(self, place, frame):
        if not self.encoded and self.raw in frame.categories:
            refuse(
                f"column '{frame.names[self.raw]}'", "it is used both as a number and as a category"
            )
        column = {"input": place[self.raw]}
        if self.category is not None:
            column["category"] = self.category
        if self.steps:
            column["steps"] = [list(step) for step in self.steps]
        if self.imputed:
            column["imputed"] = True
        return column


class State:
    """All columns between two steps, and whether scikit-learn has them as a sparse matrix."""

    def __init__(self, columns, sparse):
        self.columns, self.sparse = columns, sparse


# Transformers.


def transformed(step, state, frame):
    """The columns after one transformer."""
    if is_nothing(step):
        return state
    kind = kind_of(step)
    if kind not in TRANSFORMERS:
        refuse(name_of(step), "it is none of the transformers that are read")
    from sklearn.utils.validation import check_is_fitted

    if kind != "FunctionTransformer":
        check_is_fitted(step)
        n = getattr(step, "n_features_in_", len(state.columns))
        if n != len(state.columns):
            refuse(kind, f"it was fitted to {n} columns, but gets {len(state.columns)}")
    return TRANSFORMERS[kind](step, state, frame)


def pipeline(step, state, frame):
    for _, inner in step.steps:
        state = transformed(inner, state, frame)
    return state


def column_transformer(step, state, frame):
    if step.transformer_weights:
        refuse("ColumnTransformer(transformer_weights=…)", "weights of transformers are not read")
    columns = []
    for name, inner, _ in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        picked = [state.columns[j] for j in step._transformer_to_input_indices[name]]
        if not picked:
            continue
        made = transformed(inner, State(picked, state.sparse), frame).columns
        place = step.output_indices_[name]
        if (place.start, place.stop) != (len(columns), len(columns) + len(made)):
            refuse(
                f"ColumnTransformer, '{name}'",
                f"its output has other columns than the {len(made)} expected",
            )
        columns.extend(made)
    return State(columns, bool(step.sparse_output_))


def scaled(step, state, parts):
    """The columns after a scaler. `parts` are pairs of an operation and a number per column."""
    kind, columns = kind_of(step), []
    for j, column in enumerate(state.columns):
        if column.single:
            refuse(
                f"{kind} after an encoder with dtype float32", "it may scale in single precision"
            )
        steps = [(name, doc.finite(values[j], f"{kind}, constant {j}")) for name, values in parts]
        columns.append(column.then(*steps))
    return State(columns, state.sparse)


def standard_scaler(step, state, frame):
    parts = [("subtract", step.mean_)] if step.with_mean else []
    return scaled(step, state, [*parts, ("divide", step.scale_)] if step.with_std else parts)


def min_max_scaler(step, state, frame):
    refuse_clip(step)
    return scaled(step, state, [("multiply", step.scale_), ("add", step.min_)])


def max_abs_scaler(step, state, frame):
    refuse_clip(step)
    return scaled(step, state, [("divide", step.scale_)])


def refuse_clip(step):
    if getattr(step, "clip", False):
        refuse(f"{kind_of(step)}(clip=True)", "clipped columns are not read")


def robust_scaler(step, state, frame):
    parts = [("subtract", step.center_)] if step.with_centering else []
    return scaled(step, state, [*parts, ("divide", step.scale_)] if step.with_scaling else parts)


def simple_imputer(step, state, frame):
    """Present values stay as they are. The model then rejects missing ones."""
    missing = step.missing_values
    if missing is not None and not is_missing(missing):
        refuse(
            f"SimpleImputer(missing_values={missing!r})",
            "only the replacement of missing values is read",
        )
    if step.add_indicator:
        refuse("SimpleImputer(add_indicator=True)", "columns that say what is missing are not read")
    if not isinstance(step.strategy, str):
        refuse(
            "SimpleImputer with a strategy of its own",
            "mean, median, most_frequent and constant are read",
        )
    n = len(step.get_feature_names_out())
    columns = state.columns
    if n != len(columns):
        # Columns that had no value at all.
        columns = [
            column
            for column, value in zip(columns, step.statistics_.tolist())
            if not is_missing(value)
        ]
        if n != len(columns):
            refuse(
                "SimpleImputer",
                f"it makes {n} of {len(state.columns)} columns, and which is not known",
            )
    return State([column.filled() for column in columns], state.sparse)


def is_missing(value):
    return (
        value is None
        or type(value).__name__ == "NAType"
        or (isinstance(value, float) and math.isnan(value))
    )


def one_hot_encoder(step, state, frame):
    refuse_infrequent(step)
    columns, dropped = [], step.drop_idx_
    for j, column in enumerate(state.columns):
        categories = texts(step, step.categories_[j], column, frame)
        frame.encode(column.raw, categories, "onehot")
        skip = None if dropped is None else dropped[j]
        single = is_single(step)
        columns.extend(
            Column(column.raw, category=k, encoded=True, single=single)
            for k in range(len(categories))
            if skip is None or k != skip
        )
    return State(columns, bool(getattr(step, "sparse_output", getattr(step, "sparse", False))))


def ordinal_encoder(step, state, frame):
    refuse_infrequent(step)
    columns = []
    for j, column in enumerate(state.columns):
        frame.encode(column.raw, texts(step, step.categories_[j], column, frame), "ordinal")
        columns.append(Column(column.raw, encoded=True, single=is_single(step)))
    return State(columns, False)


def is_single(step):
    import numpy

    kind = numpy.dtype(step.dtype)
    return kind.kind == "f" and kind.itemsize < 8


def refuse_infrequent(step):
    if getattr(step, "_infrequent_enabled", False) and any(
        found is not None for found in step.infrequent_categories_
    ):
        refuse(
            f"{kind_of(step)} with infrequent categories", "several categories would be one column"
        )


def texts(step, categories, column, frame):
    """Categories as they appear in tables."""
    name = frame.names[column.raw]
    if column.encoded or column.steps:
        refuse(
            f"{kind_of(step)} of column '{name}'", "it was changed by another transformer before"
        )
    found = []
    for value in categories.tolist():
        # Arrays of objects keep numbers of numpy.
        value = value.item() if hasattr(value, "item") else value
        if is_missing(value):
            refuse(
                f"{kind_of(step)} of column '{name}'", "a missing value is one of its categories"
            )
        if not isinstance(value, (str, bool, int, float)):
            refuse(
                f"{kind_of(step)} of column '{name}'",
                f"its category {value!r} is neither text, number nor truth value",
            )
        found.append(str(value))
    if len(set(found)) != len(found):
        refuse(f"{kind_of(step)} of column '{name}'", "two of its categories are the same text")
    return found


def function_transformer(step, state, frame):
    if step.func is not None:
        refuse(
            f"FunctionTransformer(func={getattr(step.func, '__name__', step.func)})",
            "what the function does is not known",
        )
    return state


TRANSFORMERS = {
    "Pipeline": pipeline,
    "ColumnTransformer": column_transformer,
    "StandardScaler": standard_scaler,
    "MinMaxScaler": min_max_scaler,
    "MaxAbsScaler": max_abs_scaler,
    "RobustScaler": robust_scaler,
    "SimpleImputer": simple_imputer,
    "OneHotEncoder": one_hot_encoder,
    "OrdinalEncoder": ordinal_encoder,
    "FunctionTransformer": function_transformer,
}


# Classifiers.


def model_of(estimator, state):
    """The classifier as a model of the columns."""
    kind = kind_of(estimator)
    read = linear if kind in LINEAR else MODELS.get(kind)
    if read is None:
        hint = "; pass its best_estimator_" if hasattr(estimator, "best_estimator_") else ""
        refuse(name_of(estimator), f"it is none of the classifiers that are read{hint}")
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    check_classes(estimator, kind)
    n = estimator.n_features_in_
    if n != len(state.columns):
        refuse(kind, f"it was fitted to {n} columns, but gets {len(state.columns)}")
    if kind == "XGBClassifier" and state.sparse:
        why = (
            "XGBoost takes zeros of a sparse matrix for missing values; "
            "fit with sparse_output=False in the encoder"
        )
        refuse(
            "XGBClassifier after a sparse matrix",
            f"{why}, or sparse_threshold=0 in the ColumnTransformer",
        )
    return read(estimator)


def check_classes(estimator, kind):
    outputs = getattr(estimator, "n_outputs_", 1)
    if outputs != 1:
        refuse(f"{kind} with {outputs} outputs", "models of one output are read")
    classes = len(estimator.classes_)
    if classes != 2:
        refuse(f"{kind} with {classes} classes", "models of two classes are read")


def linear(estimator):
    kind = kind_of(estimator)
    if getattr(estimator, "multi_class", None) == "multinomial":
        refuse(
            f"{kind}(multi_class='multinomial')",
            "of two classes its margin is half the log-odds; fit without it",
        )
    coef = estimator.coef_
    coef = coef.toarray() if hasattr(coef, "toarray") else coef
    weights = doc.numbers(coef.reshape(-1), f"{kind}.coef_")
    intercept = getattr(estimator.intercept_, "item", lambda: estimator.intercept_)()
    return doc.linear(weights, doc.finite(intercept, f"{kind}.intercept_"))


def mlp(estimator):
    layers = [
        (coef.astype("float64").T, bias.astype("float64"))
        for coef, bias in zip(estimator.coefs_, estimator.intercepts_)
    ]
    activation = estimator.activation
    if estimator.out_activation_ != "logistic":
        refuse(
            f"MLPClassifier with {estimator.out_activation_} outputs",
            "models of two classes are read",
        )
    if activation == "identity":
        weight, bias = layers[0]
        for more, shift in layers[1:]:
            weight, bias = more @ weight, more @ bias + shift
        layers = [(weight, bias)]
    elif activation not in ACTIVATIONS:
        refuse(
            f"MLPClassifier(activation={activation!r})",
            f"{', '.join(ACTIVATIONS)} and identity are read",
        )
    rows = lambda weight: [doc.numbers(row, "MLPClassifier.coefs_") for row in weight]
    listed = [
        (rows(weight), doc.numbers(bias, "MLPClassifier.intercepts_")) for weight, bias in layers
    ]
    return doc.network(listed, ACTIVATIONS.get(activation))


def trees(listed, n, **rules):
    return doc.native("trees", n, split="<=", trees=listed, **rules)


def cut(threshold):
    """A threshold; a split between missing values and all others is at infinity."""
    return sys.float_info.max if threshold == math.inf else doc.finite(threshold, "a threshold")


def tree(nodes, values, missing):
    """One tree of scikit-learn's own kind, with a value for each node."""
    inner = nodes["left_child"] >= 0
    made = {
        "feature": [int(j) if split else 0 for j, split in zip(nodes["feature"], inner)],
        "threshold": [cut(t) if split else 0.0 for t, split in zip(nodes["threshold"], inner)],
        "left": nodes["left_child"].tolist(),
        "right": nodes["right_child"].tolist(),
        "value": values,
    }
    if missing and "missing_go_to_left" in nodes.dtype.names:
        made["default_left"] = [bool(side) for side in nodes["missing_go_to_left"]]
    return made


def takes_missing(estimator):
    """Whether a classifier of trees predicts for rows with missing values."""
    if getattr(estimator, "monotonic_cst", None) is not None:
        return False
    try:
        from sklearn.utils import get_tags
    except ImportError:
        return bool(estimator._get_tags()["allow_nan"])
    return bool(get_tags(estimator).input_tags.allow_nan)


def forest(estimator):
    """Trees whose leaves are probabilities; a single tree is a forest of one."""
    missing = takes_missing(estimator)
    listed = []
    for one in getattr(estimator, "estimators_", [estimator]):
        state = one.tree_.__getstate__()
        values = []
        for no, yes in state["values"][:, 0, :].tolist():
            # Versions before 1.3 kept weights of samples.
            total = no + yes
            values.append(doc.finite(yes if abs(total - 1.0) < 1e-9 else yes / total, "a leaf"))
        listed.append(tree(state["nodes"], values, missing))
    return trees(listed, estimator.n_features_in_, aggregate="mean", input="f32")


def gradient_boosting(estimator):
    import numpy

    if estimator.loss not in ("log_loss", "deviance"):
        refuse(
            f"GradientBoostingClassifier(loss={estimator.loss!r})",
            "its score is not the log-odds; log_loss is read",
        )
    if estimator.init is not None and not (
        isinstance(estimator.init, str) and estimator.init == "zero"
    ):
        refuse(
            f"GradientBoostingClassifier(init={name_of(estimator.init)})",
            "only the prior and 'zero' are read",
        )
    n, rate = estimator.n_features_in_, estimator.learning_rate
    base = estimator._raw_predict_init(numpy.zeros((1, n), dtype=numpy.float32))[0, 0]
    listed = []
    for one in estimator.estimators_[:, 0]:
        state = one.tree_.__getstate__()
        values = [doc.finite(rate * value, "a leaf") for value in state["values"][:, 0, 0].tolist()]
        listed.append(tree(state["nodes"], values, False))
    return trees(
        listed, n, aggregate="sum", input="f32", base=doc.finite(base, "the initial score")
    )


def hist_gradient_boosting(estimator):
    kind = kind_of(estimator)
    if getattr(estimator, "_preprocessor", None) is not None or (
        estimator.is_categorical_ is not None and estimator.is_categorical_.any()
    ):
        refuse(
            f"{kind}(categorical_features=…)",
            "splits on categories are not read; encode them before the model",
        )
    listed = []
    for (predictor,) in estimator._predictors:
        nodes = predictor.nodes
        if nodes["is_categorical"].any():
            refuse(kind, "splits on categories are not read; encode them before the model")
        leaf = nodes["is_leaf"].astype(bool)
        child = lambda name: [-1 if end else int(node) for node, end in zip(nodes[name], leaf)]
        listed.append({
            "feature": [0 if end else int(j) for j, end in zip(nodes["feature_idx"], leaf)],
            "threshold": [0.0 if end else cut(t) for t, end in zip(nodes["num_threshold"], leaf)],
            "left": child("left"),
            "right": child("right"),
            "value": [
                doc.finite(v, "a leaf") if end else 0.0 for v, end in zip(nodes["value"], leaf)
            ],
            "default_left": [bool(side) for side in nodes["missing_go_to_left"]],
        })  # fmt: skip
    base = doc.finite(estimator._baseline_prediction.reshape(-1)[0], "the initial score")
    return trees(listed, estimator.n_features_in_, aggregate="sum", input="f64", base=base)


def xgb(estimator):
    from . import xgboost

    return xgboost.learned(estimator)


def lgbm(estimator):
    from . import lightgbm

    return lightgbm.learned(estimator)[0]


MODELS = {
    "MLPClassifier": mlp,
    "DecisionTreeClassifier": forest,
    "ExtraTreeClassifier": forest,
    "RandomForestClassifier": forest,
    "ExtraTreesClassifier": forest,
    "GradientBoostingClassifier": gradient_boosting,
    "HistGradientBoostingClassifier": hist_gradient_boosting,
    "XGBClassifier": xgb,
    "LGBMClassifier": lgbm,
}
