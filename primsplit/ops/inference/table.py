"""The table of inference rules, and `Site`, the use of an operator that a rule is called with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from primsplit.ir import AnyArray, Const, Type, Value
from primsplit.ir.dims import Dim, Kinded, Shape, Size, symbol
from primsplit.ir.errors import ShapeError
from primsplit.ops.schema import schema

MOST_AXES = 64
"""The most axes of an array of NumPy."""


@dataclass(frozen=True, slots=True)
class Site:
    """One use of an operator: its inputs, and its attributes with the schema's defaults."""

    kind: str
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Any]
    outputs: int

    def type(self, position: int) -> Type:
        """Return the type of an input that is present. Raises ShapeError if it is absent."""
        value = self.inputs[position]
        if value is None:
            raise ShapeError(f"{self.kind} needs its input {schema(self.kind).inputs[position][0]}")
        return value.type

    def _input(self, position: int) -> Value | None:
        return self.inputs[position] if position < len(self.inputs) else None

    def has(self, position: int) -> bool:
        """Whether the optional input is present."""
        return self._input(position) is not None

    def shape(self, position: int) -> Shape:
        """Return the shape of an input. Raises UnknownRank if its rank is unknown."""
        shape = self.type(position).shape
        if shape is None:
            raise UnknownRank
        return shape

    def sizes(self, position: int) -> tuple[Dim, ...] | None:
        """Return the elements of an input that holds sizes, if they are known."""
        return None if (value := self._input(position)) is None else value.sizes

    def integers(self, position: int) -> tuple[int, ...] | None:
        """Return the elements of an integer input, if they are literals."""
        known = self.sizes(position)
        if known is None or any(isinstance(s, Size) for s in known):
            return None
        return tuple(int(s) for s in known)

    def attribute(self, name: str) -> Any:
        """Return an attribute, or the schema's default; None if it has none."""
        if name in self.attributes:
            return self.attributes[name]
        return schema(self.kind).defaults.get(name)

    def constant(self, position: int) -> AnyArray | None:
        """Return the value of an input that is a small constant, else None."""
        value = self._input(position)
        return value.numpy() if isinstance(value, Const) and value.is_short else None


class UnknownRank(Exception):
    """The rank of an input is unknown, so that a rule cannot infer the result."""


Rule = Callable[[Site], Sequence[Type]]
RULES: dict[str, Rule] = {}


def rule(*kinds: str) -> Callable[[Rule], Rule]:
    """Register the inference rule of these operators."""

    def register(function: Rule) -> Rule:
        for kind in kinds:
            RULES[kind] = function
        return function

    return register


_fresh = 0


def fresh(stem: str) -> Size:
    """Return a size that nothing is known of: a symbol that no other size has, of the stem's kind."""
    global _fresh  # noqa: PLW0603  # the one counter of the process; names only have to differ
    _fresh += 1
    name = f"{stem}_{_fresh}"
    return symbol(Kinded(name, stem.kind) if isinstance(stem, Kinded) else name)


def renewed(names: Iterable[str]) -> dict[str, Dim]:
    """Return a fresh size for each symbol, with its stem and kind."""
    return {name: fresh(_stem(name)) for name in names}


def _stem(name: str) -> str:
    stem = name.rpartition("_")[0] or name
    return Kinded(stem, name.kind) if isinstance(name, Kinded) else stem


def reserve(name: str) -> None:
    """Keep `fresh` from returning this name."""
    global _fresh  # noqa: PLW0603  # see `fresh`
    number = name.rpartition("_")[2]
    if number.isdecimal() and len(number) < 10:
        _fresh = max(_fresh, int(number))


def axis_of(axis: int, rank: int, kind: str) -> int:
    """Return the axis counted from the front. Raises ShapeError if the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise ShapeError(f"{kind}: axis {axis} of a tensor with {rank} axes")
    return axis % rank if rank else 0


def typed(dtype: npt.DTypeLike, shape: Shape) -> tuple[Type]:
    """Return the type of the only output, in a tuple."""
    return (Type(dtype, shape),)
