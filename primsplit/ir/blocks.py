"""Define Op and Block, the program itself, and list what they read."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np

from primsplit.ir.caching.fingerprint import fingerprint
from primsplit.ir.dims import symbols
from primsplit.ir.errors import Place
from primsplit.ir.types import Type
from primsplit.ir.values import Const, Value, Var, same_array, same_data

Attribute = Any  # int, float, str, bytes, a list of those, an array, or a Block


class BodyRole(StrEnum):
    """The purpose of a body that stages ask for; it is the name of the block as well.

    Ask by `is`: a block of a file, or of a user's function, may be called the same.
    """

    TILE = "tile"
    """It works on the rows that fit in the cache."""
    DIRECTIONS = "directions"
    """It computes a few directions of a basis at a time, to save memory: its loop must stay a loop."""


@dataclass(frozen=True, slots=True, eq=False)
class Op:
    """One operation. `kind` is the operator's name, `domain::name` outside of the standard.

    `attributes` are those that were set, without the schema's defaults. `remark` says, in a pullback, what the op is
    for.
    """

    kind: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Var, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    place: Place | None = None
    remark: str = ""
    _blocks: "tuple[Block, ...] | None" = field(default=None, init=False, repr=False)
    _reads: tuple[Var, ...] | None = field(default=None, init=False, repr=False)

    @property
    def line(self) -> Place | None:
        """The user's line that recorded it, None if it has none."""
        return self.place.whole_line if self.place is not None and self.place.filename else None

    def blocks(self) -> Sequence["Block"]:
        """Return the sub-blocks, such as the branches of an If; computed once."""
        if not self.attributes:
            return ()
        found = self._blocks
        if found is None:
            found = tuple([value for value in self.attributes.values() if isinstance(value, Block)])
            object.__setattr__(self, "_blocks", found)
        return found

    def beside(
        self,
        kind: str,
        inputs: tuple[Value | None, ...],
        outputs: tuple[Var, ...],
        attributes: Mapping[str, Attribute] | None = None,
    ) -> "Op":
        """Return another op with this one's place and remark: one that replaces it, or accompanies it."""
        return Op(kind, inputs, outputs, attributes or {}, self.place, self.remark)

    def with_blocks(self, change: Callable[["Block"], "Block"]) -> "Op":
        """Return the op with `change` applied to each sub-block, a call's body too; itself if nothing changes."""
        if not any(self.blocks()):
            return self
        attributes = {k: change(v) if isinstance(v, Block) else v for k, v in self.attributes.items()}
        if all(attributes[k] is v for k, v in self.attributes.items()):
            return self
        return replace(self, attributes=attributes)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Parameters, a list of ops in an order that can be run, and results."""

    name: str
    params: tuple[Var, ...]
    ops: tuple[Op, ...]
    results: tuple[Value, ...]
    _captures: tuple[Var, ...] | None = field(default=None, init=False, repr=False)
    _kinds: frozenset[str] | None = field(default=None, init=False, repr=False)
    _types: frozenset[Type] | None = field(default=None, init=False, repr=False)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its ops and of those in its sub-blocks; computed once."""
        found = self._kinds
        if found is None:
            own = {op.kind for op in self.ops}
            found = frozenset(own.union(*(inner.kinds for op in self.ops for inner in op.blocks())))
            object.__setattr__(self, "_kinds", found)
        return found

    @property
    def types(self) -> frozenset[Type]:
        """The types of its values and of those in its sub-blocks; computed once."""
        found = self._types
        if found is None:
            own = {v.type for op in self.ops for v in (*op.inputs, *op.outputs) if v is not None}
            own.update(v.type for v in (*self.params, *self.results))
            found = frozenset(own.union(*(inner.types for op in self.ops for inner in op.blocks())))
            object.__setattr__(self, "_types", found)
        return found

    def __eq__(self, other: object) -> bool:
        """Whether the two are the same program, apart from the names of Vars, the places and the remarks."""
        return isinstance(other, Block) and Comparison().blocks(self, other)

    __hash__ = None  # type: ignore[assignment]  # equality walks the program; use id() for a table of blocks


def is_call(op: Op) -> bool:
    """Whether the op is a call of a traced function: its attribute `body` is the function's program."""
    return op.kind.startswith("call::")


def has_blocks(op: Op) -> bool:
    """Whether the op has sub-blocks that may capture, such as If; a call's body captures nothing."""
    return bool(op.blocks()) and not is_call(op)


def operands(op: Op) -> tuple[Value | None, ...]:
    """Return the op's inputs, then what its sub-blocks capture: everything that its outputs depend on."""
    if not has_blocks(op):
        return op.inputs
    return (*op.inputs, *dict.fromkeys(v for inner in op.blocks() for v in free(inner)))


def walk(block: Block) -> Iterator[Op]:
    """Yield every op of a block and of its sub-blocks, each op before those inside it."""
    for op in block.ops:
        yield op
        for inner in op.blocks():
            yield from walk(inner)


