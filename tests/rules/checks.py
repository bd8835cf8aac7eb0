"""The checks of each row of a derivative rule in each run of the tests."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.testing import check_rrule
from tests.rules.row import Row

FAST = ["form", "closed", "primal", "differences", "linear", "sizes", "kinks", "forward"]


def check_derivative(row: Row) -> None:
    """Check that a rule gives the derivative in its promised form, without the checks that take long."""
    check_rrule(row.kind, *row.inputs, **{"only": FAST, **row.arguments})


def slopes(function: Callable[[Any], Any], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Return the gradient of a plain function of an array by central differences."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        ends = [x.copy(), x.copy()]
        ends[0][place] += step
        ends[1][place] -= step
        found[place] = (function(ends[0]) - function(ends[1])) / (2 * step)
    return found
