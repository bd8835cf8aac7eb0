"""Shape and order: reshape, transpose, squeeze, broadcast, flip, copy, astype."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from primsplit import tracing
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Shape, Size, broadcast_shapes
from primsplit.ir.errors import DtypeError, ShapeError, TraceError
from primsplit.numpy.axes import NEGATIVE, array_like, as_size, many_axes, one_axis
from primsplit.numpy.memory_order import order_name, reading_order
from primsplit.numpy.ufuncs import Casting, cast_to
from primsplit.numpy.writing import fitted
from primsplit.ops import op
from primsplit.ops.inference.layout import left_over
from primsplit.tracing.array import Array, implements, unsupported
from primsplit.tracing.broadcasting import inverse_permutation, reshape_strictly, reshape_to, reshaped_unless, transpose


def as_shape(shape: Any, negative: Exception = NEGATIVE) -> tuple[Dim, ...]:
    """The sizes of a shape argument: one that `as_size` takes, or a sequence of those."""
    is_many = shape.ndim > 0 if isinstance(shape, Array | np.ndarray) else isinstance(shape, tuple | list)
    return tuple(as_size(n, negative) for n in (shape if is_many else (shape,)))


def view_by(x: Array, forward: Callable[[Array], Array], backward: Callable[[Array], Array]) -> Array:
    """The view of `x` that `forward` makes, which `backward` undoes."""
    return Array(forward(x).value).viewing(x, forward, lambda _, new: backward(new))


def read_only_view(x: Array, forward: Callable[[Array], Array]) -> Array:
    """The view of `x` that `forward` makes, and that NumPy does not let be written to."""
    return Array(forward(x).value).viewing(x, forward, _refuse_write)


def _refuse_write(base: Array, new: Array) -> Array:
    raise TraceError(
        "assignment destination is read-only",
        place=tracing.user_place(),
        cure="Write to a .copy() of it, or to the array that it is a view of.",
    )


def fresh(x: Array, order: str | None = "C", like: Array | None = None) -> Array:
    """A new array of NumPy's, marked where its rows lie one after the other.

    `order` is what NumPy was asked for; "K" and "A" mean that of the array `like` it.
    """
    order = order_name(order)
    x.contiguous = x.ndim < 2 or order == "C" or (order != "F" and like is not None and like.contiguous)
    return x


@implements("strides")
def strides(x: Array) -> Shape:
    """The bytes from an element to the next along each axis."""
    return tuple(dims.product(x.shape[i + 1 :]) * x.itemsize for i in range(x.ndim))


def maybe_copy(x: Array, forward: Callable[[Array], Array]) -> Array:
    """Return `forward(x)` for functions where NumPy returns a view or a copy depending on the memory layout."""
    return Array(forward(x).value).viewing(x, forward, None)


# Reshape.


_HOLE = TraceError("a size for reshape that the run computes is negative; -1 is known as a literal only")


@implements("reshape")
def reshape_method(x: Array, *shape: Any, order: str = "C", copy: bool | None = None) -> Array:
    """`x.reshape(2, 3)` or `x.reshape((2, 3))`."""
    return reshape(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@implements(np.reshape)
def reshape(x: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """As in NumPy; sizes may be symbols, one may be -1. Raises ShapeError."""
    x, wanted = array_like(x), as_shape(shape, _HOLE)
    order = reading_order(order, x)
    target = resolved_shape(x.shape, wanted)
    has_hole = any(isinstance(d, int) and d < 0 for d in wanted)
    is_sure = has_hole or dims.same(x.size, dims.product(target))
    fill = reshape_to if is_sure else reshape_strictly

    def forward(source: Array) -> Array:
        if order != "F":
            return fill(source, target)
        reversed_axes = transpose(source, list(range(source.ndim))[::-1])
        return transpose(fill(reversed_axes, target[::-1]), list(range(len(target)))[::-1])

    if copy:
        return fresh(Array(forward(x).value), order)
    if order == "F" or not (x.contiguous or x.ndim < 2):
        return maybe_copy(x, forward)
    shape = x.shape
    found = view_by(x, forward, lambda new: reshape_to(new, shape))
    # The elements of one axis are evenly spaced, wherever they lie, and so are their rows.
    return fresh(found) if x.contiguous else found


def resolved_shape(shape: Shape, wanted: Sequence[Dim]) -> tuple[Dim, ...]:
    """The shape asked for, -1 replaced by what is left. Raises ShapeError where the sizes cannot fit."""
    holes = [i for i, d in enumerate(wanted) if isinstance(d, int) and d < 0]
    if len(holes) > 1:
        raise ShapeError("can only specify one unknown dimension", place=tracing.user_place())
    target = list(wanted)
    if holes:
        rest = [d for i, d in enumerate(wanted) if i != holes[0]]
        target[holes[0]] = left_over(shape, rest)
    if not dims.could_be(dims.product(shape), dims.product(target)):
        told = [f"({','.join(map(str, s))})" for s in (shape, wanted)]
        raise ShapeError(f"cannot reshape array of shape {told[0]} into shape {told[1]}", place=tracing.user_place())
    return tuple(target)


@implements(np.ravel)
def ravel(x: Any, order: str = "C") -> Array:
    """All elements in a row, one beside the other."""
    x = array_like(x)
    order = reading_order(order, x)
    if x.contiguous:
        return reshape(x, -1, order)
    return maybe_copy(x, lambda source: reshape(source, -1, order, copy=True))


@implements("flatten")
def flatten(x: Array, order: str = "C") -> Array:
    """All elements in a row, a copy."""
    return reshape(x, -1, order, copy=True)


# Axes.


@implements("transpose")
def transpose_method(x: Array, *axes: Any) -> Array:
    """`x.transpose()`, `x.transpose(1, 0)` or `x.transpose((1, 0))`."""
    return permute(x, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None)


@implements(np.transpose)
def permute(x: Any, axes: Any = None) -> Array:
    """A view with the axes in another order, by default reversed."""
    x = array_like(x)
    order = list(range(x.ndim))[::-1] if axes is None else [one_axis(a, x.ndim) for a in axes]
    if sorted(order) != list(range(x.ndim)):
        raise ShapeError(f"axes {tuple(axes)} do not permute {x.ndim} axes", place=tracing.user_place())
    return permuted_view(x, order)


def permuted_view(x: Array, order: Sequence[int]) -> Array:
    """The view of `x` with its axes in this order."""
    back = inverse_permutation(order)
    return view_by(x, lambda source: transpose(source, order), lambda new: transpose(new, back))


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Array:
    """The last two axes swapped."""
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(x: Any, axis1: int, axis2: int) -> Array:
    """A view with two axes swapped."""
    x = array_like(x)
    order = list(range(x.ndim))
    a, b = one_axis(axis1, x.ndim), one_axis(axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return permuted_view(x, order)


@implements(np.moveaxis)
def moveaxis(x: Any, source: Any, destination: Any) -> Array:
    """A view with some axes moved; the others keep their order."""
    x = array_like(x)
    start, end = (
        [one_axis(a, x.ndim) for a in (axes if isinstance(axes, tuple | list) else (axes,))]
        for axes in (source, destination)
    )
    if len(start) != len(end) or len(set(start)) != len(start) or len(set(end)) != len(end):
        raise ShapeError("source and destination must be as many different axes", place=tracing.user_place())
    order = [i for i in range(x.ndim) if i not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        order.insert(place, axis)
    return permuted_view(x, order)


@implements(np.rollaxis)
def rollaxis(x: Any, axis: int, start: int = 0) -> Array:
    """A view with one axis moved to before axis `start`."""
    x = array_like(x)
    place = start + x.ndim if start < 0 else start
    axis = one_axis(axis, x.ndim)
    return moveaxis(x, axis, place - 1 if axis < place else place)


@implements(np.squeeze)
def squeeze(x: Any, axis: Any = None) -> Array:
    """Return a view without axes of size 1. Raises ShapeError where only the run can tell which axes these are."""
    x = array_like(x)
    if axis is None:
        unsure = [d for d in x.shape if isinstance(d, Size) and dims.could_be(d, 1)]
        if unsure:
            raise ShapeError(
                f"how many axes squeeze leaves depends on whether {unsure[0]} is 1",
                place=tracing.user_place(),
                cure="Name the axes to remove: np.squeeze(x, axis=...).",
            )
        gone = [i for i, d in enumerate(x.shape) if dims.is_one(d)]
    else:
        gone = list(many_axes(axis, x.ndim))
        for place in gone:
            if not dims.could_be(x.shape[place], 1):
                raise ShapeError(
                    "cannot select an axis to squeeze out which has size not equal to one", place=tracing.user_place()
                )
    if not gone:
        return permuted_view(x, list(range(x.ndim)))
    return view_by(x, lambda source: op.Squeeze(source, gone), lambda new: op.Unsqueeze(new, gone))


@implements(np.expand_dims)
def expand_dims(x: Any, axis: Any) -> Array:
    """A view with new axes of size 1 at these places of the result."""
    x = array_like(x)
    given = axis if isinstance(axis, tuple | list) else (axis,)
    made = many_axes(tuple(given), x.ndim + len(given))
    return view_by(x, lambda source: op.Unsqueeze(source, list(made)), lambda new: op.Squeeze(new, list(made)))


@implements(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    """Each array with at least one axis."""
    return _each(arrays, lambda x: x if x.ndim else x[None])


@implements(np.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    """Each array with at least two axes, new ones in front."""
    return _each(arrays, lambda x: x if x.ndim > 1 else x[(None,) * (2 - x.ndim)])


@implements(np.atleast_3d)
def atleast_3d(*arrays: Any) -> Any:
    """Each array with at least three axes; NumPy puts [n] at [1, n, 1] and [m, n] at [m, n, 1]."""
    whole = slice(None)
    keys: list[Any] = [(None, None, None), (None, whole, None), (whole, whole, None)]
    return _each(arrays, lambda x: x if x.ndim > 2 else x[keys[x.ndim]])


def _each(arrays: Sequence[Any], function: Callable[[Array], Array]) -> Any:
    found = tuple(function(array_like(a)) for a in arrays)
    return found[0] if len(found) == 1 else found


# Broadcasting.


@implements(np.broadcast_to)
def broadcast_to(x: Any, shape: Any, subok: bool = False) -> Array:
    """A view of this shape that cannot be written to. Raises ShapeError."""
    x = array_like(x)
    target = as_shape(shape, ValueError("all elements of broadcast shape must be non-negative"))
    return read_only_view(x, lambda source: fitted(source, target))


@implements(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> tuple[Array, ...]:
    """The arrays broadcast together."""
    given = [array_like(a) for a in arrays]
    try:
        shape = broadcast_shapes(*(a.shape for a in given))
    except ShapeError as error:
        error.place = tracing.user_place()
        raise
    unfit = [w for a in given for own, size in zip(a.shape[::-1], shape[::-1], strict=False) for w in _unfit(own, size)]

    def broadcast(source: Array) -> Array:
        found = fitted(source, shape)
        return reshaped_unless(functools.reduce(op.Or, unfit), found, shape) if unfit else found

    return tuple(read_only_view(a, broadcast) for a in given)


def _unfit(own: Dim, size: Dim) -> list[Array]:
    """Return the conditions under which an axis cannot be broadcast to the size; empty where it always can."""
    if dims.same(own, size) or dims.is_one(own):
        return []
    here, there = (Array(tracing.size_of(d)) for d in (own, size))
    return [op.Not(op.Or(op.Equal(here, there), op.Equal(here, np.int64(1))))]


@implements(np.meshgrid)
def meshgrid(*axes: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinate arrays of a grid. With indexing "xy" the first two axes change places."""
    if indexing not in {"xy", "ij"}:
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    points = [reshape(a, -1) for a in axes]
    rank = len(points)
    spread: list[Array] = []
    for place, point in enumerate(points):
        axis = 1 - place if indexing == "xy" and rank > 1 and place < 2 else place
        spread.append(reshape(point, [point.shape[0] if i == axis else 1 for i in range(rank)]))
    wide = tuple(spread) if sparse else broadcast_arrays(*spread)
    return tuple(Array(a.value) for a in wide) if copy else wide


