"""The table of batching rules, and `Site`, the op that a rule is called with.

A rule records what one op does for a whole batch of examples. Batched values have the batch axis in front; shared
values are the same for every example. A rule returns an output for each of the op's, batched unless it is `Shared`, or
None if only a loop over the examples will do.

```
@batching("Trilu")
def trilu(site):
    return site.emit(*site.inputs) if site.only(0) else None    # the last two axes, as for one example
```
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Op, Type, Var
from primsplit.ir.carriers import FLOAT8
from primsplit.ir.dims import Dim, Shape
from primsplit.ir.errors import ShapeError
from primsplit.ops import op as operators
from primsplit.ops.traits import kinds_where
from primsplit.rules.table import with_defaults
from primsplit.tracing.array import Array
from primsplit.tracing.handles.described import RANK_CURE
from primsplit.tracing.registering import check_kinds, check_takes, claim, module_of


class Shared:
    """An output that is the same for every example."""

    def __init__(self, array: Array) -> None:
        self.array = array


class BatchBlock(Protocol):
    """Batches a block inside of an op: `batched` says which parameters are; captures are as in the program.

    Returns the block and which results are batched. Results for which `wanted` is True are always batched.
    """

    def __call__(
        self, block: Block, batched: Sequence[bool], wanted: Sequence[bool] = ()
    ) -> tuple[Block, list[bool]]: ...


@dataclass(frozen=True, slots=True)
class Site:
    """One op of the program of one example, with its inputs for the batch."""

    op: Op
    inputs: tuple[Array | None, ...]
    batched: tuple[bool, ...]
    size: Dim
    batch: BatchBlock
    captured: Callable[[Block], list[tuple[Var, Array]]]
    """The batched values that a block inside of the op reads."""

    @property
    def kind(self) -> str:
        """The operator's name."""
        return self.op.kind

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes, with the schema's defaults for those that are absent."""
        return with_defaults(self.op.kind, self.op.attributes)

    def has(self, position: int) -> bool:
        """Whether the optional input is present."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def input(self, position: int) -> Array:
        """Return an input, batched or shared. Raises ShapeError if it is absent."""
        array = self.inputs[position]
        if array is None:
            raise ShapeError(f"{self.kind} needs its input {position}")
        return array

    def is_batched(self, position: int) -> bool:
        """Whether the input differs between examples."""
        return position < len(self.batched) and self.batched[position]

    def only(self, *positions: int) -> bool:
        """Whether no input but these is batched."""
        return not any(b for i, b in enumerate(self.batched) if i not in positions)

    def shape(self, position: int) -> Shape:
        """Return the shape of an input of one example. Raises ShapeError if its rank is unknown."""
        value = self.op.inputs[position]
        if value is None or value.type.shape is None:
            told = f"vmap: the rank of input {position} of {self.kind} is not known"
            raise ShapeError(told, place=self.op.place, cure=RANK_CURE)
        return value.type.shape

    def rank(self, position: int) -> int:
        """Return the number of axes of an input of one example."""
        return len(self.shape(position))

    def result(self, position: int = 0) -> Type:
        """Return the type of an output of one example."""
        return self.op.outputs[position].type

    def results(self) -> list[Type]:
        """Return the types of the outputs of the batch."""
        return [batched_type(v.type, self.size) for v in self.op.outputs]

    def whole(self, position: int) -> Array:
        """Return an input as a batched value: a shared one is repeated."""
        array = self.input(position)
        return array if self.batched[position] else repeated(array, self.size)

    def aligned(self, position: int, rank: int) -> Array:
        """An input that broadcasts with a batch of values of rank `rank`: axes are added after the batch axis."""
        array = self.input(position)
        return with_rank(array, rank) if self.batched[position] else array

    def emit(self, *inputs: Array | None, **changed: Any) -> Array:
        """Record the op itself on other inputs, with some attributes changed; return the first output."""
        return self.emit_all(*inputs, **changed)[0]

    def emit_all(self, *inputs: Array | None, **changed: Any) -> tuple[Array, ...]:
        """Record the op itself on other inputs, with some attributes changed; return all outputs that the op has."""
        attributes = {**self.op.attributes, **changed}
        values = [None if x is None else x.value for x in inputs]
        while values and values[-1] is None:
            values.pop()
        return tuple(map(Array, tracing.emit(self.kind, values, attributes, outputs=len(self.op.outputs))))


Outputs = Array | Shared | Sequence[Array | Shared] | None
Rule = Callable[[Site], Outputs]
Form = Literal["rule", "floor", "shared", "ragged", "refused"]

BATCHING: dict[str, Rule] = {}
FLOOR: dict[str, str] = {}
SHARED: frozenset[str] = kinds_where(lambda t: t.sizes == "all") | {"Constant"}
"""Operators whose inputs, if any, all decide sizes: their results are the same for every example."""

RAGGED: frozenset[str] = kinds_where(lambda t: t.ragged)
"""Operators whose results differ in size between examples: see ragged.py."""
REFUSED: dict[str, str] = {}


def batching(*kinds: str, replace: bool = False) -> Callable[[Rule], Rule]:
    """Register the batching rule of these operators.

    Raises RuleError for a name that is no operator's, for a rule that does not take one Site, and for an operator that
    has a rule of another module, unless `replace` is True.
    """
    check_kinds(*kinds)

    def register(rule: Rule) -> Rule:
        check_batching(rule, " and ".join(kinds))
        for kind in kinds:
            known = BATCHING.get(kind)
            was = None if known is None else module_of(known)
            claim("batching rule", kind, was, module_of(rule), replace=replace)
            BATCHING[kind] = rule
        return rule

    return register


def check_batching(rule: Rule, name: str) -> None:
    """Raise RuleError for a batching rule that does not take one argument."""
    check_takes(
        rule, f"the batching rule of {name}", [1], cure="It takes a Site, and returns the outputs of the batch."
    )


def floor(because: str, *kinds: str) -> None:
    """Register operators whose examples are computed one after the other, with the reason."""
    check_kinds(*kinds)
    for kind in kinds:
        FLOOR[kind] = because


def refused(because: str, *kinds: str) -> None:
    """Register operators that have no batch, with the reason."""
    check_kinds(*kinds)
    for kind in kinds:
        REFUSED[kind] = because


def forms(kind: str) -> tuple[Form, ...]:
    """Return how an operator is batched: exactly one form for every operator of the standard."""
    tables: tuple[tuple[Form, Any], ...] = (
        ("rule", BATCHING), ("floor", FLOOR), ("shared", SHARED), ("ragged", RAGGED), ("refused", REFUSED),
    )  # fmt: skip
    return tuple(form for form, table in tables if kind in table)


# Pieces that rules are made of.


def batched_type(type: Type, size: Dim) -> Type:
    """Return the type of a batch of such values. Raises ShapeError if the rank is unknown."""
    if type.shape is None:
        raise ShapeError(f"vmap: the rank of a {type.dtype} value is not known", cure=RANK_CURE)
    return Type(type.dtype, (size, *type.shape))


def repeated(x: Array, size: Dim) -> Array:
    """Repeat a shared value for every example, along a batch axis in front."""
    ones = np.ones(len(x.shape), np.int64)
    sizes = tracing.size_vector([size])
    wanted = operators.Concat(Array(sizes), ones, axis=0) if ones.size else Array(sizes)
    if x.dtype.name in FLOAT8:  # which the standard does not expand, and float16 holds
        wide = operators.Expand(operators.Cast(x, to=np.float16), wanted, types=[Type(np.float16, (size, *x.shape))])
        return operators.Cast(wide, to=x.dtype, saturate=0)
    return operators.Expand(x, wanted, types=[Type(x.dtype, (size, *x.shape))])


def with_rank(x: Array, rank: int) -> Array:
    """Insert axes in a batched value, so that it broadcasts with values of rank `rank` an example."""
    missing = rank + 1 - len(x.shape)
    return operators.Unsqueeze(x, list(range(1, 1 + missing))) if missing > 0 else x


def behind(axis: int) -> int:
    """Return an axis of one example as an axis of the batch; axes counted from the end stay."""
    return axis + 1 if axis >= 0 else axis


def behind_all(axes: Array) -> Array:
    """Convert an integer vector or scalar of axes of one example to axes of the batch."""
    known = axes.known()
    if known is not None:
        return Array(tracing.constant(np.where(known >= 0, known + 1, known).astype(known.dtype)))
    return operators.Where(operators.Less(axes, 0), axes, operators.Add(axes, 1))


def spread(flags: Array, rank: int) -> Array:
    """Reshape flags of the examples, [B], to broadcast with values of rank `rank`, the batch axis included."""
    return operators.Unsqueeze(flags, list(range(1, rank))) if rank > 1 else flags


def any_of(flags: Array) -> Array:
    """Return whether a flag of a vector is true; false for none. A sum of ones never rounds to 0."""
    return operators.Greater(operators.ReduceSum(operators.Cast(flags, to=np.float32), [0], keepdims=0), 0)


def of_takers(x: Array, taken: Array) -> Array:
    """Replace the values of examples that are not `taken` by that of the first one that is."""
    first = operators.ArgMax(operators.Cast(taken, to=np.int32), axis=0, keepdims=1)
    return operators.Where(spread(taken, len(x.shape)), x, operators.Gather(x, first, axis=0), types=[x.type])
