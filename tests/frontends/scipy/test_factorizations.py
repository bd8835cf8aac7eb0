"""scipy.linalg's factors of matrices and matrices of few numbers: SciPy's values by its own names, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((3, 3)) * 0.4 + 1.5 * np.eye(3)
B = RANDOM.standard_normal((3, 3))
Q = RANDOM.standard_normal((3, 2))
V, W = RANDOM.standard_normal(3) + 2, RANDOM.standard_normal(3)
TURNED = sl.expm(np.array([[0.0, 0.3, -0.2], [-0.3, 0.0, 0.5], [0.2, -0.5, 0.0]]))


def symmetric(x: Any) -> Any:
    return x @ x.T + np.eye(x.shape[0])


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "lu": (lambda b: sl.lu(b), (B,)),
    "lu with rows in place": (lambda b: sl.lu(b, permute_l=True), (B,)),
    "lu with a permutation": (lambda b: sl.lu(b, p_indices=True)[1:], (B,)),
    "lu_solve": (lambda b, q: sl.lu_solve(sl.lu_factor(b), q), (B, Q)),
    "lu_solve transposed": (lambda b, q: sl.lu_solve(sl.lu_factor(b), q[:, 0], trans=1), (B, Q)),
    "lu_factor": (lambda b: sl.lu_factor(b), (B,)),
    "lu_solve of known factors": (lambda lu, q: sl.lu_solve((lu, sl.lu_factor(B)[1]), q), (sl.lu_factor(B)[0], Q)),
    "lu_solve of a known matrix": (lambda q: sl.lu_solve(sl.lu_factor(B), q), (Q,)),
    "qr": (lambda b: sl.qr(b), (B,)), "qr economic": (lambda q: sl.qr(q, mode="economic"), (Q,)),
    "polar": (lambda b: sl.polar(b), (B,)), "polar left": (lambda b: sl.polar(b, side="left"), (B,)),
    "orthogonal_procrustes": (lambda a, b: sl.orthogonal_procrustes(a, b), (A, B)),
    "polar of equal values": (lambda a: sl.polar(a), (TURNED,)),
    "polar of a high matrix": (lambda a: sl.polar(a), (np.eye(5)[:, :3],)),
    "polar of a wide matrix": (lambda q: sl.polar(q.T, side="left"), (Q,)),
    "orthogonal_procrustes of equal values": (lambda a: sl.orthogonal_procrustes(a, np.eye(3)), (2.0 * np.eye(3),)),
    "a unitary factor of equal values": (
        lambda a, b: np.real((1 + 2j) * sl.orthogonal_procrustes(a + 1j * b, np.eye(3))[0]), (np.eye(3), 0 * B)
    ),
    "pinvh": (lambda b: sl.pinvh(symmetric(b)), (B,)),
    "eigh_tridiagonal": (lambda v, w: sl.eigh_tridiagonal(v, w[:2])[0], (V, W)),
    "eigvalsh_tridiagonal": (lambda v, w: sl.eigvalsh_tridiagonal(v, w[:2]), (V, W)),
    "the highest of eigh": (lambda b: sl.eigh(symmetric(b), subset_by_index=[1, 2])[1] ** 2, (B,)),
    "the lowest of eigvalsh": (lambda a, b: sl.eigvalsh(a, symmetric(b), subset_by_index=(0, 1)), (A + A.T, B)),
    "the lowest of eigh_tridiagonal": (
        lambda v, w: sl.eigh_tridiagonal(v, w[:2], select="i", select_range=(0, 1))[1] ** 2, (V, W)
    ),
    "hankel": (lambda v, w: sl.hankel(v, w), (V, W)), "hankel of a column": (lambda v: sl.hankel(v), (V,)),
    "companion": (lambda v: sl.companion(v), (V,)), "khatri_rao": (lambda b, q: sl.khatri_rao(b.T[:, :2], q), (B, Q)),
    "solve_toeplitz": (lambda v, w: sl.solve_toeplitz(v + np.array([9, 0, 0]), w), (V, W)),
    "matmul_toeplitz": (lambda v, w: sl.matmul_toeplitz((v, w), w), (V, W)),
}  # fmt: skip


LONG = {"polar left", "lu with rows in place", "lu with a permutation", "lu_solve transposed", "qr economic"}
"""Options of functions that other rows differentiate: slow tests."""


@pytest.mark.sweep(28)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in LONG)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda *xs: function(*xs), *given, modes=("reverse", "forward"), value_tolerance=1e-9)


def test_one_file_serves_every_size() -> None:
    def solved(b: Any, q: Any) -> Any:
        return sl.lu_solve(sl.lu_factor(b), q)

    program = ps.trace(solved, ps.spec("float64", ["N", "N"]), ps.spec("float64", ["N", 2]))
    for n in (1, 3):
        np.testing.assert_allclose(program(B[:n, :n], Q[:n]), solved(B[:n, :n], Q[:n]), rtol=1e-9, atol=1e-12)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_pivots_are_lapacks_exchanges_in_and_out(count: int) -> None:
    matrix = np.roll(np.random.default_rng(count).standard_normal((5, 5)), 2)[:count, :count]
    right = np.arange(1.0, 1 + count)
    sizes: list[Any] = [ps.spec("float64", ["N", "N"]), ps.spec("int32", ["N"]), ps.spec("float64", ["N"])]
    factors, pivots = ps.trace(lambda a: sl.lu_factor(a), sizes[0])(matrix)
    wanted, exchanged = sl.lu_factor(matrix)
    np.testing.assert_allclose(factors, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(pivots, exchanged, strict=True)
    for trans in (0, 1):
        solved = ps.trace(lambda f, p, b, t=trans: sl.lu_solve((f, p), b, trans=t), *sizes)(wanted, exchanged, right)
        np.testing.assert_allclose(solved, sl.lu_solve((wanted, exchanged), right, trans=trans), rtol=1e-9)


def test_what_there_is_no_form_of_is_told() -> None:
    with pytest.raises(UnsupportedFunction, match="pivoting=True"):
        ps.trace(lambda b: sl.qr(b, pivoting=True)[0], B)


def test_what_a_factor_of_low_rank_leaves_open_has_no_gradient_and_what_it_does_not_has_one() -> None:
    """Two of the singular values are 0: two directions may be turned as one likes, which the distance does not tell."""
    line = np.outer(W, [1.0, 2.0, -1.0])

    def distance(a: Any) -> Any:
        return np.sum((a @ sl.orthogonal_procrustes(a, B)[0] - B) ** 2)

    turn = sl.orthogonal_procrustes(line, B)[0]
    direction = np.outer(W, [0.3, -0.1, 0.2])
    wanted = np.sum(2 * (line @ turn - B) * (direction @ turn))  # a minimum over turns has the derivative at the best
    np.testing.assert_allclose(np.sum(ps.grad(distance)(line) * direction), wanted, rtol=1e-9)
    assert not np.isfinite(ps.grad(lambda a: sl.orthogonal_procrustes(a, B)[0][0, 1])(line)).all()
