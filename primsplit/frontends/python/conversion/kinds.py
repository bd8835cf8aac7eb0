"""Determines what a name is after a joined statement whose sides assign it things of several kinds.

```
if c:                           # the If returns the number 0 and the array a, or the number 1 and zeros
    b = a
else:
    b = None                    # b is Either(number, {0: a, 1: None})
```
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.frontends.python.conversion.either import Either, may_be_told, settled
from primsplit.frontends.python.conversion.growing import Grown, nothing_like
from primsplit.ops import op
from primsplit.tracing import constant, size_vector, trees
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array
from primsplit.tracing.complex_array import ComplexArray

VALUE = 0
"""The number of the thing that is an output of the If."""


def _stack(name: str) -> str:
    """Return the name of the If's output for the elements of a list."""
    return f"the elements of {name}"


def _key(name: str) -> str:
    """Return the name of the If's output for the number of the thing that a name holds."""
    return f"what {name} is"


class Kinds:
    """The things that names hold after runs of the sides, by number; number 0 is the output of the If."""

    def __init__(self, at: tuple[str, int]) -> None:
        self.at = at
        self.things: dict[str, list[Any]] = {}
        self.others: set[str] = set()
        """The names that hold something unsupported after a side, such as a list."""
        self.stacks: dict[str, Any] = {}
        self.most: dict[str, int] = {}
        """The greatest length of each list that a side may have extended; `stacks` has an example of its elements."""

    def given(
        self, made: Mapping[str, Any], may_give: Callable[[str, Any], bool]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of the names, and the numbers that a side outputs for things that Python distinguishes.

        For an `Either` with a traced thing, the value is that thing. `may_give` tells whether an If can output a value.
        """
        values, numbers = {**made}, dict[str, Any]()
        for name in made:
            value = values[name] = settled(made[name])
            if type(value) is Grown:
                numbers |= self._stacked(name, value)
            elif type(value) is Either:
                numbers[_key(name)] = self._renumbered(name, value)
                traced = [value.things[k] for k in value.possible() if k in value.traced]
                values[name] = traced[0] if traced else None
            elif may_be_told(value):
                numbers[_key(name)] = _number(self._number_of(name, value))
            elif not may_give(name, value):
                self.others.add(name)
        return values, numbers

    def _stacked(self, name: str, value: Grown) -> dict[str, Any]:
        """Return the stack of a list as an output of the If; nothing if the list is empty."""
        self.most[name] = max(self.most.get(name, 0), value.most)
        stack = value.stacked(self.at)
        if stack is not None:
            self.stacks[name] = stack
        return {} if stack is None else {_stack(name): stack}

    def _number_of(self, name: str, thing: Any) -> int:
        things = self.things.setdefault(name, [None])
        for k, known in enumerate(things[1:], 1):
            if known is thing or (type(known) is type(thing) is str and known == thing):
                return k
        things.append(thing)
        return len(things) - 1

    def _renumbered(self, name: str, either: Either) -> Array:
        """Return the number of the thing in `either` by the numbering of this statement."""
        table = np.arange(max(either.things) + 1)
        for k in either.possible():
            table[k] = VALUE if k in either.traced else self._number_of(name, either.things[k])
        return either.number if all(table[k] == k for k in either.things) else op.Gather(table, either.number)

    def untold(self, given: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs that a side lacks and the other has: the number of the If's own output, and placeholders.

        `given` are the outputs of the side by name; `others` are those of the other side in its last run.
        """
        added: dict[str, Any] = {}
        for name in self.things:
            if _key(name) not in given:
                added[_key(name)] = _number(VALUE)
            if name not in given and name in others:
                added[name] = _in_place_of(others[name])
        short = (name for name in self.stacks if _stack(name) not in given)
        return added | {_stack(name): nothing_like(self.stacks[name]) for name in short}

    def is_list(self, name: str, wholes: Sequence[Any]) -> bool:
        """Whether a name holds a growing list after each run of a side."""
        return name in self.most and all(type(whole) is Grown for whole in wholes)

    def list_after(self, name: str, found: Mapping[str, Any]) -> Grown:
        """Return the list that a name holds after the If."""
        return Grown(None, found[_stack(name)], self.most[name], self.at) if _stack(name) in found else Grown([])

    def is_told(self, name: str, found: Mapping[str, Any]) -> bool:
        """Whether a name is one of several things after the If, which returned its number."""
        return name not in self.others and _key(name) in found

    def after(self, name: str, called: str, found: Mapping[str, Any], value: Callable[[], Any]) -> Either:
        """Return the `Either` that a name holds after the If; `value` returns the If's output for it.

        Errors use `called` as the name.
        """
        traced = {VALUE: value()} if name in found else {}
        things = traced | dict(enumerate(self.things[name][1:], 1))
        return Either(found[_key(name)], things, traced.keys(), at=self.at, called=called)


def _number(number: int) -> Array:
    return Array(constant(np.asarray(number)))


def _in_place_of(value: Any) -> Any:
    """Return zeros of the type of a value, as a placeholder on the side that has no such value."""
    leaves, spec = trees.flatten(value)
    return trees.unflatten(spec, [_zeros(leaf) for leaf in leaves])


def _zeros(leaf: Any) -> Any:
    array = leaf if isinstance(leaf, Array | ComplexArray) else as_array(leaf)
    sizes: Sequence[Any] = array.shape
    if isinstance(array, ComplexArray):
        return np.zeros(sizes, array.dtype)
    zero = Array(constant(np.zeros((), array.dtype)), weak=array.weak, scalar=array.scalar)
    return zero if not sizes else op.Expand(zero, size_vector(sizes))
