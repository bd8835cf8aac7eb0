"""Decompose random draws that onnxruntime lacks or computes wrongly."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.helper

from primsplit.ir.runtimes import fault
from primsplit.ops import op
from primsplit.tracing.array import Array


@fault(
    "bernoulli_of_one_minus_p",
    kind="wrong",
    operators=("Bernoulli",),
    says="Bernoulli gives 1 with probability 1 - p.",
)
def bernoulli(p: Array, *, seed: float | None = None, dtype: int | None = None) -> Array:
    """Return 1 with probability p.

    onnxruntime expands the standard's function body, which returns 1 with probability 1 - p.
    """
    draw = op.RandomUniformLike(p, dtype=np.float64, seed=seed)
    result = p.dtype if dtype is None else onnx.helper.tensor_dtype_to_np_dtype(dtype)
    return op.Cast(op.Less(draw, op.Cast(p, to=np.float64)), to=result)


COMPOSITIONS: dict[str, Callable[..., Any]] = {"Bernoulli": bernoulli}
