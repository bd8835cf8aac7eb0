"""Complex arrays beside real ones in SciPy's functions: right, or refused where a function takes real ones alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from primsplit.testing import check_grads

sl = pytest.importorskip("scipy.linalg")
scipys = pytest.importorskip("scipy.signal")
ndimage = pytest.importorskip("scipy.ndimage")

X, Z = np.array([0.5, -1.5, 2.0]), np.array([0.5 + 1.0j, -1.2 + 0.3j, 2.0 - 0.7j])
A = np.array([[1.0, 0.2, -0.4], [0.3, 1.5, 0.1], [-0.2, 0.6, 2.0]])
C = A + 1j * np.array([[0.2, -0.5, 0.3], [0.7, 0.1, 0.4], [0.0, -0.3, 0.6]])

BESIDE: dict[str, Callable[[Any], Any]] = {
    "convolve": lambda x: scipys.convolve(x, Z),
    "fftconvolve": lambda x: scipys.fftconvolve(Z, x),
    "correlate2d": lambda x: scipys.correlate2d(x[None], C),
    "freqz": lambda x: scipys.freqz(x, Z)[1],
    "lfilter": lambda x: scipys.lfilter(Z, [1.0], x),
    "upfirdn": lambda x: scipys.upfirdn(Z, x),
    "toeplitz system": lambda x: sl.solve_toeplitz(x, Z),
    "toeplitz product": lambda x: sl.matmul_toeplitz(Z, x),
    "expm_frechet": lambda x: sl.expm_frechet(x * A, C, compute_expm=False),
    "Lyapunov": lambda x: sl.solve_discrete_lyapunov(0.1 * x * A, C),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_complex_constant_beside_real_arrays_keeps_its_imaginary_part(name: str) -> None:
    assert np.iscomplexobj(BESIDE[name](X))
    check_grads(BESIDE[name], X, order=1, symbolic=False, value_tolerance=1e-10)


def test_a_complex_constant_is_refused_where_a_function_takes_real_arrays_alone() -> None:
    with pytest.raises(UnsupportedFunction) as caught:
        ps.trace(lambda x: ndimage.convolve(x, Z), X)
    assert "test_complex_operands.py" in str(caught.value)


COMPLEX: dict[str, Callable[[Any], Any]] = {
    "polar": lambda c: sl.polar(c),
    "polar left": lambda c: sl.polar(c, side="left"),
    "orthogonal_procrustes": lambda c: sl.orthogonal_procrustes(c, C.conj() @ A),
    "toeplitz": lambda c: sl.toeplitz(c[0]),
    "circulant": lambda c: sl.circulant(c[0]),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_matrices_of_complex_numbers_are_scipys_with_right_gradients(name: str) -> None:
    check_grads(COMPLEX[name], C, order=1, symbolic=False, value_tolerance=1e-10)


@pytest.mark.parametrize("function", [sl.toeplitz, sl.circulant])
def test_a_stack_of_columns_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(ShapeError, match="takes vectors"):
        ps.trace(function, A)
