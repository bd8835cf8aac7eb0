"""Substitutes for NumPy's grids with sizes and ends known only at run time: mgrid, ogrid, indices, fromfunction."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit.ir.dims import Size
from primsplit.numpy.creation import arange, linspace
from primsplit.numpy.joining import stack
from primsplit.numpy.layout import as_shape
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import holds_traced


class Grid:
    """np.mgrid or np.ogrid, whose slices may have sizes or traced numbers for ends."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getitem__(self, key: Any) -> Any:
        slices = key if isinstance(key, tuple) else (key,)
        numbers = [n for s in slices for n in (s.start, s.stop, s.step) if n is not None]
        if not any(map(holds_traced, numbers)):
            return self.original[key]
        wide = np.result_type(*(_dtype(n) for n in numbers))
        lines = [cast_to(_line(s), wide) for s in slices]
        if not isinstance(key, tuple):
            return lines[0]
        spread: Any = np.meshgrid(*lines, indexing="ij", sparse=self.original.sparse)
        return spread if self.original.sparse else stack(list(spread))


def _line(given: slice) -> Array:
    """The numbers of a slice; an imaginary step says how many there are, both ends included."""
    start = 0 if given.start is None else given.start
    step = 1 if given.step is None else given.step
    if isinstance(step, complex):
        spread: Array = linspace(start, given.stop, int(abs(step)))
        return spread
    return arange(start, given.stop, step)


def _dtype(number: Any) -> np.dtype[Any]:
    """The dtype that an end or a step brings."""
    if isinstance(number, Array):
        return number.dtype
    if isinstance(number, Size):
        return np.dtype(np.int64)
    return np.dtype(np.float64) if isinstance(number, complex) else np.asarray(number).dtype


def indices(dimensions: Sequence[Any], dtype: npt.DTypeLike = int, sparse: bool = False) -> Any:
    """The places along each axis of an array of this shape: one array, or with `sparse` a tuple of open ones."""
    lines = [cast_to(arange(d), dtype) for d in as_shape(dimensions)]
    spread: Any = np.meshgrid(*lines, indexing="ij", sparse=sparse)
    return spread if sparse else stack(list(spread))


def from_function(
    function: Callable[..., Any],
    shape: Sequence[Any],
    *,
    dtype: npt.DTypeLike = float,
    like: Any = None,
    **options: Any,
) -> Any:
    """Call the function with the coordinates along each axis, as np.fromfunction does."""
    return function(*indices(shape, dtype), **options)
