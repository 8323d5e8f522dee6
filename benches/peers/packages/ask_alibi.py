"""alibi: its counterfactuals after Wachter and those guided by prototypes, the model as a black
box. It has no columns that must stay.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

tf.compat.v1.disable_v2_behavior()
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.threading.set_intra_op_parallelism_threads(1)

from alibi.explainers import Counterfactual, CounterfactualProto

DISTRIBUTION = "alibi"


def prepare(problem, method):
    d = len(problem.names)
    span = (np.zeros((1, d)), np.ones((1, d)))
    predict = problem.classifier.predict_proba
    if method == "counterfactual":
        explainer = Counterfactual(
            predict, shape=(1, d), target_proba=0.51, tol=0.01, target_class=1, feature_range=span
        )
    else:
        explainer = CounterfactualProto(
            predict, shape=(1, d), use_kdtree=True, theta=10.0, feature_range=span
        )
        explainer.fit(problem.train)

    def ask(person):
        tf.compat.v1.set_random_seed(0)
        found = explainer.explain(person[None].astype(np.float32))
        return None if found.cf is None else np.asarray(found.cf["X"], dtype=np.float64)[0]

    return ask
