"""scipy.optimize's roots of several equations: SciPy's by its own names, and their derivatives."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve, root

import primsplit as ps
from primsplit.testing import check_grads

ORBIT = np.array([0.3, 1.1])


def circles(v: Any, p: Any) -> Any:
    return [v[0] ** 2 + v[1] ** 2 - p[0] - 2, v[0] - p[1] * v[1]]


def told_roots(p: Any) -> Any:
    x, told, flag, _ = fsolve(circles, [1.0, 1.0], args=(p,), full_output=True)
    return x + np.sum(told["fvec"]) + flag


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "two equations": lambda p: fsolve(circles, [1.0, 1.0], args=(p,), xtol=1e-13),
    "what is found beside two equations": lambda p: told_roots(p),
    "two equations by root": lambda p: root(lambda v: np.array(circles(v, p)), [1.0, 1.0], tol=1e-13).x,
    "a number by root": lambda p: root(lambda x: x**3 - p[1], 1.0, method="lm", tol=1e-13).x,
}  # fmt: skip


def test_a_file_finds_the_roots_of_any_number_of_equations() -> None:

    def f(a: Any) -> Any:
        return fsolve(lambda v: v + 0.3 * np.sin(v[::-1]) - a, np.zeros(a.shape[0]))

    program = ps.trace(f, ps.spec("float64", ["N"]))
    for count in (1, 4):
        a = np.linspace(0.2, 1.0, count)
        np.testing.assert_allclose(program(a), f(a), rtol=1e-7)


def test_nothing_is_printed_of_what_a_function_is_run_again_for(capfd: pytest.CaptureFixture[str]) -> None:
    """SciPy's extension prints what its function raises, and raises another error."""
    hook = sys.excepthook
    slope = ps.grad(lambda p: np.sum(fsolve(lambda x: x**3 + p * x - 1.0, 0.5)))(1.0)
    x = fsolve(lambda x: x**3 + x - 1.0, 0.5)[0]
    np.testing.assert_allclose(slope, -x / (3 * x**2 + 1), rtol=1e-9)
    assert capfd.readouterr().err == ""
    assert sys.excepthook is hook


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_root_is_scipys_with_first_and_second_derivatives(name: str) -> None:
    check_grads(lambda p: FUNCTIONS[name](p), ORBIT, symbolic=False, value_tolerance=1e-10)
