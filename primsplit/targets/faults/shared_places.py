"""Replace a ScatterND that combines at places that repeat, where onnxruntime's threads lose updates.

```
ScatterND(x, places, updates: 500000 elements)   ->   three ScatterND in a row, of a part of the updates each
ScatterND(x, places, updates: 5000000 elements)  ->   one ScatterElements
```

onnxruntime shares the rows of updates out among threads, which read and write the same element without waiting for each
other (microsoft/onnxruntime#18048): the gradient of an embedding is wrong in one run of seven. One thread does all that
costs less than its thread pool's start. So a small ScatterND stays, a larger one becomes a chain of small ones, and one
that is larger still a ScatterElements, which has one thread. An If chooses if only the run knows the sizes.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Const, Op, Value, dims
from primsplit.ir.dims import Dim, Shape, product
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rewrites.asked_sizes import SizeRewriter
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.targets.cuda import scatter_elements
from primsplit.targets.faults.empty_layers import alone
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to
from primsplit.tracing.regions import record

ALONE = 200_000
"""The most elements for one thread: onnxruntime counts a cycle for each, and 210,000 for the start of a second."""
CHAIN = 8
"""The most ScatterND that replace one."""
IN_CHAIN = CHAIN * ALONE // 2
"""Updates of at least so many elements are not given to a chain, if only the run knows how many there are."""
COPIES = 32
"""A ScatterElements takes as long per element of updates as a ScatterND takes to copy so many elements of its array."""


@fault(
    "lost_updates_of_threads",
    kind="wrong",
    operators=("ScatterND",),
    says="A ScatterND that adds, multiplies or compares loses updates of places that repeat, where several threads "
    "work on it: from about 200,000 elements of updates on.",
)
def update_in_turn(block: Block) -> Block:
    """Return the block without a ScatterND whose threads may collide."""
    return _Ordering().run(block)


class _Ordering(SizeRewriter):
    kinds = frozenset({"ScatterND"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the last op that replaces it."""
        if op.kind != "ScatterND" or not self.may_meet(op):
            return super().visit(op)
        *before, last = _ordered(op)
        self.kept.extend(before)
        return last

    def may_meet(self, step: Op) -> bool:
        """Whether several threads may update the same place."""
        if text(step.attributes.get("reduction", "none")) == "none":
            return False
        data, indices, updates = _operands(step)
        shapes = [v.type.shape for v in (data, indices, updates)]
        if data.type.dtype.kind not in "fiu":
            return False
        if any(isinstance(d, int) and d == 0 for d in (*(shapes[0] or ()), *(shapes[1] or ())[-1:])):
            return False  # there is no place, or one
        rows = None if shapes[1] is None else product(shapes[1][:-1])
        is_alone = (isinstance(rows, int) and rows < 2) or (shapes[2] is not None and self.is_small(shapes[2]))
        return not is_alone and not are_distinct(indices, shapes[0] or ())

    def is_small(self, updates: Shape) -> bool:
        """Whether updates of this shape are few enough for one thread, or a link of the chain that a file holds.

        A chain stands where an If has found the size of all updates to be less than `IN_CHAIN`: their rows are that
        size divided by the size of a row.
        """
        if self.above(ALONE, product(updates)):
            return True
        each = product(updates[1:])
        wholes = (dims.exact_quotient(IN_CHAIN - 1 - size, each) for size in self.known)
        return any(rows is not None and _is_share(updates[0], rows) for rows in wholes)


def _is_share(part: Dim, rows: Dim) -> bool:
    """Whether a number of rows is that of a link of the chain: see `_in_turn`."""
    share = dims.floor_divide(rows + CHAIN - 1, CHAIN)
    starts = (share * turn for turn in range(CHAIN))
    return any(dims.same(part, dims.maximum(0, dims.minimum(start + share, rows) - start)) for start in starts)


def _operands(step: Op) -> tuple[Value, Value, Value]:
    data, indices, updates = step.inputs
    assert data is not None
    assert indices is not None
    assert updates is not None
    return data, indices, updates


def _is_depth_known(step: Op) -> bool:
    """Whether the program knows the rank of each operand, and from how many axes an index selects."""
    shapes = [v.type.shape for v in _operands(step)]
    depths = shapes[1] or (None,)
    return None not in shapes and isinstance(depths[-1], int)


def are_distinct(indices: Value, shape: Sequence[Dim]) -> bool:
    """Whether these are constant indices of which no two name the same place."""
    if not isinstance(indices, Const):
        return False
    found = indices.numpy()
    if not found.shape[-1]:
        return math.prod(found.shape[:-1]) < 2
    rows = found.reshape(-1, found.shape[-1])
    sizes = [d if isinstance(d, int) else 0 for d in shape[: rows.shape[1]]]
    if (rows < 0).any():
        if 0 in sizes:
            return False
        rows = rows % np.array(sizes)
    return len(np.unique(rows, axis=0)) == len(rows)


