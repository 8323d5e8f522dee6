"""actionable-recourse: the integer program of its authors over a grid of percentiles; linear models
only.
"""

import numpy as np
import pandas as pd
import recourse

DISTRIBUTION = "actionable-recourse"


def prepare(problem, method):
    if not hasattr(problem.classifier, "weights"):
        raise ValueError("linear models only")
    weights, bias = problem.classifier.weights, problem.classifier.bias
    table = pd.DataFrame(problem.train, columns=problem.names)
    actions = recourse.ActionSet(X=table, y_desired=1)
    for j in problem.fixed:
        actions[problem.names[j]].actionable = False
    actions.set_alignment(coefficients=weights, intercept=bias)

    def ask(person):
        builder = recourse.RecourseBuilder(
            solver=method,
            action_set=actions,
            coefficients=weights,
            intercept=bias,
            x=person,
            mip_cost_type="local",
        )
        found = builder.fit()
        return person + np.asarray(found["actions"]) if found["feasible"] else None

    return ask
