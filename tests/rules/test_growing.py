"""Loops whose carries grow from step to step: a Loop goes back, which cuts off what was appended or runs again."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.rules.checks import slopes


def appended(x: Any, n: Any) -> Any:
    """Each step appends the sum of what is there, squared."""
    whole = ps.fori_loop(0, n, lambda i, c: np.concatenate([c, np.sin(c.sum() * x[:1])]), x)
    return (whole**2).sum()


def rescaled(x: Any, n: Any) -> Any:
    """Each step changes what is there, too: nothing can be cut off."""
    whole = ps.fori_loop(0, n, lambda i, c: np.concatenate([c * 1.5, np.sin(c[:1] * x[1])]), x)
    return (whole**3).sum()


def by_hand(name: str, x: np.ndarray, n: int) -> Any:
    c = x
    for _ in range(n):
        if name == "appended":
            c = np.concatenate([c, np.sin(c.sum() * x[:1])])
        else:
            c = np.concatenate([c * 1.5, np.sin(c[:1] * x[1])])
    return (c**2).sum() if name == "appended" else (c**3).sum()


@pytest.mark.parametrize("function", [appended, rescaled])
@pytest.mark.parametrize("n", [0, 1, 3])
def test_the_gradient_is_that_of_differences_for_any_number_of_steps(function: Any, n: int) -> None:
    x = np.array([0.4, -0.3])
    made = ps.split(function, ps.spec("float64", [2]), ps.spec("int64", []), wrt=0).joint()
    value, gradient = made(x, np.int64(n))
    np.testing.assert_allclose(value, by_hand(function.__name__, x, n))
    np.testing.assert_allclose(gradient, slopes(lambda x: by_hand(function.__name__, x, n), x), rtol=1e-6, atol=1e-9)
