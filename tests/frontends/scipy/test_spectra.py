"""scipy.signal's spectra of segments: SciPy's values on traced arrays, and gradients."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError
from primsplit.testing import check_grads
from tests.frontends.scipy.signals import agree, check_parts, parts

random = np.random.default_rng(0)
X, Y, ROWS = random.standard_normal(40), random.standard_normal(40), random.standard_normal((20, 3))
CAPS = {"average": "median", "detrend": "linear", "scaling": "spectrum"}

FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "welch": lambda x, y, m: scipys.welch(x, 10.0, nperseg=16),
    "welch of medians of lines": lambda x, y, m: scipys.welch(x, nperseg=8, **CAPS),
    "welch of rows": lambda x, y, m: scipys.welch(m, nperseg=9, axis=0, nfft=11, noverlap=3, window=np.hamming(9)),
    "welch of two sides": lambda x, y, m: scipys.welch(m, nperseg=8, axis=0, return_onesided=False, detrend=False),
    "welch of complex signals": lambda x, y, m: scipys.welch(x + 1j * y, nperseg=16),
    "welch with a trend of one's own": lambda x, y, m: scipys.welch(x, nperseg=16, detrend=lambda d: d - d[..., :1]),
    "csd": lambda x, y, m: scipys.csd(x, y, 2.0, nperseg=16),
    "csd of medians": lambda x, y, m: scipys.csd(x, y, 2.0, nperseg=8, average="median"),
    "csd of complex signals": lambda x, y, m: scipys.csd(x + 1j * y, 1j * y, 2.0, nperseg=16),
    "coherence": lambda x, y, m: scipys.coherence(x, y, nperseg=8),
    "periodogram": lambda x, y, m: scipys.periodogram(x, fs=3.0),
    "periodogram of rows": lambda x, y, m: scipys.periodogram(m, window="hann", nfft=32, axis=0, scaling="spectrum"),
    "periodogram of a part": lambda x, y, m: scipys.periodogram(x, nfft=15),
    "spectrogram": lambda x, y, m: scipys.spectrogram(x, 2.0, nperseg=16),
    "spectrogram of sizes": lambda x, y, m: scipys.spectrogram(
        m, nperseg=5, axis=0, mode="magnitude", window="hamming"
    ),
    "spectrogram of angles": lambda x, y, m: scipys.spectrogram(x, nperseg=7, mode="angle", detrend=False),
    "spectrogram of phases": lambda x, y, m: scipys.spectrogram(x, nperseg=7, mode="phase", detrend=False),
    "spectrogram of numbers": lambda x, y, m: scipys.spectrogram(x, nperseg=7, mode="complex"),
    "stft": lambda x, y, m: scipys.stft(x, 2.0, nperseg=16),
    "stft of rows": lambda x, y, m: scipys.stft(m, nperseg=7, axis=0, boundary="even", scaling="psd"),
    "stft turned about its ends": lambda x, y, m: scipys.stft(x, nperseg=10, noverlap=3, boundary="odd", padded=False),
    "stft without ends": lambda x, y, m: scipys.stft(x, nperseg=10, boundary=None, window=("kaiser", 3.0)),
    "istft": lambda x, y, m: scipys.istft(x.reshape(5, 8) + 1j * y.reshape(5, 8), 2.0),
    "istft of odd segments": lambda x, y, m: scipys.istft(
        x.reshape(5, 8) + 1j * y.reshape(5, 8), nperseg=9, noverlap=6, scaling="psd", boundary=False
    ),
    "istft of two sides": lambda x, y, m: scipys.istft(
        (x + 1j * y).reshape(5, 2, 4), nperseg=4, input_onesided=False, time_axis=0, freq_axis=2, window="hamming"
    ),
    "istft of stft": lambda x, y, m: scipys.istft(scipys.stft(m, nperseg=8, axis=0)[2], time_axis=-1, freq_axis=0),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    check_parts(FUNCTIONS[name], X, Y, ROWS, tolerance=2e-3 if "angles" in name or "phases" in name else 3e-5)


OPEN = ("welch", "csd", "spectrogram", "stft", "stft turned about its ends")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", OPEN)
def test_one_file_serves_every_length(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return parts(FUNCTIONS[name](x, y, None))

    program = ps.trace(f, *[ps.spec("float64", ["N"])] * 2)
    for size in (40, 33, 17, 16):
        agree(program(X[:size], Y[:size]), f(X[:size], Y[:size]), 1e-10)
    check_grads(f, X[:16], Y[:16], resize=())
    with pytest.raises(RunError):
        program(X[:5], Y[:5])


def test_what_cannot_be_is_told_at_the_users_line() -> None:
    for error, told, function in (
        (ShapeError, "do not fit", lambda x: scipys.welch(x, nperseg=8, noverlap=8)),
        (ShapeError, "do not fit", lambda x: scipys.welch(x, window=np.ones(50))),
        (ShapeError, r"of shape \(4,\)", lambda x: scipys.welch(x, window=np.ones(4), nperseg=8)),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, X)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__


def test_segments_of_no_given_length_are_as_long_as_short_signals() -> None:
    program = ps.trace(scipys.welch, ps.spec("float64", ["N"]))
    for size in (40, 255, 256, 300, 600):
        signal = np.cos(np.arange(float(size)) ** 1.5)
        agree(program(signal), scipys.welch(signal), 1e-10)
    with pytest.raises(RunError):
        program(X[:0])
    told = ps.trace(lambda x: scipys.welch(x, nperseg=64), ps.spec("float64", ["N"]))
    with pytest.raises(RunError):  # as many numbers as are told
        told(X)


def test_short_segments_have_second_derivatives() -> None:
    check_grads(lambda x: scipys.welch(x)[1], X[:6], resize=(5, 2))


def test_the_spectra_of_whole_signals_have_second_derivatives() -> None:
    check_grads(lambda x: scipys.periodogram(x, fs=2.0)[1], X[:6], resize=(5, 2, 1))
    several = partial(scipys.coherence, nperseg=4, detrend=False)  # without a mean its power at 0 is next to nothing
    check_grads(lambda x, y: several(x, y)[1], X[:16], Y[:16], step=1e-3, resize=())


def test_the_inverse_serves_every_number_of_segments_with_second_derivatives() -> None:
    real, imag = X[:5, None], Y[:5, None]

    def f(x: Any, y: Any) -> Any:
        return scipys.istft(real * x + 1j * imag * y, nperseg=8, noverlap=5)[1]

    program = ps.trace(f, ps.spec("float64", ["N"]), ps.spec("float64", ["N"]))
    for size in (6, 2, 1):
        np.testing.assert_allclose(program(X[:size], Y[:size]), f(X[:size], Y[:size]), atol=1e-13)
    check_grads(f, X[:6], Y[:6], resize=(1,))


@pytest.mark.parametrize("name", ["periodogram", "welch"])
def test_a_signal_of_no_samples_has_no_frequencies(name: str) -> None:
    function, none = getattr(scipys, name), np.zeros((2, 0))
    for found, wanted in zip(ps.trace(lambda x: function(x), none)(none), function(none), strict=True):
        assert found.shape == wanted.shape
