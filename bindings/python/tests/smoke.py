"""The package in an environment of its own, with nothing but what it brings."""

import importlib.metadata
import importlib.util

import pyarrow as pa

import probe_recourse as pr

assert importlib.util.find_spec("pandas") is None, "this environment should be clean"
assert importlib.metadata.version("probe-recourse") == pr.__version__
engine = pr.Engine(
    pr.Model.linear(["income", "debt"], [1.0, -1.0]), noise=pr.Gaussian(0.1), max_rate=0.1
)
answer = engine.recourse(pa.table({"income": [0.2], "debt": [0.5]})).to_pylist()[0]
# Independent misses of income and debt: the margin must be 1.2815515655 times 0.1 times the square
# root of 2.
needed = 1.2815515655446004 * 0.1 * 2**0.5
assert answer["status"] == "certified" and abs(answer["cost"] - (0.3 + needed)) < 1e-9, answer
print(
    f"probe-recourse {pr.__version__}: {answer['status']}, "
    f"cost {answer['cost']:.4f}, rate {answer['rate']:.4f}"
)
