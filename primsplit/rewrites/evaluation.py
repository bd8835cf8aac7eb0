"""Evaluate an operator on constants with NumPy: exactly as IEEE 754 or integer arithmetic defines it.

Elementwise arithmetic in float16, bfloat16 and float32 is done in float64 and rounded once. The four operations and the
square root are then correctly rounded, since float64 has more than twice their digits; the other functions are within a
little more than half a unit in the last place.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir import AnyArray
from primsplit.ops.schema import schema

Inputs = Sequence[AnyArray]
Attributes = Mapping[str, Any]
Evaluator = Callable[[Inputs, Attributes], AnyArray | None]


def evaluate(kind: str, inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    """Return the output of an operator; None if it is not in the table, or the standard leaves the result open."""
    evaluator = EVALUATORS.get(kind)
    if evaluator is None:
        return None
    with np.errstate(all="ignore"):
        return evaluator(inputs, {**schema(kind).defaults, **attributes})


def _is_float(array: AnyArray) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def _rounded(function: Callable[..., Any]) -> Evaluator:
    """Return an evaluator of an elementwise function, which computes in float64 for every float dtype."""

    def evaluator(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
        if not all(map(_is_float, inputs)):
            return None
        return np.asarray(function(*(x.astype(np.float64) for x in inputs))).astype(inputs[0].dtype)

    return evaluator


def _arithmetic(function: Callable[..., Any]) -> Evaluator:
    """Return an evaluator of an elementwise function of floats, rounded once, or of integers, which wrap around."""
    of_floats = _rounded(function)

    def evaluator(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
        if _is_float(inputs[0]):
            return of_floats(inputs, attributes)
        return np.asarray(function(*inputs)) if inputs[0].dtype.kind in "iu" else None

    return evaluator


def _plain(function: Callable[..., Any]) -> Evaluator:
    """Return an evaluator by a NumPy function of the same meaning for every dtype, which rounds nothing."""
    return lambda inputs, attributes: np.asarray(function(*inputs))


def _divide(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    """Divide; integer division truncates, and leaves division by zero open."""
    x, y = inputs
    if _is_float(x):
        return _rounded(np.divide)(inputs, attributes)
    if not y.all():
        return None
    quotient = np.floor_divide(x, y)
    return np.asarray(quotient + ((quotient < 0) & (quotient * y != x)).astype(x.dtype)).astype(x.dtype)


def _modulo(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    x, y = inputs
    if _is_float(x) or not y.all():
        return None
    return np.asarray(np.fmod(x, y) if attributes["fmod"] else np.mod(x, y))


def _is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether it is one of NumPy's own numeric dtypes or bfloat16; not float8, int4 and text."""
    return dtype.name == "bfloat16" or (dtype.type.__module__ == "numpy" and dtype.kind in "biuf")


