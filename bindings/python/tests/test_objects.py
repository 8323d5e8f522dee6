"""Models of every library that is read: margins on ten thousand rows against the library's own, and
what is refused.
"""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from made import (
    ALL,
    JOBS,
    LINEAR,
    N_ROWS,
    NUMBERS,
    TREES,
    boosters,
    encoders,
    library_margin,
    people,
    rng_of,
    rows_for,
    target,
)
from probe_recourse._objects import document
from probe_recourse.errors import UnsupportedError
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

TOLERANCE = 1e-5


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def compare(ours, theirs, what):
    theirs = np.asarray(theirs, dtype=float)
    assert len(ours) == len(theirs) and np.isfinite(theirs).all() and np.isfinite(ours).all()
    differ = (ours > 0) != (theirs > 0)
    print(f"| {what} | {len(ours)} | {np.abs(ours - theirs).max():.1e} | {differ.sum()} |")
    assert np.abs(ours - theirs).max() <= TOLERANCE
    assert not (differ & (np.abs(theirs) > TOLERANCE)).any()


def check(margins, model, columns, name, missing=False):
    """Fits a model on some columns of a frame and compares on fresh rows."""
    rng = rng_of(name)
    train = people(1500, rng, missing)
    model.fit(train[columns], target(train, rng))
    made = document(model)
    frame = rows_for(made, rng, missing)
    compare(margins(made, frame), library_margin(model, frame[columns]), name)
    return made


@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_and_networks(margins, name):
    check(margins, make_pipeline(StandardScaler(), LINEAR[name]), NUMBERS, name)


def test_without_a_pipeline_and_without_names(margins):
    rng = rng_of("plain")
    train = people(800, rng)[NUMBERS]
    y = target(people(800, rng), rng)
    model = LogisticRegression().fit(StandardScaler().fit_transform(train), y)
    whole = json.loads(document(model))
    assert [column["name"] for column in whole["inputs"]] == ["x0", "x1", "x2", "x3"]
    whole = json.loads(document(model, features=["p", "q", "r", "s"]))
    assert [column["name"] for column in whole["inputs"]] == ["p", "q", "r", "s"]
    with pytest.raises(ValueError, match="3 names"):
        document(model, features=["p", "q", "r"])
    with pytest.raises(ValueError, match="twice"):
        document(model, features=["p", "q", "r", "p"])


TAKE_MISSING = ["tree", "extra-tree", "forest", "extra-trees", "hist"]


@pytest.mark.parametrize("name", TREES)
def test_trees(margins, name):
    check(margins, TREES[name], NUMBERS, name)


@pytest.mark.parametrize("name", TREES)
def test_trees_behind_a_scaler(margins, name):
    check(
        margins,
        make_pipeline(RobustScaler(), MinMaxScaler((-1, 2)), TREES[name]),
        NUMBERS,
        f"{name}-scaled",
    )


def takes(name):
    from probe_recourse._objects.sklearn import takes_missing

    return name == "hist" or takes_missing(TREES[name])


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_trees_with_missing_values(margins, name):
    if not takes(name):
        pytest.skip("this version takes no missing values")
    check(
        margins,
        make_pipeline(StandardScaler(), TREES[name]),
        NUMBERS,
        f"{name}-missing",
        missing=True,
    )


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_trees_that_saw_no_missing_values_have_a_way_for_them(margins, name):
    if not takes(name):
        pytest.skip("this version takes no missing values")
    rng = rng_of(name)
    train = people(1500, rng)
    model = TREES[name].fit(train[NUMBERS], target(train, rng))
    frame = people(N_ROWS, rng, missing=True)
    compare(
        margins(document(model), frame), library_margin(model, frame[NUMBERS]), f"{name}-unseen"
    )


@pytest.mark.parametrize("name", ["logistic", "mlp-tanh", *TREES, "xgboost", "lightgbm"])
def test_pipelines_of_everything(margins, name):
    last = {**LINEAR, **TREES, **boosters()}[name]
    made = check(margins, make_pipeline(encoders(), last), ALL, f"{name}-columns")
    whole = json.loads(made)
    assert [column["name"] for column in whole["inputs"]] == [
        "age",
        "income",
        "debt",
        "job",
        "grade",
        "code",
        "owner",
    ]
    assert whole["inputs"][3]["categories"] == JOBS and whole["inputs"][5]["categories"] == [
        "1",
        "2",
        "5",
    ]
    assert whole["inputs"][6]["categories"] == ["False", "True"]


@pytest.mark.parametrize("name", ["logistic", "forest", "lightgbm"])
def test_sparse_matrices_in_between(margins, name):
    last = {**LINEAR, **TREES, **boosters()}[name]
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "grade", "code"]), (MaxAbsScaler(), ["age"]), sparse_threshold=1.0
    )
    check(margins, make_pipeline(columns, last), ALL, f"{name}-sparse")


