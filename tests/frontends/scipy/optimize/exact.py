"""Compares a function with its closed form."""

from collections.abc import Callable
from typing import Any

import numpy as np

import primsplit as ps


def check_exact(function: Callable[[Any], Any], exact: Callable[[Any], Any], point: Any) -> None:
    """A function's value and derivatives at a point are those of its closed form."""
    np.testing.assert_allclose(ps.trace(function, point)(point), exact(point), rtol=1e-9, atol=1e-9)
    found, wanted = ps.jacobian(function)(point), ps.jacobian(exact)(point)
    np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)
