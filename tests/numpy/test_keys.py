"""Keys of indexing: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: x[1],
    lambda x, y, v, k: x[:, -1],
    lambda x, y, v, k: x[::-1, 1:3],
    lambda x, y, v, k: x[..., None, 0],
    lambda x, y, v, k: x[[2, 0]],
    lambda x, y, v, k: x[[0, 1], [1, 2]],
    lambda x, y, v, k: x[x > 0],
    lambda x, y, v, k: x[1, [0, 2]],
    lambda x, y, v, k: x[np.ix_([0, 2], [1, 3])],
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: x[[2, 0], 1:3] * y[::2, [0, 3]],
    lambda x, y: x[1:, None, ::2] + y[np.array([0, 1]), None][..., :2],
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)


def last_or_half(x: Any) -> Any:
    try:
        return x[-1] ** 2
    except IndexError:
        return 0.5


def third_column(x: Any) -> Any:
    try:
        return x[:2, 2].sum()
    except LookupError:
        return -x.sum()


def several(x: Any) -> Any:
    try:
        return x[[0, 4]].sum()
    except IndexError:
        return 1.5 * x.sum()


def taken(x: Any) -> Any:
    try:
        return np.take(x, 4)
    except IndexError:
        return 1.5 * x.sum()


def stored(x: Any) -> Any:
    y = np.zeros(x.shape[0])
    try:
        y[3] = 2.0 * x[0]
    except IndexError:
        return 7 * x.sum()
    return y.sum()


@pytest.mark.parametrize("function", [last_or_half, third_column, several, taken, stored])
def test_a_known_index_beyond_a_symbolic_size_is_caught(function: Any) -> None:
    sizes = ["n", "m"] if function is third_column else ["n"]
    program = ps.trace(function, ps.spec("float64", sizes))
    for size in (0, 1, 2, 3, 4, 6):
        x = np.arange(1.0, 2 * size + 1).reshape(2, size) if len(sizes) == 2 else np.arange(1.0, size + 1)
        np.testing.assert_allclose(program(x), function(x))
