"""Carlson's symmetric elliptic integrals: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.elliprc, (np.array([0.5, 2.0]), np.array([1.5, 0.3])), (0, 1)),
    (sp.elliprd, (np.array([0.5, 2.0]), np.array([1.5, 0.3]), np.array([0.7, 3.0])), (0, 1, 2)),
    (sp.elliprf, (np.array([0.5, 2.0]), np.array([1.5, 0.3]), np.array([0.7, 3.0])), (0, 1, 2)),
    (sp.elliprg, (np.array([0.5, 2.0]), np.array([1.5, 0.3]), np.array([0.7, 3.0])), (0, 2)),
    (sp.elliprj, (np.array([0.5, 2.0]), np.array([1.5, 0.3]), np.array([0.7, 3.0]), np.array([0.9, 1.1])), (0, 3)),
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
