"""Sums, means and products of vectors over many numbers of 32 bits or fewer, in two stages of about as many each.

onnxruntime adds the numbers one after the other, so that the error grows with their number: a sum of a million equal
numbers is off by 1e-3. Here the first stage adds along one part of the axes, the second adds what the first gives, and
the error grows with the square root. An axis is parted by a Reshape, which copies nothing; one whose length has no fit
divisor is cut, and its rest is added by itself. 16 bits go through float32. Before:

    y = ReduceSum(x[1000000], [0])

and after:

    y = ReduceSum(ReduceSum(Reshape(x, [1000, 1000]), [1]), [0])

Where only the run knows how long the axes are, and all of them are summed, an If chooses.
"""

import math
from collections.abc import Sequence

import numpy as np

from primsplit.array import Array
from primsplit.broadcasting import reshape_to
from primsplit.dims import Shape
from primsplit.ir import BFLOAT16, Block, Op, Type, Value
from primsplit.nested import emit_if, record
from primsplit.ops import cast_to, op
from primsplit.passes.rewriting import Rewriter, literal_shape, recorded_beside, reduced_axes

MANY = 2**13
"""Numbers from which on a sum is parted. A sum of fewer takes less time than two operators, and is right to 1e-5."""
MOST = 2**31
"""More numbers are in no array of a run."""
TRIED = 2**11
"""How many numbers may be divisors: a size may be a product of primes that no one finds."""
HALVES = (np.dtype(np.float16), BFLOAT16)
SHORT = (np.dtype(np.float32), *HALVES)
STAGES = {
    "ReduceSum": ("ReduceSum", "ReduceSum"),
    "ReduceMean": ("ReduceMean", "ReduceMean"),
    "ReduceL1": ("ReduceL1", "ReduceSum"),
    "ReduceL2": ("ReduceL2", "ReduceL2"),
    "ReduceSumSquare": ("ReduceSumSquare", "ReduceSum"),
    "ReduceLogSum": ("ReduceSum", "ReduceLogSum"),
    "ReduceLogSumExp": ("ReduceLogSumExp", "ReduceLogSumExp"),
}
"""The two reductions that come to one of all."""
Groups = list[tuple[int, bool]]
"""Adjacent axes of one kind as one: their size, and whether they are summed."""


def part_long_sums(block: Block) -> Block:
    """The block with each such reduction and product in two stages; itself where there is none."""
    return _Parting().run(block)


class _Parting(Rewriter):
    """The walk."""

    kinds = frozenset({*STAGES, "MatMul"})

    def __init__(self) -> None:
        super().__init__()
        self.turned: set[Value] = set()
        self.depth = 0

    def enter(self, block: Block) -> None:
        """Count the blocks that this one is in."""
        self.depth += 1

    def leave(self, block: Block) -> None:
        """It ends."""
        self.depth -= 1

    def visit(self, op: Op) -> Op | None:
        """The op, or what stands for it. A matrix that was turned is left to onnxruntime, which does not copy it."""
        if op.kind == "Transpose":
            self.turned.update(op.outputs)
        is_turned = op.kind == "MatMul" and not self.turned.isdisjoint(v for v in op.inputs if v is not None)
        if op.kind not in self.kinds or op.outputs[0].type.dtype not in SHORT or is_turned:
            return super().visit(op)
        with recorded_beside(op) as around:
            found = _product(op) if op.kind == "MatMul" else _reduction(op, may_choose=self.depth == 1)
            made = None if found is None else found.value
        if made is None:
            return super().visit(op)
        self.kept.extend(around.ops)
        self.replaced[op.outputs[0]] = made
        return None


def _reduction(step: Op, *, may_choose: bool) -> Array | None:
    """The reduction in stages; None where it is of few numbers, or cannot be told apart.

    An If takes 4 us, which is much in each step of a loop: there none chooses.
    """
    x, result = step.inputs[0], step.outputs[0].type
    if x is None or x.type.shape is None or result.shape is None:
        return None
    axes = reduced_axes(step, len(x.type.shape))
    if not axes:
        return None
    shape = literal_shape(x.type)
    if shape is None:
        return _undecided(step, Array(x), axes) if may_choose else None
    count = math.prod(shape[a] for a in axes)
    if not MANY <= count < MOST or 0 in shape:
        return None
    wide = cast_to(Array(x), np.float32) if x.type.dtype in HALVES else Array(x)
    found = _staged(wide, step.kind, _groups(shape, axes))
    return None if found is None else cast_to(reshape_to(found, result.shape), result.dtype)


def _groups(shape: Sequence[int], axes: frozenset[int]) -> Groups:
    return _merged([(size, axis in axes) for axis, size in enumerate(shape) if size != 1])


def _staged(x: Array, kind: str, groups: Groups) -> Array | None:
    """The reduction of an array of these groups; the largest one that is summed goes first."""
    summed = [i for i, (_, is_summed) in enumerate(groups) if is_summed]
    first, last = STAGES[kind]
    place = max(summed, key=lambda i: groups[i][0])
    size = groups[place][0]
    if size >= MANY:
        return _parted(x, kind, groups, place)
    if len(summed) == 1:
        return _reduce(_as(x, groups), kind, place)
    inner = _reduce(_as(x, groups), first, place)
    return _staged(inner, last, _without(groups, place))


