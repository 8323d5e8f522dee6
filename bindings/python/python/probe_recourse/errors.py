"""Errors of the package. Bad input is a ``ValueError`` that names the argument."""

from __future__ import annotations


class UnsupportedError(ValueError):
    """A model, a method or a combination of settings that is not served, rather than served wrongly. Its message names what, and says why."""

    def __init__(self, what: str, why: str | None = None) -> None:
        super().__init__(what if why is None else f"{what} is not supported: {why}")
