"""Lowers stores: makes the stored array from a value over loops.

If each loop of the indices runs along an axis of its own, the stored value is a block, which is padded to the array's
length; windows are added up first, see `windowed_sums.spread`. All other stores are a ScatterND.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from primsplit.frontends.loops.loopset import Bent, Operation, Picked, Reference
from primsplit.frontends.loops.lowering.masks import masked_sum
from primsplit.frontends.loops.lowering.reading import Use, bent_numbers, load, loops_of, placed
from primsplit.frontends.loops.lowering.space import Course, Space, counted
from primsplit.frontends.loops.lowering.sums import Factors, summed
from primsplit.frontends.loops.lowering.windowed_sums import spread
from primsplit.frontends.loops.lowering.windows import cut, dilated, last, turned
from primsplit.ir import Type, dims
from primsplit.ir.dims import Dim, Shape
from primsplit.numpy.contraction import Label, Term
from primsplit.numpy.keys import Cut
from primsplit.numpy.ufuncs import cast_to
from primsplit.numpy.writing import write
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, inverse_permutation, size_scalar, transpose


@dataclass(frozen=True, slots=True)
class Goal:
    """The target of a value along one axis of the written array.

    `loop` is the value's axis that goes there, None where the place is one number. It goes to the `count` places from
    `low` on, and is bent then; or to the places that `numbers` tell.
    """

    loop: str | None
    course: Course
    low: Dim
    count: Dim
    bend: Bent | None = None
    numbers: Term | None = None


class Summed(NamedTuple):
    """A value: `made` gives its array; it is the product of the `factors`, summed over the `reduced` loops."""

    made: Callable[[], Term]
    factors: Callable[[], Factors]
    reduced: tuple[str, ...]


def store(space: Space, operation: Operation, value: Summed) -> Array:
    """The array that a store makes: with the value where its reference goes, and elsewhere as it was.

    Raises UnsupportedFunction.
    """
    reference = operation.reference
    assert reference is not None
    base = space.arrays.get(reference.array)
    shape = space.sizes.shapes[operation.makes] if base is None else base.shape
    goals, windows = _goals(space, reference, shape, adds=operation.adds)
    kept = tuple(loop for loop in operation.loops if any(loop in _loops(goal) for goal in goals))
    ends = {loop for course in windows.values() for loop in course.loops}
    reduced = tuple(loop for loop in operation.loops if loop not in kept and loop not in ends)
    if windows:
        term = spread(space, value.factors(), windows, kept, (*reduced, *value.reduced))
    else:
        term = _summed(space, value.factors(), kept, (*reduced, *value.reduced)) if reduced else value.made()
    dtype = term.array.dtype if base is None else base.dtype
    term = Term(cast_to(Array(term.array.value), dtype), term.labels)
    if any(goal.numbers is not None for goal in goals):
        return _scattered(space, term, goals, base, shape, adds=operation.adds)
    if base is not None and not operation.adds:
        return _written(space, term, goals, base)
    block = _padded(_block(space, term, goals), shape)
    return block if base is None else op.Add(base, block)


def _summed(space: Space, factors: Factors, kept: Sequence[str], reduced: Sequence[str]) -> Term:
    return masked_sum(space, factors, kept, reduced, lambda given: summed(space, given, kept, reduced))


def _goals(space: Space, reference: Reference, shape: Shape, *, adds: bool) -> tuple[list[Goal], dict[Label, Course]]:
    """The target of the value along each axis, and the windows to add up first, by the loops that replace them."""
    uses: list[Use] = []
    for index in reference.indices:
        if isinstance(index, Picked):
            uses.append(load(space, index.reference))
        else:
            uses.append(space.course(index.index if isinstance(index, Bent) else index))
    goals: list[Goal] = []
    windows: dict[Label, Course] = {}
    for index, use, size in zip(reference.indices, uses, shape, strict=True):
        bend = index if isinstance(index, Bent) else None
        if isinstance(use, Term):
            goals.append(Goal(None, Course((), 0), 0, 0, numbers=use))
            continue
        others = {loop for other in uses if other is not use for loop in loops_of(other)}
        low, count = space.lowest(use), space.reach(use)
        goal = Goal(use.loops[0] if use.terms else None, use, low, count, bend)
        if set(use.loops) & others or len(use.terms) > (2 if adds else 1):
            goal = replace(goal, numbers=_numbers(space, goal))
        elif len(use.terms) == 2:
            count = size if bend is None and space.is_whole(use, size) else count
            loop = space.add(low, count)
            windows[loop] = use
            goal = Goal(loop, Course(((loop, 1),), 0), low, count, bend)
        goals.append(goal)
    return goals, windows


def _loops(goal: Goal) -> tuple[str, ...]:
    return goal.course.loops if goal.numbers is None else tuple(map(str, goal.numbers.labels))


def _numbers(space: Space, goal: Goal) -> Term:
    """The places of an axis as numbers; with `pad`, those outside too."""
    numbers = space.places(goal.course)
    if goal.bend is None or goal.bend.how == "pad":
        return numbers
    return Term(bent_numbers(goal.bend.how, numbers.array, space.sizes.of(goal.bend.length)), numbers.labels)


# Blocks.


def _block(space: Space, value: Term, goals: Sequence[Goal]) -> tuple[Array, list[tuple[Dim, Dim]]]:
    """The value with the array's axes, and for each axis its first place and how many it has; all is for adding."""
    x = _along(space, value, goals)
    places = []
    for axis, goal in enumerate(goals):
        x = _stepped(x, axis, goal)
        x, place = _bent_back(space, x, axis, goal)
        places.append(place)
    return x, places


