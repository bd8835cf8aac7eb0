"""scipy.optimize's minima of functions of one number: right to rounding, and so are their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.frontends.scipy.optimize.exact import check_exact

P = np.array([1.0, 2.0])

EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "a number": (
        lambda p: minimize_scalar(lambda t: np.exp(t) - p[0] * t).x, lambda p: np.log(p[0]), P
    ),
    "a number in a bracket": (
        lambda p: minimize_scalar(lambda t, a: (t - a) ** 2, bracket=(-1, 0, 5), args=(p[1],)).x, lambda p: p[1], P
    ),
    "a number within bounds": (
        lambda p: minimize_scalar(lambda t: (t - p[0]) ** 4 + t, bounds=(0, 5)).x,
        lambda p: p[0] - np.cbrt(0.25),
        P,
    ),
    "a number at a bound": (lambda p: minimize_scalar(lambda t: t, bounds=(p[0], 5)).x, lambda p: p[0], P),
}  # fmt: skip


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    check_exact(*EXACT[name])
