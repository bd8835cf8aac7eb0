"""Singular values of complex matrices and least squares: NumPy's numbers, first and second derivatives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import UnsupportedFunction
from primsplit.testing import check_grads

random = np.random.default_rng(1)
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1)]


def in_phase(u: Any, vh: Any) -> tuple[Any, Any]:
    """The vectors with the element of largest absolute value of each column of U real and positive."""
    place = np.argmax(np.abs(u), axis=-2)
    turn = np.conj(np.take_along_axis(u, place[..., None, :], -2))
    turn /= np.abs(turn)
    return u * turn, vh * np.conj(np.swapaxes(turn, -1, -2))


@pytest.mark.sweep(2)
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_are_numpys_in_the_phases_that_are_told(shape: tuple[int, int]) -> None:
    a, b = random.normal(size=(2, *shape))

    def factors(a: Any, b: Any) -> Any:
        u, s, vh = np.linalg.svd(a + 1j * b, full_matrices=False)
        return u.real, u.imag, s, vh.real, vh.imag

    u, s, vh = np.linalg.svd(a + 1j * b, full_matrices=False)
    u, vh = in_phase(u, vh)
    for found, numpys in zip(ps.trace(factors, a, b)(a, b), (u.real, u.imag, s, vh.real, vh.imag), strict=True):
        np.testing.assert_allclose(found, numpys, atol=1e-13)


ALIKE = [pytest.param(s, marks=[pytest.mark.slow] * (s in SHAPES[2:3])) for s in SHAPES]
"""A wide matrix's program is a tall one's but for transposes: a slow test."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", ALIKE)
def test_what_phases_do_not_change_has_numpys_derivatives(shape: tuple[int, int]) -> None:
    a, b = random.normal(size=(2, *shape))
    count = min(shape)
    left, right = random.normal(size=(shape[0], count)), random.normal(size=(count, shape[1]))

    def loss(a: Any, b: Any) -> Any:
        u, s, vh = np.linalg.svd(a + 1j * b, full_matrices=False)
        polar = np.abs(u @ vh).sum() + ((u * s**2) @ vh).real.sum()
        return np.sum(np.abs(u) ** 2 * left) + np.sum(np.abs(vh) ** 2 * right) + np.sum(np.sin(s)) + polar

    check_grads(loss, a, b, symbolic=False)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("shape", ALIKE)
def test_singular_values_and_least_squares_are_numpys(shape: tuple[int, int]) -> None:
    a, b = random.normal(size=(2, *shape))
    right = random.normal(size=(shape[0], 2)) @ np.array([1.0, 1.0j])
    check_grads(lambda a, b: np.linalg.svd(a + 1j * b, compute_uv=False), a, b, symbolic=shape in SHAPES[:2])
    check_grads(lambda a, b: np.linalg.svdvals(a + 1j * b), a, b, symbolic=False, order=1)

    def solution(a: Any, b: Any) -> Any:
        x, residuals, rank, s = np.linalg.lstsq(a + 1j * b, right, rcond=None)
        assert rank == min(shape)
        many = np.linalg.lstsq(a + 1j * b, np.stack([right, 1j * right], 1), rcond=None)[0]
        return np.concatenate([x.real, x.imag, residuals, s, many.real.ravel(), many.imag.ravel()])

    check_grads(solution, a, b, symbolic=False)


def test_the_vectors_of_a_singular_value_0_are_nan() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    u = ps.trace(lambda a: np.linalg.svd(1j * a).U.real, a)(a)
    np.testing.assert_allclose(u[:, 0], [1 / np.sqrt(5), 2 / np.sqrt(5)], rtol=1e-12)
    assert np.isnan(u[:, 1]).all()


def test_columns_that_complete_a_basis_are_refused() -> None:
    with pytest.raises(UnsupportedFunction, match="full_matrices=False"):
        ps.trace(lambda a: np.linalg.svd(1j * a)[1], np.ones((3, 2)))


@pytest.mark.sweep(3)
@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norms_of_singular_values_are_numpys(order: Any) -> None:
    a, b = random.normal(size=(2, 2, 3, 4))
    check_grads(lambda a, b: np.linalg.matrix_norm(a + 1j * b, ord=order), a, b, symbolic=False, order=1)
    check_grads(lambda a, b: np.linalg.norm(a[0] + 1j * b[0], order), a, b, symbolic=False)
    check_grads(lambda a, b: np.linalg.norm(a + 1j * b, order, (2, 0), True), a, b, symbolic=False, order=1)


@pytest.mark.sweep(8)
@pytest.mark.parametrize("rows", [3, 5])
@pytest.mark.parametrize("values", [[3.0, 2.0, 1.0], [3.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 1e-5, 1e-9]])
def test_a_spectral_norm_that_is_loaded_has_the_gradient_of_the_one_that_was_saved(
    values: list[float], rows: int, tmp_path: Path
) -> None:
    left, right = (np.linalg.qr(random.normal(size=(n, 3)) + 1j * random.normal(size=(n, 3)))[0] for n in (rows, 3))
    z = (left * values) @ right
    a, b = z.real.copy(), z.imag.copy()
    path = str(tmp_path / "norm.onnx")
    ps.trace(lambda a, b: np.linalg.norm(a + 1j * b, 2), a, b).save(path)
    u, _, vh = np.linalg.svd(z)
    wanted = np.outer(u[:, 0], vh[0])
    for found, part in zip(ps.grad(ps.load(path), wrt=(0, 1))(a, b), (wanted.real, wanted.imag), strict=True):
        np.testing.assert_allclose(found, part, atol=1e-11)
