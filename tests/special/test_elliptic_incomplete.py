"""Incomplete elliptic integrals, Jacobi's functions and the arithmetic-geometric mean, as in SciPy."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.ellipkinc, (np.array([0.3, 1.2, -0.7]), np.array([0.2, 0.8, -1.0])), (0, 1)),
    (sp.ellipeinc, (np.array([0.3, 1.2, -0.7]), np.array([0.2, 0.8, -1.0])), (0, 1)),
    (sp.agm, (np.array([0.5, 2.0, 24.0]), np.array([1.5, 3.0, 6.0])), (0, 1)),
    (sp.ellipj, (np.array([0.3, 1.2, -0.7]), np.array([0.2, 0.8, 0.5])), (0, 1)),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


def test_missing_angles_are_not_lost() -> None:
    check(sp.ellipeinc, np.array([np.nan, np.nan, 1.0]), np.array([-np.inf, 0.5, -np.inf]), wrt=())
