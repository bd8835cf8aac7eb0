"""float64 products beside a constant factor keep all their digits in onnxruntime."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest

import primsplit as ps
from primsplit.ops import op

rng = np.random.default_rng(3)
A, B, BATCH = rng.standard_normal((5, 6)), rng.standard_normal((6, 7)), rng.standard_normal((4, 5, 6))


@pytest.mark.parametrize(
    ("function", "left", "right"),
    [
        (lambda a, b: (a @ b) * 0.1, A, B),
        (lambda a, b: (a @ b) / 3.0, A, B),
        (lambda a, b: (a * 0.1) @ b, A, B),
        (lambda a, b: a @ (b / 3.0), A, B),
        (lambda a, b: (a * 0.1).T @ b, A, B[:5]),
        (lambda a, b: (a @ b) * 0.1, BATCH, B),
        (lambda a, b: (a * 0.1) @ b, BATCH, B),
        (lambda a, b: (a * 0.3) @ b, A, B[:, 0]),
        (lambda a, b: np.sum((a @ b) * 0.1) * 0.3, BATCH, B),
        (lambda a, b: (a @ b + 0.0) * 0.1, A, B),
        (lambda a, b: (a * 0.1 + 0.0).T @ b, A, B[:5]),
    ],
)
def test_a_factor_beside_a_product_costs_no_digits(function: Callable[..., Any], left: Any, right: Any) -> None:
    made = ps.split(function, left, right, seed="ones").joint()
    value, d_left, d_right = made(left, right)
    np.testing.assert_allclose(value, function(left, right), rtol=1e-14, atol=1e-14)
    step = 1e-3
    for gradient, point, at in ((d_left, left, 0), (d_right, right, 1)):
        direction = rng.standard_normal(point.shape)
        ends = []
        for sign in (1, -1):
            moved = [left, right]
            moved[at] = point + sign * step * direction
            ends.append(np.sum(function(*moved)))
        # The function is linear in each argument, so the difference is exact but for rounding.
        assert np.sum(gradient * direction) == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-10)


def test_a_factor_behind_a_dropout_that_keeps_all_costs_no_digits() -> None:
    scaled = ps.trace(lambda a, b: op.Dropout(a @ b) * 0.1, A, B)
    np.testing.assert_allclose(scaled(A, B), A @ B * 0.1, rtol=1e-14, atol=1e-14)


def test_a_factor_of_what_is_pulled_back_as_a_matrix_costs_no_digits() -> None:
    gradients = ps.vmap(ps.grad(lambda row: np.sum(np.tanh(row[None] @ B / 5.0) ** 2)))
    hidden = np.tanh(A @ B / 5.0)
    expected = 2.0 * hidden * (1.0 - hidden**2) / 5.0 @ B.T
    np.testing.assert_allclose(ps.trace(gradients, ps.spec("float64", ["N", 6]))(A), expected, rtol=1e-12)


@pytest.mark.parametrize("is_inside", [False, True], ids=["beside", "around a branch"])
def test_a_factor_that_is_folded_from_longer_constants_costs_no_digits(is_inside: bool) -> None:
    parts = np.array([1 / 3, 1 / 7])

    def f(a: Any, b: Any) -> Any:
        factor = op.ReduceSum(op.Mul(op.Expand(np.float64(1.0), [2]), parts), [0], keepdims=0)
        if not is_inside:
            return op.MatMul(op.Mul(a, factor), b)
        return ps.cond(a[0, 0] < 9.0, lambda: op.MatMul(op.Mul(a, factor), b), lambda: op.MatMul(a, b))

    found = ps.trace(f, ps.spec("float64", A.shape), ps.spec("float64", B.shape))(A, B)
    np.testing.assert_allclose(found, A * parts.sum() @ B, rtol=1e-13, atol=1e-13)


def test_a_factor_in_one_function_costs_no_digits_of_a_product_in_the_other(tmp_path: Any) -> None:
    """onnxruntime inlines both functions and fuses across their border."""

    def risk(x: Any, w: Any) -> Any:
        return np.sqrt(w @ (x.T @ x / 9.0 @ w))

    made = ps.split(risk, B, A[:1, 0].repeat(7))
    (path,) = made.save(str(tmp_path / "risk.onnx"), form="functions")
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    x, w = B, A[:1, 0].repeat(7)
    found = session.run(None, dict(zip(made.program.inputs, (x, w), strict=True)))
    covariance = x.T @ x / 9.0
    np.testing.assert_allclose(found[2], covariance @ w / risk(x, w), rtol=1e-13)


def test_a_number_at_the_end_of_a_long_loop_is_told_without_recursion() -> None:
    def f(x: Any) -> Any:
        total = x[0]
        for _ in range(1500):
            total = total + x[1]
        return np.sum(total * (np.outer(x, x) @ x))

    x = np.array([1.0, 2.0])
    with pytest.warns(UserWarning, match="recorded"):
        file = ps.trace(f, x)
    np.testing.assert_allclose(file(x), f(x))
