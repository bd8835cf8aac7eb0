"""scipy.signal's spectra: Fourier transforms of windowed segments of a signal."""

import sys
from typing import Any, NamedTuple

import numpy as np

from primsplit import tracing
from primsplit.frontends.scipy.operands import not_empty, number_of, of_at_least
from primsplit.frontends.scipy.signatures import as_scipys
from primsplit.frontends.scipy.whole_signals import detrend, signal_of
from primsplit.frontends.scipy.windows import has_window, window_of
from primsplit.ir import dims
from primsplit.ir.dims import Dim, Size
from primsplit.ir.errors import ShapeError
from primsplit.numpy.axes import size_as
from primsplit.numpy.frequencies import fftfreq, rfftfreq
from primsplit.numpy.refusing import refusing
from primsplit.numpy.ufuncs import cast_to
from primsplit.tracing.asarray import array_like
from primsplit.tracing.broadcasting import count_up
from primsplit.tracing.complex_array import ComplexArray
from primsplit.tracing.handles.concretization import literal_size

__all__ = ["csd", "istft", "periodogram", "spectrogram", "stft", "welch"]

USUAL = 256
"""The default number of samples of a segment."""
EDGES = {"even": "reflect", "constant": "edge", "zeros": "constant"}
"""The modes of np.pad that extend a signal at its ends, by SciPy's names."""


class Segments(NamedTuple):
    """The arguments of SciPy's functions about segments of a signal."""

    window: Any
    nperseg: int | None = None
    noverlap: int | None = None
    nfft: int | None = None
    detrend: Any = "constant"
    return_onesided: bool = True


class _Cut(NamedTuple):
    """Cuts a signal into segments and transforms each: see scipy.signal.welch."""

    window: Any
    overlap: Dim
    points: Any
    detrend: Any
    is_onesided: bool

    @property
    def length(self) -> Dim:
        size: Dim = self.window.shape[0]
        return size

    @property
    def step(self) -> Dim:
        return self.length - self.overlap

    def frequencies(self, fs: Any) -> Any:
        """The frequency of each number of a spectrum."""
        fs = _positive(fs)
        if isinstance(self.points, int):
            return fs * (np.fft.rfftfreq if self.is_onesided else np.fft.fftfreq)(self.points)
        return fs * (rfftfreq if self.is_onesided else fftfreq)(self.points)

    def scale(self, fs: Any, scaling: str) -> Any:
        """The factor of the squares. Raises ValueError as SciPy does."""
        if scaling == "density":
            return 1.0 / (_positive(fs) * np.sum(self.window**2))
        if scaling == "spectrum":
            return 1.0 / np.sum(self.window) ** 2
        raise ValueError(f"Unknown scaling: {scaling!r}")

    def doubled(self) -> Any:
        """2 for each frequency that stands for its negative, too, else 1."""
        return _doubled(self.points) if self.is_onesided else 1.0


def _positive(fs: Any) -> Any:
    """A sampling frequency; a run fails where it is not above 0."""
    return refusing(fs, np.logical_not(fs > 0), ValueError("Sampling frequency fs must be positive!"))


def _doubled(points: Dim) -> Any:
    """2 for each number of half a spectrum that stands for its negative, too, else 1."""
    half = dims.floor_divide(points, 2) + 1
    twice: Any = 2 * np.arange(half) if isinstance(half, int) else 2 * count_up(half)
    return np.where((twice > 0) & (twice < _number(points)), 2.0, 1.0)


def _number(size: Dim) -> Any:
    return size_as(size, np.int64) if isinstance(size, Size) else size


