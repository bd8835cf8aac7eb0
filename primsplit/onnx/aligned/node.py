"""A node that reads values of unknown rank: its inputs with leading or trailing axes of size 1."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Const, Type, Value
from primsplit.ir.errors import PrimsplitError
from primsplit.onnx.definitions.earlier import EARLIER
from primsplit.onnx.demands import of_rank
from primsplit.ops import op
from primsplit.ops.schema import exists, schema
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import as_array

MOST = 8
"""The most axes that a value of unknown rank may have if a gradient is taken through it."""
END = 2**31 - 1
"""An end behind the last axis."""
MEASURED = {"CenterCropPad": (1,), "Resize": (2, 3), f"{EARLIER}::Resize": (1,), f"{EARLIER}::Upsample": (1,)}
"""Inputs with a number for each axis, or for each of the attribute `axes`."""
Recorder = Callable[[str, Sequence[Value | None], Mapping[str, Any], int], Sequence[Value]]
"""Records an operator on these inputs, with these attributes and so many outputs."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A value's elements with leading axes of size 1, and its own number of axes, an int64 vector of one element.

    `turned` are the elements with those axes behind, if they were computed that way.
    """

    wide: Array
    rank: Array
    turned: Array | None = None

    def own_shape(self) -> Array:
        """Return the sizes of the value's own axes."""
        count = len(self.wide.shape)
        return op.Slice(op.Shape(self.wide), op.Sub(np.array([count]), self.rank), [count])

    def own(self) -> Value:
        """Return the value with its own axes."""
        found: Array = op.Reshape(self.wide, self.own_shape(), allowzero=1, types=[Type(self.wide.dtype, None)])
        return found.value

    def front(self) -> Array:
        """Return the elements with the axes of size 1 behind the value's own, which then count from the front."""
        if self.turned is not None:
            return self.turned
        shape = self.own_shape()
        return op.Reshape(self.wide, trailed(shape, self.rank, len(self.wide.shape)), allowzero=1)

    def opened(self, before: int, count: int) -> Array:
        """Return the elements with so many axes, those of size 1 behind the first `before` of the value's own.

        A negative `before` counts the own axes that remain behind them.
        """
        own = self.own_shape()
        first, rest = op.Slice(own, [0], [before]), op.Slice(own, [before], [END])
        if before < 0:
            sizes = (trailed(first, op.Add(self.rank, np.array([before])), count + before), rest)
        else:
            sizes = (first, led(rest, op.Sub(self.rank, np.array([before])), count - before))
        return op.Reshape(self.wide, op.Reshape(op.Concat(*sizes, axis=0), [count]), allowzero=1)

    def from_back(self, axes: Array) -> Array:
        """Return axes of the value, which may count from either end, as axes of `wide`, counted from the front.

        Only the run knows them.
        """
        count = len(self.wide.shape)
        before = op.Reshape(op.Sub(np.array([count]), self.rank), np.zeros(0, np.int64))
        wide = op.Cast(axes, to=np.int64)
        return op.Add(wide, op.Where(op.Less(wide, 0), count, before))


Known = MutableMapping[Value, Aligned]


def led(sizes: Array, rank: Array, count: int) -> Array:
    """Return a vector of `rank` sizes, behind as many of 1 as make it `count` long."""
    return op.Reshape(op.Concat(_ones(rank, count), sizes, axis=0), [count])


def trailed(sizes: Array, rank: Array, count: int) -> Array:
    """Return a vector of `rank` sizes, before as many of 1 as make it `count` long."""
    return op.Reshape(op.Concat(sizes, _ones(rank, count), axis=0), [count])


def _ones(rank: Array, count: int) -> Array:
    return op.ConstantOfShape(op.Sub(np.array([count]), rank), value=np.ones(1, np.int64))


def from_front(x: Array, rank: Array) -> Aligned:
    """Return a value whose own axes are the first ones of an array, and whose others are of size 1."""
    count = len(x.shape)
    own = op.Slice(op.Shape(x), [0], rank)
    return Aligned(op.Reshape(x, led(own, rank, count), allowzero=1), rank, turned=x)


def of_sizes(x: Array, sizes: Array, rank: Array, most: int) -> Aligned:
    """Return the elements of an array as a value of these sizes, `rank` of them and at most `most`."""
    return Aligned(op.Reshape(x, led(sizes, rank, most), allowzero=1), rank)


def closed(x: Array, before: int, rank: Array) -> Aligned:
    """Return a value of this rank from an array of its elements with axes of size 1 behind the first ones."""
    shape, count = op.Shape(x), len(x.shape)
    start = op.Add(op.Sub(np.array([count]), rank), np.array([before]))
    own = op.Concat(op.Slice(shape, [0], [before]), op.Slice(shape, start, [END]), axis=0)
    return of_sizes(x, own, rank, count)


def aligned(value: Value, known: Known) -> Aligned:
    """Return a value with leading axes of size 1, which `known` has or learns; as it is if its rank is known."""
    if value.type.rank is not None:
        return Aligned(Array(value), as_array(np.array([value.type.rank])))
    if value not in known:
        shape = op.Shape(Array(value))
        rank = op.Shape(shape)
        known[value] = Aligned(op.Reshape(Array(value), led(shape, rank, MOST), allowzero=1), rank)
    return known[value]


