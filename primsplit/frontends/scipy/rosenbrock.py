"""scipy.optimize's Rosenbrock test function and its derivatives, for traced numbers."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating, of_at_least
from primsplit.tracing.asarray import array_like

__all__ = ["rosen_der"]


def rosen_der(x: Any) -> Any:
    """The gradient of `rosen`, of two numbers or more."""
    given: Any = of_at_least(array_like(floating(x)), 2, 0)
    apart = given[1:] - given[:-1] ** 2
    none = np.zeros_like(given[:1])
    left = -400.0 * given[:-1] * apart - 2.0 * (1 - given[:-1])
    return np.concatenate([left, none]) + np.concatenate([none, 200.0 * apart])
