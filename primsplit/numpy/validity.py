"""Returns NaN, in value and derivative, for arguments outside a function's domain."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.units import unit
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.calls.primitive import Function, primitive, rrule
from primsplit.tracing.operators import cast_to


def _nan(x: Array) -> Any:
    return np.asarray(np.nan, x.dtype)


def _one_or_nan(x: Array, is_one: Array) -> Array:
    """The number 1 where the condition holds, and NaN elsewhere, in the dtype of `x`."""
    return op.Where(is_one, np.ones((), x.dtype), _nan(x))


_valid = unit(
    "valid",
    lambda x, is_valid: x * _one_or_nan(x, is_valid),
    lambda dz, x, is_valid, z: dz * _one_or_nan(x, is_valid),
    None,
)


def _same(x: Array) -> Array:
    found: Array = op.Identity(x)  # `op.Identity` itself would read the schema at import
    return found


missing = unit("missing", _same, lambda dz, x, z: dz * op.Where(op.IsNaN(x), _nan(x), 1.0))
"""The float itself, whose derivative is NaN where it is NaN.

A function that is linear in its argument needs it: the derivative of -x at NaN would be -1.
"""


def where_valid(is_valid: Any, *values: Array) -> list[Array]:
    """The floats where the condition holds, and NaN with a derivative of NaN elsewhere.

    A condition that is known to hold costs nothing. A derivative is NaN also where its cotangent is 0.
    """
    condition = array_like(is_valid)
    known = condition.known()
    if known is not None and np.all(known):
        return list(values)
    return [_valid(v, condition) for v in values]


@primitive
def lost(dz: Array, z: Array, *_: Array) -> Array:
    """NaN where the value `z` is NaN, unless `dz` is 0 there; else 0.

    It stands for dz times a matrix of NaN and 0. The further arguments are those of the function: its next derivatives
    are lost too.
    """
    none = np.zeros((), dz.dtype)
    found: Array = op.Where(op.And(op.IsNaN(z), op.Not(op.Equal(dz, none))), _nan(dz), none)
    return found


@rrule(lost)
def _lost_rule(dz: Array, z: Array, *inputs: Array) -> tuple[Array, Function]:
    def pullback(c: Array) -> tuple[Array | None, ...]:
        further = lost(c * dz, z, *inputs)
        return (lost(c, z, *inputs), None, *(sum_to(further, x.shape) for x in inputs))

    return lost(dz, z, *inputs), pullback


@primitive
def defined(z: Array, *inputs: Array) -> Array:
    """The value `z` of a function of the further arguments, by which its derivatives are NaN where it is NaN.

    NaN comes from a product of the arguments and NaN, so that the derivatives of a file that is loaded again, which has
    these operators instead of the rule below, are NaN there too.
    """
    varying = [x for x in inputs if x.known() is None]
    if not varying:
        return _same(z)
    is_nan = op.IsNaN(z)
    whole = functools.reduce(op.Add, (cast_to(x, z.dtype) for x in varying))
    return op.Where(is_nan, whole * op.Where(is_nan, _nan(z), np.ones((), z.dtype)), z)


@rrule(defined)
def _defined_rule(z: Array, *inputs: Array) -> tuple[Array, Function]:
    def pullback(dz: Array) -> tuple[Array, ...]:
        spoiled = lost(dz, z, *inputs)
        return (dz, *(sum_to(spoiled, x.shape) for x in inputs))

    return defined(z, *inputs), pullback


def lost_at_nan(function: Callable[..., Any], steps: tuple[int, ...] = ()) -> Callable[..., Any]:
    """The function, whose derivatives are NaN where its value is NaN; a cotangent of 0 stays 0.

    Rules cut their formulas to the domain by Where, so that a derivative beyond it would be 0, or be that of the
    formula. Results may be several. In the arguments `steps` there is no derivative. The value costs nothing, a
    derivative five cheap operators.
    """

    @functools.wraps(function)
    def wrapped(*inputs: Any) -> Any:
        found = function(*inputs)
        floats = [x for i, x in enumerate(inputs) if i not in steps and isinstance(x, Array) and x.type.is_float]
        if not floats:
            return found
        if isinstance(found, tuple):
            return tuple(defined(z, *floats) for z in found)
        return defined(found, *floats)

    return wrapped
