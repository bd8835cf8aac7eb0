"""scipy.signal of complex signals and filters: SciPy's values by its own names, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(1)


def parts(found: Any) -> Any:
    """Both parts of each array, whether or not it is real on a path."""
    if isinstance(found, tuple):
        return tuple(p for each in found for p in parts(each))
    return (found.real, found.imag)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)


LONG, SHORT, IMAGE, KERNEL = numbers(9), numbers(4), numbers(5, 6), numbers(2, 3)
BELOW = np.array([1.5 + 0.2j, -0.4, 0.2j])
SECTIONS = scipys.butter(4, 0.3, output="sos")

MODES = ("full", "same", "valid")

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{name} {mode}": (
            lambda a, v, x, w, n=name, m=mode: (getattr(scipys, n)(a, v, m), getattr(scipys, n)(x, w.real, m)),
            (SHORT, LONG, IMAGE, KERNEL),
        )
        for name in ("convolve", "correlate", "fftconvolve")
        for mode in MODES
    },
    **{
        f"{name} {mode} {boundary}": (
            lambda a, v, n=name, m=mode, b=boundary: getattr(scipys, n)(a, v, m, b), (IMAGE, KERNEL)
        )
        for name in ("convolve2d", "correlate2d")
        for mode, boundary in (("full", "fill"), ("same", "wrap"), ("valid", "symm"))
    },
    "a recursive filter": (lambda b, a, x: scipys.lfilter(b, a, x), (SHORT, BELOW, LONG)),
    "a real filter along the first axis": (lambda x: scipys.lfilter([1.0, 0.3], [1.5, -0.4], x, axis=0), (IMAGE,)),
    "a complex filter of a real signal": (lambda a, x: scipys.lfilter([1.0, 0.3j], a, x.real), (BELOW, LONG)),
    "a filter's state": (lambda z, x: scipys.lfilter([1.0, 0.2, 0.1], [1.0, 0.5], x, zi=z), (LONG[:2], LONG)),
    "the state for a step": (lambda b, a: scipys.lfilter_zi(b, a), (SHORT, BELOW)),
    "a filter's past": (lambda b, y: scipys.lfiltic(b, [2.0, 0.3, 0.1], y, [0.5]), (SHORT, LONG[:2])),
    "both ways": (lambda b, x: scipys.filtfilt(b, [1.0, -0.4], x, padlen=3), (SHORT, LONG)),
    "sections": (lambda x, z: scipys.sosfilt(SECTIONS, x, zi=z), (LONG, numbers(2, 2))),
    "sections both ways": (lambda x: scipys.sosfiltfilt(SECTIONS[:1], x, padlen=4), (LONG,)),
    "a convolution undone": (lambda x, v: scipys.deconvolve(x, v), (LONG, BELOW)),
    **{
        f"{n} samples by Fourier": (lambda x, n=n: scipys.resample(x, n, window="hamming"), (LONG[:8],))
        for n in (5, 6, 10, 11)
    },
    "samples at 3/2 of a rate": (lambda x: scipys.resample_poly(x, 3, 2), (LONG,)),
    "samples through a filter of one's own": (
        lambda x, v: scipys.resample_poly(x.real, 2, 3, axis=0, window=np.concatenate([v, v[:1]])), (IMAGE, SHORT)
    ),
    "zeros between samples": (lambda v, x: scipys.upfirdn(v, x, 2, 3, axis=0), (SHORT, IMAGE)),
    "every second sample": (lambda x: scipys.decimate(np.tile(x, 4), 2, n=2), (LONG,)),
    "every third sample through a window": (lambda x: scipys.decimate(x, 3, n=6, ftype="fir"), (LONG,)),
    "a response": (
        lambda b, a: (scipys.freqz(b, a, worN=[0.3, 1.0], fs=4.0)[1], scipys.freqs(b, a, [0.5, 2.0])[1]), (SHORT, BELOW)
    ),
}  # fmt: skip
SLOW = {n for n in FUNCTIONS if n.startswith(("fftconvolve", "correlate2d", "convolve valid", "sections both"))}
"""Rows of compositions of functions that other rows cover."""


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]

    def f(*both: Any) -> Any:
        return parts(function(*(x + 1j * y for x, y in zip(both[::2], both[1::2], strict=True))))

    check_grads(f, *(p for z in given for p in (z.real, z.imag)), symbolic=False, value_tolerance=1e-11)


@pytest.mark.parametrize("name", ["convolve", "lfilter", "filtfilt", "correlate"])
def test_one_file_serves_every_length_and_complex64(name: str) -> None:
    given: dict[str, Callable[[Any], Any]] = {
        "convolve": lambda x: scipys.convolve(x, SHORT, "same"), "correlate": lambda x: scipys.correlate(SHORT, x),
        "lfilter": lambda x: scipys.lfilter([0.5, 0.2j], [1.0, -0.3], x),
        "filtfilt": lambda x: scipys.filtfilt([0.5, 0.2], [1.0, -0.3j], x, padlen=0),
    }  # fmt: skip
    program = ps.trace(given[name], ps.spec("complex128", ["N"]))
    for size in (9, 5, 1):
        np.testing.assert_allclose(program(LONG[:size]), given[name](LONG[:size]), rtol=1e-11, atol=1e-12)
    narrow = LONG.astype(np.complex64)

    def single(x: Any) -> Any:
        return scipys.lfilter(
            np.array([0.5, 0.2], np.float32), np.array([1.0, -0.3], np.float32), scipys.convolve(x, x[:3])
        )

    found, wanted = ps.trace(single, narrow)(narrow), single(narrow)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: scipys.savgol_filter(x, 5, 2),
        lambda x: scipys.savgol_filter(LONG, 5, 2, delta=x[0].real),
        lambda x: scipys.convolve2d(x[:, None], x[:, None], fillvalue=1),
    ],
)
def test_what_would_lose_the_imaginary_part_is_refused(function: Any) -> None:
    with pytest.raises(UnsupportedFunction, match="complex"):
        ps.trace(function, LONG)


def test_wieners_filter_of_complex_numbers_is_scipys() -> None:
    np.testing.assert_allclose(ps.trace(lambda x: scipys.wiener(x, 3), LONG)(LONG), scipys.wiener(LONG, 3), rtol=1e-13)
    check_grads(lambda x: scipys.wiener(x, 3), LONG)
