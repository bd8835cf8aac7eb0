"""Reduce in two stages of about as many numbers each, so that the rounding error grows with the square root.

    [1000000]   ReduceSum(ReduceSum(Reshape(x, [1000, 1000]), [1]), [0])
    [N]         p = ReduceSum(Reshape(x[:m], [-1, k]), [1]);  ReduceSum(Concat(p, ReduceSum(x[m:])))

The axes are merged into groups of adjacent ones that are all summed or all kept. A group is split by a Reshape, which
copies nothing; one whose size has no fit divisor is cut in two by Slices: whole parts of one length, and the rest.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit.ir import Type, Value, dims
from primsplit.ir.dims import Dim, Shape, Size
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing import size_of, size_vector
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import full, reshape_to
from primsplit.tracing.regions import emit_if, record

MANY = 2**13
"""Adjacent numbers from which on a sum is split: onnxruntime adds them up in 8 sums, accurate to 1e-5."""
MANY_ROWS = 2**11
"""Rows from which on it is split: onnxruntime adds them up one after the other."""
TRIED = 2**11
"""The most numbers above a limit that are tried as divisors."""
SHORT = 32
"""The least length of a part: shorter ones take longer than a copy."""
PART = 128
"""About the greatest length of a part: a mean of N(1e4, 1) keeps the digits that its variance needs."""
DIVISORS = ((128, 1024, 1), (127, SHORT - 1, -1))
"""Ranges of the lengths of rows that are tried in the run, the best one first."""
MOST = 2**31
"""No array of a run has more numbers."""
LONG = 2**18
"""Numbers from which on a copy takes longer than a search for a divisor."""
STAGES = {
    "ReduceSum": ("ReduceSum", "ReduceSum"),
    "ReduceL1": ("ReduceL1", "ReduceSum"),
    "ReduceL2": ("ReduceL2", "ReduceL2"),
    "ReduceSumSquare": ("ReduceSumSquare", "ReduceSum"),
    "ReduceLogSumExp": ("ReduceLogSumExp", "ReduceLogSumExp"),
}
"""The two reductions that together are one of all. No trait: the plan of this rewrite."""
NARROW = 8
"""Rows of at most so many adjacent numbers are added faster as long rows than as columns."""
Groups = list[tuple[Dim, bool]]
"""Adjacent axes of one kind as one: their size, and whether they are summed."""


def reduced_in_stages(x: Array, kind: str, axes: frozenset[int]) -> Array:
    """Return the reduction of an array along these axes, which the result no longer has."""
    groups = _groups(x.shape, axes)
    if kind == "ReduceLogSum":
        return op.Log(_staged(x, "ReduceSum", groups))
    if kind == "ReduceMean":
        total = _staged(x, "ReduceSum", groups)
        count = dims.product(x.shape[a] for a in axes)
        if isinstance(count, Size):
            return op.Div(total, op.Cast(Array(size_of(count)), to=total.dtype))
        return op.Div(total, np.asarray(count, total.dtype))
    return _staged(x, kind, groups)


def summed_rows(x: Array, axes: frozenset[int]) -> Array | None:
    """Return the rows of some length whose sum is the sum along these axes; None if it is not one of rows."""
    groups = _groups(x.shape, axes)
    kinds = [is_summed for _, is_summed in groups]
    columns = groups[1][0] if len(groups) > 1 else 0
    if kinds not in ([True, False], [True, False, True]) or not isinstance(columns, int) or columns < NARROW:
        return None
    if len(groups) > 2 and not _is_short(groups[2][0]):
        return None
    return _as(x, groups) if len(groups) == 2 else _reduce(_as(x, groups), "ReduceSum", 2)


def ones_of(size: Dim) -> Array:
    """Return a column of ones."""
    return full((size, 1), np.ones((), np.float32))


def _groups(shape: Shape, axes: frozenset[int]) -> Groups:
    return _merged([(size, axis in axes) for axis, size in enumerate(shape) if not dims.is_one(size)])


def _is_short(size: Dim) -> bool:
    return isinstance(size, int) and size < MANY


def is_long(size: Dim, *, in_rows: bool, is_part: bool = False) -> bool:
    """Whether a literal size is so large that the sum is split; that of a part is split from a smaller size on."""
    return isinstance(size, int) and (MANY_ROWS if in_rows else MANY) // (8 if is_part else 1) <= size < MOST


def divisor(size: int, limit: int) -> int | None:
    """Return a divisor of a size, at most its root: the next one below the limit, else one above.

    None if none is found.
    """
    root = math.isqrt(size)
    below = range(min(root, limit), SHORT - 1, -1)
    above = range(limit + 1, min(root, limit + TRIED) + 1)
    return next((length for length in (*below, *above) if size % length == 0), None)


def parted_and_rest(x: Array, axis: int, depth: int = 1) -> tuple[Array, Array]:
    """Return the array cut along an axis of a size above 0: its front in parts of parts, and the rest.

    The front has as many axes more as `depth` says, all of about one size. At least one number is in the rest.
    """
    size = x.shape[axis]
    if isinstance(size, int):
        return _cut_by(x, axis, [2 ** round(math.log2(size) / (depth + 1))] * depth)
    front, back = x.shape[:axis], x.shape[axis + 1 :]
    width = op.Cast(op.Pow(op.Cast(_number(size), to=np.float32), np.float32(1 / (depth + 1))), to=np.int64)
    first, rest, count = _sliced(x, axis, op.Mul(width, width) if depth == 2 else width)
    shape = op.Concat(*_sizes(front), count, *[width] * depth, *_sizes(back), axis=0)
    told = Type(x.dtype, (*front, fresh("rows"), *(fresh("part") for _ in range(depth)), *back))
    return op.Reshape(first, shape, allowzero=1, types=[told]), rest


def _cut_by(x: Array, axis: int, lengths: Sequence[int]) -> tuple[Array, Array]:
    """Return the parts and the rest of an array, as `parted_and_rest` does, for parts of literal lengths."""
    size, whole = x.shape[axis], math.prod(lengths)
    front, back = x.shape[:axis], x.shape[axis + 1 :]
    if isinstance(size, Size):
        first, rest, _ = _sliced(x, axis, np.array([whole]))
        rows: Dim = fresh("rows")
    else:
        rows = (size - 1) // whole
        first, rest = op.Slice(x, [0], [rows * whole], [axis]), op.Slice(x, [rows * whole], [size], [axis])
    return reshape_to(first, (*front, rows, *lengths, *back)), rest


def _sliced(x: Array, axis: int, length: Any) -> tuple[Array, Array, Array]:
    """Return the array up to the last multiple of a length, the rest of it, and how often the length fits."""
    size = x.shape[axis]
    front, back = x.shape[:axis], x.shape[axis + 1 :]
    count = op.Div(op.Sub(_number(size), [1]), length)
    place = op.Mul(count, length)
    first = op.Slice(x, [0], place, [axis], types=[Type(x.dtype, (*front, fresh("main"), *back))])
    rest = op.Slice(x, place, _number(size), [axis], types=[Type(x.dtype, (*front, fresh("rest"), *back))])
    return first, rest, count


def _number(size: Dim) -> Array:
    return Array(size_of(size))


def _sizes(shape: Sequence[Dim]) -> list[Value]:
    return [size_vector(shape)] if shape else []


def _staged(x: Array, kind: str, groups: Groups, *, is_part: bool = False) -> Array:
    """Return the reduction of an array of these groups: the largest one of a literal size goes first."""
    summed = [i for i, (_, is_summed) in enumerate(groups) if is_summed]
    if not summed:
        return op.Abs(x) if kind in {"ReduceL1", "ReduceL2"} else op.Mul(x, x) if kind == "ReduceSumSquare" else x
    first, last = STAGES[kind]
    literal = [(size, i) for i in summed if isinstance(size := groups[i][0], int)]
    place = max(literal)[1] if literal else summed[0]
    size = groups[place][0]
    if isinstance(size, Size) or is_long(size, in_rows=place < len(groups) - 1, is_part=is_part):
        return _parted(_as(x, groups), kind, groups, place)
    if len(summed) == 1:
        return _reduce(_as(x, groups), kind, place)
    return _staged(_reduce(_as(x, groups), first, place), last, _without(groups, place))


def _parted(x: Array, kind: str, groups: Groups, place: int) -> Array:
    """Return the reduction, as `_staged` does, with the group at `place` split in two."""
    size, (first, last) = groups[place][0], STAGES[kind]
    if isinstance(size, Size) and len(groups) == 1:
        return _of_vector(x, kind, size)
    limit = math.isqrt(size) if isinstance(size, int) and _is_wide(groups, place) else PART
    length = divisor(size, limit) if isinstance(size, int) else None
    if length is None:
        return _cut(x, kind, groups, place)
    in_rows = _is_narrow(groups, place)
    sizes = (length, size // length) if in_rows else (size // length, length)
    parted = [*groups[:place], *((size, True) for size in sizes), *groups[place + 1 :]]
    inner = _reduce(_as(x, parted), first, place if in_rows else place + 1)
    left = [*groups[:place], (size // length, True), *groups[place + 1 :]]
    return _staged(inner, last, left, is_part=True)


def _cut(x: Array, kind: str, groups: Groups, place: int) -> Array:
    """Return the reduction with the group at `place` cut into parts of one length, and a rest that is shorter.

    The parts are reduced side by side, the rest by itself.
    """
    parts, rest = parted_and_rest(x, place, 1 if _is_wide(groups, place) else 2)
    joined = _of_parts(parts, rest, kind, place, in_rows=_is_narrow(groups, place))
    last = STAGES[kind][1]
    return _staged(_reduce(joined, last, place), last, _without(groups, place))


def _is_narrow(groups: Groups, place: int) -> bool:
    """Whether rows have few numbers: whole rows of parts are added faster than the columns of each part."""
    columns = dims.product(size for size, _ in groups[place + 1 :])
    return isinstance(columns, int) and 1 < columns <= NARROW


def _is_wide(groups: Groups, place: int) -> bool:
    """Whether rows have more numbers: onnxruntime adds them up as a product with ones, in long parts as well."""
    return place < len(groups) - 1 and not _is_narrow(groups, place)


def _of_parts(parts: Array, rest: Array, kind: str, place: int, *, in_rows: bool = False) -> Array:
    """Return the reductions of parts side by side, and that of the rest behind."""
    first, last = STAGES[kind]
    found = _reduce(parts, first, place if in_rows else parts.ndim - rest.ndim + place)
    while found.ndim > rest.ndim:
        found = _reduce(found, last, place if in_rows else found.ndim - rest.ndim + place)
    sizes = list(found.shape)
    sizes[place] = fresh("sums")
    few = getattr(op, first)(rest, [place], keepdims=1)
    return op.Concat(found, few, axis=place, types=[Type(found.dtype, sizes)])


def _of_vector(x: Array, kind: str, size: Size) -> Array:
    """Return the reduction of a vector: cut if it is short, or has no fit divisor, which takes a copy; else split."""
    last = STAGES[kind][1]

    def short() -> list[Value]:
        return [_reduce(_of_parts(*_cut_by(x, 0, [PART]), kind, 0), last, 0).value]

    def long() -> list[Value]:
        return [_by_divisor(x, kind, size).value]

    then, other = record("short", [], short), record("long", [], long)
    (made,) = emit_if(op.Less(_number(size), LONG).value, then, other, [Type(x.dtype, ())])
    return Array(made)


def _by_divisor(x: Array, kind: str, size: Size) -> Array:
    """Return the reduction of a long vector, in rows of a length that divides its size; cut if there is none."""
    first, last = STAGES[kind]
    lengths = op.Concat(*(op.Range(*map(np.int64, each)) for each in DIVISORS), axis=0)
    length = op.Gather(lengths, op.ArgMin(op.Mod(_number(size), lengths), axis=0, keepdims=1))

    def parted() -> list[Value]:
        shape = op.Concat([-1], length, axis=0)
        wide = op.Reshape(x, shape, types=[Type(x.dtype, (fresh("rows"), fresh("length")))])
        sums = _reduce(wide, first, 1)
        return [_cut(sums, last, [(sums.shape[0], True)], 0).value]

    def cut() -> list[Value]:
        return [_cut(x, kind, [(size, True)], 0).value]

    then, other = record("parted", [], parted), record("cut", [], cut)
    (made,) = emit_if(op.Equal(op.Mod(_number(size), length), [0]).value, then, other, [Type(x.dtype, ())])
    return Array(made)


def _merged(groups: Groups) -> Groups:
    """Merge adjacent groups of one kind; summed numbers that are adjacent in each row stay apart."""
    found: Groups = []
    for size, is_summed in groups:
        before = found[-1] if found else (1, not is_summed)
        apart = is_summed and isinstance(before[0], Size) and isinstance(size, int) and size >= NARROW
        if before[1] != is_summed or apart:
            found.append((size, is_summed))
        else:
            found[-1] = (dims.product([before[0], size]), is_summed)
    return found


def _without(groups: Groups, place: int) -> Groups:
    return _merged([*groups[:place], *groups[place + 1 :]])


def _as(x: Array, groups: Groups) -> Array:
    return reshape_to(x, [size for size, _ in groups])


def _reduce(x: Array, kind: str, place: int) -> Array:
    made: Array = getattr(op, kind)(x, [place], keepdims=0)
    return made
