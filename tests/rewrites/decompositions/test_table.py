"""The table says which ops onnxruntime or onnx reads otherwise than the standard, and computes 16 bits in 32."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.rewrites.decompositions.table import CORRECTED, HALVES, MENDED, is_odd, through_float32
from tests.recording import record

Function = Callable[[Any], Any]
KERNEL = np.ones((2, 2, 3, 3), np.float32)
PAIRS: dict[str, tuple[Function, Function, str]] = {
    "STFT, which is one-sided by default": (
        lambda x: op.STFT(x, 2, None, 4, onesided=1),
        lambda x: op.STFT(x, 2, None, 4),
        "float32[1,8,1]",
    ),
    "Pad of all axes, and of some": (
        lambda x: op.Pad(x, [0, 0, 1, 0]),
        lambda x: op.Pad(x, [0, 1], None, [0]),
        "float32[2,3]",
    ),
    "unique elements, and rows that may be empty": (
        lambda x: op.Unique(x[:, :0], outputs=1),
        lambda x: op.Unique(x[:, :0], axis=0, outputs=1),
        "float32[2,3]",
    ),
    "pads of a convolution, and negative ones": (
        lambda x: op.Conv(x, KERNEL, pads=[1, 1, 1, 1]),
        lambda x: op.Conv(x, KERNEL, pads=[1, 1, -1, 1]),
        "float32[1,2,6,6]",
    ),
    "windows of two axes, and dilated ones of one": (
        lambda x: op.Col2Im(x, [7, 1], [3, 1], dilations=[2, 1]),
        lambda x: op.Col2Im(x, [7], [3], dilations=[2]),
        "float32[1,6,3]",
    ),
    "windows of one axis, and dilated ones": (
        lambda x: op.Col2Im(x, [5], [3], dilations=[1]),
        lambda x: op.Col2Im(x, [7], [3], dilations=[2]),
        "float32[1,6,3]",
    ),
    "places of maxima, and with a shape": (
        lambda x: op.MaxUnpool(x, np.zeros((1, 1, 2, 2), np.int64), kernel_shape=[2, 2], strides=[2, 2]),
        lambda x: op.MaxUnpool(x, np.zeros((1, 1, 2, 2), np.int64), [1, 1, 5, 5], kernel_shape=[2, 2], strides=[2, 2]),
        "float32[1,1,2,2]",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_an_op_is_odd_by_its_attributes_and_inputs(name: str) -> None:
    plain, odd, spec = PAIRS[name]
    assert not is_odd(record(lambda x: plain(x), spec).ops[-1])
    assert is_odd(record(lambda x: odd(x), spec).ops[-1])


def test_an_axis_that_may_be_empty_makes_rows_odd_and_their_number_not() -> None:
    def unique(spec: str) -> bool:
        return is_odd(record(lambda x: op.Unique(x, axis=-2, outputs=1), spec).ops[-1])

    assert unique("float32[2,N]")
    assert not unique("float32[N,2]")


@pytest.mark.parametrize("dtype", sorted(HALVES))
def test_an_operator_of_16_bits_is_rounded_once(dtype: str) -> None:
    half = np.dtype(getattr(ml_dtypes, dtype, dtype))
    x = np.random.default_rng(0).standard_normal((64,)).astype(half)
    places, zeros = np.zeros((64, 1), np.int64), np.zeros(1, half)

    def summed(x: Any) -> Any:
        return through_float32("ScatterND")(op.Identity(zeros), op.Identity(places), x, reduction="add")

    (found,) = ps.trace(summed, x)(x)
    assert found.dtype == half
    np.testing.assert_array_equal(found, x.astype(np.float32).sum(keepdims=True, dtype=np.float64).astype(half))


def test_every_output_has_the_dtype_that_is_asked_for() -> None:
    x = np.array([3.0, 1.0, 2.0], np.float16)

    def largest(x: Any) -> Any:
        return through_float32("TopK", (np.dtype("float16"), np.dtype("int64")))(x, op.Identity(np.array([2])))

    values, places = ps.trace(largest, x)(x)
    assert (values.dtype, places.dtype) == (np.float16, np.int64)
    assert (values.tolist(), places.tolist()) == ([3.0, 2.0], [0, 2])


def test_what_some_runtime_mends_is_corrected() -> None:
    assert MENDED.keys() <= CORRECTED.keys()
