"""Define quantize-dequantize pairs with the straight-through derivative: rounding counts as the identity.

Rounding has the derivative 0 almost everywhere, with which no quantized model could be trained or explained. These
operators of primsplit's own have the value of the integers and the *straight-through* derivative (Bengio, Leonard &
Courville 2013, arXiv 1308.3432): rounding counts as the identity, and saturation as clipping.
"""

from typing import Any

import numpy as np
from onnx.helper import np_dtype_to_tensor_dtype

from primsplit import tracing
from primsplit.ir import Const, Op, Type
from primsplit.ir.carriers import least_and_greatest
from primsplit.ir.errors import MissingRule
from primsplit.onnx.definitions.calling import record_call
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.rewrites.decompositions.few_bits import per_element
from primsplit.rules.quantization import sum_for
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full
from primsplit.tracing.handles.described import RANK_CURE

FAKE_QUANTIZE = "primsplit::FakeQuantize"
STRAIGHT_THROUGH = "primsplit::StraightThrough"
UNFOLLOWED = "primsplit::Unfollowed"


def fake_quantize(
    x: Array,
    scale: Array,
    zero: Array | None,
    *,
    axis: int = 1,
    block_size: int = 0,
    dtype: str = "uint8",
    saturate: int = 1,
) -> Array:
    """Return `DequantizeLinear(QuantizeLinear(x))` with the straight-through derivative.

    `scale` and `zero` are for all, for an axis, or for blocks of it; `dtype` is that of the integers if there is no
    zero point, or of the floats of few bits. `saturate` is that of QuantizeLinear.

    With one constant zero point, integers from -128 to 127 are written as those from 0 to 255, which are the same
    numbers: onnxruntime makes that change itself, and fails at it if a Slice, Reshape or Transpose follows. Constant
    numbers keep theirs, by which onnxruntime chooses what to fuse them with.
    """
    bytes_of = None if zero is None or isinstance(x.value, Const) else _constant_of_bytes(zero)
    if bytes_of is not None:
        zero = Array(tracing.constant((bytes_of.astype(np.int16) + 128).astype(np.uint8)))
    inputs = [x.value, scale.value] if zero is None else [x.value, scale.value, zero.value]
    attributes = {"axis": axis, "block_size": block_size, "dtype": dtype, "saturate": saturate}
    return Array(record_call(FAKE_QUANTIZE, inputs, attributes)[0])


def _constant_of_bytes(zero: Array) -> np.ndarray[Any, Any] | None:
    """Return the one constant zero point of integers from -128 to 127; None for any other."""
    value = zero.value
    is_one = isinstance(value, Const) and zero.dtype == np.int8 and zero.shape in {(), (1,)}
    return value.numpy() if is_one and isinstance(value, Const) else None


def _differentiated(
    x: Array,
    scale: Array,
    zero: Array | None = None,
    *,
    outputs: int,
    axis: int,
    block_size: int,
    dtype: str,
    saturate: int,
) -> tuple[Any, Any]:
    """`dx` is `dy` where `round(x / scale) + zero` is one of the integers, 0 where it saturates.

    That is the derivative of torch's fake_quantize. `dscale` is that of Esser et al. 2020 (arXiv 1902.08153, equation
    3): for an element `round(x / scale) - x / scale`, or, where it saturates, the bound minus `zero`. Floats of few
    bits saturate where `x / scale` itself is beyond their bounds.
    """
    y = fake_quantize(x, scale, zero, axis=axis, block_size=block_size, dtype=dtype, saturate=saturate)
    is_whole = "int" in (dtype if zero is None else zero.dtype.name)

    def pullback(dy: Array) -> tuple[Array | None, ...]:
        ratio = op.Div(x, per_element(scale, x, axis, block_size))
        rounded = op.Round(ratio) if is_whole else ratio
        low, high = _bounds(zero, x, dtype, axis=axis, block_size=block_size)
        inside = op.And(op.GreaterOrEqual(rounded, low), op.LessOrEqual(rounded, high))
        nothing = np.zeros((), x.dtype)
        if is_whole:
            levels = op.Min(op.Max(rounded, low), high)
        else:
            ones = full(scale.shape, np.ones((), scale.dtype))
            levels = _through(x, scale, ones, zero, axis=axis, block_size=block_size, dtype=dtype, saturate=saturate)
        steps = op.Sub(levels, op.Where(inside, ratio, nothing))
        dscale = sum_for(op.Mul(dy, steps), scale, axis, block_size)
        # One scale for each of a known number of entries may tell more of y's sizes than x does of its own.
        dx = op.Where(inside, dy, nothing, types=[Type(dy.dtype, x.shape)])
        return (dx, dscale, None)[: 2 if zero is None else 3]

    return y, pullback


