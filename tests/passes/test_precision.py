"""float64 products beside a constant factor keep all their digits in onnxruntime."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps

rng = np.random.default_rng(3)
A, B, BATCH = rng.standard_normal((5, 6)), rng.standard_normal((6, 7)), rng.standard_normal((4, 5, 6))


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        (lambda a, b: (a @ b) * 0.1, A, B),
        (lambda a, b: (a @ b) / 3.0, A, B),
        (lambda a, b: (a * 0.1) @ b, A, B),
        (lambda a, b: a @ (b / 3.0), A, B),
        (lambda a, b: (a * 0.1).T @ b, A, B[:5]),
        (lambda a, b: (a @ b) * 0.1, BATCH, B),
        (lambda a, b: (a * 0.1) @ b, BATCH, B),
        (lambda a, b: (a * 0.3) @ b, A, B[:, 0]),
        (lambda a, b: np.sum((a @ b) * 0.1) * 0.3, BATCH, B),
    ],
)
def test_a_factor_beside_a_product_costs_no_digits(function: Callable[..., Any], left: Any, right: Any) -> None:
    made = ps.split(function, left, right, seed="ones").joint()
    value, d_left, d_right = made(left, right)
    np.testing.assert_allclose(value, function(left, right), rtol=1e-14, atol=1e-14)
    step = 1e-3
    for gradient, point, at in ((d_left, left, 0), (d_right, right, 1)):
        direction = rng.standard_normal(point.shape)
        ends = []
        for sign in (1, -1):
            moved = [left, right]
            moved[at] = point + sign * step * direction
            ends.append(np.sum(function(*moved)))
        # The function is linear in each argument, so the difference is exact but for rounding.
        assert np.sum(gradient * direction) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-10)
