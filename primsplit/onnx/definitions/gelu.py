"""Define Gaussian error linear units of `com.microsoft`, alone and with the bias that its optimizers fuse into them."""

from typing import Any

from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array


@defines("com.microsoft::Gelu")
def gelu(x: Array, *, outputs: int = 1) -> Any:
    """`x Phi(x)`, Phi the normal distribution function."""
    return op.Gelu(x)


@defines("com.microsoft::FastGelu")
def fast_gelu(x: Array, bias: Array | None = None, *, outputs: int = 1) -> Any:
    """Return the tanh approximation of `gelu(x + bias)`, with the standard's coefficients."""
    return op.Gelu(x if bias is None else op.Add(x, bias), approximate="tanh")


@defines("com.microsoft::QuickGelu")
def quick_gelu(x: Array, *, outputs: int = 1, alpha: float = 1.702) -> Any:
    """`x sigmoid(alpha x)`."""
    return op.Mul(x, op.Sigmoid(x if alpha == 1.0 else op.Mul(x, alpha)))


@defines("com.microsoft::BiasGelu")
def bias_gelu(x: Array, bias: Array, *, outputs: int = 1) -> Any:
    """`gelu(x + bias)`."""
    return op.Gelu(op.Add(x, bias))


@defines("com.microsoft::GemmFastGelu")
def matmul_fast_gelu(x: Array, weights: Array, bias: Array | None = None, *, outputs: int = 1) -> Any:
    """`fast_gelu(x @ weights + bias)`."""
    return fast_gelu(op.MatMul(x, weights), bias)


@defines("com.microsoft::BiasSplitGelu")
def bias_split_gelu(x: Array, bias: Array, *, outputs: int = 1) -> Any:
    """The first half of `x + bias` along the last axis, times the gelu of the second half."""
    value, gate = op.Split(op.Add(x, bias), axis=-1, num_outputs=2, outputs=2)
    return op.Mul(value, op.Gelu(gate))


@defines("com.microsoft::ScaledSiLU")
def scaled_silu(x: Array, scale: Array | None = None, *, outputs: int = 1, alpha: float = 1.0) -> Any:
    """`z sigmoid(z)` for `z = scale x`, `alpha` in place of an absent scale."""
    if scale is not None:
        x = op.Mul(x, op.CastLike(scale, x))
    elif alpha != 1.0:
        x = op.Mul(x, alpha)
    return op.Mul(x, op.Sigmoid(x))
