"""The rule of pooled maxima: shares where maxima are equal, for every count of ties, and in every order."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.tracing.array import Array
from primsplit.transforms.idioms.pool_rule import PooledMax


def pooled(x: Any) -> Any:
    return x.reshape(*x.shape[:-2], x.shape[-2] // 2, 2, x.shape[-1] // 3, 3).max(axis=(-3, -1))


@pytest.mark.parametrize("ties", range(1, 7))
@pytest.mark.parametrize("has_nan", [False, True])
def test_equal_maxima_share_the_cotangent_of_their_window_also_beside_a_nan(ties: int, has_nan: bool) -> None:
    """As many ties as there are NaNs in windows: then there are as many winners as windows."""
    x = np.arange(24.0, dtype=np.float32).reshape(1, 1, 4, 6)
    x[0, 0, :2, :3].flat[:ties] = 100.0
    if has_nan:
        x[0, 0, 2, 4] = np.nan
    made = ps.trace(
        lambda x, dy: ps.vjp(lambda x: PooledMax((2, 3)).call(as_traced(x)), x)[1](dy)[0], x, x[:, :, :2, :2]
    )
    dy = np.array([[[[6.0, 1.0], [1.0, 1.0]]]], np.float32)
    expected = np.zeros_like(x)
    expected[0, 0, :2, :3].flat[:ties] = 6.0 / ties
    expected[0, 0, 1, 5] = expected[0, 0, 3, 2] = 1.0
    expected[0, 0, 3, 5] = 0.0 if has_nan else 1.0
    np.testing.assert_allclose(made(x, dy), expected, rtol=1e-6)


def as_traced(x: Any) -> Array:
    assert isinstance(x, Array)
    return x


def test_the_second_derivative_is_that_of_the_maximum() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    x[1, 2] = x[0, 0] = 7.0

    def f(x: Any) -> Any:
        return np.sum(pooled(x) ** 3)

    found = ps.hessian(f)(x).reshape(6, 6)
    best = np.array([1.0, 0, 0, 0, 0, 1]) / 2
    np.testing.assert_allclose(found, 6 * 7.0 * np.outer(best, best), rtol=1e-6)
    tangent = ps.jvp(f, (x,), (x + 1.0,))[1]
    np.testing.assert_allclose(tangent, 3 * 49.0 * 8.0, rtol=1e-6)
