"""Elementwise functions that ONNX has no operator for, each one op of the program with its own derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir.dims import is_one
from primsplit.numpy.approximations.limits import float_limits
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.calls.primitive import Function, Primitive, primitive, rrule

Slope = Callable[..., Array] | None
Unit = Callable[..., Array]
UNITS: dict[str, Primitive] = {}
"""The primitives of the functions by name. A stored recording tells them so."""


def unit(name: str, body: Callable[..., Array], *slopes: Slope) -> Unit:
    """The function that `body` computes, as one op with a rule.

    Each slope gives the cotangent of one argument from the result's cotangent, the arguments and the result:
    `lambda dz, x, z: dz / x`. None is no tangent. Broadcasting is undone here.
    """
    made = UNITS[name] = Primitive(body, name)

    @rrule(made)
    def rule(*inputs: Array) -> tuple[Array, Function]:
        z = made(*inputs)

        def pullback(dz: Array) -> tuple[Array | None, ...]:
            return tuple(
                None if slope is None else sum_to(slope(dz, *inputs, z), x.shape)
                for slope, x in zip(slopes, inputs, strict=True)
            )

        return z, pullback

    rule.__name__ = f"{name}_rule"

    def function(*inputs: Array) -> Array:
        found: Array = made(*inputs)
        return found

    function.__name__ = name
    return function


def is_bool(x: Array) -> bool:
    """Return whether the dtype is bool, whose arithmetic is logic."""
    return x.dtype.kind == "b"


def is_whole(x: Array) -> bool:
    """Return whether the dtype is bool or an integer, which have no fraction."""
    return x.dtype.kind in "biu"


def is_signed(x: Array) -> bool:
    """Return whether the dtype is a signed integer."""
    return x.dtype.kind == "i"


def same(x: Array) -> Array:
    """A new handle of the same value: a write to one does not show in the other."""
    return Array(x.value)


def number(x: Array, rank: int = 0) -> Any:
    """The one number of a constant with at most this many axes, all of size 1; else None."""
    known = x.known() if len(x.shape) <= rank and all(map(is_one, x.shape)) else None
    return None if known is None else known.item()


def smallest(x: Array) -> np.ndarray[Any, Any]:
    """The smallest positive number of the dtype.

    dz / Max(y, smallest) is dz / y where y is not 0, infinite where y is 0 and dz is not tiny, and 0 where both are 0.
    """
    return np.asarray(float_limits(x).smallest_subnormal, x.dtype)


@primitive
def nan_where(undefined: Array, dz: Array) -> Array:
    """The cotangent; NaN where a slope is undefined, but 0 stays 0 there, since it asks for no slope.

    Both have one shape, though its sizes may have other names in the two.

    So a state of probability 0, which nothing depends on, spoils no gradient. The slope that multiplies this is to be 0
    there: then a tangent, which meets the slope first, is 0 and spoils nothing either.
    """
    none, nan = np.zeros((), dz.dtype), np.full((), np.nan, dz.dtype)
    found: Array = op.Where(undefined, op.Where(op.Equal(dz, none), none, nan), dz, types=[dz.type])
    return found


@rrule(nan_where)
def _nan_where_rule(undefined: Array, dz: Array) -> tuple[Array, Function]:
    """It stands for a product with 1 or NaN, which is its own transpose."""
    return nan_where(undefined, dz), lambda c: (None, nan_where(undefined, c))


def common_dtype(*arrays: Array) -> np.dtype[Any]:
    """The dtype that NumPy promotes these to; Python numbers give way to arrays."""
    found: np.dtype[Any] = FUNCTIONS[np.result_type](*arrays)
    return found
