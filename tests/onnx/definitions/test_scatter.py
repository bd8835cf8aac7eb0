"""TensorScatter: values of onnx's reference, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit import trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import operator

rng = np.random.default_rng(7)

draw = drawing(rng, "float64")

CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "TensorScatter": ("TensorScatter", [draw(2, 5, 3), draw(2, 2, 3)], {}, 1, None),
    "TensorScatter at places": ("TensorScatter", [draw(2, 2, 5, 3), draw(2, 2, 2, 3), np.array([1, 3])], {}, 1, None),
    "TensorScatter along another axis": (
        "TensorScatter", [draw(2, 5, 2, 3), draw(2, 2, 2, 3), np.array([0, 3])], {"axis": 1}, 1, None
    ),
    "TensorScatter around": (
        "TensorScatter", [draw(2, 5, 3), draw(2, 3, 3), np.array([4, 3])], {"mode": "circular"}, 1, None
    ),
}  # fmt: skip

REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("TensorScatter", [draw(2, 5), draw(2, 3)], {"axis": 0}, "an axis that is not the batch"),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes", "words"), REFUSED)
def test_a_form_that_the_standard_does_not_have_is_refused(
    kind: str, inputs: list[Any], attributes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PrimsplitError, match=words):
        trace(operator(kind, **attributes), *inputs)


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    check_grads(operator(kind, outputs=outputs, reference=reference, **attributes), *inputs)
