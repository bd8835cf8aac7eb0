"""Put a circular Pad that may go around more than once in an If, whose other branch reads elements by index.

```
Pad(x, p, mode="wrap")   ->   If(p goes around twice, or x is empty): Gather(x, places), else Pad(x, p, mode="wrap")
```

onnxruntime before 1.31 leaves memory uninitialized where a Pad "wrap" goes around twice. It also refuses to pad an
empty array, which becomes zeros here.
"""

import functools
from collections.abc import Mapping, Sequence

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
    """Return the block with each circular Pad that may go around more than once, or be empty, inside an If."""
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
        *before, guarded = _guarded(op, needed)
        self.kept.extend(before)
        return guarded

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


def _guarded(pad: Op, needed: Mapping[int, int] | None) -> list[Op]:
    """Return ops that compute the padded array, by index where the operator fails; the last is an If."""
    amounts = pad.inputs[1]
    assert amounts is not None
    with recorded_beside(pad) as around:
        x = Array(_read(pad))
        if needed is None:
            far = op.Max(*op.Split(Array(amounts), axis=0, num_outputs=2, outputs=2))
            margin = op.ReduceMin(op.Sub(op.Shape(x), far), keepdims=0)
            is_odd = op.Or(op.Less(margin, 0), op.Equal(op.Size(x), 0)).value
        else:
            is_odd = is_any_less(x, needed)
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
