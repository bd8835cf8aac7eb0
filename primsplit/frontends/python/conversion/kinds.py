"""Determines what a name is after a joined statement whose sides assign it things of several kinds."""

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
"""The number of what an If gives."""


def _stack(name: str) -> str:
    """What the If calls the elements of a list that a name is."""
    return f"the elements of {name}"


def _key(name: str) -> str:
    """What the If calls the number of what a name is."""
    return f"what {name} is"


class Kinds:
    """The things that names are after runs of the sides, by their numbers: the first is what the If gives."""

    def __init__(self, at: tuple[str, int]) -> None:
        self.at = at
        self.things: dict[str, list[Any]] = {}
        self.others: set[str] = set()
        """The names that a side gives something else: a list, say."""
        self.stacks: dict[str, Any] = {}
        self.most: dict[str, int] = {}
        """The elements of lists that sides may have let grow, and how many those are at most."""

    def given(
        self, made: Mapping[str, Any], may_give: Callable[[str, Any], bool]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the names hold that is no one of several, and the numbers that a side gives of what Python tells apart.

        A name that may be what an If gave holds that. `may_give` tells what an If may give a name.
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
        """What a side gives of a list, by the name that the If calls it: nothing where that has no elements."""
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
        """The number that something has here which has another number in what a name was."""
        table = np.arange(max(either.things) + 1)
        for k in either.possible():
            table[k] = VALUE if k in either.traced else self._number_of(name, either.things[k])
        return either.number if all(table[k] == k for k in either.things) else op.Gather(table, either.number)

    def untold(self, given: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
        """What a side gives besides: that a name is what the If gives, and something in its place where it is not.

        `given` is what the side gives by name, and `others` what the other side does, as its last run made it.
        """
        found: dict[str, Any] = {}
        for name in self.things:
            if _key(name) not in given:
                found[_key(name)] = _number(VALUE)
            if name not in given and name in others:
                found[name] = _in_place_of(others[name])
        short = (name for name in self.stacks if _stack(name) not in given)
        return found | {_stack(name): nothing_like(self.stacks[name]) for name in short}

    def is_list(self, name: str, wholes: Sequence[Any]) -> bool:
        """True for a name that is a list after each run of a side."""
        return name in self.most and all(type(whole) is Grown for whole in wholes)

    def list_after(self, name: str, found: Mapping[str, Any]) -> Grown:
        """The list that a name is after the If."""
        return Grown(None, found[_stack(name)], self.most[name], self.at) if _stack(name) in found else Grown([])

    def is_told(self, name: str, found: Mapping[str, Any]) -> bool:
        """True for a name that is one of several things after the If, which gave it a number."""
        return name not in self.others and _key(name) in found

    def after(self, name: str, called: str, found: Mapping[str, Any], value: Callable[[], Any]) -> Either:
        """What a name is after the If, where it is not the same on both sides; `value` is what the If gives.

        It is `called` so by errors.
        """
        traced = {VALUE: value()} if name in found else {}
        things = traced | dict(enumerate(self.things[name][1:], 1))
        return Either(found[_key(name)], things, traced.keys(), at=self.at, called=called)


def _number(number: int) -> Array:
    return Array(constant(np.asarray(number)))


def _in_place_of(value: Any) -> Any:
    """Zeros of the type of a value, which are given where there is none."""
    leaves, spec = trees.flatten(value)
    return trees.unflatten(spec, [_zeros(leaf) for leaf in leaves])


def _zeros(leaf: Any) -> Any:
    array = leaf if isinstance(leaf, Array | ComplexArray) else as_array(leaf)
    sizes: Sequence[Any] = array.shape
    if isinstance(array, ComplexArray):
        return np.zeros(sizes, array.dtype)
    zero = Array(constant(np.zeros((), array.dtype)), weak=array.weak, scalar=array.scalar)
    return zero if not sizes else op.Expand(zero, size_vector(sizes))
