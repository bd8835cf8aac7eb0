"""What is largest is found among numbers of 16 bits too, which onnxruntime rounds for some readers, for others not."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

PADDED: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
TILES: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
LARGEST: dict[str, Callable[[Any], Any]] = {
    "a pooling whose windows overlap": lambda x: op.MaxPool(op.Tanh(x), **PADDED),
    "a pooling whose windows do not": lambda x: op.MaxPool(op.Sin(x), **TILES),
    "of every picture": lambda x: op.GlobalMaxPool(op.Sin(x)),
    "along axes": lambda x: op.ReduceMax(op.Sin(x), [2, 3], keepdims=0),
    "the least along axes": lambda x: op.ReduceMin(op.Tanh(x), [1], keepdims=1),
    "of two": lambda x: op.Max(op.Sin(x), op.Cos(x)),
    "of three": lambda x: op.Max(op.Sin(x), op.Cos(x), op.Tanh(x)),
    "the least of three": lambda x: op.Min(op.Sin(x), op.Cos(x), op.Tanh(x)),
    "into an array": lambda x: op.ScatterElements(
        op.Sin(x), np.zeros((2, 4, 1, 8), np.int64), op.Slice(x, [0], [1], [2]), axis=2, reduction="max"
    ),
}


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)], ids=str)
@pytest.mark.parametrize("function", LARGEST.values(), ids=list(LARGEST))
def test_the_largest_of_rounded_numbers_gets_the_gradient(function: Callable[[Any], Any], dtype: Any) -> None:
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 8)).astype(dtype)
    found, expected = (
        ps.split(function, ps.spec(kind, ["N", 4, 8, 8]), seed="ones").joint()(x.astype(kind))[-1].astype(np.float64)
        for kind in (dtype, np.dtype(np.float32))
    )
    same = np.vdot(found, expected) / np.linalg.norm(found) / np.linalg.norm(expected)
    assert same > 0.98
