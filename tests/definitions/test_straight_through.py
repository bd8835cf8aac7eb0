"""Numbers that are quantized and read again have one derivative, wherever the two operators come from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.array([-3.0, 0.2, 5.0, 200.0], np.float32)
SCALE, ZERO = np.float32(0.5), np.uint8(10)
READ_AGAIN = np.array([-3.0, 0.0, 5.0, 122.5], np.float32)
INSIDE = np.array([1, 1, 1, 0], np.float32)
GRADIENT = 2 * READ_AGAIN * INSIDE
"""Of the sum of squares: straight through where `round(x / scale) + zero` is from 0 to 255."""

PAIR = """
  scale = Constant<value_float: float = 0.5>()
  zero = Constant<value: tensor = uint8 {10}>()
  integers = QuantizeLinear(x, scale, zero)
  numbers = DequantizeLinear(integers, scale, zero)
  squares = Mul(numbers, numbers)
  y = ReduceSum<keepdims: int = 0>(squares)
"""
LOADED = f'<ir_version: 8, opset_import: ["" : 18]>\ng (float[4] x) => (float y) {{{PAIR}}}'
WITH_GRADIENT = f"""<ir_version: 8, opset_import: ["" : 18, "ai.onnx.preview.training" : 1]>
g (float[4] x) => (float y, float[4] dx) {{{PAIR}
  dx = ai.onnx.preview.training.Gradient<xs: strings = ["x"], y: string = "y">(x)
}}"""


def fake(x: Any) -> Any:
    return op.DequantizeLinear(op.QuantizeLinear(x, SCALE, ZERO), SCALE, ZERO)


def in_a_row(x: Any) -> Any:
    return np.sum(fake(x) ** 2)


@ps.primitive
def quantized(x: Any) -> Any:
    return op.QuantizeLinear(x, SCALE, ZERO)


def through_a_call(x: Any) -> Any:
    return np.sum(op.DequantizeLinear(quantized(x), SCALE, ZERO) ** 2)


def in_a_scan(x: Any) -> Any:
    return ps.scan(lambda total, row: (total + fake(row) ** 2, row), np.zeros((), np.float32), x)[0]


def in_a_branch(x: Any) -> Any:
    return np.sum(fake(x) ** 2) if x[0] < 0 else np.sum(x)


def moved_as_integers(x: Any) -> Any:
    integers = op.Transpose(op.Reshape(op.QuantizeLinear(x, SCALE, ZERO), [2, 2]), perm=[1, 0])
    return np.sum(op.DequantizeLinear(integers, SCALE, ZERO) ** 2)


@pytest.mark.parametrize("function", [in_a_row, through_a_call, in_a_scan, in_a_branch, moved_as_integers])
def test_traced_code_has_the_straight_through_derivative(function: Callable[[Any], Any]) -> None:
    value, gradient = ps.value_and_grad(function)(X)
    np.testing.assert_allclose(value, np.sum(READ_AGAIN**2))
    np.testing.assert_array_equal(gradient, GRADIENT)


def test_forward_mode_has_it_too() -> None:
    _, slope = ps.jvp(in_a_row, (X,), (np.ones(4, np.float32),))
    np.testing.assert_allclose(slope, GRADIENT.sum())


def test_a_loaded_model_has_it_in_a_traced_function(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(LOADED), path)
    model = ps.load(path)
    np.testing.assert_array_equal(ps.split(model, seed="ones").joint()(X)[1], GRADIENT)
    np.testing.assert_array_equal(ps.grad(lambda x: 3 * model(x))(X), 3 * GRADIENT)


def test_a_gradient_node_has_it(tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(onnx.parser.parse_model(WITH_GRADIENT), path)
    _, gradient = ps.load(path)(X)
    np.testing.assert_array_equal(gradient, GRADIENT)


def test_the_second_derivative_is_that_of_the_numbers() -> None:
    np.testing.assert_array_equal(ps.hessian(in_a_row)(X), np.diag(2 * INSIDE))


def test_a_rule_of_ones_own_goes_before_it() -> None:
    @ps.primitive
    def halved(x: Any) -> Any:
        return fake(x)

    @ps.rrule(halved)
    def halved_rule(x: Any) -> Any:
        return halved(x), lambda dy: (0.5 * dy,)

    np.testing.assert_array_equal(ps.grad(lambda x: np.sum(halved(x)))(X), np.full(4, 0.5, np.float32))


def test_integers_that_a_cast_reads_have_it_too() -> None:
    gradient = ps.grad(lambda x: np.sum(op.Cast(quantized(x), to="float32")))(X)
    np.testing.assert_array_equal(gradient, INSIDE / SCALE)
