"""Examples in the documentation run."""

import doctest
import importlib
import pkgutil

import pytest

import probe_recourse

MODULES = [
    info.name
    for info in pkgutil.walk_packages(probe_recourse.__path__, "probe_recourse.")
    if not info.name.startswith(("probe_recourse._objects", "probe_recourse._probe"))
]


@pytest.mark.parametrize("name", ["probe_recourse", *MODULES])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.failed == 0


def test_some_examples_are_there() -> None:
    found = [
        doctest.DocTestFinder().find(importlib.import_module(name))
        for name in ["probe_recourse", *MODULES]
    ]
    assert sum(len(test.examples) for tests in found for test in tests) >= 10


def test_types() -> None:
    """The package as mypy sees it, in its strict ways."""
    import subprocess
    import sys
    from pathlib import Path

    package = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", "python/probe_recourse"],
        cwd=package,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
