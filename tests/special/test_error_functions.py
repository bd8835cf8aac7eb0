"""Error functions and the normal distribution: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.erf, (np.array([-2.0, -0.1, 0.3, 1.7]),), (0,)),
    (sp.erfc, (np.array([-2.0, -0.1, 0.3, 5.0]),), (0,)),
    (sp.erfcx, (np.array([-2.0, 0.3, 30.0]),), (0,)),
    (sp.erfinv, (np.array([-0.9, 0.1, 0.7]),), (0,)),
    (sp.erfcinv, (np.array([0.1, 0.9, 1.7]),), (0,)),
    (sp.ndtr, (np.array([-5.0, 0.1, 2.0]),), (0,)),
    (sp.log_ndtr, (np.array([-5.0, 0.1, 2.0]),), (0,)),
    (sp.ndtri, (np.array([0.01, 0.4, 0.9]),), (0,)),
    (sp.dawsn, (np.array([-2.0, 0.3, 7.0]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
