"""RMSNormalization: values of NumPy, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit import split
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)

draw = drawing(rng, "float64")


def rms(x: np.ndarray, scale: np.ndarray, axis: int = -1, epsilon: float = 1e-5) -> np.ndarray:
    axes = tuple(range(axis % x.ndim, x.ndim))
    return x / np.sqrt(np.mean(x * x, axis=axes, keepdims=True) + epsilon) * scale


CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "RMSNormalization": ("RMSNormalization", [draw(2, 3, 4), draw(4)], {"epsilon": 0.125}, 1, rms),
    "RMSNormalization of two axes": (
        "RMSNormalization", [draw(2, 3, 4), draw(3, 1)], {"axis": 1, "epsilon": 0.5}, 1, rms
    ),
    "RMSNormalization of all": ("RMSNormalization", [draw(2, 3), draw(1)], {"axis": -2, "epsilon": 0.5}, 1, rms),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_norm_of_narrow_numbers_is_taken_in_float32(dtype: type) -> None:
    x = (draw(3, 64) * 300).astype(dtype)
    scale = np.ones(64, np.float32)
    y, dx, _ = split(operator("RMSNormalization"), x, scale).joint()(x, scale, np.ones((3, 64), np.float32))
    wide, ones = x.astype(np.float64), np.ones(64)
    expected = split(operator("RMSNormalization"), wide, ones).joint()(wide, ones, np.ones((3, 64)))
    assert (y.dtype, dx.dtype) == (np.float32, dtype)
    np.testing.assert_allclose(y, expected[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(dx, expected[1], rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    check_grads(operator(kind, outputs=outputs, reference=reference, **attributes), *inputs, resize=(1, 0))
