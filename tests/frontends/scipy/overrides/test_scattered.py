"""scipy.interpolate's interpolants that are called as functions: SciPy's values of traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])
VALUES = np.sin(3 * SITES)

AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

GRID = (np.array([0.0, 0.5, 1.0, 2.0]), np.array([0.0, 1.0, 3.0]))

POINTS = np.array([[0.3, 0.6], [1.4, 2.2], [0.7, 1.7]])

Function = Callable[[Any], Any]

OF_VALUES: dict[str, Function] = {
    "interpn": lambda y: scipys.interpn((GRID[1], SITES[:2]), y.reshape(3, 2), POINTS * [1.0, 0.1]) * y[0],
    "pchip_interpolate": lambda y: scipys.pchip_interpolate(SITES, y, AT[0], der=1),
}


@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)
