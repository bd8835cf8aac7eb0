"""scipy.linalg of complex matrices: SciPy's values by its own names, and gradients by both parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import primsplit as ps
from primsplit.ir.errors import ShapeError, UnsupportedFunction
from tests.numpy.agreement import check_grads
from tests.numpy.complex.rows import parts

RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return RANDOM.standard_normal(shape) + 1j * RANDOM.standard_normal(shape)


A = 0.4 * numbers(3, 3) + 1.5 * np.eye(3)
B, Q, V, W = numbers(3, 3), numbers(3, 2), numbers(3) + 2, numbers(3)
HERMITIAN = B @ B.conj().T + np.eye(3)
BANDS = numbers(3, 3) + 4 * np.eye(3)[1][:, None]


def hermitian(b: Any) -> Any:
    return b @ b.conj().T + np.eye(3)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{n: (lambda a, n=n: getattr(sl, n)(a * 0.5), (A,)) for n in ("sqrtm", "logm", "cosm", "sinm", "tanm", "tanhm")},
    "fractional_matrix_power": (lambda a: sl.fractional_matrix_power(a, 0.3), (A,)),
    "a whole power": (lambda a: sl.fractional_matrix_power(a, -2), (A,)),
    "expm_frechet": (lambda a, b: sl.expm_frechet(a, b), (A, B)),
    "polar": (lambda b: sl.polar(b), (B,)),
    "polar left": (lambda q: sl.polar(q, side="left"), (Q,)),
    "orthogonal_procrustes": (lambda a, b: sl.orthogonal_procrustes(a, b), (A, B)),
    "orthogonal_procrustes of a real matrix": (lambda b: sl.orthogonal_procrustes(A.real, b), (B,)),
    "pinvh": (lambda b: sl.pinvh(hermitian(b)), (B,)),
    "solve_triangular": (lambda a, q: sl.solve_triangular(a, q, lower=True, trans=2), (A, Q)),
    "solve_triangular of a vector": (lambda a, v: sl.solve_triangular(a, v, unit_diagonal=True, trans=1), (A, V)),
    "cho_solve": (lambda b, q: sl.cho_solve(sl.cho_factor(hermitian(b)), q), (B, Q)),
    "cho_solve lower": (lambda b, v: sl.cho_solve(sl.cho_factor(hermitian(b), lower=True), v), (B, V)),
    "solve_banded": (lambda a, v: sl.solve_banded((1, 1), a, v), (BANDS, V)),
    "solveh_banded": (lambda a, v: sl.solveh_banded(np.stack([a[0], a[1].real]), v), (BANDS, V)),
    "solveh_banded lower": (lambda a, v: sl.solveh_banded(np.stack([a[1].real, a[0]]), v, lower=True), (BANDS, V)),
    "solve_sylvester": (lambda a, b, q: sl.solve_sylvester(a, 0.1 * b[:2, :2], q), (A, B, Q)),
    "solve_continuous_lyapunov": (lambda a, b: sl.solve_continuous_lyapunov(a, b), (A, B)),
    "solve_lyapunov of a real matrix": (lambda b: sl.solve_lyapunov(A.real, b), (B,)),
    "solve_discrete_lyapunov": (lambda a, b: sl.solve_discrete_lyapunov(0.3 * a, b), (A, B)),
    "solve_toeplitz": (lambda v, w: sl.solve_toeplitz((v + np.array([9, 0, 0]), w), w), (V, W)),
    "matmul_toeplitz": (lambda v, w: sl.matmul_toeplitz((v, w), w), (V, W)),
    "lu": (lambda b: sl.lu(b)[1:], (B,)),
    "lu with rows in place": (lambda b: sl.lu(b, permute_l=True), (B,)),
    "lu_factor": (lambda b: sl.lu_factor(b)[0], (B,)),
    **{
        f"lu_solve {trans}": (lambda b, q, t=trans: sl.lu_solve(sl.lu_factor(b), q, trans=t), (B, Q))
        for trans in (0, 1, 2)
    },
    "hankel": (lambda v, w: sl.hankel(v, w) + sl.companion(np.append(v, w[0])), (V, W)),
    "khatri_rao": (lambda b, q: sl.khatri_rao(b[:2, :2], q), (B, Q)),
}  # fmt: skip
SLOW = {
    "logm", "fractional_matrix_power", "tanhm", "tanm", "cosm", "polar left", "expm_frechet", "cho_solve lower",
    "lu_solve 1", "lu with rows in place",
}  # fmt: skip
"""Rows that take seconds to differentiate, or repeat what other rows cover."""


@pytest.mark.sweep(9)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in FUNCTIONS])
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]

    def f(*both: Any) -> Any:
        return parts(function(*(x + 1j * y for x, y in zip(both[::2], both[1::2], strict=True))))

    check_grads(f, *(p for z in given for p in (z.real, z.imag)), symbolic=False, value_tolerance=1e-9)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", ["sqrtm", "sinm", "solve_triangular", "polar"])
def test_one_file_serves_every_size_and_complex64(name: str) -> None:
    function, given = FUNCTIONS[name]
    specs = [ps.spec("complex128", ["N", "N"] if i == 0 else ["N", 2]) for i in range(len(given))]
    program = ps.trace(lambda *z: function(*z), *specs)
    for count in (1, 3):
        cut = [z[:count, : count if z.shape[1] == 3 else 2] for z in given]
        for found, wanted in zip(parts(program(*cut)), parts(function(*cut)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    narrow = [z.astype(np.complex64) for z in given]
    pairs = zip(parts(ps.trace(lambda *z: function(*z), *narrow)(*narrow)), parts(function(*narrow)), strict=True)
    for found, wanted in pairs:
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_pivots_are_lapacks(count: int) -> None:
    numbers = np.random.default_rng(count).standard_normal((5, 5))
    a = np.roll(numbers, 2)[:count, :count] * (1 + 2j) * 1j ** np.arange(count)

    def f(a: Any) -> Any:
        return (*sl.lu_factor(a), *sl.lu(a, p_indices=True), sl.lu(a)[0])

    program, wanted = ps.trace(f, ps.spec("c128", ["N", "N"])), f(a)
    for found, each in zip(program(a), wanted, strict=True):
        np.testing.assert_allclose(found, each, rtol=1e-10, atol=1e-13)


def test_a_root_on_the_cut_is_no_number() -> None:
    turned = np.array([[-1.0, 0.0], [0.0, 2j]])
    assert np.isnan(ps.trace(lambda a: sl.sqrtm(a), turned)(turned)).any()


@pytest.mark.parametrize(
    ("error", "told", "function"),
    [
        (UnsupportedFunction, "ps.vmap", lambda a: sl.lu(a[None])),
        (UnsupportedFunction, "np.linalg.solve", lambda a: sl.eigvals(a, np.eye(3))),
        (UnsupportedFunction, "real matrices", lambda a: sl.solve_continuous_are(a, a, np.eye(3), np.eye(3))),
        (ShapeError, "np.ravel", lambda a: sl.toeplitz(a)),
    ],
)
def test_what_stays_out_names_the_way_out(error: Any, told: str, function: Any) -> None:
    with pytest.raises(error, match=told):
        ps.trace(function, A)


@pytest.mark.parametrize("side", ["right", "left"])
def test_polar_factors_of_several_matrices_are_scipys_one_by_one(side: str) -> None:
    several = np.stack([A, B])
    unitary, hermitian_part = ps.trace(lambda a: sl.polar(a, side=side), several)(several)
    for place, matrix in enumerate(several):
        first, second = sl.polar(matrix, side=side)
        np.testing.assert_allclose(unitary[place], first, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(hermitian_part[place], second, rtol=1e-11, atol=1e-12)
