"""eigh, svd and what is made of them: values against LAPACK, gradients of what has no sign, hard matrices."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import primsplit as ps
from primsplit.ir.errors import MissingRule, PrimsplitError
from tests.numpy.agreement import check_agrees, check_grads, session
from tests.numpy.matrices import normal, symmetric
from tests.pointwise import gradient

Array = np.ndarray[Any, Any]
EPS = np.finfo(float).eps


def turned(values: list[float], seed: int = 1) -> Array:
    """A symmetric matrix with these eigenvalues."""
    q = np.linalg.qr(normal(len(values), len(values), seed=seed))[0]
    found: Array = (q * values) @ q.T
    return found


def reduced(a: Any) -> Any:
    return np.linalg.svd(a, full_matrices=False)


def of_symmetric(a: Any) -> Any:
    """exp(A) by its eigenvectors."""
    w, v = np.linalg.eigh(a)
    return (v * np.exp(0.3 * w)[..., None, :]) @ np.swapaxes(v, -1, -2)


def with_a_cutoff(a: Any) -> Any:
    return np.linalg.pinv(a, rcond=0.3)


def rescaled(a: Any) -> Any:
    """U f(s) V^T for an odd function f."""
    u, s, vh = reduced(a)
    return (u * np.sin(s)[..., None, :]) @ vh


def polar(a: Any) -> Any:
    u, _, vh = reduced(a)
    return u @ vh


def projectors(a: Any) -> Any:
    u, _, vh = reduced(a)
    return u[..., :2] @ np.swapaxes(u[..., :2], -1, -2), np.swapaxes(vh[..., :2, :], -1, -2) @ vh[..., :2, :]


SPECTRAL: dict[str, tuple[Callable[..., Any], Array]] = {
    "eigvalsh": (np.linalg.eigvalsh, symmetric(4, 4)),
    "eigvalsh of the upper triangle of a batch": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), normal(2, 3, 3)),
    "a function of eigenvalues and vectors": (of_symmetric, symmetric(4, 4)),
    "a function of a batch": (of_symmetric, normal(2, 3, 3)),
    "squares of vectors": (lambda a: np.linalg.eigh(a, UPLO="U").eigenvectors ** 2, symmetric(3, 3)),
    "svdvals of a tall matrix": (np.linalg.svdvals, normal(4, 3)),
    "svdvals of a batch of wide matrices": (lambda a: np.linalg.svd(a, compute_uv=False), normal(2, 2, 4)),
    "a function by svd of a tall matrix": (rescaled, normal(4, 3)),
    "a function by svd of a wide batch": (rescaled, normal(2, 2, 4)),
    "the polar factor": (polar, normal(3, 3)),
    "svd of a symmetric matrix": (lambda a: np.linalg.svd(a, hermitian=True).S, symmetric(3, 3)),
    "the spectral norm": (lambda a: np.linalg.norm(a, 2), normal(4, 3)),
    "the least singular value along other axes": (lambda a: np.linalg.norm(a, -2, axis=(2, 0)), normal(4, 2, 3)),
    "the nuclear norm": (lambda a: np.linalg.norm(a, "nuc", axis=(0, 1), keepdims=True), normal(3, 4, 2)),
    "cond": (np.linalg.cond, normal(4, 3)),
    "cond, the inverse of it": (lambda a: np.linalg.cond(a, -2), normal(2, 3, 3)),
    "pinv of a tall matrix": (np.linalg.pinv, normal(4, 3)),
    "pinv of a wide batch": (np.linalg.pinv, normal(2, 2, 4)),
    "pinv without what is faint": (with_a_cutoff, normal(4, 3)),
    "pinv of a wide batch without what is faint": (with_a_cutoff, normal(2, 2, 4)),
    "lstsq without what is faint": (lambda a: np.linalg.lstsq(a, normal(4, 2, seed=1), rcond=0.3)[0], normal(4, 3)),
}


ONCE = {
    "eigvalsh of the upper triangle of a batch",
    "the polar factor",
    "svdvals of a batch of wide matrices",
    "svd of a symmetric matrix",
    "the least singular value along other axes",
    "the nuclear norm",
    "cond, the inverse of it",
    "pinv of a wide batch",
    "pinv of a wide batch without what is faint",
}
"""Rows that are differentiated once, to save time: their second derivatives use the rules of other rows."""


@pytest.mark.sweep(15)
@pytest.mark.parametrize("name", SPECTRAL)
def test_a_function_and_its_gradients_are_numpys(name: str) -> None:
    function, point = SPECTRAL[name]
    check_grads(function, point, value_tolerance=1e-10, resize=(1,), order=1 if name in ONCE else 2)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("p", [1, -1, np.inf, -np.inf, "fro"])
def test_the_condition_in_other_norms_is_numpys(p: Any) -> None:
    check_grads(lambda a: np.linalg.cond(a, p), normal(3, 3) + 2 * np.eye(3), order=1, resize=(1,))


def test_projectors_on_a_few_vectors_need_no_other_gap() -> None:
    """Two or more eigenvalues of a covariance of rank two are 0 but for rounding: their vectors have no derivative."""

    def leading(x: Any) -> Any:
        v = np.linalg.eigh(x @ x.T)[1][:, -1:]
        return v * v.T

    check_grads(leading, normal(5, 2), order=1)
    check_grads(lambda a: projectors(a)[0][..., :1], normal(5, 2) @ normal(2, 4, seed=1), order=1, symbolic=False)
    check_grads(projectors, normal(4, 3), order=1)


SIZED: list[tuple[str, Callable[..., Any], tuple[int, ...]]] = [
    ("eigvalsh", np.linalg.eigvalsh, (0, 0)),
    ("eigvalsh", np.linalg.eigvalsh, (1, 1)),
    ("eigvalsh", np.linalg.eigvalsh, (0, 3, 3)),
    ("eigvalsh", np.linalg.eigvalsh, (2, 0, 0)),
    ("eigvalsh", np.linalg.eigvalsh, (2, 7, 7)),
    ("svdvals", np.linalg.svdvals, (0, 0)),
    ("svdvals", np.linalg.svdvals, (3, 0)),
    ("svdvals", np.linalg.svdvals, (0, 3)),
    ("svdvals", np.linalg.svdvals, (1, 5)),
    ("svdvals", np.linalg.svdvals, (2, 6, 3)),
    ("matrix_rank", np.linalg.matrix_rank, (2, 3, 5)),
    ("pinv", np.linalg.pinv, (2, 3, 5)),
    ("pinv", np.linalg.pinv, (1, 1)),
]


@pytest.mark.sweep(6)
@pytest.mark.parametrize(("function", "shape"), [r[1:] for r in SIZED], ids=[f"{r[0]} {r[2]}" for r in SIZED])
def test_a_symbolic_size_may_be_zero_or_one(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    a = normal(*shape)
    a = a + np.swapaxes(a, -1, -2) if shape[-1] == shape[-2] else a
    names: list[int | str] = ["B", "M", "N"][-len(shape) :]  # type: ignore[assignment]
    if function is np.linalg.eigvalsh:
        names[-2] = "N"
    (found,) = session(function, names)(a)
    wanted = function(a)
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_full_matrices_are_bases_and_several_added_vectors_have_no_gradient(shape: tuple[int, int], dtype: str) -> None:
    a = normal(*shape).astype(dtype)
    u, s, vh = session(np.linalg.svd, ["M", "N"], dtype=dtype)(a)
    tolerance = 50 * float(np.finfo(dtype).eps)
    assert u.dtype == s.dtype == vh.dtype == dtype
    np.testing.assert_allclose(u @ u.T, np.eye(shape[0]), atol=tolerance)
    np.testing.assert_allclose(vh @ vh.T, np.eye(shape[1]), atol=tolerance)
    count = min(shape)
    np.testing.assert_allclose((u[:, :count] * s) @ vh[:count], a, atol=tolerance)
    if dtype == "float64":
        check_grads(lambda a: np.linalg.svd(a)[1], a, order=1, symbolic=False)
    if shape[0] != shape[1]:
        with pytest.raises(MissingRule, match="full_matrices"):
            ps.split(lambda a: sum(np.sum(part) for part in np.linalg.svd(a)[::2]), a)


def null_vector(a: Any) -> Any:
    """As the direct linear transform finds a homography."""
    v = np.linalg.svd(a)[2][..., -1, :]
    return v[..., :-1] / v[..., -1:]


@pytest.mark.sweep(2)
@pytest.mark.parametrize("a", [normal(2, 4, 5), np.eye(2, 3) * 2 + [0.0, 0.0, 1.0]], ids=["a batch", "equal values"])
def test_a_single_vector_that_completes_the_basis_has_its_gradient(a: Array) -> None:
    check_grads(null_vector, a, symbolic=False)
    check_grads(lambda x: np.linalg.svd(x)[0][..., -1] ** 2, np.swapaxes(a, -1, -2), symbolic=False)


SYMMETRIC = {
    "random": symmetric(40, 40),
    "an odd size": symmetric(33, 33),
    "of ones": np.ones((20, 20)),
    "Hilbert": scipy.linalg.hilbert(12),
    "a Hadamard matrix": scipy.linalg.hadamard(16).astype(float),
    "Wilkinson": np.diag(np.abs(np.arange(-10.0, 11))) + np.diag(np.ones(20), 1) + np.diag(np.ones(20), -1),
    "a flip": np.eye(9)[::-1].copy(),
    "two eigenvalues": turned([1.0] * 6 + [-1.0] * 6),
    "graded": np.diag(10.0 ** -np.arange(10)) @ symmetric(10, 10) @ np.diag(10.0 ** -np.arange(10)),
    "zero": np.zeros((4, 4)),
    "huge": symmetric(5, 5) * 1e300,
    "tiny": symmetric(5, 5) * 1e-300,
    "ones beside 1e-8": np.ones((30, 30)) + 1e-8 * np.eye(30),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SYMMETRIC)
def test_eigenvectors_are_orthonormal_and_eigenvalues_right_to_units_of_the_largest(name: str, dtype: str) -> None:
    a = SYMMETRIC[name]
    if dtype == "float32":
        a = a / max(np.max(np.abs(a)), 1e-300)
    a = a.astype(dtype)
    w, v = session(np.linalg.eigh, ["N", "N"], dtype=dtype)(a)
    assert w.dtype == v.dtype == dtype
    unit, wide = float(np.finfo(dtype).eps) * len(a), a.astype(float)
    size = np.max(np.abs(wide))
    np.testing.assert_allclose(w, np.linalg.eigvalsh(wide), rtol=0, atol=4 * unit * size)
    np.testing.assert_allclose(wide @ v, v * w.astype(float), rtol=0, atol=4 * unit * size)
    np.testing.assert_allclose(v.T @ v, np.eye(len(a)), rtol=0, atol=unit + 8 * unit / len(a))
    assert np.all(np.diff(w) >= 0)


GENERAL = {
    "equal rows and values": np.ones((3, 3)) + np.eye(3),
    "random": normal(30, 30),
    "tall": normal(40, 7),
    "wide": normal(7, 40),
    "rank 3 of 20": normal(20, 3) @ normal(3, 20, seed=1),
    "columns of zeros": normal(8, 8) * np.array([1.0, 0, 1, 0, 1, 1, 0, 1]),
    "zero": np.zeros((5, 4)),
    "nilpotent": np.diag(np.ones(5), 1),
    "of rank one": np.outer(np.arange(1.0, 9), np.arange(8.0)),
    "Vandermonde": np.vander(np.linspace(0, 1, 15)),
    "orthogonal": np.linalg.qr(normal(12, 12))[0],
    "a triangle of ones": np.triu(np.ones((30, 30))),
    "huge": normal(4, 6) * 1e300,
    "tiny": normal(6, 4) * 1e-300,
}


@pytest.mark.sweep(6)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", GENERAL)
def test_singular_vectors_are_orthonormal_also_without_full_rank(name: str, dtype: str) -> None:
    a = GENERAL[name]
    if dtype == "float32":
        a = a / max(np.max(np.abs(a)), 1e-300)
    a = a.astype(dtype)
    u, s, vh = session(reduced, ["M", "N"], dtype=dtype)(a)
    wide, unit = a.astype(float), float(np.finfo(dtype).eps)
    wanted = np.linalg.svd(wide, compute_uv=False)
    bound = (8 + 2 * len(s)) * unit * max(float(wanted[0]), 1e-320)
    np.testing.assert_allclose(s, wanted, rtol=0, atol=bound)
    np.testing.assert_allclose((u.astype(float) * s) @ vh, wide, rtol=0, atol=bound)
    for part in (u.T @ u, vh @ vh.T):
        np.testing.assert_allclose(part, np.eye(len(s)), rtol=0, atol=(len(s) + 8) * unit)
    assert np.all(np.diff(s) <= 0)
    assert np.all(s >= 0)


def test_small_singular_values_of_graded_rows_keep_their_digits() -> None:
    """The condition is 1e22, which the eigenvalues of A A^T, and LAPACK's usual driver, have no digit of."""
    scales = 10.0 ** -np.arange(0, 24, 2)
    a = np.diag(scales) @ normal(12, 12)
    (found,) = session(np.linalg.svdvals, ["N", "N"])(a)
    wanted = scipy.linalg.svd(a * 1.0, compute_uv=False, lapack_driver="gesvd")
    np.testing.assert_allclose(np.prod(found), np.abs(np.linalg.det(a / scales[:, None])) * np.prod(scales), rtol=1e-12)
    np.testing.assert_allclose(found[:4], wanted[:4], rtol=1e-8)


