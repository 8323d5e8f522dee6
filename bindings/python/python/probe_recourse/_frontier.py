"""Cost against rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa


class Frontier:
    """The price of certainty for each person: the answer at several rates.

    ``frame`` is the table, of the kind that the people came in: ``row``, ``target_rate``, ``status``, ``reason``, ``cost``, ``rate``,
    ``rate_upper``, ``changed``, the features, and ids.
    """

    def __init__(self, table: pa.Table, frame: Any) -> None:
        self._table = table
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def to_pandas(self) -> Any:
        """The table as a data frame of pandas."""
        return self._table.to_pandas()

    def plot(self, rows: Sequence[int] | None = None, ax: Any = None) -> Any:
        """Draws cost against the rate that was asked for, a line for each person (the first ten, or ``rows``); gives the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError("a frontier is drawn by matplotlib: pip install matplotlib") from None
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
        found: dict[int, list[tuple[float, float, str]]] = {}
        columns = (self._table.column(name).to_pylist() for name in ("row", "target_rate", "cost", "status"))
        for row, rate, cost, status in zip(*columns):
            if cost is not None:
                found.setdefault(row, []).append((rate, cost, status))
        wanted = list(found)[:10] if rows is None else rows
        for row in wanted:
            points = sorted(found.get(row, []))
            (line,) = ax.plot([rate for rate, *_ in points], [cost for _, cost, _ in points], label=f"row {row}", zorder=2)
            for sure, marker in ((True, "o"), (False, "x")):
                some = [(rate, cost) for rate, cost, status in points if (status != "found") == sure]
                ax.scatter([x for x, _ in some], [y for _, y in some], marker=marker, s=24, color=line.get_color(), zorder=3)
        ax.set_xlabel("share of noisy implementations that may fail")
        ax.set_ylabel("cost")
        ax.set_ylim(bottom=0)
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        if 1 < len(wanted) <= 10:
            ax.legend(frameon=False, fontsize="small")
        return ax

    def __repr__(self) -> str:
        people = len(set(self._table.column("row").to_pylist()))
        rates = len(set(self._table.column("target_rate").to_pylist()))
        return f"Frontier({people} people, {rates} rates)"

    def _repr_html_(self) -> str:
        html: str = self.to_pandas().to_html(max_rows=20)
        return html
