"""Numbers that are quantized and read again have one derivative, wherever the two operators come from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper
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


FEW_BITS = {
    "int2": ([-2, 1, 1, 1], [0, 1, 0, 0], [-2, 0.4, 1, 1]),
    "uint2": ([0, 1, 2, 3], [0, 1, 1, 0], [0, 0.4, -0.4, 3]),
    "int4": ([-8, 1, 2, 7], [0, 1, 1, 0], [-8, 0.4, -0.4, 7]),
    "uint4": ([0, 1, 2, 15], [0, 1, 1, 0], [0, 0.4, -0.4, 15]),
    "float4_e2m1fn": ([-6, 0.5, 2, 6], [0, 1, 1, 0], [-6, -0.1, -0.4, 6]),
    "float6_e2m3fn": ([-7.5, 0.625, 2.5, 7.5], [0, 1, 1, 0], [-7.5, 0.025, 0.1, 7.5]),
    "float6_e3m2fn": ([-14, 0.625, 2.5, 28], [1, 1, 1, 0], [0, 0.025, 0.1, 28]),
    "float8_e4m3fn": ([-14, 0.625, 2.5, 384], [1, 1, 1, 1], [0, 0.025, 0.1, -16]),
    "float8_e5m2": ([-14, 0.625, 2.5, 384], [1, 1, 1, 1], [0, 0.025, 0.1, -16]),
}
"""The roundings of -7, 0.3, 1.2 and 200 divided by 0.5, which are unsaturated, and the derivative by the scale."""


KNOWN = {onnx.helper.tensor_dtype_to_np_dtype(t).name for t in onnx.TensorProto.DataType.values() if t}


@pytest.mark.parametrize("name", [name for name in FEW_BITS if name in KNOWN])
def test_every_dtype_that_numbers_are_quantized_to_has_it(name: str) -> None:
    levels, inside, steps = (np.array(row, np.float32) for row in FEW_BITS[name])
    number = int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(name)))

    def squares(x: Any, scale: Any) -> Any:
        numbers = op.DequantizeLinear(op.QuantizeLinear(x, scale, output_dtype=number), scale)
        return np.sum(numbers**2) / 2

    x, scale = np.array([-7, 0.3, 1.2, 200], np.float32), np.float32(0.5)
    numbers = scale * levels
    value, (dx, dscale) = ps.value_and_grad(squares, wrt=(0, 1))(x, scale)
    np.testing.assert_allclose(value, np.sum(numbers**2) / 2)
    np.testing.assert_allclose(dx, numbers * inside)
    np.testing.assert_allclose(dscale, np.sum(numbers * steps), rtol=1e-5)
    np.testing.assert_array_equal(ps.hessian(squares)(x, scale), np.diag(inside))


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


CONVOLVED = """<ir_version: 8, opset_import: ["" : 18]>
g (float[n,1,m] x) => (float[n,1,k] y) {
  scale = Constant<value_float: float = 0.5>()
  zero = Constant<value: tensor = uint8 {10}>()
  w = Constant<value: tensor = uint8[1,1,2] {11, 12}>()
  integers = QuantizeLinear(x, scale, zero)
  sums = QLinearConv<strides: ints = [2]>(integers, scale, zero, w, scale, zero, scale, zero)
  y = DequantizeLinear(sums, scale, zero)
}"""
MULTIPLIED = CONVOLVED.replace("uint8[1,1,2] {11, 12}", "uint8[2,1] {11, 12}").replace("[n,1,m]", "[n,m,2]")
MULTIPLIED = MULTIPLIED.replace("[n,1,k]", "[n,m,1]").replace("QLinearConv<strides: ints = [2]>", "QLinearMatMul")


@pytest.mark.parametrize(
    ("text", "shape"),
    [(CONVOLVED, (2, 1, 6)), (CONVOLVED, (1, 1, 2)), (MULTIPLIED, (2, 3, 2)), (MULTIPLIED, (1, 1, 2))],
)
def test_products_of_integers_of_any_size_are_straight_through(
    text: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    onnx.save(onnx.parser.parse_model(text), str(tmp_path / "model.onnx"))
    gradient = ps.split(ps.load(str(tmp_path / "model.onnx")), seed="ones").joint()
    _, slope = gradient(np.ones(shape, np.float32))
    np.testing.assert_allclose(slope, np.resize([0.5, 1.0], shape))
