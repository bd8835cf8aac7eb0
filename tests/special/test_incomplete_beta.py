"""The incomplete beta function and its inverse: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.betainc, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
    (sp.betaincc, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
    (sp.betaincinv, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
