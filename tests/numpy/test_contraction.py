"""Products of arrays along axes: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.dot(x, y.T),
    lambda x, y, v, k: np.inner(x, y),
    lambda x, y, v, k: np.outer(v, v),
    lambda x, y, v, k: np.tensordot(x, y, ([0, 1], [0, 1])),
    lambda x, y, v, k: np.vdot(x, y),
    lambda x, y, v, k: np.kron(v, v),
    lambda x, y, v, k: np.matmul(x, y.T),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.tensordot(x, y, 1 if x.shape[1] == y.shape[0] else ([1], [1])),
    lambda x, y: np.kron(x[0], y[:, 0]) * np.inner(x[0], y[1]),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
