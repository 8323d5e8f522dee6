"""From an XGBoost model to letters for ten people.

    python tutorial.py                      # made-up people who are like those of Adult
    python tutorial.py --data adult.csv     # Adult itself, as `probe data download` brings it

It takes probe-recourse, pandas, scikit-learn and xgboost.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

import probe_recourse as pr

NUMBERS = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
CATEGORIES = ["workclass", "marital-status", "occupation", "sex"]


def made_up(n: int = 6000) -> pd.DataFrame:
    """People with the columns of Adult, and an income that follows from them and from luck."""
    draw = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "age": draw.integers(18, 75, n),
            "workclass": draw.choice(["Private", "Non-Private"], n, p=[0.7, 0.3]),
            "education-num": draw.integers(4, 17, n),
            "marital-status": draw.choice(["Married", "Non-Married"], n),
            "occupation": draw.choice(["Managerial-Specialist", "Other"], n, p=[0.25, 0.75]),
            "sex": draw.choice(["Male", "Female"], n),
            "capital-gain": np.where(draw.random(n) < 0.08, draw.integers(1000, 20000, n), 0),
            "capital-loss": np.where(draw.random(n) < 0.05, draw.integers(500, 3000, n), 0),
            "hours-per-week": draw.normal(40, 11, n).clip(5, 90).round().astype(int),
        }
    )
    wealth = (
        0.35 * (people["education-num"] - 10)
        + 0.05 * (people["hours-per-week"] - 40)
        + 0.9 * (people["occupation"] == "Managerial-Specialist")
        + 1.6 * (people["marital-status"] == "Married")
        + 0.0003 * people["capital-gain"]
        + 0.02 * (people["age"] - 40)
    )
    return people.assign(income=(wealth + draw.logistic(size=n) > 2.2).astype(int))


def main(path: str | None = None) -> list[str]:
    # 1. Data, and a model as one would train it anyway: a pipeline with XGBoost at its end.
    data = made_up() if path is None else pd.read_csv(path)
    columns = NUMBERS + CATEGORIES
    train, test = train_test_split(data, test_size=0.2, random_state=0)
    encode = ColumnTransformer(
        [
            ("numbers", "passthrough", NUMBERS),
            ("categories", OneHotEncoder(sparse_output=False), CATEGORIES),
        ]
    )
    classifier = make_pipeline(
        encode, XGBClassifier(n_estimators=60, max_depth=3, learning_rate=0.2, random_state=0)
    )
    classifier.fit(train[columns], train["income"])
    print(f"accuracy {classifier.score(test[columns], test['income']):.3f}")

    # 2. The model, read exactly: scalers and encoders are part of it, so that it takes people as
    # they are.
    model = pr.from_sklearn(classifier)
    print(model)

    # 3. What is known of the features. Data tell kinds, scales and steps; what may change, somebody
    # has to say.
    schema = pr.Schema.infer(train[columns], immutable=["age", "sex", "marital-status"]).updated(
        **{
            "education-num": {"direction": "increase", "unit": "years"},
            "hours-per-week": {"unit": "hours", "min": 10, "max": 60},
            "capital-loss": {"mutable": False},
            "capital-gain": {"unit": "USD"},
        }
    )

    # 4. Recourse for those who were turned down: at most one attempt in ten may fail, although
    # people miss what they aim at.
    engine = pr.Engine(model, schema=schema, noise=pr.Gaussian(0.02), max_rate=0.1)
    denied = test[~engine.score(test[columns])["favourable"].to_numpy()][columns].head(10)
    answers = engine.recourse(denied)
    print(answers[["status", "cost", "rate", "changed"]].to_string())

    # 5. The price of certainty, for the first of them.
    front = engine.frontier(denied.head(1), rates=[0.4, 0.2, 0.1, 0.05]).to_pandas()
    print(front[["target_rate", "status", "cost", "rate"]].to_string(index=False))

    # 6. And in words.
    letters = engine.letters(denied)
    print(letters[0])
    return letters


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="adult.csv; without it, people are made up")
    main(parser.parse_args().data)
