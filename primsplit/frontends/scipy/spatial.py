"""scipy.spatial's distances of traced points, and the comparison of two shapes (procrustes)."""

from typing import Any

import numpy as np

from primsplit.frontends.scipy.factorizations import unitary_factor
from primsplit.frontends.scipy.operands import double, of_at_least, of_length
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.numpy import failing
from primsplit.numpy.refusing import refusing
from primsplit.tracing.asarray import array_like

__all__ = ["distance_matrix", "minkowski_distance", "procrustes"]


@as_scipys("scipy.spatial")
def minkowski_distance(x: Any, y: Any, p: Any) -> Any:
    """The p-norm of the differences along the last axis; its gradient is 0 where there are none."""
    return np.linalg.norm(array_like(double(x)) - double(y), ord=p, axis=-1)


@as_scipys("scipy.spatial")
def distance_matrix(x: Any, y: Any, p: Any, threshold: Any) -> Any:
    """The distances of each point of `x` from each of `y`; the threshold of SciPy's memory means nothing here."""
    first, second = array_like(double(x)), array_like(double(y))
    second = of_length(second, first.shape[1])
    return np.linalg.norm(first[:, None, :] - second[None, :, :], ord=p, axis=-1)


@as_scipys("scipy.spatial")
def procrustes(data1: Any, data2: Any) -> tuple[Any, Any, Any]:
    """Two shapes about 0 of norm 1, the second turned and scaled to the first, and the squares between them."""
    one, other = of_at_least(of_at_least(array_like(double(data1)), 2, 0), 1), array_like(double(data2))
    for axis, size in enumerate(one.shape):
        other = of_length(other, size, axis)
    first, second = (v - np.mean(v, axis=0) for v in map(failing.finite, (one, other)))
    alone = ValueError("Input matrices must contain >1 unique points")
    first, second = (
        v / refusing(size, size == 0, alone) for v, size in ((v, np.linalg.norm(v)) for v in (first, second))
    )
    product = second.T @ first
    turn = unitary_factor(product)
    moved = second @ turn * np.sum(turn * product)
    return first, moved, np.sum((first - moved) ** 2)
