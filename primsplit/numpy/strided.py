"""as_strided: reads an array's elements by the bytes between them, as `x.strides` describes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import array_like, as_count, size_as
from primsplit.numpy.layout import as_shape, read_only_view
from primsplit.ops import op
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.broadcasting import count_up, expand_to, inverse_permutation, reshape_to, transpose


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True, **unused: Any
) -> Array:
    """The view with this shape and these bytes from element to element, which cannot be written to.

    Raises ShapeError for elements beyond the array, where they are known; else the run fails for them. Raises
    UnsupportedFunction for a view, of which only NumPy knows how it lies in memory.
    """
    x = array_like(x)
    if x.view_of is not None and not x.contiguous:
        raise unsupported("np.lib.stride_tricks.as_strided of a view")
    target = list(x.shape if shape is None else as_shape(shape))
    steps = _elements(x, x.strides if strides is None else tuple(map(as_count, strides)))
    if len(steps) != len(target):
        raise ShapeError("strides and shape must have as many entries", place=tracing.user_place())
    if all(isinstance(d, int) for d in (*x.shape, *target, *steps)):
        return _of_known(x, target, steps)
    return read_only_view(x, lambda source: _gathered(source, target, steps))


def _elements(x: Array, strides: Sequence[Dim]) -> list[Dim]:
    """Strides in elements. Raises ShapeError for bytes between two elements, and for steps back."""
    found = [dims.exact_quotient(s, x.itemsize) for s in strides]
    if any(f is None or (isinstance(f, int) and f < 0) for f in found):
        told = ", ".join(map(str, strides))
        raise ShapeError(f"strides ({told}) are no multiples of {x.itemsize} bytes", place=tracing.user_place())
    return [f for f in found if f is not None]


def _of_known(x: Array, target: Sequence[Any], steps: Sequence[Any]) -> Array:
    """Windows along the axes, where the steps are along these; else every element by its place."""
    reach = sum((n - 1) * s for n, s in zip(target, steps, strict=True))
    if 0 not in target and reach >= max(dims.product(x.shape), 1):
        raise ShapeError(f"as_strided goes {reach} elements into {x.type}", place=tracing.user_place())
    axes = _axes_of(x, target, steps)
    if axes is None or 0 in target:
        return read_only_view(x, lambda source: _gathered(source, target, steps))
    return read_only_view(x, lambda source: _windows(source, target, axes))


Window = tuple[int, int] | None
"""An axis of an array, and how far apart the picked elements are along it; None for one that repeats."""


def _axes_of(x: Array, target: Sequence[Any], steps: Sequence[Any]) -> list[Window] | None:
    """Return, for each axis of the result, the axis of `x` it runs along and its step.

    None if one crosses rows of `x`.
    """
    own: list[Any] = _elements(x, x.strides)
    left: list[Any] = [n - 1 for n in x.shape]
    found: list[Window] = []
    for size, step in zip(target, steps, strict=True):
        fitting = [a for a, s in enumerate(own) if step and s and step % s == 0 and (size - 1) * (step // s) <= left[a]]
        if step and size > 1 and not fitting:
            return None
        axis = fitting[0] if step and size > 1 else None
        found.append(None if axis is None else (axis, step // own[axis]))
        if axis is not None:
            left[axis] -= (size - 1) * (step // own[axis])
    return found


def _windows(x: Array, target: Sequence[Any], axes: Sequence[Window]) -> Array:
    """One Gather an axis: its index has an axis for each that runs along it."""
    order: list[int] = []
    for axis in reversed(range(x.ndim)):
        along = [(k, w[1]) for k, w in enumerate(axes) if w is not None and w[0] == axis]
        place = np.zeros((), np.int64)
        for k, step in along:
            place = place[..., None] + step * np.arange(target[k])
        x = op.Gather(x, place, axis=axis)
        order = [k for k, _ in along] + order
    kept = sorted(order)
    x = transpose(x, inverse_permutation([kept.index(k) for k in order]))
    repeated = [k for k in range(len(target)) if k not in kept]
    return expand_to(op.Unsqueeze(x, repeated), tuple(target)) if repeated else x


def _gathered(x: Array, target: Sequence[Dim], steps: Sequence[Dim]) -> Array:
    """Each element by its place in the row of all."""
    place: Array = op.Reshape(np.zeros(1, np.int64), [1] * len(target)) if target else Array(tracing.constant(0))
    for k, (size, step) in enumerate(zip(target, steps, strict=True)):
        along = op.Mul(count_up(size), size_as(step, np.int64))
        place = op.Add(place, reshape_to(along, [size if i == k else 1 for i in range(len(target))]))
    found: Array = op.Gather(reshape_to(x, (x.size,)), place)
    return found
