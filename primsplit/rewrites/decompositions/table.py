"""The table of decompositions: what replaces an operator that the target has no kernel for.

A decomposition takes the operator's inputs positionally (None for one that is absent) and its attributes as keywords,
and returns the output, or a tuple of all of its outputs if there are several. It is written for the dtypes without a
kernel.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from primsplit.ir import Op, dims
from primsplit.ir.runtimes import OLDEST, Runtime, fault
from primsplit.numpy.approximations import error_function, hyperbolic, reductions, trigonometric
from primsplit.ops import op
from primsplit.rewrites.decompositions import (
    activations,
    convolution,
    determinant,
    gates,
    grids,
    integers,
    losses,
    normalization,
    pooling,
    random,
    recurrent,
    regions,
    resize,
    selection,
    spectrum,
    windows,
)
from primsplit.tracing.array import Array
from primsplit.tracing.operators import cast_to
from primsplit.tracing.trees import as_list

Composition = Callable[..., Any]
FAMILIES: list[dict[str, Composition]] = [
    activations.COMPOSITIONS,
    convolution.COMPOSITIONS,
    determinant.COMPOSITIONS,
    error_function.COMPOSITIONS,
    hyperbolic.COMPOSITIONS,
    integers.COMPOSITIONS,
    normalization.COMPOSITIONS,
    pooling.COMPOSITIONS,
    random.COMPOSITIONS,
    recurrent.COMPOSITIONS,
    regions.COMPOSITIONS,
    resize.COMPOSITIONS,
    selection.COMPOSITIONS,
    trigonometric.COMPOSITIONS,
]
COMPOSITIONS: dict[str, Composition] = dict(chain.from_iterable(family.items() for family in FAMILIES))


SPELT: dict[str, Composition] = {
    **recurrent.SPELT, **spectrum.SPELT, "Pad": windows.every_axis_padded,
    **pooling.SPELT, **resize.SPELT, **convolution.SPELT, **selection.SPELT, **losses.SPELT,
}  # fmt: skip
"""Operators that are rewritten, with explicit attributes or other operators, when `is_odd`."""


def is_odd(step: Op, runtime: Runtime = OLDEST) -> bool:
    """Whether the runtime or onnx's checker reads the op otherwise than the standard.

    A loss that is summed here too can be summed in stages. onnx's inference takes `onesided` of STFT for 0 if it is
    absent. onnxruntime counts the indices of MaxUnpool over
    `output_shape`, if there is one, moves a Transpose wrongly past a Pad of some axes, fails on a Unique of rows
    without elements, refuses negative pads of convolutions, and mixes the channels of a dilated Col2Im unless its image
    has two axes. Older ones count padding wrongly in AveragePool; for transforms see `spectrum.py`, for dilated windows
    with SAME padding `spread_windows.py`.
    """
    match step.kind:
        case "STFT":
            is_wrong = runtime.has("stft_of_complex_signal") and spectrum.is_complex(step.inputs[0])
            return is_wrong or "onesided" not in step.attributes
        case "DFT":
            return spectrum.is_odd_transform(step, runtime)
        case "AveragePool":
            return pooling.counts_pads(step.attributes, runtime)
        case "Pad":
            data, axes = step.inputs[0], step.inputs[3] if len(step.inputs) > 3 else None
            return axes is not None and data is not None and data.type.shape is not None
        case "Unique":
            return _may_be_without_rows(step)
        case "Conv" | "ConvTranspose":
            stretched = step.kind == "ConvTranspose" and convolution.is_stretched(step)
            return stretched or convolution.is_cut(step.attributes)
        case "Col2Im":
            dilations = step.attributes.get("dilations", ())
            return len(dilations) != 2 and any(d != 1 for d in dilations)
        case "MaxUnpool":
            return len(step.inputs) > 2 and step.inputs[2] is not None
        case "Resize":
            return resize.is_rounded(step) or resize.is_long(step) or resize.counts_from_back(step)
    return losses.is_reduced(step.kind, step.attributes) or gates.is_odd(step.kind, step.attributes)


def _may_be_without_rows(step: Op) -> bool:
    """Whether an axis of a Unique of rows may have no elements, other than its own."""
    shape = None if step.inputs[0] is None else step.inputs[0].type.shape
    along = step.attributes.get("axis")
    if shape is None or along is None:
        return False
    return not all(dims.above(d, 0) for i, d in enumerate(shape) if i != along % len(shape))


HALVES = frozenset({"float16", "bfloat16"})


@fault(
    "scatter_reduction_of_16_bits",
    kind="refuses",
    operators=("ScatterND", "ScatterElements"),
    says="ScatterND and ScatterElements with a reduction of float16 or bfloat16 are refused when they run.",
)
@fault(
    "float16_dft_of_computed_length",
    kind="wrong",
    operators=("DFT", "STFT"),
    says="A float16 DFT or STFT of a computed length writes beyond the end of a shorter array.",
)
def through_float32(kind: str, results: Sequence[np.dtype[Any]] = ()) -> Composition:
    """Return an operator of bfloat16 or float16 computed in float32, which holds both exactly, and rounded once.

    `results` are the dtypes of its outputs; by default it has one, of the dtype of the inputs.
    """

    def composition(*inputs: Array | None, **attributes: Any) -> Any:
        dtype = next(value.dtype for value in inputs if value is not None and value.dtype.name in HALVES)
        wide = [value if value is None or value.dtype != dtype else op.Cast(value, to=np.float32) for value in inputs]
        dtypes = results or (dtype,)
        made = getattr(op, kind)(*wide, outputs=len(dtypes), **attributes)
        return tuple(cast_to(x, d) for x, d in zip(as_list(made), dtypes, strict=True))

    composition.__name__ = kind
    return composition


# Kernels that exist and refuse some attributes, give a wrong or an inaccurate result, or are many times slower: by
# operator, then dtype. Those of the scatters know no reduction of 16-bit floats; those of the transforms, between casts
# that onnxruntime inserts, write a transform of a computed length over what is shorter.
CORRECTED: dict[tuple[str, str], Composition] = {
    **{(kind, "int64"): made for kind, made in integers.CORRECTED.items()},
    ("Pow", "int32"): integers.power,
    ("ReduceSum", "int32"): integers.reduce_sum,
    **{("BatchNormalization", t): normalization.batch_normalization for t in ("float16", "float32", "float64")},
    **{("Bernoulli", dtype): random.bernoulli for dtype in ("float16", "float32", "float64")},
    **{(kind, dtype): through_float32(kind) for kind in ("ScatterElements", "ScatterND") for dtype in HALVES},
    **{(kind, "float16"): through_float32(kind) for kind in ("DFT", "STFT")},
    **{(kind, "float64"): made for kind, made in recurrent.COMPOSITIONS.items()},
    **{("GroupNormalization", t): normalization.group_normalization for t in (*HALVES, "float32", "float64")},
    ("AffineGrid", "float64"): grids.affine_grid,
    ("LogSoftmax", "float64"): activations.log_softmax,
    ("Shrink", "float64"): activations.shrink,
    ("Sigmoid", "float64"): activations.sigmoid,
    **{(kind, dtype): made for kind, made in reductions.FASTER.items() for dtype in ("float32", "float64")},
}
MENDED: dict[tuple[str, str], str] = {("AffineGrid", "float64"): "float64_affine_grid_in_float32"}
"""The fault for which an operator is in CORRECTED, where some version of onnxruntime does not have it."""
