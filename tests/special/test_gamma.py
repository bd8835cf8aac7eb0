"""The gamma function, its logarithm and the derivatives of it, as in SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.gamma, (np.array([0.5, 3.2, -1.4]),), (0,)),
    (sp.gammaln, (np.array([0.5, 3.2, 40.0]),), (0,)),
    (sp.digamma, (np.array([0.5, 3.2, -1.4]),), (0,)),
    (sp.rgamma, (np.array([0.5, 3.2, -1.4]),), (0,)),
    (sp.loggamma, (np.array([0.5, 3.2, 40.0]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
