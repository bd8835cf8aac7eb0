"""scipy.signal's spectra: Fourier transforms of windowed segments of a signal."""

import sys
from typing import Any, NamedTuple

import numpy as np

from primsplit import dims, tracing
from primsplit.array import unsupported
from primsplit.asked import literal_size
from primsplit.broadcasting import count_up
from primsplit.dims import Dim
from primsplit.errors import ShapeError
from primsplit.lifting import array_like
from primsplit.numpy.complex.handle import ComplexArray
from primsplit.numpy.ufuncs import cast_to
from primsplit.scipy.whole_signals import detrend, signal_of

__all__ = ["coherence", "csd", "periodogram", "spectrogram", "stft", "welch"]

USUAL = 256
"""How many samples a segment has where nothing says it."""
HANN = "hann_periodic"
TUKEY = ("tukey_periodic", 0.25)
EDGES = {"even": "reflect", "constant": "edge", "zeros": "constant"}
"""How np.pad continues a signal at its ends."""


class _Cut(NamedTuple):
    """How a signal is cut into segments, and what is made of each: see scipy.signal.welch."""

    window: Any
    overlap: int
    points: int
    detrend: Any
    is_onesided: bool

    @property
    def length(self) -> int:
        return len(self.window)

    @property
    def step(self) -> int:
        return self.length - self.overlap

    def frequencies(self, fs: Any) -> Any:
        """The frequency of each number of a spectrum."""
        return fs * (np.fft.rfftfreq if self.is_onesided else np.fft.fftfreq)(self.points)

    def scale(self, fs: Any, scaling: str) -> Any:
        """What squares are multiplied by. Raises ValueError as SciPy does."""
        if scaling == "density":
            return 1.0 / (fs * np.sum(self.window**2))
        if scaling == "spectrum":
            return 1.0 / np.sum(self.window) ** 2
        raise ValueError(f"Unknown scaling: {scaling!r}")

    def doubled(self) -> Any:
        """2 for each frequency that stands for its negative, too, else 1."""
        if not self.is_onesided:
            return 1.0
        is_paired = np.arange(self.points // 2 + 1) * 2 % self.points > 0
        return np.where(is_paired, 2.0, 1.0)


def _cut(
    x: Any, *, window: Any, nperseg: int | None, noverlap: int | None, nfft: int | None, detrend: Any, onesided: bool
) -> _Cut:
    """Raises ShapeError for segments that do not fit, NumberAsked where only the run knows their length."""
    size = x.shape[-1]
    window = _window(window, nperseg, size)
    length = len(window)
    overlap = length // 2 if noverlap is None else int(noverlap)
    points = length if nfft is None else int(nfft)
    if (isinstance(size, int) and size < length) or overlap >= length or points < length:
        raise ShapeError(
            f"segments of {length} samples do not fit a signal of {size}, noverlap={overlap} or nfft={points}",
            place=tracing.user_place(),
        )
    return _Cut(window, overlap, points, detrend, onesided and not isinstance(x, ComplexArray))


def _window(window: Any, nperseg: int | None, size: Dim) -> Any:
    """The weights of a segment. One that is told by its name is no longer than a signal of known size."""
    if isinstance(window, str | tuple):
        if nperseg is None:
            nperseg = min(USUAL, literal_size(size, "scipy.signal with segments of no given length"))
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
    places = np.arange(cut.length) + cut.step * count_up(segments)[:, None]
    pieces = np.take(x, places, axis=-1)
    if callable(cut.detrend):
        pieces = cut.detrend(pieces)
    elif cut.detrend:
        pieces = detrend(pieces, type=cut.detrend)
    pieces = pieces * cut.window.astype(pieces.real.dtype)
    return (np.fft.rfft if cut.is_onesided else np.fft.fft)(pieces, cut.points)


def _power(z: Any) -> Any:
    """The square of the size of complex numbers."""
    return z.real**2 + z.imag**2


def welch(
    x: Any,
    fs: Any = 1.0,
    window: Any = HANN,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """The power at each frequency, averaged over segments; the size of the signal may be a symbol beside `nperseg`."""
    rows = np.moveaxis(signal_of(x), axis, -1)
    cut = _cut(
        rows, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend, onesided=return_onesided
    )
    found = _power(_transformed(rows, cut)) * _weights(cut, fs, scaling, rows)
    return cut.frequencies(fs), np.moveaxis(_averaged(found, average), -1, axis)


def _weights(cut: _Cut, fs: Any, scaling: str, x: Any) -> Any:
    return cast_to(array_like(cut.scale(fs, scaling) * cut.doubled()), x.real.dtype)


def _averaged(x: Any, average: str) -> Any:
    """The mean of segments, or the median over that of squares of normal numbers (Allen et al., gr-qc/0509116)."""
    if average == "mean":
        return np.mean(x, axis=-2)
    if average != "median":
        raise ValueError(f"Parameter {average=} must be 'median' or 'mean'!")
    even = 2.0 * np.arange(1, (literal_size(x.shape[-2], "average='median'") - 1) // 2 + 1)
    bias = float(1.0 + np.sum(1.0 / (even + 1.0) - 1.0 / even))
    parts = [np.median(p, axis=-2) / bias for p in ((x.real, x.imag) if isinstance(x, ComplexArray) else (x,))]
    return parts[0] + 1j * parts[1] if len(parts) > 1 else parts[0]


def csd(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = HANN,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """What two signals of one length have in common at each frequency, complex numbers."""
    first, second = (np.moveaxis(signal_of(v), axis, -1) for v in (x, y))
    if not dims.same(first.shape[-1], second.shape[-1]):
        raise unsupported("scipy.signal.csd of signals of two lengths")
    is_complex = isinstance(first, ComplexArray) or isinstance(second, ComplexArray)
    cut = _cut(
        first + 0j if is_complex else first,
        window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend, onesided=return_onesided,
    )  # fmt: skip
    product = np.conj(_transformed(first, cut)) * _transformed(second, cut)
    found = _averaged(product * _weights(cut, fs, scaling, first), average)
    return cut.frequencies(fs), np.moveaxis(found, -1, axis)


def coherence(
    x: Any,
    y: Any,
    fs: Any = 1.0,
    window: Any = HANN,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    axis: int = -1,
) -> Any:
    """How much of the power of two signals they have in common at each frequency."""
    options: dict[str, Any] = {
        "fs": fs, "window": window, "nperseg": nperseg, "noverlap": noverlap, "nfft": nfft, "detrend": detrend,
        "axis": axis,
    }  # fmt: skip
    freqs, common = csd(x, y, **options)
    return freqs, _power(common) / welch(x, **options)[1] / welch(y, **options)[1]


def periodogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = "boxcar",
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
) -> Any:
    """The power of a whole signal at each frequency, or of its first `nfft` samples."""
    signal = np.moveaxis(signal_of(x), axis, -1)
    length = literal_size(signal.shape[-1], "scipy.signal.periodogram")
    if nfft is not None and nfft < length:
        signal, length, nfft = signal[..., :nfft], nfft, None
    freqs, found = welch(
        signal, fs, "boxcar" if window is None else window, length, 0, nfft, detrend, return_onesided, scaling
    )
    return freqs, np.moveaxis(found, -1, axis)


def spectrogram(
    x: Any,
    fs: Any = 1.0,
    window: Any = TUKEY,
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    mode: str = "psd",
) -> Any:
    """Frequencies, times, and the spectrum of each segment: its power, or what `mode` says of its numbers."""
    rows = np.moveaxis(signal_of(x), axis, -1)
    options: dict[str, Any] = {"window": window, "nfft": nfft, "detrend": detrend, "onesided": return_onesided}
    cut = _cut(rows, nperseg=nperseg, noverlap=noverlap, **options)
    cut = cut._replace(overlap=cut.length // 8 if noverlap is None else cut.overlap)
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
    numbers = np.arange(segments) if isinstance(segments, int) else cast_to(count_up(segments), np.float64)
    return (cut.length / 2 + cut.step * numbers) / fs


def _in_place(found: Any, axis: int) -> Any:
    """[..., segments, frequencies] with the frequencies at the signal's axis, and the segments last."""
    return np.moveaxis(found, -1, axis - 1 if axis < 0 else axis)


def stft(
    x: Any,
    fs: Any = 1.0,
    window: Any = HANN,
    nperseg: int | None = USUAL,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Any = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
    scaling: str = "spectrum",
) -> Any:
    """Frequencies, times, and the transform of each segment of a signal that is continued at its ends."""
    rows = np.moveaxis(signal_of(x), axis, -1)
    cut = _cut(
        rows, window=window, nperseg=nperseg, noverlap=noverlap, nfft=nfft, detrend=detrend, onesided=return_onesided
    )
    if boundary is not None:
        rows = _continued(_at_least(rows, cut.length), cut.length // 2, boundary)
    if padded:
        missing = dims.remainder(-(rows.shape[-1] - cut.length), cut.step)
        rows = _widened(rows, 0, dims.remainder(missing, cut.length))
    scale = cut.scale(fs, {"psd": "density"}.get(scaling, scaling)) ** 0.5
    found = _transformed(rows, cut) * cast_to(array_like(scale), rows.real.dtype)
    start = 0.0 if boundary is None else cut.length / 2 / fs
    return cut.frequencies(fs), _times(rows.shape[-1], cut, fs) - start, _in_place(found, axis)


def _at_least(x: Any, length: int) -> Any:
    """The signal, whose run fails where it is shorter: SciPy would take shorter segments."""
    if isinstance(x.shape[-1], int):
        return x
    last = np.take(x, [length - 1], axis=-1)
    return np.concatenate([x[..., : length - 1], last, x[..., length:]], axis=-1)


def _continued(x: Any, length: int, boundary: str) -> Any:
    if boundary == "odd":
        first, last = 2 * x[..., :1], 2 * x[..., -1:]
        after = x[..., x.shape[-1] - length - 1 : x.shape[-1] - 1][..., ::-1]
        return np.concatenate([first - x[..., 1 : length + 1][..., ::-1], x, last - after], axis=-1)
    if boundary not in EDGES:
        raise ValueError(f"Unknown boundary option {boundary!r}")
    return _widened(x, length, length, EDGES[boundary])


def _widened(x: Any, before: Dim, after: Dim, mode: Any = "constant") -> Any:
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], mode=mode)
