"""Swish and SwiGLU: values of NumPy, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)

draw = drawing(rng, "float64")


def swish(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return x / (1 + np.exp(-alpha * x))


def swiglu(a: np.ndarray, b: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return swish(a, alpha) * b


CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "Swish": ("Swish", [draw(3, 4)], {}, 1, swish),
    "Swish, alpha": ("Swish", [draw(3, 4)], {"alpha": 1.5}, 1, swish),
    "SwiGLU": ("SwiGLU", [draw(3, 4), draw(3, 4)], {"alpha": 0.5}, 1, swiglu),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    check_grads(operator(kind, outputs=outputs, reference=reference, **attributes), *inputs)
