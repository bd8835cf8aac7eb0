"""Distribution functions of counts and ratios: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.bdtr, (np.array([2.0, 5.0]), np.array([10, 12]), np.array([0.3, 0.6])), (2,)),
    (sp.chdtr, (np.array([2.0, 5.0]), np.array([1.3, 6.0])), (0, 1)),
    (sp.chdtrc, (np.array([2.0, 5.0]), np.array([1.3, 6.0])), (0, 1)),
    (sp.fdtr, (np.array([2.0, 5.0]), np.array([3.0, 7.0]), np.array([1.3, 0.6])), (0, 1, 2)),
    (sp.pdtr, (np.array([2.0, 5.0]), np.array([1.3, 6.0])), (1,)),
    (sp.gdtr, (np.array([2.0, 0.5]), np.array([1.3, 6.0]), np.array([0.7, 4.0])), (0, 1, 2)),
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