def _cut(x: Any, segments: Segments) -> _Cut:
    """Raises ShapeError for segments that do not fit.

    Segments of no told length are as long as a shorter signal, which only the run may know.
    """
    size, is_onesided = x.shape[-1], segments.return_onesided and not isinstance(x, ComplexArray)
    is_usual = segments.nperseg is None and segments.noverlap is None and segments.nfft is None
    if is_usual and isinstance(size, Size) and not dims.at_least(size, USUAL) and has_window(segments.window):
        count = dims.minimum(of_at_least(x, 1).shape[-1], USUAL)
        window = window_of(segments.window, count, x.real.dtype)
        return _Cut(window, dims.floor_divide(count, 2), count, segments.detrend, is_onesided)
    window = _window(segments.window, segments.nperseg, size)
    length = len(window)
    overlap = length // 2 if segments.noverlap is None else int(segments.noverlap)
    points = length if segments.nfft is None else int(segments.nfft)
    if (isinstance(size, int) and size < length) or overlap >= length or points < length:
        raise ShapeError(
            f"segments of {length} samples do not fit a signal of {size}, noverlap={overlap} or nfft={points}",
            place=tracing.user_place(),
        )
    return _Cut(window, overlap, points, segments.detrend, is_onesided)


def _window(window: Any, nperseg: int | None, size: Dim) -> Any:
    """The weights of a segment. A window given by name is no longer than a signal of known size.

    A run fails where a signal of a symbolic size is shorter, of which SciPy would take a shorter segment.
    """
    if isinstance(window, str | tuple):
        if nperseg is None:
            nperseg = min(USUAL, size) if isinstance(size, int) else USUAL
        length = min(nperseg, size) if isinstance(size, int) else nperseg
        return sys.modules["scipy.signal"].get_window(window, length)
    weights = np.asarray(window)
    if weights.ndim != 1 or nperseg not in {None, len(weights)}:
        raise ShapeError(
            f"a window of shape {weights.shape} is not one of {nperseg} samples", place=tracing.user_place()
        )
    return weights


def _transformed(x: Any, cut: _Cut) -> Any:
    """The transform of each segment, [..., segments, frequencies]. The run fails for a signal that is too short."""
    segments = dims.maximum(1, dims.floor_divide(x.shape[-1] - cut.overlap, cut.step))
    places = _counted(cut.length) + _number(cut.step) * count_up(segments)[:, None]
    pieces = np.take(x, places, axis=-1)
    if callable(cut.detrend):
        pieces = cut.detrend(pieces)
    elif cut.detrend:
        pieces = detrend(pieces, type=cut.detrend)
    pieces = pieces * cut.window.astype(pieces.real.dtype)
    return (np.fft.rfft if cut.is_onesided else np.fft.fft)(pieces, cut.points)


def _counted(size: Dim) -> Any:
    return np.arange(size) if isinstance(size, int) else count_up(size)


def _power(z: Any) -> Any:
    """The square of the size of complex numbers."""
    return z.real**2 + z.imag**2


@as_scipys("scipy.signal", Segments)
def welch(x: Any, fs: Any, segments: Segments, scaling: str, axis: int, average: str) -> Any:
    """The power at each frequency, averaged over segments; the size of the signal may be a symbol beside `nperseg`."""
    return _averaged_power(x, fs, segments, scaling, axis, average)


def _averaged_power(
    x: Any, fs: Any, segments: Segments, scaling: str = "density", axis: int = -1, average: str = "mean"
) -> Any:
    given = signal_of(x)
    if _is_empty(given):
        return given.real, given.real
    rows = _rows_of(given, axis)
    cut = _cut(rows, segments)
    found = _power(_transformed(rows, cut)) * _weights(cut, fs, scaling, rows)
    return cut.frequencies(fs), np.moveaxis(_averaged(found, average), -1, axis)


def _rows_of(signal: Any, axis: int) -> Any:
    """The signal with its samples last. Of none SciPy's answer has other sizes, so that such a run fails."""
    rows = np.moveaxis(signal, axis, -1)
    return not_empty(rows, range(rows.ndim - 1))


def _is_empty(x: Any) -> bool:
    """Whether it is known that a signal has no samples, of which SciPy gives none."""
    return any(dims.same(n, 0) for n in x.shape)


