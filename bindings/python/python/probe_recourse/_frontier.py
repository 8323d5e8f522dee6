"""Cost against rate."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


class Frontier:
    """Cost against failure rate: the answer of each person at several rates.

    ``frame`` is the table, of the same library as the people: ``row``, ``target_rate``,
    ``status``, ``reason``, ``cost``, ``rate``, ``rate_upper``, ``changed``, the features, and ids.
    """

    def __init__(self, table: pa.Table, frame: Any, ids: Sequence[str] = ()) -> None:
        self._table = table
        self._ids = list(ids)
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return self._table.to_pandas()

    def plot(self, rows: Sequence[int] | None = None, ax: Any = None) -> Any:
        """Plots cost against target rate, one line per person, and returns the axes.

        Shows the first ten people, or ``rows``; lines are labelled with the ids. Needs matplotlib,
        which the extra ``plot`` installs.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                "a frontier is drawn by matplotlib: pip install 'probe-recourse[plot]', or "
                "matplotlib"
            ) from None
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        found: dict[int, list[tuple[float, float, str]]] = {}
        columns = (
            self._table.column(name).to_pylist()
            for name in ("row", "target_rate", "cost", "status")
        )
        for row, rate, cost, status in zip(*columns):
            if cost is not None:
                found.setdefault(row, []).append((rate, cost, status))
        wanted = list(found)[:10] if rows is None else rows
        names = self._names()
        for row in wanted:
            points = sorted(found.get(row, []))
            (line,) = ax.plot(
                [rate for rate, *_ in points],
                [cost for _, cost, _ in points],
                label=names.get(row, f"row {row}"),
                zorder=2,
            )
            for sure, marker in ((True, "o"), (False, "x")):
                some = [
                    (rate, cost) for rate, cost, status in points if (status != "found") == sure
                ]
                ax.scatter(
                    [x for x, _ in some],
                    [y for _, y in some],
                    marker=marker,
                    s=24,
                    color=line.get_color(),
                    zorder=3,
                )
        ax.set_xlabel("share of noisy implementations that may fail (left is safer)")
        ax.set_ylabel("cost")
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        if 1 < len(wanted) <= 10:
            ax.legend(frameon=False, fontsize="small")
        return ax

    def _names(self) -> dict[int, str]:
        """Labels of people by row: their ids, if there are any."""
        if not self._ids:
            return {}
        columns = (self._table.column(name).to_pylist() for name in self._ids)
        return {
            row: ", ".join(map(str, ids))
            for row, *ids in zip(self._table.column("row").to_pylist(), *columns)
        }

    def __repr__(self) -> str:
        people = len(set(self._table.column("row").to_pylist()))
        rates = len(set(self._table.column("target_rate").to_pylist()))
        return f"Frontier({people} people, {rates} rates)"

    def _repr_html_(self) -> str:
        own = getattr(self.frame, "_repr_html_", None)
        return str(own()) if own is not None else _as_html(self._table, 20)


def _as_html(table: pa.Table, most: int) -> str:
    """The first rows as a small table."""

    def line(cells: Sequence[Any], tag: str) -> str:
        return (
            "<tr>"
            + "".join(
                f"<{tag}>{html.escape('' if cell is None else str(cell))}</{tag}>" for cell in cells
            )
            + "</tr>"
        )

    rows = [line(list(row.values()), "td") for row in table.slice(0, most).to_pylist()]
    rest = table.num_rows - len(rows)
    more = f"<p>and {rest} rows more</p>" if rest > 0 else ""
    head, body = line(table.column_names, "th"), "".join(rows)
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"
