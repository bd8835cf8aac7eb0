"""The scale of DynamicQuantizeLinear has the derivative of (max(x, 0) - min(x, 0)) / 255."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.array([0.5, -1.0, 2.0], np.float32)
W = np.array([[3, -2], [5, 7], [-4, 1]], np.int8)


@pytest.mark.parametrize(
    ("x", "slopes"),
    [
        ([0.5, -1.0, 2.0], [0, -1, 1]),
        ([1.0, 3.0, 2.0], [0, 1, 0]),
        ([-1.0, -3.0, -2.0], [0, -1, 0]),
        ([2.0, -1.0, 2.0], [0.5, -1, 0.5]),
        ([0.0, 2.0, 1.0], [-0.5, 1, 0]),
        ([np.inf, 1.0, -1.0], [1, 0, -1]),
        ([-3e38, 1.0, 3e38], [-1, 0, 1]),
    ],
)
def test_the_scale_varies_with_the_extremes(x: list[float], slopes: list[float]) -> None:
    found = ps.grad(lambda x: op.DynamicQuantizeLinear(x, outputs=3)[1])(np.array(x, np.float32))
    np.testing.assert_allclose(found, np.array(slopes) / 255, rtol=1e-6)


def product(x: Any) -> tuple[Any, Any]:
    integers, scale, zero = op.DynamicQuantizeLinear(x[None], outputs=3)
    return op.Cast(op.MatMulInteger(integers, W, zero), to=np.float32), scale


def test_where_the_scale_cancels_the_gradient_is_that_of_the_numbers() -> None:
    def chain(x: Any) -> Any:
        made, scale = product(x)
        return (made * (scale * np.float32(0.5))).sum()

    np.testing.assert_allclose(ps.grad(chain)(X), 0.5 * W.sum(axis=1), rtol=1e-6)
    kinds = {op.kind for op in ps.split(chain, ps.spec("float32", [3])).joint().block.ops}
    assert kinds.isdisjoint({"ReduceMax", "ReduceMin"})


@pytest.mark.parametrize("power", [0, 2])
def test_where_the_scale_does_not_cancel_it_has_a_share_of_the_gradient(power: int) -> None:
    """That of sum(x w) s**(power - 1), but for the rounding of x to 255 levels."""

    def function(x: Any) -> Any:
        made, scale = product(x)
        return (made * scale**power).sum()

    x = X.astype(np.float64)
    scale = 3 / 255
    total = (x @ W).sum()
    slope = W.sum(axis=1) * scale ** (power - 1)
    slope += (power - 1) * scale ** (power - 2) * total * np.array([0, -1, 1]) / 255
    np.testing.assert_allclose(ps.grad(function)(X), slope, rtol=0.02)


def test_numbers_read_again_and_their_scale_have_both_gradients() -> None:
    def function(x: Any) -> Any:
        integers, scale, zero = op.DynamicQuantizeLinear(x, outputs=3)
        return (op.DequantizeLinear(integers, scale, zero) * np.array([1, 2, 3], np.float32)).sum() + 255 * scale

    np.testing.assert_allclose(ps.grad(function)(X), [1, 1, 4], rtol=1e-6)


def test_a_scale_in_a_loop_and_a_batch_has_its_gradient() -> None:
    def of_rows(x: Any) -> Any:
        return ps.scan(lambda c, r: (c + op.DynamicQuantizeLinear(r, outputs=3)[1], None), np.float32(0), x)[0]

    rows = np.stack([X, -X])
    expected = np.array([[0, -1, 1], [0, 1, -1]]) / 255
    np.testing.assert_allclose(ps.grad(of_rows)(rows), expected, rtol=1e-6)


def test_the_scale_of_zeros_jumps_and_has_no_slope() -> None:
    found = ps.grad(lambda x: op.DynamicQuantizeLinear(x, outputs=3)[1])(np.zeros(2, np.float32))
    assert np.isnan(found).all()


@pytest.mark.parametrize("name", ["written out", "without a zero point", "another zero point", "product"])
def test_the_scale_cancels_where_the_zero_point_is_subtracted_alone(name: str) -> None:
    """The integers are x / s + 85. What is left of their zero point varies with s, also at zeros.

    Left is (85 - zero) s of each number; s varies by -1/255 with the least, and 1/255 with the greatest of them.
    """

    def function(x: Any) -> Any:
        integers, scale, zero = op.DynamicQuantizeLinear(x, outputs=3)
        if name == "written out":
            return ((op.Cast(integers, to=np.float32) - op.Cast(zero, to=np.float32)) * scale).sum()
        if name == "product":
            return op.Cast(op.MatMulInteger(integers[None], W), to=np.float32).sum() * scale
        other = () if name == "without a zero point" else (np.uint8(100),)
        return op.DequantizeLinear(integers, scale, *other).sum()

    left = {"written out": 0, "without a zero point": 3 * 85, "another zero point": -3 * 15, "product": W.sum() * 85}[
        name
    ]
    straight = W.sum(axis=1) if name == "product" else np.ones(3)
    np.testing.assert_allclose(ps.grad(function)(X), straight + left * np.array([0, -1, 1]) / 255, rtol=0.02)
    if name == "written out":
        np.testing.assert_array_equal(ps.grad(function)(np.zeros(3, np.float32)), np.ones(3))
