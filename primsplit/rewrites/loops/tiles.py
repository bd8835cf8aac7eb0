"""Compute on many rows a tile of rows at a time, so that an op finds its operands in the cache.

```
y = Exp(x);  z = Mul(y, w)   ->   z = Scan(x and w in tiles of rows): y = Exp(x);  z = Mul(y, w)
```

onnxruntime runs an op on all of its rows before the next op begins: arrays that are larger than the cache go to memory
and come back between any two ops, and a matrix that a value and its gradient both read is fetched twice. As the body of
a Scan over tiles of rows, the same ops fetch each tile once, and no intermediate result ever exists as a whole.
Examples are a density of 100,000 observations with its gradient, or the distances of all pairs of points.

If the last tile is smaller, a Loop replaces the Scan. Sums over rows are carries. `tiled_regions` takes ops only if it
counts fewer bytes. Sums of `log1p` stay outside, for `rewrites.log_sums`. A file for CUDA has no tiles.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, BodyRole, Const, Op, Type, Value, Var, inline, rename_block
from primsplit.ir.dims import Dim
from primsplit.rewrites.loops.tiled_regions import Region, region_of, row_counts
from primsplit.rewrites.rewriting import literal_shape


def work_in_tiles(block: Block) -> Block:
    """Return the block with a loop over tiles for the ops on arrays of many rows; itself if that gains nothing.

    Rows must have a literal size. Sums over rows are sums of the tiles' sums, so that they may differ in the last
    digits.
    """
    regions = [region_of(block, rows) for rows in row_counts(block)]
    best = max(regions, key=lambda region: region.saved, default=None)
    return block if best is None or best.saved <= 0 else _Writing(best).block()


class _Writing:
    """The ops written for a region: a Scan over its tiles, or if some rows are left, a Loop and the ops on them."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.ops: list[Op] = []
        self.steps, self.left = divmod(region.rows, region.tile)

    def block(self) -> Block:
        """Return the block with the loop."""
        region = self.region
        sums, kept = self.with_rest(*self.loop()) if self.left else self.scan()
        found = dict(zip((*region.sums, *region.kept), (*sums, *kept), strict=True))
        behind = rename_block(replace(region.block, params=(), ops=tuple(region.after)), found)
        return replace(region.block, ops=(*region.before, *self.ops, *behind.ops), results=behind.results)

    def scan(self) -> tuple[Sequence[Value], Sequence[Value]]:
        """Walk tiles that are views of the arrays; return the sums, and the kept values of all rows."""
        region = self.region
        tiles = [Var(self.tiled(v, region.tile), v.hint) for v in region.walked]
        body = self.body(region.tile, tiles, ())
        views = [
            self.reshaped(v, (self.steps, *(t.type.shape or ()))) for v, t in zip(region.walked, tiles, strict=True)
        ]
        starts = self.zeros()
        attributes = {"body": body, "num_scan_inputs": len(views)}
        return self.stacked("Scan", (*starts, *views), body.results, attributes)

    def loop(self) -> tuple[Sequence[Value], Sequence[Value]]:
        """Slice one tile after the other; return the sums, and the kept values of the rows so far."""
        region = self.region
        step, going = Var(Type(np.int64, ())), Var(Type(np.bool_, ()))
        taking: list[Op] = []
        ends: dict[int, tuple[Var, Var]] = {}
        for places in sorted(set(map(self.places, region.walked))):
            start, end = ends[places] = Var(Type(np.int64, (1,))), Var(Type(np.int64, (1,)))
            size = Const(np.array([region.tile * places]))
            taking += [self.op("Mul", (step, size), (start,)), self.op("Add", (start, size), (end,))]
        tiles = [self.taken(v, *ends[self.places(v)], region.tile) for v in region.walked]
        body = self.body(region.tile, [op.outputs[0] for op in tiles], (*taking, *tiles))
        count = len(region.sums)
        body = replace(body, params=(step, going, *body.params[:count]), results=(going, *body.results))
        starts = (Const(np.array(self.steps)), Const(np.array(True)), *self.zeros())
        return self.stacked("Loop", starts, body.results[1:], {"body": body})

    def with_rest(self, sums: Sequence[Value], kept: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return the sums and the kept values, with the rows that are left after the last whole tile."""
        region = self.region
        last = []
        for value in region.walked:
            places = self.places(value)
            start, end = (Const(np.array([n * places])) for n in (region.rows - self.left, region.rows))
            last.append(self.taken(value, start, end, self.left))
        self.ops.extend(last)
        tiles = [op.outputs[0] for op in last]
        found = inline(self.body(self.left, tiles, ()), [*sums, *tiles], self.ops)
        count = len(sums)
        joined = zip(region.kept, kept, found[count:], strict=True)
        return found[:count], [self.joined(v, (main, rest)) for v, main, rest in joined]

    def body(self, rows: int, walked: Sequence[Var], before: Sequence[Op]) -> Block:
        """Return the block for tiles of so many rows, after the ops `before`: sums so far and tiles in and out."""
        region = self.region
        tiles = {v: Var(self.tiled(v, rows), v.hint) for v in region.axes} | dict(
            zip(region.walked, walked, strict=True)
        )
        sums = {v: Var(v.type, v.hint) for v in region.sums}
        ops = list(before)
        totals: list[Value] = []
        for op, tiling in region.inside:
            inputs = [v if v is None or a is None else tiles[v] for v, a in zip(op.inputs, tiling.inputs, strict=True)]
            made = op.outputs[0]
            if made in sums:
                ops.extend(_added(replace(op, inputs=tuple(inputs)), sums[made]))
                totals.append(ops[-1].outputs[0])
                continue
            if tiling.writes_shape:
                inputs[1] = _sizes(tiles[made].type)
            ops.append(replace(op, inputs=tuple(inputs), outputs=(tiles[made],)))
        params = (*sums.values(), *(tiles[v] for v in region.walked))
        return Block(BodyRole.TILE, params, tuple(ops), (*totals, *(tiles[v] for v in region.kept)))

    def stacked(
        self, kind: str, inputs: tuple[Value, ...], results: Sequence[Value], attributes: dict[str, object]
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        """Write the loop; return the sums, and each stacked value as one array."""
        count = len(self.region.sums)
        sums = tuple(Var(r.type, v.hint) for r, v in zip(results, self.region.sums, strict=False))
        stacks = tuple(Var(Type(r.type.dtype, (self.steps, *(r.type.shape or ())))) for r in results[count:])
        self.ops.append(self.op(kind, inputs, (*sums, *stacks), attributes))
        rows = self.steps * self.region.tile
        kept = [
            self.reshaped(s, self.tiled(v, rows).shape or ()) for s, v in zip(stacks, self.region.kept, strict=True)
        ]
        return sums, kept

    def zeros(self) -> list[Value]:
        """Return the starts of the sums."""
        for total in self.region.sums:
            value = np.zeros(1, total.type.dtype)
            self.ops.append(self.op("ConstantOfShape", (_sizes(total.type),), (Var(total.type),), {"value": value}))
        return [op.outputs[0] for op in self.ops[len(self.ops) - len(self.region.sums) :]]

    def tiled(self, value: Value, rows: int) -> Type:
        """Return the type of so many rows of a value."""
        shape = list(literal_shape(value.type) or ())
        shape[self.region.axes[value]] = rows * self.places(value)
        return Type(value.type.dtype, shape)

    def places(self, value: Value) -> int:
        """Return how many places a row has along its axis of a value."""
        return (literal_shape(value.type) or ())[self.region.axes[value]] // self.region.rows

    def taken(self, value: Value, start: Value, end: Value, rows: int) -> Op:
        """Return an op that slices rows out of a value."""
        axes = Const(np.array([self.region.axes[value]]))
        return self.op("Slice", (value, start, end, axes), (Var(self.tiled(value, rows), value.hint),))

    def joined(self, value: Var, parts: tuple[Value, Value]) -> Var:
        """Return the value of all rows."""
        self.ops.append(self.op("Concat", parts, (Var(value.type, value.hint),), {"axis": self.region.axes[value]}))
        return self.ops[-1].outputs[0]

    def reshaped(self, value: Value, shape: Sequence[Dim]) -> Var:
        """Return a view of a value."""
        made = Var(Type(value.type.dtype, shape), value.hint)
        self.ops.append(self.op("Reshape", (value, _sizes(made.type)), (made,), {"allowzero": 1}))
        return made

    def op(
        self,
        kind: str,
        inputs: tuple[Value, ...],
        outputs: tuple[Var, ...],
        attributes: dict[str, object] | None = None,
    ) -> Op:
        """Return an op at the source place where the region begins."""
        first, _ = self.region.inside[0]
        return first.beside(kind, inputs, outputs, attributes)


def _added(op: Op, total: Var) -> list[Op]:
    """Return the ops that add an op's result to a total; one Gemm for a matrix product."""
    made = Var(total.type, total.hint)
    if op.kind == "MatMul" and made.type.is_float and all(v is not None and v.type.rank == 2 for v in op.inputs):
        return [op.beside("Gemm", (*op.inputs, total), (made,))]
    part = Var(total.type)
    return [replace(op, outputs=(part,)), op.beside("Add", (total, part), (made,))]


def _sizes(type: Type) -> Const:
    return Const(np.array(type.shape, np.int64))
