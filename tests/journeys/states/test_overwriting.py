"""Functions that overwrite an array: in-place products of NumPy and BLAS. The caller's arrays stay as they were."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.linalg import blas
from scipy.linalg.blas import dgemm, dgemv, sgemm, sgemv

import primsplit as ps
from primsplit.ir.errors import ShapeError, TraceError, UnsupportedFunction

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(7)

A = np.fromfunction(lambda i, j: ((7 * i + 3 * j) % 11) / 11, (16, 32))
B = np.fromfunction(lambda i, j: ((5 * i + 2 * j) % 13) / 13, (32, 8))
D_C = np.fromfunction(lambda i, j: ((3 * i + j) % 7) / 7, (16, 8))
C = np.full((16, 8), 3.0)


def by_matmul(a: Array, b: Array, c: Array) -> Array:
    np.matmul(a, b, out=c)
    return c


def by_dot(a: Array, b: Array, c: Array) -> Array:
    np.dot(a, b, out=c)
    return c


def by_assignment(a: Array, b: Array, c: Array) -> Array:
    c[...] = a @ b
    return c


def by_fill(a: Array, b: Array, c: Array) -> Array:
    c.fill(0)
    c += a @ b
    return c


def by_copyto(a: Array, b: Array, c: Array) -> Array:
    np.copyto(c, a @ b)
    return c


def by_einsum(a: Array, b: Array, c: Array) -> Array:
    np.einsum("ij,jk->ik", a, b, out=c)
    return c


def by_own_array(a: Array, b: Array, c: Array) -> Array:
    made = np.empty(c.shape)
    return np.dot(a, b, out=made)


OVERWRITING = [by_matmul, by_dot, by_assignment, by_fill, by_copyto, by_einsum, by_own_array]


@pytest.mark.parametrize("product", OVERWRITING, ids=lambda f: f.__name__)
def test_a_product_that_overwrites_has_the_gradients_of_the_product_and_none_of_what_was_there(
    product: Callable[..., Array],
) -> None:
    before = [x.copy() for x in (A, B, C)]
    value, pullback = ps.vjp(product, A, B, C)
    d_a, d_b, d_c = pullback(D_C)
    np.testing.assert_allclose(value[0, :2], [7.062937062937, 6.531468531469], rtol=1e-12)
    np.testing.assert_allclose([d_a.sum(), d_a[0, 0]], [803.1758241758241, 2.0], rtol=1e-12)
    np.testing.assert_allclose([d_b.sum(), d_b[0, 0]], [793.0, 2.8961038961038956], rtol=1e-12)
    np.testing.assert_array_equal(d_c, np.zeros_like(C))
    assert all(np.array_equal(x, y) for x, y in zip(before, (A, B, C), strict=True))


def test_the_value_that_is_overwritten_can_still_be_read_before() -> None:
    def both(a: Array, b: Array, c: Array) -> Array:
        before = np.sum(c**2)
        np.matmul(a, b, out=c)
        return before + np.sum(c)

    _, _, d_c = ps.grad(both, (0, 1, 2))(A, B, C)
    np.testing.assert_allclose(d_c, 2 * C)


def test_an_argument_that_is_not_differentiated_may_be_written_to() -> None:
    def into_second(x: Array, room: Array) -> Array:
        room[...] = 2 * x
        return np.sum(room**2)

    x, room = np.arange(3.0), np.ones(3)
    np.testing.assert_allclose(ps.grad(into_second)(x, room), 8 * x)
    np.testing.assert_allclose(ps.jvp(into_second, (x, room), (x, None))[1], np.sum(8 * x * x))
    np.testing.assert_array_equal(room, np.ones(3))


def matrices(trans_a: int, trans_b: int) -> tuple[Array, Array, Array]:
    a = RANDOM.standard_normal((4, 3) if trans_a else (3, 4))
    b = RANDOM.standard_normal((2, 4) if trans_b else (4, 2))
    return a, b, RANDOM.standard_normal((3, 2))


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("beta", [0.7, 0.0, 1.0])
def test_gemm_has_gradients_by_alpha_beta_and_all_matrices(trans_a: int, trans_b: int, beta: float) -> None:
    def product(alpha: Any, a: Array, b: Array, beta: Any, c: Array) -> Array:
        return np.sum(np.sin(dgemm(alpha, a, b, beta=beta, c=c, trans_a=trans_a, trans_b=trans_b)))

    a, b, c = matrices(trans_a, trans_b)
    ps.testing.check_grads(product, 1.3, a, b, beta, c)


def test_gemm_has_the_gradients_of_its_formula() -> None:
    a, b, c = matrices(0, 1)
    d_c = RANDOM.standard_normal((3, 2))
    _, pullback = ps.vjp(lambda *x: dgemm(x[0], x[1], x[2], beta=x[3], c=x[4], trans_b=1), 1.3, a, b, 0.7, c)
    expected = (np.sum((a @ b.T) * d_c), 1.3 * d_c @ b, 1.3 * d_c.T @ a, np.sum(c * d_c), 0.7 * d_c)
    for found, wanted in zip(pullback(d_c), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("is_static", [True, False])
def test_a_matrix_that_beta_makes_vanish_is_not_read(is_static: bool) -> None:
    def product(alpha: Any, a: Array, b: Array, beta: Any, c: Array) -> Array:
        return np.sum(np.sin(dgemm(alpha, a, b, beta=0.0 if is_static else beta, c=c)))

    a, b, _ = matrices(0, 0)
    nothing = np.array([[np.nan, np.inf], [1.0, np.nan], [-np.inf, 2.0]])
    value, gradients = ps.value_and_grad(product, (0, 1, 2, 3, 4))(1.3, a, b, 0.0, nothing)
    np.testing.assert_allclose(value, product(1.3, a, b, 0.0, nothing), rtol=1e-12)
    assert all(np.isfinite(g).all() for g in gradients)
    clean = ps.grad(product, (0, 1, 2, 3, 4))(1.3, a, b, 0.0, np.where(np.isfinite(nothing), nothing, 0.0))
    for found, wanted in zip(gradients, clean, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("trans", [0, 1])
def test_gemv_has_gradients_too(trans: int) -> None:
    def product(alpha: Any, a: Array, x: Array, beta: Any, y: Array) -> Array:
        return np.sum(np.sin(blas.dgemv(alpha, a, x, beta=beta, y=y, trans=trans)))

    a = RANDOM.standard_normal((4, 3) if trans else (3, 4))
    ps.testing.check_grads(product, 0.8, a, RANDOM.standard_normal(4), -0.4, RANDOM.standard_normal(3))


def test_the_float32_forms_compute_in_float32_as_scipy_does() -> None:
    a, b, c = (np.rint(3 * x) for x in matrices(0, 0))
    for function, arguments in ((sgemm, (1.5, a, b, 0.5, c)), (sgemv, (1.5, a, b[:, 0], 0.5, c[:, 0]))):

        def call(alpha: Any, a: Array, x: Array, beta: Any, y: Array, function: Any = function) -> Array:
            return function(alpha, a, x, beta, y)

        program = ps.trace(call, *arguments)
        found, wanted = program(*arguments), call(*arguments)
        assert found.dtype == wanted.dtype == np.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        # Small whole numbers have exact products in float32, and what is linear in each argument has exact differences
        # for steps of any size: the bound is that of functions of float64.
        ps.testing.check_grads(call, *arguments, step=10.0)


def test_what_blas_is_not_asked_to_overwrite_stays_and_what_it_may_is_read_no_more() -> None:
    a, b, c = matrices(0, 0)

    def result(c: Array) -> Array:
        c = dgemm(1.0, a, b, beta=1.0, c=c, overwrite_c=1)
        return np.sum(c**2)

    def before(c: Array) -> Array:
        return np.sum(dgemm(1.0, a, b, beta=1.0, c=c)) + np.sum(c)

    def after(c: Array) -> Array:
        dgemm(1.0, a, b, beta=1.0, c=c, overwrite_c=1)
        return np.sum(c)

    np.testing.assert_allclose(ps.grad(result)(c), 2 * (a @ b + c))
    np.testing.assert_allclose(ps.grad(before)(c), np.full((3, 2), 2.0))
    with pytest.raises(TraceError, match="depends on its memory layout"):
        ps.grad(after)(c)


def test_what_does_not_fit_is_refused_at_the_users_line() -> None:
    a, b, c = matrices(0, 0)
    with pytest.raises(ShapeError, match="dgemm cannot multiply"):
        ps.trace(lambda a, b: dgemm(1.0, a, b), b, b)
    with pytest.raises(ShapeError, match="dgemm cannot add"):
        ps.trace(lambda a, b, c: dgemm(1.0, a, b, beta=1.0, c=c), a, b, c.T.copy())
    with pytest.raises(ShapeError, match="takes a matrix as a"):
        ps.trace(lambda a, b: dgemm(1.0, a, b), np.zeros((2, 3, 4)), b)
    with pytest.raises(UnsupportedFunction, match="offsets or strides"):
        ps.trace(lambda a, x: dgemv(1.0, a, x, offx=1), a, np.zeros(5))


def test_a_vector_is_a_column_of_a_product() -> None:
    row = RANDOM.standard_normal((1, 2))
    program = ps.trace(lambda x, b: dgemm(1.0, x, b), np.ones(3), row)
    np.testing.assert_allclose(program(np.ones(3), row), dgemm(1.0, np.ones(3), row))


@pytest.mark.parametrize("sizes", [(1, 1, 1), (0, 2, 3), (2, 0, 3), (3, 4, 2)])
def test_gemm_of_any_size_is_one_program(sizes: tuple[int, int, int]) -> None:
    spec = [ps.spec("float64", shape) for shape in (["M", "K"], ["K", "N"], ["M", "N"])]
    program = ps.trace(lambda a, b, c: dgemm(2.0, a, b, beta=0.5, c=c), *spec)
    m, k, n = sizes
    a, b, c = (RANDOM.standard_normal(shape) for shape in ((m, k), (k, n), (m, n)))
    np.testing.assert_allclose(program(a, b, c), 2.0 * a @ b + 0.5 * c)
