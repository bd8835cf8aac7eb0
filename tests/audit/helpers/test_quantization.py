"""Integers that stand for floats."""

import numpy as np

from primsplit.audit.helpers.quantization import dequantize, integer_matmul, quantize


def test_numbers_are_rounded_to_even_and_limited() -> None:
    a = np.float32([[0.5, 1.5, 300.0], [-0.5, -1.5, -300.0]])
    found = quantize(a, np.float32(1), np.array(1, np.int8), np.int8)
    np.testing.assert_array_equal(found, [[1, 3, 127], [1, -1, -128]])
    by_row = quantize(a, np.float32([1, 2]), None, np.uint8, axis=0)
    np.testing.assert_array_equal(by_row, [[0, 2, 255], [0, 0, 0]])


def test_blocks_have_scales_of_their_own() -> None:
    a = np.array([[1, 2, 3, 4]], np.int8)
    np.testing.assert_array_equal(dequantize(a, np.float32([[1, 10]]), axis=1, block=2), [[1, 2, 30, 40]])
    np.testing.assert_array_equal(dequantize(a, np.float32(2), np.array(1, np.int8)), [[0, 2, 4, 6]])


def test_a_product_of_integers_does_not_overflow() -> None:
    a, b = np.full((2, 3), 200, np.uint8), np.full((3, 2), 100, np.uint8)
    np.testing.assert_array_equal(integer_matmul(a, b, np.uint8([1, 2]), np.uint8(3)), [[57909] * 2, [57618] * 2])