# Order of elements.


@implements(np.flip)
def flip(x: Any, axis: Any = None) -> Array:
    """A view with the elements along these axes in reverse."""
    x = array_like(x)
    turned = many_axes(axis, x.ndim)
    found: Array = x[tuple(slice(None, None, -1) if i in turned else slice(None) for i in range(x.ndim))]
    return found


@implements(np.fliplr)
def fliplr(x: Any) -> Array:
    """Reversed along axis 1."""
    return flip(x, 1)


@implements(np.flipud)
def flipud(x: Any) -> Array:
    """Reversed along axis 0."""
    return flip(x, 0)


@implements(np.rot90)
def rot90(x: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Array:
    """Turned by k quarters from the first towards the second axis."""
    x = array_like(x)
    first, second = (one_axis(a, x.ndim) for a in axes)
    if first == second:
        raise ShapeError("np.rot90 turns in the plane of two axes, which must differ", place=tracing.user_place())
    turns = k % 4
    if turns == 0:
        return permuted_view(x, list(range(x.ndim)))
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


# Copies.


@implements(np.copy)
def copy_of(x: Any, order: str = "K", subok: bool = False) -> Array:
    """A copy, which writes to `x` do not reach."""
    source = array_like(x)
    return fresh(Array(source.value, weak=source.weak), order, source)


@implements("copy")
def copy_method(x: Array, order: str = "C") -> Array:
    """A copy, whose rows lie one after the other unless something else is asked for."""
    return copy_of(x, order)


@implements("astype")
def astype(
    x: Array,
    dtype: npt.DTypeLike | None,
    order: str = "K",
    casting: Casting = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Array:
    """A copy in another dtype. Raises DtypeError where `casting` forbids it."""
    wanted = np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(x.dtype, wanted, casting):
        raise DtypeError(
            f"cannot cast from {x.dtype} to {wanted} according to the rule {casting!r}", place=tracing.user_place()
        )
    if not copy and x.dtype == wanted:
        return x
    return Array(cast_to(x, wanted).value)


@implements(np.astype)
def astype_function(x: Array, dtype: npt.DTypeLike | None, /, *, copy: bool = True, device: str | None = None) -> Array:
    """A copy in another dtype."""
    return astype(x, dtype, copy=copy)


@implements("view")
def view(x: Array, dtype: npt.DTypeLike | None = None, type: Any = None) -> Array:
    """The same elements, written together. To read the bytes as another dtype is refused."""
    is_class = dtype is np.ndarray  # of which it is an array already
    if dtype is not None and not is_class and np.dtype(dtype) != x.dtype:
        raise unsupported("view, which reads bytes as another dtype,")
    return permuted_view(x, list(range(x.ndim)))
