"""scipy.optimize's roots of one number: SciPy's by its own names, and their derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.optimize import fixed_point, newton, root_scalar

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])


def anomaly(p: Any) -> Callable[[Any], Any]:
    return lambda x: x - p[0] * np.sin(x) - p[1]


def van_der_waals(p: Any) -> Any:
    """The volume of a gas by the polynomial of pressure and temperature, with both derivatives."""

    def f(v: Any) -> Any:
        return p[0] * v**3 - (p[0] * 0.1 + p[1]) * v**2 + v - 0.1

    def slope(v: Any) -> Any:
        return 3 * p[0] * v**2 - 2 * (p[0] * 0.1 + p[1]) * v + 1

    return newton(f, 1.3, fprime=slope, fprime2=lambda v: 6 * p[0] * v - 2 * (p[0] * 0.1 + p[1]))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "Newton's steps": lambda p: newton(anomaly(p), p[1], fprime=lambda x: 1 - p[0] * np.cos(x)),
    "secants": lambda p: newton(anomaly(p), 0.5),
    "secants of two points": lambda p: newton(lambda x: np.exp(x) - p[1], 0.5, x1=0.7),
    "Halley's steps": van_der_waals,
    "a point": lambda p: root_scalar(lambda x: p[0] * x**2 - p[1], x0=p[1], fprime=lambda x: 2 * p[0] * x).root,
    "a fixed point": lambda p: fixed_point(lambda x: np.cos(x) * p[0] + p[1], 0.5, xtol=1e-12),
    "iterated": lambda p: fixed_point(lambda x: np.cos(x) * p[0] + p[1], 0.5, xtol=1e-12, method="iteration"),
}  # fmt: skip


def test_a_root_of_numbers_alone_is_scipys_own() -> None:

    def f(p: Any) -> Any:
        return p * so.brentq(lambda x: x * x - 2.0, 0.0, 2.0)

    np.testing.assert_array_equal(ps.trace(f, ORBIT)(ORBIT), f(ORBIT))


def test_what_there_is_no_form_of_is_told_at_the_users_line() -> None:
    with pytest.raises(UnsupportedFunction, match="beside the function's value") as caught:
        ps.trace(lambda p: root_scalar(lambda x: (x - p[0], 1.0), x0=p[1], fprime=True).root, ORBIT)
    assert caught.value.place is not None
    assert caught.value.place.filename == __file__


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    check_grads(lambda p: FUNCTIONS[name](p), ORBIT, symbolic=False, value_tolerance=1e-10)
