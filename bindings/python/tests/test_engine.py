"""Engines: kinds of tables, the same answers as the command line, errors and interrupts."""

from __future__ import annotations

import io
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

HEAD = [
    "row",
    "status",
    "reason",
    "cost",
    "rate",
    "rate_upper",
    "best_rate",
    "changed",
    "outside_range",
    "cost_lower",
    "proven",
]


def same(ours: pd.DataFrame, csv: str) -> None:
    """Every cell as the command prints it: numbers to the bit."""
    theirs = pd.read_csv(
        io.StringIO(csv), float_precision="round_trip", keep_default_na=False, na_values=[""]
    )
    assert list(ours.columns) == list(theirs.columns)
    assert len(ours) == len(theirs)
    for name in ours.columns:
        for a, b in zip(ours[name], theirs[name]):
            if isinstance(a, str):
                assert a == ("" if pd.isna(b) else b), name
            else:
                assert (pd.isna(a) and pd.isna(b)) or a == b, (name, a, b)


def flags(settings: dict[str, Any]) -> list[str]:
    """Keyword arguments as somebody would type them."""
    found = []
    for name, value in settings.items():
        text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
        found.append("--" + name.replace("_", "-") + ("" if value is True else f"={text}"))
    return found


ASKED: list[dict[str, Any]] = [
    {},
    {"options": 2, "cost": "l2"},
    {"noise": pr.Laplace(0.05), "max_rate": 0.2, "relax": True},
    {"sigma2": 0.1**3, "bounds": (float("-inf"), 0.9), "immutable": ["age"]},
    {"seed": 2**64 - 1, "effort": "quick", "max_rate": 1 / 3, "confidence": 0.99},
]


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("settings", ASKED)
def test_answers_are_those_of_the_command(
    kind: str, settings: dict[str, Any], request: Any, schema: pr.Schema, command: Any
) -> None:
    document = request.getfixturevalue(kind)
    if kind == "linear" and "noise" in settings:
        settings = {**settings, "noise": pr.Gaussian(0.05)}
    people = pd.DataFrame(people_of(60))
    ours = engine_of(document, schema, **settings).recourse(people, ids=["id"])
    theirs = command("recourse", document, people, "--id", "id", *flags(settings))
    same(ours, theirs)
    assert set(ours["status"]) >= {"certified"}


def test_frontiers_and_rates_are_those_of_the_command(
    network: bytes, schema: pr.Schema, command: Any
) -> None:
    people = pd.DataFrame(people_of(20))
    engine = engine_of(network, schema)
    front = engine.frontier(people, rates=[0.4, 0.1], ids=["id"])
    same(front.frame, command("frontier", network, people, "--id", "id", "--rates", "0.4,0.1"))
    rates = engine.rate(people, ids=["id"], samples=2000)
    same(rates, command("rate", network, people, "--id", "id", "--samples", "2000"))
    assert rates["favourable"].dtype == bool


def test_records_are_those_of_the_command(linear: bytes, schema: pr.Schema, command: Any) -> None:
    people = pd.DataFrame(people_of(20))
    ours = engine_of(linear, schema).records(people, ids=["id"])
    theirs = [
        json.loads(line)
        for line in command(
            "recourse", linear, people, "--id", "id", "--format", "jsonl"
        ).splitlines()
    ]
    for row in theirs:
        del row["meta"]
    assert ours == theirs


def test_letters_are_those_of_the_command(linear: bytes, schema: pr.Schema, command: Any) -> None:
    people = pd.DataFrame(people_of(5))
    for form, language in (("text", "en"), ("markdown", "de")):
        ours = engine_of(linear, schema).letters(people, ids=["id"], form=form, language=language)
        theirs = command(
            "recourse", linear, people, "--id", "id", "--explain", form, "--language", language
        )
        assert len(ours) == 5
        for letter in ours:
            assert letter.strip() in theirs


