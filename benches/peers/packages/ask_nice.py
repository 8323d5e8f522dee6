"""NICEx: from the nearest training row with the other decision, feature by feature. It has no
columns that must stay.
"""

import numpy as np
from nice import NICE

DISTRIBUTION = "NICEx"


def prepare(problem, method):
    nice = NICE(
        predict_fn=problem.classifier.predict_proba,
        X_train=problem.train,
        y_train=problem.labels,
        cat_feat=[],
        num_feat=list(range(len(problem.names))),
        optimization=method,
    )

    def ask(person):
        return np.asarray(nice.explain(person[None]), dtype=np.float64)[0]

    return ask
