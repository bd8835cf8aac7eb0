"""Questions about arrays that need no run: NumPy's values."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy.agreement import check_agrees, gapped

X, Y, V = gapped(3, 4), gapped(3, 4, seed=7) * 1.3, gapped(4, seed=5)
WHOLE = np.arange(12).reshape(3, 4) - 3

VALUES: list[Callable[..., Any]] = [
    lambda x, y, v, k: np.shape(x),
    lambda x, y, v, k: np.ndim(x),
    lambda x, y, v, k: np.size(x),
    lambda x, y, v, k: np.size(x, 1),
    lambda x, y, v, k: np.iscomplexobj(x),
    lambda x, y, v, k: np.isrealobj(x),
]


@pytest.mark.parametrize("place", range(len(VALUES)))
def test_values_shapes_and_dtypes_are_numpys(place: int) -> None:
    check_agrees(VALUES[place], X, Y, V, WHOLE, symbolic=False)
