"""SciPy's four types of discrete cosine and sine transforms, by Fourier transforms of extended input.

The sums are those that `scipy.fft.dct` and `scipy.fft.dst` document. Sine transforms of types 2 to 4 are cosine
transforms of the reversed numbers, or of numbers with alternating signs.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import of_at_least
from primsplit.ir.dims import Dim, is_one
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.numpy.complex.operands import operand
from primsplit.numpy.fourier.operator import filled
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.complex_array import ComplexArray

__all__ = ["dct", "dctn", "dst", "dstn", "idct", "idctn", "idst", "idstn"]

Transform = Callable[[Any], Any]

INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}
"""The type that undoes a type, but for a factor."""
SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _cosine_1(x: Any) -> Any:
    """x[0] + (-1)**k x[n-1] + 2 sum x[j] cos(pi k j / (n - 1)), j between them."""
    return np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)).real


def _cosine_2(x: Any) -> Any:
    """2 sum x[j] cos(pi k (2 j + 1) / (2 n))."""
    n = x.shape[-1]
    found = np.fft.rfft(np.concatenate([x, x[..., ::-1]], axis=-1))[..., :n]
    cosine, sine = _turn(x, _places(n), 2 * n)
    return found.real * cosine + found.imag * sine


def _cosine_3(x: Any) -> Any:
    """x[0] + 2 sum x[j] cos(pi j (2 k + 1) / (2 n)), j from 1."""
    n = x.shape[-1]
    cosine, sine = _turn(x, _places(n), 2 * n)
    return np.fft.irfft(x * cosine + 1j * (x * sine), 2 * n)[..., :n] * size_as(2 * n, x.dtype)


def _cosine_4(x: Any) -> Any:
    """2 sum x[j] cos(pi (2 k + 1) (2 j + 1) / (4 n))."""
    n = x.shape[-1]
    cosine, sine = _turn(x, _places(n), 2 * n)
    found = np.fft.fft(x * cosine - 1j * (x * sine), 2 * n)[..., :n]
    cosine, sine = _turn(x, 2.0 * _places(n) + 1.0, 4 * n)
    return 2.0 * (found.real * cosine + found.imag * sine)


def _sine_1(x: Any) -> Any:
    """2 sum x[j] sin(pi (k + 1) (j + 1) / (n + 1))."""
    n = x.shape[-1]
    none = np.zeros_like(x, shape=(*x.shape[:-1], 1))
    return -np.fft.rfft(np.concatenate([none, x, none, -x[..., ::-1]], axis=-1)).imag[..., 1 : n + 1]


def _alternating(x: Any) -> Any:
    """1, -1, 1, ... along the last axis."""
    return cast_to(1.0 - 2.0 * np.remainder(_places(x.shape[-1]), 2.0), x.dtype)


def _places(n: Dim) -> Any:
    return cast_to(count_up(n), np.float64)


def _turn(x: Any, numerator: Any, denominator: Dim) -> tuple[Any, Any]:
    """Cosine and sine of pi times a fraction, in the dtype of `x`: the angles are of float64."""
    angle = numerator * (math.pi / size_as(denominator, np.dtype(np.float64)))
    return cast_to(np.cos(angle), x.dtype), cast_to(np.sin(angle), x.dtype)


COSINES: dict[int, Transform] = {1: _cosine_1, 2: _cosine_2, 3: _cosine_3, 4: _cosine_4}
SINES: dict[int, Transform] = {
    1: _sine_1,
    2: lambda x: _cosine_2(x * _alternating(x))[..., ::-1],
    3: lambda x: _cosine_3(x[..., ::-1]) * _alternating(x),
    4: lambda x: _cosine_4(x[..., ::-1]) * _alternating(x),
}


def _weighed(x: Any, factor: float, *, first: bool = False, last: bool = False) -> Any:
    """`x` with its first or last number, or both, times a factor: an orthogonal transform weighs them otherwise."""
    n = x.shape[-1]
    places = count_up(n)
    chosen = (places == 0) & first | (places == n - 1) & last
    return x * np.where(chosen, x.dtype.type(factor), x.dtype.type(1.0))


def _orthogonalized(x: Any, kind: int, sines: bool, transform: Transform) -> Any:
    """The transform whose matrix is orthogonal but for one factor."""
    if kind == 2:
        return _weighed(transform(x), math.sqrt(0.5), first=not sines, last=sines)
    if kind == 3:
        return transform(_weighed(x, math.sqrt(2.0), first=not sines, last=sines))
    if kind == 4 or sines:
        return transform(x)
    return _weighed(
        transform(_weighed(x, math.sqrt(2.0), first=True, last=True)), math.sqrt(0.5), first=True, last=True
    )


def _transformed(
    x: Any, kind: int, n: Any, axis: int, norm: Any, orthogonalize: bool | None, *, sines: bool, inverse: bool
) -> Any:
    """One transform along an axis; of a complex array of both parts. Raises ShapeError for what SciPy refuses."""
    given = operand(x)
    if isinstance(given, ComplexArray):
        options = {"sines": sines, "inverse": inverse}
        real, imag = (_transformed(p, kind, n, axis, norm, orthogonalize, **options) for p in given.parts)
        return real + 1j * imag
    norm = "backward" if norm is None else norm
    if kind not in INVERSE or norm not in SWAPPED:
        raise ShapeError(f"there is no transform of type {kind} with norm {norm!r}", place=tracing.user_place())
    if inverse:
        kind, norm = INVERSE[kind], SWAPPED[norm]
    is_single = given.dtype == np.float32
    wide: Any = cast_to(given, np.float32 if is_single else np.float64)
    row = np.moveaxis(wide, axis, -1)
    row = row if n is None else filled(row[..., :n], n)
    if kind == 1 and not sines and is_one(row.shape[-1]):
        raise ShapeError("a cosine transform of type 1 takes two numbers at least", place=tracing.user_place())
    row = of_at_least(row, 2 if kind == 1 and not sines else 1)
    transform = (SINES if sines else COSINES)[kind]
    is_orthogonal = norm == "ortho" if orthogonalize is None else orthogonalize
    found = _orthogonalized(row, kind, sines, transform) if is_orthogonal else transform(row)
    return np.moveaxis(_normalized(found, kind, norm, sines=sines), -1, axis)


def _normalized(found: Any, kind: int, norm: str, *, sines: bool) -> Any:
    if norm == "backward":
        return found
    n = found.shape[-1]
    count = size_as(2 * n if kind > 1 else 2 * (n + 1) if sines else 2 * (n - 1), found.dtype)
    return found / (np.sqrt(count) if norm == "ortho" else count)


def _single(*, sines: bool, inverse: bool) -> Callable[..., Any]:
    def transform(
        x: Any,
        type: int = 2,
        n: Any = None,
        axis: int = -1,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        orthogonalize: bool | None = None,
    ) -> Any:
        return _transformed(x, type, n, axis, norm, orthogonalize, sines=sines, inverse=inverse)

    return transform


def _several(*, sines: bool, inverse: bool) -> Callable[..., Any]:
    def transform(
        x: Any,
        type: int = 2,
        s: Any = None,
        axes: Any = None,
        norm: Any = None,
        overwrite_x: bool = False,
        workers: Any = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Any:
        found = x
        for axis, n in _axes(operand(x).ndim, s, axes):
            found = _transformed(found, type, n, axis, norm, orthogonalize, sines=sines, inverse=inverse)
        return found

    return transform


def _axes(rank: int, s: Any, axes: Any) -> list[tuple[int, Any]]:
    """The axes of a transform over several, and how many numbers of each are transformed."""
    counts: Sequence[Any] | None = None if s is None else list(s) if isinstance(s, Sequence | np.ndarray) else [s]
    if axes is None:
        places = list(range(rank - (rank if counts is None else len(counts)), rank))
    else:
        places = [axes] if isinstance(axes, int) else list(axes)
    return list(zip(places, counts or [None] * len(places), strict=True))


dct, idct = _single(sines=False, inverse=False), _single(sines=False, inverse=True)
dst, idst = _single(sines=True, inverse=False), _single(sines=True, inverse=True)
dctn, idctn = _several(sines=False, inverse=False), _several(sines=False, inverse=True)
dstn, idstn = _several(sines=True, inverse=False), _several(sines=True, inverse=True)
