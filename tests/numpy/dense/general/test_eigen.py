"""Eigenvalues of matrices that need not be symmetric, and roots of polynomials: values, order and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads, session
from tests.numpy.matrices import normal

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(0)


def parts(w: Any) -> Any:
    """Both parts of real or complex numbers, along a new first axis."""
    return np.stack([w.real, w.imag if w.dtype.kind == "c" else 0 * w])


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


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_and_its_gradients_are_numpys(name: str) -> None:
    function, point = FUNCTIONS[name]
    is_sized = name in {"poly1d.roots", "Polynomial.roots", "roots, the last 0"}
    check_grads(function, point, value_tolerance=1e-10, resize=() if is_sized else (1,), symbolic=not is_sized)


def complex_exponential(x: Any, y: Any) -> Any:
    w, v = np.linalg.eig(x + 1j * y)
    return parts((v * np.exp(w)) @ np.linalg.inv(v))


def complex_roots(p: Any, q: Any) -> Any:
    return parts(np.roots(p + 1j * q))


OF_COMPLEX: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "eigvals": (lambda x, y: parts(np.linalg.eigvals(x + 1j * y)), (3, 3)),
    "eigvals of a stack": (lambda x, y: parts(np.linalg.eigvals(x + 1j * y)), (2, 2, 2)),
    "eig, a function of the matrix": (complex_exponential, (3, 3)),
    "eig, moduli of vectors": (lambda x, y: np.abs(np.linalg.eig(x + 1j * y)[1]) ** 2, (3, 3)),
    "roots": (complex_roots, (4,)),
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_a_function_of_complex_numbers_and_its_gradients_are_numpys(name: str) -> None:
    function, shape = OF_COMPLEX[name]
    check_grads(function, normal(*shape), normal(*shape, seed=1), value_tolerance=1e-10, symbolic=False)


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 3, 3), (0, 2, 2), (7, 7)])
def test_complex_matrices_of_any_size_have_numpys_eigenvalues_in_lapacks_order(shape: tuple[int, ...]) -> None:
    def function(x: Any, y: Any) -> Any:
        return parts(np.linalg.eigvals(x + 1j * y))

    names = ["B", "N", "N"][-len(shape) :]
    run = session(function, names, names)
    for seed in range(4):
        x, y = normal(*shape, seed=seed), normal(*shape, seed=seed + 9)
        for given in ((x, y), (x, 0 * y), (np.triu(x), np.triu(y)), (x + x.mT, y - y.mT)):
            np.testing.assert_allclose(run(*given)[0], function(*given), rtol=0, atol=1e-10)


KINDS: dict[str, Callable[[int], Array]] = {
    "dense": lambda n: RANDOM.standard_normal((n, n)),
    "a companion matrix": lambda n: np.vstack([RANDOM.standard_normal(n), np.eye(n)[:-1]]),
    "an upper triangle": lambda n: np.triu(RANDOM.standard_normal((n, n))),
    "a lower triangle": lambda n: np.tril(RANDOM.standard_normal((n, n))),
    "few elements": lambda n: RANDOM.standard_normal((n, n)) * ((RANDOM.random((n, n)) < 0.3) | (np.eye(n) > 0)),
    "badly scaled": lambda n: 10.0 ** RANDOM.integers(-4, 5, (n, 1)) * RANDOM.standard_normal((n, n)),
    "stochastic": lambda n: (x := RANDOM.random((n, n))) / x.sum(1, keepdims=True),
    "skew": lambda n: (x := RANDOM.standard_normal((n, n))) - x.T,
    "a rotation": lambda n: np.linalg.qr(RANDOM.standard_normal((n, n)))[0],
    "an oscillator": lambda n: np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.diag(1.0 + np.arange(n)), -0.1 * np.eye(n)]]
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalues_come_in_lapacks_order(kind: str) -> None:
    run = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])
    for n in (1, 2, 3, 4, 6, 9):
        for _ in range(4):
            a = KINDS[kind](n)
            wanted = parts(np.linalg.eigvals(a))
            np.testing.assert_allclose(run(a)[0], wanted, rtol=0, atol=1e-9 * np.abs(wanted).max(initial=1e-300))


HARD: dict[str, Array] = {
    "nothing": np.zeros((0, 0)),
    "zero": np.zeros((3, 3)),
    "the unit matrix": np.eye(4),
    "a Jordan block": np.eye(3) * 2 + np.eye(3, k=1),
    "a cycle": np.roll(np.eye(6), 1, 0),
    "tiny": 1e-200 * normal(4, 4),
    "huge": 1e300 * normal(4, 4),
    "elements far apart": np.array([[1.0, 1e-300], [1e300, 2.0]]) * 1e-5,
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", HARD)
def test_hard_matrices_have_numpys_eigenvalues(name: str) -> None:
    a = HARD[name]
    wanted = parts(np.linalg.eigvals(a))
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])(a)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max(initial=1e-300))


def no_basis(n: int) -> Array:
    return 2 * np.eye(n) + np.eye(n, k=1)


@pytest.mark.sweep(2)
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


@pytest.mark.sweep(2)
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


@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (3, 1, 1), (2, 3, 4, 4)])
def test_a_stack_may_have_any_sizes(shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    names = [f"B{i}" for i in range(len(shape) - 2)]
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), [*names, "N", "N"])(a)
    np.testing.assert_allclose(found, parts(np.linalg.eigvals(a)), rtol=0, atol=1e-12)


def test_a_matrix_that_is_not_finite_has_nan_where_numpy_raises() -> None:
    (found,) = session(lambda a: parts(np.linalg.eigvals(a)), ["N", "N"])(np.array([[1.0, np.nan], [0.0, 1.0]]))
    assert np.isnan(found).all()


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


def test_roots_of_fewer_coefficients_than_there_are_places_are_nan() -> None:
    (found,) = session(lambda p: parts(np.roots(p)), ["N"])(np.array([0.0, 1, 2]))
    assert np.isnan(found).all()


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


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1, "keepdims": True}, {"keepdims": True}])
def test_the_extrema_of_complex_numbers_are_numpys(options: dict[str, Any]) -> None:
    def extrema(x: Any, y: Any) -> Any:
        z = x + 1j * y
        return (
            parts(np.max(z, **options)), parts(z.min(**options)), np.argmax(z, **options), z.argmin(**options)
        )  # fmt: skip

    for x, y in ((np.array([[2.0, 1, 2], [0, 0, -1]]), np.array([[1.0, 4, -1], [3, 1, 2]])), normal(2, 3, 4)):
        for found, wanted in zip(ps.trace(extrema, x, y)(x, y), extrema(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)
            assert found.shape == np.shape(wanted)


def test_the_extrema_of_complex_numbers_with_nan_are_nan() -> None:
    def extrema(x: Any) -> Any:
        return parts(np.max(x + 1j)), parts(np.min(x + 1j))

    x = np.array([1.0, np.nan, 2.0])
    assert np.isnan(np.stack(ps.trace(extrema, x)(x))[:, 0]).all()


def test_complex_numbers_are_sorted_by_real_then_imaginary_part() -> None:
    x, y = np.array([[2.0, 1, 2, np.nan], [0, 0, -1, 5]]), np.array([[1.0, 4, -1, 0], [3, 1, 2, 2]])

    def ordered(x: Any, y: Any) -> Any:
        z = x + 1j * y
        z.sort()
        return (
            parts(np.sort(x + 1j * y, axis=None)),
            np.argsort(x + 1j * y, axis=0),
            parts(z),
            parts(np.sort_complex(x)),
        )

    for found, wanted in zip(ps.trace(ordered, x, y)(x, y), ordered(x, y), strict=True):
        np.testing.assert_array_equal(found, wanted)
