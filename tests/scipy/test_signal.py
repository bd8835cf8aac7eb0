"""scipy.signal: SciPy's values by its own names on traced arrays, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.errors import RunError, ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(1)
LONG, SHORT = random.standard_normal(9), random.standard_normal(4)
IMAGE, KERNEL = random.standard_normal((5, 6)), random.standard_normal((2, 3))
SECTIONS = scipys.butter(4, 0.3, output="sos")
MODES = ("full", "same", "valid")

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
    "a filter's state": (lambda z, x: scipys.lfilter([1.0, 0.2, 0.1], [1.0, 0.5], x, zi=z), (LONG[:2], LONG)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    are_filters = [x.size < LONG.size or x is SECTIONS for x in given]
    parts = [tuple(x.flat) if is_filter else x for x, is_filter in zip(given, are_filters, strict=True)]

    def f(*parts: Any) -> Any:
        """The function of signals of any size, and of the numbers of filters, whose sizes have to be known."""
        pairs = zip(parts, given, strict=True)
        return function(*(np.reshape(p, x.shape) if isinstance(p, tuple) else p for p, x in pairs))

    asks_which_is_larger = "valid" in name and given[0].ndim > 1
    check_grads(f, *parts, symbolic=not asks_which_is_larger)


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
