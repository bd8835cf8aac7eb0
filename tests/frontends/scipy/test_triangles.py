"""scipy.interpolate between scattered points: SciPy's values at traced points and of traced values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as scipys

from primsplit.testing import check_grads

SITES = np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.6])

VALUES = np.sin(3 * SITES)
AT = np.array([[0.13, 1.71, 0.55], [2.31, 1.13, 0.77]])

SEVERAL = np.stack([VALUES, np.cos(SITES)], axis=1)

POINTS = np.array([[0.3, 0.6], [1.4, 2.2], [0.7, 1.7]])

CORNERS = np.array([[0.0, 0.0], [0.1, 1.0], [1.0, 0.2], [1.1, 1.0], [0.5, 0.6], [0.3, 0.2]])

Function = Callable[[Any], Any]

AT_POINTS: dict[str, Function] = {
    "LinearNDInterpolator": lambda x: scipys.LinearNDInterpolator(CORNERS, SEVERAL, 0.3)(x / 3, x[0] / 3),
}

OF_VALUES: dict[str, Function] = {
    "griddata": lambda y: scipys.griddata(CORNERS, y, (y[:2] + 0.4, y[2:4] + 0.6), fill_value=0.5),
    "griddata of the nearest": lambda y: scipys.griddata(CORNERS, y, POINTS / 3, method="nearest") * y[:3],
    "LinearNDInterpolator": lambda y: scipys.LinearNDInterpolator(CORNERS, np.outer(y, [1.0, 2.0]))(POINTS / 3) * y[0],
    "NearestNDInterpolator": lambda y: scipys.NearestNDInterpolator(CORNERS, y)(0.2, 0.4) * y,
}


@pytest.mark.parametrize("name", AT_POINTS)
def test_an_interpolant_at_traced_points_is_scipys_with_gradients(name: str) -> None:
    check_grads(lambda x: AT_POINTS[name](x), AT, value_tolerance=1e-10, step=1e-3)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_VALUES)
def test_a_spline_of_traced_values_is_scipys_with_gradients(name: str) -> None:
    check_grads(OF_VALUES[name], VALUES, order=2, symbolic=False, step=1e-3)
