"""Times the package on one person at a time, for `probe-bench latency`.

    python one.py MODEL NAMES.txt PEOPLE.f64 R

Prints the seconds that each call took, after a call that is not counted.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import probe_recourse as pr

model, names, people, rate = sys.argv[1:]
names = Path(names).read_text().split("\n")
values = np.fromfile(people, dtype=np.float64).reshape(-1, len(names))
frame = pd.DataFrame({name: values[:, j].copy() for j, name in enumerate(names)})
warnings.simplefilter("ignore")
engine = pr.Engine(pr.load(model), sigma=0.1, max_rate=float(rate), schema=False)
rows = [frame.iloc[[i]] for i in range(len(frame))]
engine.recourse(rows[0], progress=False)
for row in rows:
    start = time.perf_counter()
    engine.recourse(row, progress=False)
    print(time.perf_counter() - start)
