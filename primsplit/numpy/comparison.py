"""NumPy's comparisons, logical functions and tests of elements. None has a gradient."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import could_be, same_shape
from primsplit.ir.errors import UndecidableSize
from primsplit.numpy.axes import array_like, delivered
from primsplit.numpy.ufuncs import call, cast_to, elementwise
from primsplit.numpy.units import common_dtype, is_bool, is_whole
from primsplit.ops import op
from primsplit.ops.namespace import later
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import full

Comparison = Callable[[Array, Array], Array]


def _comparison(name: str, operator: Comparison, of_bools: Comparison, *, if_less: bool, if_more: bool) -> None:
    """Register a comparison. `if_less` and `if_more` are its answers where the left is known to be less, or more.

    NumPy compares int64 with uint64 exactly: as the one that is unsigned, where the other is not negative.
    """

    @elementwise(name)
    def compare(x: Array, y: Array) -> Array:
        if is_bool(x):
            return of_bools(x, y)
        if x.dtype == y.dtype:
            return operator(x, y)
        zero = np.zeros((), np.int64)
        if x.dtype.kind == "i":
            return op.Where(op.Less(x, zero), np.asarray(if_less), operator(cast_to(x, y.dtype), y))
        return op.Where(op.Less(y, zero), np.asarray(if_more), operator(x, cast_to(y, x.dtype)))


_comparison("equal", later.Equal, later.Equal, if_less=False, if_more=False)
_comparison("not_equal", lambda x, y: op.Not(op.Equal(x, y)), later.Xor, if_less=True, if_more=True)
_comparison("less", later.Less, lambda x, y: op.And(op.Not(x), y), if_less=True, if_more=False)
_comparison("less_equal", later.LessOrEqual, lambda x, y: op.Or(op.Not(x), y), if_less=True, if_more=False)
_comparison("greater", later.Greater, lambda x, y: op.And(x, op.Not(y)), if_less=False, if_more=True)
_comparison("greater_equal", later.GreaterOrEqual, lambda x, y: op.Or(x, op.Not(y)), if_less=False, if_more=True)


def _truth(x: Array) -> Array:
    """Return whether each element is not 0; NaN counts as true."""
    return cast_to(x, np.bool_)


@elementwise("logical_and")
def logical_and(x: Array, y: Array) -> Array:
    """Return whether both elements are true."""
    return op.And(_truth(x), _truth(y))


@elementwise("logical_or")
def logical_or(x: Array, y: Array) -> Array:
    """Return whether at least one element is true."""
    return op.Or(_truth(x), _truth(y))


@elementwise("logical_xor")
def logical_xor(x: Array, y: Array) -> Array:
    """Return whether exactly one element is true."""
    return op.Xor(_truth(x), _truth(y))


@elementwise("logical_not")
def logical_not(x: Array) -> Array:
    """Return whether the element is 0."""
    return op.Not(_truth(x))


def _everywhere(x: Array, answer: bool) -> Array:
    return full(x.shape, np.asarray(answer))


@elementwise("isnan")
def isnan(x: Array) -> Array:
    """Return whether the element is NaN."""
    return _everywhere(x, answer=False) if is_whole(x) else op.IsNaN(x)


@elementwise("isinf")
def isinf(x: Array) -> Array:
    """Return whether the element is infinite."""
    return _everywhere(x, answer=False) if is_whole(x) else op.IsInf(x)


@elementwise("isfinite")
def isfinite(x: Array) -> Array:
    """Return whether the element is neither infinite nor NaN."""
    return _everywhere(x, answer=True) if is_whole(x) else op.Less(op.Abs(x), math.inf)


@implements(np.isposinf)
def isposinf(x: Any, out: Any = None) -> Any:
    """Return whether the element is +infinity."""
    x = array_like(x)
    return delivered(_everywhere(x, answer=False) if is_whole(x) else op.Equal(x, math.inf), out)


@implements(np.isneginf)
def isneginf(x: Any, out: Any = None) -> Any:
    """Return whether the element is -infinity."""
    x = array_like(x)
    return delivered(_everywhere(x, answer=False) if is_whole(x) else op.Equal(x, -math.inf), out)


@implements(np.isreal)
def isreal(x: Any) -> Array:
    """Return True everywhere for a real array."""
    return _everywhere(array_like(x), answer=True)


@implements(np.iscomplex)
def iscomplex(x: Any) -> Array:
    """False everywhere in a real array."""
    return _everywhere(array_like(x), answer=False)


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Array:
    """|a - b| <= atol + rtol |b| for finite b; equal infinities are close, NaNs where asked."""
    x, y = array_like(a), array_like(b)
    dtype = np.result_type(common_dtype(x, y), 1.0)
    x, y = cast_to(x, dtype), cast_to(y, dtype)
    near = op.And(abs(x - y) <= atol + rtol * abs(y), isfinite(y))
    close: Array = op.Or(near, op.Equal(x, y))
    return op.Or(close, op.And(op.IsNaN(x), op.IsNaN(y))) if equal_nan else close


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether all elements are close."""
    return call(np.all, isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Return whether shapes and elements are equal.

    Raises UndecidableSize where only the run can compare the shapes.
    """
    x, y = array_like(a1), array_like(a2)
    if len(x.shape) != len(y.shape) or not all(map(could_be, x.shape, y.shape)):
        return Array(tracing.constant(np.False_))
    if not same_shape(x.shape, y.shape):
        raise UndecidableSize(
            f"whether the shapes {x.shape} and {y.shape} are equal is known only at run time",
            place=tracing.user_place(),
            cure="Give the axes the same symbol in the spec.",
        )
    equal = x == y
    if equal_nan and not (is_whole(x) or is_whole(y)):
        equal = op.Or(equal, op.And(op.IsNaN(x), op.IsNaN(y)))
    return call(np.all, equal)
