"""Comparisons of complex numbers in NumPy's order: by the real part, then by the imaginary part."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.complex.arithmetic import elementwise
from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.operands import Pair, as_complex, operand
from primsplit.ops import op
from primsplit.tracing.array import FUNCTIONS, Array


def _ordered(name: str, by_real: str, by_imag: str) -> Callable[[Pair, Pair], Array]:
    """Register a comparison: by the first operator, and by the second where the real parts are equal."""

    @elementwise(name)
    def compared(a: Pair, b: Pair) -> Array:
        (x, y), (u, v) = a.whole(), b.whole()
        is_number = op.Not(op.Or(op.IsNaN(y), op.IsNaN(v)))
        first = op.And(getattr(op, by_real)(x, u), is_number)
        found: Array = op.Or(first, op.And(op.Equal(x, u), getattr(op, by_imag)(y, v)))
        return found

    return compared


_ordered("less", "Less", "Less")
_ordered("greater", "Greater", "Greater")
at_most = _ordered("less_equal", "Less", "LessOrEqual")
at_least = _ordered("greater_equal", "Greater", "GreaterOrEqual")


def _is_nan(z: Pair) -> Array:
    x, y = z.whole()
    return op.Or(op.IsNaN(x), op.IsNaN(y))


def _chosen(name: str, is_first: Callable[[Pair, Pair], Array], *, passes_over_nan: bool) -> None:
    """Register the function that gives the first of two where it comes first, or is NaN, or the second is."""

    @elementwise(name)
    def chosen(a: Pair, b: Pair) -> Pair:
        takes = op.Or(_is_nan(b if passes_over_nan else a), is_first(a, b))
        return Pair(*(op.Where(takes, x, y) for x, y in zip(a.whole(), b.whole(), strict=True)))


_chosen("maximum", at_least, passes_over_nan=False)
_chosen("minimum", at_most, passes_over_nan=False)
_chosen("fmax", at_least, passes_over_nan=True)
_chosen("fmin", at_most, passes_over_nan=True)


def _is_true(z: Pair) -> Array:
    x, y = z.whole()
    return op.Not(op.And(op.Equal(x, 0.0), op.Equal(y, 0.0)))


def _logical(name: str, join: str) -> None:
    @elementwise(name)
    def logical(a: Pair, b: Pair) -> Array:
        found: Array = getattr(op, join)(_is_true(a), _is_true(b))
        return found


_logical("logical_and", "And")
_logical("logical_or", "Or")
_logical("logical_xor", "Xor")


@elementwise("logical_not")
def logical_not(z: Pair) -> Array:
    """Return whether the number is 0."""
    return op.Not(_is_true(z))


@offers(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    """The array between two numbers in this order."""
    low, high = options.pop("min", a_min), options.pop("max", a_max)
    found: Any = as_complex(a)
    found = found if low is None or low is np._NoValue else np.maximum(found, low)
    found = found if high is None or high is np._NoValue else np.minimum(found, high)
    return np.positive(found, out=out, **options)


@offers(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """|a - b| <= atol + rtol |b| for finite b; equal infinities are close, NaNs where asked."""
    x, y = operand(a), operand(b)
    near = (np.abs(x - y) <= atol + rtol * np.abs(y)) & np.isfinite(y)
    close = near | (x == y)
    return close | (np.isnan(x) & np.isnan(y)) if equal_nan else close


@offers(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Return whether all elements are close."""
    return FUNCTIONS[np.all](isclose(a, b, rtol, atol, equal_nan))


def _alike(key: Callable[..., Any]) -> None:
    """Register a function that asks whether arrays are equal, which their parts are then both."""
    real = FUNCTIONS[key]

    @offers(key)
    def equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
        options = {"equal_nan": True} if equal_nan else {}
        pair: list[Any] = [as_complex(a) for a in (a1, a2)]
        x, y = (np.where(np.isnan(z), np.nan + 1j * np.nan, z) for z in pair) if equal_nan else pair
        return real(x.real, y.real, **options) & real(x.imag, y.imag, **options)


_alike(np.array_equal)
_alike(np.array_equiv)
