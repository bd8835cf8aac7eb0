"""np.fft: transforms of real and complex arrays, including sizes known only at run time.

`fourier.algorithms` chooses how a transform of n numbers is computed: in float32 for float32 and float16, else in
float64.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from primsplit import tracing
from primsplit.ir import BFLOAT16, Type
from primsplit.ir.dims import Dim, floor_divide, maximum
from primsplit.ir.errors import DtypeError, ShapeError
from primsplit.numpy.axes import as_size, one_axis, size_as, slab_of
from primsplit.numpy.complex.dispatch import delivered
from primsplit.numpy.complex.operands import literal, operand
from primsplit.numpy.fourier.operator import Parts, filled
from primsplit.numpy.fourier.sums import analysis, backwards, fourier, synthesis
from primsplit.numpy.ufuncs import cast_to
from primsplit.ops import op
from primsplit.tracing.array import Array, implements
from primsplit.tracing.broadcasting import count_up, transpose
from primsplit.tracing.complex_array import OFFERED, ComplexArray

Norm = Literal["backward", "ortho", "forward"] | None
SWAPPED: dict[Any, Norm] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The norm of the transform the other way."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Moved(NamedTuple):
    """The parts of an array with the axis of a transform moved to the end; an imaginary part of None is 0."""

    real: Array
    imag: Array | None
    axis: int

    def back(self, *parts: Array) -> list[Array]:
        """Arrays with their last axis moved to where the axis was."""
        rank = self.real.ndim
        order = [*range(self.axis), rank - 1, *range(self.axis, rank - 1)]
        return [transpose(part, order) for part in parts]


def implemented(function: Any) -> Callable[[_Function], _Function]:
    """Register the traced form of a function of real and complex arrays."""

    def register(traced: _Function) -> _Function:
        OFFERED[function] = traced
        return implements(function)(traced)

    return register


def _moved(a: Any, axis: Any) -> _Moved:
    """Raises DtypeError for what has no parts of float32 or float64, ShapeError for an axis that is not there."""
    given = operand(a)
    place = one_axis(axis, given.ndim)
    order = [*(i for i in range(given.ndim) if i != place), place]
    parts = given.parts if isinstance(given, ComplexArray) else (given, None)
    real, imaginary = (None if p is None else transpose(_computed(p), order) for p in parts)
    if real is None:
        assert imaginary is not None
        real = op.ConstantOfShape(op.Shape(imaginary), value=np.zeros(1, imaginary.dtype), types=[imaginary.type])
    return _Moved(real, imaginary, place)


def _computed(x: Array) -> Array:
    if x.dtype == BFLOAT16:
        raise DtypeError("bfloat16 has no complex form", place=tracing.user_place(), cure="Write x.astype(np.float32).")
    return cast_to(x, np.float32 if x.dtype in {np.dtype(np.float16), np.dtype(np.float32)} else np.float64)


def _count(n: Any, default: Dim) -> Dim:
    """Return how many numbers are transformed. Raises ShapeError for none."""
    found = default if n is None else as_size(n, ValueError("Invalid number of FFT data points specified."))
    if isinstance(found, int) and found < 1:
        raise ShapeError(f"Invalid number of FFT data points ({found}) specified.", place=tracing.user_place())
    return found


def _fitted(x: Array, n: Dim) -> Array:
    """The first n numbers along the last axis, zeros where there are fewer."""
    size = x.shape[-1]
    if isinstance(size, int) and isinstance(n, int):
        return filled(x, n) if n > size else slab_of(x, x.ndim - 1, n)
    return slab_of(filled(x, maximum(n, size)), x.ndim - 1, n)


def _scaled(parts: Sequence[Array], n: Dim, norm: Norm, *, inverse: bool) -> list[Array]:
    """The sums over n, over its root, or as they are. Raises ValueError for a norm that there is not."""
    if norm not in SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    if norm == "ortho":
        divisor = op.Sqrt(size_as(n, parts[0].dtype))
        if isinstance(n, int):
            divisor = literal(np.sqrt(n), parts[0].dtype)
    elif (norm == "forward") is inverse:
        return list(parts)
    else:
        divisor = size_as(n, parts[0].dtype)
    return [op.Div(part, divisor) for part in parts]


def _transformed(a: Any, n: Any, axis: Any, norm: Norm, *, inverse: bool) -> ComplexArray:
    """fft or ifft along one axis."""
    moved = _moved(a, axis)
    count = _count(n, moved.real.shape[-1])
    real = _fitted(moved.real, count)
    if moved.imag is None:
        half = analysis(real)
        found = _mirrored(half[0], half[1], count)
        found = (found[0], op.Neg(found[1])) if inverse else found
    else:
        found = (backwards if inverse else fourier)(real, _fitted(moved.imag, count))
    return ComplexArray(*moved.back(*_scaled(found, count, norm, inverse=inverse)))


def _mirrored(real: Array, imag: Array, n: Dim) -> Parts:
    """The transform of n real numbers from its first half: the others are the conjugates, backwards."""
    rest = floor_divide(n - 1, 2)
    types = [Type(real.dtype, (*real.shape[:-1], rest))]
    back = (op.Slice(part, [rest], [0], [-1], [-1], types=types) for part in (real, imag))
    whole = [Type(real.dtype, (*real.shape[:-1], n))]
    second, negated = back
    return (
        op.Concat(real, second, axis=-1, types=whole),
        op.Concat(imag, op.Neg(negated), axis=-1, types=whole),
    )


@implemented(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The sums of a_j exp(-2 pi i j k / n)."""
    return delivered(_transformed(a, n, axis, norm, inverse=False), out)