def test_xgboost_after_a_sparse_matrix_is_refused():
    rng = rng_of("sparse")
    train = people(500, rng)
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "grade", "code"]), (MaxAbsScaler(), ["age"]), sparse_threshold=1.0
    )
    model = make_pipeline(columns, boosters()["xgboost"]).fit(train[ALL], target(train, rng))
    with pytest.raises(
        UnsupportedError, match="sparse matrix is not supported: XGBoost takes zeros"
    ):
        document(model)


def test_scaled_categories_and_positions(margins):
    columns = ColumnTransformer(
        [("a", OneHotEncoder(sparse_output=False), [4, 5]), ("b", "passthrough", slice(0, 2))]
    )
    model = make_pipeline(
        columns, StandardScaler(), FunctionTransformer(), RandomForestClassifier(20, random_state=0)
    )
    made = check(margins, model, ALL, "scaled-categories")
    assert [column["name"] for column in json.loads(made)["inputs"]] == [
        "age",
        "income",
        "job",
        "grade",
    ]


def test_one_number_in_several_columns(margins):
    columns = ColumnTransformer(
        [
            ("a", StandardScaler(), ["age", "debt"]),
            ("b", MinMaxScaler(), ["age"]),
            ("c", "passthrough", ["debt"]),
        ]
    )
    for last, name in (
        (TREES["boosting"], "twice-trees"),
        (LINEAR["logistic"], "twice-linear"),
        (LINEAR["mlp-relu"], "twice-network"),
    ):
        check(margins, make_pipeline(columns, last), ALL, name)


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_boosters_alone_and_scaled(margins, name):
    check(margins, boosters()[name], NUMBERS, name, missing=True)
    check(
        margins,
        make_pipeline(StandardScaler(), boosters()[name]),
        NUMBERS,
        f"{name}-scaled",
        missing=True,
    )


def test_imputed_models_refuse_missing_values(margins):
    rng = rng_of("imputed")
    train = people(800, rng, missing=True)
    model = make_pipeline(SimpleImputer(), TREES["forest"]).fit(train[NUMBERS], target(train, rng))
    with pytest.raises(ValueError, match="a missing value"):
        margins(document(model), people(50, rng, missing=True))


def test_xgboost_behind_an_imputer_refuses_missing_values(margins):
    rng = rng_of("imputed")
    train = people(800, rng, missing=True)
    model = make_pipeline(SimpleImputer(), boosters()["xgboost"]).fit(
        train[NUMBERS], target(train, rng)
    )
    with pytest.raises(ValueError, match="a missing value"):
        margins(document(model), people(50, rng, missing=True))


