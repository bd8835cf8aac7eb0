"""List the axes along which an op can be computed a tile at a time, and what that makes of its result.

```
MatMul(x: [1000000,4], w: [4,5])   ->   Tiling((0, None), 0): rows of x, the whole w, rows of the result
ReduceSum(x: [1000000,4], [0])     ->   Tiling((0, None), None): the sum of the tiles' results
```

An axis goes along the rows if its size is a multiple of their number: a row may have several places there, side by
side.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from primsplit.ir import Op
from primsplit.ops.traits import kinds_where
from primsplit.rewrites.rewriting import literal_shape, reduced_axes

Literal = tuple[int, ...]
"""A shape of literal sizes."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """One way to tile an op: the axis of each input that is tiled, None for one that every tile reads whole.

    `result` is the axis of the result that is tiled, None if the tiles' results sum to it.
    """

    inputs: tuple[int | None, ...]
    result: int | None
    writes_shape: bool = False
    """Whether the second input is the shape of the result."""


Shapes = Sequence[Literal]
Rule = Callable[[Op, Shapes, Literal, int], Iterator[Tiling]]


def tilings(op: Op, rows: int) -> Iterator[Tiling]:
    """Yield the ways to tile an op of literal shapes, with one output, along axes of so many rows.

    None for operators that are not in the table, and for dtypes that NumPy does not have.
    """
    rule = _RULES.get(op.kind)
    if rule is None or len(op.outputs) != 1:
        return
    if any(v.type.dtype.kind not in "biuf" for v in (*op.inputs, *op.outputs) if v is not None):
        return
    shapes = [() if v is None else literal_shape(v.type) for v in op.inputs]
    result = literal_shape(op.outputs[0].type)
    if result is not None and all(s is not None for s in shapes):
        yield from rule(op, [s for s in shapes if s is not None], result, rows)


def _elementwise(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    del op
    for axis in _axes(result, rows):
        yield Tiling(tuple(_broadcast(s, result, axis) for s in shapes), axis)


def _axes(shape: Literal, rows: int) -> Iterator[int]:
    return (axis for axis, size in enumerate(shape) if _goes_along(size, rows))


def _goes_along(size: int, rows: int) -> bool:
    return size > 0 and size % rows == 0


def _broadcast(shape: Literal, result: Literal, axis: int) -> int | None:
    """Return the axis of an operand that goes along an axis of the result; None if it is repeated along that."""
    own = axis - len(result) + len(shape)
    return own if own >= 0 and shape[own] == result[axis] else None


def _matmul(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    del op
    a, b = shapes
    if len(a) < 2 or len(b) < 2:
        return
    for axis in _axes(result[:-2], rows):
        yield Tiling((_broadcast(a[:-2], result[:-2], axis), _broadcast(b[:-2], result[:-2], axis)), axis)
    if _goes_along(a[-2], rows):
        yield Tiling((len(a) - 2, None), len(result) - 2)
    if _goes_along(b[-1], rows):
        yield Tiling((None, len(b) - 1), len(result) - 1)
    if _goes_along(a[-1], rows):
        yield Tiling((len(a) - 1, len(b) - 2), None)


def _gemm(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    left, right = (1 if op.attributes.get(name, 0) else 0 for name in ("transA", "transB"))
    added = shapes[2:]
    if _goes_along(result[0], rows):
        yield Tiling((left, None, *(_broadcast(s, result, 0) for s in added)), 0)
    if _goes_along(result[1], rows):
        yield Tiling((None, 1 - right, *(_broadcast(s, result, 1) for s in added)), 1)
    if _goes_along(shapes[0][1 - left], rows) and (len(op.inputs) < 3 or op.inputs[2] is None):
        yield Tiling((1 - left, right, *(None for _ in added)), None)


def _transpose(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    order = op.attributes.get("perm", range(len(result))[::-1])
    for axis in _axes(shapes[0], rows):
        yield Tiling((axis,), list(order).index(axis))


def _reshape(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    """An axis goes along the rows of the one before which as many elements lie, with more or fewer places per row."""
    rest = (None,) * (len(shapes) - 1)
    for axis in _axes(shapes[0], rows):
        before = math.prod(shapes[0][:axis])
        for other in _axes(result, rows):
            if math.prod(result[:other]) == before:
                yield Tiling((axis, *rest), other, writes_shape=op.kind == "Reshape")


def _expand(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    del op
    for axis in _axes(result, rows):
        own = _broadcast(shapes[0], result, axis)
        if own is not None:
            yield Tiling((own, None), axis, writes_shape=True)


def _reduce(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    del result
    rank = len(shapes[0])
    gone = reduced_axes(op, rank)
    if gone is None:
        return
    kept = range(rank) if op.attributes.get("keepdims", 1) else [a for a in range(rank) if a not in gone]
    rest = (None,) * (len(shapes) - 1)
    for axis in _axes(shapes[0], rows):
        if axis not in gone:
            yield Tiling((axis, *rest), list(kept).index(axis))
        elif op.kind == "ReduceSum":
            yield Tiling((axis, *rest), None)


def _along_others(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    own = op.attributes.get("axis", -1) % len(result)
    yield from (Tiling((axis,), axis) for axis in _axes(shapes[0], rows) if axis != own)


def _concat(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    own = op.attributes["axis"] % len(result)
    yield from (Tiling((axis,) * len(shapes), axis) for axis in _axes(result, rows) if axis != own)


def _gather(op: Op, shapes: Shapes, result: Literal, rows: int) -> Iterator[Tiling]:
    """Tiles of indices select rows; or tiles of the data's other axes."""
    del result
    data, indices = shapes
    own = op.attributes.get("axis", 0) % len(data)
    yield from (Tiling((None, axis), own + axis) for axis in _axes(indices, rows))
    for axis in _axes(data, rows):
        if axis != own:
            yield Tiling((axis, None), axis if axis < own else axis - 1 + len(indices))


_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(kinds_where(lambda t: t.elementwise), _elementwise),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze"), _reshape),
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"), _reduce),
    **dict.fromkeys(("LogSoftmax", "Softmax"), _along_others),
    "Concat": _concat,
    "Expand": _expand,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Transpose": _transpose,
}