def _weights(cut: _Cut, fs: Any, scaling: str, x: Any) -> Any:
    return cast_to(array_like(cut.scale(fs, scaling) * cut.doubled()), x.real.dtype)


def _averaged(x: Any, average: str) -> Any:
    """The mean of segments, or the median over that of squares of normal numbers (Allen et al., gr-qc/0509116)."""
    if average == "mean":
        return np.mean(x, axis=-2)
    if average != "median":
        raise ValueError(f"Parameter {average=} must be 'median' or 'mean'!")
    even: Any = 2.0 * cast_to(count_up(dims.floor_divide(x.shape[-2] - 1, 2)) + 1, np.float64)
    bias = cast_to(1.0 + np.sum(1.0 / (even + 1.0) - 1.0 / even), x.real.dtype)
    parts = [np.median(p, axis=-2) / bias for p in ((x.real, x.imag) if isinstance(x, ComplexArray) else (x,))]
    return parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]


@as_scipys("scipy.signal", Segments)
def csd(x: Any, y: Any, fs: Any, segments: Segments, scaling: str, axis: int, average: str) -> Any:
    """The cross spectral density of two signals, the shorter one padded with zeros: complex numbers."""
    return _common_power(x, y, fs, segments, scaling, axis, average)


def _common_power(x: Any, y: Any, fs: Any, segments: Segments, scaling: str, axis: int, average: str) -> Any:
    first, second = (_rows_of(signal_of(v), axis) for v in (x, y))
    if not dims.same(first.shape[-1], second.shape[-1]):
        count = dims.maximum(first.shape[-1], second.shape[-1])
        first, second = (_widened(of_at_least(v, 1), 0, count - v.shape[-1]) for v in (first, second))
    is_complex = isinstance(first, ComplexArray) or isinstance(second, ComplexArray)
    cut = _cut(first + 0j if is_complex else first, segments)
    product = np.conj(_transformed(first, cut)) * _transformed(second, cut)
    found = _averaged(product * _weights(cut, fs, scaling, first), average)
    return cut.frequencies(fs), np.moveaxis(found, -1, axis)


@as_scipys("scipy.signal", Segments)
def periodogram(x: Any, fs: Any, segments: Segments, scaling: str, axis: int) -> Any:
    """The power of a whole signal at each frequency, or of its first `nfft` samples.

    Raises NumberAsked where only the run knows how long it is, and a window is asked for that has no form for that.
    """
    given = signal_of(x)
    if _is_empty(given):
        return given.real, given.real
    signal = _rows_of(given, axis)
    window, count = "boxcar" if segments.window is None else segments.window, segments.nfft
    if isinstance(signal.shape[-1], Size) and has_window(window):
        signal = signal if count is None else of_at_least(signal, 1)[..., :count]
        freqs, found = _of_any_length(signal, fs, segments._replace(window=window), scaling)
        return freqs, np.moveaxis(found, -1, axis)
    length = literal_size(signal.shape[-1], "scipy.signal.periodogram")
    if count is not None and count < length:
        signal, length, count = signal[..., :count], count, None
    whole = segments._replace(window=window, nperseg=length, noverlap=0, nfft=count)
    freqs, found = _averaged_power(signal, fs, whole, scaling)
    return freqs, np.moveaxis(found, -1, axis)


def _of_any_length(x: Any, fs: Any, segments: Segments, scaling: str) -> tuple[Any, Any]:
    """Frequencies and the power of a signal whose length only the run knows."""
    trend, dtype = segments.detrend, x.real.dtype
    if trend:
        x = trend(x) if callable(trend) else detrend(x, type=trend)
    window = window_of(segments.window, x.shape[-1], dtype)
    scales = {"density": 1.0 / (fs * np.sum(window**2)), "spectrum": 1.0 / np.sum(window) ** 2}
    if scaling not in scales:
        raise ValueError(f"Unknown scaling: {scaling!r}")
    x = x if segments.window == "boxcar" else x * window
    length = x.shape[-1] if segments.nfft is None else segments.nfft
    if not segments.return_onesided or isinstance(x, ComplexArray):
        return fs * fftfreq(length), _power(np.fft.fft(x, length)) * scales[scaling]
    weights = cast_to(array_like(_doubled(length)), dtype) * scales[scaling]
    return fs * rfftfreq(length), _power(np.fft.rfft(x, length)) * weights


