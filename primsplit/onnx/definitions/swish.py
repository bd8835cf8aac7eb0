"""Define gated activations: Swish, SwiGLU."""

from typing import Any

from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array


@defines("Swish")
def swish(x: Array, *, outputs: int = 1, alpha: float = 1.0) -> Array:
    """`x * sigmoid(alpha * x)`."""
    return op.Mul(x, op.Sigmoid(x if alpha == 1.0 else op.Mul(x, alpha)))


@defines("SwiGLU")
def swiglu(a: Array, b: Array, *, outputs: int = 1, alpha: float = 1.0) -> Any:
    """`swish(a) * b`, for `a` and `b` of one shape."""
    return op.Mul(swish(a, alpha=alpha), b)