@implemented(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The inverse of `fft`."""
    return delivered(_transformed(a, n, axis, norm, inverse=True), out)


@implemented(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The first n // 2 + 1 numbers of the transform of real ones."""
    moved = _moved(a, axis)
    if moved.imag is not None:
        raise DtypeError(
            "np.fft.rfft takes real arrays", place=tracing.user_place(), cure="Write np.fft.fft(z), or z.real."
        )
    count = _count(n, moved.real.shape[-1])
    found = _scaled(analysis(_fitted(moved.real, count)), count, norm, inverse=False)
    return delivered(ComplexArray(*moved.back(*found)), out)


@implemented(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The n real numbers, by default an even number, of whose transform `a` is the first half.

    The imaginary parts of the first number, and for an even n of the last, are not read. Of float16 it is float16.
    """
    moved = _moved(a, axis)
    count = _count(n, 2 * (moved.real.shape[-1] - 1))
    kept = floor_divide(count, 2) + 1
    weight = _weights(count, kept, moved.real.dtype)
    parts = (moved.real, moved.imag if moved.imag is not None else op.Mul(moved.real, 0.0))
    real, imaginary = (op.Mul(_fitted(part, kept), weight) for part in parts)
    found = _scaled([synthesis(real, imaginary, count)], count, norm, inverse=True)
    result = moved.back(*found)[0]
    return delivered(cast_to(result, np.float16) if operand(a).dtype == np.float16 else result, out)


def _weights(n: Dim, kept: Dim, dtype: np.dtype[Any]) -> Array:
    """Return the multiplicity of each number of the half: 1 for the first and the middle of an even n, else 2."""
    if isinstance(n, int):
        numbers = np.arange(n // 2 + 1)
        return literal(np.where((numbers == 0) | (2 * numbers == n), 1, 2), dtype)
    places = count_up(kept)
    alone = op.Or(op.Equal(places, 0), op.Equal(op.Mul(places, 2), size_as(n, np.int64)))
    return op.Where(alone, literal(1, dtype), 2.0)


@implemented(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The transform, which is real, of n numbers of which `a` is the first half, the others being conjugates."""
    given = operand(a)
    return irfft(given.conj() if isinstance(given, ComplexArray) else given, n, axis, SWAPPED.get(norm, norm), out)


@implemented(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Norm = None, out: Any = None) -> Any:
    """The inverse of `hfft`."""
    return delivered(rfft(a, n, axis, SWAPPED.get(norm, norm)).conj(), out)


def _along(a: Array, s: Any, axes: Any, *, halved: bool = False) -> tuple[list[Any], list[int]]:
    """The counts and the axes of a transform over several, as NumPy reads them. Raises ShapeError."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    places = [one_axis(axis, a.ndim) for axis in axes]
    if s is not None and len(s) != len(places):
        raise ShapeError("Shape and axes have different lengths.", place=tracing.user_place())
    if s is None:
        counts: list[Any] = [a.shape[i] for i in places]
        if halved and places:
            counts[-1] = 2 * (a.shape[places[-1]] - 1)
    else:
        counts = [a.shape[i] if isinstance(n, int) and n == -1 else n for n, i in zip(s, places, strict=True)]
    return counts, places


def _over(a: Any, s: Any, axes: Any, norm: Norm, *, inverse: bool) -> Any:
    """fftn or ifftn: one axis after the other, the last first."""
    found = operand(a)
    for n, axis in reversed(list(zip(*_along(found, s, axes), strict=True))):
        found = _transformed(found, n, axis, norm, inverse=inverse)
    return found


@implemented(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Any:
    """The transform over several axes, by default all."""
    return delivered(_over(a, s, axes, norm, inverse=False), out)


@implemented(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Any:
    """The inverse of `fftn`."""
    return delivered(_over(a, s, axes, norm, inverse=True), out)


@implemented(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Any:
    """`rfft` over the last of the axes, `fft` over the others."""
    given = operand(a)
    counts, places = _along(given, s, axes)
    found = rfft(given, counts[-1], places[-1], norm)
    return delivered(_over(found, counts[:-1], places[:-1], norm, inverse=False), out)


@implemented(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Norm = None, out: Any = None) -> Any:
    """The inverse of `rfftn`."""
    given = operand(a)
    counts, places = _along(given, s, axes, halved=True)
    for n, axis in zip(counts[:-1], places[:-1], strict=True):
        given = _transformed(given, n, axis, norm, inverse=True)
    return irfft(given, counts[-1], places[-1], norm, out)


@implemented(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Any:
    """`fftn` over two axes."""
    return fftn(a, s, axes, norm, out)


@implemented(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Any:
    """`ifftn` over two axes."""
    return ifftn(a, s, axes, norm, out)


@implemented(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Any:
    """`rfftn` over two axes."""
    return rfftn(a, s, axes, norm, out)


@implemented(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Norm = None, out: Any = None) -> Any:
    """`irfftn` over two axes."""
    return irfftn(a, s, axes, norm, out)
