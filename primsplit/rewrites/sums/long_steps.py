"""Add up many numbers of 32 bits in stages in pools, and in convolutions by long kernels too.

    y = GlobalAveragePool(x[1,1,1000,1000])   ->   y = ReduceMean(x, [2, 3], keepdims=1), in two stages
    y = AveragePool(x, kernel_shape=[k, m])   ->   y = AveragePool(AveragePool(x, [k, 1]), [1, m])
    y = Conv(x[1,1,1002], w[1,1,1000])        ->   y = Conv(x, [w, 0, 0, 0])[:, :1]

onnxruntime adds up a convolution by one kernel term by term, as it does a product with a vector; one by several kernels
it adds up in blocks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from primsplit.ir import Op, Value, dims
from primsplit.ir.dims import Dim
from primsplit.ops import op
from primsplit.rewrites.decompositions.axes import along
from primsplit.tracing.array import Array
from primsplit.tracing.broadcasting import reshape_to

FEW = 3
"""Up to so many kernels are added up term by term where the result is one number a kernel."""
REDUCED = {1: "ReduceL1", 2: "ReduceL2"}


@dataclass(frozen=True, slots=True)
class LongStep:
    """An operator that adds up so many numbers for each of its result; `in_parts` adds them up in another order."""

    terms: Dim
    in_parts: Callable[[], Array]


def mean_over_images(step: Op) -> LongStep | None:
    """A mean over images of sizes that the run has, axis by axis: a short program. None for others."""
    shape = _there(step.inputs[0]).type.shape or ()
    count = dims.product(shape[2:])
    if step.kind != "GlobalAveragePool" or len(shape) < 4 or isinstance(count, int):
        return None

    def in_parts() -> Array:
        found = Array(_there(step.inputs[0]))
        for axis in range(len(shape) - 1, 1, -1):
            found = op.ReduceMean(found, [axis], keepdims=1)
        return found

    return LongStep(count, in_parts)


def average_pool(step: Op) -> LongStep | None:
    """A pool over windows of several axes goes axis by axis; None for one axis."""
    kernel = step.attributes["kernel_shape"]
    if sum(size > 1 for size in kernel) < 2:
        return None
    return LongStep(math.prod(kernel), lambda: _axis_by_axis(step))


def _axis_by_axis(step: Op) -> Array:
    """Return a pool along one axis after the other: their counts of numbers, too, are the factors of the whole."""
    (x, *_), kernel = step.inputs, step.attributes["kernel_shape"]
    found = Array(_there(x))
    for place in range(len(kernel)):
        told = {name: _alone(name, value, place) for name, value in step.attributes.items()}
        found = getattr(op, step.kind)(found, **told)
    return found


NEUTRAL = {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 0}


def _alone(name: str, value: Any, place: int) -> Any:
    """Return an attribute of a pool for one axis: the other axes are left as they are."""
    if name not in NEUTRAL:
        return value
    count = len(value) // 2 if name == "pads" else len(value)
    return [one if i % count == place else NEUTRAL[name] for i, one in enumerate(value)]


def convolution(step: Op) -> LongStep | None:
    """A convolution by up to three long kernels a group; kernels of zeros make four of them."""
    kernels = _there(step.inputs[1]).type
    if kernels.dtype != np.float32 or kernels.shape is None or not isinstance(kernels.shape[0], int):
        return None
    count = kernels.shape[0] // step.attributes.get("group", 1)
    if not 0 < count <= FEW:
        return None
    return LongStep(dims.product(kernels.shape[1:]), lambda: _among_zeros(step, count))


def _among_zeros(step: Op, count: int) -> Array:
    """Return the convolution by these kernels of each group and such of zeros, without the results of these."""
    group = step.attributes.get("group", 1)
    x, kernels = Array(_there(step.inputs[0])), Array(_there(step.inputs[1]))
    inner = kernels.shape[1:]
    apart = reshape_to(kernels, (group, count, *inner))
    more = op.Pad(apart, [0] * (apart.ndim + 1) + [FEW + 1 - count] + [0] * (apart.ndim - 2))
    wide = op.Conv(x, reshape_to(more, (group * (FEW + 1), *inner)), **step.attributes)
    by_group = reshape_to(wide, (wide.shape[0], group, FEW + 1, *wide.shape[2:]))
    shape = step.outputs[0].type.shape or ()
    found = reshape_to(op.Slice(by_group, [0], [count], [2]), shape)
    bias = step.inputs[2] if len(step.inputs) > 2 else None
    return found if bias is None else op.Add(found, along(Array(bias), 1, len(shape)))


def _norm_over_images(step: Op) -> str | None:
    """Return the reduction that a norm over images of literal sizes is."""
    shape = _there(step.inputs[0]).type.shape
    literal = shape is not None and all(isinstance(size, int) for size in shape[2:])
    return REDUCED.get(step.attributes.get("p", 2)) if literal else None


def _there(value: Value | None) -> Value:
    assert value is not None
    return value


OVER_IMAGES: dict[str, Callable[[Op], str | None]] = {
    "GlobalAveragePool": lambda _: "ReduceMean",
    "GlobalLpPool": _norm_over_images,
}
"""The reduction of the axes from 2 on that an operator is; None if it is none. No trait: the plan of this rewrite."""
LONG_STEPS: dict[str, Callable[[Op], LongStep | None]] = {
    "AveragePool": average_pool, "LpPool": average_pool, "Conv": convolution,
}  # fmt: skip