def test_early_stopping(margins):
    import lightgbm
    import xgboost

    rng = rng_of("early")
    train, held = people(1500, rng, missing=True), people(500, rng, missing=True)
    y, z = target(train, rng), target(held, rng)
    model = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=3, learning_rate=0.5)
    model.fit(train[NUMBERS], y, eval_set=[(held[NUMBERS], z)], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    frame = people(N_ROWS, rng, missing=True)
    compare(
        margins(document(model), frame),
        model.predict(frame[NUMBERS], output_margin=True),
        "xgboost-stopped",
    )
    booster = model.get_booster()
    theirs = booster.predict(xgboost.DMatrix(frame[NUMBERS]), output_margin=True)
    compare(margins(document(booster), frame), theirs, "xgboost-booster")
    model = lightgbm.LGBMClassifier(n_estimators=200, learning_rate=0.5, verbose=-1)
    model.fit(
        train[NUMBERS],
        y,
        eval_set=[(held[NUMBERS], z)],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    assert model.best_iteration_ < 200
    compare(
        margins(document(model), frame),
        model.predict(frame[NUMBERS], raw_score=True),
        "lightgbm-stopped",
    )
    named = document(model.booster_, features=["a b", "c", "d", "e"])
    frame = frame[NUMBERS].set_axis(["a b", "c", "d", "e"], axis=1)
    theirs = model.booster_.predict(frame.to_numpy(), raw_score=True)
    compare(margins(named, frame), theirs, "lightgbm-named")


def test_names_of_boosters():
    import xgboost

    rng = rng_of("names")
    train = people(300, rng)
    model = xgboost.XGBClassifier(n_estimators=3).fit(train[NUMBERS].to_numpy(), target(train, rng))
    assert json.loads(document(model))["learner"]["feature_names"] == ["f0", "f1", "f2", "f3"]
    assert json.loads(document(model, features=NUMBERS))["learner"]["feature_names"] == NUMBERS


# What is refused, by name.


def fitted(model, columns=NUMBERS, classes=2):
    rng = rng_of("refused")
    train = people(400, rng)
    y = target(train, rng) if classes == 2 else rng.integers(0, classes, 400)
    return model.fit(train[columns], y)


REFUSED = [
    (
        lambda: fitted(LogisticRegression(), classes=3),
        "LogisticRegression with 3 classes is not supported",
    ),
    (lambda: fitted(RandomForestClassifier(3), classes=4), "RandomForestClassifier with 4 classes"),
    (lambda: fitted(boosters()["xgboost"], classes=3), "XGBClassifier with 3 classes"),
    (lambda: fitted(boosters()["lightgbm"], classes=3), "LGBMClassifier with 3 classes"),
    (lambda: fitted(AdaBoostClassifier(n_estimators=3)), "AdaBoostClassifier is not supported"),
    (
        lambda: fitted(CalibratedClassifierCV(LogisticRegression())),
        "CalibratedClassifierCV is not supported",
    ),
    (lambda: fitted(GridSearchCV(LogisticRegression(), {"C": [1.0]})), "pass its best_estimator_"),
    (lambda: fitted(make_pipeline(PCA(2), LogisticRegression())), "PCA is not supported"),
    (
        lambda: fitted(make_pipeline(MinMaxScaler(clip=True), LogisticRegression())),
        r"MinMaxScaler\(clip=True\)",
    ),
    (
        lambda: fitted(make_pipeline(FunctionTransformer(np.log1p), LogisticRegression())),
        r"FunctionTransformer\(func=log1p\)",
    ),
    (
        lambda: fitted(make_pipeline(SimpleImputer(missing_values=0), LogisticRegression())),
        r"SimpleImputer\(missing_values=0\)",
    ),
    (
        lambda: fitted(make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression())),
        "add_indicator=True",
    ),
    (
        lambda: fitted(GradientBoostingClassifier(loss="exponential", n_estimators=2)),
        "loss='exponential'",
    ),
    (
        lambda: fitted(GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2)),
        "init=LogisticRegression",
    ),
    (
        lambda: fitted(HistGradientBoostingClassifier(max_iter=2, categorical_features=[3])),
        "categorical_features",
    ),
    (
        lambda: fitted(
            make_pipeline(OneHotEncoder(min_frequency=200), LogisticRegression()), ["job", "grade"]
        ),
        "infrequent",
    ),
    (
        lambda: fitted(
            make_pipeline(
                ColumnTransformer(
                    [("a", OneHotEncoder(), ["code"]), ("b", "passthrough", ["code"])]
                ),
                LogisticRegression(),
            ),
            ALL,
        ),
        "column 'code' is not supported: it is used both",
    ),
    (
        lambda: fitted(
            make_pipeline(
                ColumnTransformer(
                    [("a", OneHotEncoder(), ["code"]), ("b", OrdinalEncoder(), ["code"])]
                ),
                LogisticRegression(),
            ),
            ALL,
        ),
        "column 'code' is not supported: it is encoded in two ways",
    ),
    (
        lambda: fitted(
            make_pipeline(
                ColumnTransformer(
                    [("a", StandardScaler(), ["age"])], transformer_weights={"a": 2.0}
                ),
                LogisticRegression(),
            ),
            ALL,
        ),
        "transformer_weights",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    make, words = REFUSED[number]
    with pytest.raises(UnsupportedError, match=words):
        document(make())


def test_models_of_others_are_refused():
    class Own(LogisticRegression):
        def decision_function(self, x):
            return -super().decision_function(x)

    with pytest.raises(UnsupportedError, match="Own is not supported"):
        document(fitted(Own()))
    with pytest.raises(UnsupportedError, match="builtins.dict"):
        document({})
    with pytest.raises(NotFittedError):
        document(LogisticRegression())
    x, y = make_classification(n_samples=60, n_features=4, random_state=0)
    model = LogisticRegression().fit(x, y)
    model.coef_[0, 1] = math.nan
    with pytest.raises(UnsupportedError, match="not finite"):
        document(model)


def test_categories_in_boosters_are_refused():
    import lightgbm
    import xgboost

    rng = rng_of("categories")
    train = people(400, rng)
    frame, y = train[NUMBERS].assign(job=train["job"].astype("category")), target(train, rng)
    for model in (
        xgboost.XGBClassifier(n_estimators=3, tree_method="hist", enable_categorical=True),
        lightgbm.LGBMClassifier(n_estimators=3, verbose=-1),
    ):
        with pytest.raises(UnsupportedError, match="categor"):
            document(model.fit(frame, y))


# PyTorch.

torch = None
try:
    import torch
except ImportError:
    pass
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch is not there")


def settled(net, rng):
    """With running means and variances that are not those of a new network, ready to predict."""
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.uniform_(-1, 1)
            module.running_var.uniform_(0.5, 2)
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.uniform_(module.bias, -1, 1)
    return net.eval()


def nets():
    nn = torch.nn
    acts = {
        "relu": nn.ReLU,
        "tanh": nn.Tanh,
        "sigmoid": nn.Sigmoid,
        "gelu": nn.GELU,
        "silu": nn.SiLU,
        "softplus": nn.Softplus,
        "leaky": nn.LeakyReLU,
    }
    made = {
        name: nn.Sequential(
            nn.Linear(4, 9), act(), nn.Dropout(), nn.Linear(9, 6), act(), nn.Linear(6, 1)
        )
        for name, act in acts.items()
    }
    made["two"] = nn.Sequential(nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 2), nn.LogSoftmax(dim=1))
    made["probability"] = nn.Sequential(
        nn.Linear(4, 9, bias=False), nn.Sigmoid(), nn.Linear(9, 1), nn.Sigmoid()
    )
    made["hidden-last"] = nn.Sequential(
        nn.Linear(4, 9), nn.ReLU(), nn.Linear(9, 1), nn.Sigmoid(), nn.Identity(), nn.Flatten()
    )
    made["linear"] = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Identity(), nn.Linear(3, 1))
    layer = lambda n, m: nn.Sequential(nn.Linear(n, m), nn.BatchNorm1d(m), nn.ReLU())
    made["norm"] = nn.Sequential(nn.BatchNorm1d(4), layer(4, 8), layer(8, 5), nn.Linear(5, 1))
    made["norm-after"] = nn.Sequential(
        nn.Linear(4, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 1, bias=False)
    )
    made["double"] = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    return made


