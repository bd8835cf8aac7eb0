"""Derivative rules of operators that pick and put elements.

The pullback of picking adds up, at each place, the cotangents of all elements that were read from there.

```
z = Gather(x, [1, 2])   ->   dx = ScatterND(zeros, [[1], [2]], dz, reduction="add")
```
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir.dims import Dim, Shape, at_least, is_one
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rules.halves import compared_wide
from primsplit.rules.table import Pullback, no_gradient, rrule
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import (
    expand_to,
    full,
    inverse_permutation,
    reshape_to,
    size_scalar,
    transpose,
    zeros,
)


def as_column(indices: Array) -> Array:
    """Return indices along one axis in the form that ScatterND takes: int64, with a last axis of size 1."""
    known = indices.known()
    if known is not None:
        return Array(tracing.constant(known.astype(np.int64)[..., None]))
    wide = indices if indices.dtype == np.int64 else op.Cast(indices, to=np.int64)
    return op.Unsqueeze(wide, [-1])


def scatter_along(dz: Array, shape: Shape, indices: Array, axis: int) -> Array:
    """Return zeros of this shape plus, at each index along `axis`, the slice of `dz` that belongs to it.

    `dz` has the axes of the indices in the place of `axis`. Whole slices are scattered, along the first axis: that is
    ScatterND's fast form, also with the two transpositions.
    """
    count = len(indices.shape)
    rank = len(shape) - 1 + count
    block = range(axis, axis + count)
    front = transpose(dz, [*block, *(i for i in range(rank) if i not in block)])
    order = [axis, *(i for i in range(len(shape)) if i != axis)]
    start = zeros([shape[i] for i in order], dz.dtype)
    return transpose(op.ScatterND(start, as_column(indices), front, reduction="add"), inverse_permutation(order))


def part(vector: Array, position: int) -> Array:
    """Return one element of a vector, as a vector."""
    known = vector.known()
    if known is not None:
        return Array(tracing.constant(known[position : position + 1]))
    return vector if is_one(vector.shape[0]) else op.Slice(vector, [position], [position + 1], [0])


@rrule("Gather")
def gather(x: Array, indices: Array, *, axis: int) -> tuple[Array, Pullback]:
    """Cotangents of elements that were read from the same place add up there."""
    z = op.Gather(x, indices, axis=axis)

    def pullback(dz: Array) -> tuple[Array, None]:
        return scatter_along(dz, x.shape, indices, axis % len(x.shape)), None

    return z, pullback


@rrule("GatherElements")
def gather_elements(x: Array, indices: Array, *, axis: int) -> tuple[Array, Pullback]:
    """Cotangents of elements that were read from the same place add up there."""
    z = op.GatherElements(x, indices, axis=axis)

    def pullback(dz: Array) -> tuple[Array, None]:
        return op.ScatterElements(zeros(x.shape, dz.dtype), indices, dz, axis=axis, reduction="add"), None

    return z, pullback


@rrule("GatherND")
def gather_nd(x: Array, indices: Array, *, batch_dims: int) -> tuple[Array, Pullback]:
    """Cotangents of slices that were read from the same place add up there."""
    z = op.GatherND(x, indices, batch_dims=batch_dims)

    def pullback(dz: Array) -> tuple[Array, None]:
        places = with_batch_coordinates(indices, batch_dims)
        return op.ScatterND(zeros(x.shape, dz.dtype), places, dz, reduction="add"), None

    return z, pullback


def with_batch_coordinates(indices: Array, batch_dims: int) -> Array:
    """Turn indices within each batch into indices of the whole: ScatterND knows no batches."""
    if not batch_dims:
        return indices
    columns: list[Array] = []
    for axis in range(batch_dims):
        counted = op.Range(0, size_scalar(indices.shape[axis]), 1)
        spread = reshape_to(counted, [d if i == axis else 1 for i, d in enumerate(indices.shape)])
        columns.append(expand_to(spread, (*indices.shape[:-1], 1)))
    return op.Concat(*columns, indices, axis=-1)


@dataclass(frozen=True, slots=True)
class Scatter:
    """One use of a scatter: its operands, its result, and how to read and write at the same places."""

    data: Array
    updates: Array
    z: Array
    read: Callable[[Array], Array]
    write: Callable[[Array, Array, str], Array]


def scatter_nd(data: Array, indices: Array, updates: Array, *, reduction: str | bytes) -> tuple[Array, Pullback]:
    """Updates get the cotangent of their place; the functions below handle the reductions."""

    def write(x: Array, u: Array, reduction: str) -> Array:
        return op.ScatterND(x, indices, u, reduction=reduction)

    def read(x: Array) -> Array:
        return op.GatherND(x, indices, types=[updates.type])

    use = Scatter(data, updates, write(data, updates, text(reduction)), read, write)
    return use.z, _pullback(use, text(reduction))


def scatter_elements(
    data: Array, indices: Array, updates: Array, *, axis: int, reduction: str | bytes
) -> tuple[Array, Pullback]:
    """Updates get the cotangent of their place; the functions below handle the reductions."""

    def read(x: Array) -> Array:
        return op.GatherElements(x, indices, axis=axis, types=[updates.type])

    def write(x: Array, u: Array, reduction: str) -> Array:
        return op.ScatterElements(x, indices, u, axis=axis, reduction=reduction)

    use = Scatter(data, updates, write(data, updates, text(reduction)), read, write)
    return use.z, _pullback(use, text(reduction))


def _takes_extremum(inputs: Sequence[Array | None], attributes: Mapping[str, Any]) -> bool:
    return text(attributes["reduction"]) in {"max", "min"}


rrule("ScatterND")(compared_wide(scatter_nd, _takes_extremum))
rrule("ScatterElements")(compared_wide(scatter_elements, _takes_extremum))


def _pullback(made: Scatter, reduction: str) -> Pullback:
    rule = {"none": _overwritten, "add": _added, "mul": _multiplied, "max": _extremum, "min": _extremum}[reduction]

    def pullback(dz: Array) -> tuple[Array, None, Array]:
        d_data, d_updates = rule(made, dz)
        return d_data, None, d_updates

    return pullback


def _overwritten(made: Scatter, dz: Array) -> tuple[Array, Array]:
    """Without reduction; the standard allows no place to be written twice."""
    return made.write(dz, zeros(made.updates.shape, dz.dtype), "none"), made.read(dz)


def _added(made: Scatter, dz: Array) -> tuple[Array, Array]:
    return dz, made.read(dz)


def _multiplied(made: Scatter, dz: Array) -> tuple[Array, Array]:
    """The product of the other factors, right also where factors are zero, as is its derivative.

    The factors of a place are split into those that are zero and the rest. The other factors have no zero, one or more:
    their product is then the product of the rest, that times the zero (which keeps the derivative), or zero. Third
    derivatives at places with two zero factors are not covered.
    """
    updates, dtype = made.updates, made.data.dtype
    nothing, one = full(made.data.shape, np.zeros((), dtype)), full(made.data.shape, np.ones((), dtype))
    is_zero = op.Equal(updates, 0.0)
    zero = op.Cast(is_zero, to=dtype)
    rest = op.Where(is_zero, 1.0, updates)
    fellow_zeros = made.read(made.write(nothing, zero, "add")) - zero
    their_sum = made.read(made.write(nothing, updates * zero, "add")) - updates * zero
    of_zeros = op.Where(op.Equal(fellow_zeros, 0.0), 1.0, op.Where(op.Equal(fellow_zeros, 1.0), their_sum, 0.0))
    others = made.read(made.write(one, rest, "mul")) / rest * of_zeros
    return dz * made.write(one, updates, "mul"), made.read(dz * made.data) * others


def _extremum(made: Scatter, dz: Array) -> tuple[Array, Array]:
    """The cotangent goes to the winner; a tie shares it evenly among all that are equal, the old value included."""
    kept = op.Cast(op.Equal(made.data, made.z), to=dz.dtype)
    won = op.Cast(op.Equal(made.updates, made.read(made.z)), to=dz.dtype)
    share = dz / made.write(kept, won, "add")
    return share * kept, made.read(share) * won


@rrule("Compress")
def compress(x: Array, condition: Array, *, axis: int | None = None) -> tuple[Array, Pullback]:
    """The cotangents return to the places that were picked."""
    z = op.Compress(x, condition, axis=axis)

    def pullback(dz: Array) -> tuple[Array, None]:
        places = (x.size,) if axis is None else x.shape
        along = 0 if axis is None else axis % len(x.shape)
        picked = op.Squeeze(op.NonZero(_within(condition, places[along])), [0])
        return reshape_to(scatter_along(dz, places, picked, along), x.shape), None

    return z, pullback


def _within(condition: Array, size: Dim) -> Array:
    """Return the condition without its elements beyond the axis, which onnxruntime ignores."""
    if at_least(size, condition.shape[0]):
        return condition
    found: Array = op.Slice(condition, [0], tracing.size_vector([size]), [0])
    return found


@rrule("OneHot")
def one_hot(indices: Array, depth: Array, values: Array, *, axis: int) -> tuple[Array, Pullback]:
    """The off and on values each get the sum of the cotangents at their places."""
    z = op.OneHot(indices, depth, values, axis=axis)

    def pullback(dz: Array) -> tuple[None, None, Array]:
        on = op.OneHot(indices, depth, np.array([0, 1], dz.dtype), axis=axis)
        off = op.OneHot(indices, depth, np.array([1, 0], dz.dtype), axis=axis)
        sums = [op.Reshape(op.ReduceSum(dz * mask, keepdims=0), [1]) for mask in (off, on)]
        return None, None, op.Concat(*sums, axis=0, types=[values.type])

    return z, pullback


@rrule("Range")
def range_(start: Array, limit: Array, delta: Array) -> tuple[Array, Pullback]:
    """Start + i * delta; the limit only decides how many elements there are."""
    z = op.Range(start, limit, delta)

    def pullback(dz: Array) -> tuple[Array, None, Array]:
        counted = op.Cast(op.Range(0, size_scalar(dz.shape[0]), 1), to=dz.dtype)
        return op.ReduceSum(dz, keepdims=0), None, op.ReduceSum(dz * counted, keepdims=0)

    return z, pullback


no_gradient("NonZero", "ConstantOfShape", "EyeLike")