def _cast(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return _cast_to(inputs[0], onnx.helper.tensor_dtype_to_np_dtype(attributes["to"]))


def _cast_to(x: AnyArray, to: np.dtype[Any]) -> AnyArray | None:
    """Cast; floats out of the integer's range, float8 and text are left to onnxruntime."""
    if not (_is_plain(x.dtype) and _is_plain(to)):
        return None
    if _is_float(x) and to.kind in "iu":
        whole = np.trunc(x.astype(np.float64))
        limits = np.iinfo(to)
        if not bool(np.all((whole >= limits.min) & (whole < float(limits.max)))):
            return None
    return x.astype(to)


def _shaped(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    x, wanted = inputs
    shape = [int(d) for d in wanted]
    if not attributes["allowzero"]:
        shape = [x.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    return x.reshape(shape) if x.size or -1 not in shape else None


def _axes(values: AnyArray, rank: int) -> tuple[int, ...]:
    return tuple(int(a) % rank for a in values.reshape(-1))


def _squeeze(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.squeeze(inputs[0], _axes(inputs[1], inputs[0].ndim) if len(inputs) > 1 else None)


def _unsqueeze(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.expand_dims(inputs[0], _axes(inputs[1], inputs[0].ndim + inputs[1].size))


def _slice(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    x, starts, ends = inputs[:3]
    axes = _axes(inputs[3], x.ndim) if len(inputs) > 3 else range(len(starts))
    steps = inputs[4] if len(inputs) > 4 else np.ones(len(starts), np.int64)
    cut = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        last = None if step < 0 and int(end) < -x.shape[axis] else int(end)
        cut[axis] = slice(int(start), last, int(step))
    return x[tuple(cut)]


def _gather(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    x, indices = inputs
    size = x.shape[attributes["axis"]]
    if not bool(np.all((indices >= -size) & (indices < size))):
        return None
    return np.asarray(np.take(x, indices, axis=attributes["axis"]))


def _range(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    start, limit, delta = inputs
    if start.dtype.kind not in "iu" or not delta:
        return None
    return np.arange(int(start), int(limit), int(delta)).astype(start.dtype)


def _filled(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    value = attributes.get("value", np.zeros(1, np.float32))
    return np.full([int(d) for d in inputs[0]], value.reshape(-1)[0], value.dtype)


def _reduced(function: Callable[..., Any]) -> Evaluator:
    """Return an evaluator of a reduction of integers, which are exact in any order.

    Or of a short sum of zeros and ones.
    """

    def evaluator(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
        x = inputs[0]
        axes = _axes(inputs[1], x.ndim) if len(inputs) > 1 else ()
        if not (x.dtype.kind in "iu" or _are_few_flags(x)) or (not axes and attributes["noop_with_empty_axes"]):
            return None
        return np.asarray(function(x, axis=axes or None, keepdims=bool(attributes["keepdims"]), dtype=x.dtype))

    return evaluator


def _are_few_flags(x: AnyArray) -> bool:
    """Whether these are a few zeros and ones; the sum of -0.0 alone is 0.0 in NumPy, and -0.0 in onnxruntime."""
    return x.dtype.kind == "f" and x.size < 2**10 and bool(np.isin(x, (0, 1)).all()) and not np.signbit(x).any()


def _first_largest(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    x, axis = inputs[0], attributes["axis"]
    if x.dtype.kind not in "iu" or attributes["select_last_index"] or not x.size:
        return None
    return np.asarray(np.argmax(x, axis=axis, keepdims=bool(attributes["keepdims"])))


def _transpose(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.transpose(inputs[0], attributes.get("perm"))


def _concat(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.concatenate(inputs, axis=attributes["axis"])


def _expand(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.broadcast_to(inputs[0], np.broadcast_shapes(inputs[0].shape, tuple(int(d) for d in inputs[1])))


def _tile(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.tile(inputs[0], [int(r) for r in inputs[1]])


def _where(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
    return np.where(*inputs).astype(inputs[1].dtype)


def _extremum(function: Callable[..., Any]) -> Evaluator:
    """Return an evaluator of the largest or smallest of integers; kernels differ on NaN and signed zeros."""

    def evaluator(inputs: Inputs, attributes: Attributes) -> AnyArray | None:
        if inputs[0].dtype.kind not in "iu":
            return None
        return np.asarray(functools.reduce(function, inputs))

    return evaluator


EVALUATORS: dict[str, Evaluator] = {
    "Add": _arithmetic(np.add), "Sub": _arithmetic(np.subtract), "Mul": _arithmetic(np.multiply),
    "Neg": _arithmetic(np.negative), "Abs": _arithmetic(np.absolute), "Div": _divide, "Mod": _modulo,
    "Sqrt": _rounded(np.sqrt), "Reciprocal": _rounded(np.reciprocal), "Exp": _rounded(np.exp), "Log": _rounded(np.log),
    "Sin": _rounded(np.sin), "Cos": _rounded(np.cos), "Tan": _rounded(np.tan), "Tanh": _rounded(np.tanh),
    "Sinh": _rounded(np.sinh), "Cosh": _rounded(np.cosh), "Atan": _rounded(np.arctan), "Asin": _rounded(np.arcsin),
    "Acos": _rounded(np.arccos), "Floor": _rounded(np.floor), "Ceil": _rounded(np.ceil), "Round": _rounded(np.rint),
    "Pow": _rounded(np.power),
    "Max": _extremum(np.maximum), "Min": _extremum(np.minimum),
    "Equal": _plain(np.equal), "Less": _plain(np.less), "LessOrEqual": _plain(np.less_equal),
    "Greater": _plain(np.greater), "GreaterOrEqual": _plain(np.greater_equal), "And": _plain(np.logical_and),
    "Or": _plain(np.logical_or), "Xor": _plain(np.logical_xor), "Not": _plain(np.logical_not),
    "IsNaN": lambda inputs, attributes: np.isnan(inputs[0]), "Where": _where, "Cast": _cast,
    "CastLike": lambda inputs, attributes: _cast_to(inputs[0], inputs[1].dtype),
    "Identity": lambda inputs, attributes: inputs[0], "Reshape": _shaped, "Transpose": _transpose,
    "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Concat": _concat, "Slice": _slice, "Gather": _gather,
    "Expand": _expand, "Tile": _tile, "ConstantOfShape": _filled, "Range": _range,
    "ReduceSum": _reduced(np.sum), "ReduceProd": _reduced(np.prod), "ArgMax": _first_largest,
}  # fmt: skip
"""The evaluator of each operator that is folded. It receives the inputs that are present, and all attributes."""
