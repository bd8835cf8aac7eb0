"""Add float32 numbers to few places in float64.

    y = ScatterND(z[2], i[1000000,1], u)   ->   y = float32(ScatterND(float64(z), i, float64(u)))

onnxruntime adds what goes to one place one after the other, so that the error grows with the number of writes. Such
scatters are the derivatives of what is read often: of `s[i]` for few `s` and many `i`.
"""

import numpy as np

from primsplit.ir import Block, Op, dims
from primsplit.ir.dims import Dim
from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.rewrites.rewriting import Rewriter, recorded_beside
from primsplit.rewrites.sums.stages import MANY_ROWS
from primsplit.tracing.array import Array

OFTEN = 16
"""The least number of writes a place for which a scatter of literal sizes is widened."""
FEW = 2**12
"""The most numbers of the result where the run decides how many writes there are: float64 costs little then."""


@fault(
    "float32_scatters_one_after_the_other",
    kind="wrong",
    operators=("ScatterND", "ScatterElements"),
    says="Many float32 numbers that are added to one place are added one after the other: a relative error of 1e-3 for "
    "a million equal numbers.",
)
def add_in_float64(block: Block) -> Block:
    """Return the block with such scatters in float64; itself if there is none."""
    return _Widening().run(block)


class _Widening(Rewriter):
    kinds = frozenset({"ScatterElements", "ScatterND"})

    def visit(self, op: Op) -> Op | None:
        """Return the op; None if it is replaced."""
        if op.kind not in self.kinds or not _adds_many(op):
            return super().visit(op)
        with recorded_beside(op) as around:
            made = _in_float64(op).value
        self.kept.extend(around.ops)
        self.replaced[op.outputs[0]] = made
        return None


def _adds_many(step: Op) -> bool:
    """Whether a scatter may add many numbers to one place."""
    data, indices, updates = (None if value is None else value.type for value in step.inputs)
    if data is None or indices is None or updates is None or step.attributes.get("reduction") != "add":
        return False
    if data.dtype != np.float32 or data.shape is None or indices.shape is None:
        return False
    if step.kind == "ScatterElements":
        axis = step.attributes.get("axis", 0)
        rest = dims.product(indices.shape[:axis]), dims.product(indices.shape[axis % len(data.shape) + 1 :])
        return _is_many(indices.shape[axis], data.shape[axis], dims.product(rest))
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        return False
    places, row = dims.product(data.shape[:depth]), dims.product(data.shape[depth:])
    return _is_many(dims.product(indices.shape[:-1]), places, row)


def _is_many(writes: Dim, places: Dim, row: Dim) -> bool:
    """Whether so many writes of rows go to so few places; where the run decides, whether float64 costs little."""
    if isinstance(writes, int) and isinstance(places, int):
        return writes >= max(MANY_ROWS, OFTEN * places)
    if isinstance(writes, int) and writes < MANY_ROWS:
        return False
    return isinstance(places, int) and isinstance(row, int) and places * row <= FEW


def _in_float64(step: Op) -> Array:
    data, indices, updates = (Array(value) for value in step.inputs if value is not None)
    wide = op.Cast(data, to=np.float64), op.Cast(updates, to=np.float64)
    made = getattr(op, step.kind)(wide[0], indices, wide[1], **step.attributes)
    return op.Cast(made, to=data.dtype)
