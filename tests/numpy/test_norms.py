"""Norms: gradients against central differences; zero vectors, huge and tiny elements by hand."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.errors import ShapeError
from tests.numpy.agreement import check_agrees, check_grads, gapped

norm = np.linalg.norm
M, C = gapped(3, 5), gapped(2, 3, 5)
FAR = np.sign(M) * (np.abs(M) * 3 + 0.5)

GRADIENTS: dict[str, tuple[Any, ...]] = {
    "of all": (norm, M),
    "along an axis": (lambda x: norm(x, axis=1), M),
    "largest": (lambda x: norm(x, np.inf, axis=1), M),
    "smallest": (lambda x: norm(x, -np.inf, axis=1), M),
    "sum": (lambda x: norm(x, 1, axis=0, keepdims=True), M),
    "count": (lambda x: norm(x, 0, axis=0) * np.sum(x), M),
    "order 3": (lambda x: norm(x, 3, axis=1), M),
    "order 1.5": (lambda x: norm(x, 1.5, axis=1), M),
    "order 0.5": (lambda x: norm(x, 0.5, axis=1), FAR),
    "order -2": (lambda x: norm(x, -2, axis=1), M),
    "matrix fro": (lambda x: norm(x, "fro"), M),
    "matrix 1": (lambda x: norm(x, 1), M),
    "matrix -1": (lambda x: norm(x, -1), M),
    "matrix inf": (lambda x: norm(x, np.inf, axis=(1, 2)), C),
    "matrix -inf": (lambda x: norm(x * x, -np.inf, axis=(-1, 0), keepdims=True), C),
    "vector_norm": (lambda x: np.linalg.vector_norm(x, axis=(0, 2)), C),
    "matrix_norm": (np.linalg.matrix_norm, C),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_norm_is_right_to_second_order(name: str) -> None:
    check_grads(*GRADIENTS[name])


@pytest.mark.parametrize("order", [None, 1, np.inf])
def test_the_norm_of_nothing_is_zero(order: Any) -> None:
    assert ps.trace(lambda x: norm(x, order), ps.spec("float64", ["N"]))(np.zeros(0)) == 0
    assert ps.trace(lambda x: norm(x, order), ps.spec("float64", ["N", "M"]))(np.zeros((0, 0))) == 0


@pytest.mark.parametrize("order", [None, 1, 2, 3, 1.5, 0.5, -1, np.inf])
def test_the_gradient_of_a_norm_is_zero_at_the_zero_vector(order: Any) -> None:
    value, gradient = ps.value_and_grad(lambda x: norm(x, order))(np.zeros(3))
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros(3))


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-300])
@pytest.mark.parametrize("order", [None, 3])
def test_a_norm_neither_overflows_nor_vanishes(order: Any, scale: float) -> None:
    value, gradient = ps.value_and_grad(lambda x: norm(x, order))(np.array([3.0, 4.0]) * scale)
    exact, slope = (5.0, [0.6, 0.8]) if order is None else (91 ** (1 / 3), np.array([9.0, 16.0]) / 91 ** (2 / 3))
    np.testing.assert_allclose(value / scale, exact, rtol=1e-12)
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def test_a_norm_has_a_gradient_in_its_order() -> None:
    x = np.array([1.0, -2.0, 0.0])

    def by_order(p: Any) -> Any:
        return norm(x * np.ones_like(p), p)

    step = 1e-5
    wanted = (norm(x, 3 + step) - norm(x, 3 - step)) / (2 * step)
    np.testing.assert_allclose(ps.grad(by_order)(np.array(3.0)), wanted, rtol=1e-8)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "bool"])
def test_a_norm_of_any_dtype_is_numpys(dtype: str) -> None:
    data = np.array([[3, 4, 0], [1, 0, 1]]).astype(dtype)
    check_agrees(lambda x: norm(x, axis=1), data)
    check_agrees(lambda x: norm(x, np.float64(3), axis=1), data)


def test_a_norm_over_three_axes_is_one_error_at_the_users_line() -> None:
    with pytest.raises(ShapeError, match="over one axis or two") as caught:
        ps.trace(lambda x: norm(x, 1), C)
    assert "test_norms.py" in str(caught.value)
