"""Define quantized operators of `com.microsoft`: dequantize, compute by the standard's operator, and quantize again.

If the standard has the integer operator itself it is used, so that the value is that of the integers. Operators with a
float result, or that go through floats in onnxruntime too, are written with floats; onnxruntime's own kernels, which
fuse the rounding, may differ by one in the last integer.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.errors import UnsupportedFunction
from primsplit.onnx.definitions.fused import channels_first, channels_last
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import transpose


@defines("com.microsoft::QuantizeLinear")
def quantize_linear(x: Array, scale: Array, zero: Array | None = None, *, outputs: int = 1, axis: int = 1) -> Any:
    """Quantize numbers, as in the standard."""
    return op.QuantizeLinear(x, scale, zero, axis=axis)


@defines("com.microsoft::DequantizeLinear")
def dequantize_linear(x: Array, scale: Array, zero: Array | None = None, *, outputs: int = 1, axis: int = 1) -> Any:
    """Dequantize integers, as in the standard."""
    return op.DequantizeLinear(x, scale, zero, axis=axis)


def _integers(y: Array, scale: Array, zero: Array | None, like: Array) -> Any:
    """Return numbers as integers; the default zero point is 0, of the dtype of `like`."""
    return op.QuantizeLinear(y, scale, np.zeros((), like.dtype) if zero is None else zero)


def _of_two(kind: str, combine: Callable[[Array, Array], Array]) -> None:
    """Define an operator of two operands, each with a scale and a zero point."""

    @defines(kind)
    def combined(
        a: Array,
        a_scale: Array,
        a_zero: Array | None,
        b: Array,
        b_scale: Array,
        b_zero: Array | None,
        scale: Array,
        zero: Array | None = None,
        *,
        outputs: int = 1,
    ) -> Any:
        left, right = op.DequantizeLinear(a, a_scale, a_zero), op.DequantizeLinear(b, b_scale, b_zero)
        return _integers(combine(left, right), scale, zero, a)


_of_two("com.microsoft::QLinearAdd", op.Add)
_of_two("com.microsoft::QLinearMul", op.Mul)


@defines("com.microsoft::QLinearWhere")
def where(
    condition: Array,
    x: Array,
    x_scale: Array,
    x_zero: Array,
    y: Array,
    y_scale: Array,
    y_zero: Array,
    scale: Array,
    zero: Array,
    *,
    outputs: int = 1,
) -> Any:
    """Select the one or the other."""
    left, right = op.DequantizeLinear(x, x_scale, x_zero), op.DequantizeLinear(y, y_scale, y_zero)
    return _integers(op.Where(condition, left, right), scale, zero, x)


@defines("com.microsoft::QLinearConcat")
def concat(scale: Array, zero: Array, *parts: Array, outputs: int = 1, axis: int) -> Any:
    """Concatenate arrays: `parts` are the integers, scale and zero point of each."""
    numbers = [op.DequantizeLinear(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return _integers(op.Concat(*numbers, axis=axis), scale, zero, parts[0])


@defines("com.microsoft::QLinearLeakyRelu")
def leaky_relu(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    scale: Array,
    zero: Array | None = None,
    *,
    outputs: int = 1,
    alpha: float = 0.01,
) -> Any:
    """LeakyRelu."""
    return _integers(op.LeakyRelu(op.DequantizeLinear(x, x_scale, x_zero), alpha=alpha), scale, zero, x)


@defines("com.microsoft::QLinearSigmoid")
def sigmoid(
    x: Array, x_scale: Array, x_zero: Array | None, scale: Array, zero: Array | None = None, *, outputs: int = 1
) -> Any:
    """Sigmoid."""
    return _integers(op.Sigmoid(op.DequantizeLinear(x, x_scale, x_zero)), scale, zero, x)


@defines("com.microsoft::QLinearSoftmax")
def softmax(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    scale: Array,
    zero: Array,
    *,
    outputs: int = 1,
    axis: int = -1,
    opset: int,
) -> Any:
    """Softmax along an axis, or, as before opset 13, along all axes from it on."""
    numbers = op.DequantizeLinear(x, x_scale, x_zero)
    place = axis_of(axis, len(x.shape), "QLinearSoftmax")
    if opset >= 13 or place == len(x.shape) - 1:
        return _integers(op.Softmax(numbers, axis=axis), scale, zero, x)
    rows = op.Softmax(op.Flatten(numbers, axis=place), axis=-1)
    return _integers(op.Reshape(rows, op.Shape(numbers), types=[numbers.type]), scale, zero, x)


@defines("com.microsoft::QLinearReduceMean")
def reduce_mean(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    scale: Array,
    zero: Array | None = None,
    *,
    outputs: int = 1,
    axes: Any,
    keepdims: int = 1,
) -> Any:
    """The mean over some axes."""
    numbers = op.DequantizeLinear(x, x_scale, x_zero)
    return _integers(op.ReduceMean(numbers, list(axes), keepdims=keepdims), scale, zero, x)


@defines("com.microsoft::QLinearAveragePool")
def average_pool(
    x: Array,
    x_scale: Array,
    x_zero: Array | None,
    scale: Array,
    zero: Array | None = None,
    *,
    outputs: int = 1,
    channels_last: int = 0,
    **windows: Any,
) -> Any:
    """AveragePool, with channels in the second axis or the last."""
    numbers = op.DequantizeLinear(x, x_scale, x_zero)
    y = op.AveragePool(channels_first(numbers) if channels_last else numbers, **windows)
    return _integers(_back(y, channels_last), scale, zero, x)


def _back(y: Array, is_last: int) -> Array:
    return channels_last(y) if is_last else y


@defines("com.microsoft::QLinearGlobalAveragePool")
def global_average_pool(
    x: Array, x_scale: Array, x_zero: Array, scale: Array, zero: Array, *, outputs: int = 1, channels_last: int = 0
) -> Any:
    """GlobalAveragePool, with channels in the second axis or the last."""
    rank = len(x.shape)
    axes = list(range(1, rank - 1)) if channels_last else list(range(2, rank))
    return _integers(op.ReduceMean(op.DequantizeLinear(x, x_scale, x_zero), axes, keepdims=1), scale, zero, x)


@defines("com.microsoft::QLinearConv")
def conv(
    x: Array,
    x_scale: Array,
    x_zero: Array,
    w: Array,
    w_scale: Array,
    w_zero: Array,
    scale: Array,
    zero: Array,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    channels_last: int = 0,
    **windows: Any,
) -> Any:
    """The standard's QLinearConv, with channels in the second axis or the last."""
    given = channels_first(x) if channels_last else x
    y = op.QLinearConv(given, x_scale, x_zero, w, w_scale, w_zero, scale, zero, bias, **windows)
    return _back(y, channels_last)


