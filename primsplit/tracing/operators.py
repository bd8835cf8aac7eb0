"""Record `op.MatMul(x, y)`, and convert its inputs to Values: see `ops.namespace`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.helper

from primsplit import tracing
from primsplit.ir import BFLOAT16, Type, Value
from primsplit.ir.carriers import FLOAT8, MOVING, TYPE_STRINGS
from primsplit.ir.dims import Size
from primsplit.ops.namespace import Operators, op
from primsplit.ops.schema import Schema
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import lift


def cast_to(x: Array, dtype: npt.DTypeLike) -> Array:
    """Return `x` in this dtype: itself if it has it, else by a Cast."""
    result: Array = x if x.dtype == np.dtype(dtype) else op.Cast(x, to=np.dtype(dtype))
    return result


def _operator(found: Schema) -> Callable[..., Any]:
    required = len(found.outputs) if found.kind in _ALL_OUTPUTS else 1

    def operator(*inputs: Any, outputs: int = required, types: Sequence[Type] | None = None, **attributes: Any) -> Any:
        values = lift_inputs(found, inputs)
        if (narrow := _not_taken(found, values)) is not None:
            return _through_float32(operator, values, outputs, attributes, narrow)
        given = {k: _attribute(k, v) for k, v in attributes.items() if v is not None}
        if found.kind == "Split" and outputs == 1:
            outputs = given["num_outputs"] if "num_outputs" in given else len(inputs[1])
        results = tracing.emit(found.kind, values, given, outputs=outputs, types=types)
        if len(results) == 1 and not found.variadic_outputs:
            return Array(results[0])
        return tuple(Array(v) for v in results)

    operator.__name__ = operator.__qualname__ = found.kind
    return operator


Operators.recorder = staticmethod(_operator)


def _not_taken(found: Schema, values: Sequence[Value | None]) -> np.dtype[Any] | None:
    """Return the narrow dtype of an input that the standard does not take there; None if there is none."""
    for position, value in enumerate(values):
        name = "" if value is None else value.type.key[0]
        if value is None or name not in _FEW_BITS:
            continue
        if name in FLOAT8 and found.kind in _WIDENED and not _admits_all(found, values):
            return value.type.dtype
        if value.type.dtype == BFLOAT16 and not _admits(found, position):
            return BFLOAT16
    return None


def _admits(found: Schema, position: int) -> bool:
    """Whether the standard lets this input be bfloat16."""
    return "tensor(bfloat16)" in found.types.get(found.variable(position), ())


def _admits_all(found: Schema, values: Sequence[Value | None]) -> bool:
    """Whether the standard takes floats of eight bits for all inputs that have them."""
    return all(
        f"tensor({TYPE_STRINGS[v.type.key[0]]})" in found.types.get(found.variable(i), ())
        for i, v in enumerate(values)
        if v is not None and v.type.key[0] in FLOAT8
    )


def _through_float32(
    operator: Callable[..., Any],
    values: Sequence[Value | None],
    outputs: int,
    attributes: dict[str, Any],
    dtype: np.dtype[Any],
) -> Any:
    """Compute an operator that the standard has no form of for this dtype in float32, and round once."""
    wide = [_cast(v, np.dtype(np.float32)) if v is not None and v.type.dtype == dtype else v for v in values]
    result = operator(*wide, outputs=outputs, **attributes)
    if isinstance(result, tuple):
        return tuple(Array(_cast(a.value, dtype)) if a.dtype == np.float32 else a for a in result)
    return Array(_cast(result.value, dtype)) if result.dtype == np.float32 else result


def _cast(value: Value, dtype: np.dtype[Any]) -> Value:
    attributes = {"to": int(onnx.helper.np_dtype_to_tensor_dtype(dtype))}
    # What is too large stays infinite, or not a number.
    return tracing.emit("Cast", [value], attributes | ({"saturate": 0} if dtype.name in FLOAT8 else {}))[0]


_ALL_OUTPUTS = frozenset({"TopK"})
_FEW_BITS = FLOAT8 | {BFLOAT16.name}
_WIDENED = MOVING - {"Expand"}
"""Operators that move floats of eight bits as float32. A conversion is put before an Expand, which is not widened."""


def lift_inputs(found: Schema, inputs: Sequence[Any]) -> list[Value | None]:
    """Return the Values of an operator's inputs; Python numbers get the dtype of inputs with the same type variable."""
    if all(isinstance(value, Array) for value in inputs):
        return [array.value for array in inputs]
    trimmed = list(inputs)
    while trimmed and trimmed[-1] is None:
        trimmed.pop()
    known: dict[str, np.dtype[Any]] = {}
    for position, value in enumerate(trimmed):
        if isinstance(value, Array | np.ndarray | np.generic):
            known.setdefault(found.variable(position), value.dtype)
    return [
        None if value is None else lift(value, _number_dtype(found, position, value, known))
        for position, value in enumerate(trimmed)
    ]


def _number_dtype(found: Schema, position: int, value: Any, known: dict[str, np.dtype[Any]]) -> Any:
    if isinstance(value, Array | Size) or not isinstance(value, bool | int | float):
        return None
    variable = found.variable(position)
    if variable in known:
        return known[variable]
    return np.int64 if variable == "tensor(int64)" else None


def _attribute(name: str, value: Any) -> Any:
    """Return the value as ONNX holds it: dtypes as their code, tuples as lists, bool as int."""
    if name in {"to", "dtype"} and not isinstance(value, int):
        return int(onnx.helper.np_dtype_to_tensor_dtype(np.dtype(value)))
    if isinstance(value, bool | np.integer):
        return int(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, tuple):
        return list(value)
    return value