def test_letters_by_templates_of_one_s_own(linear: bytes, schema: pr.Schema, tmp_path: Any) -> None:
    people, engine = pa.table(people_of(2)), engine_of(linear, schema)
    with pytest.raises(ValueError, match="templates: .*none of en.toml, letter.txt, letter.md"):
        engine.letters(people, ids="id", templates=tmp_path)
    (tmp_path / "letter.md").write_text("# {{ title }}\n\nOurs.\n")
    for templates in (tmp_path, tmp_path / "letter.md"):
        letters = engine.letters(people, ids="id", form="markdown", templates=templates)
        assert len(letters) == 2 and all("Ours." in letter for letter in letters)


def test_any_table_gets_its_own_kind(linear: bytes, schema: pr.Schema) -> None:
    engine = engine_of(linear, schema)
    plain = people_of(50)
    tables = {
        pa.Table: pa.table(plain),
        pa.RecordBatch: pa.RecordBatch.from_pydict(plain),
        pd.DataFrame: pd.DataFrame(plain, index=range(100, 150)),
        pl.DataFrame: pl.DataFrame(plain),
    }
    first = engine.recourse(tables[pa.Table], ids=["id"])
    assert first.column_names == [*HEAD, "age", "income", "debt", "housing", "id"]
    assert [str(kind) for kind in first.schema.types[-5:]] == [
        "int64",
        "double",
        "double",
        "string",
        "string",
    ]
    for kind, people in tables.items():
        answers = engine.recourse(people, ids=["id"])
        assert isinstance(answers, kind)
        table = (
            pa.Table.from_pandas(answers, preserve_index=False)
            if kind is pd.DataFrame
            else pa.table(answers)
        )
        assert table.column("debt").to_pylist() == first.column("debt").to_pylist()
        assert table.column("id").to_pylist() == first.column("id").to_pylist()
    assert list(engine.recourse(tables[pd.DataFrame], ids=["id"]).index) == list(range(100, 150))
    assert isinstance(engine.recourse(pl.LazyFrame(plain), ids=["id"]), pl.DataFrame)
    with pytest.raises(TypeError, match="expected a data frame of pandas or polars"):
        engine.recourse([1, 2])


def test_types_of_columns(linear: bytes, schema: pr.Schema) -> None:
    engine = engine_of(linear, schema)
    plain = people_of(40)
    expected = engine.recourse(pa.table(plain), ids=["id"])
    frame = pd.DataFrame(plain)
    frame["age"] = frame["age"].astype("int8")
    frame["housing"] = frame["housing"].astype("category")
    frame["id"] = pd.date_range("2024-01-01", periods=40)
    answers = engine.recourse(frame, ids=["id"])
    assert answers["age"].dtype == "int8"
    assert answers["housing"].dtype == "category"
    assert list(answers["id"]) == list(frame["id"])
    assert list(answers["housing"]) == expected.column("housing").to_pylist()
    assert list(answers["debt"]) == expected.column("debt").to_pylist()
    # Slices, several chunks and texts of the other two kinds.
    table = pa.table(plain)
    parts = pa.concat_tables([table.slice(30, 10), table.slice(0, 30)])
    views = parts.set_column(4, "housing", parts.column("housing").cast(pa.large_string()))
    again = engine.recourse(views, ids=["id"])
    order = [*range(30, 40), *range(30)]
    assert again.column("debt").to_pylist() == [expected.column("debt")[i].as_py() for i in order]
    assert again.column("row").to_pylist() == list(range(40))
    assert engine.recourse(table.slice(0, 0), ids=["id"]).num_rows == 0


def test_any_number_of_threads(network: bytes, schema: pr.Schema) -> None:
    people = pa.table(people_of(100))
    answers = [
        engine_of(network, schema, threads=threads).recourse(people, ids="id") for threads in (1, 3)
    ]
    assert answers[0].equals(answers[1])
    # Not the number of the row but what is in it.
    backwards = people.take(list(range(99, -1, -1)))
    turned = engine_of(network, schema).recourse(backwards, ids="id")
    assert turned.column("debt").to_pylist() == answers[0].column("debt").to_pylist()[::-1]


