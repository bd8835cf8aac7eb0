"""Student's distribution: SciPy's values, and slopes that are those of differences."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.stdtr, (np.array([1.5, 3.0, 40.0]), np.array([-2.0, 0.3, 1.7])), (0, 1)),
    (sp.stdtrit, (np.array([1.5, 3.0, 40.0]), np.array([0.1, 0.5, 0.9])), (1,)),
]


@pytest.mark.sweep(2)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


@pytest.mark.slow
def test_the_slope_of_a_quantile_in_the_degrees_of_freedom_is_that_of_differences() -> None:
    check(sp.stdtrit, np.array([1.5, 3.0, 40.0]), np.array([0.1, 0.5, 0.9]), wrt=(0,))


def test_missing_degrees_of_freedom_are_not_lost() -> None:
    check(sp.stdtr, np.array([np.nan, np.nan, np.nan, 2.0]), np.array([-np.inf, np.inf, 1.0, np.inf]), wrt=())


@pytest.mark.slow
def test_slopes_by_the_degrees_of_freedom_are_accurate_beside_zero() -> None:
    places = np.array([1e-20, -1e-9, 1e-3, 0.7, -0.72, 20.0])

    def above_half(df: Any, t: float) -> Any:
        scale = mpmath.gamma((df + 1) / 2) / (mpmath.sqrt(mpmath.pi * df) * mpmath.gamma(df / 2))
        return t * scale * mpmath.hyp2f1(0.5, (df + 1) / 2, 1.5, -t * mpmath.mpf(t) / df)

    with mpmath.workdps(60):
        first, second = (
            [float(mpmath.diff(lambda df, t=t: above_half(df, t), mpmath.mpf(3), n)) for t in places] for n in (1, 2)
        )
    slope = ps.grad(lambda df: np.sum(sp.stdtr(df, places)))
    threes = np.full(6, 3.0)
    np.testing.assert_allclose(slope(threes), first, rtol=1e-10)
    np.testing.assert_allclose(ps.grad(lambda df: np.sum(slope(df)))(threes), second, rtol=1e-9)
