"""scipy.signal's zeros and poles, and transforms along arcs: SciPy's values and gradients, real and complex."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal as scipys

import primsplit as ps
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
POLES = np.array([0.5 + 0.2j, 0.5 - 0.2j, 0.3])

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a response of zeros": (lambda z, p: scipys.freqz_zpk(z, p, 2.5, worN=3)[1], (SHORT, POLES)),
    "zeros and poles": (lambda b, a: scipys.tf2zpk(b, a), (SHORT, BELOW)),
    "polynomials of zeros": (lambda z, p: scipys.zpk2tf(z, p, 2.5), (SHORT, BELOW)),
    "along a spiral": (lambda x: scipys.czt(x, 5, np.exp(-0.3j), 0.9 + 0.1j), (LONG,)),
    "along a spiral of one's own": (lambda x, w: scipys.czt(x, 3, w[0], w[1], axis=0), (IMAGE, SHORT)),
    "a range of frequencies": (lambda x: scipys.zoom_fft(x, [0.2, 0.7], 4), (LONG,)),
}  # fmt: skip


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]

    def f(*both: Any) -> Any:
        return parts(function(*(x + 1j * y for x, y in zip(both[::2], both[1::2], strict=True))))

    check_grads(f, *(p for z in given for p in (z.real, z.imag)), symbolic=False, value_tolerance=1e-11)


REAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "tf2zpk": (lambda b, a: scipys.tf2zpk(b, a)[:2], (np.array([0.3, 0.5, -0.2]), np.array([1.5, -0.4, 0.2]))),
    "zpk2tf": (lambda z, p, k: scipys.zpk2tf(z, p, k), (np.array([0.3, -0.5]), np.array([0.2, 0.1]), np.array(2.5))),
    "freqz_zpk": (lambda z, k: scipys.freqz_zpk(z, [0.5], k, worN=[0.4])[1], (np.array([0.3, -0.5]), np.array(2.5))),
    "czt": (lambda x: scipys.czt(x), (LONG.real,)),
    "zoom_fft": (lambda x: scipys.zoom_fft(x, 0.7, 6, fs=3, endpoint=True), (LONG.real,)),
}


@pytest.mark.sweep(4)
@pytest.mark.parametrize("name", REAL)
def test_it_is_scipys_of_real_numbers_with_gradients(name: str) -> None:
    function, given = REAL[name]

    def f(*args: Any) -> Any:
        return parts(function(*args))

    check_grads(f, *given, symbolic=False, value_tolerance=1e-11)


def test_real_polynomials_come_of_conjugate_zeros() -> None:
    program = ps.trace(lambda p: np.poly(p) * 1j, POLES)
    for zeros in (POLES, POLES + 0.1j):
        np.testing.assert_allclose(program(zeros), np.poly(zeros) * 1j, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(program(POLES).real, np.zeros(4))