def _along(space: Space, value: Term, goals: Sequence[Goal]) -> Array:
    """The value with the array's axes, as long as the loops along them."""
    x = space.wide(value, tuple(goal.loop for goal in goals if goal.loop is not None))
    new = [axis for axis, goal in enumerate(goals) if goal.loop is None]
    return op.Unsqueeze(x, new) if new else x


def _stepped(x: Array, axis: int, goal: Goal) -> Array:
    """The axis with zeros between its elements, where an index leaves places out, and from the lowest place on."""
    factor = goal.course.terms[0][1] if goal.course.terms else 1
    x = turned(x, axis) if factor < 0 else x
    if abs(factor) == 1:
        return x
    order = [*(i for i in range(x.ndim) if i != axis), axis]
    apart = cut(dilated(last(x, axis), abs(factor)), -1, 0, goal.count)
    return transpose(apart, inverse_permutation(order))


def _bent_back(space: Space, x: Array, axis: int, goal: Goal) -> tuple[Array, tuple[Dim, Dim]]:
    """The axis with what an index bends to one place added up there; its first place, and how many it has."""
    if goal.bend is None:
        return x, (goal.low, goal.count)
    length = space.sizes.of(goal.bend.length)
    if goal.bend.how == "pad":
        first = dims.maximum(0, goal.low)
        count = dims.maximum(0, dims.minimum(goal.low + goal.count, length) - first)
        return cut(x, axis, first - goal.low, count), (first, count)
    numbers = bent_numbers(goal.bend.how, counted(goal.low, goal.count), length)
    order = [axis, *(i for i in range(x.ndim) if i != axis)]
    rows = transpose(x, order)
    zeros = full((length, *rows.shape[1:]), np.zeros((), x.dtype))
    added = op.ScatterND(zeros, op.Unsqueeze(numbers, [-1]), rows, reduction="add")
    return transpose(added, inverse_permutation(order)), (0, length)


def _padded(block: tuple[Array, list[tuple[Dim, Dim]]], shape: Shape) -> Array:
    """The block in an array of zeros of this shape."""
    x, places = block
    before = [_before(low, count, size) for size, (low, count) in zip(shape, places, strict=True)]
    after = [size - low - count for size, low, (_, count) in zip(shape, before, places, strict=True)]
    if all(dims.same(pad, 0) for pad in (*before, *after)):
        return x
    return op.Pad(x, [*before, *after], types=[Type(x.dtype, shape)])


