"""Define CausalConvWithState: a depthwise convolution of an element and those before it."""

import numpy as np

from primsplit.ir import Type
from primsplit.ir.dims import Dim
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.axes import END, slab
from primsplit.onnx.definitions.swish import swish
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import zeros
from primsplit.tracing.operators import cast_to


@defines("CausalConvWithState")
def causal_conv_with_state(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    *,
    outputs: int = 2,
    activation: str = "none",
) -> tuple[Array, Array]:
    """Return the convolution of `x` [batch, channels, length] after the past state, and the last columns of both.

    `weight` is [channels, 1, k], the states [batch, channels, k - 1]; an absent past state is zeros.
    """
    if activation not in {"none", "silu", "swish"}:
        raise UnsupportedFunction(f"CausalConvWithState has no activation {activation}")
    batch, channels, length = x.shape
    before = weight.shape[2] - 1
    past = zeros((batch, channels, before), x.dtype) if past_state is None else past_state
    padded = op.Concat(past, x, axis=2, types=[Type(x.dtype, (batch, channels, length + before))])
    made = _convolved(padded, weight, x.shape)
    made = made if bias is None else op.Add(made, op.Unsqueeze(bias, [1]), types=[x.type])
    if activation != "none":
        wide = cast_to(made, np.float64 if x.dtype == np.float64 else np.float32)
        made = cast_to(swish(wide), x.dtype)
    return made, slab(padded, 2, length, END)


def _convolved(padded: Array, weight: Array, shape: tuple[Dim, ...]) -> Array:
    """Convolve each channel's row with its own kernel."""
    channels = weight.shape[0]
    if not isinstance(channels, int):
        raise UnsupportedFunction(f"CausalConvWithState needs a known number of channels, which is {channels}")
    return op.Conv(padded, weight, group=channels, types=[Type(padded.dtype, shape)])