def test_the_largest_element_of_each_vector_is_positive() -> None:
    _, v = session(np.linalg.eigh, ["N", "N"])(symmetric(6, 6))
    u, _, _ = session(reduced, ["M", "N"])(normal(6, 4))
    for vectors in (v, u):
        assert np.all(np.max(vectors, axis=0) >= -np.min(vectors, axis=0))


def test_singular_values_of_what_is_not_finite_fail_as_in_numpy() -> None:
    a = np.stack([np.eye(3), np.full((3, 3), 2.0), np.diag([1.0, np.nan, 2.0])])
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        np.linalg.svd(a)
    program = ps.trace(lambda a: np.linalg.svd(a)[1], ps.spec("float64", ["B", "N", "N"]))
    assert np.isfinite(program(a[:2])).all()
    for missing in (np.nan, np.inf):
        with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
            program(np.where(np.isnan(a), missing, a))


def test_eigenvalues_of_what_is_not_finite_are_nan_for_their_own_matrix_alone() -> None:
    a = np.stack([np.eye(3), np.full((3, 3), 2.0), np.diag([1.0, np.inf, 2.0]), np.diag([1.0, np.nan, 2.0])])
    for part in session(np.linalg.eigh, ["B", "N", "N"])(a):
        assert np.isfinite(part[:2]).all()
        assert np.isnan(part[2:]).all()


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("shift", [0.0, np.array([[0.0, -1j], [1j, 0.0]])], ids=["symmetric", "Hermitian"])
def test_eigenvalues_of_what_is_not_finite_have_no_finite_slope(wrong: float, shift: Any) -> None:
    slopes = ps.grad(lambda a: np.sum(np.linalg.eigvalsh(a + shift)))(np.diag([1.0, wrong]))
    assert np.isnan(slopes[np.tril_indices(2)]).all()


