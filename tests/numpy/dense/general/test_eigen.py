"""Eigenvalues of matrices that need not be symmetric, and roots of polynomials: values, order and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import RunError, ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads, session
from tests.numpy.matrices import HARD, normal, parts

Array = np.ndarray[Any, Any]


def exponential(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return ((v * np.exp(w)[..., None, :]) @ np.linalg.inv(v)).real


def squares(a: Any) -> Any:
    """Return a result that the phase of an eigenvector does not change."""
    return np.abs(np.linalg.eig(a).eigenvectors) ** 2


def largest_is_real(a: Any) -> Any:
    """Vectors by another rule than NumPy's: their largest element real and positive."""
    v = np.linalg.eig(a)[1]
    pivot = np.take_along_axis(v, np.argmax(np.abs(v), axis=0)[None], axis=0)
    return parts(v * (np.abs(pivot) / pivot))


def by_modulus(p: Any) -> Any:
    return np.sort(np.abs(np.roots(p)))


def of_scipy(a: Any) -> Any:
    w, v = scipy.linalg.eig(a)
    return w.real, w.imag, np.abs(v)


PAIRED = np.array([[0.5, -2, 0.3], [1.5, 0.2, 0.1], [0.4, 1, 3]])
FUNCTIONS: dict[str, tuple[Callable[..., Any], Array]] = {
    "eigvals, all real": (lambda a: parts(np.linalg.eigvals(a)), np.diag([1.0, 2, 4]) + 0.1 * normal(3, 3)),
    "eigvals, a pair": (
        lambda a: parts(np.linalg.eigvals(a)),
        np.array([[0.5, -2, 0.3], [1.5, 0.2, 0.1], [0.4, 1, 3]]),
    ),
    "the spectral radius of each of a stack": (lambda a: np.max(np.abs(np.linalg.eigvals(a)), -1), normal(2, 4, 4)),
    "the eigenvalue of the largest real part": (lambda a: np.linalg.eigvals(a).max().real, normal(4, 4)),
    "eig, a function of the matrix": (exponential, normal(3, 3)),
    "eig, moduli of vectors": (squares, normal(4, 4, seed=3)),
    "eig, vectors": (largest_is_real, normal(3, 3, seed=5)),
    "scipy.linalg.eig": (of_scipy, normal(3, 3)),
    "scipy.linalg.eigvals": (lambda a: parts(scipy.linalg.eigvals(a)), normal(3, 3, seed=1)),
    "poly of a matrix": (lambda a: np.poly(a), normal(4, 4)),
    "roots": (lambda p: parts(np.roots(p)), np.array([2.0, -1, 3, 0.5])),
    "roots, all real": (lambda p: parts(np.roots(p)), np.poly([1.0, 2, 4])),
    "roots, moduli": (by_modulus, np.array([1.0, 2, 3, 4, 5])),
    "roots, the last 0": (lambda p: parts(np.roots(np.append(p, 0.0))), np.array([1.0, -6, 11, -6])),
    "sort_complex": (lambda x: parts(np.sort_complex(x)), np.array([3.0, 1, 2])),
    "sort of complex numbers": (lambda x: parts(np.sort(x + 2j * x**2, axis=0)), normal(3, 2)),
    "poly1d.roots": (lambda p: parts(np.poly1d(p).roots), np.array([2.0, -1, 3])),
    "Polynomial.roots": (lambda p: parts(np.polynomial.Polynomial(p).roots()), np.array([6.0, -5, 1, 2])),
}


@pytest.mark.sweep(18)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_and_its_gradients_are_numpys(name: str) -> None:
    function, point = FUNCTIONS[name]
    is_sized = name in {"poly1d.roots", "Polynomial.roots", "roots, the last 0"}
    check_grads(function, point, value_tolerance=1e-10, resize=() if is_sized else (1,), symbolic=not is_sized)


def no_basis(n: int) -> Array:
    return 2 * np.eye(n) + np.eye(n, k=1)


@pytest.mark.sweep(6)
@pytest.mark.parametrize(
    "matrix",
    [no_basis(2), no_basis(2).T, no_basis(3), -3 * no_basis(4), np.kron(np.eye(2), no_basis(2)),
     np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[5.0, 0, 0], [0, 1, 1], [0, 0, 1]])],
    ids=str,
)  # fmt: skip
def test_eigenvalues_without_a_basis_of_vectors_have_nan_for_slopes(matrix: Array) -> None:
    """The trace of a square is smooth there, but its slope does not follow from values and vectors."""
    slopes = ps.grad(lambda m: np.sum((np.linalg.eigvals(m) ** 2).real))(matrix)
    assert np.isnan(slopes).all()


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", ["zero", "the unit matrix", "a cycle", "symmetric", "equal", "near to a block"])
def test_symmetric_functions_of_equal_eigenvalues_with_a_basis_have_their_slopes(name: str) -> None:
    matrices = {
        **HARD,
        "symmetric": np.ones((3, 3)),
        "equal": np.diag([2.0, 2.0, 3.0]) + np.array([[0, 0, 1.0], [0, 0, 0], [0, 0, 0]]),
        "near to a block": no_basis(2) + np.array([[0, 0], [1e-4, 0]]),
    }
    m = matrices[name]
    slopes = ps.grad(lambda m: np.sum((np.linalg.eigvals(m) ** 2).real))(m)
    np.testing.assert_allclose(slopes, 2 * m.T, atol=1e-9)  # of the trace of m @ m


