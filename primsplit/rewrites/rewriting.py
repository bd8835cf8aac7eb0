"""Walk a block once and replace values, sub-blocks included: the base class of rewrites, and helpers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

import numpy as np

from primsplit.ir import (
    Block,
    Const,
    Op,
    Type,
    Value,
    Var,
    free,
    has_blocks,
    is_call,
    live_ops,
    reads,
    renamed,
    same_types,
)
from primsplit.tracing import Recording, fresh_stack, recording

Replaced = dict[Var, Value]


class Rewriter:
    """One walk over a block, op by op, that replaces values. A pass overrides `visit`, which replaces an op.

    `visit` receives an op that already reads the replacements. It returns the op to keep, or None if its outputs have
    been replaced; ops that it appends to `kept` come before. Sub-blocks are walked before the op is visited, with the
    same replacements: replacements inside are not seen outside, since nobody outside reads these values. Calls of
    traced functions stay closed. `enter` and `leave` are called around the walk of a block.

    A pass that names its operators in `kinds` does not walk the blocks that hold none of them.
    """

    kinds: ClassVar[Set[str] | None] = None

    def __init__(self) -> None:
        self.replaced: Replaced = {}
        self.kept: list[Op] = []

    def visit(self, op: Op) -> Op | None:
        """Return the op that replaces this one; by default itself.

        A pass that leaves an op alone calls `super().visit(op)`.
        """
        return op

    def enter(self, block: Block) -> None:
        """A block is about to be walked."""

    def leave(self, block: Block) -> None:
        """A block has been walked."""

    def run(self, block: Block) -> Block:
        """Return the block rewritten; the same object if nothing changes."""
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

    def run_and_drop(self, block: Block) -> Block:
        """Return the block rewritten, without ops that nobody reads; the same object if the rewrite changes nothing."""
        found = self.run(block)
        return block if found is block else drop_dead_code(found)

    def concerns(self, block: Block) -> bool:
        """Whether a block has ops that the pass is for."""
        return self.kinds is None or not self.kinds.isdisjoint(block.kinds)

    def value(self, value: Value) -> Value:
        """Return the current replacement of this value."""
        return renamed(value, self.replaced)

    def read(self, op: Op) -> Op:
        """Return the op with its inputs and sub-blocks rewritten; the same object if nothing changes."""
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
        """Return the op's attributes with their blocks rewritten."""
        attributes = op.attributes
        found = {k: self.run(v) if isinstance(v, Block) else v for k, v in attributes.items()}
        return attributes if all(found[k] is v for k, v in attributes.items()) else found

    def replace_by(self, op: Op, outputs: Callable[[], Sequence[Value]]) -> None:
        """Record values beside an op, and let them stand for its outputs, of which they have the types."""
        with recorded_beside(op) as around:
            values = outputs()
        self.kept.extend(around.ops)
        self.replaced.update(zip(op.outputs, values, strict=True))

    def replace(self, var: Var, value: Value) -> bool:
        """Replace `var` by `value`, if it has provably the same type; return whether it does."""
        if not same_types(var.type, value.type):
            return False
        self.replaced[var] = value
        return True


def drop_dead_code(block: Block) -> Block:
    """Return the block without ops that its results do not depend on, in sub-blocks too; itself if there are none."""
    ops = live_ops(map(_lean, block.ops), block.results)
    if len(ops) == len(block.ops) and all(a is b for a, b in zip(ops, block.ops, strict=True)):
        return block
    return Block(block.name, block.params, tuple(ops), block.results)


def _lean(op: Op) -> Op:
    return op if is_call(op) else op.with_blocks(drop_dead_code)


@contextmanager
def recorded_beside(op: Op) -> Iterator[Recording]:
    """Record ops beside an op: at its source place, where the sizes of all that it reads are known."""
    with fresh_stack(), recording(place=op.place, remark=op.remark) as around:
        for var in reads(op):
            around.learn(var)
        yield around


def literal_shape(type: Type) -> tuple[int, ...] | None:
    """Return the shape, if every size is a literal."""
    if type.shape is None:
        return None
    literal = tuple(d for d in type.shape if isinstance(d, int))
    return literal if len(literal) == len(type.shape) else None


def integers(value: Value | None) -> tuple[int, ...] | None:
    """Return the elements of a short integer constant."""
    sizes = value.sizes if isinstance(value, Const) else None
    return None if sizes is None else tuple(int(s) for s in sizes if isinstance(s, int))


def reduced_axes(reduction: Op, rank: int) -> frozenset[int] | None:
    """Return the axes of a reduction of an array of this rank, counted from the front; None if only runs know them.

    None also for a reduction without axes that `noop_with_empty_axes` makes a copy.
    """
    told = integers(reduction.inputs[1]) if len(reduction.inputs) > 1 and reduction.inputs[1] is not None else ()
    if told is None or (not told and reduction.attributes.get("noop_with_empty_axes", 0)):
        return None
    return frozenset(axis % rank for axis in told) if told else frozenset(range(rank))


def made_again(op: Op, value: Var, view: Var) -> list[Op]:
    """Return ops that recompute a value as another Var: add an axis and remove it, without a copy."""
    shape = value.type.shape
    front = Const(np.zeros(1, np.int64))
    wide = Var(Type(value.type.dtype, None if shape is None else (1, *shape)))
    return [
        op.beside("Unsqueeze", (value, front), (wide,)),
        op.beside("Squeeze", (wide, front), (view,)),
    ]


def reading_again(op: Op, operands: Iterable[Value | None]) -> list[Op]:
    """Return the op after those that recompute these of its operands as other Vars, which it then reads."""
    apart = {v: Var(v.type, v.hint, v.sizes) for v in operands if isinstance(v, Var)}
    made = [step for v, again in apart.items() for step in made_again(op, v, again)]
    return [*made, replace(op, inputs=tuple(renamed(v, apart) for v in op.inputs))]
