"""Find the ops of a block that can go along its rows together, and estimate what they gain in tiles."""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, has_blocks, is_call, reads
from primsplit.ir.analysis.costs import COSTS
from primsplit.ops.traits import traits
from primsplit.rewrites.loops.tiled_ops import Tiling, tilings
from primsplit.rewrites.rewriting import literal_shape

CACHE = 2**24
"""Live bytes from which on arrays surely go to memory between two ops."""
TILE = 5 * 2**17
"""The most live bytes of a tile."""
LARGE = 2**20
"""Bytes of an array from which on an op is worth tiling."""
STAYS = 2**18
"""Values that every tile reads, or adds to, stay in the cache up to so many bytes."""
LAUNCH = 2**13
"""The cost of running an op at all, in bytes that go to memory or come from it."""
GAIN = 0.65
"""The largest share of the untiled time that the tiles may take."""
FLOPS = 4
"""The number of multiplications in the time of a byte that goes to memory."""
SLOW = 80.0
"""The cost of an element of an operator that is not in the cost table."""
ROUNDS = 8
"""The most rounds in which ops are removed from a region: their removal may force others out."""


def row_counts(block: Block) -> list[int]:
    """Return the numbers of rows that a large part of the block's arrays have."""
    sizes: Counter[int] = Counter()
    values: set[Value] = {v for op in block.ops for v in op.inputs if isinstance(v, Const) and v.type.shape}
    values.update(block.params, (v for op in block.ops for v in op.outputs if v.type.shape))
    for value in values:
        if (size := _bytes(value)) >= LARGE:
            sizes[next((d for d in literal_shape(value.type) or () if d != 1), 1)] += size
    return sorted(rows for rows, size in sizes.items() if size >= CACHE)


def _bytes(value: Value) -> int:
    """Return the bytes of a value, 0 if they are not known."""
    return value.type.literal_nbytes() or 0


