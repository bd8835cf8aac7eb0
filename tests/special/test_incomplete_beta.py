"""The incomplete beta function and its inverse: SciPy's values, and slopes that are those of differences."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special as sp

import primsplit as ps
from tests.special.agreement import check

ROWS: list[tuple[Any, tuple[Any, ...], tuple[int, ...]]] = [
    (sp.betainc, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
    (sp.betaincc, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
    (sp.betaincinv, (np.array([0.5, 3.0, 20.0]), np.array([1.5, 4.0, 15.0]), np.array([0.3, 0.4, 0.6])), (0, 1, 2)),
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize(("function", "args", "wrt"), ROWS, ids=lambda v: getattr(v, "__name__", ""))
def test_values_are_scipys_and_slopes_those_of_differences(function: Any, args: Any, wrt: tuple[int, ...]) -> None:
    check(function, *args, wrt=wrt)


@pytest.mark.slow
def test_one_shape_may_be_much_larger_than_the_other() -> None:
    """I_x(2, b) is 1 - (1 - x)**b (1 + b x)."""
    z = np.array([0.1, 1.0, 3.0, 20.0])
    b = np.array([[1e3], [1e6], [1e9], [1e12], [1e15]])
    x = z / b
    rest = np.exp(b * np.log1p(-x)) * (1 + z)
    density = z * (b + 1) * np.exp((b - 1) * np.log1p(-x))

    np.testing.assert_allclose(ps.trace(lambda x: sp.betaincc(2.0, b, x), x)(x), rest, rtol=1e-11)
    np.testing.assert_allclose(ps.trace(lambda x: sp.betainc(2.0, b, x), x)(x), 1 - rest, rtol=1e-11)
    np.testing.assert_allclose(ps.grad(lambda x: np.sum(sp.betainc(2.0, b, x)))(x), density, rtol=1e-11)
    in_b = ps.grad(lambda b: np.sum(sp.betainc(2.0, b, x)))(b)
    wanted = -np.sum(np.log1p(-x) * rest + x * rest / (1 + z), axis=1, keepdims=True)
    np.testing.assert_allclose(in_b, wanted, rtol=1e-11)


def slope_of_upper(a: float, b: float, x: float) -> float:
    """The slope of the regularized function by a, to 60 digits."""
    with mpmath.workdps(60):
        ends = [
            mpmath.betainc(b, a * (1 + sign * mpmath.mpf(10) ** -15), 0, 1 - mpmath.mpf(x), regularized=True)
            for sign in (-1, 1)
        ]
        return float((ends[0] - ends[1]) / (2 * mpmath.mpf(a) * mpmath.mpf(10) ** -15))


def test_slopes_by_a_large_shape_beside_a_tiny_one() -> None:
    a, b, x = np.array([(1e9, 1e-5, 1 - 1e-9), (1e4, 1e-5, 1 - 1e-4), (1e9, 1e-5, 1 - 1e-10)]).T
    wanted = [slope_of_upper(*map(float, case)) for case in zip(a, b, x, strict=True)]
    np.testing.assert_allclose(ps.grad(lambda a: np.sum(sp.betainc(a, b, x)))(a), wanted, rtol=1e-8)
