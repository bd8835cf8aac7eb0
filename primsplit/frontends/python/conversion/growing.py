"""Represents lists of numbers that grow on one side of a branch only, as a stack with a traced length.

Only one name holds such a list, so that `a.append(b)` assigns a new list to the name: see `lists`.

    if c:                           seen = If(c, Concat(seen, [b]), seen)
        seen.append(b)
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.numpy.refusing import raise_if_caught, refusing
from primsplit.ops import op
from primsplit.tracing import constant, size_vector, trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.branching.paths import NotJoined
from primsplit.tracing.handles import integer_ranges


class Grown:
    """An immutable list, as `elements`, or as a `stack` of at most `most` elements if only the run knows their count.

    Tuples are stacked part by part. `at` is the source line of the If that returned the list.
    """

    __slots__ = ("at", "elements", "most", "stack")

    def __init__(
        self, elements: Sequence[Any] | None, stack: Any = None, most: int = 0, at: tuple[str, int] = ("", 0)
    ) -> None:
        self.elements = None if elements is None else tuple(elements)
        self.stack, self.most, self.at = stack, len(elements) if elements is not None else most, at

    def stacked(self, at: tuple[str, int]) -> Any:
        """Return the elements stacked along a first axis; None if there are none.

        Raises NotJoined if an element is no number or tuple of numbers: an array may be written to later.
        """
        if self.elements is None or not self.elements:
            return self.stack
        if (stack := self.stack_of_numbers()) is None:
            raise NotJoined(at, _OTHERS)
        return stack

    def stack_of_numbers(self) -> Any:
        """Return known elements stacked along a first axis; None for no elements, and for other than numbers."""
        flat = [*map(trees.flatten, self.elements or ())]
        rows, specs = [leaves for leaves, _ in flat], {spec for _, spec in flat}
        if len(specs) != 1 or not all(map(_is_of_numbers, rows)):
            return None
        return trees.unflatten(specs.pop(), [_stack(column) for column in zip(*rows, strict=True)])


_OTHERS = "a list that grows on one side has elements that are no numbers, or tuples of as many"


def _is_of_numbers(leaves: Sequence[Any]) -> bool:
    return len(leaves) > 0 and all(map(_is_number, leaves))


def _is_number(leaf: Any) -> bool:
    return leaf.is_number() if type(leaf) is Array else isinstance(leaf, int | float | np.number)


def _stack(column: Sequence[Any]) -> Array:
    rows = [as_array(leaf) for leaf in column]
    return Array(as_array(np.stack(rows)).value, weak=all(row.weak for row in rows))


def grown(elements: Sequence[Any]) -> Grown:
    """Return a list with these elements."""
    return Grown(elements)


def appended(held: Any, element: Any) -> Grown:
    """Return the list with one more element."""
    if held.elements is not None:
        return Grown((*held.elements, element))
    leaves, spec = trees.flatten(element)
    wholes, of_all = trees.flatten(held.stack)
    if spec != of_all or not _is_of_numbers(leaves):
        raise NotJoined(held.at, _OTHERS)
    longer = [_longer(stack, _stack([leaf])) for stack, leaf in zip(wholes, leaves, strict=True)]
    return Grown(None, trees.unflatten(spec, longer), held.most + 1, held.at)


def _longer(stack: Array, row: Array) -> Array:
    return Array(as_array(np.concatenate([stack, row])).value, weak=stack.weak and row.weak)


def length(held: Any) -> Any:
    """Return the number of elements of a list."""
    if held.elements is not None:
        return len(held.elements)
    first = trees.flatten(held.stack)[0][0]
    size = first.shape[0]
    return size if isinstance(size, int) else Array(op.Gather(op.Shape(first), 0).value, weak=True)


def total(held: Any) -> Any:
    """Return the sum of the elements of a list."""
    return sum(held.elements) if held.elements is not None else np.sum(_numbers(held), axis=0)


def extreme(name: str, function: Callable[[Any], Any], held: Any) -> Any:
    """Return `max` or `min`, by its `name`, of a list: the first of equal elements, as in Python."""
    if held.elements is not None:
        return function(held.elements)
    stack, count = _numbers(held), length(held)
    first = checked_place(0, count, lambda: count == 0, ValueError(f"{name}() arg is an empty sequence"))
    best = Array(op.Gather(stack, first).value, weak=stack.weak, scalar=True)
    last = count - 1
    for place in range(1, held.most):
        new = Array(op.Gather(stack, np.minimum(place, last)).value, weak=stack.weak, scalar=True)
        is_better = new > best if name == "max" else new < best
        best = Array(as_array(np.where(is_better, new, best)).value, weak=stack.weak, scalar=True)
    return best


def _numbers(held: Grown) -> Array:
    """Return the stack of a list of numbers. Raises NotJoined for a list of tuples."""
    if type(held.stack) is not Array:
        raise NotJoined(held.at, "a list of tuples that grows on one side is used as numbers")
    return held.stack


def whole(held: Any) -> Any:
    """Return the elements of a list as an argument for a NumPy function."""
    return [*held.elements] if held.elements is not None else _numbers(held)


def element(held: Any, place: Any) -> Any:
    """Return the element of a list at a place; the run fails if there is none."""
    if held.elements is not None:
        return held.elements[place]
    count = length(held)
    index = place_in(count, place, "list index out of range")
    if isinstance(place, int) and place < 0:
        index = np.where(count + index < 0, count, count + index)
    return element_of_stack(held.stack, index)


def element_of_stack(stack: Any, place: Any) -> Any:
    """Return the element at a place of elements that are stacked leaf by leaf."""
    leaves, spec = trees.flatten(stack)
    return trees.unflatten(spec, [Array(op.Gather(a, place).value, weak=a.weak, scalar=True) for a in leaves])


def place_in(count: Any, place: Any, otherwise: str) -> Any:
    """Return a place in a list with `count` elements. A run in which there is none fails with an IndexError.

    If the function catches that, the run takes its own path.
    """
    return checked_place(place, count, lambda: (place >= count) | (place < -count), IndexError(otherwise))


def checked_place(place: Any, count: Any, wrong: Callable[[], Any], error: Exception) -> Any:
    """Return a place in `count` elements. A run in which it is `wrong` fails, or takes a path of its own if caught."""
    if isinstance(count, int) and integer_ranges.are_beyond(place, count):
        raise error
    raise_if_caught(wrong, error)
    # In a side, and where the number of elements is known, reading fails without a check, which would not be joined.
    return place if isinstance(count, int) or tracing.current().path is None else refusing(place, wrong(), error)


def places(held: Any) -> range:
    """Return the places that a list may have."""
    return range(held.most)


def is_behind(held: Any, place: int) -> Any:
    """Return whether a list ends before a place."""
    return length(held) <= place


def nothing_like(stack: Any) -> Any:
    """Return a stack without elements, with the types of another."""
    leaves, spec = trees.flatten(stack)
    return trees.unflatten(spec, [_no_rows(leaf) for leaf in leaves])


def _no_rows(stack: Array) -> Array:
    zero = Array(constant(np.zeros((), stack.dtype)))
    return Array(op.Expand(zero, size_vector((0, *stack.shape[1:]))).value, weak=stack.weak)
