"""Bits of numbers: moved, and read as those of another dtype of the same width."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper

from primsplit import trace
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16])
def test_bits_move_as_the_standard_says_for_any_number_of_places(dtype: Any, direction: str) -> None:
    count = 8 * np.dtype(dtype).itemsize
    x = np.array([-100, 77, -1, 3, -8, 4, -5, 6]).astype(dtype)
    places = np.array([0, 1, count - 1, 2, count, count + 1, -1, -count]).astype(dtype)
    expected = []
    for number, place in zip(x.tolist(), places.tolist(), strict=True):
        far = place < 0 or place >= count
        moved = (0 if far else number << place) if direction == "LEFT" else number >> (2 * count if far else place)
        expected.append(moved)
    wanted = np.array([e % 2**count for e in expected], f"uint{count}").astype(dtype)
    found = trace(operator("BitShift", direction=direction), x, places)(x, places)
    np.testing.assert_array_equal(found, wanted)


PAIRS = [(np.float16, np.int16), (np.float16, np.uint16), (np.float32, np.int32), (np.float32, np.uint32),
         (np.float64, np.int64), (np.float64, np.uint64), (ml_dtypes.bfloat16, np.uint16)]  # fmt: skip


@pytest.mark.parametrize(("floats", "integers"), PAIRS)
def test_the_bits_of_floats_are_read_and_put_together_exactly(floats: Any, integers: Any) -> None:
    limits = ml_dtypes.finfo(floats)
    ends = [0.0, -0.0, np.inf, -np.inf, 1, -2, limits.max, limits.min, limits.tiny, limits.smallest_subnormal]
    drawn = rng.integers(0, 256, 400 * np.dtype(floats).itemsize, dtype=np.uint8).view(floats)
    below = (np.arange(1, 60).astype(integers) * 3).view(floats)
    x = np.concatenate([np.array(ends).astype(floats), drawn[~np.isnan(drawn)], below, -below])
    bits = x.view(integers)
    code = helper.np_dtype_to_tensor_dtype
    np.testing.assert_array_equal(trace(operator("BitCast", to=int(code(np.dtype(integers)))), x)(x), bits)
    again = trace(operator("BitCast", to=int(code(np.dtype(floats)))), bits)(bits)
    np.testing.assert_array_equal(again.view(integers), bits)
