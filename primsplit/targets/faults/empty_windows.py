"""Put convolutions that may have no windows or no channels in an If, whose other branch returns the bias.

```
ConvTranspose(x: [1,3,N], w, b)   ->   If(Size(x) == 0): b in the shape of the result, else ConvTranspose(x, w, b)
```

ConvTranspose of no windows is refused from 1.21 on, and ends the process before: such is the cotangent of a pool over
an axis that turns out too short for a window. Conv of no channels leaves memory uninitialized before 1.32, and if it is
padded or has strides, it never ends: such is the gradient of weights for a batch of no images.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Block, Op, Value
from primsplit.ir.dims import Shape
from primsplit.ir.errors import TraceError
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rules.table import with_defaults
from primsplit.targets.faults.empty_layers import GuardingFirst
from primsplit.tracing.array import Array

FAULTS = {
    "Conv": "convolution_of_no_channels",
    "ConvTranspose": "transposed_convolution_of_no_windows",
}
"""No trait: the fault of each operator."""


@fault(
    "transposed_convolution_of_no_windows",
    kind="refuses",
    operators=("ConvTranspose",),
    says="A ConvTranspose of no windows is refused when it runs, or ends the process.",
)
@fault(
    "convolution_of_no_channels",
    kind="aborts",
    operators=("Conv",),
    says="A Conv of no channels leaves the result unwritten, or with strides or pads never ends.",
    before="1.32",
)
def guard_empty_windows(block: Block, runtime: Runtime = OLDEST) -> Block:
    """Return the block with each convolution that may be empty inside an If."""
    hit = frozenset(kind for kind, name in FAULTS.items() if runtime.has(name))
    return GuardingFirst(hit, _windows_or_channels, _bias_alone).run(block)


def _windows_or_channels(step: Op, source: Value) -> Shape:
    """Return the numbers of windows, or of channels, of which onnxruntime needs one; () for an unknown rank."""
    shape = source.type.shape or ()
    return shape[2:] if step.kind == "ConvTranspose" else shape[1:2]


def _bias_alone(step: Op, _: Value) -> Sequence[Value]:
    """Return the bias in the shape of the result."""
    x, weights, bias = (None if v is None else Array(v) for v in (*step.inputs, None)[:3])
    if x is None or weights is None:
        raise TraceError(f"a {step.kind} lacks its input or its weights")
    given = with_defaults(step.kind, step.attributes)
    counted = _windows if step.kind == "Conv" else _spread
    channels = op.Shape(weights, start=0, end=1)
    if step.kind == "ConvTranspose":
        channels = op.Mul(op.Shape(weights, start=1, end=2), given["group"])
    # By numbers that the run has: sizes of types may be told in symbols that no value here has.
    shape = op.Concat(op.Shape(x, end=1), channels, counted(x, weights, given), axis=0)
    found = op.ConstantOfShape(shape, value=np.zeros(1, x.dtype))
    if bias is not None:
        found = op.Add(found, op.Reshape(bias, [1, -1, *[1] * (x.ndim - 2)]))
    return [op.Identity(found, types=[step.outputs[0].type]).value]


def _placed(given: Mapping[str, Any], rank: int) -> tuple[Any, Any, Any]:
    """Return strides, dilations, and the pads of each axis, both ends added."""
    strides, dilations = (np.array(given.get(name) or [1] * rank) for name in ("strides", "dilations"))
    return strides, dilations, np.array(given.get("pads") or [0] * 2 * rank).reshape(2, rank).sum(0)


def _spans(weights: Array, dilations: Any) -> Any:
    return op.Add(op.Mul(op.Sub(op.Shape(weights, start=2), 1), dilations), 1)


def _windows(x: Array, weights: Array, given: Mapping[str, Any]) -> Any:
    """Return how many windows a Conv has along each axis."""
    strides, dilations, pads = _placed(given, x.ndim - 2)
    sizes = op.Shape(x, start=2)
    if text(given["auto_pad"]).startswith("SAME"):
        return op.Div(op.Add(sizes, strides - 1), strides)
    room = op.Sub(op.Add(sizes, pads), _spans(weights, dilations))
    return op.Add(op.Div(op.Sub(room, op.Mod(room, strides)), strides), 1)


def _spread(x: Array, weights: Array, given: Mapping[str, Any]) -> Any:
    """Return the sizes of a ConvTranspose's result."""
    rank = x.ndim - 2
    strides, dilations, pads = _placed(given, rank)
    counts = op.Shape(x, start=2)
    if given.get("output_shape"):
        return np.array(given["output_shape"][-rank:])
    if text(given["auto_pad"]).startswith("SAME"):
        return op.Mul(counts, strides)
    extra = np.array(given.get("output_padding") or [0] * rank) - pads
    return op.Add(op.Add(op.Mul(op.Sub(counts, 1), strides), _spans(weights, dilations)), extra)
