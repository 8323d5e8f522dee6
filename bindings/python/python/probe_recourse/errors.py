"""Errors of the package. Bad input is a ``ValueError`` in the words of the command line."""


class UnsupportedError(ValueError):
    """A model, a method or a combination of settings that is not served, rather than served wrongly."""
