"""Convolutions and pools beside SciPy and loops."""

from typing import Any

import numpy as np
from scipy import signal

from primsplit.audit.helpers.windows import (
    average_pool,
    conv,
    conv_kernel_grad,
    conv_transpose,
    lp_pool,
    max_pool,
    max_pool_grad,
    max_unpool,
    patches,
)

A = np.random.default_rng(0).standard_normal((1, 2, 6, 5))
PLAIN: Any = {"strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}


def test_a_convolution_is_a_sum_of_correlations() -> None:
    w = np.random.default_rng(1).standard_normal((3, 2, 3, 2))
    expected = [sum(signal.correlate2d(A[0, c], w[m, c], "valid") for c in range(2)) for m in range(3)]
    np.testing.assert_allclose(conv(A, w, **PLAIN)[0], expected)
    strided = conv(A, w, np.ones(3), strides=[2, 1], dilations=[1, 1], pads=[0, 0, 0, 0])
    np.testing.assert_allclose(strided[0], np.array(expected)[:, ::2] + 1)
    assert conv(A, w, strides=[2, 2], dilations=[2, 1], pads="SAME_UPPER").shape == (1, 3, 3, 3)


def test_groups_are_convolutions_beside_each_other() -> None:
    w = np.random.default_rng(1).standard_normal((4, 1, 2, 2))
    halves = [conv(A[:, [i]], w[2 * i : 2 * i + 2], **PLAIN) for i in range(2)]
    np.testing.assert_allclose(conv(A, w, **PLAIN, group=2), np.concatenate(halves, axis=1))


def test_the_transposed_convolution_is_the_transpose() -> None:
    random = np.random.default_rng(2)
    w, told = random.standard_normal((3, 2, 3, 3)), {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}
    y = conv(A, w, **told)
    dy = random.standard_normal(y.shape)
    rows = zip((6, 5), y.shape[2:], (2, 1), (1, 2), (1, 2), strict=True)
    extra = [n - ((m - 1) * s + 2 * d + 1 - p) for n, m, s, d, p in rows]
    back = conv_transpose(dy, w, **told, extra=extra)
    assert back.shape == A.shape
    np.testing.assert_allclose(np.sum(y * dy), np.sum(A * back))


def test_pools_are_functions_of_windows() -> None:
    told: Any = {"kernel": [2, 2], "strides": [2, 2], "dilations": [1, 1], "pads": [0, 0, 0, 0]}
    blocks = A[:, :, :, :4].reshape(1, 2, 3, 2, 2, 2)
    highest, places = max_pool(A, **told)
    np.testing.assert_array_equal(highest, blocks.max(axis=(3, 5)))
    np.testing.assert_array_equal(A.reshape(-1)[places], highest)
    np.testing.assert_allclose(average_pool(A, **told), blocks.mean(axis=(3, 5)))
    np.testing.assert_allclose(lp_pool(A, **told), np.sqrt((blocks**2).sum(axis=(3, 5))))
    assert max_pool(A, **told, ceil=True)[0].shape == (1, 2, 3, 3)
    np.testing.assert_array_equal(max_unpool(highest, places, A.shape).reshape(-1)[places], highest)


def test_a_mean_counts_pads_only_if_it_is_told_to() -> None:
    ones, told = np.ones((1, 1, 3)), {"kernel": [2], "strides": [2], "dilations": [1], "pads": [1, 0]}
    np.testing.assert_array_equal(average_pool(ones, **told)[0, 0], [1, 1])
    np.testing.assert_array_equal(average_pool(ones, **told, with_pads=True)[0, 0], [0.5, 1])


def test_patches_are_what_each_weight_meets_at_each_place() -> None:
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    assert patches(x, (2, 2)).tolist() == [
        [[0, 1, 2, 4, 5, 6], [1, 2, 3, 5, 6, 7], [4, 5, 6, 8, 9, 10], [5, 6, 7, 9, 10, 11]]
    ]
    assert patches(x, (2, 2), strides=(1, 2), dilations=(2, 1)).tolist() == [[[0, 2], [1, 3], [8, 10], [9, 11]]]


def test_the_gradient_by_a_kernel_is_the_transpose_of_the_convolution() -> None:
    random = np.random.default_rng(2)
    told: Any = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}
    w = random.standard_normal((3, 2, 3, 2))
    dy = random.standard_normal(conv(A, w, **told).shape)
    found = conv_kernel_grad(dy, A, kernel=[3, 2], **told)
    np.testing.assert_allclose(np.sum(found * w), np.sum(dy * conv(A, w, **told)))


def test_the_cotangent_of_a_window_is_added_at_its_greatest_element() -> None:
    told: Any = {"kernel": [3, 3], "strides": [1, 1], "dilations": [1, 1], "pads": [1, 1, 1, 1]}
    highest, places = max_pool(A, **told)
    expected = np.zeros(A.size)
    for place, value in zip(places.ravel(), highest.ravel(), strict=True):
        expected[place] += value
    np.testing.assert_allclose(max_pool_grad(highest, A, **told).ravel(), expected)


def test_an_unsigned_zero_beside_padding_has_its_place_in_the_array() -> None:
    a = np.zeros((1, 1, 2), np.uint8)
    highest, places = max_pool(a, kernel=[2], strides=[1], dilations=[1], pads=[1, 0])
    np.testing.assert_array_equal(highest, a)
    np.testing.assert_array_equal(places, [[[0, 0]]])
