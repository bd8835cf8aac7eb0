"""Follow the meaning of integers that are moved, selected, repeated or interpolated: their numbers are so too."""

from collections.abc import Sequence

import numpy as np

from primsplit import tracing
from primsplit.ir import Op, Type, Value, Var
from primsplit.onnx.definitions.quantized.fake_quantize import dequantized, straight_through
from primsplit.onnx.definitions.quantized.meaning import Meaning, number
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.ops.traits import kinds_where
from primsplit.tracing.array import Array

LAYOUT = kinds_where(lambda t: t.moves == (0,) and not t.fills) | {"MaxPool", "Pad"}
"""Operators that move integers, or select among them: the numbers of a common scale are moved and selected likewise."""


def moved(origin: Op, value: Var, meaning: Meaning) -> Meaning | None:
    """Return the meaning of `value`, a result of an operator of LAYOUT on integers of this meaning.

    None if it is unknown.

    The meaning of integers of several scales is lost.
    """
    position = origin.outputs.index(value)
    if meaning.along is not None or (origin.kind == "MaxPool" and position):
        return None
    if origin.kind == "Resize":
        return _resized(origin, value, meaning)
    inputs = _padding(origin, meaning) if origin.kind == "Pad" else origin.inputs[1:]
    return Meaning(_done(origin, meaning, inputs)[position], meaning.scale, meaning.zero)


def _done(origin: Op, meaning: Meaning, inputs: Sequence[Value | None]) -> list[Array]:
    """Return the operator's results on the numbers: arrays of the sizes that it gives the integers."""
    outputs = origin.outputs[:1] if origin.kind == "MaxPool" else origin.outputs
    types = [Type(meaning.numbers.dtype, o.type.shape) for o in outputs]
    read = (meaning.numbers.value, *inputs)
    return [Array(v) for v in tracing.emit(origin.kind, read, origin.attributes, outputs=len(types), types=types)]


def _padding(origin: Op, meaning: Meaning) -> list[Value | None]:
    """Return the operator's other inputs: its fill value becomes the number of its integer."""
    pads, value, *axes = (*origin.inputs[1:], None)[: max(len(origin.inputs) - 1, 2)]
    if text(origin.attributes.get("mode", "constant")) != "constant":
        return [pads, None, *axes] if axes else [pads]
    flat = np.zeros(0, np.int64)
    level = np.zeros((), np.float32) if value is None else op.Reshape(number(value), flat)
    zero = np.zeros((), np.float32) if meaning.zero is None else op.Reshape(number(meaning.zero), flat)
    scale = op.Reshape(Array(meaning.scale), flat)
    around = op.Mul(op.Cast(op.Sub(level, zero), to=scale.dtype), scale)
    return [pads, op.Cast(around, to=meaning.numbers.dtype).value, *axes]


def _resized(origin: Op, value: Var, meaning: Meaning) -> Meaning | None:
    """Interpolate the numbers, and round them straight through; None for extrapolation."""
    if text(origin.attributes.get("coordinate_transformation_mode", "")) == "tf_crop_and_resize":
        return None
    (made,) = _done(origin, meaning, origin.inputs[1:])
    if text(origin.attributes.get("mode", "nearest")) == "nearest":
        return Meaning(made, meaning.scale, meaning.zero)
    given = Array(meaning.scale), None if meaning.zero is None else Array(meaning.zero)
    return Meaning(straight_through(dequantized(Array(value), *given), made), meaning.scale, meaning.zero)
