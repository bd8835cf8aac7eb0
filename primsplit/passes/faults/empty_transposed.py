"""ConvTranspose of no windows, which onnxruntime refuses from 1.21 on; before, that ends the process.

An If gives the zeros, and the bias, that it is of nothing. Such is the cotangent of a convolution or a pool over an
axis that turns out too short for a window.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit import dims
from primsplit.array import Array
from primsplit.errors import TraceError
from primsplit.ir import Block, Op, Value
from primsplit.ops import op
from primsplit.passes.faults.empty_layers import unless_empty
from primsplit.passes.rewriting import Rewriter
from primsplit.rules.table import with_defaults
from primsplit.schema import text


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
    x, weights, bias = (None if v is None else Array(v) for v in (*step.inputs, None)[:3])
    if x is None or weights is None:
        raise TraceError("a ConvTranspose lacks its input or its weights")
    shape = _shape(x, weights, with_defaults(step.kind, step.attributes))
    found = op.ConstantOfShape(shape, value=np.zeros(1, x.dtype))
    if bias is not None:
        found = op.Add(found, op.Reshape(bias, [1, -1, *[1] * (x.ndim - 2)]))
    return [op.Identity(found, types=[step.outputs[0].type]).value]


def _shape(x: Array, weights: Array, given: Mapping[str, Any]) -> Any:
    """The shape of the result, by numbers that the run has: sizes of types may tell it in symbols that no value has."""
    rank = x.ndim - 2
    strides, dilations = (np.array(given.get(name) or [1] * rank) for name in ("strides", "dilations"))
    counts, channels = op.Shape(x, start=2), op.Shape(weights, start=1, end=2)
    pads = np.array(given.get("pads") or [0] * 2 * rank).reshape(2, rank).sum(0)
    if given.get("output_shape"):
        sizes: Any = np.array(given["output_shape"][-rank:])
    elif text(given["auto_pad"]).startswith("SAME"):
        sizes = op.Mul(counts, strides)
    else:
        spans = op.Add(op.Mul(op.Sub(op.Shape(weights, start=2), 1), dilations), 1)
        extra = np.array(given.get("output_padding") or [0] * rank) - pads
        sizes = op.Add(op.Add(op.Mul(op.Sub(counts, 1), strides), spans), extra)
    return op.Concat(op.Shape(x, end=1), op.Mul(channels, given["group"]), sizes, axis=0)
