"""Progress bars, if tqdm is installed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def progress(wanted: bool | None, total: int) -> Iterator[Callable[[int], None] | None]:
    """Yields a function that takes the number of finished rows, or ``None`` without a bar.

    With ``wanted=None`` there is a bar only in a terminal or notebook. It appears with the first
    update.
    """
    if wanted is False or (wanted is None and not _watched()):
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if wanted:
            raise ValueError("progress: it takes tqdm (pip install tqdm)") from None
        yield None
        return
    bar: Any = None

    def tell(rows: int) -> None:
        nonlocal bar
        if bar is None:
            if rows >= total:
                return
            bar = tqdm(total=total, unit=" people")
        bar.update(rows - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
