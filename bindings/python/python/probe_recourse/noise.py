"""Noise: the difference between what people reach and the advice. ``sd`` is in scaled units."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath


class Noise:
    """A noise distribution; ``str`` gives the value of ``--noise``."""

    def __str__(self) -> str:
        raise NotImplementedError


def _number(value: float) -> str:
    return repr(float(value))


@dataclass(frozen=True)
class Gaussian(Noise):
    """Normal noise, independent for each feature."""

    sd: float

    def __str__(self) -> str:
        return f"gaussian:{_number(self.sd)}"


@dataclass(frozen=True)
class Uniform(Noise):
    """Uniform noise between ``-sd * sqrt(3)`` and ``sd * sqrt(3)``."""

    sd: float

    def __str__(self) -> str:
        return f"uniform:{_number(self.sd)}"


@dataclass(frozen=True)
class Laplace(Noise):
    """Laplace noise, with exponential tails."""

    sd: float

    def __str__(self) -> str:
        return f"laplace:{_number(self.sd)}"


@dataclass(frozen=True)
class StudentT(Noise):
    """Student's t noise, with heavy tails; ``df`` must be above 2."""

    sd: float
    df: float = 4.0

    def __str__(self) -> str:
        return f"student-t:{_number(self.sd)},df={_number(self.df)}"


@dataclass(frozen=True)
class Effort(Noise):
    """Normal noise that grows with the change.

    Its variance is ``sd**2 + (rho * change)**2`` and its mean ``a * change``.
    """

    sd: float
    rho: float = 0.2
    a: float = 0.0

    def __str__(self) -> str:
        return f"effort:{_number(self.sd)},rho={_number(self.rho)},a={_number(self.a)}"


@dataclass(frozen=True)
class NoiseFile(Noise):
    """Noise from a file, such as ``probe noise fit`` writes."""

    path: str | PathLike[str]

    def __str__(self) -> str:
        return f"file:{fspath(self.path)}"
