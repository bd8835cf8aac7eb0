"""Arithmetic in the dtypes of ONNX."""

import numpy as np
from scipy import special

from primsplit.audit.helpers.arithmetic import cumulated, divide, last_place, logsumexp, power


def test_a_quotient_of_integers_is_rounded_toward_zero() -> None:
    a, b = np.array([7, -7, 7, -7, 6], np.int32), np.array([2, 2, -2, -2, -3], np.int32)
    found = divide(a, b)
    np.testing.assert_array_equal(found, np.trunc(a / b))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(divide(np.uint8([7]), np.uint8([2])), np.uint8([3]))
    np.testing.assert_allclose(divide(np.float32([7]), np.float32([2])), 3.5)


def test_a_power_has_the_dtype_of_its_base() -> None:
    found = power(np.float32([2, 3]), np.array([2, -1]))
    np.testing.assert_allclose(found, [4, 1 / 3], rtol=1e-6)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(power(np.array([4, 9]), np.float32([0.5, 0.5])), [2, 3])


def test_a_logarithm_of_a_sum_does_not_overflow() -> None:
    a = np.array([[1000.0, 1001.0], [-np.inf, -np.inf]])
    np.testing.assert_allclose(logsumexp(a, axis=1), special.logsumexp(a, axis=1))
    assert logsumexp(a, axis=(0, 1), keepdims=True).shape == (1, 1)


def test_running_sums_and_products_from_either_end() -> None:
    a = np.array([[1, 2, 3]], np.int32)
    np.testing.assert_array_equal(cumulated(np.cumsum, a, 1, exclusive=True), [[0, 1, 3]])
    np.testing.assert_array_equal(cumulated(np.cumsum, a, 1, reverse=True), [[6, 5, 3]])
    np.testing.assert_array_equal(cumulated(np.cumprod, a, 1, exclusive=True, reverse=True), [[6, 3, 1]])
    assert cumulated(np.cumsum, a, 1).dtype == np.int32


def test_the_last_of_equal_places() -> None:
    np.testing.assert_array_equal(last_place(np.argmax, np.array([[3, 1, 3]]), 1), [2])
