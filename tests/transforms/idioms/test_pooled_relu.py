"""The maxima of windows of max(x, 0): where the Relu goes, and that the numbers are the same."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.ops.inference import check_types
from primsplit.transforms.idioms.pooled_relu import pool_before_relu
from tests.recording import kinds, record

OVERLAPPING = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
TILES = {"kernel_shape": [2, 2], "strides": [2, 2]}


@pytest.mark.parametrize("windows", [OVERLAPPING, TILES])
def test_a_relu_that_only_a_pooling_reads_comes_after_it(windows: Any) -> None:
    block = pool_before_relu(record(lambda x: op.Neg(op.MaxPool(op.Relu(x), **windows)), "float32[N,3,8,8]"))
    check_types(block)
    assert kinds(block) == ["MaxPool", "Relu", "Neg"]


def _read_twice(x: Any) -> Any:
    y = op.Relu(x)
    return op.MaxPool(y, **TILES), y


def _with_indices(x: Any) -> Any:
    return tuple(op.MaxPool(op.Relu(x), outputs=2, **TILES))


@pytest.mark.parametrize("function", [_read_twice, _with_indices])
def test_a_relu_whose_numbers_are_asked_for_stays(function: Any) -> None:
    block = record(lambda x: function(x), "float32[2,3,8,8]")
    assert pool_before_relu(block) is block


@pytest.mark.parametrize("windows", [OVERLAPPING, TILES])
def test_the_gradient_is_that_of_the_pooling_of_the_relu(windows: Any) -> None:
    """With ties and windows of zeros alone; what keeps the Relu where it is is that it is read twice."""
    random = np.random.default_rng(0)
    x = random.integers(-4, 3, (2, 3, 8, 8)).astype(np.float32)
    weights = random.standard_normal((2, 3, 4, 4)).astype(np.float32)

    def swapped(x: Any) -> Any:
        return np.sum(op.MaxPool(op.Relu(x), **windows) * weights)

    def left(x: Any) -> Any:
        y = op.Relu(x)
        return np.sum(op.MaxPool(y, **windows) * weights) + np.sum(ps.stop_gradient(y))

    assert np.array_equal(ps.trace(ps.grad(swapped), x)(x), ps.trace(ps.grad(left), x)(x))
