"""Scans that keep few carries for their gradient and run the steps between them again.

A part of the scan is a call whose pullback recomputes what it reads, so that only the part's first carry is kept. The
square-root schedule has about sqrt(n) parts of sqrt(n) steps: each step is run twice, and 2 sqrt(n) carries are alive
at most. The binomial schedule nests parts in parts: with s snapshots, of which each part is run again r times at most,
it covers binomial(s + r, s) parts (Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26, 2000).
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.ir import Block, Type, free
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.ops import op
from primsplit.ops.inference import fresh
from primsplit.tracing import trees
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import as_vector, reshape_to
from primsplit.tracing.control.structure import Function, arrays_of
from primsplit.tracing.functionlike import name_of

Schedule = str | int
PARTS = 64
"""The most parts of a binomial schedule: each is a Scan of its own in the file."""

Scan = Callable[[Function, Any, Any], tuple[Any, Any]]


def checkpointed(scan: Scan, body: Function, init: Any, xs: Any, schedule: Schedule) -> tuple[Any, Any]:
    """Run `scan(body, init, xs)` with checkpoints: "sqrt", or the number of snapshots of a binomial schedule.

    Raises ShapeError for another schedule, or for a binomial one with a length that only the run knows.
    """
    sequences, spec = arrays_of(xs)
    length = sequences[0].shape[0]
    if schedule == "sqrt":
        return _by_square_root(scan, body, init, sequences, spec)
    if not isinstance(schedule, int) or schedule < 1:
        raise ShapeError(
            f"checkpoint={schedule!r} is no schedule",
            place=tracing.user_place(),
            cure='Write checkpoint="sqrt", or a number of snapshots.',
        )
    if isinstance(length, Size):
        raise ShapeError(
            f"a binomial schedule needs a length known when it is traced, not {length}",
            place=tracing.user_place(),
            cure='Use checkpoint="sqrt", which serves every length.',
        )
    if length == 0:
        return scan(body, init, xs)
    again = _repetitions(schedule, length)
    parts = [a for a in np.array_split(np.arange(length), math.comb(schedule + again, schedule)) if len(a)]
    bounds = [0, *(int(a[-1]) + 1 for a in parts)]
    pieces = [[op.Slice(a, [i], [j], [0]) for a in sequences] for i, j in pairwise(bounds)]
    carry, collected = _nested(scan, body, init, pieces, spec, schedule, again)
    return carry, _joined(collected, length)


def _repetitions(snapshots: int, length: int) -> int:
    """Return how often a part is run again at most, so that there are `PARTS` parts, and no more than steps."""
    again = 1
    while math.comb(snapshots + again + 1, snapshots) <= min(PARTS, length):
        again += 1
    return again


def _nested(
    scan: Scan,
    body: Function,
    init: Any,
    pieces: Sequence[Sequence[Array]],
    spec: trees.TreeSpec,
    snapshots: int,
    again: int,
) -> tuple[Any, list[Any]]:
    """Run the parts: those before a snapshot within a call that is run again, and then the others."""
    if len(pieces) == 1 or snapshots == 0 or again == 0:
        carry, collected = init, []
        for piece in pieces:
            carry, ys = recomputed(lambda c, xs: scan(body, c, xs), carry, trees.unflatten(spec, piece))
            collected.append(ys)
        return carry, collected
    before = min(math.comb(snapshots + again - 1, snapshots), len(pieces) - 1)

    def first(carry: Any, given: Any) -> tuple[Any, list[Any]]:
        return _nested(scan, body, carry, given, spec, snapshots, again - 1)

    carry, collected = recomputed(first, init, pieces[:before])
    carry, others = _nested(scan, body, carry, pieces[before:], spec, snapshots - 1, again)
    return carry, [*collected, *others]


def _joined(parts: Sequence[Any], length: Dim) -> Any:
    """Concatenate the stacked results of the parts; together they have the sequences' length."""
    flat = [arrays_of(p) for p in parts]
    columns = [list(c) for c in zip(*(leaves for leaves, _ in flat), strict=True)]
    return trees.unflatten(flat[0][1], [c[0] if len(c) == 1 else _in_a_row(c, length) for c in columns])


def _in_a_row(parts: Sequence[Array], length: Dim) -> Array:
    whole: Array = op.Concat(*parts, axis=0, types=[Type(parts[0].dtype, (length, *parts[0].shape[1:]))])
    return whole


def _by_square_root(
    scan: Scan, body: Function, init: Any, sequences: Sequence[Array], spec: trees.TreeSpec
) -> tuple[Any, Any]:
    """Scan over parts of equal length, and then over the rest."""
    count, size, rows = _square_root(sequences[0].shape[0])
    whole = [_parts_of(a, count, size, rows) for a in sequences]
    rest = [op.Slice(a, as_vector(rows), [np.iinfo(np.int64).max], [0]) for a in sequences]

    def part(carry: Any, piece: Any) -> Any:
        return recomputed(lambda c, given: scan(body, c, given), carry, piece)

    carry, ys = scan(part, init, trees.unflatten(spec, whole))
    carry, tail = scan(body, carry, trees.unflatten(spec, rest))
    leaves, structure = arrays_of(ys)
    flat = [reshape_to(y, (y.shape[0] * y.shape[1], *y.shape[2:])) for y in leaves]
    return carry, _joined([trees.unflatten(structure, flat), tail], sequences[0].shape[0])


def _square_root(length: Dim) -> tuple[Dim, Dim, Array | int]:
    """Return the number of parts, their length, and the number of steps in them."""
    if isinstance(length, int):
        size = max(math.isqrt(length), 1)
        return length // size, size, length // size * size
    steps = tracing.size_of(length)
    root: Array = op.Floor(op.Sqrt(op.Cast(Array(steps), to=np.float64)))
    each: Array = op.Max(op.Cast(root, to=np.int64), np.ones(1, np.int64))
    count: Array = op.Div(Array(steps), each)
    return _named(count, "parts"), _named(each, "steps"), op.Mul(count, each)


def _named(vector: Array, stem: str) -> Size:
    """Return a symbol for the element of a vector, and record an array of that size to read it from."""
    size = fresh(stem)
    op.ConstantOfShape(vector, value=np.zeros(1, np.int64), types=[Type(np.int64, (size,))])
    return size


def _parts_of(array: Array, count: Dim, size: Dim, rows: Array | int) -> Array:
    steps = op.Slice(array, [0], as_vector(rows), [0], types=[Type(array.dtype, (count * size, *array.shape[1:]))])
    shape = tracing.size_vector((count, size, *array.shape[1:]))
    return op.Reshape(steps, shape, allowzero=1, types=[Type(array.dtype, (count, size, *array.shape[1:]))])


def recomputed(function: Function, *args: Any) -> Any:
    """Return `function(*args)` as a call whose pullback recomputes what it reads from the call's arguments."""
    leaves, spec = arrays_of(args)
    with tracing.recording() as inner:
        params = [inner.param(a.type) for a in leaves]
        given = [Array(p, weak=a.weak, scalar=a.scalar) for p, a in zip(params, leaves, strict=True)]
        found, structure = arrays_of(function(*trees.unflatten(spec, given)))
        values = [a.value for a in found]
    body = tracing.close(name_of(function), params, inner, values)
    outer = free(body)
    closed = Block(body.name, (*params, *outer), body.ops, body.results)
    outputs = tracing.emit_call("part", closed, (*(a.value for a in leaves), *outer), {"policy": "nothing"})
    return trees.unflatten(structure, [Array(v) for v in outputs])
