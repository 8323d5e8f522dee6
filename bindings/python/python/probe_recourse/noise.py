"""How people miss what they were advised to do. Numbers are standard deviations of each feature, in scaled units."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath


class Noise:
    """A distribution of misses; its text is that of ``--noise``."""

    def __str__(self) -> str:
        raise NotImplementedError


def _number(value: float) -> str:
    return repr(float(value))


@dataclass(frozen=True)
class Gaussian(Noise):
    """Normal misses, independent from feature to feature."""

    sd: float

    def __str__(self) -> str:
        return f"gaussian:{_number(self.sd)}"


@dataclass(frozen=True)
class Uniform(Noise):
    """Misses of equal density up to ``sd * sqrt(3)``."""

    sd: float

    def __str__(self) -> str:
        return f"uniform:{_number(self.sd)}"


@dataclass(frozen=True)
class Laplace(Noise):
    """Misses with exponential tails."""

    sd: float

    def __str__(self) -> str:
        return f"laplace:{_number(self.sd)}"


@dataclass(frozen=True)
class StudentT(Noise):
    """Misses with heavy tails; ``df`` above 2."""

    sd: float
    df: float = 4.0

    def __str__(self) -> str:
        return f"student-t:{_number(self.sd)},df={_number(self.df)}"


@dataclass(frozen=True)
class Effort(Noise):
    """Misses that grow with the change: variance ``sd**2 + (rho * change)**2`` and mean ``a * change``."""

    sd: float
    rho: float = 0.2
    a: float = 0.0

    def __str__(self) -> str:
        return f"effort:{_number(self.sd)},rho={_number(self.rho)},a={_number(self.a)}"


@dataclass(frozen=True)
class NoiseFile(Noise):
    """Noise of a file, as ``probe noise fit`` writes it: means, deviations, a covariance or residuals."""

    path: str | PathLike[str]

    def __str__(self) -> str:
        return f"file:{fspath(self.path)}"
