"""What the tests share: people, models, and the command line beside us."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import probe_recourse as pr
from probe_recourse._model import _parse

SCHEMA = """
version = 1
[[feature]]
name = "age"
kind = "integer"
mutable = false
scale = [18.0, 90.0]
[[feature]]
name = "income"
kind = "numeric"
scale = [0.0, 100000.0]
min = 0.0
step = 500
direction = "increase"
unit = "EUR"
[[feature]]
name = "debt"
kind = "numeric"
scale = [0.0, 50000.0]
min = 0.0
direction = "decrease"
unit = "EUR"
[[feature]]
name = "housing"
kind = "categorical"
categories = ["rent", "own", "free"]
transitions = { rent = ["own"] }
"""

COLUMNS = ["age", "income", "debt", "housing=rent", "housing=own", "housing=free"]


def people_of(n: int, seed: int = 1) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    return {
        "id": [f"p{i}" for i in range(n)],
        "age": [draw.randint(18, 80) for _ in range(n)],
        "income": [round(draw.uniform(0, 60000), 2) for _ in range(n)],
        "debt": [round(draw.uniform(0, 40000), 2) for _ in range(n)],
        "housing": [draw.choice(["rent", "own", "free"]) for _ in range(n)],
    }


def native(kind: str, layers: list[Any], activation: str | None = None) -> bytes:
    document = {
        "format": "probe-model",
        "version": 1,
        "kind": kind,
        "features": COLUMNS,
        "layers": [{"weight": weight, "bias": bias} for weight, bias in layers],
        **({"activation": activation} if activation else {}),
    }
    return json.dumps(document).encode()


@pytest.fixture(scope="session")
def linear() -> bytes:
    return native("linear", [([[0.3, 4.0, -3.0, -0.4, 0.3, 0.1]], [-1.2])])


@pytest.fixture(scope="session")
def network() -> bytes:
    draw = random.Random(7)
    hidden = [
        [draw.gauss(0, 0.6) + push for push in (0.1, 1.5, -1.2, -0.2, 0.2, 0.0)] for _ in range(12)
    ]
    return native(
        "mlp", [(hidden, [draw.gauss(0, 0.2) for _ in range(12)]), ([[0.8] * 12], [-6.0])], "relu"
    )


@pytest.fixture(scope="session")
def margins() -> Any:
    """A function of a document's bytes and a frame, which gives the margins of its rows, or fails
    with the engine's own words.
    """

    def run(document: bytes, frame: Any) -> Any:
        return _parse(document, "the model").margins(frame).to_numpy()

    return run


@pytest.fixture(scope="session")
def schema() -> pr.Schema:
    return pr.Schema.parse(SCHEMA)


@pytest.fixture(scope="session")
def probe() -> str:
    """The command; tests that compare with it are skipped where it is not built."""
    found = os.environ.get("PROBE_BIN") or shutil.which("probe")
    if not found:
        pytest.skip("the command probe is not there (PROBE_BIN says where)")
    return found


@pytest.fixture()
def command(probe: str, tmp_path: Path) -> Any:
    """Runs the command on a model, a schema and people, and gives the rows of its JSON Lines or of
    its CSV.
    """

    def run(what: str, model: bytes, people: Any, *arguments: str) -> str:
        (tmp_path / "model.json").write_bytes(model)
        (tmp_path / "schema.toml").write_text(SCHEMA)
        people.to_csv(tmp_path / "people.csv", index=False)
        done = subprocess.run(
            [
                probe,
                what,
                "model.json",
                "people.csv",
                "--schema",
                "schema.toml",
                "--quiet",
                *arguments,
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def engine_of(document: bytes, schema: pr.Schema, **settings: Any) -> pr.Engine:
    return pr.Engine(_parse(document, "model"), schema=schema, **settings)
