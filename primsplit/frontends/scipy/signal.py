"""scipy.signal for traced arrays: convolutions and correlations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import floating, not_empty
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import many_axes, size_as, slab
from primsplit.numpy.complex.operands import holds_complex, operand
from primsplit.numpy.complex.products import bilinear
from primsplit.numpy.convolution import all_sums
from primsplit.ops import op
from primsplit.tracing.array import unsupported
from primsplit.tracing.asarray import array_like, plain_or_traced
from primsplit.tracing.complex_array import refused
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["convolve", "convolve2d", "correlate2d", "fftconvolve", "oaconvolve"]

MOST = 3
"""The most axes that a convolution has, those that ONNX names."""


def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays with as many axes; "same" has the shape of the first.

    Raises ShapeError; a run fails where only it knows that there is nothing to convolve with, or that, with "valid",
    neither array lies in the other. SciPy convolves no floats with "same", but no integers.
    """
    if _is_complex(in1, in2):
        return bilinear(lambda a, v: convolve(a, v, mode, method), in1, in2)
    a, v = _together(in1, in2)
    if method == "fft" and a.dtype.kind == "f":
        return fftconvolve(a, v, mode)
    return _convolved(a if mode == "same" and a.dtype.kind == "f" else not_empty(a), not_empty(v), mode)


def _convolved(a: Any, v: Any, mode: str) -> Any:
    return _cropped(all_sums(a, v) if a.ndim == 1 else _full(a, v), a, v, mode)


def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The convolution of two matrices, of which `boundary` continues the first."""
    if _is_complex(in1, in2):
        _check_fill(boundary, fillvalue)
        return bilinear(lambda a, v: convolve2d(a, v, mode, boundary), in1, in2)
    a, v = _together(in1, in2)
    if a.ndim != 2:
        raise ShapeError("convolve2d takes matrices", place=tracing.user_place())
    is_plain = boundary == "fill" and isinstance(fillvalue, int | float) and fillvalue == 0
    a, v = not_empty(a) if mode == "valid" else a, v if mode == "full" and is_plain else not_empty(v)
    if is_plain:
        return _convolved(a, v, mode)
    is_float = a.dtype.kind == "f"
    pads: Any = [
        (n - 1, n - 1) for n in (d if is_float else literal_size(d, "scipy.signal.convolve2d") for d in v.shape)
    ]
    wide = (
        np.pad(a, pads, constant_values=fillvalue)
        if boundary == "fill"
        else np.pad(a, pads, mode={"wrap": "wrap", "symm": "symmetric"}[boundary])  # type: ignore[call-overload]
    )
    return _cropped(_sums(wide, np.flip(v)), a, v, mode)


def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """The correlation of two matrices; the middle of an even second one is its first, not its second element."""
    if _is_complex(in1, in2):
        _check_fill(boundary, fillvalue)
        return bilinear(lambda a, v: correlate2d(a, v, mode, boundary), in1, _conjugated(in2))
    a, v = _together(in1, in2)
    if mode != "same":
        return convolve2d(a, np.flip(v), mode, boundary, fillvalue)
    full = convolve2d(a, np.flip(not_empty(v)), "full", boundary, fillvalue)
    return full[tuple(slice(m // 2, m // 2 + n) for n, m in zip(a.shape, v.shape, strict=True))]


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution by products of Fourier transforms; a direct one of sizes that only the run knows.

    Nothing of an array without elements; that of several axes has one axis in SciPy, so that such a run fails.
    """
    if _is_complex(in1, in2):
        return bilinear(lambda a, v: fftconvolve(a, v, mode, axes), in1, in2)
    a, v = _together(floating(in1), floating(in2))
    if axes is not None and (chosen := many_axes(axes, a.ndim)) != tuple(range(a.ndim)):
        return _along(not_empty(a), not_empty(v), chosen, mode)
    if any(dims.same(n, 0) for n in (*a.shape, *v.shape)):
        return array_like(np.zeros(0))
    whole = [n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)]
    if not all(isinstance(n, int) for n in whole):
        if a.ndim > 1:
            return _convolved(not_empty(a), not_empty(v), mode)
        some = dims.minimum(a.shape[0], 1) * dims.minimum(v.shape[0], 1)
        missing: Any = (0, dims.maximum(1 - v.shape[0], 0))
        found = _convolved(a, np.pad(v, missing), mode)
        return found[: found.shape[0] * some]
    shape = [2 ** max((n - 1).bit_length(), 1) for n in whole]
    full = _by_transforms(a, v, shape)[tuple(slice(0, n) for n in whole)]
    return _cropped(full, a, v, mode)


oaconvolve = fftconvolve


def _along(a: Any, v: Any, axes: Sequence[int], mode: str) -> Any:
    """The convolution along some axes, of arrays that are broadcast along the others. Raises ShapeError."""
    if not axes:
        raise ValueError("when provided, axes cannot be empty")
    places = sorted(axes)
    whole = [a.shape[p] + v.shape[p] - 1 for p in places]
    first, second = (np.fft.rfftn(array_like(x), whole, places) for x in (a, v))
    full: Any = np.fft.irfftn(first * second, whole, places)
    rest = [p for p in range(a.ndim) if p not in places]
    if mode == "same":
        for place in rest:
            more = full.shape[place] - a.shape[place]
            middle = slab(full, place, dims.floor_divide(more, 2), dims.floor_divide(more, 2) + a.shape[place])
            full = full if dims.same(more, 0) else middle
    moved = [np.moveaxis(x, rest, list(range(len(rest)))) for x in (full, a, v)]
    lead = len(rest)
    found = _cropped(moved[0], moved[1], moved[2], mode, lead)
    return np.moveaxis(found, list(range(lead)), rest)