@as_scipys("scipy.signal", Segments)
def spectrogram(x: Any, fs: Any, segments: Segments, scaling: str, axis: int, mode: str) -> Any:
    """Frequencies, times, and the spectrum of each segment: its power, or what `mode` says of its numbers."""
    rows = _rows_of(signal_of(x), axis)
    cut = _cut(rows, segments)
    cut = cut._replace(overlap=dims.floor_divide(cut.length, 8) if segments.noverlap is None else cut.overlap)
    if mode == "psd":
        found = _power(_transformed(rows, cut)) * _weights(cut, fs, scaling, rows)
    else:
        numbers = _transformed(rows, cut) * cast_to(array_like(cut.scale(fs, scaling) ** 0.5), rows.real.dtype)
        found = _asked(numbers, mode)
    return cut.frequencies(fs), _times(rows.shape[-1], cut, fs), _in_place(found, axis)


def _asked(numbers: Any, mode: str) -> Any:
    """Raises ValueError as SciPy does."""
    if mode == "complex":
        return numbers
    if mode == "magnitude":
        return np.abs(numbers)
    if mode == "angle":
        return np.angle(numbers)
    if mode == "phase":
        return np.unwrap(np.angle(numbers), axis=-1)
    raise ValueError(f"unknown value for mode {mode}")


def _times(size: Dim, cut: _Cut, fs: Any) -> Any:
    """The middle of each segment."""
    segments = dims.floor_divide(size - cut.overlap, cut.step)
    numbers = cast_to(array_like(_counted(segments)), np.float64) if isinstance(segments, Size) else np.arange(segments)
    return (number_of(cut.length) / 2 + number_of(cut.step) * numbers) / fs


def _in_place(found: Any, axis: int) -> Any:
    """[..., segments, frequencies] with the frequencies at the signal's axis, and the segments last."""
    return np.moveaxis(found, -1, axis - 1 if axis < 0 else axis)


@as_scipys("scipy.signal", Segments)
def stft(x: Any, fs: Any, segments: Segments, boundary: str | None, padded: bool, axis: int, scaling: str) -> Any:
    """Frequencies, times, and the transform of each segment of a signal that is continued at its ends."""
    rows = _rows_of(signal_of(x), axis)
    cut = _cut(rows, segments)
    if boundary is not None:
        rows = _continued(_at_least(rows, cut.length), dims.floor_divide(cut.length, 2), boundary)
    if padded:
        missing = dims.remainder(-(rows.shape[-1] - cut.length), cut.step)
        rows = _widened(rows, 0, dims.remainder(missing, cut.length))
    scale = cut.scale(fs, {"psd": "density"}.get(scaling, scaling)) ** 0.5
    found = _transformed(rows, cut) * cast_to(array_like(scale), rows.real.dtype)
    start = 0.0 if boundary is None else number_of(cut.length) / 2 / fs
    return cut.frequencies(fs), _times(rows.shape[-1], cut, fs) - start, _in_place(found, axis)


def _at_least(x: Any, length: Dim) -> Any:
    """The signal, whose run fails where it is shorter: SciPy would take shorter segments."""
    if isinstance(x.shape[-1], int) or isinstance(length, Size):
        return x
    last = np.take(x, [length - 1], axis=-1)
    return np.concatenate([x[..., : length - 1], last, x[..., length:]], axis=-1)


