"""Errors of the package. Bad input is a ``ValueError`` that names the argument."""

from __future__ import annotations


class UnsupportedError(ValueError):
    """A model, a method or a combination of settings is not supported.

    Probe rejects it rather than answer wrongly. The message names it and says why.
    """

    def __init__(self, what: str, why: str | None = None) -> None:
        super().__init__(what if why is None else f"{what} is not supported: {why}")
