"""The zeta functions and Lambert's: SciPy's values, and slopes that are those of differences."""

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.zeta, (np.array([1.5, 2.0, 7.0]), np.array([0.5, 1.0, 3.0])), (0, 1)),
    (sp.spence, (np.array([0.3, 1.5, 4.0]),), (0,)),
]


@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


def test_zeta_keeps_its_digits_just_below_0() -> None:
    x, step = np.array([-0.1, -0.06, -0.04, -1e-3, -1e-6, -1e-9, -1e-12, -1e-320]), 1e-5
    np.testing.assert_allclose(ps.trace(sp.zeta, x)(x), sp.zeta(x), rtol=1e-13)
    difference = (sp.zeta(x + step) - sp.zeta(x - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(sp.zeta(x)))(x), difference, rtol=1e-7)


def test_zeta_far_below_0_is_scipys_where_gamma_alone_overflows() -> None:
    x, step = np.array([-30.5, -168.5, -175.3, -200.5, -240.1, -259.9, -262.0, -1000.0]), 1e-5
    np.testing.assert_allclose(ps.trace(sp.zeta, x)(x), sp.zeta(x), rtol=2e-13)
    x = x[:5]
    difference = (sp.zeta(x + step) - sp.zeta(x - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(sp.zeta(x)))(x), difference, rtol=1e-7)


def test_hurwitz_zeta_has_no_slope_of_0_at_its_poles() -> None:
    q = np.array([-7.0, -1.0, 0.0])
    assert not np.isfinite(ps.grad(lambda q: np.sum(sp.zeta(2.5, q)))(q)).any()