def _continued(x: Any, length: Dim, boundary: str) -> Any:
    if boundary == "odd":
        first, last = 2 * x[..., :1], 2 * x[..., -1:]
        after = x[..., x.shape[-1] - length - 1 : x.shape[-1] - 1][..., ::-1]
        return np.concatenate([first - x[..., 1 : length + 1][..., ::-1], x, last - after], axis=-1)
    if boundary not in EDGES:
        raise ValueError(f"Unknown boundary option {boundary!r}")
    return _widened(x, length, length, EDGES[boundary])


def _widened(x: Any, before: Dim, after: Dim, mode: Any = "constant") -> Any:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], mode=mode)


@as_scipys("scipy.signal", Segments)
def istft(
    Zxx: Any, fs: Any, segments: Segments, input_onesided: bool, boundary: bool, time_axis: int, freq_axis: int,
    scaling: str,
) -> Any:  # fmt: skip
    """Times, and the signal whose segments have these transforms; the number of segments may be a symbol."""
    spectra: Any = array_like(Zxx) + 0j
    rank = spectra.ndim
    time_axis, freq_axis = time_axis % rank, freq_axis % rank
    if time_axis == freq_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    rows = np.moveaxis(spectra, (time_axis, freq_axis), (-2, -1))
    cut = _cut_of_spectra(rows, segments, is_onesided=input_onesided)
    pieces = (np.fft.irfft if input_onesided else np.fft.ifft)(rows, cut.points)[..., : cut.length]
    scale = cut.scale(fs, {"psd": "density"}.get(scaling, scaling)) ** -0.5
    window, weights = (cast_to(array_like(w), spectra.real.dtype) for w in (cut.window, cut.window * scale))
    ends = cut.length // 2 if boundary else 0
    count: Any = cast_to(count_up(rows.shape[-2]), window.dtype)
    norm = _laid_over(count[:, None] * 0.0 + window * window, cut, ends)
    norm = np.where(norm > 1e-10, norm, 1.0)
    parts = [pieces] if input_onesided else [pieces.real, pieces.imag]
    found = [_laid_over(part * weights, cut, ends) / norm for part in parts]
    signal = found[0] if input_onesided else found[0] + 1j * found[1]
    signal = np.moveaxis(signal, -1, time_axis - (freq_axis < time_axis))
    length = signal.shape[0]  # the first axis, whichever it is, as in SciPy
    return (np.arange(length) if isinstance(length, int) else cast_to(count_up(length), np.float64)) / fs, signal


def _cut_of_spectra(rows: Any, segments: Segments, *, is_onesided: bool) -> _Cut:
    """Raises ValueError as SciPy does, for segments that do not fit these transforms."""
    count = literal_size(rows.shape[-1], "scipy.signal.istft")
    usual = 2 * (count - 1) if is_onesided else count
    length = usual if segments.nperseg is None else int(segments.nperseg)
    points = segments.nfft
    if points is None:
        points = length if is_onesided and length == usual + 1 else usual
    overlap = length // 2 if segments.noverlap is None else int(segments.noverlap)
    if length < 1 or points < length or overlap >= length:
        raise ValueError(f"segments of {length} samples do not fit noverlap={overlap} or nfft={points}")
    window = _window(segments.window, length, length)
    return _Cut(window, overlap, points, segments.detrend, is_onesided)


def _laid_over(pieces: Any, cut: _Cut, ends: int) -> Any:
    """The sum of segments, each a step behind the one before, without `ends` samples on both sides.

    Segments are cut into blocks of a step: the blocks of one place, of all segments in a row, are added at once.
    """
    blocks = -(-cut.length // cut.step)
    wide = _widened(pieces, 0, blocks * cut.step - cut.length)
    count = pieces.shape[-2]
    total: Any = 0.0
    for k in range(blocks):
        row = wide[..., k * cut.step : (k + 1) * cut.step].reshape((*pieces.shape[:-2], count * cut.step))
        total = total + _widened(row, k * cut.step, (blocks - 1 - k) * cut.step)
    length = cut.length + (count - 1) * cut.step
    return total[..., ends : length - ends]