def _before(low: Dim, count: Dim, size: Dim) -> Dim:
    """Return the number of places before a block. A block without elements may begin behind the array."""
    return low if dims.same(low, 0) or dims.at_least(count, 1) else dims.minimum(low, size - count)


def _written(space: Space, value: Term, goals: Sequence[Goal], base: Array) -> Array:
    """The array with the value in the places that it goes to."""
    x = _along(space, value, goals)
    entries = []
    for axis, goal in enumerate(goals):
        factor = goal.course.terms[0][1] if goal.course.terms else 1
        x = turned(x, axis) if factor < 0 else x
        x, (low, count) = _bent_back(space, x, axis, goal)
        entries.append(Cut(low, low + count, abs(factor)))
    whole = all(_is_whole(goal, size) for goal, size in zip(goals, base.shape, strict=True))
    return x if whole else write(base, entries, x)


# Numbers.


def _scattered(
    space: Space, value: Term, goals: Sequence[Goal], base: Array | None, shape: Shape, *, adds: bool
) -> Array:
    """The array with the value written at places some of which are numbers of an array.

    Where an index is padded, the array has margins while it is written.
    """
    pairs = zip(goals, shape, strict=True)
    told = [goal if _is_whole(goal, size) else replace(goal, numbers=_told(space, goal)) for goal, size in pairs]
    margins = [_margins(goal, size) for goal, size in zip(told, shape, strict=True)]
    picks: dict[Label, Term] = {}
    labels: list[Label] = []
    for axis, (goal, (before, _)) in enumerate(zip(told, margins, strict=True)):
        labels.append(goal.loop if goal.numbers is None and goal.loop is not None else ("axis", axis))
        if goal.numbers is not None:
            picks[labels[-1]] = _ahead(goal.numbers, before)
    loops = tuple(dict.fromkeys(str(loop) for numbers in picks.values() for loop in numbers.labels))
    front, matrix, rest = placed(space, labels, picks, loops)
    updates = space.wide(value, (*loops, *(str(labels[axis]) for axis in rest)))
    wide = tuple(before + size + after for size, (before, after) in zip(shape, margins, strict=True))
    into = full(shape, np.zeros((), updates.dtype)) if base is None else base
    into = _padded((into, [(before, size) for size, (before, _) in zip(shape, margins, strict=True)]), wide)
    order = [*front, *rest]
    done = op.ScatterND(transpose(into, order), matrix, updates, reduction="add" if adds else "none")
    found = transpose(done, inverse_permutation(order))
    for axis, (size, (before, _)) in enumerate(zip(shape, margins, strict=True)):
        found = cut(found, axis, before, size)
    return found


def _ahead(numbers: Term, by: Dim) -> Term:
    """The numbers, each greater by a size."""
    return numbers if dims.same(by, 0) else Term(op.Add(numbers.array, size_scalar(by)), numbers.labels)


def _margins(goal: Goal, size: Dim) -> tuple[Dim, Dim]:
    """Return how far a padded index goes beyond the axis, at either end."""
    if goal.numbers is None or goal.bend is None or goal.bend.how != "pad":
        return 0, 0
    return dims.maximum(0, goal.low * -1), dims.maximum(0, goal.low + goal.count - size)


def _is_whole(goal: Goal, size: Dim) -> bool:
    """Whether the value covers the whole axis in order, or goes to computed places."""
    if goal.numbers is not None:
        return True
    steps = [factor for _, factor in goal.course.terms]
    return steps == [1] and goal.bend is None and dims.same(goal.low, 0) and dims.same(goal.count, size)


def _told(space: Space, goal: Goal) -> Term:
    return _numbers(space, goal) if goal.numbers is None else goal.numbers