DEGENERATE = {
    "the identity": np.eye(3),
    "two equal by rounding": turned([1.0, 1.0, 2.0]),
    "equal but for one unit": np.diag([1.0, 1.0 + EPS, 2.0]),
    "zero": np.zeros((3, 3)),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", DEGENERATE)
def test_the_gradient_through_vectors_of_equal_eigenvalues_is_not_finite(name: str) -> None:
    a = DEGENERATE[name]
    assert not np.isfinite(gradient(of_symmetric, a)).all()
    assert not np.isfinite(gradient(rescaled, a)).all()
    found = gradient(lambda x: np.linalg.eigh(x)[0] ** 3, a)
    np.testing.assert_allclose(found, np.tril(6 * a @ a) - np.diag(np.diag(3 * a @ a)), atol=1e-14)


def test_functions_of_equal_singular_values_that_are_smooth_have_their_gradient() -> None:
    a = np.linalg.qr(normal(4, 3))[0] * 2
    np.testing.assert_allclose(gradient(lambda x: np.linalg.svdvals(x) ** 2, a), 2 * a, atol=1e-14)
    np.testing.assert_allclose(gradient(lambda x: np.linalg.norm(x, "nuc"), a), a / 2, atol=1e-14)


def test_the_nuclear_norm_of_zero_has_the_gradient_zero() -> None:
    zero = np.zeros((3, 2))
    np.testing.assert_array_equal(gradient(lambda x: np.linalg.norm(x, "nuc") + np.linalg.norm(x, 2), zero), zero)


def test_forward_mode_and_the_second_derivative_agree_with_differences() -> None:
    a, direction = symmetric(4, 4), symmetric(4, 4, seed=1)
    _, tangent = ps.jvp(of_symmetric, (a,), (direction,))
    step = 1e-5
    wanted = (of_symmetric(a + step * direction) - of_symmetric(a - step * direction)) / (2 * step)
    np.testing.assert_allclose(tangent, wanted, atol=1e-8)
    b, other = normal(4, 3), normal(4, 3, seed=2)
    _, tangent = ps.jvp(rescaled, (b,), (other,))
    wanted = (rescaled(b + step * other) - rescaled(b - step * other)) / (2 * step)
    np.testing.assert_allclose(tangent, wanted, atol=1e-8)


def test_a_batch_by_vmap_is_the_stack_of_its_examples() -> None:
    a = symmetric(3, 4, 4)
    np.testing.assert_allclose(ps.vmap(of_symmetric)(a), of_symmetric(a), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(ps.vmap(np.linalg.svdvals)(a), np.linalg.svdvals(a), rtol=1e-12)


RANKS: list[Callable[..., Any]] = [
    np.linalg.matrix_rank,
    lambda a: np.linalg.matrix_rank(a, tol=1e-3),
    lambda a: np.linalg.matrix_rank(a, rtol=0.5),
    lambda a: np.linalg.matrix_rank(a, hermitian=True),
]
RANKED = [np.zeros((3, 3)), np.eye(3), normal(4, 2) @ normal(2, 5), np.diag([1.0, 1e-20, 0.0]), normal(2, 3, 3)]


@pytest.mark.sweep(5)
@pytest.mark.parametrize("a", RANKED)
def test_matrix_rank_is_numpys(a: Array) -> None:
    for function in RANKS[: 4 if a.shape[-1] == a.shape[-2] else 3]:
        check_agrees(function, a)
    assert not gradient(lambda x: np.linalg.matrix_rank(x) * 1.0, a).any()


def test_matrix_rank_of_a_vector_is_one_unless_it_is_zero() -> None:
    for x in (np.zeros(3), np.array([0.0, 1.0])):
        assert ps.trace(np.linalg.matrix_rank, x)(x) == np.linalg.matrix_rank(x)


def test_the_condition_of_a_singular_or_infinite_matrix_is_infinite() -> None:
    a = np.stack([np.zeros((2, 2)), np.diag([np.inf, 1.0]), np.diag([1.0, 0.0])])
    (found,) = session(np.linalg.cond, ["B", "N", "N"])(a)
    np.testing.assert_array_equal(found, [np.inf, np.inf, np.inf])


FLAT = [(4, 3), (3, 4), (3, 3)]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", FLAT)
def test_the_pseudo_inverse_of_a_matrix_without_full_rank_and_its_gradient_where_the_rank_stays(
    shape: tuple[int, int],
) -> None:
    left, right = normal(shape[0], 2), normal(2, shape[1], seed=1)
    check_agrees(np.linalg.pinv, left @ right)
    check_agrees(with_a_cutoff, normal(*shape))
    is_first = shape == FLAT[0]
    check_grads(
        lambda x, y: np.linalg.pinv(x @ y, rcond=1e-6), left, right, order=1, value_tolerance=1e-10, symbolic=is_first
    )


@pytest.mark.sweep(3)
@pytest.mark.parametrize("rcond", [0.3, -1.0, 1e-15])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_least_squares_takes_no_account_of_what_is_faint(shape: tuple[int, int], rcond: float) -> None:
    a, b = normal(*shape), normal(shape[0], 2, seed=1)
    found = ps.trace(lambda a, b: tuple(np.linalg.lstsq(a, b, rcond=rcond)), a, b)(a, b)
    for ours, numpys in zip(found, np.linalg.lstsq(a, b, rcond=rcond), strict=True):
        assert np.shape(ours) == np.shape(numpys)
        np.testing.assert_allclose(ours, numpys, rtol=1e-10, atol=1e-12)


def test_least_squares_gives_the_singular_values_too() -> None:
    a, b = normal(6, 3), normal(6, seed=1)
    found = ps.trace(lambda a, b: np.linalg.lstsq(a, b, rcond=None)[3], a, b)(a, b)
    np.testing.assert_allclose(found, np.linalg.svdvals(a), rtol=1e-13)


ANOTHER: Any = "X"
WRONG: list[tuple[str, Callable[..., Any], Array]] = [
    ("another triangle", lambda a: np.linalg.eigh(a, UPLO=ANOTHER), normal(3, 3)),
    ("not square", np.linalg.eigvalsh, normal(3, 4)),
    ("both tolerances", lambda a: np.linalg.matrix_rank(a, 0.1, rtol=0.1), normal(3, 3)),
    ("both cutoffs", lambda a: np.linalg.pinv(a, 0.1, rtol=0.1), normal(3, 3)),
    ("a vector", np.linalg.svd, normal(3)),
]


@pytest.mark.parametrize(("function", "point"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_what_numpy_refuses_is_refused_at_the_users_line(function: Callable[..., Any], point: Array) -> None:
    with pytest.raises(PrimsplitError) as refused:
        ps.trace(lambda x: function(x), point)
    assert refused.value.place is not None
    assert refused.value.place.filename == __file__


@pytest.mark.sweep(3)
@pytest.mark.parametrize("values", [[3.0, 1.0, 1.0, 0.2], [2.0, 2.0, 2.0, 2.0 + 1e-9], [1.0, 0.0, 0.0, -1.0]])
def test_what_is_loaded_has_the_derivative_of_equal_eigenvalues_too(values: list[float], tmp_path: Path) -> None:
    """A file has no rules: its loops are differentiated, and rounding tells the angles of equal eigenvalues."""
    a = turned(values)
    path = str(tmp_path / "squares.onnx")
    ps.trace(lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), a).save(path)
    of_lower = np.tril(4.0 * a) - 2.0 * np.diag(np.diag(a))
    np.testing.assert_allclose(ps.grad(ps.load(path))(a), of_lower, atol=1e-13)


def test_the_pseudo_inverse_of_float32_leaves_out_what_is_zero() -> None:
    a = np.column_stack([np.ones(6), np.kron(np.eye(2), np.ones((3, 1)))])
    small = a.astype(np.float32)
    found = ps.trace(np.linalg.pinv, small)(small)
    np.testing.assert_allclose(found, np.linalg.pinv(a), rtol=1e-5, atol=1e-6)
    assert found.dtype == np.float32
    slope = ps.grad(lambda a: np.sum(np.linalg.pinv(a) ** 2))
    np.testing.assert_allclose(slope(small), slope(a), rtol=1e-4, atol=1e-6)
