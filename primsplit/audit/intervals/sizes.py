"""Limit the elements whose ranges are kept one by one: a file of a few bytes may compute arrays of terabytes.

```
Expand([1, 2, 3], [2 ** 33, 3])   ->   one range for all elements: [1, 3]
```
"""

import math
from collections.abc import Sequence

import numpy as np

from primsplit.audit.intervals.ranges import Range
from primsplit.ir import Const, Op, Type, Value, Var
from primsplit.ir.errors import PrimsplitError
from primsplit.ops.inference import infer
from primsplit.ops.traits import traits

MOST = 2**22
"""The most elements of a result, beyond those of its inputs, that have a range each."""
GROWING = frozenset({
    "CenterCropPad", "Concat", "Conv", "ConvInteger", "ConvTranspose", "Einsum", "Expand", "Gather", "GatherElements",
    "GatherND", "Gemm", "MatMul", "MatMulInteger", "OneHot", "Pad", "Range", "Resize", "Tile",
})  # fmt: skip
"""Operators that make more elements than they get. No trait: inference computes how many."""


def within_limits(op: Op, inputs: Sequence[Range | None]) -> list[Range | None]:
    """Return the ranges of an op's inputs; each with one bound for all elements if the result would be too large."""
    if _elements(op, inputs) <= MOST + sum(r.low.size for r in inputs if r is not None):
        return [*inputs]
    return [None if r is None else r.hull() for r in inputs]


def _elements(op: Op, inputs: Sequence[Range | None]) -> int:
    """Return the number of elements of the first result; 0 where it is not known."""
    there = [r for r in inputs if r is not None]
    if not there:
        return 0
    if traits(op.kind).elementwise:
        return math.prod(np.broadcast_shapes(*(shape for r in there for shape in (r.low.shape, r.high.shape))))
    if op.kind not in GROWING:
        return 0
    try:
        found, _ = infer(op.kind, [_value(r) for r in inputs], op.attributes, len(op.outputs))[0]
    except PrimsplitError:
        return 0
    sizes = [d for d in found.shape or () if isinstance(d, int)]
    return math.prod(sizes) if len(sizes) == found.rank else 0


def _value(found: Range | None) -> Value | None:
    if found is None:
        return None
    if found.value is not None:
        return Const(found.value)
    shape = None if found.shape is None or None in found.shape else [d for d in found.shape if d is not None]
    return Var(Type(found.dtype, shape))
