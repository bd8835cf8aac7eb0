"""Evaluate what a branch tests: a traced truth value, or a comparison of sizes on a line of the user's."""

import os
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Value, dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.call_stack import innermost_frame
from primsplit.tracing.handles import integer_ranges
from primsplit.tracing.hooks import HOOKS


def scalar_condition(value: Any) -> Value:
    """Return a predicate as a bool without axes. Raises ShapeError for one with several elements."""
    array = as_array(value)
    if array.dtype != np.bool_:
        number, array = array, op.Cast(array, to=np.bool_)
        if number.weak and number.dtype.kind == "i":
            integer_ranges.note_compared(np.not_equal, array.value, (number, 0))
    if array.shape == ():
        return array.value
    if all(dims.is_one(d) for d in array.shape):
        return op.Reshape(array, np.zeros(0, np.int64)).value
    raise ShapeError(
        f"a condition must be one truth value, not {array.type}",
        place=tracing.user_place(),
        cure="Reduce it with np.all or np.any, or choose by elements with np.where.",
    )


HOOKS.scalar_condition = scalar_condition


def decide_size(a: Dim, relation: str, b: Dim) -> bool | None:
    """Return the path's answer to a comparison of sizes on a line of the user's; None elsewhere."""
    if not tracing.is_recording() or tracing.current().path is None or not _asked_by_user():
        return None
    left, right = as_array(a), as_array(b)
    compared = {"==": op.Equal, "<": op.Less, "<=": op.LessOrEqual}[relation](left, right)
    return bool(Array(compared.value))


_SIZES = os.path.dirname(dims.__file__) + os.sep


def _is_between(filename: str) -> bool:
    return filename == __file__ or filename.startswith(_SIZES) or tracing.is_operator(filename)


def _asked_by_user() -> bool:
    """Whether the innermost frame outside of `dims` and this module is the user's."""
    frame = innermost_frame(_is_between)
    return frame is not None and not tracing.is_library(frame.f_code.co_filename)


Size.decide = staticmethod(decide_size)
