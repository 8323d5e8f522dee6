"""Answers on many machines: Spark, and other libraries that map functions over Arrow batches."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ._engine import Engine, _dumps

# Engines of this process by key, so that each worker builds an engine once. The oldest are dropped.
_made: dict[str, Engine] = {}
MOST = 8


def _kept(key: str, content: Callable[[], bytes]) -> Engine:
    if key not in _made:
        engine: Engine = pickle.loads(content())
        while len(_made) >= MOST:
            del _made[next(iter(_made))]
        _made[key] = engine
    return _made[key]


class Mapper:
    """A function from batches of people to batches of answers, without the column ``row``.

    It can be pickled and sent to other machines, where each process builds the engine once. It
    works with any library that maps a function over Arrow batches::

        ray_dataset.map_batches(mapper(engine), batch_format="pyarrow")
        dask_frame.map_partitions(mapper(engine))
    """

    def __init__(
        self,
        engine: Engine,
        ids: Sequence[str] | None,
        ignore_extra: bool,
        errors: str,
        content: Callable[[], bytes] | None = None,
    ) -> None:
        self.key, self.ids, self.ignore_extra, self.errors = engine.key, ids, ignore_extra, errors
        self.content = _Content(_dumps(engine)) if content is None else content

    def __call__(self, people: Any) -> Any:
        engine = _kept(self.key, self.content)
        ids = self.ids
        if ids is None:
            names = (
                people.schema.names
                if isinstance(people, (pa.Table, pa.RecordBatch))
                else list(people.columns)
            )
            known = set(engine.features)
            ids = [] if self.ignore_extra else [name for name in names if name not in known]
        try:
            answers = engine.recourse(
                people, ids=ids, ignore_extra=self.ignore_extra, errors=self.errors, progress=False
            )
        except ValueError as error:
            raise _named(error, engine, people, ids, self.ignore_extra) from None
        return _without_row(answers)


def _without_row(answers: Any) -> Any:
    if isinstance(answers, (pa.Table, pa.RecordBatch)):
        return answers.drop_columns(["row"])
    return answers.drop(columns="row") if hasattr(answers, "iloc") else answers.drop("row")


def _named(
    error: ValueError, engine: Engine, people: Any, ids: Sequence[str], ignore_extra: bool
) -> ValueError:
    """The error with the ids of its row, because row numbers of a partition mean nothing."""
    if not ids or not isinstance(people, (pa.Table, pa.RecordBatch)):
        return error
    low, high = 0, people.num_rows
    while high - low > 1:
        middle = (low + high) // 2
        try:
            engine.recourse(
                people.slice(low, middle - low), ids=ids, ignore_extra=ignore_extra, progress=False
            )
            low = middle
        except ValueError:
            high = middle
    row = people.slice(low, 1).select(list(ids)).to_pylist()
    named = ", ".join(f"{name}={value!r}" for name, value in row[0].items()) if row else ""
    return type(error)(f"{error} (the row of {named})")


def mapper(
    engine: Engine,
    *,
    ids: Sequence[str] | None = None,
    ignore_extra: bool = False,
    errors: str = "raise",
) -> Mapper:
    """A function from batches of people to batches of answers, for Ray or Dask.

    See :class:`Mapper`.
    """
    return Mapper(engine, ids, ignore_extra, errors)


def recourse(
    people: Any,
    engine: Engine,
    *,
    ids: Sequence[str] | None = None,
    ignore_extra: bool = False,
    errors: str = "raise",
) -> Any:
    """Answers each row of a Spark data frame.

    The result is a Spark data frame with the columns of :meth:`Engine.recourse` without ``row``.
    Answers depend only on the values of a row and the settings, so any partitioning gives the same
    bits.

    :param ids: columns that are carried through; by default all that are not features.
    :param ignore_extra: leave out columns that are neither features nor ``ids``, instead of
        raising an error.
    :param errors: ``raise`` stops at a row that cannot be read and names its ids; ``none`` answers
        it with status ``none`` and the reason.
    """
    if engine._per_file:
        raise ValueError(
            "confidence_scope: the rows of a Spark data frame are not counted; say how many there "
            "are with rows"
        )
    if not hasattr(people, "mapInArrow"):
        raise TypeError(
            "people: expected a Spark data frame, found "
            f"{type(people).__module__}.{type(people).__qualname__}"
        )
    known = set(engine.features)
    missing = [name for name in engine.features if name not in people.columns]
    if missing:
        raise ValueError(f"people: no column '{missing[0]}', which the model needs")
    others = [name for name in people.columns if name not in known]
    if ids is None:
        carried = [] if ignore_extra else others
    else:
        carried = [ids] if isinstance(ids, str) else list(ids)
        unknown = [name for name in carried if name not in people.columns]
        if unknown:
            raise ValueError(
                f"ids: no column '{unknown[0]}' (there are: {', '.join(people.columns)})"
            )
        extra = [name for name in others if name not in carried]
        if extra and not ignore_extra:
            raise ValueError(
                f"people: column '{extra[0]}' is neither a feature nor an id; give it as one, or "
                "ignore_extra=True"
            )
    names = [name for name in people.columns if name in known or name in carried]
    for name in names:
        if "." in name or "`" in name:
            raise ValueError(
                f"people: Spark cannot map over a column called '{name}'; rename it to a name "
                "without dots and quotes"
            )
    sent = people.select(*names)
    work = Mapper(engine, carried, False, errors, _broadcast(people, engine))

    fields, kinds = _fields(sent, engine)
    taken = {"row", *kinds}
    for name in carried:
        if name in taken:
            raise ValueError(
                f"ids: the output has a column '{name}' already; rename it, or leave it out with "
                "ids and ignore_extra"
            )

    def answer(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            table = work(pa.Table.from_batches([batch]))
            target = [
                pa.field(field.name, kinds.get(field.name, field.type)) for field in table.schema
            ]
            try:
                table = table.cast(pa.schema(target))
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"an answer does not fit the type of its column: {error}; cast the column to a "
                    "wider type"
                ) from None
            yield from table.to_batches()

    from pyspark.sql.types import StructType

    return sent.mapInArrow(answer, StructType([*fields, *(sent.schema[name] for name in carried)]))


class _Content:
    def __init__(self, content: bytes) -> None:
        self.content = content

    def __call__(self) -> bytes:
        return self.content


def _broadcast(people: Any, engine: Engine) -> Callable[[], bytes] | None:
    """The engine as a Spark broadcast; ``None`` without a Spark context (Spark Connect)."""
    try:
        sent = people.sparkSession.sparkContext.broadcast(_dumps(engine))
    except Exception:
        return None
    return _Broadcast(sent)


class _Broadcast:
    def __init__(self, sent: Any) -> None:
        self.sent = sent

    def __call__(self) -> bytes:
        content: bytes = self.sent.value
        return content


def _fields(people: Any, engine: Engine) -> tuple[list[Any], dict[str, pa.DataType]]:
    """Spark fields and Arrow types of the answer columns before the ids."""
    from pyspark.sql import types

    pairs = [
        (types.StringType, pa.string()),
        (types.BooleanType, pa.bool_()),
        (types.ByteType, pa.int8()),
        (types.ShortType, pa.int16()),
        (types.IntegerType, pa.int32()),
        (types.LongType, pa.int64()),
        (types.FloatType, pa.float32()),
        (types.DoubleType, pa.float64()),
    ]

    def arrow(name: str) -> pa.DataType:
        kind = people.schema[name].dataType
        for ours, theirs in pairs:
            if isinstance(kind, ours):
                return theirs
        raise ValueError(
            f"people: column '{name}' of type {kind.simpleString()} cannot be read as a feature"
        )

    names = [name for name in people.columns if name in set(engine.features)]
    empty = pa.Table.from_pylist([], schema=pa.schema([(name, arrow(name)) for name in names]))
    kinds = {
        field.name: field.type
        for field in engine.recourse(empty, progress=False).drop_columns(["row"]).schema
    }
    spark_of = {theirs: ours for ours, theirs in pairs}
    return [types.StructField(name, spark_of[kind](), True) for name, kind in kinds.items()], kinds