class Node:
    """An operator on inputs that may be of unknown rank. `known` are those that are aligned already."""

    def __init__(
        self,
        kind: str,
        values: Sequence[Value | None],
        attributes: Mapping[str, Any],
        outputs: int,
        known: Known,
        recorder: Recorder,
    ) -> None:
        self.kind = kind
        self.values = list(values)
        self.attributes = attributes
        self.outputs = outputs
        self.known = known
        self.recorder = recorder

    def record(self, *inputs: Array | None, **attributes: Any) -> list[Array]:
        """Record the operator on arrays of known rank; `attributes` override the node's own."""
        values = [None if x is None else x.value for x in inputs]
        while values and values[-1] is None:
            values.pop()
        return [Array(v) for v in self.recorder(self.kind, values, {**self.attributes, **attributes}, self.outputs)]

    def value(self, position: int) -> Value | None:
        """Return an input, None for one that is absent."""
        return self.values[position] if position < len(self.values) else None

    def is_open(self, position: int) -> bool:
        """Whether an input is of unknown rank."""
        value = self.value(position)
        return value is not None and value.type.rank is None

    def open_ones(self) -> list[int]:
        """Return the positions of the inputs of unknown rank."""
        return [i for i in range(len(self.values)) if self.is_open(i)]

    def is_open_first_alone(self) -> bool:
        """Whether only the first input is of unknown rank."""
        return self.open_ones() == [0]

    def given_rank(self, position: int) -> int | None:
        """Return the rank of an input, if that is known."""
        value = self.value(position)
        return None if value is None else value.type.rank

    def settle(self, position: int, rank: int) -> None:
        """Fix the rank of an input of unknown rank; a run in which it has another rank fails."""
        value = self.value(position)
        if value is not None and value.type.rank is None:
            self.values[position] = of_rank(value, rank)

    def measure(self, position: int, length: int) -> None:
        """Fix the length of an input that is a vector of unknown length; a run in which it has another length fails."""
        value = self.value(position)
        if value is not None and value.type.shape is not None and not isinstance(value.type.shape[0], int):
            self.values[position] = op.Reshape(Array(value), [length]).value

    def settled(self, ranks: Mapping[int, int]) -> list[Array]:
        """Record the node on inputs of these ranks, by position, which are all that are unknown."""
        for position, rank in ranks.items():
            self.settle(position, rank)
        return self.record(*self.arrays())

    def stretch(self, position: int, rank: int) -> None:
        """Give an input of unknown rank so many axes, the first of size 1 if it has fewer."""
        value = self.value(position)
        if value is not None and value.type.rank is None:
            shape = op.Shape(Array(value))
            self.values[position] = op.Reshape(Array(value), led(shape, op.Shape(shape), rank), allowzero=1).value

    def aligned(self, position: int) -> Aligned:
        """Return an input with leading axes of size 1; as it is if its rank is known."""
        value = self.values[position]
        if value is None:
            raise PrimsplitError("an input that is absent has no rank")
        return aligned(value, self.known)

    def given(self, position: int) -> Array:
        """Return an input of known rank as it is."""
        value = self.values[position]
        if value is None or value.type.rank is None:
            raise PrimsplitError("an input that is absent, or of unknown rank, is no array")
        return Array(value)

    def array(self, position: int) -> Array | None:
        """Return an input with leading axes of size 1, None for one that is absent."""
        return None if self.value(position) is None else self.aligned(position).wide

    def arrays(self) -> list[Array | None]:
        """Return all inputs, with leading axes of size 1 if their rank is unknown."""
        return [self.array(i) for i in range(len(self.values))]

    def rest(self) -> list[Array | None]:
        """Return all inputs but the first."""
        return self.arrays()[1:]

    def rank(self, position: int) -> Array:
        """Return the rank of an input, which may be computed."""
        return self.aligned(position).rank

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the schema's default, or this one."""
        if name in self.attributes:
            return self.attributes[name]
        return schema(self.kind).defaults.get(name, default) if exists(self.kind) else default

    def integers(self, position: int) -> list[int] | None:
        """Return the numbers of an integer input that is a constant; none of an absent one."""
        value = self.value(position)
        if value is None:
            return []
        return [int(i) for i in value.numpy().reshape(-1)] if isinstance(value, Const) and value.is_small else None


Form = Callable[[Node], Sequence[Aligned | Array] | None]
"""Records a node; returns its outputs, aligned or of known rank, or None if it has no such form."""


def along(node: Node, axis: int) -> list[Aligned]:
    """Record the operator along `axis` of the first input.

    The results have as many axes, the other inputs are as given.

    The operator reads the input with axes of size 1 in front, or behind if `axis` counts from the front.
    """
    source = node.aligned(0)
    if axis < 0:
        return [Aligned(x, source.rank) for x in node.record(source.wide, *node.rest())]
    return [from_front(x, source.rank) for x in node.record(source.front(), *node.rest())]