@defines(FAKE_QUANTIZE, rule=_differentiated)
def _pair(
    x: Array,
    scale: Array,
    zero: Array | None = None,
    *,
    outputs: int = 1,
    axis: int = 1,
    block_size: int = 0,
    dtype: str = "uint8",
    saturate: int = 1,
) -> Any:
    """Return the numbers of the integers that `x` is rounded to."""
    return _through(x, scale, scale, zero, axis=axis, block_size=block_size, dtype=dtype, saturate=saturate)


def _through(
    x: Array, scale: Array, back: Array, zero: Array | None, *, axis: int, block_size: int, dtype: str, saturate: int
) -> Any:
    """Return the integers that `x` is rounded to with one scale, as numbers of the scale `back`."""
    wanted = None if zero is not None or dtype == "uint8" else int(np_dtype_to_tensor_dtype(np.dtype(dtype)))
    along: dict[str, Any] = {"axis": axis, "block_size": block_size or None}
    told = None if saturate else 0
    integers = op.QuantizeLinear(x, scale, zero, output_dtype=wanted, saturate=told, **along)
    return op.DequantizeLinear(integers, back, zero, **along)


def _bounds(zero: Array | None, x: Array, dtype: str, *, axis: int, block_size: int) -> tuple[Any, Any]:
    """Return the least and the greatest integer, minus the zero point, in the dtype of `x`."""
    limits = least_and_greatest(np.dtype(dtype) if zero is None else zero.dtype)
    least, greatest = (np.asarray(limit, x.dtype) for limit in limits)
    if zero is None:
        return least, greatest
    offset = per_element(op.Cast(zero, to=x.dtype), x, axis, block_size)
    return op.Sub(least, offset), op.Sub(greatest, offset)


def straight_through(exact: Array, smooth: Array) -> Array:
    """Return the value of `exact`, with the derivative of `smooth`, which equals it up to rounding."""
    return Array(record_call(STRAIGHT_THROUGH, [exact.value, smooth.value], {})[0])


def _passed(exact: Array, smooth: Array, *, outputs: int) -> tuple[Any, Any]:
    return straight_through(exact, smooth), lambda dy: (None, dy)


def dequantized(integers: Array, scale: Array, zero: Array | None) -> Any:
    """`DequantizeLinear` for one scale, bit by bit, as a product if the zero point is a constant from -128 to 127.

    See `fake_quantize` for the reason.
    """
    if zero is None or _constant_of_bytes(zero) is None:
        return op.DequantizeLinear(integers, scale, zero)
    steps = op.Sub(op.Cast(integers, to="int32"), op.Cast(zero, to="int32"))
    return op.Mul(op.Cast(steps, to=scale.dtype), scale)


@defines(STRAIGHT_THROUGH, rule=_passed)
def _exact(exact: Array, smooth: Array, *, outputs: int = 1) -> Any:
    """Return the first of the two."""
    return exact


def unfollowed(exact: Array, numbers: Array, origin: Op) -> Array:
    """The value of `exact`, whose derivative by `numbers` is refused, since it goes through integers of `origin`."""
    told = origin.kind.removeprefix("call::")
    return Array(record_call(UNFOLLOWED, [exact.value, numbers.value], {"told": f"{told} at {origin.place}"})[0])


def _refused(exact: Array, numbers: Array, *, outputs: int, told: str) -> tuple[Any, Any]:
    raise MissingRule(
        "what is quantized has no derivative here, since it is not known what its integers become",
        place=tracing.user_place(),
        because=(f"they are read by {told}",),
        cure=(
            "Let that operator work on numbers: put a DequantizeLinear before it and a QuantizeLinear behind.",
            f"Where a rank is not known: {RANK_CURE}",
        ),
    )


@defines(UNFOLLOWED, rule=_refused)
def _unfollowed(exact: Array, numbers: Array, *, outputs: int = 1, told: str) -> Any:
    """Return the first of the two."""
    return exact
