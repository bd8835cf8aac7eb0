"""Where np.linalg raises LinAlgError for its numbers: a branch, where the user's code has an answer to it.

Elsewhere a factor that there is none of is NaN or infinite, so that the choice costs nothing where nobody makes it.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.array import FUNCTIONS, Array
from primsplit.numpy.axes import array_like
from primsplit.numpy.dense.loop import identity_like

_FAILING: dict[Callable[..., Any], str] = {
    np.linalg.cholesky: "Matrix is not positive definite",
    np.linalg.inv: "Singular matrix",
    np.linalg.solve: "Singular matrix",
}


def _raising(function: Callable[..., Any], told: str) -> Callable[..., Any]:
    """The function, which follows both ways from where the user's code catches its error."""

    @functools.wraps(function)
    def call(a: Any, *args: Any, **options: Any) -> Any:
        found = function(a, *args, **options)
        if not tracing.is_caught(np.linalg.LinAlgError):
            return found
        is_finite = _all_finite(found)
        if not is_finite:
            raise np.linalg.LinAlgError(told)
        # A factor of a harmless matrix in the place of none: of NaN the gradient would be NaN on the other way too.
        matrix = array_like(a)
        return function(FUNCTIONS[np.where](is_finite, matrix, identity_like(matrix.real)), *args, **options)

    return call


def _all_finite(x: Any) -> Array:
    parts = (x.real, x.imag) if x.dtype.kind == "c" else (x,)
    answers: list[Array] = [FUNCTIONS[np.all](np.isfinite(p)) for p in parts]
    return functools.reduce(lambda a, b: a & b, answers)


for _function, _told in _FAILING.items():
    FUNCTIONS[_function] = _raising(FUNCTIONS[_function], _told)
