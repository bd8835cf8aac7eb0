"""Joining, choosing and filling: functions of several arrays, of which some may be real."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy.complex.dispatch import offers
from primsplit.numpy.complex.linear import zipped
from primsplit.numpy.complex.operands import as_complex, holds_complex, loop_part, operand, pair_of, part_dtype
from primsplit.tracing.array import FUNCTIONS, Array
from primsplit.tracing.complex_array import ComplexArray, refused

JOINING = (
    np.concatenate, np.stack, np.hstack, np.vstack, np.dstack, np.column_stack, np.block, np.append,
)  # fmt: skip
SIDE_BY_SIDE: tuple[Any, ...] = (np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_arrays, np.meshgrid)
"""Functions of any number of arrays that give as many, the real ones of real ones."""


def _joining(key: Callable[..., Any]) -> None:
    """Register the function of the real parts and of the imaginary parts."""
    real = FUNCTIONS[key]

    @offers(key)
    def joined(*args: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            raise refused(f"np.{key.__name__} with out=")
        if options.get("dtype") is not None:
            options["dtype"] = part_dtype(options["dtype"])
        count = 2 if key is np.append else 1
        given, rest = args[:count], args[count:]
        found = [real(*(_each(a, name) for a in given), *rest, **options) for name in ("real", "imag")]
        return zipped(*found)


def _each(value: Any, name: str) -> Any:
    """The real or imaginary part of every array in nested lists."""
    if isinstance(value, list | tuple):
        return [_each(v, name) for v in value]
    return getattr(as_complex(value), name)


def _side_by_side(key: Callable[..., Any]) -> None:
    """Register the function of the real parts and of the imaginary parts, with the real arrays in both."""
    real = FUNCTIONS[key]

    @offers(key)
    def aside(*arrays: Any, **options: Any) -> Any:
        are_complex = [holds_complex(a) for a in arrays]
        pairs = list(zip(arrays, are_complex, strict=True))
        found = [real(*(_each(a, n) if z else a for a, z in pairs), **options) for n in ("real", "imag")]
        if not isinstance(found[0], tuple | list):
            return zipped(*found)
        each = zip(*found, are_complex, strict=True)
        return type(found[0])(zipped(x, y) if z else x for x, y, z in each)


for _key in JOINING:
    _joining(_key)
for _each_key in SIDE_BY_SIDE:
    _side_by_side(_each_key)

_where = FUNCTIONS[np.where]


@offers(np.where)
def where(condition: Any, *values: Any) -> Any:
    """`x` where the condition holds, else `y`, of which one may be real."""
    if isinstance(condition, ComplexArray):
        condition = condition != 0
    if len(values) != 2 or not any(map(holds_complex, values)):
        return _where(condition, *values)
    given = [operand(v) for v in values]
    part = loop_part(np.add, given)
    first, second = (pair_of(a, part).whole() for a in given)
    return zipped(*(_where(condition, x, y) for x, y in zip(first, second, strict=True)))


@offers(np.ones_like, dtype_at=1)
def ones_like(a: Any, *args: Any, **options: Any) -> ComplexArray:
    """Ones."""
    return full_like(a, 1, *args, **options)


_full_like = FUNCTIONS[np.full_like]


@offers(np.full_like, dtype_at=2)
def full_like(a: Any, fill_value: Any, dtype: Any = None, *args: Any, **options: Any) -> ComplexArray:
    """A number everywhere, in the dtype of `a`, which is complex, or the one given."""
    like, value = operand(a), as_complex(fill_value)
    part = part_dtype(like.dtype if dtype is None else dtype)
    real, imaginary = (_full_like(like.real, p, part, *args, **options) for p in (value.real, value.imag))
    return ComplexArray(real, imaginary)


@offers("astype", dtype_at=1)
def astype(
    x: Array, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Array:
    """A copy in another dtype. A complex array does not become a real one."""
    if np.dtype(dtype).kind != "c":
        raise refused(f"astype({np.dtype(dtype)})", "NumPy would drop the imaginary part: write z.real, or np.abs(z).")
    part = part_dtype(dtype)
    real, imaginary = (None if p is None else Array(FUNCTIONS["astype"](p, part).value) for p in as_complex(x).parts)
    return ComplexArray(real, imaginary)


@offers(np.astype, dtype_at=1)
def astype_function(x: Array, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Array:
    """A copy in another dtype."""
    return astype(x, dtype)
