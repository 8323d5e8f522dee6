"""Tables of other libraries: converted to Arrow, and results back to the same library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

# Names, values, and the categories if the values are category codes.
Columns = Sequence[tuple[str, Any, "list[str | None] | None"]]


class How:
    """Options for reading and processing a table."""

    def __init__(
        self, ignore_extra: bool, threads: int, progress: Any, ids: Sequence[str] = ()
    ) -> None:
        self.ignore_extra, self.threads, self.progress, self.ids = (
            ignore_extra,
            threads,
            progress,
            list(ids),
        )


class Frame:
    """A table in Arrow form, and how to convert results back.

    ``gather`` builds a result from NumPy columns without copying them. Its arguments are the
    columns, which features keep integer types, and ``ids``.
    """

    def __init__(
        self,
        table: pa.Table,
        back: Callable[[pa.Table, list[str]], Any],
        gather: Callable[[Columns, dict[str, bool], list[str]], Any] | None = None,
    ) -> None:
        self.table = table
        self._back = back
        self.gather = gather

    def back(self, result: pa.Table, ids: Sequence[str] = ()) -> Any:
        """Converts results to the library of the input; ``ids`` are carried through."""
        return self._back(result, list(ids))


def to_arrow(frame: Any, name: str = "people", only: Callable[[str], bool] | None = None) -> Frame:
    """Converts a table to Arrow; ``only`` selects columns, others are ignored."""
    library = type(frame).__module__.split(".")[0]
    bases = [f"{base.__module__.split('.')[0]}.{base.__name__}" for base in type(frame).__mro__]
    if isinstance(frame, (pa.Table, pa.RecordBatch)):
        if only is not None:
            frame = frame.select([column for column in frame.schema.names if only(column)])
        if isinstance(frame, pa.Table):
            return Frame(frame, lambda result, ids: carry(result, frame, ids))
        table = pa.Table.from_batches([frame])
        return Frame(table, lambda result, ids: _one_batch(carry(result, table, ids)))
    if "pandas.DataFrame" in bases:
        return _from_pandas(frame, name, only)
    if library == "polars" and type(frame).__name__ in ("DataFrame", "LazyFrame"):
        return _from_polars(frame, only)
    if hasattr(frame, "__arrow_c_stream__"):
        return to_arrow(pa.table(frame), name, only)
    raise TypeError(
        f"{name}: expected a data frame of pandas or polars, or a table of pyarrow, "
        f"found {type(frame).__module__}.{type(frame).__qualname__}"
    )


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _from_polars(frame: Any, only: Callable[[str], bool] | None) -> Frame:
    import polars

    whole = frame.collect() if isinstance(frame, polars.LazyFrame) else frame
    if only is not None:
        whole = whole.select([column for column in whole.columns if only(column)])
    table = whole.to_arrow()

    def back(result: pa.Table, ids: list[str]) -> Any:
        found: Any = polars.from_arrow(carry(result, table, ids))
        named = [
            column for column in whole.columns if column in found.columns and column not in ids
        ]
        kinds = {
            column: whole.schema[column]
            for column in named
            if whole.schema[column] in (polars.Categorical, polars.Enum)
        }
        return found.with_columns(
            polars.col(column).cast(polars.String).cast(kind) for column, kind in kinds.items()
        )

    return Frame(table, back)


def _from_pandas(frame: Any, name: str, only: Callable[[str], bool] | None) -> Frame:
    import numpy
    import pandas

    if only is not None:
        frame = frame[
            [column for column in frame.columns if isinstance(column, str) and only(column)]
        ]
    names = [column for column in frame.columns if not isinstance(column, str)]
    if names:
        raise ValueError(f"{name}: the name of a column must be a text, found {names[0]!r}")
    table = _columns(frame)

    def typed(result: pa.Table) -> Any:
        """The result with the column types of the input."""
        # Separate blocks avoid a copy. With a single chunk they would be read-only views.
        several = result.num_columns > 0 and result.column(0).num_chunks > 1
        found = result.to_pandas(split_blocks=several)
        for column in frame.columns:
            kind = frame[column].dtype
            if column not in found.columns:
                continue
            elif isinstance(kind, pandas.CategoricalDtype):
                found[column] = _category(found[column], kind)
            elif (
                not isinstance(kind, numpy.dtype)
                and result.schema.field(column).type == table.schema.field(column).type
            ):
                found[column] = found[column].astype(kind)
        return found

    def labelled(found: Any, ids: list[str]) -> Any:
        """The result with the index and the ids of the input rows."""
        _untaken(found.columns, ids)
        rows = None if len(found) == len(frame) else found["row"].to_numpy()
        found.index = frame.index if rows is None else frame.index.take(rows)
        for column in frame.columns:
            if column in ids:
                values = frame[column].array
                found[column] = values.copy() if rows is None else values.take(rows)
        return found

    def back(result: pa.Table, ids: list[str]) -> Any:
        return labelled(typed(result), ids)

    def gather(columns: Columns, whole: dict[str, bool], ids: list[str]) -> Any:
        found: dict[str, Any] = {}
        others: dict[str, pa.Array] = {}
        for column, values, texts in columns:
            feature = column in whole and column in frame.columns
            if feature and not (
                texts is None
                and isinstance(frame[column].dtype, numpy.dtype)
                and _stays(table, column, whole)
            ):
                found[column], others[column] = None, _as_arrow(values, texts)
            elif texts is None:
                found[column] = values
            else:
                # One object for each text there is.
                known = pa.array(texts, pa.string()).to_pandas()
                found[column] = (
                    known.to_numpy() if isinstance(known.dtype, numpy.dtype) else known.array
                ).take(values)
        if others:
            rest = typed(settle_types(pa.table(others), table, whole))
            found.update((column, rest[column].array) for column in others)
        return labelled(pandas.DataFrame(found, copy=False), ids)

    return Frame(table, back, gather)


def _as_arrow(values: Any, texts: list[str | None] | None) -> pa.Array:
    if texts is None:
        return pa.array(values, from_pandas=True)
    return pa.DictionaryArray.from_arrays(values, pa.array(texts, pa.string())).cast(pa.string())


def _untaken(columns: Any, ids: list[str]) -> None:
    for name in ids:
        if name in columns:
            raise ValueError(f"ids: the output has a column '{name}' already")


def _stays(people: pa.Table, name: str, whole: dict[str, bool]) -> bool:
    """Whether a column of floats keeps its original type."""
    kind = people.schema.field(name).type
    return not ((pa.types.is_integer(kind) or pa.types.is_boolean(kind)) and whole[name])


def _category(texts: Any, kind: Any) -> Any:
    """Texts as categories; new texts are added after the existing categories."""
    import pandas

    known = {str(category): category for category in kind.categories}
    values = [known.get(text, text) for text in texts]
    more = [value for value in dict.fromkeys(values) if value not in set(kind.categories)]
    return pandas.Categorical(values, categories=[*kind.categories, *more], ordered=kind.ordered)


def _columns(frame: Any) -> pa.Table:
    """The columns of a frame; plain floats are not copied, and NaN stays NaN (missing)."""
    import numpy

    plain = [
        column
        for column, kind in zip(frame.columns, frame.dtypes)
        if isinstance(kind, numpy.dtype)
        and kind in (numpy.dtype("float64"), numpy.dtype("float32"))
    ]
    if len(plain) == 0 or not frame.columns.is_unique:
        return pa.Table.from_pandas(frame, preserve_index=False)
    rest = pa.Table.from_pandas(frame.drop(columns=plain), preserve_index=False)
    kept = {column: pa.array(frame[column].to_numpy(), from_pandas=False) for column in plain}
    arrays = [kept[column] if column in kept else rest.column(column) for column in frame.columns]
    return pa.Table.from_arrays(arrays, names=list(frame.columns))


def carry(result: pa.Table, people: pa.Table, ids: list[str]) -> pa.Table:
    """``result`` with the columns ``ids`` of ``people``, by its column ``row``."""
    if not ids:
        return result
    _untaken(result.column_names, ids)
    one_each = result.num_rows == people.num_rows
    carried = people.select(ids)
    if not one_each:
        carried = carried.take(result.column("row"))
    for name in ids:
        result = result.append_column(carried.schema.field(name), carried.column(name))
    return result


def plain(table: pa.Table, ids: list[str]) -> pa.Table:
    """The table with ``ids`` as numbers or texts."""
    for name in ids:
        at, kind = table.schema.get_field_index(name), table.schema.field(name).type
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_dictionary(kind)
        ):
            table = table.set_column(at, name, table.column(at).cast(pa.string()))
    return table


def settle_types(result: pa.Table, people: pa.Table, whole: dict[str, bool]) -> pa.Table:
    """Features with their original types, if these can hold all possible answers."""
    for name in whole:
        if name not in result.column_names:
            continue
        at, kind = result.schema.get_field_index(name), people.schema.field(name).type
        column = result.column(at)
        if kind == column.type:
            continue
        if pa.types.is_floating(column.type) and _stays(people, name, whole):
            continue
        if pa.types.is_null(kind):
            continue
        if pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type).dictionary_encode()
            if not column.type.equals(kind):
                column = column.cast(kind)
        else:
            try:
                column = column.cast(kind)
            except pa.ArrowInvalid:
                # A value beside the grid of whole numbers, as it came.
                continue
        result = result.set_column(at, pa.field(name, kind), column)
    return result