def reads(op: Op) -> Sequence[Var]:
    """Return the Vars that an op depends on: its inputs, and what its sub-blocks capture; computed once."""
    found = op._reads
    if found is None:
        found = tuple([value for value in op.inputs if isinstance(value, Var)])
        for inner in op.blocks():
            found += free(inner)
        object.__setattr__(op, "_reads", found)
    return found


def free(block: Block) -> tuple[Var, ...]:
    """Return the Vars that a block reads and does not define (its captures), in order of first use; computed once."""
    found = block._captures
    if found is None:
        found = tuple(_captured(block))
        object.__setattr__(block, "_captures", found)
    return found


def _captured(block: Block) -> Iterable[Var]:
    defined = set(block.params)
    captures: dict[Var, None] = {}
    for op in block.ops:
        for var in reads(op):
            if var not in defined:
                captures[var] = None
        defined.update(op.outputs)
    for result in block.results:
        if isinstance(result, Var) and result not in defined:
            captures[result] = None
    return captures


def readers(ops: Iterable[Op], results: Iterable[Value]) -> dict[Var, list[Op | None]]:
    """Map each Var to its readers, one entry for each read, in order: ops, and None for a result."""
    by_var: dict[Var, list[Op | None]] = {}
    for op in ops:
        for var in reads(op):
            by_var.setdefault(var, []).append(op)
    for result in results:
        if isinstance(result, Var):
            by_var.setdefault(result, []).append(None)
    return by_var


def live_ops(ops: Iterable[Op], results: Iterable[Value]) -> list[Op]:
    """Return the ops that the results depend on, in their order."""
    return live_backwards(reversed(list(ops)), results)


def live_backwards(backwards: Iterable[Op], results: Iterable[Value]) -> list[Op]:
    """Return the ops that the results depend on, in their order; reads `backwards` only as far as needed."""
    wanted = {r for r in results if isinstance(r, Var)}
    kept: list[Op] = []
    for op in backwards if wanted else ():
        if not wanted.isdisjoint(op.outputs):
            wanted.difference_update(op.outputs)
            wanted.update(reads(op))
            kept.append(op)
            if not wanted:
                break
    kept.reverse()
    return kept


def own_symbols(block: Block) -> set[str]:
    """Return the symbols that the block's ops introduce: sizes that depend on data."""
    outer = {s for v in (*block.params, *free(block)) for d in v.type.shape or () for s in symbols(d)}
    all_symbols = {s for op in block.ops for v in op.outputs for d in v.type.shape or () for s in symbols(d)}
    return all_symbols - outer


class Comparison:
    """Compare two programs side by side; `pairs` maps each Var of the first to its counterpart in the second.

    A subclass may compare types, and what is read from outside, by rules of its own.
    """

    def __init__(self) -> None:
        self.pairs: dict[Var, Var] = {}

    def blocks(self, a: Block, b: Block) -> bool:
        if (len(a.params), len(a.ops), len(a.results)) != (len(b.params), len(b.ops), len(b.results)):
            return False
        return (
            self.define(a.params, b.params)
            and all(self.ops(p, q) for p, q in zip(a.ops, b.ops, strict=True))
            and all(self.values(p, q) for p, q in zip(a.results, b.results, strict=True))
        )

    def define(self, a: tuple[Var, ...], b: tuple[Var, ...]) -> bool:
        if len(a) != len(b) or not all(self.types(p.type, q.type) for p, q in zip(a, b, strict=True)):
            return False
        self.pairs.update(zip(a, b, strict=True))
        return True

    def ops(self, a: Op, b: Op) -> bool:
        return (
            a.kind == b.kind
            and len(a.inputs) == len(b.inputs)
            and all(self.values(p, q) for p, q in zip(a.inputs, b.inputs, strict=True))
            and a.attributes.keys() == b.attributes.keys()
            and all(self.attributes(value, b.attributes[name]) for name, value in a.attributes.items())
            and self.define(a.outputs, b.outputs)
        )

    def types(self, a: Type, b: Type) -> bool:
        return a == b

    def values(self, a: Value | None, b: Value | None) -> bool:
        if isinstance(a, Var):
            return isinstance(b, Var) and self.pairs.get(a, a) is b
        if isinstance(a, Const):
            return isinstance(b, Const) and same_data(a, b)
        return b is None

    def attributes(self, a: Attribute, b: Attribute) -> bool:
        if isinstance(a, Block):
            return isinstance(b, Block) and self.blocks(a, b)
        if isinstance(a, np.ndarray):
            return isinstance(b, np.ndarray) and same_array(a, b)
        if a is not b and _is_rule(a) and _is_rule(b):
            return bool(fingerprint(a) == fingerprint(b))
        return a is b or bool(a == b)


def _is_rule(value: Attribute) -> bool:
    """Whether it is a function, or an object that tells what it depends on."""
    return callable(value) or hasattr(type(value), "depends_on")