@defines("com.microsoft::NhwcMaxPool")
def nhwc_max_pool(x: Array, *, outputs: int = 1, **windows: Any) -> Any:
    """Return the largest of each window, with channels in the last axis."""
    return _back(op.MaxPool(channels_first(x), **windows), True)


@defines("com.microsoft::MatMulInteger16")
def matmul_integer16(a: Array, b: Array, *, outputs: int = 1) -> Any:
    """Return the product of 16-bit integers, in 32 bits."""
    return op.MatMul(op.Cast(a, to="int32"), op.Cast(b, to="int32"))


@defines("com.microsoft::MatMulIntegerToFloat")
def matmul_integer_to_float(
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero: Array | None = None,
    b_zero: Array | None = None,
    bias: Array | None = None,
    *,
    outputs: int = 1,
) -> Any:
    """Return the product of integers as numbers, multiplied by the scales."""
    product = op.Mul(op.Cast(op.MatMulInteger(a, b, a_zero, b_zero), to="float32"), op.Mul(a_scale, b_scale))
    return product if bias is None else op.Add(product, bias)


@defines("com.microsoft::DynamicQuantizeMatMul")
def dynamic_quantize_matmul(
    a: Array, b: Array, b_scale: Array, b_zero: Array | None = None, bias: Array | None = None, *, outputs: int = 1
) -> Any:
    """Return the product of numbers, quantized by their own range, and integers."""
    integers, scale, zero = op.DynamicQuantizeLinear(a, outputs=3)
    return matmul_integer_to_float(integers, b, scale, b_scale, zero, b_zero, bias)


@defines("com.microsoft::QGemm")
def gemm(
    a: Array,
    a_scale: Array,
    a_zero: Array,
    b: Array,
    b_scale: Array,
    b_zero: Array | None = None,
    c: Array | None = None,
    scale: Array | None = None,
    zero: Array | None = None,
    *,
    outputs: int = 1,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    """Return `alpha a @ b + c` as numbers, or as integers if their scale is given; `c` is in the product's scale.

    Raises UnsupportedFunction for a transposed `a` with a zero point for each row.
    """
    if transA and a_zero.shape not in {(), (1,)}:
        raise UnsupportedFunction("QGemm takes one zero point for all of a")
    left = transpose(a, [1, 0]) if transA else a
    right = transpose(b, [1, 0]) if transB else b
    total = op.MatMulInteger(left, right, a_zero, b_zero)
    total = total if c is None else op.Add(total, c)
    step = op.Mul(a_scale, b_scale)
    y = op.Mul(op.Cast(total, to="float32"), step if alpha == 1.0 else op.Mul(step, alpha))
    return y if scale is None else _integers(y, scale, zero, a)
