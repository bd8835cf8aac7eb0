"""Adapt rules that compare a result with its inputs, such as a maximum, to arrays of 16 bits.

onnxruntime computes most operators of float16 in float32, and omits the rounding between two of them. A value is then
rounded for one reader and not for another, and the largest of some numbers may equal none of them. Compared values are
therefore computed again, from the input converted to float32 once.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir import BFLOAT16
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rules.table import Rule
from primsplit.tracing.array import Array
from primsplit.tracing.trees import as_list

HALVES = (np.dtype(np.float16), BFLOAT16)


When = Callable[[Sequence[Array | None], Mapping[str, Any]], bool]


@fault(
    "float16_rounded_for_some_readers",
    kind="wrong",
    operators=("ReduceMax", "Max", "Clip"),
    says="A float16 value is rounded for some of its readers and not for others, so that a maximum may equal none "
    "of its inputs.",
)
def compared_wide(rule: Rule, when: When = lambda inputs, attributes: True) -> Rule:
    """Wrap a rule: for arrays of 16 bits its pullback is that of float32 on the same numbers, computed from the inputs.

    `when` says for which inputs and attributes the rule compares.
    """

    @functools.wraps(rule)
    def wide(*inputs: Array | None, **attributes: Any) -> tuple[Any, Callable[..., Any]]:
        outputs, pullback = rule(*inputs, **attributes)
        dtype = _half_among(inputs)
        if dtype is None or not when(inputs, attributes):
            return outputs, pullback
        return outputs, lambda *cotangents: _pulled(_in_float32(rule, inputs, attributes)[1], cotangents, dtype)

    return wide


def computed_wide(rule: Rule) -> Rule:
    """Wrap a rule: for arrays of 16 bits it runs in float32, since 16 bits do not hold its sums and counts."""

    @functools.wraps(rule)
    def wide(*inputs: Array | None, **attributes: Any) -> tuple[Any, Callable[..., Any]]:
        dtype = _half_among(inputs)
        if dtype is None:
            return rule(*inputs, **attributes)
        outputs, back = _in_float32(rule, inputs, attributes)
        return [_narrow(y, dtype) for y in as_list(outputs)], lambda *cotangents: _pulled(back, cotangents, dtype)

    return wide


def wider(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """Return the floating dtype that holds the floats of both: float32 for the two of 16 bits; `b` beside integers."""
    if a.kind in "iub" or a == b:
        return b
    if a.itemsize == b.itemsize:
        return np.dtype(np.float32)
    return a if a.itemsize > b.itemsize else b


def _half_among(inputs: Sequence[Array | None]) -> np.dtype[Any] | None:
    """Return the dtype of 16 bits that some inputs have; None if none has."""
    dtypes = {x.dtype for x in inputs if x is not None and x.dtype in HALVES}
    if not dtypes:
        return None
    (dtype,) = dtypes
    return dtype


def _in_float32(
    rule: Rule, inputs: Sequence[Array | None], attributes: Mapping[str, Any]
) -> tuple[Any, Callable[..., Any]]:
    return rule(*(_cast(x, np.float32) for x in inputs), **attributes)


def _pulled(back: Callable[..., Any], cotangents: Sequence[Array | None], dtype: np.dtype[Any]) -> list[Array | None]:
    """Return the results of a pullback of float32, in 16 bits."""
    return [_narrow(dx, dtype) for dx in as_list(back(*(_cast(dy, np.float32) for dy in cotangents)))]


def _cast(x: Array | None, dtype: Any) -> Array | None:
    return op.Cast(x, to=dtype) if x is not None and x.dtype in HALVES else x


def _narrow(x: Array | None, dtype: np.dtype[Any]) -> Array | None:
    return op.Cast(x, to=dtype) if x is not None and x.type.is_float else x
