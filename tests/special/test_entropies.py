"""Entropies and divergences: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.entr, (np.array([0.2, 1.0, 3.0]),), (0,)),
    (sp.rel_entr, (np.array([0.2, 1.0, 3.0]), np.array([0.5, 2.0, 0.7])), (0, 1)),
    (sp.kl_div, (np.array([0.2, 1.5, 3.0]), np.array([0.5, 2.0, 0.7])), (0, 1)),
    (sp.xlogy, (np.array([0.2, 1.5, 3.0]), np.array([0.5, 2.0, 0.7])), (0, 1)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)
