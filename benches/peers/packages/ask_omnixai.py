"""omnixai: MACE, its counterfactuals for tables."""

import numpy as np
import pandas as pd
from omnixai.data.tabular import Tabular
from omnixai.explainers.tabular import MACEExplainer

DISTRIBUTION = "omnixai"


def prepare(problem, method):
    table = Tabular(pd.DataFrame(problem.train, columns=problem.names))
    explainer = MACEExplainer(
        training_data=table,
        predict_function=lambda rows: problem.classifier.predict_proba(
            rows.data.to_numpy(dtype=np.float64)
        ),
        ignored_features=[problem.names[j] for j in problem.fixed] or None,
        method=method,
    )

    def ask(person):
        np.random.seed(0)
        found = explainer.explain(
            Tabular(pd.DataFrame([person], columns=problem.names)), max_number_examples=1
        )
        rows = found.get_explanations(0)["counterfactual"]
        return (
            None
            if rows is None or len(rows) == 0
            else rows[problem.names].iloc[0].to_numpy(dtype=np.float64)
        )

    return ask
