"""Replace ops that onnxruntime's CUDA kernels refuse, or compute in fewer bits than their inputs have.

```
Softmax(x: float64)   ->   e = Exp(Sub(x, ReduceMax(x)));  Div(e, ReduceSum(e))
```

Seen with onnxruntime 1.31.1 on an H100. The CPU runs these as well; some take longer there.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.ir import Op
from primsplit.ir.dims import maximum, product
from primsplit.ir.errors import UnsupportedFunction
from primsplit.numpy.approximations import hyperbolic, trigonometric
from primsplit.ops import op
from primsplit.ops.schema import text
from primsplit.rewrites.decompositions.axes import along, from_front, vector
from primsplit.rewrites.decompositions.correlation import correlate, is_correlation
from primsplit.rewrites.decompositions.resize import resize
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to

Composition = Callable[..., Any]
FOUR_BITS = frozenset({"int4", "uint4"})
FAR = np.iinfo(np.int64).max
"""The end of a slice that goes to the end."""


def for_cuda(step: Op) -> Composition | None:
    """Return the decomposition of an op on CUDA.

    None if its kernel runs, or the CPU's, to which onnxruntime falls back.

    A convolution with a large kernel, as in gradients of weights, takes ten times as long as one matrix product.
    Softmax and layer normalization of float64 are accurate to seven digits; ScatterND combines only float32 and
    float16; batch normalization has no training mode since opset 14; only four bits are dequantized by blocks. Resize
    by a region is wrong in float16, where it is not computed before the run: of an identity matrix along one axis. A
    transposed convolution that is cut unevenly is left to the CPU, and its operands are copied there; so are the
    functions of `ELSEWHERE`, which are computed in float64 for other dtypes too.
    """
    first = next((v.type.key[0] for v in step.inputs if v is not None), "")
    match step.kind:
        case "Conv" if is_correlation(step):
            return correlate
        case "ConvTranspose" if _cuts_unevenly(step):
            return evenly_transposed
        case "ScatterND" if first != "float32" and step.attributes.get("reduction", "none") not in ("none", b"none"):
            return scatter_elements
        case "BatchNormalization" if _tells_the_batch(step):
            return batch_statistics
        case "Resize" if text(step.attributes.get("coordinate_transformation_mode", "")) == "tf_crop_and_resize":
            return resize
        case "DequantizeLinear" if step.attributes.get("block_size", 0) != 0 and first not in FOUR_BITS:
            return dequantize_blocks
    if first == "float64":
        return IN_DOUBLE.get(step.kind)
    return through_double(step.kind) if step.kind in ELSEWHERE and first in ("float16", "float32") else None


def _tells_the_batch(step: Op) -> bool:
    """Whether it is in training mode with a momentum of 0, to which `legalize` reduces every other one."""
    told = step.attributes
    return bool(told.get("training_mode", 0) == 1 and told.get("momentum", 0.9) == 0)


def through_double(kind: str) -> Composition:
    """Return an elementwise function that computes in float64 and rounds once."""

    def composition(x: Array) -> Array:
        return op.Cast(ELSEWHERE[kind](op.Cast(x, to=np.float64)), to=x.dtype)

    composition.__name__ = kind
    return composition


def _cuts_unevenly(step: Op) -> bool:
    """Whether its padding is given, and not the same at both ends."""
    pads = list(step.attributes.get("pads", []))
    return "output_shape" not in step.attributes and pads[: len(pads) // 2] != pads[len(pads) // 2 :]


def evenly_transposed(
    x: Array, w: Array, bias: Array | None = None, *, pads: Sequence[int], **attributes: Any
) -> Array:
    """A transposed convolution that is cut evenly at both ends, and then sliced."""
    rank = len(pads) // 2
    ends = list(zip(pads[:rank], pads[rank:], strict=True))
    whole = op.ConvTranspose(x, w, bias, pads=[min(pair) for pair in ends] * 2, **attributes)
    first = [max(before - after, 0) for before, after in ends]
    last = [min(before - after, 0) or FAR for before, after in ends]
    return op.Slice(whole, vector(first), vector(last), vector(range(2, rank + 2)))


def scatter_elements(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """ScatterND by ScatterElements on the array as a matrix with a row per index.

    Raises UnsupportedFunction if only the run knows how many axes an index selects from.
    """
    depth = indices.shape[-1]
    if not isinstance(depth, int):
        raise UnsupportedFunction(
            f"CUDA's ScatterND cannot combine {data.dtype}, and how many axes an index has is not known",
            cure="Write the file for provider='cpu', or give the indices a last axis of known size.",
        )
    sizes = [maximum(data.shape[k], 1) for k in range(depth)]  # a constant 0 is no divisor, although no index is read
    picked = [op.Mod(op.Gather(indices, np.int64(k), axis=-1), size) for k, size in enumerate(sizes)]
    row = picked[0]
    for index, size in zip(picked[1:], data.shape[1:depth], strict=True):
        row = op.Add(op.Mul(row, size), index)
    rows, each = product(indices.shape[:-1]), product(data.shape[depth:])
    flat = reshape_to(data, (product(data.shape[:depth]), each))
    places = op.Expand(reshape_to(row, (rows, 1)), op.Shape(reshape_to(updates, (rows, each))))
    made = op.ScatterElements(flat, places, reshape_to(updates, (rows, each)), axis=0, reduction=reduction)
    return reshape_to(made, data.shape)


def softmax(x: Array, *, axis: int = -1) -> Array:
    """exp(x) over its sum, after the largest x is subtracted."""
    powers = op.Exp(_below_largest(x, axis))
    return powers / op.ReduceSum(powers, vector([axis]), keepdims=1)


def log_softmax(x: Array, *, axis: int = -1) -> Array:
    """x minus the logarithm of the sum of exp(x), after the largest x is subtracted."""
    below = _below_largest(x, axis)
    return below - op.Log(op.ReduceSum(op.Exp(below), vector([axis]), keepdims=1))


def _below_largest(x: Array, axis: int) -> Array:
    return x - op.ReduceMax(x, vector([axis]), keepdims=1)


def layer_normalization(
    x: Array, scale: Array, bias: Array | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array, Array]:
    """(x - mean) / sqrt(variance + epsilon) over the axes from `axis` on, with the mean and the inverse deviation."""
    axes = vector(range(from_front(axis, x.ndim), x.ndim))
    mean = op.ReduceMean(x, axes, keepdims=1)
    centred = x - mean
    inverse = op.Reciprocal(op.Sqrt(op.ReduceMean(centred * centred, axes, keepdims=1) + epsilon))
    scaled = centred * inverse * scale
    stashed = [op.Cast(value, to=stash_type) for value in (mean, inverse)]
    return scaled if bias is None else scaled + bias, stashed[0], stashed[1]


def cross_entropy(
    scores: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None = None, reduction: str
) -> tuple[Array, Array]:
    """The negative log-likelihood of the logarithms of the softmax, and those logarithms."""
    logarithms = log_softmax(scores, axis=1)
    loss = op.NegativeLogLikelihoodLoss(logarithms, target, weight, reduction=reduction, ignore_index=ignore_index)
    return loss, logarithms


def batch_statistics(
    x: Array, scale: Array, bias: Array, mean: Array, variance: Array, *, epsilon: float = 1e-5, **_: Any
) -> tuple[Array, Array, Array]:
    """Normalize in training mode with a momentum of 0: returns the batch's own mean and variance too.

    The running statistics of other momenta are computed from it (`decompositions/normalization.py`). float16 is summed
    in float32.
    """
    if x.dtype == np.float16:
        wide, factor, offset = (op.Cast(value, to=np.float32) for value in (x, scale, bias))
        y, of_mean, of_variance = batch_statistics(wide, factor, offset, mean, variance, epsilon=epsilon)
        return op.Cast(y, to=np.float16), of_mean, of_variance
    axes, rank = vector([i for i in range(x.ndim) if i != 1]), x.ndim
    of_mean = op.ReduceMean(x, axes, keepdims=0)
    centred = x - along(of_mean, 1, rank)
    of_variance = op.ReduceMean(centred * centred, axes, keepdims=0)
    factor = scale / op.Sqrt(of_variance + epsilon)
    y = centred * along(factor, 1, rank) + along(bias, 1, rank)
    return y, _cast_like(of_mean, mean), _cast_like(of_variance, variance)


def _cast_like(new: Array, old: Array) -> Array:
    return new if new.dtype == old.dtype else op.CastLike(new, old)


def dequantize_blocks(
    x: Array, scale: Array, zero_point: Array | None = None, *, axis: int = 1, block_size: int
) -> Array:
    """(x - zero point) * scale, where a scale and a zero point are for `block_size` elements along the axis."""
    levels = op.Cast(x, to=scale.dtype)
    if zero_point is not None:
        levels = levels - _repeated(op.Cast(zero_point, to=scale.dtype), x, axis, block_size)
    return levels * _repeated(scale, x, axis, block_size)


def _repeated(of_blocks: Array, x: Array, axis: int, block_size: int) -> Array:
    """Repeat each element for its block, the last one cut at the end of x."""
    front = from_front(axis, x.ndim)
    positions = op.Range(np.int64(0), x.shape[front], np.int64(1))
    return op.Gather(of_blocks, op.Div(positions, np.int64(block_size)), axis=front)


IN_DOUBLE: dict[str, Composition] = {
    "Softmax": softmax,
    "LogSoftmax": log_softmax,
    "LayerNormalization": layer_normalization,
    "SoftmaxCrossEntropyLoss": cross_entropy,
}
"""Replacements of float64 operators."""
ELSEWHERE: dict[str, Composition] = {"Tan": trigonometric.tan, **hyperbolic.COMPOSITIONS}
"""Functions that CUDA has no kernels for, as they are computed in float64. Arcs begin with the CPU's own of float32."""
