"""`vjp` on arrays: a pullback that stays the same whatever is written to afterwards."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import SpecError

X, V = np.array([1.0, 2.0]), np.array([1.0, 0.0])


def product_and_power(x: Any, y: Any) -> Any:
    return np.exp(x) * y, np.exp(y)


@pytest.mark.parametrize("size", [2, 100_000])
def test_what_is_made_at_a_point_stays_when_its_arrays_are_written_to(size: int) -> None:
    """As a step of gradient descent does, `x -= rate * gradient`; the value may be written to as well."""
    x, y, ones = np.linspace(0.5, 1.0, size), np.linspace(1.0, 2.0, size), np.ones(size)
    slopes = np.exp(x) * y, np.exp(x), np.exp(y)
    for make in (ps.vjp, ps.linearize):
        given = x.copy(), {"y": y.copy()}
        value, derivative = make(lambda x, p: product_and_power(x, p["y"]), *given)
        for array in (given[0], given[1]["y"], *value):
            array[:] = 7.0
        if make is ps.vjp:
            by_x, by_y = derivative((ones, ones))
            np.testing.assert_allclose(by_x, slopes[0])
            np.testing.assert_allclose(by_y["y"], slopes[1] + slopes[2])
        else:
            np.testing.assert_allclose(derivative(ones, {"y": ones})[0], slopes[0] + slopes[1])


def test_a_pullback_is_that_of_what_the_function_read() -> None:
    weights = np.array([1.0, 2.0])
    value, pullback = ps.vjp(lambda x: np.sum(weights * x * x), X)
    first = pullback(1.0)[0]
    weights[:] = 5.0
    np.testing.assert_allclose((value, *pullback(1.0)[0]), (9.0, 2.0, 8.0))
    np.testing.assert_allclose(pullback(np.array(2.0))[0], 2.0 * first)
    np.testing.assert_allclose(pullback(2.0, out=(np.empty(2),))[0], 2.0 * first)
    with pytest.raises(SpecError, match="reads has changed since the pullback was made"):
        pullback(None)
    with pytest.raises(SpecError, match="reads has changed since the pullback was made"):
        ps.grad(lambda c: pullback(c)[0][0])(1.0)


def test_a_pullback_of_what_counts_its_calls_is_called_again_and_again() -> None:
    class Counting:
        calls = 0

        def __call__(self, x: Any) -> Any:
            self.calls += 1
            return np.sum(x * x)

    counting = Counting()
    for _ in range(2):
        _, pullback = ps.vjp(counting, X)
        for scale in (1.0, 3.0):
            np.testing.assert_allclose(pullback(scale)[0], 2.0 * scale * X)