def test_errors_name_the_argument(linear: bytes, schema: pr.Schema) -> None:
    def refused(kind: type[Exception], words: str, **settings: Any) -> None:
        with pytest.raises(kind, match=words):
            engine_of(linear, schema, **settings)

    refused(ValueError, "^max_rate: must be between 0 and 1, both excluded, got 1.5$", max_rate=1.5)
    refused(ValueError, r"^sigma: must be positive and finite, got 0$", sigma=0.0)
    refused(ValueError, "^sigma: .*nan", sigma=float("nan"))
    refused(ValueError, "^rows: needs confidence_scope file$", rows=3)
    refused(ValueError, "^noise: cannot be used with sigma$", sigma=0.1, noise=pr.Laplace(0.1))
    refused(ValueError, "^effort: unknown variant `huge`, expected one of `quick`", effort="huge")
    refused(ValueError, r"unknown cost norm|cost", cost="l7")
    known = r"\(known: age, income, debt, housing\)"
    refused(ValueError, f"^immutable: unknown feature 'wealth' {known}$", immutable=["wealth"])
    refused(ValueError, r"unknown (recourse )?method 'magic'", method="magic")
    refused(TypeError, "unexpected keyword argument 'max_rates'", max_rates=0.1)
    with pytest.raises(FileNotFoundError):
        pr.Engine("nowhere.json")
    with pytest.raises(pr.UnsupportedError, match="not supported"):
        engine_of(linear, schema, method="probe-tree", noise=pr.Effort(0.1))
    engine = engine_of(linear, schema)
    plain = people_of(5)

    def bad(words: str, **columns: list[Any]) -> None:
        with pytest.raises(ValueError, match=words):
            engine.recourse(pa.table({**plain, **columns}), ids=["id"])

    bad(
        r"people: row 2, column 'income'.*NaN|people: row 2.*income",
        income=[1.0, 2.0, float("nan"), 3.0, 4.0],
    )
    bad(
        r"people: row 1.*housing.*castle.*rent, own, free",
        housing=["rent", "castle", "own", "own", "own"],
    )
    bad(r"column 'income' of type .* cannot be read as a number", income=["1", "2", "3", "4", "5"])
    bad(r"column 'shoe' is unknown|shoe", shoe=[1, 2, 3, 4, 5])
    with pytest.raises(ValueError, match="no column 'debt'|debt"):
        engine.recourse(
            pa.table({name: column for name, column in plain.items() if name != "debt"}), ids=["id"]
        )
    with pytest.raises(ValueError, match="no column 'nobody'"):
        engine.recourse(pa.table(plain), ids=["nobody"])


def test_rows_that_cannot_be_read_may_be_answered_with_why(
    linear: bytes, schema: pr.Schema
) -> None:
    plain = people_of(30)
    engine = engine_of(linear, schema)
    good = engine.recourse(pa.table(plain), ids=["id"]).to_pylist()
    plain["income"][4] = float("nan")
    plain["housing"][17] = "castle"
    answers = engine.recourse(pa.table(plain), ids=["id"], errors="none").to_pylist()
    assert [row["row"] for row in answers] == list(range(30))
    for i, (row, whole) in enumerate(zip(answers, good)):
        if i in (4, 17):
            assert row["status"] == "none" and row["reason"].startswith(
                f"bad-row: people: row {i},"
            )
            assert row["id"] == f"p{i}" and row["cost"] is None
        else:
            assert row == whole


def test_confidence_of_a_whole_table(network: bytes, schema: pr.Schema) -> None:
    people = pa.table(people_of(10))
    divided = engine_of(network, schema, confidence=0.99, confidence_scope="file").recourse(
        people, ids="id"
    )
    told = engine_of(network, schema, confidence=0.99, confidence_scope="file", rows=10).recourse(
        people, ids="id"
    )
    each = engine_of(network, schema, confidence=0.999).recourse(people, ids="id")
    assert divided.equals(told)
    assert divided.column("cost").to_pylist() == pytest.approx(
        each.column("cost").to_pylist(), rel=0.05, nan_ok=True
    )
    with pytest.raises(ValueError, match="more than the 9 rows"):
        engine_of(network, schema, confidence_scope="file", rows=9).recourse(people, ids="id")


