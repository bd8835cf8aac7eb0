"""Functions that sum products of elements; each is computed from the products of the real and imaginary parts.

a @ b
becomes
real: a.real @ b.real - a.imag @ b.imag
imag: a.real @ b.imag + a.imag @ b.real
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.numpy import ufuncs
from primsplit.numpy.complex.arithmetic import minus, plus
from primsplit.numpy.complex.dispatch import PRODUCTS, offers
from primsplit.numpy.complex.operands import Pair, loop_part, made, operand, pair_of
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import refused

Function = Callable[..., Any]


def multilinear(function: Function, factors: Sequence[Pair]) -> Pair:
    """Apply a function that is linear in each of these real arrays to complex ones, part by part."""
    real: Array | None = None
    imaginary: Array | None = None
    for choice in itertools.product((0, 1), repeat=len(factors)):
        parts = [factor[i] for factor, i in zip(factors, choice, strict=True)]
        if any(p is None for p in parts):
            continue
        term = function(*parts)
        power = sum(choice)
        combine = minus if power % 4 > 1 else plus
        if power % 2:
            imaginary = combine(imaginary, term)
        else:
            real = combine(real, term)
    return Pair(real, imaginary)


def bilinear(function: Function, a: Any, b: Any) -> Any:
    """Apply a function that is linear in both arguments to `a` and `b`, at least one of which is complex."""
    return made(multilinear(function, factors((a, b), None)))


def factors(values: Sequence[Any], conjugated: int | None) -> list[Pair]:
    """The parts of the operands in their common dtype, one of them conjugated."""
    given = [operand(v) for v in values]
    strong = [Array(a.value) if a.weak and a.dtype.kind != "c" else a for a in given]
    part = loop_part(np.add, _widest(strong))
    pairs = [pair_of(a, part) for a in strong]
    if conjugated is not None:
        pairs[conjugated] = Pair(pairs[conjugated].real, minus(None, pairs[conjugated].imag))
    return pairs


def _widest(arrays: Sequence[Array]) -> list[Array]:
    """A complex operand, and the one that asks for the widest result."""
    widest = max(arrays, key=lambda a: np.result_type(a.dtype, np.complex64).itemsize)
    return [next(a for a in arrays if a.dtype.kind == "c"), widest]


def _product(key: Any, conjugated: int | None = None) -> None:
    """Register a function of two arrays."""
    real = FUNCTIONS[key]

    @offers(key)
    def product(a: Any, b: Any, *args: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            raise refused(f"np.{key.__name__} with out=")
        found = multilinear(lambda x, y: real(x, y, *args, **options), factors((a, b), conjugated))
        result = made(found)
        result.scalar = True
        return result


for _key, _conjugated in (
    (np.dot, None), (np.vdot, 0), (np.inner, None), (np.outer, None), (np.linalg.outer, None), (np.tensordot, None),
    (np.linalg.tensordot, None), (np.kron, None), (np.convolve, None), (np.correlate, 1), (np.cross, None),
    (np.linalg.cross, None),
):  # fmt: skip
    _product(_key, _conjugated)


def _gufunc(name: str, conjugated: int | None = None) -> None:
    """Register a ufunc of two arrays."""

    def product(a: Array, b: Array) -> Any:
        found = made(multilinear(ufuncs.ELEMENTWISE[name], factors((a, b), conjugated)))
        found.scalar = True
        return found

    PRODUCTS[name] = product


_gufunc("matmul")
_gufunc("vecdot", 0)
_gufunc("matvec")
_gufunc("vecmat", 0)

_einsum = FUNCTIONS[np.einsum]


@offers(np.einsum)
def einsum(equation: Any, *operands: Any, out: Any = None, optimize: Any = False, dtype: Any = None, **_: Any) -> Any:
    """An einsum that is written as a text."""
    if not isinstance(equation, str) or out is not None or dtype is not None:
        raise refused("np.einsum with lists of labels, out= or dtype=", 'Write the labels as a text: "ij,jk->ik".')
    return made(multilinear(lambda *parts: _einsum(equation, *parts), factors(operands, None)))


@offers(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """The polynomial with coefficients p, highest first, by Horner's rule. A coefficient or `x` is complex."""
    first, *rest = p if isinstance(p, Sequence) else operand(p)
    point = operand(x)
    result: Any = FUNCTIONS[np.zeros_like](point) + first
    for coefficient in rest:
        result = result * point + coefficient
    return result
