"""Incomplete gamma functions and their inverses: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.gammainc, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 4.0, 15.0])), (0, 1)),
    (sp.gammaincc, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 4.0, 15.0])), (0, 1)),
    (sp.gammaincinv, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 0.5, 0.9])), (0, 1)),
    (sp.gammainccinv, (np.array([0.5, 3.0, 20.0]), np.array([0.3, 0.5, 0.9])), (0, 1)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
