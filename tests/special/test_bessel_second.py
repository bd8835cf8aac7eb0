"""Bessel functions of the second kind: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.y0, (np.array([0.1, 2.5, 30.0]),), (0,)),
    (sp.y1, (np.array([0.1, 2.5, 30.0]),), (0,)),
    (sp.k0, (np.array([0.1, 2.5, 30.0]),), (0,)),
    (sp.k1e, (np.array([0.1, 2.5, 30.0]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
