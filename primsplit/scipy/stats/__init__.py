"""scipy.stats for traced arrays: densities and tails of distributions, in SciPy's names and arguments."""

from typing import Any, Protocol

from primsplit.array import unsupported
from primsplit.scipy.stats.families import CONTINUOUS, DISCRETE
from primsplit.scipy.stats.further import FURTHER, FURTHER_DISCRETE
from primsplit.scipy.stats.multivariate import MultivariateNormal
from primsplit.scipy.stats.normal import Normal


class Distribution(Protocol):
    """What has some of the functions of a distribution of SciPy's."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The functions that there are."""


norm = Normal()

DISTRIBUTIONS: dict[str, Distribution] = {
    "norm": norm,
    "multivariate_normal": MultivariateNormal(),
    **CONTINUOUS,
    **DISCRETE,
    **FURTHER,
    **FURTHER_DISCRETE,
}
"""The distributions by SciPy's names."""


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
        return lambda x: function(x, *self.parameters, **self.named)
