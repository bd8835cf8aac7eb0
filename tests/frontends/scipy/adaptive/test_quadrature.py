"""scipy.integrate's integrals of functions of traced values: SciPy's values, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, fixed_quad, nquad, quad, quad_vec, tplquad

import primsplit as ps
from primsplit.testing import check_grads

P = np.array([1.3, 1.1])

INTEGRALS: dict[str, Callable[[Any], Any]] = {
    "between numbers": lambda p: quad(lambda x: np.exp(-p[0] * x * x) * np.cos(p[1] * x), 0, 2)[0],
    "between traced ends": lambda p: quad(lambda x: np.sin(p[0] * x) * x, p[1], 2 * p[0])[0],
    "with arguments": lambda p: quad(lambda x, a: np.exp(-a * x), 0.0, 1.0, args=(p[0],))[0] * p[1],
    "to infinity": lambda p: quad(lambda x: np.exp(-p[0] * x), p[1], np.inf)[0],
    "from infinity": lambda p: quad(lambda x: np.exp(p[0] * x), -np.inf, p[1])[0],
    "of the whole line": lambda p: quad(lambda x: np.exp(-p[0] * x * x) * np.cos(p[1] * x), -np.inf, np.inf)[0],
    "of the whole line backwards": lambda p: quad(lambda x: np.exp(-p[0] * x * x) * p[1], np.inf, -np.inf)[0],
    "by a rule": lambda p: fixed_quad(lambda x, a: np.sin(a * x) * p[1], p[1], 2.0, (p[0],), n=7)[0],
    "of rows by a rule": lambda p: fixed_quad(lambda x: np.cos(np.outer(p, x)), 0, 1)[0],
    "of a vector": lambda p: quad_vec(lambda x: np.sin(p * x) / (1 + x), p[1], 1)[0],
    "of a matrix": lambda p: quad_vec(lambda x, a: np.outer(np.exp(-a * x * x), a), -np.inf, p[0], args=(p,))[0],
    "of a vector on the whole line": lambda p: quad_vec(lambda x: np.exp(-p * x * x), -np.inf, np.inf, norm="max")[0],
    "of a vector without an integral": lambda p: quad_vec(lambda x: p * np.sin(x), -1, 1)[0] + p,
    "of a root": lambda p: quad(lambda x: np.sqrt(x) * p[0] / (1 + p[1] * x), 0, 3)[0],
    "of a peak": lambda p: quad(lambda x: 1 / (1e-4 + (x - p[0] * 0.3) ** 2) * p[1] / 300, 0, 1)[0],
    "of a branch": lambda p: quad(lambda x: p[0] * x if x < 0.5 else p[1], 0, 1)[0],
    "of an area": lambda p: dblquad(lambda y, x: np.exp(-p[0] * x * y), 0, p[1], 0, lambda x: x)[0],
    "of a volume": lambda p: tplquad(lambda z, y, x, a: a * x * z + y, 0, 1, 0, 1, 0, lambda x, y: y, (p[0],))[0],
    "over ranges": lambda p: nquad(
        lambda y, x, a: np.cos(a * x * y), [lambda x, a: (0, a * x), (0, p[1])], (p[0],), {"epsrel": 1e-10}
    )[0],
}


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", INTEGRALS)
def test_an_integral_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    function = INTEGRALS[name]
    check_grads(lambda p: function(p), P, symbolic=False, value_tolerance=1e-9)


def test_an_integral_over_an_area_has_first_and_second_derivatives_at_every_size() -> None:
    def f(p: Any) -> Any:
        return p * dblquad(lambda y, x: np.exp(-p[0] * x * y), 0, p[-1], 0, lambda x: x)[0]

    check_grads(f, P, value_tolerance=1e-8)


def test_an_estimate_of_the_error_is_beside_the_integral() -> None:

    def f(p: Any) -> Any:
        return quad(lambda x: np.exp(-p[0] * x), 0, 1)[1]

    assert 0 < ps.trace(f, P)(P) < 1e-12
