"""scipy.signal: SciPy's values by its own names on traced arrays, and gradients."""

from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction
from tests.frontends.scipy.signals import IMAGE, KERNEL, LONG, SHORT, Rows, check_signals

random = np.random.default_rng(1)

MODES = ("full", "same", "valid")

FUNCTIONS: Rows = {
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
    **{
        f"fftconvolve of rows {m}": (lambda x, k, m=m: scipys.fftconvolve(x, k, m, axes=1), (IMAGE, KERNEL[:1]))
        for m in MODES
    },
    "fftconvolve along the first axis": (lambda x, k: scipys.oaconvolve(x, k, "same", axes=(0,)), (IMAGE, IMAGE[:2])),
    "fftconvolve of one row": (lambda x, k: scipys.fftconvolve(x, k, "same", axes=-1), (IMAGE[:1], IMAGE)),
    "a filter's state": (lambda z, x: scipys.lfilter([1.0, 0.2, 0.1], [1.0, 0.5], x, zi=z), (LONG[:2], LONG)),
}  # fmt: skip

BY_TRANSFORMS = [f"{name} {mode}" for name in ("fftconvolve", "oaconvolve") for mode in ("full", "valid")]
"""The parts that are kept are those of `convolve`, for vectors, shorter vectors and matrices: slow tests."""
NAMES = [
    pytest.param(n, marks=[pytest.mark.slow] * any(n.startswith(each) for each in BY_TRANSFORMS)) for n in FUNCTIONS
]


@pytest.mark.sweep(12)
@pytest.mark.parametrize("name", NAMES)
def test_it_is_scipys_with_gradients(name: str) -> None:
    row = FUNCTIONS[name]
    asks_which_is_larger = "valid" in name and row[1][0].ndim > 1
    check_signals(row, symbolic=not asks_which_is_larger)


@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d"])
def test_integers_give_integers_also_beyond_those_of_float64(name: str) -> None:
    image, weights = np.arange(30).reshape(5, 6) + 2**53, np.array([[1, -2, 1], [3, -3, 1]])

    def f(a: Any, v: Any) -> Any:
        return [getattr(scipys, name)(a, v, mode) for mode in MODES]

    for found, wanted in zip(ps.trace(f, image, weights)(image, weights), f(image, weights), strict=True):
        np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.parametrize("name", ["convolve", "fftconvolve", "lfilter"])
def test_one_file_serves_every_length(name: str) -> None:
    given = {"lfilter": (lambda x: scipys.lfilter([0.5, 0.2], [1.0, -0.3], x))}
    f = given.get(name, lambda x: getattr(scipys, name)(x, SHORT, mode="same"))
    program = ps.trace(f, ps.spec("float64", ["N"]))
    for size in (9, 5, 1):
        np.testing.assert_allclose(program(LONG[:size]), f(LONG[:size]), rtol=1e-11, atol=1e-12)


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


@pytest.mark.sweep(6)
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
