"""ConvTranspose of no windows, which onnxruntime refuses from 1.21 on; before, that ends the process.

An If gives the zeros, and the bias, that it is of nothing. Such is the cotangent of a convolution or a pool over an
axis that turns out too short for a window.
"""

import functools
from collections.abc import Sequence

import numpy as np

from primsplit import dims, tracing
from primsplit.array import Array
from primsplit.infer import infer
from primsplit.ir import Block, Op, Value
from primsplit.ops import op
from primsplit.passes.faults.empty_layers import unless_empty
from primsplit.passes.rewriting import Rewriter


def guard_empty_transposed(block: Block) -> Block:
    """The block with each ConvTranspose whose windows may be none inside an If."""
    return _Guarding().run(block)


class _Guarding(Rewriter):
    kinds = frozenset({"ConvTranspose"})

    def visit(self, op: Op) -> Op | None:
        """The op, or the If that takes its place."""
        source = op.inputs[0] if op.kind == "ConvTranspose" else None
        shape = None if source is None else source.type.shape
        if source is None or shape is None or all(dims.above(size, 0) for size in shape[2:]):
            return super().visit(op)
        *before, guarded = unless_empty(op, [source], nothing=functools.partial(_bias_alone, op))
        self.kept.extend(before)
        return guarded


def _bias_alone(step: Op) -> Sequence[Value]:
    """What is added to the windows, everywhere."""
    ((inferred, _),) = infer(step.kind, step.inputs, step.attributes, 1)
    shape = inferred.shape or ()
    found = op.ConstantOfShape(Array(tracing.size_vector(shape)), value=np.zeros(1, inferred.dtype))
    bias = step.inputs[2] if len(step.inputs) > 2 else None
    if bias is not None:
        found = op.Add(found, op.Reshape(Array(bias), [1, -1, *(1 for _ in shape[2:])]))
    return [op.Identity(found, types=[step.outputs[0].type]).value]
