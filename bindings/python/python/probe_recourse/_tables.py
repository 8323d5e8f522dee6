"""Tables of other libraries: Arrow on the way in, the same kind on the way out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

class How:
    """How a table is read and worked on."""

    def __init__(self, ignore_extra: bool, threads: int, progress: Any, ids: Sequence[str] = ()) -> None:
        self.ignore_extra, self.threads, self.progress, self.ids = ignore_extra, threads, progress, list(ids)


Back = Callable[[pa.Table, int], Any]


def to_arrow(frame: Any, name: str = "people") -> tuple[pa.Table, Back]:
    """The table, and what turns a table of results into the kind that came. The number is that of result rows to each row."""
    library = type(frame).__module__.split(".")[0]
    if isinstance(frame, pa.Table):
        return frame, lambda table, _: table
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), lambda table, _: _one_batch(table)
    if library == "pandas" and type(frame).__name__ == "DataFrame":
        return _from_pandas(frame)
    if library == "polars" and type(frame).__name__ in ("DataFrame", "LazyFrame"):
        import polars

        whole = frame.collect() if isinstance(frame, polars.LazyFrame) else frame
        return whole.to_arrow(), lambda table, _: polars.from_arrow(table)
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame), lambda table, _: table
    raise TypeError(
        f"{name}: expected a data frame of pandas or polars, or a table of pyarrow, found {type(frame).__module__}.{type(frame).__qualname__}"
    )


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


def _from_pandas(frame: Any) -> tuple[pa.Table, Back]:
    names = [name for name in frame.columns if not isinstance(name, str)]
    if names:
        raise ValueError(f"people: the name of a column must be a text, found {names[0]!r}")

    def back(table: pa.Table, times: int) -> Any:
        result = table.to_pandas()
        if len(result) == len(frame) * times:
            result.index = frame.index if times == 1 else frame.index.repeat(times)
        return result

    return pa.Table.from_pandas(frame, preserve_index=False), back


def carry(result: pa.Table, people: pa.Table, ids: list[str]) -> pa.Table:
    """``result`` with the columns ``ids`` of ``people``, by its column ``row``."""
    if not ids:
        return result
    for name in ids:
        if name in result.column_names:
            raise ValueError(f"ids: the output has a column '{name}' already")
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
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind) or pa.types.is_dictionary(kind)):
            table = table.set_column(at, name, table.column(at).cast(pa.string()))
    return table


def settle_types(result: pa.Table, people: pa.Table, whole: dict[str, bool]) -> pa.Table:
    """Features with the types they came with, where these can hold what they may become."""
    for name, stays_whole in whole.items():
        if name not in result.column_names:
            continue
        at, kind = result.schema.get_field_index(name), people.schema.field(name).type
        column = result.column(at)
        if kind == column.type:
            continue
        numeric = pa.types.is_integer(kind) or pa.types.is_boolean(kind)
        if pa.types.is_floating(column.type) and not (numeric and stays_whole):
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