def _ordered(step: Op) -> list[Op]:
    """Return ops that compute the ScatterND by one thread; the last defines its output."""
    _, indices, updates = _operands(step)
    if not _is_depth_known(step):
        return _unless(step, lambda _, size: op.Less(size, ALONE), alone(step), functools.partial(_by_rows, step))
    rows, size = product((indices.type.shape or ())[:-1]), product(updates.type.shape or ())
    if not (isinstance(rows, int) and isinstance(size, int)):
        large: Branch = functools.partial(_by_elements, step)
        if not dims.at_least(CHAIN * product(_operands(step)[0].type.shape or ()), COPIES * size):
            several = _unless(step, _are_copies_cheap, functools.partial(_in_turn, step, None, CHAIN), large)
            large = alone(several[-1], several[:-1])
        return _unless(step, lambda _, size: op.Less(size, ALONE), alone(step), large)
    each = max(1, ALONE * rows // size)
    count, whole = math.ceil(rows / each), product(_operands(step)[0].type.shape or ())
    is_cheap = count <= CHAIN and isinstance(whole, int) and count * whole <= COPIES * size
    with recorded_beside(step) as around:
        if is_cheap:
            _in_turn(step, each, count)
        else:
            _by_elements(step)
    *before, last = around.ops
    return [*before, replace(last, outputs=step.outputs)]


Branch = Block | Callable[[], Iterable[Value]]
"""A block, or a function that records one."""


def _are_copies_cheap(whole: Array, size: Array) -> Array:
    """Return whether an array is not too large beside the updates, and these are few enough for a chain.

    Its links have up to a row more than their share; limiting them to half of the allowed elements leaves room for
    that. `SizeRewriter` reads the comparison when the file is loaded.
    """
    found: Array = op.And(op.Less(size, IN_CHAIN), op.LessOrEqual(op.Mul(whole, CHAIN), op.Mul(size, COPIES)))
    return found


def _unless(step: Op, test: Callable[[Array, Array], Array], small: Branch, large: Branch) -> list[Op]:
    """Return ops of which the last, an If, takes a branch by a test of the sizes of the array and of the updates."""
    with recorded_beside(step) as around:
        data, _, updates = map(Array, _operands(step))
        is_small = test(op.Size(data), op.Size(updates)).value
        then, other = (b if isinstance(b, Block) else record("updates", [], b) for b in (small, large))
    return [*around.ops, step.beside("If", (is_small,), step.outputs, {"then_branch": then, "else_branch": other})]


def _in_turn(step: Op, each: int | None, count: int) -> list[Value]:
    """Return a chain of so many ScatterND, each of `each` rows of updates; of equal shares of them if that is None.

    Rows are counted in the updates, of whose size the If around asks.
    """
    data, indices, updates = map(Array, _operands(step))
    depth = int(indices.shape[-1])
    places = reshape_to(indices, (product(indices.shape[:-1]), depth))
    changes = reshape_to(updates, (product(updates.shape[: indices.ndim - 1]), *data.shape[depth:]))
    share = np.array([each]) if each else op.Div(op.Add(op.Shape(changes, end=1), count - 1), count)
    for k in range(count):
        start, end = (op.Mul(share, turn) if each is None else share * turn for turn in (k, k + 1))
        part = [op.Slice(whole, start, end, [0]) for whole in (places, changes)]
        data = op.ScatterND(data, *part, **step.attributes)
    return [data.value]


def _by_elements(step: Op) -> list[Value]:
    reduction = text(step.attributes["reduction"])
    return [scatter_elements(*map(Array, _operands(step)), reduction=reduction).value]


def _by_rows(step: Op) -> list[Value]:
    """Scatter if only the run knows from how many axes an index selects: number the rows that indices select."""
    data, indices, updates = map(Array, _operands(step))
    sizes, depth = op.Shape(data), op.Shape(indices, start=-1)
    picked, rest = op.Slice(sizes, [0], depth), op.Slice(sizes, depth, [np.iinfo(np.int64).max])
    count, each = (op.ReduceProd(part, keepdims=1) for part in (picked, rest))
    numbers = op.Reshape(op.Range(0, op.Squeeze(count), 1), picked)
    rows = op.Reshape(op.GatherND(numbers, indices), [-1, 1])
    changes = op.Reshape(updates, op.Concat(op.Shape(rows, end=1), each, axis=0))
    flat = op.Reshape(data, op.Concat(count, each, axis=0))
    places = op.Expand(rows, op.Shape(changes))
    made = op.ScatterElements(flat, places, changes, axis=0, reduction=text(step.attributes["reduction"]))
    return [(op.Reshape(made, sizes) if data.type.rank is None else reshape_to(made, data.shape)).value]
