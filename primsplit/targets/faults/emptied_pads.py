"""Put a Pad that may remove all of an axis and pad it again in an If, whose other branch returns only padding.

```
Pad(x: [N], [-3, 2])   ->   If(N - 3 <= 0): Expand(0, [N - 1]), else Pad(x, [-3, 2])
```

onnxruntime before 1.26 leaves memory uninitialized there.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np

from primsplit.ir import Block, Op, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.ops.inference import infer
from primsplit.rewrites.asked_sizes import SizeRewriter, is_any_less
from primsplit.rewrites.rewriting import recorded_beside
from primsplit.targets.faults.empty_layers import alone
from primsplit.tracing.array import Array
from primsplit.tracing.regions import record


@fault(
    "pad_of_emptied_axis",
    kind="wrong",
    operators=("Pad",),
    says="A Pad that removes all of an axis at one end and adds to it at the other leaves the result unwritten.",
    before="1.24",
)
def guard_emptied_pads(block: Block) -> Block:
    """Return the block with each constant Pad that may remove an axis before it pads it inside an If."""
    return _Guarding().run(block)


class _Guarding(SizeRewriter):
    kinds = frozenset({"Pad"})

    def visit(self, op: Op) -> Op | None:
        """Return the op, or the If that replaces it."""
        lost = self.lost(op) if op.kind == "Pad" else {}
        if not lost:
            return super().visit(op)
        *before, guarded = _guarded(op, lost)
        self.kept.extend(before)
        return guarded

    def lost(self, pad: Op) -> dict[int, Dim]:
        """Return how many elements the pad removes of each axis that it may remove at one end and add to at the other.

        A Pad of some axes, or of unknown amounts, is left alone.
        """
        source, amounts = pad.inputs[0], pad.inputs[1]
        is_constant = pad.attributes.get("mode", "constant") in {"constant", b"constant"}
        if not is_constant or len(pad.inputs) > 3 or source is None or amounts is None:
            return {}
        shape, told = source.type.shape, amounts.sizes
        if shape is None or told is None or len(told) != 2 * len(shape):
            return {}
        found: dict[int, Dim] = {}
        for axis, (size, before, after) in enumerate(zip(shape, told[: len(shape)], told[len(shape) :], strict=True)):
            for taken, added in ((before, after), (after, before)):
                if not (dims.at_least(taken, 0) or dims.at_least(-added, 0) or self.above(size, -taken)):
                    found[axis] = -taken
        return found


def _guarded(pad: Op, lost: Mapping[int, Dim]) -> list[Op]:
    """Return ops that compute the padded array; the last is an If."""
    with recorded_beside(pad) as around:
        x, amounts = (Array(v) for v in pad.inputs[:2] if v is not None)
        before, after = op.Split(amounts, axis=0, num_outputs=2, outputs=2)
        least = {axis: most + 1 for axis, most in lost.items() if isinstance(most, int)}
        if len(least) == len(lost):
            is_emptied = is_any_less(x, least)
        else:
            none = np.zeros(x.ndim, np.int64)
            kept = op.Add(op.Shape(x), op.Add(op.Min(before, none), op.Min(after, none)))
            is_emptied = op.LessOrEqual(op.ReduceMin(kept, keepdims=0), 0).value
        whole = op.Add(op.Shape(x), op.Add(before, after))
        padding = record("emptied", [], functools.partial(_padding, pad, whole))
    attributes = {"then_branch": padding, "else_branch": alone(pad)}
    return [*around.ops, pad.beside("If", (is_emptied,), pad.outputs, attributes)]


def _padding(pad: Op, shape: Array) -> Sequence[Value]:
    ((inferred, _),) = infer(pad.kind, pad.inputs, pad.attributes, 1)
    value = pad.inputs[2] if len(pad.inputs) > 2 else None
    given = np.zeros((), inferred.dtype) if value is None else Array(value)
    return [op.Expand(given, shape, types=[inferred]).value]
