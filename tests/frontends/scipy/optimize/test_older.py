"""scipy.optimize's older functions for minima: right to rounding, and so are their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

from primsplit.testing import check_grads
from tests.frontends.scipy.optimize.exact import check_exact

P = np.array([1.0, 2.0])

CONVEX = np.array([[2.0, 0.3], [0.3, 1.0]])


def quadratic(x: Any, p: Any) -> Any:
    return x @ CONVEX @ x / 2 - np.sum(p * x)


EXACT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Any]] = {
    "fmin_bfgs with a gradient": (
        lambda p: so.fmin_bfgs(lambda x: quadratic(x, p), np.ones(2), lambda x: CONVEX @ x - p, disp=0),
        lambda p: np.linalg.solve(CONVEX, p),
        P,
    ),
    "fmin_l_bfgs_b": (
        lambda p: so.fmin_l_bfgs_b(
            lambda x, p: (quadratic(x, p), CONVEX @ x - p), np.zeros(2), args=(p,), bounds=[(0, 0.5), (None, None)]
        )[0],
        lambda p: np.stack([0.5 + 0 * p[0], p[1] - 0.15]),
        P + np.array([4.0, 0.0]),
    ),
    "fminbound": (lambda p: so.fminbound(lambda t, a: np.cosh(t - a), 0, 5, (p[0],)), lambda p: p[0], P),
    "brent": (lambda p: so.brent(lambda t, a: np.cosh(t - a), (p[1],), (0, 1)), lambda p: p[1], P),
    "golden": (lambda p: so.golden(lambda t: np.cosh(t - p[1])), lambda p: p[1], P),
}  # fmt: skip


@pytest.mark.slow
def test_second_derivatives_by_older_functions_are_right() -> None:
    def line(t: Any, a: Any) -> Any:
        return (t - a) ** 2 + np.exp(0.5 * t)

    def bottoms(p: Any) -> Any:
        a, start = np.sin(p), np.zeros(2)
        found = [search(quadratic, start, args=(a,), disp=0) for search in (so.fmin, so.fmin_cg, so.fmin_bfgs)]
        found.append(so.fmin_powell(quadratic, start, args=(a,), disp=0))
        found.append(so.fmin_l_bfgs_b(quadratic, start, args=(a,), approx_grad=True, bounds=[(None, 0.1), (-1, 5)])[0])
        lines = [so.fminbound(line, -4, 4, (a[0],)), so.brent(line, (a[1],)), so.golden(line, (a[0],), (-1, 0))]
        return [quadratic(x, a) for x in found] + [line(t, a[i]) for t, i in zip(lines, (0, 1, 0), strict=True)]

    check_grads(bottoms, P, value_tolerance=1e-7, symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", EXACT)
def test_a_minimum_is_right_to_rounding_and_so_are_its_derivatives(name: str) -> None:
    check_exact(*EXACT[name])
