"""Diagonals and triangles: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.diagonal(x, 1),
    lambda x, y, v, k: np.trace(x, -1),
    lambda x, y, v, k: np.diag(v),
    lambda x, y, v, k: np.diagflat(v, 1),
    lambda x, y, v, k: np.triu(x, 1),
    lambda x, y, v, k: np.tril(x, -1),
    lambda x, y, v, k: np.diag(x, -1),
    lambda x, y, v, k: np.stack(np.triu_indices_from(x[:, :3])),
    lambda x, y, v, k: np.diagonal(np.stack([x, y]), axis1=1, axis2=2),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.diag(x[0], 1) @ np.ones(5) * np.trace(y),
    lambda x, y: np.triu(x) * np.tril(y, 1) + np.diagonal(x[:, :3]).sum(),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
