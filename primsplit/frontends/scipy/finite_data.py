"""Makes a run fail for NaN or infinity in what SciPy's own function checks: `check_finite` of scipy.linalg."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.numpy import failing
from primsplit.tracing.array import Array
from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.complex_array import ComplexArray

ALWAYS = frozenset({
    "fractional_matrix_power", "logm", "polar", "solve_continuous_are", "solve_continuous_lyapunov",
    "solve_discrete_are", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester", "tanhm", "tanm",
})  # fmt: skip
"""Functions of scipy.linalg that check their data, whatever they are asked."""


def with_finite_data(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """Return `traced`, which stands in for SciPy's `original`; a run fails for data that `original` refuses."""
    asked = inspect.signature(original).parameters.get("check_finite")
    if asked is None and original.__name__ not in ALWAYS:
        return traced

    @functools.wraps(traced)
    def call(*args: Any, **options: Any) -> Any:
        given = inspect.signature(original).bind(*args, **options).arguments
        if given.get("check_finite", asked is None or asked.default):
            args, options = tuple(map(_checked, args)), {name: _checked(value) for name, value in options.items()}
        return traced(*args, **options)

    return call


def _checked(value: Any) -> Any:
    """Return an argument, whose numbers are finite in each run that ends."""
    if isinstance(value, tuple):
        return tuple(map(_checked, value))
    if isinstance(value, list):
        value = array_like(value) if holds_traced(value) else np.asarray(value)
    return failing.finite(value) if isinstance(value, Array | ComplexArray | np.ndarray) else value
