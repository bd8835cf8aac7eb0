"""The slope of a written-out logistic function where its parts overflow, and in its tails."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(("dtype", "far"), [("float16", 20.0), ("float32", 100.0), ("float64", 800.0)])
def test_the_gradient_is_zero_where_an_exponential_overflows(dtype: str, far: float) -> None:
    x = np.array([-far, 0.0, far], dtype)
    value, slope = ps.split(lambda x: np.sum(logistic(x)), ps.spec(dtype, ["N"])).joint()(x)
    np.testing.assert_allclose(value, 1.5)
    np.testing.assert_allclose(slope, [0.0, 0.25, 0.0], atol=1e-40)
    np.testing.assert_allclose(ps.grad(lambda x: ps.grad(lambda x: np.sum(logistic(x)))(x).sum())(x), 0)


def test_both_tails_are_right_to_a_rounding() -> None:
    x = np.array([-30.0, -10.0, 10.0, 30.0])
    slope = ps.split(lambda x: np.sum(logistic(x)), ps.spec("float64", ["N"])).joint()(x)[1]
    np.testing.assert_allclose(slope, np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))) ** 2, rtol=1e-14)


def test_the_value_is_what_was_written() -> None:
    x = np.linspace(-40.0, 40.0, 1001)
    made = ps.split(logistic, ps.spec("float64", ["N"]))
    np.testing.assert_array_equal(made.forward(x)[0], ps.trace(logistic, ps.spec("float64", ["N"]))(x))
