"""Errors of the package. Bad input is a ``ValueError`` with the message of the command line."""

from __future__ import annotations


class UnsupportedError(ValueError):
    """A model, a method or a combination of settings that is not supported.

    The message says what and why.
    """

    def __init__(self, what: str, why: str | None = None) -> None:
        super().__init__(what if why is None else f"{what} is not supported: {why}")
