"""Errors that say what stands in the way."""


class UnsupportedError(ValueError):
    """Something that is not read, or a method that cannot serve a model. Its message names what, and says why."""

    def __init__(self, what, why):
        super().__init__(f"{what} is not supported: {why}")
        self.what = what
        self.why = why
