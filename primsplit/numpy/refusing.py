"""Makes a run fail for numbers for which NumPy or SciPy raises an error."""

from typing import Any

import numpy as np

from primsplit.tracing.asarray import array_like, holds_traced
from primsplit.tracing.branching.raising import checked
from primsplit.tracing.complex_array import ComplexArray


def refusing(x: Any, wrong: Any, error: Exception) -> Any:
    """Return `x`; a run in which an element of `wrong` is True fails with this error, as in NumPy or SciPy.

    It is raised at once if the elements are known.
    """
    if not holds_traced(wrong):
        if np.any(wrong):
            raise error
        return x
    if isinstance(x, ComplexArray):
        return ComplexArray(checked(x.real, wrong, error), x.imag)
    return checked(array_like(x), wrong, error)
