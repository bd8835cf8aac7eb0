"""CausalConvWithState: values of onnx's reference, gradients of first and second order."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from primsplit import spec, trace
from primsplit.ir.errors import PrimsplitError
from primsplit.testing import check_grads
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.standard import evaluated, operator

rng = np.random.default_rng(7)

draw = drawing(rng, "float64")


def swish(x: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    return x / (1 + np.exp(-alpha * x))


def convolved(activation: str) -> Callable[..., Any]:
    def reference(x: Any, weight: Any, bias: Any = None, state: Any = None, **_: Any) -> tuple[np.ndarray, np.ndarray]:
        made, after = evaluated("CausalConvWithState", (x, weight, bias, state), {}, 2)
        return (made if activation == "none" else swish(made)), after

    return reference


STATE, KERNEL = draw(2, 3, 2), draw(3, 1, 3)

CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "CausalConvWithState": ("CausalConvWithState", [draw(2, 3, 5), KERNEL], {}, 2, convolved("none")),
    "CausalConvWithState after a state": (
        "CausalConvWithState", [draw(2, 3, 5), KERNEL, draw(3), STATE], {"activation": "silu"}, 2, convolved("silu")
    ),
    "CausalConvWithState of a short input": (
        "CausalConvWithState", [draw(2, 3, 1), draw(3, 1, 4), draw(3), draw(2, 3, 3)], {}, 2, convolved("none")
    ),
    "CausalConvWithState of one column": (
        "CausalConvWithState", [draw(2, 3, 4), draw(3, 1, 1)], {}, 2, convolved("none")
    ),
}  # fmt: skip


def test_the_number_of_columns_of_a_causal_convolution_may_be_a_symbol() -> None:
    function = operator("CausalConvWithState", outputs=2, reference=convolved("none"), absent=(2,))
    program = trace(function, spec("float64", ["B", 3, "L"]), KERNEL, spec("float64", ["B", 3, 2]))
    for length in (1, 2, 9):
        given = draw(2, 3, length), KERNEL, draw(2, 3, 2)
        for found, expected in zip(program(*given), function(*given), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("CausalConvWithState", [draw(2, 3, 4), KERNEL], {"activation": "relu"}, "no activation relu"),
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
    check_grads(operator(kind, outputs=outputs, reference=reference, **attributes), *inputs, symbolic=False)
