"""Complete elliptic integrals: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.ellipk, (np.array([-3.0, 0.0, 0.3, 0.9]),), (0,)),
    (sp.ellipe, (np.array([-3.0, 0.1, 0.3, 0.9]),), (0,)),
    (sp.ellipkm1, (np.array([0.01, 0.3, 1.5]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
