"""dice-ml: one counterfactual, by random sampling, the genetic search or the nearest training row.

Afterwards it puts features back one by one, by default in steps of the last decimal that the data
have. With ", quick" it is told six decimals for all columns and to halve instead of stepping, which
is less work for it.
"""

import dice_ml
import numpy as np
import pandas as pd

DISTRIBUTION = "dice-ml"
SEED = 0
DECIMALS = 6


def prepare(problem, method):
    method, _, quick = method.partition(", ")
    table = pd.DataFrame(problem.train, columns=problem.names)
    table["outcome"] = problem.labels
    more = (
        {"continuous_features_precision": dict.fromkeys(problem.names, DECIMALS)} if quick else {}
    )
    data = dice_ml.Data(
        dataframe=table, continuous_features=problem.names, outcome_name="outcome", **more
    )
    model = dice_ml.Model(model=problem.classifier, backend="sklearn")
    dice = dice_ml.Dice(data, model, method=method)
    vary = [problem.names[j] for j in problem.free] if problem.fixed else "all"
    settings = {"random_seed": SEED} if method == "random" else {}
    if quick:
        settings["posthoc_sparsity_algorithm"] = "binary"

    def ask(person):
        np.random.seed(SEED)
        query = pd.DataFrame([person], columns=problem.names)
        found = dice.generate_counterfactuals(
            query, total_CFs=1, desired_class=1, features_to_vary=vary, verbose=False, **settings
        )
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or len(rows) == 0:
            return None
        return rows[problem.names].iloc[0].to_numpy(dtype=np.float64)

    return ask
