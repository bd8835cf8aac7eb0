"""scipy.signal: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(1)
LONG, SHORT = random.standard_normal(9), random.standard_normal(4)
IMAGE, KERNEL = random.standard_normal((5, 6)), random.standard_normal((2, 3))
SECTIONS = scipys.butter(4, 0.3, output="sos")
MODES = ("full", "same", "valid")
HILLS = np.array([0.1, 0.9, 0.3, 1.4, 1.2, 2.6, 0.2, 0.7, 0.6, 3.1, 2.2, 2.3, 1.9, 3.5])


def peaks(x: Any) -> Any:
    places, found = scipys.find_peaks(x, height=(0.5, 9.0), threshold=0.02, prominence=(0.3, None))
    bases = found["left_bases"] + 2 * found["right_bases"]
    sides = found["left_thresholds"] * found["right_thresholds"]
    return x[places], found["peak_heights"] * bases, sides, found["prominences"] ** 2


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{name} {mode} of {label}": ((lambda a, v, n=name, m=mode: getattr(scipys, n)(a, v, mode=m)), given)
        for name in ("convolve", "correlate", "fftconvolve", "oaconvolve")
        for mode in MODES
        for label, given in {
            "vectors": (LONG, SHORT), "a shorter vector": (SHORT, LONG), "matrices": (IMAGE, KERNEL)
        }.items()
    },
    "convolve by Fourier transforms": (lambda a, v: scipys.convolve(a, v, method="fft"), (LONG, SHORT)),
    "convolve of three axes": (lambda a, v: scipys.convolve(a, v), (LONG.reshape(3, 3, 1), SHORT.reshape(2, 1, 2))),
    **{
        f"{name} {mode} {boundary}": (
            lambda a, v, n=name, m=mode, b=boundary: getattr(scipys, n)(a, v, m, b, 0.5 * (b == "fill")),
            (IMAGE, KERNEL),
        )
        for name in ("convolve2d", "correlate2d")
        for mode, boundary in (("full", "fill"), ("same", "wrap"), ("valid", "symm"), ("same", "symm"))
    },
    "a recursive filter": (lambda b, x: scipys.lfilter(b, [1.0, -0.4, 0.2], x), (SHORT, LONG)),
    "a filter's denominator": (lambda a, x: scipys.lfilter([1.0, 0.3], a, x), (np.array([1.5, -0.4, 0.2]), LONG)),
    "a filter along the first axis": (lambda b, x: scipys.lfilter(b, [1.0, 0.5], x, axis=0), (SHORT, IMAGE)),
    "a filter without feedback": (lambda b, x: scipys.lfilter(b, 2.0, x), (SHORT, IMAGE)),
    "sections": (lambda x, y: scipys.sosfilt(SECTIONS, x) * y, (LONG, LONG[::-1])),
    "sections along the first axis": (
        lambda s, x: scipys.sosfilt(np.insert(np.delete(s, 3, axis=1), 3, 1.0, axis=1), x, axis=0), (SECTIONS, IMAGE)
    ),
    "the state for a step": (lambda b, a: scipys.lfilter_zi(b, a), (SHORT, np.array([1.5, -0.4, 0.2]))),
    "the sections' states": (
        lambda z, x: scipys.sosfilt(SECTIONS, x, zi=z), (np.array([[0.1, 0.3], [-0.2, 0.5]]), LONG)
    ),
    "both ways": (lambda b, x: scipys.filtfilt(b, [1.0, -0.4], x, padlen=3), (SHORT, LONG)),
    "both ways along the first axis": (
        lambda a, x: scipys.filtfilt([0.5, 0.2], a, x, axis=0, padtype="even", padlen=2), (np.array([1.5, -0.4]), IMAGE)
    ),
    "both ways with constant ends": (
        lambda b, x: scipys.filtfilt(b, [1.0, 0.3], np.tile(x, 3), padtype="constant"), (SHORT, LONG)
    ),
    "both ways without ends": (lambda b, x: scipys.filtfilt(b, 1.5, x, padtype=None), (SHORT, LONG)),
    "sections both ways": (lambda x: scipys.sosfiltfilt(SECTIONS[:1], x, padlen=4), (LONG,)),
    "sections both ways along the first axis": (
        lambda x: scipys.sosfiltfilt(SECTIONS, x, axis=0, padtype="even", padlen=2), (IMAGE,)
    ),
    "a filter's past": (lambda b, y: scipys.lfiltic(b, [2.0, 0.3, 0.1], y, [0.5]), (SHORT, LONG[:2])),
    "a convolution undone": (lambda x, v: scipys.deconvolve(x, v), (LONG, np.array([1.5, 0.4, -0.2]))),
    "fewer samples by Fourier": (lambda x: scipys.resample(x, 6), (LONG,)),
    "more samples by Fourier": (lambda x: scipys.resample(x, 8, axis=1, window="hamming"), (IMAGE,)),
    "samples at 3/2 of a rate": (lambda x: scipys.resample_poly(x, 3, 2), (LONG,)),
    "samples through a filter of one's own": (
        lambda x, v: scipys.resample_poly(x, 2, 3, axis=0, window=np.concatenate([v, v[:1]])), (IMAGE, SHORT)
    ),
    "zeros between samples": (lambda v, x: scipys.upfirdn(v, x, 2, 3, axis=0), (SHORT, IMAGE)),
    "every second sample": (lambda x: scipys.decimate(np.tile(x, 4), 2, n=2), (LONG,)),
    "every third sample through a window": (
        lambda x: scipys.decimate(x, 3, n=6, ftype="fir", zero_phase=False), (LONG,)
    ),
    "a response": (
        lambda b, a: (scipys.freqz(b, a, worN=[0.3, 1.0], fs=4.0)[1].real, scipys.freqz(b, a, 3, whole=True)[1].imag),
        (SHORT, np.array([1.5, -0.4, 0.2])),
    ),
    "a response of sections": (
        lambda b: (
            scipys.freqz_sos(np.concatenate([b[:3], [1.0, 0.3, 0.1]])[None], 3)[1].real,
            scipys.sosfreqz(np.concatenate([b[1:], [1.0, 0.2, 0.1]])[None], 3)[1].imag,
        ),
        (SHORT,),
    ),
    "an analogue response": (
        lambda b: (scipys.freqs(b, [1.0, 0.4], [0.5, 2.0])[1].real, scipys.freqs(b, [2.0], [0.5])[1].imag), (SHORT,)
    ),
    "chirps": (
        lambda t, f: (
            scipys.chirp(t, f[0], 3.0, f[1]), scipys.chirp(t, f[0], f[2], 5.0, method="quadratic", phi=30),
            scipys.chirp(t, 1.0, 3.0, f[2] ** 2 + 2, method="log"),
        ),
        (LONG, SHORT),
    ),
    "saws": (lambda t, w: (scipys.sawtooth(t, 0.3 + 0.1 * w), t * scipys.square(t, 0.4)), (LONG, SHORT[0])),
    "medians": (
        lambda x: (scipys.medfilt(x), scipys.medfilt2d(x, (1, 3)), scipys.order_filter(x, [[1, 0, 1]], 0)), (IMAGE,)
    ),
    "Wiener's filter": (lambda x: (scipys.wiener(x, 3), scipys.wiener(x, (3, 1), noise=0.4)), (IMAGE,)),
    "peaks": (peaks, (HILLS,)),
    **{
        f"fftconvolve of rows {m}": (lambda x, k, m=m: scipys.fftconvolve(x, k, m, axes=1), (IMAGE, KERNEL[:1]))
        for m in MODES
    },
    "fftconvolve along the first axis": (lambda x, k: scipys.oaconvolve(x, k, "same", axes=(0,)), (IMAGE, IMAGE[:2])),
    "fftconvolve of one row": (lambda x, k: scipys.fftconvolve(x, k, "same", axes=-1), (IMAGE[:1], IMAGE)),
    "elements larger or smaller than others": (
        lambda x: (
            x[scipys.argrelmax(x, order=2)], x[scipys.argrelmin(x)],
            x[scipys.argrelextrema(x, np.greater_equal, mode="wrap")],
        ),
        (HILLS,),
    ),
    "a filter's state": (lambda z, x: scipys.lfilter([1.0, 0.2, 0.1], [1.0, 0.5], x, zi=z), (LONG[:2], LONG)),
}  # fmt: skip


OF_KNOWN_LENGTH = {
    "a convolution undone", "fewer samples by Fourier", "more samples by Fourier", "samples at 3/2 of a rate",
    "samples through a filter of one's own", "every third sample through a window",
}  # fmt: skip
"""Rows of functions that ask how many samples there are."""


BY_TRANSFORMS = [f"{name} {mode}" for name in ("fftconvolve", "oaconvolve") for mode in ("full", "valid")]
"""The parts that are kept are those of `convolve`, for vectors, shorter vectors and matrices: slow tests."""
NAMES = [
    pytest.param(n, marks=[pytest.mark.slow] * any(n.startswith(each) for each in BY_TRANSFORMS)) for n in FUNCTIONS
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    are_filters = [x.size < LONG.size or x is SECTIONS for x in given]
    parts = [tuple(x.flat) if is_filter else x for x, is_filter in zip(given, are_filters, strict=True)]

    def f(*parts: Any) -> Any:
        """The function of signals of any size, and of the numbers of filters, whose sizes have to be known."""
        pairs = zip(parts, given, strict=True)
        return function(*(np.reshape(p, x.shape) if isinstance(p, tuple) else p for p, x in pairs))

    asks_which_is_larger = "valid" in name and given[0].ndim > 1
    check_grads(f, *parts, symbolic=not (asks_which_is_larger or name in OF_KNOWN_LENGTH))


@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d"])
def test_integers_give_integers_also_beyond_those_of_float64(name: str) -> None:
    image, weights = np.arange(30).reshape(5, 6) + 2**53, np.array([[1, -2, 1], [3, -3, 1]])

    def f(a: Any, v: Any) -> Any:
        return [getattr(scipys, name)(a, v, mode) for mode in MODES]

    for found, wanted in zip(ps.trace(f, image, weights)(image, weights), f(image, weights), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize(
    "signal", [[], [1.0], [0.0, 1.0, 0.0], [1.0, 1.0], [0, 2, 2, 2, 2, 1, 1, 3, 3, 0, 5, 5], [0, 1, np.nan, 1, 0, 2, 1]]
)
def test_a_peak_is_the_middle_of_a_plateau_between_lower_numbers(signal: Any) -> None:
    program = ps.trace(lambda x: scipys.find_peaks(x, prominence=0)[0], ps.spec("float64", ["N"]))
    given = np.array(signal, float)
    np.testing.assert_array_equal(program(given), scipys.find_peaks(given, prominence=0)[0])


@pytest.mark.parametrize("name", ["convolve", "fftconvolve", "lfilter"])
def test_one_file_serves_every_length(name: str) -> None:
    given = {"lfilter": (lambda x: scipys.lfilter([0.5, 0.2], [1.0, -0.3], x))}
    f = given.get(name, lambda x: getattr(scipys, name)(x, SHORT, mode="same"))
    program = ps.trace(f, ps.spec("float64", ["N"]))
    for size in (9, 5, 1):
        np.testing.assert_allclose(program(LONG[:size]), f(LONG[:size]), rtol=1e-11, atol=1e-12)


def test_a_run_with_a_signal_that_is_too_short_to_be_continued_fails() -> None:

    def f(x: Any) -> Any:
        return scipys.filtfilt([0.5, 0.2], [1.0, -0.3], x)

    program = ps.trace(f, ps.spec("float64", ["N"]))
    np.testing.assert_allclose(program(LONG[:7]), f(LONG[:7]), rtol=1e-11)
    with pytest.raises(RunError):
        program(LONG[:6])


def test_what_cannot_be_is_told_at_the_users_line() -> None:
    for error, told, function in (
        (ShapeError, "number of axes", lambda x: scipys.convolve(x, KERNEL)),
        (ShapeError, "9 samples continues them by 12", lambda x: scipys.filtfilt(SHORT, [1.0, 0.1, 0.2, 0.1], x[:9])),
        (UnsupportedFunction, "method='gust'", lambda x: scipys.filtfilt(SHORT, [1.0, 0.1], x, method="gust")),
        (ShapeError, "mode", lambda x: scipys.convolve(x, SHORT, mode="all")),
    ):
        with pytest.raises(error, match=told) as caught:
            ps.trace(function, LONG)
        assert caught.value.place is not None
        assert caught.value.place.filename == __file__


@pytest.mark.parametrize("sizes", [((5, 6), (2, 3)), ((2, 3), (5, 6)), ((5, 3), (5, 3)), ((2, 2), (2, 3))], ids=str)
def test_one_file_convolves_images_and_kernels_of_every_size(sizes: Any) -> None:
    x, kernel = (random.standard_normal(s) for s in sizes)
    specs = ps.spec("float64", ["A", "B"]), ps.spec("float64", ["C", "D"])
    for mode in ("full", "same", "valid"):
        program = ps.trace(lambda x, k, mode=mode: scipys.convolve2d(x, k, mode), *specs)
        np.testing.assert_allclose(program(x, kernel), scipys.convolve2d(x, kernel, mode), rtol=1e-12, atol=1e-13)
    with pytest.raises(RunError):
        program(np.ones((5, 2)), np.ones((2, 3)))


@pytest.mark.parametrize("name", ["fftconvolve", "oaconvolve"])
def test_a_convolution_with_nothing_is_nothing(name: str) -> None:
    function = getattr(scipys, name)
    for count in (0, 4):
        x, kernel = np.ones(count), np.ones(3 if count == 0 else 0)
        found = ps.trace(lambda x, k=kernel: function(x, k), x)(x)
        np.testing.assert_array_equal(found, function(x, kernel))
