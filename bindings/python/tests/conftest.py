"""Margins as the engine has them, for now by way of a program: `cargo build -p probe-io --example margins`."""

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))


def program():
    """The program that PROBE_MARGINS names, or the one cargo built."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(os.environ.get("PROBE_MARGINS", target / "debug" / "examples" / "margins"))
    return path if path.exists() else None


@pytest.fixture
def margins(tmp_path):
    """A function of a document's bytes and a frame, which gives the margins of its rows, or fails with the engine's own words."""
    path = program()
    if path is None:
        pytest.skip("no program for margins: cargo build -p probe-io --example margins")

    def run(document, frame):
        import numpy

        (tmp_path / "model").write_bytes(document)
        with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(list(frame.columns))
            text = lambda x: ("" if x != x else repr(x)) if isinstance(x, float) else str(x)
            lists = [[text(x) for x in frame[name].tolist()] for name in frame.columns]
            table.writerows(zip(*lists))
        done = subprocess.run([path, tmp_path / "model", tmp_path / "rows.csv"], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return numpy.array([float(line) for line in done.stdout.split()])

    return run
