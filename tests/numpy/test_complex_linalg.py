"""np.linalg and scipy.linalg of complex matrices inside of a traced function: NumPy's values, and gradients."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads

RANDOM = np.random.default_rng(0)
X, Y = RANDOM.standard_normal((2, 4, 4)) + np.array([2 * np.eye(4), np.zeros((4, 4))])
B, C = RANDOM.standard_normal((2, 4, 3))
S, T = RANDOM.standard_normal((2, 2, 3, 3))
SEVERAL_X, SEVERAL_Y = np.stack([X, X.T + np.eye(4)]), np.stack([Y, Y.T])

Function = Callable[..., Any]
LINALG = np.linalg


def parts(found: Any) -> tuple[Any, ...]:
    if isinstance(found, tuple | list):
        return tuple(p for each in found for p in parts(each))
    return (found.real, found.imag) if np.iscomplexobj(found) else (found,)


def definite(z: Any) -> Any:
    return z @ z.conj().mT + np.eye(z.shape[-1])


def spectral(z: Any) -> Any:
    """A function of a Hermitian matrix, which no phase of an eigenvector changes."""
    values, vectors = LINALG.eigh(z)
    return (vectors * np.sin(values)[..., None, :]) @ vectors.conj().mT


ONE: dict[str, Function] = {
    "inv": LINALG.inv,
    "det": LINALG.det,
    "slogdet": lambda z: tuple(LINALG.slogdet(z)),
    "cholesky": lambda z: LINALG.cholesky(definite(z)),
    "cholesky, upper": lambda z: LINALG.cholesky(definite(z), upper=True),
    "qr": lambda z: tuple(LINALG.qr(z)),
    "qr, R alone": lambda z: LINALG.qr(z, "r"),
    "eigvalsh": LINALG.eigvalsh,
    "eigvalsh, upper": lambda z: LINALG.eigvalsh(z, "U"),
    "eigh": spectral,
    "eigh, vectors": lambda z: np.abs(LINALG.eigh(z, UPLO="U")[1]),
    "matrix_power": lambda z: LINALG.matrix_power(z, 3),
    "matrix_power of the inverse": lambda z: LINALG.matrix_power(z, -2),
    "matrix_power 0": lambda z: LINALG.matrix_power(z, 0) * z,
    "pinv, Hermitian": lambda z: LINALG.pinv(definite(z), hermitian=True),
}
SEVERAL: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "solve": (lambda a, b, c, d: LINALG.solve(a + 1j * b, c + 1j * d), (X, Y, B, C)),
    "solve of a vector": (lambda a, b, c: LINALG.solve(a + 1j * b, c[:, 0]), (X, Y, B)),
    "solve of a real matrix": (lambda a, b, c: LINALG.solve(a, b + 1j * c), (X, B, C)),
    "solve of many": (lambda a, b, s, t: LINALG.solve(a[:3, :3] + 1j * b[:3, :3], s + 1j * t), (X, Y, S, T)),
    "qr of a tall matrix": (lambda a, b: tuple(LINALG.qr(a + 1j * b)), (B, C)),
    "qr of a wide matrix": (lambda a, b: tuple(LINALG.qr(a.T + 1j * b.T)), (B, C)),
    "pinv": (lambda a, b: LINALG.pinv(a + 1j * b), (B, C)),
    "pinv, with rtol": (lambda a, b: LINALG.pinv(a.T + 1j * b.T, rtol=None), (B, C)),
}


LONG = {
    "eigvalsh, upper", "eigh, vectors", "qr, R alone", "cholesky, upper", "matrix_power of the inverse",
    "pinv, with rtol",
}  # fmt: skip
"""Options of functions that other rows differentiate: slow tests."""


def slowly(names: Iterable[str], long: Collection[str]) -> list[Any]:
    """The names as parameters of a test, which is slow for those that are long."""
    return [pytest.param(n, marks=[pytest.mark.slow] * (n in long)) for n in names]


@pytest.mark.parametrize("name", slowly(ONE, LONG))
def test_a_function_of_complex_matrices_is_numpys_with_gradients(name: str) -> None:
    function = ONE[name]
    check_grads(lambda a, b: parts(function(a + 1j * b)), SEVERAL_X, SEVERAL_Y, value_tolerance=1e-10, resize=(1, 0, 3))


@pytest.mark.parametrize("name", slowly(SEVERAL, LONG))
def test_complex_systems_and_factors_of_any_shape_are_numpys_with_gradients(name: str) -> None:
    function, given = SEVERAL[name]
    check_grads(lambda *g: parts(function(*g)), *given, value_tolerance=1e-10)


SCIPYS: dict[str, tuple[Function, tuple[Any, ...]]] = {
    "expm": (lambda a, b: scipy.linalg.expm(0.3 * (a + 1j * b)), (X, Y)),
    "solve, Hermitian": (lambda a, b, c: scipy.linalg.solve(definite(a + 1j * b), c, assume_a="her"), (X, Y, B)),
    "solve, positive": (lambda a, b, c: scipy.linalg.solve(definite(a + 1j * b), c, assume_a="pos"), (X, Y, B)),
    "solve, symmetric": (
        lambda a, b, c: scipy.linalg.solve(a + 1j * b + (a + 1j * b).T, c, assume_a="sym"), (X, Y, B)
    ),
    "eigvalsh": (lambda a, b: scipy.linalg.eigvalsh(a + 1j * b, definite(b + 1j * a)), (X, Y)),
    "eigh": (lambda a, b: abs(scipy.linalg.eigh(a + 1j * b, definite(b + 1j * a), lower=False)[1]), (X, Y)),
    "cholesky": (lambda a, b: scipy.linalg.cholesky(definite(a + 1j * b)), (X, Y)),
    "det": (lambda a, b: scipy.linalg.det(a + 1j * b), (X, Y)),
}  # fmt: skip


@pytest.mark.parametrize("name", slowly(SCIPYS, {"eigh", "solve, symmetric"}))
def test_a_function_of_complex_matrices_is_scipys_with_gradients(name: str) -> None:
    function, given = SCIPYS[name]
    check_grads(lambda *g: parts(function(*g)), *given, value_tolerance=1e-10, resize=(1,))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("size", [1, 2, 5, 24])
def test_eigenvalues_are_right_and_eigenvectors_orthonormal_also_where_values_are_equal(size: int, dtype: Any) -> None:
    random = np.random.default_rng(size)
    basis = np.linalg.qr(random.standard_normal((size, size)) + 1j * random.standard_normal((size, size)))[0]
    values = np.repeat([-1.0, 0.5, 2.0, 1e-3], 6)[:size]
    matrix = ((basis * values) @ basis.conj().T).astype(dtype)

    def f(a: Any, b: Any) -> Any:
        values, vectors = np.linalg.eigh(a + 1j * b)
        return values, vectors.real, vectors.imag

    found, u, v = ps.trace(f, matrix.real, matrix.imag)(matrix.real, matrix.imag)
    units = 20 * np.finfo(dtype).eps
    assert u.dtype == matrix.real.dtype
    np.testing.assert_allclose(found, np.sort(values), atol=size * units)
    vectors = u + 1j * v
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(size), atol=size * units)
    np.testing.assert_allclose((vectors * found) @ vectors.conj().T, matrix, atol=size * units)
    largest = vectors[np.argmax(abs(vectors), axis=0), np.arange(size)]
    np.testing.assert_allclose(largest.imag, 0, atol=units)
    assert (largest.real > 0).all()


def test_the_sum_of_powers_of_equal_eigenvalues_has_its_gradient() -> None:
    basis = np.linalg.qr(X + 1j * Y)[0]
    matrix = (basis * np.array([1.0, 1.0, 1.0, 2.0])) @ basis.conj().T

    def f(a: Any, b: Any) -> Any:
        return np.sum(np.linalg.eigvalsh(a + 1j * b) ** 3)

    found = ps.grad(lambda a, b: f((a + a.T) / 2, (b - b.T) / 2), wrt=(0, 1))(matrix.real, matrix.imag)
    wanted = 3 * matrix @ matrix
    np.testing.assert_allclose(found[0], wanted.real, atol=1e-10)
    np.testing.assert_allclose(found[1], wanted.imag, atol=1e-10)


def test_a_singular_matrix_has_the_determinant_0_and_small_ones_their_cofactors() -> None:
    zero = np.zeros((5, 5))
    det = ps.trace(lambda a, b: parts(np.linalg.det(a + 1j * b)), zero, zero)(zero, zero)
    assert tuple(det) == (0.0, 0.0)
    sign, imaginary, log = ps.trace(lambda a, b: parts(tuple(np.linalg.slogdet(a + 1j * b))), zero, zero)(zero, zero)
    assert (sign, imaginary, log) == (0.0, 0.0, -np.inf)
    singular = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])
    check_grads(lambda a, b: parts(np.linalg.det(a + 1j * b)), singular, 0 * singular, symbolic=False)


def test_what_complex_matrices_have_no_form_of_is_told() -> None:
    with pytest.raises(UnsupportedFunction, match="mode='complete'"):
        ps.trace(lambda a: parts(np.linalg.qr(1j * a, "complete")), X)
    with pytest.raises(ShapeError, match="must be square"):
        ps.trace(lambda a: parts(np.linalg.inv(1j * a)), B)
    with pytest.raises(ShapeError, match="UPLO"):
        ps.trace(lambda a: np.linalg.eigvalsh(1j * a, "X"), X)
