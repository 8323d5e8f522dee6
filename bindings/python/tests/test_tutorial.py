"""The tutorial runs, on made-up people and, where it is there, on Adult."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))


def check(letters: list[str], printed: str) -> None:
    assert len(letters) == 10
    assert "certified" in printed and "accuracy" in printed
    assert sum("What to do" in letter for letter in letters) >= 5
    for letter in letters:
        # What nobody can change is never asked for.
        advice = letter.split("How safe this is")[0]
        assert "Change marital-status" not in advice and "Change sex" not in advice


def test_made_up_people(capsys: pytest.CaptureFixture[str]) -> None:
    import tutorial

    check(tutorial.main(), capsys.readouterr().out)


def test_adult(capsys: pytest.CaptureFixture[str]) -> None:
    import tutorial

    folder = Path(os.environ.get("PROBE_DATA_DIR", Path(__file__).parents[4] / "shared" / "data"))
    if not (folder / "adult.csv").is_file():
        pytest.skip("adult.csv is not there (PROBE_DATA_DIR says where)")
    check(tutorial.main(str(folder / "adult.csv")), capsys.readouterr().out)
