"""Put a circular Pad that may go around more than once in an If, whose other branch reads elements by index.

```
Pad(x, [3, 1], mode="wrap")   ->   If(x has fewer than 3 elements): Gather(x, places), else Pad(x, [3, 1], mode="wrap")
Pad(x, p, mode="wrap")        ->   Gather(x, places)
```

Where only the run knows the amounts there is no If, because a pass that reads the file again could not tell what an If
has asked about them, and would put one more around the Pad.

onnxruntime before 1.31 leaves memory uninitialized where a Pad "wrap" goes around twice. It also refuses to pad an
empty array, which becomes zeros here.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from primsplit.ir import Block, Op, Value
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.inference import infer
from primsplit.rewrites.asked_sizes import SizeRewriter, is_any_less
from primsplit.rewrites.rewriting import integers, recorded_beside
from primsplit.targets.faults.empty_layers import alone
from primsplit.tracing.array import Array
from primsplit.tracing.regions import record


@fault(
    "circular_pad_more_than_once_around",
    kind="wrong",
    operators=("Pad",),
    says="A circular Pad by more than the size of the axis leaves parts of the result unwritten.",
    before="1.31",
)
@fault(
    "circular_pad_of_nothing",
    kind="refuses",
    operators=("Pad",),
    says="A circular Pad of an empty array is refused when it runs.",
)
def guard_circular_pads(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with each circular Pad that may go around twice, or be empty, by index or inside an If."""
    return _Guarding(runtime).run(block)


class _Guarding(SizeRewriter):
    kinds = frozenset({"Pad"})

    def __init__(self, runtime: Runtime) -> None:
        super().__init__()
        self.may_go_around = not runtime.has("circular_pad_more_than_once_around")

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the If that replaces it."""
        needed = self.needs(op) if op.kind == "Pad" and op.attributes.get("mode") in {"wrap", b"wrap"} else {}
        if needed is not None and not needed:
            return super().visit(op)
        *before, last = _by_index(op) if needed is None else _guarded(op, needed)
        self.kept.extend(before)
        return last

    def needs(self, pad: Op) -> dict[int, int] | None:
        """Return the least size of each axis that may be too short; None if only the run knows the amounts.

        A Pad of some axes, or of unknown rank, is left alone.
        """
        shape = _read(pad).type.shape
        if shape is None or len(pad.inputs) > 3:
            return {}
        amounts = (0,) * 2 * len(shape) if self.may_go_around else integers(pad.inputs[1])
        if amounts is None or len(amounts) != 2 * len(shape):
            return None
        least = [max(1, *amounts[axis :: len(shape)]) for axis in range(len(shape))]
        return {axis: least[axis] for axis, size in enumerate(shape) if not self.above(size, least[axis] - 1)}


def _read(pad: Op) -> Value:
    data = pad.inputs[0]
    assert data is not None
    return data


def _by_index(pad: Op) -> list[Op]:
    """Return ops that compute the padded array by index; the last defines it."""
    with recorded_beside(pad) as around:
        _by_places(pad)
    *before, last = around.ops
    return [*before, replace(last, outputs=pad.outputs)]


def _guarded(pad: Op, needed: Mapping[int, int]) -> list[Op]:
    """Return ops that compute the padded array, by index where the operator fails; the last is an If."""
    with recorded_beside(pad) as around:
        is_odd = is_any_less(Array(_read(pad)), needed)
        far_around = record("far_around", [], functools.partial(_by_places, pad))
    attributes = {"then_branch": far_around, "else_branch": alone(pad)}
    return [*around.ops, pad.beside("If", (is_odd,), pad.outputs, attributes)]


def _by_places(pad: Op) -> Sequence[Value]:
    """Return the array gathered along each axis at its wrapped positions; for an empty axis, at a zero put there."""
    x, amounts = Array(_read(pad)), pad.inputs[1]
    assert amounts is not None
    sizes, rank = op.Shape(x), x.ndim
    none = np.zeros(rank, np.int64)
    least = op.Max(sizes, np.ones(rank, np.int64))
    found = op.Pad(x, op.Concat(none, op.Sub(least, sizes), axis=0))
    before, after = op.Split(Array(amounts), axis=0, num_outputs=2, outputs=2)
    first, last = op.Neg(before), op.Add(sizes, after)
    for axis in range(rank):
        start, end, size = (op.Gather(v, np.int64(axis), axis=0) for v in (first, last, least))
        found = op.Gather(found, op.Mod(op.Range(start, end, np.int64(1)), size), axis=axis)
    (inferred, _), *_ = infer(pad.kind, pad.inputs, pad.attributes, 1)
    return [op.Reshape(found, op.Shape(found), allowzero=1, types=[inferred]).value]
