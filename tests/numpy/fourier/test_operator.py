"""onnxruntime's transform of real arrays with a last axis of two, and the arithmetic of parts around it."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.dims import symbol
from primsplit.numpy.fourier.operator import by_operator, constants, filled, product
from tests.numpy.matrices import normal
from tests.recording import kinds, record


@pytest.mark.parametrize("shape", [(4,), (2, 8), (2, 3, 16), (1,)], ids=str)
def test_a_transform_along_the_last_axis_is_numpys(shape: tuple[int, ...]) -> None:
    x, y = normal(*shape), normal(*shape, seed=1)
    for given, wanted in (((x, y), x + 1j * y), ((x,), x)):
        real, imag = ps.trace(lambda x, y=None: by_operator(x, y), *given)(*given)
        np.testing.assert_allclose(real + 1j * imag, np.fft.fft(wanted), atol=1e-14)


def test_a_product_is_that_of_complex_numbers() -> None:
    z, w = normal(2, 3), normal(2, 3, seed=1)
    real, imag = ps.trace(lambda a, b, c, d: product((a, b), (c, d)), *z, *w)(*z, *w)
    np.testing.assert_allclose(real + 1j * imag, (z[0] + 1j * z[1]) * (w[0] + 1j * w[1]), rtol=1e-15)


def test_constants_have_the_dtype_that_is_asked_for() -> None:
    values = np.array([1 + 2j, -3j])

    def program(x: Any) -> Any:
        return constants(values, np.float32)

    real, imag = ps.trace(program, np.ones(1))(np.ones(1))
    assert (real.dtype, imag.dtype) == (np.float32, np.float32)
    np.testing.assert_array_equal(real + 1j * imag, values)


def test_zeros_fill_up_and_a_full_array_stays() -> None:
    x = normal(2, 3)
    np.testing.assert_array_equal(ps.trace(lambda x: filled(x, 5), x)(x), np.pad(x, ((0, 0), (0, 2))))
    assert kinds(record(lambda x: filled(x, 3), "float64[2,3]")) == []
    assert kinds(record(lambda x: filled(x, symbol("N")), "float64[2,N]")) == []
    program = ps.trace(lambda x: filled(x, 2 * x.shape[-1]), ps.spec("float64", [2, "N"]))
    np.testing.assert_array_equal(program(x), np.pad(x, ((0, 0), (0, 3))))
