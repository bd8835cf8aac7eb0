"""Functions of `math` and `cmath` by their names, on elements of arrays of any size: first and second derivatives."""

import cmath
import math
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.testing import check_grads

X = np.array([0.6, -0.3, 1.4])
BEYOND_ONE = X + 1.0
SMOOTH = (
    "acos", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "degrees", "erf", "erfc", "exp", "exp2", "expm1",
    "fabs", "gamma", "lgamma", "log", "log10", "log1p", "log2", "radians", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
QUESTIONS = ("isfinite", "isinf", "isnan")


@pytest.mark.parametrize("name", [n for n in SMOOTH if hasattr(math, n)])
def test_a_function_of_math_has_its_derivatives(name: str) -> None:
    check_grads(lambda x: x * getattr(math, name)(x[0]), X, order=1)


def test_functions_of_two_numbers_and_of_those_above_one_have_their_derivatives() -> None:
    check_grads(lambda x: x * math.acosh(x[0]), BEYOND_ONE)
    check_grads(lambda x: x * (math.fmod(x[0], 0.4 * x[-1]) + math.fmod(-3 * x[-1], 0.7)), BEYOND_ONE)


def test_functions_of_two_numbers_have_their_derivatives() -> None:
    def f(x: Any) -> Any:
        a, b = x[0], x[-1] ** 2 + 0.3
        powers = math.pow(b, a) + math.hypot(a, b) + math.dist([a, b], [1.0, a * b]) + math.ldexp(a, 2)
        rests = math.atan2(a, b) + math.copysign(b, a) + math.remainder(b, 0.7) + math.modf(b + 3)[0]
        return x * (powers + rests + math.fsum([a, b, 1.0]) * math.prod([a, b]))

    check_grads(f, X)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_answered_as_by_python(name: str) -> None:
    def f(x: Any) -> Any:
        return x[-1] * getattr(math, name)(x[0]), getattr(cmath, name)(x[0] + 1j * x[-1])

    program = ps.trace(f, ps.spec("float64", ["N"]))
    for first in (0.6, np.inf, -np.inf, np.nan):
        x = np.array([first, 2.0])
        for found, wanted in zip(program(x), f(x), strict=True):
            np.testing.assert_array_equal(found, wanted)


def logarithm_to_a_base(x: Any) -> Any:
    try:
        return math.log(2.0, x)
    except (ValueError, ZeroDivisionError):
        return 77.0


def gamma_of_a_small_number(x: Any) -> Any:
    try:
        return math.gamma(x)
    except (ValueError, OverflowError):
        return 77.0


def logarithm_of_gamma(x: Any) -> Any:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return 77.0


@pytest.mark.parametrize(
    "function", [logarithm_to_a_base, gamma_of_a_small_number, logarithm_of_gamma], ids=lambda f: f.__name__
)
def test_an_error_that_the_function_catches_is_a_path(function: Any) -> None:
    program = ps.trace(function, 2.5)
    for x in (0.0, 1.0, -1.0, 2.0, 1e-320, 5.57e-309, -1e-310, 172.0, math.inf, -math.inf, math.nan):
        np.testing.assert_allclose(program(x), function(x), rtol=1e-9)


def test_a_negative_power_of_a_python_integer_is_a_float() -> None:
    def function(x: Any) -> Any:
        try:
            return int(x) ** -2
        except ZeroDivisionError:
            return 77.0

    for x in (2.5, -3.0, 0.0):
        np.testing.assert_allclose(ps.trace(function, 2.5)(x), function(x), rtol=1e-15)
