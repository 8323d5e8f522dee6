"""Times the package on a data frame, for `probe-bench frames`.

    python measure.py MODEL NAMES.txt PEOPLE.f64 R REPEATS

Prints the best time in seconds, megabytes of the process with the people alone, the most megabytes
at any time, and a digest of the answers.
"""

import hashlib
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import probe_recourse as pr

model, names, people, rate, repeats = sys.argv[1:]
names = Path(names).read_text().split("\n")
values = np.fromfile(people, dtype=np.float64).reshape(-1, len(names))
frame = pd.DataFrame({name: values[:, j].copy() for j, name in enumerate(names)})
del values
warnings.simplefilter("ignore")
engine = pr.Engine(pr.load(model), sigma=0.1, max_rate=float(rate), schema=False)
engine.recourse(frame.head(100))
before = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
best = float("inf")
for _ in range(int(repeats)):
    start = time.perf_counter()
    answers = engine.recourse(frame, progress=False)
    best = min(best, time.perf_counter() - start)
most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
digest = hashlib.sha256(
    np.ascontiguousarray(answers[names].to_numpy(dtype=np.float64)).tobytes()
).hexdigest()
print(best, before / 1e6, most / 1e6, digest)
