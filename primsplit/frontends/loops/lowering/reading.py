"""Lowers loads to arrays over their loops: a Slice, a diagonal, windows, or a Gather."""

from collections.abc import Mapping, Sequence

import numpy as np

from primsplit.frontends.loops.loopset import Bent, Picked, Reference
from primsplit.frontends.loops.lowering.space import Course, Space, counted
from primsplit.frontends.loops.lowering.windows import Windows, cut, cut_before, last, turned, unfolded
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim
from primsplit.numpy.contraction import Label, Term, sum_of_products
from primsplit.numpy.reading import columns_joined
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import size_scalar, transpose

Use = Course | Term
"""The index of an axis: a sum of loops, or computed numbers."""


def load(space: Space, reference: Reference) -> Term:
    """The elements at a reference, over the loops that its indices have."""
    return read(space, *opened(space, reference))


def opened(space: Space, reference: Reference) -> tuple[Array, list[Use]]:
    """The array, and how each of its axes is indexed.

    What an index bends is bent already: the axis has the elements that the index goes over, in their order. Axes that
    no loop indexes are gone.
    """
    array, uses = space.arrays[reference.array], list[Use]()
    for axis, index in reversed(list(enumerate(reference.indices))):  # of several paddings the first is on top
        if isinstance(index, Picked):
            use: Use = load(space, index.reference)
        else:
            use = space.course(index.index if isinstance(index, Bent) else index)
        if isinstance(index, Bent) and isinstance(use, Course):
            low = space.lowest(use)
            array = bent(array, axis, index, (low, space.reach(use)), space.sizes.of(index.length))
            use = use.shifted(low * -1)
        if loops_of(use):
            uses.insert(0, use)
        else:
            place = use.array if isinstance(use, Term) else size_scalar(use.offset)
            array = op.Gather(array, place, axis=axis)
    return array, uses


def bent(x: Array, axis: int, index: Bent, span: tuple[Dim, Dim], length: Dim) -> Array:
    """The elements of an axis for the numbers of a span, bent into the axis; a span has a first number and a count."""
    low, count = span
    if index.how != "pad":
        return op.Gather(x, bent_numbers(index.how, counted(low, count), length), axis=axis)
    before = dims.maximum(0, low * -1)
    after = dims.maximum(0, low + count - length)
    inside = cut(x, axis, 0, length)
    if not (dims.same(before, 0) and dims.same(after, 0)):
        pads: list[Dim] = [0] * (2 * x.ndim)
        pads[axis], pads[x.ndim + axis] = before, after
        shape = (*x.shape[:axis], before + length + after, *x.shape[axis + 1 :])
        inside = op.Pad(inside, pads, np.asarray(index.fill, x.dtype), types=[Type(x.dtype, shape)])
    return cut(inside, axis, low + before, count)


def bent_numbers(how: str, numbers: Array, length: Dim) -> Array:
    """Numbers brought into an axis: by `mod`, or by `clamp`."""
    if how == "mod":
        return op.Mod(numbers, size_scalar(dims.maximum(length, 1)))
    return op.Min(op.Max(numbers, 0), size_scalar(length - 1))


def read(space: Space, array: Array, uses: Sequence[Use]) -> Term:
    """The elements of an array whose axes are indexed so; no axis is bent, or without loops."""
    labels: list[Label] = []
    picks: dict[Label, Term] = {}
    windows: dict[Label, Course] = {}
    for axis, use in enumerate(uses):
        if isinstance(use, Course) and len(use.terms) == 1:
            array = straight(space, array, axis, use)
            labels.append(use.terms[0][0])
            continue
        labels.append(("axis", axis))
        if isinstance(use, Course) and has_windows(use, uses):
            windows[labels[-1]] = use
        else:
            picks[labels[-1]] = use if isinstance(use, Term) else space.places(use)
    found = _gathered(space, Term(array, tuple(labels)), picks)
    for label, use in windows.items():
        found = windowed(space, found, label, use)
    loops = tuple(dict.fromkeys(found.labels))
    return found if loops == found.labels else Term(sum_of_products([found], loops), loops)


def has_windows(use: Use, uses: Sequence[Use]) -> bool:
    """Whether an index is the sum of two loops that occur in no other index."""
    if isinstance(use, Term) or len(use.terms) != 2:
        return False
    others = [loop for other in uses if other is not use for loop in loops_of(other)]
    return not set(use.loops) & set(others)


def loops_of(use: Use) -> tuple[str, ...]:
    """The loops that an index depends on."""
    return use.loops if isinstance(use, Course) else tuple(map(str, use.labels))


def straight(space: Space, x: Array, axis: int, use: Course) -> Array:
    """The elements of an axis that one loop goes over, in the order of its turns."""
    ((loop, factor),) = use.terms
    if factor == 1:
        return cut_before(x, axis, space.lowest(use), space.count(loop), use.offset + space.runs[loop].stop)
    found = cut(x, axis, space.lowest(use), space.count(loop), abs(factor))
    return found if factor > 0 else turned(found, axis)


def windowed(space: Space, term: Term, label: Label, use: Course) -> Term:
    """The axis with this label as two, one for each loop that it is indexed by."""
    axis = term.labels.index(label)
    (outer, stride), (inner, dilation) = space.ends(use)
    windows = Windows(abs(stride), space.count(outer), abs(dilation), space.count(inner))
    array = term.array
    if not space.is_whole(use, array.shape[axis]):
        array = cut(array, axis, space.lowest(use), windows.length)
    x = unfolded(last(array, axis), windows)
    x = turned(x, x.ndim - 1) if stride < 0 else x
    x = turned(x, x.ndim - 2) if dilation < 0 else x
    return Term(x, (*term.labels[:axis], *term.labels[axis + 1 :], inner, outer))


def _gathered(space: Space, term: Term, picks: Mapping[Label, Term]) -> Term:
    """The axes with these labels read at numbers, which are over loops."""
    if not picks:
        return term
    loops = tuple(dict.fromkeys(str(loop) for numbers in picks.values() for loop in numbers.labels))
    if len(picks) == 1 and not set(loops) & set(term.labels):
        ((label, numbers),) = picks.items()
        axis = term.labels.index(label)
        labels = (*term.labels[:axis], *numbers.labels, *term.labels[axis + 1 :])
        return Term(op.Gather(term.array, numbers.array, axis=axis), labels)
    front, matrix, rest = placed(space, term.labels, picks, loops)
    found = op.GatherND(transpose(term.array, [*front, *rest]), matrix)
    return Term(found, (*loops, *(term.labels[axis] for axis in rest)))


def placed(
    space: Space, labels: Sequence[Label], picks: Mapping[Label, Term], loops: tuple[str, ...]
) -> tuple[list[int], Array, list[int]]:
    """The axes that are told by numbers, those numbers over the loops with one column an axis, and the other axes.

    An axis that one of the loops goes over is told by that loop's turns.
    """
    columns: dict[int, Term] = {}
    for axis, label in enumerate(labels):
        if label in picks:
            columns[axis] = picks[label]
        elif label in loops:
            columns[axis] = Term(counted(0, space.count(str(label))), (label,))
    matrix = columns_joined([cast_to(space.wide(numbers, loops), np.dtype(np.int64)) for numbers in columns.values()])
    return list(columns), matrix, [axis for axis in range(len(labels)) if axis not in columns]