def _is_complex(*arrays: Any) -> bool:
    return any(map(holds_complex, arrays))


def _conjugated(x: Any) -> Any:
    return np.conj(operand(x)) if holds_complex(x) else _numbers(x)


def _check_fill(boundary: str, fillvalue: Any) -> None:
    """Raise UnsupportedFunction for complex images continued by a number that is not 0."""
    if boundary == "fill" and not (isinstance(fillvalue, int | float) and fillvalue == 0):
        raise refused("a convolution with fillvalue=", "Continue it before: np.pad(z - c, ...) + c.")


def _full(a: Any, v: Any) -> Any:
    """All sums of products of two arrays with up to three axes, by Fourier where only the run knows those of `v`."""
    if not 1 <= a.ndim <= MOST:
        raise unsupported(f"a convolution along {a.ndim} axes")
    if any(dims.same(n, 0) for n in v.shape):
        raise ShapeError("a convolution with nothing", place=tracing.user_place())
    if any(isinstance(n, Size) for n in v.shape):
        if a.dtype.kind != "f":
            raise unsupported("a convolution of integers, the second of sizes that only the run knows")
        return _by_transforms(a, v, [n + m - 1 for n, m in zip(a.shape, v.shape, strict=True)])
    wide = np.pad(a, [(n - 1, n - 1) for n in v.shape])
    return _sums(wide, np.flip(v))


def _by_transforms(a: Any, v: Any, shape: Any) -> Any:
    """The sums of products by the Fourier transforms of this shape."""
    places = range(a.ndim)
    first, second = (np.fft.rfftn(array_like(x), shape, places) for x in (a, v))
    return np.fft.irfftn(first * second, shape, places)


def slid(x: Any, weights: Any) -> Any:
    """The sums of products of the weights with each window of `x`; both have up to three axes."""
    x, weights = array_like(x), array_like(weights)
    return op.Squeeze(op.Conv(op.Unsqueeze(x, [0, 1]), op.Unsqueeze(weights, [0, 1])), [0, 1])


def _sums(x: Any, weights: Any) -> Any:
    """`slid`; integers are multiplied as such, which their result in float64 is not always."""
    if x.dtype.kind == "f":
        return slid(x, weights)
    return np.tensordot(np.lib.stride_tricks.sliding_window_view(array_like(x), weights.shape), weights, weights.ndim)


def _cropped(full: Any, a: Any, v: Any, mode: str, lead: int = 0) -> Any:
    """The part of all sums that the mode keeps; what is convolved has so many axes in front that are not."""
    if mode == "full":
        return full
    if mode not in {"same", "valid"}:
        raise ShapeError(f"mode must be 'full', 'same' or 'valid', not {mode!r}", place=tracing.user_place())
    pairs, whole = list(zip(a.shape[lead:], v.shape[lead:], strict=True)), (slice(None),) * lead
    if mode == "same":
        return full[(*whole, *(slice((m - 1) // 2, (m - 1) // 2 + n) for n, m in pairs))]
    if any(isinstance(d, Size) for pair in pairs for d in pair):
        full = _comparable(full, pairs)
        pairs = [(dims.maximum(n, m), dims.minimum(n, m)) for n, m in pairs]
    elif all(n <= m for n, m in pairs):
        pairs = [(m, n) for n, m in pairs]
    return full[(*whole, *(slice(m - 1, n) for n, m in pairs))]


def _comparable(full: Any, pairs: Sequence[tuple[Dim, Dim]]) -> Any:
    """`full`; a run fails where one array is longer along one axis and the other one along another, as SciPy does."""
    if len(pairs) == 1:
        return full
    longer = op.Concat(*(op.Unsqueeze(size_as(n - m, np.int64), [0]) for n, m in pairs), axis=0)
    ends = (op.ReduceMax(longer, keepdims=1), op.ReduceMin(longer, keepdims=1))
    is_mixed = op.And(op.Greater(ends[0], 0), op.Less(ends[1], 0))
    nothing = op.Gather(np.zeros(1, full.dtype), op.Cast(is_mixed, to=np.int64), axis=0)  # it has no second element
    return op.Add(full, nothing, types=[full.type])


def _numbers(x: Any) -> Any:
    """A traced or NumPy array of integers or floats."""
    given = plain_or_traced(x)
    return given if given.dtype.kind in "iu" else floating(x)


def _together(a: Any, v: Any) -> tuple[Any, Any]:
    a, v = _numbers(a), _numbers(v)
    if a.ndim != v.ndim:
        raise ShapeError("in1 and in2 should have the same number of axes", place=tracing.user_place())
    wide = np.result_type(a.dtype, v.dtype)
    return a.astype(wide), v.astype(wide)
