"""Which ops of a block go along rows together, and what they gain by being done a tile of rows at a time."""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from primsplit.ir import Block, Const, Op, Type, Value, Var, has_blocks, is_call, reads
from primsplit.ir.analysis.costs import COSTS
from primsplit.rewrites.loops.tiled_ops import Tiling, tilings
from primsplit.rewrites.order import VIEWS
from primsplit.rewrites.rewriting import literal_shape

CACHE = 2**24
"""Bytes that are alive together from which on they surely go to memory between two ops."""
TILE = 5 * 2**17
"""The most bytes of a tile that are alive together."""
LARGE = 2**20
"""Bytes of an array from which on an op is worth to begin with."""
STAYS = 2**18
"""Bytes up to which what every tile reads, or adds to, stays in the cache."""
LAUNCH = 2**13
"""An op costs as much as so many bytes that go to memory or come from it, whatever it does."""
GAIN = 0.65
"""How much of the time the tiles may take of what the whole arrays take."""
FLOPS = 4
"""Multiplications in the time of a byte that goes to memory."""
SLOW = 80.0
"""The cost of an element of an operator that the table of costs does not have."""
ROUNDS = 8
"""How often ops are taken out of a region, before it is left as it is: those taken out take others with them."""


def row_counts(block: Block) -> list[int]:
    """The numbers of rows that much has."""
    sizes: Counter[int] = Counter()
    values: set[Value] = {v for op in block.ops for v in op.inputs if isinstance(v, Const) and v.type.shape}
    values.update(block.params, (v for op in block.ops for v in op.outputs if v.type.shape))
    for value in values:
        if (size := _bytes(value)) >= LARGE:
            sizes[next((d for d in literal_shape(value.type) or () if d != 1), 1)] += size
    return sorted(rows for rows, size in sizes.items() if size >= CACHE)


def _bytes(value: Value) -> int:
    """The bytes of a value, 0 where they are not known."""
    return value.type.literal_nbytes() or 0


def _divisor(rows: int, most: int) -> int | None:
    """The largest divisor of a number of rows between most / 2 and most, if there is one.

    It is looked for among the divisors or among their quotients, whichever are fewer: at most `TILE` of them.
    """
    quotients = range(-(-rows // most), 2 * rows // most + 1)
    if rows <= most * most:
        return next((rows // q for q in quotients if rows % q == 0), None)
    return next((d for d in range(most, (most - 1) // 2, -1) if rows % d == 0), None)


def region_of(block: Block, rows: int) -> "Region":
    """The ops that go along axes with so many rows; what others read of them lies in tiles one after the other."""
    refused: set[int] = set()
    for _ in range(ROUNDS):
        region = Region(block, rows, refused)
        scattered = _scattered(region)
        if not scattered:
            return region
        refused |= scattered
    return Region(block, rows, {id(op) for op in block.ops})


def _scattered(region: "Region") -> set[int]:
    """The ops, by id, whose tiles lie apart in the array that others read, such ops too."""
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
    """The ops of a block that go along its axes with so many rows, but those refused; what is before, and after them.

    `axes` are the axes of the values in tiles, of which `walked` are there before; `sums` is what the tiles add up.
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
        """How the op is tiled together with those before it."""
        if has_blocks(op) or is_call(op) or id(op) in self.refused:
            return None
        return next((found for found in tilings(op, self.rows) if self._fits(op, found, made)), None)

    def _fits(self, op: Op, tiling: Tiling, made: Collection[Value]) -> bool:
        """True where the op's inputs are there in tiles along these axes, or as a whole, and it is worth to be here."""
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
        """What ops after the region read of it, and results."""
        wanted = {v for op in self.after for v in reads(op)} | {v for v in self.block.results if isinstance(v, Var)}
        return [op.outputs[0] for op, tiling in self.inside if tiling.result is not None and op.outputs[0] in wanted]

    @cached_property
    def tile(self) -> int:
        """The rows of a tile, so that what is alive of it together fits into the cache; a divisor if there is one."""
        most = min(self.rows, max(1, TILE * self.rows // max(1, self._alive)))
        return _divisor(self.rows, most) or most

    @cached_property
    def saved(self) -> float:
        """The time that tiles save, in bytes that go to memory or come from it; 0 where they are not worth it."""
        if not CACHE <= self._alive <= TILE * self.rows or self.tile == self.rows:
            return 0.0  # nothing is beyond the cache, or a single row is
        whole, in_tiles = self._times(self.rows // self.tile)
        return max(0.0, GAIN * whole - in_tiles)

    def _times(self, steps: int) -> tuple[float, float]:
        """What the region takes as a whole, and in so many tiles."""
        computing = fetched = again = 0.0
        for op, tiling in self.inside:
            computing += _computing(op)
            if op.kind in VIEWS:
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
        """The most bytes of arrays with these rows that are there together when the ops run one after the other."""
        last = {v: k for k, (op, _) in enumerate(self.inside) for v in op.inputs if v in self.axes}
        ends: dict[int, int] = {}
        seen: set[Value] = set()
        now = most = 0
        for k, (op, _) in enumerate(self.inside):
            for value in (*op.inputs, *op.outputs):
                if value in self.axes and value not in seen and op.kind not in VIEWS:
                    seen.add(value)
                    now += _bytes(value)
                    end = last.get(value, k)
                    ends[end] = ends.get(end, 0) + _bytes(value)
            most = max(most, now)
            now -= ends.pop(k, 0)
        return most


def _adds_up(type: Type) -> bool:
    """True for dtypes whose sums are no worse for being sums of sums."""
    return type.dtype.kind in "iu" or type.dtype in (np.float32, np.float64)


def _computing(op: Op) -> float:
    """What an op computes with all that it needs in the cache, in bytes that memory gives in that time."""
    made = op.outputs[0]
    if op.kind in {"MatMul", "Gemm"}:
        return _bytes(made) / made.type.dtype.itemsize * _contracted(op) / FLOPS
    if op.kind.startswith("Reduce"):
        return COSTS["Add"] * sum(_bytes(v) for v in op.inputs if v is not None)
    return COSTS.get(op.kind, SLOW) * _bytes(made)


def _contracted(op: Op) -> int:
    """The length of the axis that a product of matrices sums over."""
    shape = literal_shape(op.inputs[0].type) if op.inputs[0] is not None else None
    return (shape or (1,))[0 if op.attributes.get("transA", 0) else -1]
