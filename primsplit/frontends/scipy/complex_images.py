"""scipy.ndimage's functions that are linear in the image, for complex images: applied to both parts."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from primsplit.numpy.complex.linear import zipped
from primsplit.numpy.complex.operands import holds_complex
from primsplit.numpy.complex.parted import part_of
from primsplit.tracing.complex_array import refused

Function = Callable[..., Any]

LINEAR = frozenset({
    "affine_transform", "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_laplace", "laplace", "map_coordinates", "prewitt", "rotate", "shift", "sobel", "spline_filter",
    "spline_filter1d", "uniform_filter", "uniform_filter1d", "zoom",
})  # fmt: skip
"""The functions that are linear in `input` and `cval` together."""


def by_parts(original: Function, function: Function) -> Function:
    """The function, which takes complex images too if it is linear.

    Raises UnsupportedFunction for `output`, and where something else is complex.
    """
    if original.__name__ not in LINEAR:
        return function
    signature = inspect.signature(original)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        told = signature.bind(*args, **options)
        given = told.arguments
        own = {name: given[name] for name in ("input", "cval") if name in given}
        if not any(map(holds_complex, own.values())):
            return function(*args, **options)
        rest = [value for name, value in given.items() if name not in own]
        if "output" in given or any(map(holds_complex, rest)):
            raise refused(f"scipy.ndimage.{original.__name__} with output=, or another argument that is complex,")
        found = []
        for name in ("real", "imag"):
            given.update({n: part_of(value, name) for n, value in own.items()})
            found.append(function(*told.args, **told.kwargs))
        return zipped(*found)

    return call
