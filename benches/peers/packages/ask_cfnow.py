"""cfnow: greedy or random search. It has no columns that must stay and no bounds."""

import random

import numpy as np
import pandas as pd
from cfnow import find_tabular

DISTRIBUTION = "cfnow"
LIMIT = 10


def prepare(problem, method):
    kinds = {name: "num" for name in problem.names}

    def ask(person):
        random.seed(0)
        np.random.seed(0)
        found = find_tabular(
            factual=pd.Series(person, index=problem.names),
            model_predict_proba=problem.classifier.predict_proba,
            feat_types=kinds,
            cf_strategy=method,
            limit_seconds=LIMIT,
        )
        return np.asarray(found.cfs[0], dtype=np.float64) if len(found.cfs) else None

    return ask
