"""Prepares samples for the functions of scipy.stats: float arrays, an axis, and counts of the numbers present."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import floating
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape, broadcast_shapes
from primsplit.numpy.axes import many_axes, size_as
from primsplit.numpy.validity import where_valid
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import expand_to

BESIDE, OTHER = ("weights", "qk", "y", "f_exp"), "b"
"""SciPy's names of arguments that lie along the axes of a sample, and of a sample of another size."""
OF_SEVERAL = ("bartlett", "f_oneway", "levene")
"""Functions of any number of samples."""


def sample(a: Any, axis: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The numbers, and the axis along which they are a sample: all of them in a row for None."""
    given: Any = array_like(floating(a))
    if dtype is not None:
        given = given.astype(dtype)
    return (np.ravel(given), 0) if axis is None else (given, axis)


def whole_sample(x: Any, axis: Any) -> Any:
    """The floats, all NaN along the axis where one is, in value and derivative: SciPy's nan_policy "propagate".

    A function that sorts, compares or chooses would lose the one that is NaN.
    """
    return where_valid(~np.any(np.isnan(x), axis=axis, keepdims=True), x)[0]


def count_of(x: Any, axis: int) -> Any:
    """Return the number of elements of a sample; as a traced number of its dtype if only the run knows."""
    size: Dim = x.shape[axis]
    return size if isinstance(size, int) else size_as(size, x.dtype)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A sample along an axis, and which of its numbers count: all for None. What does not is 1."""

    x: Any
    axis: int
    there: Any = None

    def mean(self, values: Any, *, keepdims: Any = False) -> Any:
        """The mean of values of the numbers that count."""
        if self.there is None:
            return np.mean(values, axis=self.axis, keepdims=keepdims)
        return self.sum(values, keepdims=keepdims) / self.count(keepdims=keepdims)

    def sum(self, values: Any, *, keepdims: Any = False) -> Any:
        """The sum of values of the numbers that count."""
        held = values if self.there is None else np.where(self.there, values, 0.0)
        return np.sum(held, axis=self.axis, keepdims=keepdims)

    def count(self, *, keepdims: Any = False) -> Any:
        """Return the number of elements that are present."""
        if self.there is None:
            return count_of(self.x, self.axis)
        return np.sum(self.there, axis=self.axis, keepdims=keepdims, dtype=self.x.dtype)

    def away(self) -> Any:
        """Return the differences of the numbers from their mean."""
        return self.x - self.mean(self.x, keepdims=True)

    def spread(self, ddof: Any, *, keepdims: Any = False) -> Any:
        """The standard deviation."""
        if self.there is None:
            return np.std(self.x, axis=self.axis, ddof=ddof, keepdims=keepdims)
        free = self.count(keepdims=keepdims) - ddof
        return np.sqrt(self.sum(self.away() ** 2, keepdims=keepdims) / np.where(free > 0, free, np.nan))


def numbers(a: Any, axis: Any, nan_policy: str, dtype: Any = None) -> Numbers:
    """The numbers of a sample; NaN does not count with `nan_policy` "omit". Raises UnsupportedFunction for "raise"."""
    x, axis = sample(a, axis, dtype)
    if nan_policy == "propagate":
        return Numbers(x, axis)
    if nan_policy != "omit":
        raise unsupported(f"scipy.stats with nan_policy={nan_policy!r}")
    there = ~np.isnan(x)
    return Numbers(np.where(there, x, 1.0), axis, there)


def summary(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a sample along one axis as one along several, or all for None, which `keepdims` leaves as ones."""
    first = next(iter(inspect.signature(function).parameters))

    @functools.wraps(function)
    def call(**given: Any) -> Any:
        axis, is_several = given["axis"], function.__name__ in OF_SEVERAL
        x = array_like(given[first][0] if is_several else given[first])
        if isinstance(axis, int) or x.ndim == 0:
            return function(**given)
        axes = tuple(range(x.ndim)) if axis is None else many_axes(axis, x.ndim)
        for name in BESIDE:
            if given.get(name) is not None:
                given[name] = _joined(array_like(given[name]), x.shape, axes)
        for name in (first, OTHER):
            if given.get(name) is not None:
                arrays = [array_like(v) for v in (given[name] if is_several else [given[name]])]
                joined = tuple(_joined(v, v.shape, axes) for v in arrays)
                given[name] = joined if is_several else joined[0]
        keeps = given.get("keepdims", False)
        found = function(**given | {"axis": -1} | ({"keepdims": False} if "keepdims" in given else {}))
        if not keeps:
            return found
        is_outcome = isinstance(found, tuple)
        return type(found)(*(np.expand_dims(v, axes) for v in found)) if is_outcome else np.expand_dims(found, axes)

    return call


def _joined(x: Array, shape: Shape, axes: tuple[int, ...]) -> Any:
    """`x` in a shape that it is broadcast to, with some axes as one behind the others."""
    wide: Any = expand_to(x, broadcast_shapes(x.shape, shape))
    rest = [n for i, n in enumerate(wide.shape) if i not in axes]
    count = dims.product(wide.shape[i] for i in axes)
    return np.moveaxis(wide, axes, tuple(range(-len(axes), 0))).reshape((*rest, count))
