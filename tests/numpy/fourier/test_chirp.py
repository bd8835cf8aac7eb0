"""The transform of any number of elements as a convolution with a chirp: NumPy's, to the last digits."""

import functools
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit import tracing
from primsplit.numpy.fourier.chirp import by_chirp, next_power
from primsplit.numpy.fourier.operator import by_operator
from primsplit.tracing.array import Array
from tests.numpy.matrices import normal


def transformed(x: Any, y: Any) -> Any:
    return by_chirp(x, y, by_operator)


@functools.cache
def sized() -> Any:
    return ps.trace(transformed, *[ps.spec("float64", ["B", "N"])] * 2)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13, 100])
def test_it_is_numpys_at_known_sizes_and_at_others(n: int) -> None:
    x, y = normal(2, n), normal(2, n, seed=1)
    wanted = np.fft.fft(x + 1j * y)
    for program in (ps.trace(transformed, x, y), sized()):
        real, imag = program(x, y)
        np.testing.assert_allclose(real + 1j * imag, wanted, atol=1e-13 * n)


def test_a_missing_imaginary_part_is_0() -> None:
    x = normal(7)
    real, imag = ps.trace(lambda x: by_chirp(x, None, by_operator), x)(x)
    np.testing.assert_allclose(real + 1j * imag, np.fft.fft(x), atol=1e-14)


def test_float32_keeps_its_digits() -> None:
    x = normal(1000).astype(np.float32)
    real, imag = ps.trace(lambda x: by_chirp(x, None, by_operator), x)(x)
    wanted = np.fft.fft(x.astype(float))
    assert real.dtype == np.float32
    assert np.max(np.abs(real + 1j * imag - wanted)) < 2e-6 * np.max(np.abs(wanted))


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 1023, 1024, 1025, 2**40 + 1])
def test_the_next_power_of_two_is_the_least_that_is_not_smaller(number: int) -> None:
    program = ps.trace(lambda n: next_power(n), ps.spec("int64", []))
    assert program(np.int64(number)) == 1 << max(number - 1, 0).bit_length()


def test_a_constant_is_its_own_transform_of_size_1() -> None:
    def f(x: Any) -> Any:
        return by_chirp(x, Array(tracing.constant(np.array([2.0]))), by_operator)

    assert [float(p[0]) for p in ps.trace(f, np.array([3.0]))(np.array([3.0]))] == [3.0, 2.0]