def _parted(x: Array, kind: str, groups: Groups, place: int) -> Array | None:
    """The same, one group parted in two."""
    size, (first, last) = groups[place][0], STAGES[kind]
    length = _divisor(size)
    if length is not None:
        parted = [*groups[:place], (size // length, True), (length, True), *groups[place + 1 :]]
        inner = _reduce(_as(x, parted), first, place + 1)
        return _staged(inner, last, _merged([*groups[:place], (size // length, True), *groups[place + 1 :]]))
    if kind == "ReduceLogSum":
        total = _staged(x, "ReduceSum", groups)
        return None if total is None else op.Log(total)
    if kind == "ReduceMean":
        total = _staged(x, "ReduceSum", groups)
        count = math.prod(n for n, is_summed in groups if is_summed)
        return None if total is None else op.Mul(total, np.asarray(1.0 / count, total.dtype))
    if last != "ReduceSum":
        return None
    length = 2 ** round(math.log2(size) / 2)
    main = size // length * length
    whole = _as(x, groups)
    ends = ((0, main), (main, size))
    parts = [op.Slice(whole, [start], [end], [place]) for start, end in ends]
    sizes = [[*groups[:place], (end - start, True), *groups[place + 1 :]] for start, end in ends]
    found = [_staged(part, kind, each) for part, each in zip(parts, sizes, strict=True)]
    return None if found[0] is None or found[1] is None else op.Add(found[0], found[1])


def _divisor(size: int) -> int | None:
    """A divisor near the root of a size, from below; None where none of `TRIED` numbers is one."""
    root = math.isqrt(size)
    for length in range(root, max(root // 16, root - TRIED, 1), -1):
        if size % length == 0:
            return length
    return None


def _merged(groups: Groups) -> Groups:
    found: Groups = []
    for size, is_summed in groups:
        if found and found[-1][1] == is_summed:
            found[-1] = (found[-1][0] * size, is_summed)
        else:
            found.append((size, is_summed))
    return found


def _without(groups: Groups, place: int) -> Groups:
    return _merged([*groups[:place], *groups[place + 1 :]])


def _as(x: Array, groups: Groups) -> Array:
    return reshape_to(x, [size for size, _ in groups])


def _reduce(x: Array, kind: str, place: int) -> Array:
    made: Array = getattr(op, kind)(x, [place], keepdims=0)
    return made


FROM = 2**14
"""Numbers from which on the If takes two stages: it copies them."""
LENGTH = 2**10
"""How many numbers the first stage adds where only the run knows how many there are."""


def _undecided(step: Op, x: Array, axes: frozenset[int]) -> Array | None:
    """The sum or mean of all numbers, however many the run has: in two stages from `MANY` on."""
    result = step.outputs[0].type
    if len(axes) < len(x.shape) or step.kind not in {"ReduceSum", "ReduceMean", "ReduceL1", "ReduceSumSquare"}:
        return None
    wide = cast_to(x, np.float32) if x.dtype in HALVES else x
    size = op.Size(wide)

    def plain() -> list[Value]:
        return [reshape_to(getattr(op, step.kind)(wide, keepdims=0), result.shape or ()).value]

    def staged() -> list[Value]:
        first, last = STAGES["ReduceSum" if step.kind == "ReduceMean" else step.kind]
        flat = op.Reshape(wide, [-1])
        main = op.Unsqueeze(op.Mul(op.Div(size, LENGTH), LENGTH), [0])
        rows = op.Reshape(op.Slice(flat, [0], main, [0]), [-1, LENGTH])
        parts = [getattr(op, first)(rows, [1], keepdims=0), op.Slice(flat, main, op.Unsqueeze(size, [0]), [0])]
        total = op.Add(getattr(op, last)(parts[0], keepdims=0), getattr(op, first)(parts[1], keepdims=0))
        if step.kind == "ReduceMean":
            total = op.Div(total, op.Cast(size, to=total.dtype))
        return [reshape_to(total, result.shape or ()).value]

    then, other = record("plain", [], plain), record("staged", [], staged)
    (made,) = emit_if(op.Less(size, FROM).value, then, other, [Type(wide.dtype, result.shape)])
    return cast_to(Array(made), x.dtype)


def _product(step: Op) -> Array | None:
    """The product with a vector, over parts of its length, and their sum; None for other matrices, or a short one."""
    left, right = step.inputs
    shapes = [None if v is None else literal_shape(v.type) for v in (left, right)]
    result = literal_shape(step.outputs[0].type)
    if left is None or right is None or None in shapes or result is None or left.type.dtype != np.float32:
        return None
    a, b = (s or () for s in shapes)
    rows, columns = a[-2] if len(a) == 2 else 1, b[-1] if len(b) == 2 else 1
    if max(len(a), len(b)) > 2 or min(rows, columns) != 1 or not MANY <= a[-1] < MOST:
        return None
    length = _divisor(a[-1])
    if length is None:
        return _of_vectors(Array(left), Array(right), result) if rows == columns == 1 else None
    count = a[-1] // length
    if rows == 1:
        wide = reshape_to(Array(left), (count, 1, length)), reshape_to(Array(right), (count, length, columns))
    else:
        wide = reshape_to(Array(left), (rows, count, 1, length)), reshape_to(Array(right), (count, length, 1))
    return reshape_to(_reduce(op.MatMul(*wide), "ReduceSum", 0 if rows == 1 else 1), result)


def _of_vectors(a: Array, b: Array, result: Shape) -> Array | None:
    """The product of two vectors whose length has no fit divisor, number by number."""
    size = math.prod(literal_shape(a.type) or ())
    products = op.Mul(reshape_to(a, (size,)), reshape_to(b, (size,)))
    found = _staged(products, "ReduceSum", [(size, True)])
    return None if found is None else reshape_to(found, result)
