"""Poolings in float64, written as sums over strided slices."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from tests.rewrites.decompositions.reference import check, numbers

X = numbers(2, 3, 7, 6)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 2]},
        {"kernel_shape": [3, 2], "strides": [2, 3]},
        {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "strides": [2, 2]},
        {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "count_include_pad": 1},
        {"kernel_shape": [2, 2], "dilations": [2, 3]},
        {"kernel_shape": [2, 3], "strides": [2, 2], "ceil_mode": 1},
        {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]},
    ],
    ids=str,
)
def test_an_average_is_that_of_the_elements_of_its_window(attributes: dict[str, Any], symbolic: bool) -> None:
    check("AveragePool", X, symbolic=symbolic, **attributes)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_norm_is_that_of_its_window(p: int) -> None:
    found = ps.trace(lambda x: op.LpPool(x, kernel_shape=[3, 2], p=p, pads=[1, 0, 0, 1]), X)(X)
    padded = np.pad(X, [(0, 0), (0, 0), (1, 0), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))
    np.testing.assert_allclose(found, (np.abs(windows) ** p).sum((-1, -2)) ** (1 / p), rtol=1e-12)


@pytest.mark.parametrize("kind", ["GlobalAveragePool", "GlobalMaxPool"])
def test_a_whole_channel_is_one_window(kind: str) -> None:
    check(kind, X)