def test_functions_are_models(network: bytes, schema: pr.Schema) -> None:
    weights = np.array([1.0, -2.0])

    def margin(rows: np.ndarray) -> np.ndarray:
        return rows @ weights - 0.5

    people = pd.DataFrame({"a": [0.0, 0.2], "b": [0.3, 0.1]})
    settings: dict[str, Any] = {"sigma": 0.1, "max_rate": 0.2}
    with pytest.warns(pr.ProbeWarning, match="raw values"):
        box = pr.Engine(pr.from_callable(margin, ["a", "b"]), **settings)
    answers = box.recourse(people)
    exact = pr.Engine(pr.Model.linear(["a", "b"], list(weights), -0.5), **settings).recourse(people)
    assert list(answers["status"]) == ["certified", "certified"]
    assert (answers["cost"] >= exact["cost"] - 1e-9).all()
    assert answers["cost"].to_numpy() == pytest.approx(exact["cost"].to_numpy(), rel=0.1)

    # Class and cut-off from outside; probabilities; frames.
    def probability(frame: pd.DataFrame) -> pd.Series:
        return 1 / (1 + np.exp(-(frame["a"] - 2 * frame["b"] - 0.5)))

    with pytest.warns(pr.ProbeWarning):
        other = pr.Engine(
            pr.from_callable(probability, ["a", "b"], output="probability", frame=True),
            threshold_prob=0.3,
            **settings,
        )
    scores = other.score(people)
    assert list(scores["favourable"]) == list(probability(people) > 0.3)
    assert scores["margin"].to_numpy() == pytest.approx(probability(people).to_numpy() - 0.5)
    with pytest.warns(pr.ProbeWarning):
        turned = pr.Engine(pr.from_callable(margin, ["a", "b"]), favourable_class=0, **settings)
    assert list(turned.score(people)["favourable"]) == list(margin(people.to_numpy()) < 0)

    def broken(rows: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("no such luck")

    with pytest.warns(pr.ProbeWarning), pytest.raises(ZeroDivisionError, match="no such luck"):
        pr.Engine(pr.from_callable(broken, ["a", "b"]), **settings).recourse(people)
    with pytest.warns(pr.ProbeWarning), pytest.raises(ValueError, match="shape"):
        pr.Engine(pr.from_callable(lambda rows: rows, ["a", "b", "c"]), **settings).score(
            people.assign(c=1.0)
        )


def test_pickles_answer_alike(network: bytes, schema: pr.Schema) -> None:
    people = pa.table(people_of(20))
    engine = engine_of(network, schema, max_rate=0.2)
    again = pickle.loads(pickle.dumps(engine))
    assert again.recourse(people, ids="id").equals(engine.recourse(people, ids="id"))
    assert again.key == engine.key != engine_of(network, schema, max_rate=0.21).key
    assert pickle.loads(pickle.dumps(schema)) == schema


def test_schemas(schema: pr.Schema, tmp_path: Any) -> None:
    schema.save(tmp_path / "s.toml")
    assert pr.Schema.load(tmp_path / "s.toml") == schema
    assert "income" in schema._repr_html_()
    with pytest.raises(ValueError, match="no feature 'x'"):
        schema.updated(x={"min": 0})
    with pytest.raises(ValueError, match="kind"):
        pr.Schema.parse('version = 1\n[[feature]]\nname = "a"\nkind = "odd"')
    frame = pd.DataFrame(people_of(30)).drop(columns="id").assign(ok=["yes", "no"] * 15)
    guessed = pr.Schema.infer(frame, target="ok", immutable=["housing"])
    assert (
        not guessed["housing"]["mutable"]
        and not guessed["age"]["mutable"]
        and guessed["income"]["mutable"]
    )
    assert guessed.to_dict()["target"] == "ok"
    dated = frame.assign(when=pd.date_range("2024-01-01", periods=30))
    with pytest.raises(
        ValueError, match="data: column 'when' of type timestamp.* leave it out with ignore"
    ):
        pr.Schema.infer(dated)
    assert pr.Schema.infer(dated, target="ok", immutable=["housing"], ignore=["when"]) == guessed


def test_frontiers_are_drawn(linear: bytes, schema: pr.Schema, tmp_path: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    front = engine_of(linear, schema).frontier(pd.DataFrame(people_of(6)), ids=["id"])
    axes = front.plot()
    assert len(axes.lines) > 0 and axes.get_ylabel() == "cost"
    axes.figure.savefig(tmp_path / "front.png")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        str(name) for name in people_of(6)["id"]
    ]
    assert axes.get_xlabel().endswith("(left is safer)")
    assert "target_rate" in front._repr_html_() and "6 people" in repr(front)


def test_frontiers_are_shown_without_pandas(linear: bytes, schema: pr.Schema) -> None:
    front = engine_of(linear, schema).frontier(pa.table(people_of(3)), rates=[0.4, 0.1], ids=["id"])
    shown = front._repr_html_()
    assert (
        shown.startswith("<table><thead><tr><th>row</th><th>target_rate</th>")
        and shown.count("<tr>") == 1 + 6
    )
    assert "dataframe" not in shown


def test_columns_too_many_are_refused_with_a_way_out(linear: bytes, schema: pr.Schema) -> None:
    with pytest.raises(
        ValueError,
        match=r"unexpected column 'id'.* "
        r"\(ids=\['id'\] carries it through, ignore_extra=True ignores it\)",
    ):
        engine_of(linear, schema).recourse(pa.table(people_of(3)))


def test_progress_is_told(network: bytes, schema: pr.Schema, capsys: Any) -> None:
    people = pa.table(people_of(3000))
    engine_of(network, schema, max_rate=0.05).recourse(people, ids="id", progress=True)
    assert "people" in capsys.readouterr().err
    engine_of(network, schema).recourse(people, ids="id")
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_stops_the_work() -> None:
    def slow(rows: np.ndarray) -> np.ndarray:
        time.sleep(0.002)
        return rows[:, 0] - 1.0

    engine = pr.Engine(pr.from_callable(slow, ["a"]), sigma=0.1)
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        engine.recourse(pa.table({"a": [i / 1e5 for i in range(20000)]}))
    assert time.monotonic() - start < 30


def test_other_threads_go_on_meanwhile(network: bytes, schema: pr.Schema) -> None:
    engine, people = engine_of(network, schema, max_rate=0.05), pa.table(people_of(3000))
    ticks, done = 0, threading.Event()
    worker = threading.Thread(target=lambda: (engine.recourse(people, ids="id"), done.set()))
    worker.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    worker.join()
    assert ticks > 10


def test_a_schema_is_a_schema_or_refused(linear: bytes, schema: pr.Schema) -> None:
    people = pa.table(people_of(10))
    assert (
        engine_of(linear, schema.to_dict())
        .recourse(people, ids="id")
        .equals(engine_of(linear, schema).recourse(people, ids="id"))
    )
    for wrong in (1, ["a"], pd.DataFrame()):
        with pytest.raises(TypeError, match="schema: expected"):
            engine_of(linear, wrong)


def test_yes_and_no_are_no_numbers(linear: bytes, schema: pr.Schema) -> None:
    people = pa.table(people_of(10))
    negated = engine_of(linear, schema, favourable_class=0).score(people, ids="id")
    assert engine_of(linear, schema, favourable_class=False).score(people, ids="id").equals(negated)
    with pytest.raises(ValueError, match="max_rate"):
        engine_of(linear, schema, max_rate=False)
    with pytest.raises(ValueError, match="^relax: .*expected a boolean"):
        engine_of(linear, schema, relax=1)
    assert (
        engine_of(
            linear,
            schema,
            relax=np.bool_(False),
            max_rate=np.float64(0.1),
            immutable=np.array(["debt"]),
            threads=np.int64(1),
        ).threads
        == 1
    )
