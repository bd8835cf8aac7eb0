"""What the passes share: replacing values while walking a block once, sub-blocks included."""

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, free, has_blocks, reads, renamed, same_types
from primsplit.tracing import Recording, fresh_stack, recording

Replaced = dict[Var, Value]


class Rewriter:
    """One walk over a block, op by op, that replaces values. A pass says in `visit` what becomes of an op.

    `visit` gets an op that already reads through the replacements. It returns the op to keep, or None where its
    outputs have been replaced; what it appends to `kept` comes before. Sub-blocks are walked before the op is visited,
    with the same replacements: what is replaced inside is not seen outside, since nobody outside reads it. Calls of
    traced functions stay closed. `enter` and `leave` are called around the walk of a block.

    A pass that says in `kinds` which ops it is for does not walk the blocks that hold none of them.
    """

    kinds: ClassVar[Set[str] | None] = None

    def __init__(self) -> None:
        self.replaced: Replaced = {}
        self.kept: list[Op] = []

    def visit(self, op: Op) -> Op | None:
        """What becomes of the op; here, nothing. A pass that leaves an op alone asks `super().visit(op)`."""
        return op

    def enter(self, block: Block) -> None:
        """A block is about to be walked."""

    def leave(self, block: Block) -> None:
        """A block has been walked."""

    def run(self, block: Block) -> Block:
        """The block rewritten; the same object where nothing changes."""
        if not self.concerns(block) and not (self.replaced and any(v in self.replaced for v in free(block))):
            return block
        self.enter(block)
        outer, self.kept = self.kept, []
        changed = False
        for op in block.ops:
            found = self.visit(self.read(op))
            changed = changed or found is not op
            if found is not None:
                self.kept.append(found)
                if self.replaced:
                    for var in found.outputs:
                        self.replaced.pop(var, None)
        results = tuple(self.value(r) for r in block.results)
        self.leave(block)
        kept, self.kept = self.kept, outer
        if not changed and all(a is b for a, b in zip(results, block.results, strict=True)):
            return block
        return Block(block.name, block.params, tuple(kept), results)

    def concerns(self, block: Block) -> bool:
        """True for a block with ops that the pass is for."""
        return self.kinds is None or not self.kinds.isdisjoint(block.kinds)

    def value(self, value: Value) -> Value:
        """What stands for this value now."""
        return renamed(value, self.replaced)

    def read(self, op: Op) -> Op:
        """The op with its inputs and sub-blocks rewritten; the same object where nothing changes."""
        inputs = op.inputs
        if self.replaced and not self.replaced.keys().isdisjoint(inputs):
            inputs = tuple(renamed(v, self.replaced) for v in inputs)
        attributes = op.attributes
        if attributes and has_blocks(op):
            attributes = self.inside(op)
        if inputs is op.inputs and attributes is op.attributes:
            return op
        return Op(op.kind, inputs, op.outputs, attributes, op.place, op.remark)

    def inside(self, op: Op) -> Mapping[str, object]:
        """The op's attributes with their blocks rewritten."""
        attributes = op.attributes
        found = {k: self.run(v) if isinstance(v, Block) else v for k, v in attributes.items()}
        return attributes if all(found[k] is v for k, v in attributes.items()) else found

    def replace(self, var: Var, value: Value) -> bool:
        """Let `value` stand for `var`, where it has provably the same type; tell whether it does."""
        if not same_types(var.type, value.type):
            return False
        self.replaced[var] = value
        return True


@contextmanager
def recorded_beside(op: Op) -> Iterator[Recording]:
    """A recording of what goes beside an op: at its place, where the sizes of all that it reads are known."""
    with fresh_stack(), recording(place=op.place, remark=op.remark) as around:
        for var in reads(op):
            around.learn(var)
        yield around


def literal_shape(type: Type) -> tuple[int, ...] | None:
    """The shape, where every size is a literal."""
    if type.shape is None:
        return None
    literal = tuple(d for d in type.shape if isinstance(d, int))
    return literal if len(literal) == len(type.shape) else None


def integers(value: Value | None) -> tuple[int, ...] | None:
    """The elements of a short integer constant."""
    sizes = value.sizes if isinstance(value, Const) else None
    return None if sizes is None else tuple(int(s) for s in sizes if isinstance(s, int))


def reduced_axes(reduction: Op, rank: int) -> frozenset[int] | None:
    """The axes that a reduction of an array of this rank goes along, counted from the front; None where only runs know.

    None also for one that is told to leave the array as it is where it is given none.
    """
    told = integers(reduction.inputs[1]) if len(reduction.inputs) > 1 and reduction.inputs[1] is not None else ()
    if told is None or (not told and reduction.attributes.get("noop_with_empty_axes", 0)):
        return None
    return frozenset(axis % rank for axis in told) if told else frozenset(range(rank))


def made_again(op: Op, value: Var, view: Var) -> list[Op]:
    """The ops that make a value again, an axis added and taken off, without a copy."""
    shape = value.type.shape
    front = Const(np.zeros(1, np.int64))
    wide = Var(Type(value.type.dtype, None if shape is None else (1, *shape)))
    return [
        op.beside("Unsqueeze", (value, front), (wide,)),
        op.beside("Squeeze", (wide, front), (view,)),
    ]


def reading_again(op: Op, operands: Iterable[Value | None]) -> list[Op]:
    """The op behind what makes these of its operands again, which it then reads."""
    apart = {v: Var(v.type, v.hint, v.sizes) for v in operands if isinstance(v, Var)}
    made = [step for v, again in apart.items() for step in made_again(op, v, again)]
    return [*made, replace(op, inputs=tuple(renamed(v, apart) for v in op.inputs))]
