"""Frames: types of columns, ids, noise files, interrupts and names of classes."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import probe_recourse as pr
from conftest import engine_of, people_of
from probe_recourse._tables import Frame, How


def odd_frames() -> dict[str, pd.DataFrame]:
    """Frames of people whose columns are of all kinds."""
    plain = pd.DataFrame(people_of(50), index=range(100, 150))
    small = plain.assign(
        age=plain["age"].astype("int8"),
        debt=plain["debt"].astype("float32"),
        housing=plain["housing"].astype("category"),
    )
    nullable = plain.astype({"age": "Int64", "income": "Float64", "housing": "string"})
    backed = plain.astype({"age": "int64[pyarrow]", "debt": "double[pyarrow]"})
    floats = plain.assign(age=plain["age"].astype(float), income=plain["income"].astype(int))
    return {
        "plain": plain,
        "small": small,
        "nullable": nullable,
        "backed": backed,
        "floats": floats,
        "empty": plain.head(0),
    }


@pytest.mark.parametrize("kind", list(odd_frames()))
@pytest.mark.parametrize(
    "settings", [{}, {"options": 2}, {"relax": True, "max_changes": 1, "bounds": (0.0, 0.6)}]
)
def test_columns_for_pandas_are_those_of_arrow(
    linear: bytes, schema: pr.Schema, kind: str, settings: dict[str, Any], monkeypatch: Any
) -> None:
    engine, people = engine_of(linear, schema, **settings), odd_frames()[kind]
    answers = engine.recourse(people, ids="id")
    with monkeypatch.context() as other:
        # Without this, tables go back by way of Arrow.
        other.setattr(Frame, "gather", property(lambda _: None, lambda *_: None), raising=False)
        expected = engine.recourse(people, ids="id")
    pd.testing.assert_frame_equal(answers, expected, check_exact=True)
    for name in answers.columns:
        if isinstance(answers[name].dtype, np.dtype):
            assert answers[name].to_numpy().flags.writeable, name
    if len(answers) > 0:
        answers.iloc[0, list(answers.columns).index("debt")] = 1.0
        assert answers["debt"].iloc[0] == 1.0
        # The frame that was given stays as it was.
        answers["id"] = answers["id"].str.upper()
        pd.testing.assert_frame_equal(people, odd_frames()[kind])


def test_parts_of_any_length_make_whole_columns() -> None:
    """Rows are handed out as they lie in chunks, to several threads; each must come back where it
    belongs.
    """
    draw = np.random.default_rng(5)
    people = pd.DataFrame(draw.uniform(-1.0, 1.0, (30_001, 2)), columns=["a", "b"])
    people.loc[people.index[::7], "a"] += 3.0
    model = pr.Model.linear(["a", "b"], [1.0, 0.5], 0.0)
    first = pr.Engine(model, schema=False, sigma=0.1, threads=1).recourse(people, progress=False)
    assert list(first["row"]) == list(range(len(people))) and set(first["status"]) == {
        "certified",
        "favourable",
    }
    assert (first["status"] == "favourable").equals((people["a"] + 0.5 * people["b"] > 0))
    # One object for each text.
    assert len({id(text) for text in first["status"]}) == 2
    for threads in (2, 5):
        again = pr.Engine(model, schema=False, sigma=0.1, threads=threads).recourse(
            people, progress=False
        )
        pd.testing.assert_frame_equal(again, first, check_exact=True)
    table = pa.concat_tables(
        [
            pa.table(people.iloc[:11]),
            pa.table(people.iloc[11:29_000]),
            pa.table(people.iloc[29_000:]),
        ]
    )
    engine = pr.Engine(model, schema=False, sigma=0.1, threads=3)
    columns = {
        name: values
        for name, values, texts in engine._native.recourse_columns(table, How(False, 3, None))
        if texts is None
    }
    for name, values in columns.items():
        np.testing.assert_array_equal(values, first[name].to_numpy())


def test_ids_and_categories_of_pandas_keep_their_types(linear: bytes, schema: pr.Schema) -> None:
    engine = engine_of(linear, schema)
    people = pd.DataFrame(people_of(12)).drop(columns="id")
    people["number"] = pd.array([2**62 + 1, None] * 6, dtype="Int64")
    people["housing"] = pd.Categorical(
        people["housing"], categories=["rent", "own", "free", "boat"], ordered=True
    )
    people["age"] = people["age"].astype("Int64")
    answers = engine.recourse(people, ids="number")
    assert answers["number"].equals(people["number"]) and answers["age"].dtype == "Int64"
    assert (
        list(answers["housing"].cat.categories) == ["rent", "own", "free", "boat"]
        and answers["housing"].cat.ordered
    )
    twice = engine_of(linear, schema, options=2).recourse(people, ids="number")
    assert twice["number"].equals(people["number"].repeat(2))
    answers.loc[answers.index[0], "debt"] = 1.0
    enum = pl.DataFrame(people_of(12)).with_columns(
        pl.col("housing").cast(pl.Enum(["rent", "own", "free"]))
    )
    assert engine.recourse(enum, ids="id").schema["housing"] == pl.Enum(["rent", "own", "free"])
    for wrong, words in ((["id", "id"], "given twice"), (["age"], "is a feature")):
        with pytest.raises(ValueError, match=words):
            engine.recourse(pa.table(people_of(3)), ids=wrong)


def test_what_nobody_needs_is_not_looked_at(linear: bytes, schema: pr.Schema) -> None:
    people = pd.DataFrame(people_of(5)).assign(odd=[1, "a", None, [2], {}])
    people[7] = 1
    answers = engine_of(linear, schema).recourse(people, ignore_extra=True)
    assert list(answers["row"]) == list(range(5))


def test_many_bad_rows_are_found_at_once(linear: bytes, schema: pr.Schema) -> None:
    plain = people_of(5000)
    for row in range(0, 5000, 20):
        plain["housing"][row] = "castle"
    start = time.monotonic()
    answers = (
        engine_of(linear, schema).recourse(pa.table(plain), ids="id", errors="none").to_pylist()
    )
    assert time.monotonic() - start < 20
    assert [row["row"] for row in answers] == list(range(5000))
    for row in answers:
        bad = row["row"] % 20 == 0
        assert row["reason"].startswith(f"bad-row: people: row {row['row']},") == bad

    def broken(rows: np.ndarray) -> np.ndarray:
        raise ValueError("my bug")

    box = pr.from_callable(broken, ["a"])
    with pytest.warns(pr.ProbeWarning), pytest.raises(ValueError, match="^my bug$"):
        pr.Engine(box).recourse(pa.table({"a": [0.0]}), errors="none")


def test_noise_files_travel_with_the_engine(
    linear: bytes, schema: pr.Schema, tmp_path: Any
) -> None:
    names = ["age", "income", "debt", "housing=rent", "housing=own", "housing=free"]
    path = tmp_path / "noise.json"

    def write(sd: float) -> None:
        path.write_text(
            json.dumps(
                {"version": 1, "features": names, "mean": [0.0] * 6, "sd": [sd] * 3 + [0.0] * 3}
            )
        )

    write(0.05)
    people = pa.table(people_of(8))
    engine = engine_of(linear, schema, noise=pr.NoiseFile(path))
    first = engine.recourse(people, ids="id")
    content = pickle.dumps(engine)
    write(0.2)
    other = engine_of(linear, schema, noise=pr.NoiseFile(path))
    assert other.key != engine.key and not other.recourse(people, ids="id").equals(first)
    path.unlink()
    assert pickle.loads(content).recourse(people, ids="id").equals(first)


def test_interrupts_reach_into_a_person() -> None:
    def slow(rows: np.ndarray) -> np.ndarray:
        time.sleep(0.05)
        return rows[:, 0] - 1.0

    with pytest.warns(pr.ProbeWarning):
        engine = pr.Engine(pr.from_callable(slow, ["a"]), sigma=0.1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine.recourse(pa.table({"a": [0.0]}))
    assert time.monotonic() - start < 10


def test_texts_of_users_stay_as_they_are(linear: bytes, schema: pr.Schema) -> None:
    plain = people_of(3)
    plain["housing"][1] = "semi--detached"
    with pytest.raises(ValueError, match="'semi--detached'"):
        engine_of(linear, schema).recourse(pa.table(plain), ids="id")


def test_classes_have_names() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"a": draw.normal(size=200), "b": draw.normal(size=200)})
    label = np.where(rows["a"] + rows["b"] > 0, "approved", "denied")
    model = pr.from_sklearn(LogisticRegression().fit(rows, label))
    assert model.classes == ["approved", "denied"]
    given: dict[str, Any] = {"sigma": 0.1}
    with pytest.warns(pr.ProbeWarning, match="taken to be 'denied'"):
        pr.Engine(model, **given)
    schema = pr.Schema.infer(rows)
    told = pr.Schema.from_dict({**schema.to_dict(), "target": "x", "favourable": "approved"})
    for engine in (
        pr.Engine(model, schema=told, **given),
        pr.Engine(model, schema=schema, favourable_class="approved", **given),
    ):
        assert (engine.score(rows)["favourable"] == (model_says(model, rows) < 0)).all()
        answers = engine.recourse(rows.head(20))
        assert set(
            LogisticRegression()
            .fit(rows, label)
            .predict(answers[answers["status"] == "certified"][["a", "b"]])
        ) == {"approved"}
    with pytest.raises(ValueError, match="'yes' is no class of the model"):
        pr.Engine(model, schema=schema, favourable_class="yes")
    with pytest.raises(pr.UnsupportedError, match="no probabilities"):
        pr.Engine(
            pr.from_sklearn(LinearSVC().fit(rows, label == "approved")),
            schema=schema,
            threshold_prob=0.9,
        )


def model_says(model: pr.Model, rows: pd.DataFrame) -> np.ndarray:
    return np.asarray(model.margins(rows))


def test_truth_values_are_categories() -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"a": draw.normal(size=200), "owner": draw.random(200) < 0.5})
    label = (rows["a"] + rows["owner"] > 0.5).astype(int)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["owner"]), remainder="passthrough"),
        LogisticRegression(),
    ).fit(rows, label)
    engine = pr.Engine(pipeline, schema=pr.Schema.infer(rows), sigma=0.05)
    answers = engine.recourse(rows.head(30))
    sure = answers[answers["status"] == "certified"]
    assert (
        len(sure) > 5
        and (pipeline.predict(sure[["a", "owner"]].astype({"owner": bool})) == 1).all()
    )
