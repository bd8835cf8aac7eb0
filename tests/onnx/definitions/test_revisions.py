"""What later opsets added to operators that the written one has: values of the standard, and gradients."""

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


def floored(a: np.ndarray, b: np.ndarray, fmod: int = 0) -> np.ndarray:
    return np.fmod(a, b) if fmod else np.mod(a, b)


CASES: dict[str, tuple[str, list[Any], dict[str, Any], int, Callable[..., Any] | None]] = {
    "Mod, rounded down": ("Mod", [np.array([[7.3], [-7.3]]), np.array([2.0, -3.0])], {"fmod": 0}, 1, floored),
    "Mod, rounded to zero": ("Mod", [np.array([[7.3], [-7.3]]), np.array([2.0, -3.0])], {"fmod": 1}, 1, floored),
    "SpaceToDepth by channels": ("SpaceToDepth", [draw(2, 3, 4, 6)], {"blocksize": 2, "mode": "CRD"}, 1, None),
    "SpaceToDepth by blocks": ("SpaceToDepth", [draw(2, 3, 4, 6)], {"blocksize": 2, "mode": "DCR"}, 1, None),
}  # fmt: skip
KNOWN = ("CausalConv", "SpaceToDepth", "Mod")
"""Begins of names whose sizes are not all made symbols: a number of channels, or of values, must be known."""


@pytest.mark.parametrize("name", CASES)
def test_the_value_is_the_standards_and_the_gradient_that_of_differences(name: str) -> None:
    kind, inputs, attributes, outputs, reference = CASES[name]
    function = operator(kind, outputs=outputs, reference=reference, **attributes)
    # Of a head without features no part can be turned.
    resize = (1,) if name.endswith("a part") else (1, 0)
    check_grads(function, *inputs, symbolic=not name.startswith(KNOWN), resize=resize)


def test_a_remainder_rounded_down_has_the_sign_of_the_divisor() -> None:
    a = np.array([0.0, -0.0, -3.0, 3.0, -1.0, 1.0, np.inf, 1.0, np.nan])
    b = np.array([-2.0, 2.0, np.inf, np.inf, -np.inf, -np.inf, 2.0, 0.0, 2.0])
    found = trace(operator("Mod", fmod=0), a, b)(a, b)
    expected = np.array([-0.0, 0.0, np.inf, 3.0, -1.0, -np.inf, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:6]), np.signbit(expected[:6]))


def test_sixteen_bit_ranges_are_counted_in_float32() -> None:
    given = [np.array(x, np.float16) for x in (0, 2050, 1)]
    made = trace(operator("Range", stash_type=1), *given)(*given)
    np.testing.assert_array_equal(made, np.arange(2050, dtype=np.float32).astype(np.float16))


def test_the_quotient_of_a_quantization_has_the_precision_asked_for() -> None:
    x, scale = np.array([1000.5, -3.25], np.float16), np.array(0.5, np.float16)
    function = operator("QuantizeLinear", precision=1, output_dtype=5)
    np.testing.assert_array_equal(trace(function, x, scale)(x, scale), [2001, -6])
    wide = operator("DequantizeLinear", output_dtype=1)
    levels = np.array([-3, 100], np.int8)
    found = trace(wide, levels, scale)(levels, scale)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [-1.5, 50.0])


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("SpaceToDepth", [draw(1, 1, 2, 2)], {"blocksize": 2, "mode": "RCD"}, "no mode RCD"),
]


@pytest.mark.parametrize(("kind", "inputs", "attributes", "words"), REFUSED)
def test_a_form_that_the_standard_does_not_have_is_refused(
    kind: str, inputs: list[Any], attributes: dict[str, Any], words: str
) -> None:
    with pytest.raises(PrimsplitError, match=words):
        trace(operator(kind, **attributes), *inputs)
