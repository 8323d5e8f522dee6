"""dice-ml: one counterfactual, by random sampling, the genetic search or the nearest training row."""

import dice_ml
import numpy as np
import pandas as pd

DISTRIBUTION = "dice-ml"
SEED = 0


def prepare(problem, method):
    table = pd.DataFrame(problem.train, columns=problem.names)
    table["outcome"] = problem.labels
    data = dice_ml.Data(dataframe=table, continuous_features=problem.names, outcome_name="outcome")
    model = dice_ml.Model(model=problem.classifier, backend="sklearn")
    dice = dice_ml.Dice(data, model, method=method)
    vary = [problem.names[j] for j in problem.free] if problem.fixed else "all"
    more = {"random_seed": SEED} if method == "random" else {}

    def ask(person):
        np.random.seed(SEED)
        query = pd.DataFrame([person], columns=problem.names)
        found = dice.generate_counterfactuals(
            query, total_CFs=1, desired_class=1, features_to_vary=vary, verbose=False, **more
        )
        rows = found.cf_examples_list[0].final_cfs_df
        if rows is None or len(rows) == 0:
            return None
        return rows[problem.names].iloc[0].to_numpy(dtype=np.float64)

    return ask
