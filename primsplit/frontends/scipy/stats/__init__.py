"""scipy.stats for traced arrays: densities and tails of distributions, with SciPy's names and arguments."""

from collections.abc import Mapping
from typing import Any, Protocol

from primsplit.frontends.scipy.stats.families import CONTINUOUS, DISCRETE
from primsplit.frontends.scipy.stats.further import FURTHER, FURTHER_DISCRETE
from primsplit.frontends.scipy.stats.kinds import Continuous, Discrete
from primsplit.frontends.scipy.stats.matrices import InverseWishart, MatrixNormal, MultivariateT, Wishart
from primsplit.frontends.scipy.stats.moments import MOMENTS
from primsplit.frontends.scipy.stats.multivariate import MultivariateNormal
from primsplit.frontends.scipy.stats.rarer import RARER
from primsplit.frontends.scipy.stats.simplex import Dirichlet, Multinomial
from primsplit.frontends.scipy.stats.tails import TAILS
from primsplit.tracing.array import unsupported


class Distribution(Protocol):
    """An object with some of the functions of a SciPy distribution."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The functions that there are."""


def knowing_moments(families: Mapping[str, Continuous | Discrete]) -> dict[str, Continuous | Discrete]:
    """The families, with their means and variances where these are known."""
    return {n: family.knowing(MOMENTS[n]) if n in MOMENTS else family for n, family in families.items()}


def completed(families: Mapping[str, Continuous]) -> dict[str, Continuous]:
    """The families, with probabilities and quantiles where these are known."""
    return {n: family.completed(*TAILS[n]) if n in TAILS else family for n, family in families.items()}


DISTRIBUTIONS: dict[str, Distribution] = {
    "multivariate_normal": MultivariateNormal(),
    "multivariate_t": MultivariateT(),
    "matrix_normal": MatrixNormal(),
    "wishart": Wishart(),
    "invwishart": InverseWishart(),
    "dirichlet": Dirichlet(),
    "multinomial": Multinomial(),
    **knowing_moments({**completed({**CONTINUOUS, **FURTHER, **RARER}), **DISCRETE, **FURTHER_DISCRETE}),
}
"""The distributions by SciPy's names."""
norm: Any = DISTRIBUTIONS["norm"]

FROZEN_PARAMETERS = {
    "multivariate_normal": ("mean", "cov"), "multivariate_t": ("loc", "shape", "df"),
    "matrix_normal": ("mean", "rowcov", "colcov"), "wishart": ("df", "scale"), "invwishart": ("df", "scale"),
    "dirichlet": ("alpha",), "multinomial": ("n", "p"),
}  # fmt: skip
"""The attributes of SciPy's frozen distributions of vectors and matrices that hold their parameters."""


class Frozen:
    """`norm(loc, scale)`: the functions of a distribution with these parameters."""

    def __init__(self, name: str, *parameters: Any, **named: Any) -> None:
        self.name = name
        self.parameters = parameters
        self.named = named

    def __getattr__(self, name: str) -> Any:
        distribution = DISTRIBUTIONS[self.name]
        if name not in distribution.methods:
            raise unsupported(f"{name} of scipy.stats.{self.name}")
        function = getattr(distribution, name)
        return lambda *x: function(*x, *self.parameters, **self.named)
