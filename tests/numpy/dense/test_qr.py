"""QR factors by panels: LAPACK's signs, orthogonality for hard matrices, any size, derivatives."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from tests.numpy.matrices import normal

SHAPES = [(1, 1), (5, 3), (32, 32), (33, 33), (40, 32), (70, 33), (100, 100), (3, 5), (40, 70), (130, 1)]


@pytest.mark.sweep(16)
@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_are_lapacks_signs_included(shape: tuple[int, int], mode: Any, is_symbolic: bool) -> None:
    a = normal(*shape)
    spec = ps.spec("float64", ["M", "N"] if is_symbolic else shape)
    found = ps.trace(lambda a: tuple(np.linalg.qr(a, mode)), spec)(a)
    for x, y in zip(found, np.linalg.qr(a, mode), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11, strict=True)


HARD = {
    "a column of zeros": lambda a: np.where(np.arange(a.shape[1]) == 4, 0.0, a),
    "a column twice": lambda a: np.concatenate([a[:, :20], a[:, :1], a[:, 21:]], axis=1),
    "triangular": np.triu,
    "rows of other sizes": lambda a: a * 10.0 ** np.linspace(-12, 12, len(a))[:, None],
    "columns of other sizes": lambda a: a * 10.0 ** np.linspace(-12, 12, a.shape[1]),
    "nearly parallel columns": lambda a: a[:, :1] + 1e-12 * a,
    "zero": lambda a: 0.0 * a,
}


@pytest.mark.parametrize("size", [40, "N"])
@pytest.mark.parametrize("name", HARD)
def test_hard_matrices_get_orthonormal_columns_and_small_residuals(name: str, size: int | str) -> None:
    a = HARD[name](normal(50, 40))
    q, r = ps.trace(lambda a: tuple(np.linalg.qr(a)), ps.spec("float64", [50, size]))(a)
    np.testing.assert_allclose(q.T @ q, np.eye(40), atol=2e-14)
    scale = np.linalg.norm(a, axis=0)
    np.testing.assert_array_less(np.linalg.norm(q @ r - a, axis=0), 2e-14 * scale + 1e-300)
    np.testing.assert_array_equal(np.tril(r, -1), 0.0)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", [(40, 35), (34, 34), (20, 40)])
def test_derivatives_to_second_order_are_central_differences(shape: tuple[int, int]) -> None:
    a, along = normal(*shape) + 2 * np.eye(*shape), normal(*shape, seed=1)
    seeds = [normal(*x.shape, seed=i) for i, x in enumerate(np.linalg.qr(a))]

    def total(a: Any) -> Any:
        q, r = np.linalg.qr(a)
        return np.sum(q * seeds[0]) + np.sum(r * seeds[1]) ** 2

    gradient, step = ps.grad(total), 1e-5
    ahead, behind = a + step * along, a - step * along
    slope = (total(ahead) - total(behind)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient(a) * along), slope, rtol=1e-6)
    second = (gradient(ahead) - gradient(behind)) / (2 * step)
    np.testing.assert_allclose(ps.hvp(total, (a,), along), second, rtol=1e-5, atol=1e-5 * np.max(np.abs(second)))


def test_batches_and_float32() -> None:
    for shape in ((3, 6, 4), (2, 40, 36), (2, 3, 5, 5)):
        a = normal(*shape).astype("float32")
        for x, y in zip(ps.trace(lambda a: tuple(np.linalg.qr(a)), a)(a), np.linalg.qr(a), strict=True):
            assert x.dtype == np.float32
            np.testing.assert_allclose(x, y, rtol=5e-3, atol=5e-4)


def test_nan_is_not_lost() -> None:
    a = normal(40, 40)
    a[30, 2] = np.nan
    q, r = ps.trace(lambda a: tuple(np.linalg.qr(a)), a)(a)
    assert np.isnan(q).any()
    assert np.isnan(r).any()


@pytest.mark.sweep(3)
@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e200])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (40, 35)])
def test_factors_do_not_depend_on_the_size_of_the_elements(shape: tuple[int, int], size: float) -> None:
    a = normal(*shape)
    q, r = np.linalg.qr(a)
    batch = np.stack([a, size * a])
    found, rows = ps.trace(lambda a: tuple(np.linalg.qr(a)), batch)(batch)
    np.testing.assert_allclose(found, [q, q], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(rows / np.array([1, size])[:, None, None], [r, r], rtol=1e-9, atol=1e-11)
    complete = ps.trace(lambda a: np.linalg.qr(a, "complete")[0], a)(size * a)
    np.testing.assert_allclose(complete, np.linalg.qr(a, "complete")[0], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("size", [1e-25, 1e19])
def test_factors_of_float32_do_not_depend_on_the_size_of_the_elements(size: float) -> None:
    a = normal(5, 3).astype(np.float32)
    small = a * np.float32(size)
    q, r = ps.trace(lambda a: tuple(np.linalg.qr(a)), small)(small)
    np.testing.assert_allclose(q, np.linalg.qr(a)[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(r / np.float32(size), np.linalg.qr(a)[1], rtol=1e-4, atol=1e-6)


def test_the_slopes_of_tiny_matrices_are_those_of_their_multiples() -> None:
    a, weights = normal(4, 3), normal(4, 3)
    slope = ps.grad(lambda a: np.sum(weights * np.linalg.qr(a)[0]))
    np.testing.assert_allclose(slope(1e-200 * a) * 1e-200, slope(a), rtol=1e-9, atol=1e-11)
