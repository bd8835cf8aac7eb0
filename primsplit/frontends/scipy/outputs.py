"""Implements the `output=` of scipy.ndimage's functions: a dtype of the result, or an array to write."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from primsplit.frontends.scipy.operands import double
from primsplit.ir import dims
from primsplit.numpy.ufuncs import cast_to, write_out
from primsplit.tracing.array import Array, unsupported
from primsplit.tracing.asarray import Held, array_like, plain_or_traced

Function = Callable[..., Any]


def with_output(original: Function, function: Function) -> Function:
    """The function, which takes the `output` that SciPy's takes, if that does. Its results are cast as SciPy's are."""
    signature = inspect.signature(original)
    if "output" not in signature.parameters:
        return function

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        bound = signature.bind(*args, **options)
        output = bound.arguments.pop("output", None)
        if output is None:
            return function(*args, **options)
        is_array = isinstance(output, np.ndarray | Array | Held)
        target: Any = plain_or_traced(output) if is_array else None
        dtype = target.dtype if is_array else np.dtype(output)
        bound.arguments["input"] = _widened(original, bound.arguments["input"], dtype)
        found = array_like(function(*bound.args, **bound.kwargs))
        if not is_array:
            return found if _is_binary(original) else cast_to(found, dtype)
        _check_shape(found, target)
        return write_out(cast_to(found, dtype), output, True, "unsafe")

    return call


def _is_binary(original: Function) -> bool:
    """Return whether SciPy's function returns booleans, whatever dtype is requested."""
    return original.__name__.startswith("binary_")


def _widened(original: Function, image: Any, dtype: np.dtype[Any]) -> Any:
    """The image in which nothing is cut before it is written. Raises UnsupportedFunction for other integers."""
    given: Any = plain_or_traced(image)
    if _is_binary(original) or given.dtype == dtype:
        return image
    if dtype.kind != "f":
        raise unsupported(f"scipy.ndimage.{original.__name__} whose output= is {dtype}, of an image of {given.dtype},")
    return double(image)


def _check_shape(found: Array, target: Any) -> None:
    """Raises RuntimeError as SciPy does."""
    if found.ndim != target.ndim or not all(map(dims.could_be, found.shape, target.shape)):
        raise RuntimeError("output shape not correct")
