"""Products of integers run beside a gradient, which does not flow through them."""

import numpy as np

import primsplit as ps
from primsplit.ops import op

A = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
B = np.array([[1, 0], [2, 1], [0, 3]], np.uint8)


def test_a_product_of_integers_is_exact_and_has_no_gradient() -> None:
    def f(x, a):  # type: ignore[no-untyped-def]
        return (x * op.Cast(op.MatMulInteger(a, B), to=np.float64)).sum()

    x = np.array([[0.5, 1.0], [1.5, 2.0]])
    np.testing.assert_array_equal(ps.grad(f)(x, A), A.astype(int) @ B)


def test_a_quantized_product_is_rounded_and_has_no_gradient() -> None:
    one, zero = np.float32(1), np.uint8(0)

    def f(x, a):  # type: ignore[no-untyped-def]
        return (x * op.Cast(op.QLinearMatMul(a, one, zero, B, one, zero, np.float32(2), zero), to=np.float64)).sum()

    x = np.array([[0.5, 1.0], [1.5, 2.0]])
    np.testing.assert_array_equal(ps.grad(f)(x, A), np.rint((A.astype(int) @ B) / 2))