@pytest.mark.slow
def test_in_a_stack_only_the_matrix_without_a_basis_has_nan() -> None:
    stack = np.stack([no_basis(2), np.array([[1.0, 2.0], [3.0, 4.0]])])
    slopes = ps.grad(lambda m: np.sum((np.linalg.eigvals(m) ** 2).real))(stack)
    assert np.isnan(slopes[0]).all()
    np.testing.assert_allclose(slopes[1], 2 * stack[1].T, rtol=1e-12)


def test_float32_stays_float32_and_is_right_to_its_digits() -> None:
    a = normal(6, 6).astype(np.float32)
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"], dtype="float32")(a)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, parts(np.linalg.eigvals(a.astype(float))), rtol=0, atol=1e-5)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (3, 1, 1), (2, 3, 4, 4)])
def test_a_stack_may_have_any_sizes(shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    names = [f"B{i}" for i in range(len(shape) - 2)]
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), [*names, "N", "N"])(a)
    np.testing.assert_allclose(found, parts(np.linalg.eigvals(a)), rtol=0, atol=1e-12)


def test_a_matrix_that_is_not_finite_fails_as_in_numpy() -> None:
    a = np.array([[1.0, np.nan], [0.0, 1.0]])
    with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        np.linalg.eigvals(a)
    with pytest.raises(RunError, match="raises LinAlgError: Array must not contain infs or NaNs"):
        session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])(a)


def test_the_gradient_at_equal_eigenvalues_with_a_basis_is_that_of_a_smooth_function() -> None:
    def total(a: Any) -> Any:
        return np.sum(np.linalg.eigvals(a).real ** 2)

    np.testing.assert_allclose(ps.grad(total)(np.eye(3)), 2 * np.eye(3), rtol=0, atol=1e-14)


def test_whether_eigenvalues_are_real_is_a_branch_of_the_program() -> None:
    def label(a: Any) -> Any:
        w = np.linalg.eigvals(a)
        return w.real.max() if w.dtype.kind == "c" else -w.max()

    run = session(label, [2, 2])
    assert run(np.diag([1.0, 3.0]))[0] == -3
    assert run(np.array([[2.0, -1], [1, 2]]))[0] == 2


@pytest.mark.slow
def test_transforms_go_through() -> None:
    def radius(a: Any) -> Any:
        return np.max(np.abs(np.linalg.eigvals(a)))

    stack, direction = normal(3, 4, 4), normal(4, 4, seed=1)
    gradients = ps.vmap(ps.grad(radius))(stack)
    np.testing.assert_allclose(gradients, np.stack([ps.grad(radius)(a) for a in stack]), rtol=1e-12)
    np.testing.assert_allclose(ps.jvp(radius, (stack[0],), (direction,))[1], np.sum(gradients[0] * direction))
    summed = ps.value_and_grad(lambda s: ps.scan(lambda c, a: (c + radius(a), None), 0.0, s)[0])(stack)
    np.testing.assert_allclose(summed[0], np.abs(np.linalg.eigvals(stack)).max(axis=-1).sum())
    np.testing.assert_allclose(summed[1], gradients, rtol=1e-10)


REFUSED: list[tuple[str, Callable[..., Any], Array, type[Exception]]] = [
    ("a second matrix", lambda a: scipy.linalg.eig(a, np.eye(3)), normal(3, 3), UnsupportedFunction),
    ("left=True", lambda a: scipy.linalg.eig(a, left=True), normal(3, 3), UnsupportedFunction),
    ("homogeneous", lambda a: scipy.linalg.eigvals(a, homogeneous_eigvals=True), normal(3, 3), UnsupportedFunction),
    ("square", np.linalg.eigvals, normal(3, 4), ShapeError),
    ("two axes", np.linalg.eig, normal(3), ShapeError),
    ("vector", np.roots, normal(3, 4), ShapeError),
]


@pytest.mark.parametrize(("told", "function", "given", "kind"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_has_no_form_is_refused_at_the_users_line(
    told: str, function: Callable[..., Any], given: Array, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=told) as caught:
        ps.trace(function, given)
    assert "test_eigen.py" in str(caught.value)
