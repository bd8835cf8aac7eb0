"""ScatterND that adds, multiplies or compares at places that repeat: onnxruntime's threads lose updates there.

It shares the rows of updates out among threads, which read and write the same element without waiting for each other
(microsoft/onnxruntime#18048): the gradient of an embedding is wrong in one run of seven. One thread does all that
costs less than its thread pool's start. So what is small stays, what is known to be large becomes a chain of such
small ones or, as what turns out to be large, a ScatterElements, which has one thread.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from primsplit.array import Array
from primsplit.broadcasting import reshape_to
from primsplit.dims import Dim, product
from primsplit.ir import Block, Const, Op, Value
from primsplit.nested import record
from primsplit.ops import op
from primsplit.passes.compositions.cuda import scatter_elements
from primsplit.passes.faults.empty_layers import alone
from primsplit.passes.rewriting import Rewriter, recorded_beside
from primsplit.schema import text

ALONE = 100_000
"""As many elements one thread takes: onnxruntime counts a cycle for each, and as many for the start of a second."""
CHAIN = 16
"""The most ScatterND that stand for one."""


def update_in_turn(block: Block) -> Block:
    """The block without a ScatterND whose threads may meet."""
    return _Ordering().run(block)


class _Ordering(Rewriter):
    kinds = frozenset({"ScatterND"})

    def visit(self, op: Op) -> Op | None:
        """The op, or what takes its place."""
        if op.kind != "ScatterND" or not _may_meet(op):
            return super().visit(op)
        *before, last = _ordered(op)
        self.kept.extend(before)
        return last


def _may_meet(step: Op) -> bool:
    """True where several threads may work at updates of one place."""
    if text(step.attributes.get("reduction", "none")) == "none":
        return False
    data, indices, updates = _operands(step)
    shapes = [v.type.shape for v in (data, indices, updates)]
    depth = None if shapes[1] is None or not shapes[1] else shapes[1][-1]
    if None in shapes or not isinstance(depth, int) or depth == 0 or data.type.dtype.kind not in "fiu":
        return False
    rows, size = product((shapes[1] or ())[:-1]), product(shapes[2] or ())
    is_alone = (isinstance(rows, int) and rows < 2) or (isinstance(size, int) and size < ALONE)
    return not is_alone and not _are_distinct(indices, shapes[0] or ())


def _operands(step: Op) -> tuple[Value, Value, Value]:
    data, indices, updates = step.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    return data, indices, updates


def _are_distinct(indices: Value, shape: Sequence[Dim]) -> bool:
    """True for constant indices of which no two name one place."""
    if not isinstance(indices, Const):
        return False
    rows = indices.numpy().reshape(-1, indices.numpy().shape[-1])
    sizes = [d if isinstance(d, int) else 0 for d in shape[: rows.shape[1]]]
    if (rows < 0).any():
        if 0 in sizes:
            return False
        rows = rows % np.array(sizes)
    return len(np.unique(rows, axis=0)) == len(rows)


def _ordered(step: Op) -> list[Op]:
    """Ops that give what the ScatterND does, by one thread; the last gives its output."""
    _, indices, updates = _operands(step)
    rows, size = product((indices.type.shape or ())[:-1]), product(updates.type.shape or ())
    with recorded_beside(step) as around:
        if isinstance(rows, int) and isinstance(size, int):
            _in_turn(step, rows, size)
        else:
            by_elements = record("by_elements", [], functools.partial(_by_elements, step))
            is_small = op.Less(op.Size(Array(updates)), np.int64(ALONE)).value
    *before, last = around.ops
    if isinstance(rows, int) and isinstance(size, int):
        return [*before, replace(last, outputs=step.outputs)]
    attributes = {"then_branch": alone(step), "else_branch": by_elements}
    return [*around.ops, step.beside("If", (is_small,), step.outputs, attributes)]


def _in_turn(step: Op, rows: int, size: int) -> None:
    """Record a chain of ScatterND, each of so few updates that one thread does it."""
    data, indices, updates = map(Array, _operands(step))
    depth = int(indices.shape[-1])
    each = max(1, ALONE * rows // size)
    if math.ceil(rows / each) > CHAIN:
        _by_elements(step)
        return
    places = reshape_to(indices, (rows, depth))
    changes = reshape_to(updates, (rows, *data.shape[depth:]))
    for start in range(0, rows, each):
        end = min(rows, start + each)
        part = [op.Slice(whole, [start], [end], [0]) for whole in (places, changes)]
        data = op.ScatterND(data, *part, **step.attributes)


def _by_elements(step: Op) -> list[Value]:
    reduction = text(step.attributes["reduction"])
    return [scatter_elements(*map(Array, _operands(step)), reduction=reduction).value]
