"""Define RMSNormalization (Zhang and Sennrich 2019)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.ir import Type
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import sum_to
from primsplit.tracing.operators import cast_to


def _wide(x: Array) -> Array:
    """Return `x` in float32 at least."""
    return cast_to(x, np.float64 if x.dtype == np.float64 else np.float32)


def _reciprocal(x: Array, axis: int, epsilon: float) -> tuple[Array, list[int]]:
    """Return `1 / sqrt(mean(x^2) + epsilon)` over the axes from `axis` on, and those axes."""
    axes = list(range(axis % max(len(x.shape), 1), len(x.shape)))
    wide = _wide(x)
    return op.Reciprocal(op.Sqrt(op.ReduceMean(wide * wide, axes, keepdims=1) + epsilon)), axes


def _rule(
    x: Array, scale: Array, *, outputs: int, axis: int, epsilon: float, stash_type: int
) -> tuple[Array, Callable[..., Any]]:
    """With n = x r, r = 1 / sqrt(mean(x^2) + epsilon) and g the cotangent of n, that of x is r (g - n mean(g n)).

    The pullback keeps x and r, which is small.
    """
    r, axes = _reciprocal(x, axis, epsilon)
    y = op.Mul(cast_to(_wide(x) * r, scale.dtype), scale)

    def pullback(dy: Array) -> tuple[Array, Array]:
        n = _wide(x) * r
        # A scale with sizes that x has as ones, which only the run knows, stretches the result.
        g = sum_to(cast_to(dy * scale, n.dtype), x.shape)
        dx = op.Mul(r, g - n * op.ReduceMean(g * n, axes, keepdims=1), types=[Type(n.dtype, x.shape)])
        return cast_to(dx, x.dtype), cast_to(sum_to(cast_to(dy, n.dtype) * n, scale.shape), scale.dtype)

    return y, pullback


@defines("RMSNormalization", rule=_rule)
def rms_normalization(
    x: Array, scale: Array, *, outputs: int = 1, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Array:
    """`x / sqrt(mean(x^2) + epsilon) * scale`, the mean over the axes from `axis` on.

    The mean is computed in float32 at least: a `stash_type` of fewer bits than the input has is not followed.
    """
    return op.Mul(cast_to(_wide(x) * _reciprocal(x, axis, epsilon)[0], scale.dtype), scale)
