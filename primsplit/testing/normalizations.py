"""ONNX's normalizations as NumPy functions, because onnx.reference has some of them wrong, or in float32 only.

They are the functions that `primsplit audit` writes for these operators, but for MeanVarianceNormalization: the
standard's difference of means cancels.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit.audit.helpers.normalization import group_norm, local_response, lp_norm
from primsplit.ir import AnyArray


def _instance(x: AnyArray, scale: AnyArray, bias: AnyArray, *, epsilon: float = 1e-5) -> AnyArray:
    return np.asarray(group_norm(x, scale, bias, x.shape[1], epsilon), x.dtype)


def _group(
    x: AnyArray, scale: AnyArray, bias: AnyArray, *, num_groups: int, epsilon: float = 1e-5, stash_type: int = 1
) -> AnyArray:
    return np.asarray(group_norm(x, scale, bias, num_groups, epsilon), x.dtype)


def _mean_variance(x: AnyArray, *, axes: Sequence[int] = (0, 2, 3)) -> AnyArray:
    return np.asarray((x - x.mean(tuple(axes), keepdims=True)) / (x.std(tuple(axes), keepdims=True) + 1e-9), x.dtype)


NORMALIZATIONS: dict[str, Callable[..., Any]] = {
    "GroupNormalization": _group,
    "InstanceNormalization": _instance,
    "LRN": local_response,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": _mean_variance,
}