def _divisor(rows: int, most: int) -> int | None:
    """Return the largest divisor of a number of rows between most / 2 and most, if there is one.

    It is searched among the divisors or among their quotients, whichever are fewer: at most `TILE` of them.
    """
    quotients = range(-(-rows // most), 2 * rows // most + 1)
    if rows <= most * most:
        return next((rows // q for q in quotients if rows % q == 0), None)
    return next((d for d in range(most, (most - 1) // 2, -1) if rows % d == 0), None)


def region_of(block: Block, rows: int) -> "Region":
    """Return the ops that go along axes with so many rows; those that others read lie tile after tile in memory."""
    refused: set[int] = set()
    for _ in range(ROUNDS):
        region = Region(block, rows, refused)
        # A region within the cache saves nothing, and refusing some of its ops does not make it larger.
        scattered = set() if region.is_cached else _scattered(region)
        if not scattered:
            return region
        refused |= scattered
    return Region(block, rows, {id(op) for op in block.ops})


def _scattered(region: "Region") -> set[int]:
    """Return the ops, by id, whose tiles lie apart in an array that others read, or that such an op reads."""
    wanted = set(region.kept)
    found: set[int] = set()
    for op, tiling in reversed(region.inside):
        made = op.outputs[0]
        if made in wanted and tiling.result is not None and not _is_tile_by_tile(made, tiling.result):
            found.add(id(op))
            wanted.update(reads(op))
    return found


def _is_tile_by_tile(value: Value, axis: int) -> bool:
    return math.prod((literal_shape(value.type) or ())[:axis]) == 1


@dataclass
class Region:
    """The ops of a block that go along axes with so many rows, except the refused; the ops before, and after them.

    `axes` are the axes of the values in tiles, of which `walked` exist before; `sums` are the values that the tiles add
    up.
    """

    block: Block
    rows: int
    refused: Collection[int]
    before: list[Op] = field(default_factory=list)
    inside: list[tuple[Op, Tiling]] = field(default_factory=list)
    after: list[Op] = field(default_factory=list)
    axes: dict[Value, int] = field(default_factory=dict)
    walked: list[Value] = field(default_factory=list)
    sums: list[Var] = field(default_factory=list)

    def __post_init__(self) -> None:
        late: set[Var] = set()
        made: set[Var] = set()
        for op in self.block.ops:
            read = reads(op)
            tiling = self._tiling(op, made) if late.isdisjoint(read) else None
            if tiling is not None:
                self._enter(op, tiling)
                (late if tiling.result is None else made).update(op.outputs)
            elif late.isdisjoint(read) and made.isdisjoint(read):
                self.before.append(op)
            else:
                self.after.append(op)
                late.update(op.outputs)

    def _tiling(self, op: Op, made: Collection[Value]) -> Tiling | None:
        """Return the tiling of the op that fits those before it."""
        if has_blocks(op) or is_call(op) or id(op) in self.refused or not _is_large(op, made):
            return None
        return next((found for found in tilings(op, self.rows) if self._fits(op, found, made)), None)

    def _fits(self, op: Op, tiling: Tiling, made: Collection[Value]) -> bool:
        """Whether the op's inputs exist in tiles along these axes, or as a whole, and tiling it is worth it."""
        is_worth = _bytes(op.outputs[0]) >= LARGE
        for value, axis in zip(op.inputs, tiling.inputs, strict=True):
            if value is None or (axis is None and value not in made):
                continue
            if self.axes.get(value, axis) != axis or axis is None:
                return False
            if value not in made and not _is_tile_by_tile(value, axis):
                return False
            is_worth = is_worth or value in made or _bytes(value) >= LARGE
        return is_worth and (tiling.result is not None or _adds_up(op.outputs[0].type))

    def _enter(self, op: Op, tiling: Tiling) -> None:
        self.inside.append((op, tiling))
        for value, axis in zip(op.inputs, tiling.inputs, strict=True):
            if value is not None and axis is not None and value not in self.axes:
                self.axes[value] = axis
                self.walked.append(value)
        if tiling.result is None:
            self.sums.append(op.outputs[0])
        else:
            self.axes[op.outputs[0]] = tiling.result

    @cached_property
    def kept(self) -> list[Var]:
        """The values of the region that ops after it read, and results."""
        wanted = {v for op in self.after for v in reads(op)} | {v for v in self.block.results if isinstance(v, Var)}
        return [op.outputs[0] for op, tiling in self.inside if tiling.result is not None and op.outputs[0] in wanted]

    @cached_property
    def tile(self) -> int:
        """The number of rows of a tile, so that its live values fit into the cache; a divisor if there is one."""
        most = min(self.rows, max(1, TILE * self.rows // max(1, self._alive)))
        return _divisor(self.rows, most) or most

    @property
    def is_cached(self) -> bool:
        """Whether the live values of all rows fit into the cache."""
        return self._alive < CACHE

    @cached_property
    def saved(self) -> float:
        """The time that tiles save, in bytes that go to memory or come from it; 0 if they are not worth it."""
        if self.is_cached or self._alive > TILE * self.rows or self.tile == self.rows:
            return 0.0  # nothing is beyond the cache, or a single row is
        whole, in_tiles = self._times(self.rows // self.tile)
        return max(0.0, GAIN * whole - in_tiles)

    def _times(self, steps: int) -> tuple[float, float]:
        """Return the time of the region as a whole, and in so many tiles."""
        computing = fetched = again = 0.0
        for op, tiling in self.inside:
            computing += _computing(op)
            if traits(op.kind).keeps == "order":
                continue
            again += LAUNCH
            given = {v: axis for v, axis in zip(op.inputs, tiling.inputs, strict=True) if v is not None}
            fetched += sum(map(_bytes, (*given, *op.outputs)))
            shared = [v for v, axis in given.items() if axis is None]
            added = op.outputs * 3 if tiling.result is None else ()
            again += sum(size for v in (*shared, *added) if (size := _bytes(v)) > STAYS)
        # onnxruntime copies a step's results to where they are stacked.
        once = sum(map(_bytes, (*self.walked, *self.kept, *self.kept)))
        return computing + fetched, computing + once + steps * again

    @cached_property
    def _alive(self) -> int:
        """The most bytes of arrays with these rows that are alive at once when the ops run one after the other."""
        last = {v: k for k, (op, _) in enumerate(self.inside) for v in op.inputs if v in self.axes}
        ends: dict[int, int] = {}
        seen: set[Value] = set()
        now = most = 0
        for k, (op, _) in enumerate(self.inside):
            for value in (*op.inputs, *op.outputs):
                if value in self.axes and value not in seen and traits(op.kind).keeps != "order":
                    seen.add(value)
                    now += _bytes(value)
                    end = last.get(value, k)
                    ends[end] = ends.get(end, 0) + _bytes(value)
            most = max(most, now)
            now -= ends.pop(k, 0)
        return most


def _is_large(op: Op, made: Collection[Value]) -> bool:
    """Whether a value of the op is large, or in tiles already; it is not worth a look otherwise."""
    return _bytes(op.outputs[0]) >= LARGE or any(v in made or _bytes(v) >= LARGE for v in op.inputs if v is not None)


def _adds_up(type: Type) -> bool:
    """Whether sums of sums of this dtype are as good as sums."""
    return type.dtype.kind in "iu" or type.dtype in (np.float32, np.float64)


def _computing(op: Op) -> float:
    """Return an op's computing time with all operands in the cache, in bytes that memory moves in that time."""
    made = op.outputs[0]
    if op.kind in {"MatMul", "Gemm"}:
        return _bytes(made) / made.type.dtype.itemsize * _contracted(op) / FLOPS
    if op.kind.startswith("Reduce"):
        return COSTS["Add"] * sum(_bytes(v) for v in op.inputs if v is not None)
    return COSTS.get(op.kind, SLOW) * _bytes(made)


def _contracted(op: Op) -> int:
    """Return the length of the axis that a matrix product sums over."""
    shape = literal_shape(op.inputs[0].type) if op.inputs[0] is not None else None
    return (shape or (1,))[0 if op.attributes.get("transA", 0) else -1]