NETS = [
    "relu",
    "tanh",
    "sigmoid",
    "gelu",
    "silu",
    "softplus",
    "leaky",
    "two",
    "probability",
    "hidden-last",
    "linear",
    "norm",
    "norm-after",
    "double",
]


@needs_torch
@pytest.mark.parametrize("name", NETS)
def test_torch(margins, name):
    torch.manual_seed(3)
    rng = rng_of(name)
    net = settled(nets()[name], rng)
    x = rng.normal(0, 2, (N_ROWS, 4))
    last = next(
        (
            i
            for i, module in enumerate(net)
            if i > 2 and type(module).__name__ in ("Sigmoid", "LogSoftmax")
        ),
        None,
    )
    cut = net[:last] if last is not None and name in ("two", "probability", "hidden-last") else net
    with torch.no_grad():
        out = cut(torch.tensor(x, dtype=next(net.parameters()).dtype)).double().numpy()
    theirs = out[:, 1] - out[:, 0] if out.shape[1] == 2 else out[:, 0]
    frame = pd.DataFrame(x, columns=["p", "q", "r", "s"])
    compare(margins(document(net, features=["p", "q", "r", "s"]), frame), theirs, f"torch-{name}")


@needs_torch
def test_torch_refused():
    nn = torch.nn

    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 1))

        def forward(self, x):
            return -self.net(x)

    cases = [
        (Own(), "pass model.net"),
        (nn.Sequential(nn.Linear(4, 3)), "3 outputs"),
        (nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1)), "Softmax over 3 outputs"),
        (nn.Sequential(nn.Linear(4, 2), nn.Sigmoid()), "Sigmoid of 2 outputs"),
        (nn.Sequential(nn.Linear(4, 2), nn.Softmax(dim=0)), "dim=0"),
        (
            nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)),
            "both relu and tanh",
        ),
        (
            nn.Sequential(nn.Linear(4, 3), nn.GELU(approximate="tanh"), nn.Linear(3, 1)),
            "approximate='tanh'",
        ),
        (nn.Sequential(nn.Linear(4, 3), nn.LeakyReLU(0.2), nn.Linear(3, 1)), "negative_slope=0.2"),
        (nn.Sequential(nn.Linear(4, 3), nn.Softplus(2), nn.Linear(3, 1)), "beta=2"),
        (
            nn.Sequential(nn.Linear(4, 3), nn.ELU(), nn.Linear(3, 1)),
            "torch.nn.ELU is not supported",
        ),
        (
            nn.Sequential(
                nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 1)
            ),
            "track_running_stats",
        ),
        (nn.Sequential(nn.Linear(4, 1)).half(), "float16"),
        (nn.Sequential(), "empty"),
    ]
    for net, words in cases:
        with pytest.raises(UnsupportedError, match=words):
            document(net)
    assert json.loads(document(nn.Sequential(nn.Linear(4, 1))))["inputs"][3] == {"name": "x3"}
