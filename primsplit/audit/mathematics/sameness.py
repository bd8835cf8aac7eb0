"""Tell whether two blocks compute the same: the same ops of the same values, in whatever order.

The operands of a sum or a product may be in either order, and a Gemm may be a MatMul and an Add.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir import AnyArray, Block, Const, Op, Value, Var
from primsplit.ops.traits import traits


def same_blocks(a: Block, b: Block) -> bool:
    """Whether two blocks are equal but for the names of their values and ops that nothing reads."""
    return Comparison({}, {}, {}).blocks(a, b)


def same_values(a: Value | None, inside: Block, b: Value | None, of: Block) -> bool:
    """Whether a value inside of one block is that of another block, by the ops that compute them."""
    left, right = ({v: op for op in block.ops for v in op.outputs} for block in (inside, of))
    return Comparison({}, left, right).values(a, b)


class Comparison:
    """Compares values by the ops that compute them, each pair once. `pairs` has those that are equal."""

    def __init__(self, pairs: dict[Value, Value], left: Mapping[Var, Op], right: Mapping[Var, Op]) -> None:
        self.pairs = pairs
        self.left = dict(left)
        self.right = dict(right)

    def blocks(self, a: Block, b: Block) -> bool:
        if len(a.params) != len(b.params) or len(a.results) != len(b.results):
            return False
        self.pairs.update(zip(a.params, b.params, strict=True))
        self.left.update((v, op) for op in a.ops for v in op.outputs)
        self.right.update((v, op) for op in b.ops for v in op.outputs)
        return all(self.values(one, other) for one, other in zip(a.results, b.results, strict=True))

    def values(self, a: Value | None, b: Value | None) -> bool:
        if a is b:
            return True
        if isinstance(a, Const) and isinstance(b, Const):
            return a.key == b.key
        if not isinstance(a, Var) or not isinstance(b, Var):
            return False
        if a in self.pairs:
            return self.pairs[a] is b
        one, other = self.left.get(a), self.right.get(b)
        if one is None or other is None or one.outputs.index(a) != other.outputs.index(b):
            return False
        if not self.ops(one, other) and not self.gemm(one, other):
            return False
        self.pairs.update(zip(one.outputs, other.outputs, strict=True))
        return True

    def ops(self, a: Op, b: Op) -> bool:
        if a.kind != b.kind or len(a.inputs) != len(b.inputs) or len(a.outputs) != len(b.outputs):
            return False
        if a.attributes.keys() != b.attributes.keys():
            return False
        return self.operands(a, b) and all(
            self.attributes(value, b.attributes[key]) for key, value in a.attributes.items()
        )

    def operands(self, a: Op, b: Op) -> bool:
        if self.all(a.inputs, b.inputs):
            return True
        return traits(a.kind).commutative and len(a.inputs) == 2 and self.all(a.inputs, b.inputs[::-1])

    def all(self, ours: Sequence[Value | None], theirs: Sequence[Value | None]) -> bool:
        """Whether values are equal one by one; if not, pairs that hold only if they are all equal are forgotten."""
        known = len(self.pairs)
        if all(self.values(one, other) for one, other in zip(ours, theirs, strict=True)):
            return True
        while len(self.pairs) > known:
            self.pairs.popitem()
        return False

    def gemm(self, a: Op, b: Op) -> bool:
        """Whether one op is the Gemm of the product and the term that the other one adds."""
        if a.kind == "Add":
            turned = Comparison({v: k for k, v in self.pairs.items()}, self.right, self.left)
            return b.kind == "Gemm" and turned.gemm(b, a)
        if a.kind != "Gemm" or b.kind != "Add" or len(a.inputs) != 3 or not _is_plain(a):
            return False
        for value, term in (b.inputs, b.inputs[::-1]):
            product = self.right.get(value) if isinstance(value, Var) else None
            if product is None or product.kind != "MatMul":
                continue
            if self.all(a.inputs, (*product.inputs, term)):
                return True
        return False

    def attributes(self, a: Any, b: Any) -> bool:
        if isinstance(a, Block) and isinstance(b, Block):
            return self.blocks(a, b)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype
        return bool(a == b)


class KnownNodes(Comparison):
    """Compares the nodes of a known block, on the left, with those of a file. `free` may be any value of these.

    Constants of the file are those that `constants` maps its values to.
    """

    def __init__(
        self,
        block: Block,
        free: Var,
        pairs: dict[Value, Value],
        made: Mapping[Var, Op],
        constants: Mapping[Value, Const],
    ) -> None:
        super().__init__(pairs, {v: op for op in block.ops for v in op.outputs}, made)
        self.free = free
        self.constants = constants

    def values(self, a: Value | None, b: Value | None) -> bool:
        """Whether two values are computed alike."""
        held = None if b is None else self.constants.get(b, b)
        if isinstance(a, Const) and isinstance(held, Const):
            return self.numbers(a.numpy(), held.numpy())
        if a is self.free and a not in self.pairs and isinstance(held, Var) and self.fits(held):
            self.pairs[a] = held
            return True
        return super().values(a, held)

    def numbers(self, ours: AnyArray, theirs: AnyArray) -> bool:
        """Whether two constants are equal, bit for bit."""
        return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()

    def fits(self, value: Var) -> bool:
        """Whether a value may stand for the free one."""
        return value.type == self.free.type


def _is_plain(gemm: Op) -> bool:
    """Whether a Gemm adds a term to the product of its operands as they are."""
    scales = {gemm.attributes.get(name, 1.0) for name in ("alpha", "beta")}
    return scales == {1.0} and not gemm.attributes.get("transA") and not gemm.attributes.get("transB")
