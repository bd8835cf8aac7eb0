"""Means, variances and entropies of distributions: SciPy's, and their derivatives."""

from typing import Any

import numpy as np
import pytest
import scipy.stats

from primsplit.frontends.scipy import stats
from tests.frontends.scipy.stats.family import (
    COUNTED,
    DISCRETE,
    PARAMETERS,
    SHAPES,
)
from tests.numpy.agreement import check_grads

OF_PARAMETERS = [n for n, d in stats.DISTRIBUTIONS.items() if "var" in d.methods]
"""Families whose means and variances are known."""


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", OF_PARAMETERS)
def test_moments_have_first_and_second_derivatives(name: str) -> None:
    distribution = stats.DISTRIBUTIONS[name]
    shapes = {"pareto": (3.4,), "dirichlet": (np.array([0.7, 1.3, 2.2]),)}.get(
        name, SHAPES.get(name, PARAMETERS.get(name, ()))
    )
    places = () if name == "dirichlet" else (0.3,) if name in DISCRETE else (0.3, 1.4)
    methods = [m for m in ("mean", "var", "std", "entropy") if m in distribution.methods]
    counts, numbers = shapes[: name in COUNTED], shapes[name in COUNTED :]

    def at(*given: Any) -> Any:
        return tuple(getattr(getattr(scipy.stats, name), m)(*counts, *given) for m in methods)

    check_grads(at, *(np.asarray(g) for g in (*numbers, *places)), symbolic=False)
