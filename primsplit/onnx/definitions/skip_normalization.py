"""Define normalizations of `com.microsoft` with fused addends, gates and activations."""

from typing import Any

from primsplit.ir.dims import same_shape
from primsplit.ir.errors import ShapeError
from primsplit.onnx.definitions.fused import channels_first, channels_last
from primsplit.onnx.definitions.table import defines
from primsplit.ops import op
from primsplit.ops.inference.table import axis_of
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_strictly, reshape_to

HALVES = frozenset({"float16", "bfloat16"})


def widened(x: Array) -> Array:
    """Return `x`, in float32 if it has fewer bits: the kernels compute in float32 then."""
    return op.Cast(x, to="float32") if x.dtype.name in HALVES else x


def narrowed(x: Array, like: Array) -> Array:
    """Return `x` in the dtype of `like`."""
    return x if x.dtype == like.dtype else op.CastLike(x, like)


def inverse_deviation(x: Array, axes: list[int], epsilon: float) -> Any:
    """Return `1 / sqrt(mean(x^2) + epsilon)` over some axes, which are kept."""
    square = op.ReduceMean(op.Mul(x, x), axes, keepdims=1)
    return op.Reciprocal(op.Sqrt(op.Add(square, epsilon)))


@defines("com.microsoft::SkipLayerNormalization")
def skip_layer_normalization(
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    epsilon: float = 1e-12,
) -> tuple[Any, ...]:
    """Normalize `x + skip + bias` over the last axis: returns the result, mean, inverse deviation, and the sum.

    `skip` may lack the batch. onnxruntime's own kernels leave mean and inverse deviation unwritten.
    """
    total = _sum(x, skip, bias)
    y, mean, inverse = op.LayerNormalization(total, gamma, beta, axis=-1, epsilon=epsilon, outputs=3)
    return y, mean, inverse, total


def _sum(x: Array, skip: Array, bias: Array | None) -> Any:
    """Add in the shape of `x`: a run in which `skip` has more fails; onnxruntime reads only the first."""
    total = op.Add(x, skip)
    if not same_shape(total.shape, x.shape):
        total = reshape_strictly(total, x.shape)
    return total if bias is None else op.Add(total, bias)


@defines("com.microsoft::SkipSimplifiedLayerNormalization")
def skip_simplified_layer_normalization(
    x: Array, skip: Array, gamma: Array, bias: Array | None = None, *, outputs: int = 1, epsilon: float = 1e-12
) -> tuple[Any, ...]:
    """Divide `x + skip + bias` by its root mean square along the last axis, and multiply by `gamma`.

    The results are this, the mean, the inverse of the root mean square, and the sum.
    """
    total = _sum(x, skip, bias)
    wide = widened(total)
    y, inverse = simplified_layer_normalization(total, gamma, epsilon=epsilon)
    return y, op.ReduceMean(wide, [-1], keepdims=1), inverse, total


@defines("com.microsoft::LayerNormalization")
def layer_normalization(
    x: Array,
    scale: Array,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Any:
    """The standard's operator.

    Onnxruntime writes it into models of older opsets too, from which the loader moves it here.
    """
    return op.LayerNormalization(
        x, scale, bias, axis=axis, epsilon=epsilon, stash_type=stash_type, outputs=max(outputs, 2)
    )


@defines("com.microsoft::SimplifiedLayerNormalization")
def simplified_layer_normalization(
    x: Array, scale: Array, *, outputs: int = 1, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Any, ...]:
    """Divide `x` by its root mean square along the axes from `axis` on, times `scale`.

    Also return the inverse of that root.

    onnxruntime registers it in the standard's own domain, from which the loader moves it. The result has the dtype of
    `scale`.
    """
    wide = widened(x)
    first = axis_of(axis, len(x.shape), "SimplifiedLayerNormalization")
    inverse = inverse_deviation(wide, list(range(first, len(x.shape))), epsilon)
    normal = narrowed(op.Mul(wide, inverse), scale)
    return op.Mul(normal, scale), inverse


@defines("com.microsoft::GatedRMSNorm")
def gated_rms_norm(
    x: Array, scale: Array, gate: Array, *, outputs: int = 1, activation: str = "silu", epsilon: float = 1e-5
) -> Any:
    """Normalize groups as long as `scale` by their root mean square, times the activated gate; all in float32."""
    wide, factor, door = widened(x), widened(scale), widened(gate)
    opened = op.Sigmoid(door) if activation == "sigmoid" else op.Mul(door, op.Sigmoid(door))
    (size,) = scale.shape
    groups = reshape_to(wide, (*x.shape[:-1], _groups(x, size), size))
    normal = op.Mul(op.Mul(groups, inverse_deviation(groups, [-1], epsilon)), factor)
    return narrowed(op.Mul(reshape_to(normal, x.shape), opened), x)


def _groups(x: Array, size: Any) -> int:
    """Return how many groups of this size the last axis holds. Raises ShapeError if that is not known."""
    last = x.shape[-1]
    if not (isinstance(last, int) and isinstance(size, int)) or last % max(size, 1):
        raise ShapeError(f"an axis of {last} cannot be read as groups of {size}")
    return last // max(size, 1)


@defines("com.microsoft::GroupNorm")
def group_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    *,
    outputs: int = 1,
    groups: int,
    activation: int = 0,
    channels_last: int = 1,
    epsilon: float = 1e-5,
) -> Any:
    """Normalize groups of channels in the last axis (`channels_last`) or the second, with SiLU if `activation`."""
    y = _group_normalized(x, gamma, beta, groups, epsilon, is_last=bool(channels_last))
    return op.Mul(y, op.Sigmoid(y)) if activation else y


def _group_normalized(x: Array, gamma: Array, beta: Array, groups: int, epsilon: float, *, is_last: bool) -> Any:
    planes = channels_first(x) if is_last else x
    y = op.GroupNormalization(
        planes, narrowed(gamma, x), narrowed(beta, x), num_groups=groups, epsilon=epsilon, stash_type=1
    )
    return channels_last(y) if is_last else y


@defines("com.microsoft::SkipGroupNorm")
def skip_group_norm(
    x: Array,
    gamma: Array,
    beta: Array,
    skip: Array,
    bias: Array | None = None,
    *,
    outputs: int = 1,
    **attributes: Any,
) -> tuple[Any, Any]:
    """Return `group_norm` of `x + skip + bias`, and that sum.

    `skip` may lack the inner axes; channels are the last axis.
    """
    if len(skip.shape) == 2:
        skip = op.Unsqueeze(skip, [1, 2])
    total = _sum(x, skip, bias)
    return group_norm(total, gamma, beta, **attributes), total
