"""ScatterND that adds, multiplies or compares at places that repeat: onnxruntime's threads lose updates there.

It shares the rows of updates out among threads, which read and write the same element without waiting for each other
(microsoft/onnxruntime#18048): the gradient of an embedding is wrong in one run of seven. One thread does all that
costs less than its thread pool's start. So what is small stays, and what is larger becomes a chain of such small ones,
which takes as long, or, where that were too many, a ScatterElements, which has one thread and takes five times as long.
Where only the run knows the sizes, it chooses.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import Array
from primsplit.broadcasting import reshape_to
from primsplit.dims import Dim, product
from primsplit.infer import fresh
from primsplit.ir import Block, Const, Op, Type, Value
from primsplit.nested import record
from primsplit.ops import op
from primsplit.passes.compositions.cuda import scatter_elements
from primsplit.passes.faults.empty_layers import alone
from primsplit.passes.rewriting import Rewriter, recorded_beside
from primsplit.schema import text

ALONE = 200_000
"""As many elements one thread takes: onnxruntime counts a cycle for each, and 210,000 for a second to start."""
CHAIN = 16
"""The most ScatterND that stand for one."""
MOST = ALONE * CHAIN // 2
"""As many elements a chain takes; where only the run knows the sizes, a link has up to a row more than its share."""


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
    size = product(_operands(step)[2].type.shape or ())
    with recorded_beside(step) as around:
        if not isinstance(size, int):
            _what_fits(step)
        elif size < CHAIN * ALONE:
            _in_turn(step)
        else:
            _by_elements(step)
    *before, last = around.ops
    return [*before, replace(last, outputs=step.outputs)]


def _what_fits(step: Op) -> None:
    """Record Ifs that choose the ScatterND itself, a chain, or a ScatterElements by the number of elements."""
    data, _, updates = map(Array, _operands(step))
    size = op.Size(updates)

    def below(limit: int, then: Block, otherwise: Callable[[], Array]) -> Array:
        branches = {"then_branch": then, "else_branch": record("larger", [], lambda: [otherwise().value])}
        return Array(tracing.emit("If", [op.Less(size, np.int64(limit)).value], branches, types=[data.type])[0])

    chain = record("in_turn", [], lambda: [_in_turn(step).value])
    below(ALONE, alone(step), lambda: below(MOST, chain, lambda: _by_elements(step)))


def _in_turn(step: Op) -> Array:
    """A chain of ScatterND, each of so few updates that one thread does it."""
    data, indices, updates = map(Array, _operands(step))
    depth, rows = int(indices.shape[-1]), product(indices.shape[:-1])
    places, changes = reshape_to(indices, (rows, depth)), reshape_to(updates, (rows, *data.shape[depth:]))
    for start, end, count in _parts(rows, product(updates.shape), places):
        types = [Type(x.dtype, (count, *x.shape[1:])) for x in (places, changes)]
        some = [op.Slice(x, start, end, [0], types=[t]) for x, t in zip((places, changes), types, strict=True)]
        data = op.ScatterND(data, *some, **step.attributes)
    return data


def _parts(rows: Dim, size: Dim, places: Array) -> Iterator[tuple[Any, Any, Dim]]:
    """Where each link of a chain starts and ends, and how many rows it has."""
    if isinstance(rows, int) and isinstance(size, int):
        each = max(1, ALONE * rows // size)
        for start in range(0, rows, each):
            end = min(rows, start + each)
            yield [start], [end], end - start
        return
    share = op.Div(op.Add(op.Shape(places, end=1), np.int64(CHAIN - 1)), np.int64(CHAIN))
    for k in range(CHAIN):
        first = op.Mul(share, np.int64(k))
        yield first, op.Add(first, share), fresh("updates")


def _by_elements(step: Op) -> Array:
    reduction = text(step.attributes["reduction"])
    return scatter_elements(*map(Array, _operands(step)), reduction=reduction)
