"""Arrays that are joined and split: NumPy's values, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, check_grads, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.concatenate([x, y], 1),
    lambda x, y, v, k: np.stack([x, y], -1),
    lambda x, y, v, k: np.hstack([v, v]),
    lambda x, y, v, k: np.vstack([x, v]),
    lambda x, y, v, k: np.dstack([x, y]),
    lambda x, y, v, k: np.column_stack([v, v]),
    lambda x, y, v, k: np.append(x, y),
    lambda x, y, v, k: np.delete(x, 1, axis=0),
    lambda x, y, v, k: np.insert(x, 2, v[:3], axis=1),
    lambda x, y, v, k: np.block([[x, y], [y, x]]),
    lambda x, y, v, k: tuple(np.array_split(v, 3)),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)


SMOOTH: list[Callable[..., Any]] = [
    lambda x, y: np.concatenate([x, y * x]) @ np.arange(4.0),
    lambda x, y: np.insert(x, 1, y[0], axis=0) * 2.0,
    lambda x, y: np.multiply(*np.split(np.stack([x, y]), 2)),
]


@pytest.mark.parametrize("place", range(len(SMOOTH)))
def test_gradients_are_those_of_central_differences(place: int) -> None:
    check_grads(SMOOTH[place], X, Y, symbolic=False)
