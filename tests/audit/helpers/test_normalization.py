"""Functions along axes and normalizations, beside SciPy and formulas."""

import numpy as np
from scipy import special

from primsplit.audit.helpers.normalization import (
    batch_norm,
    batch_norm_in_training,
    group_norm,
    hardmax,
    layer_norm,
    local_response,
    log_softmax,
    lp_norm,
    mean_variance_norm,
    rms_norm,
    softmax,
)

A = np.random.default_rng(0).standard_normal((2, 4, 3))


def test_softmax_is_scipys() -> None:
    np.testing.assert_allclose(softmax(A, axis=(1, 2)), special.softmax(A, axis=(1, 2)))
    np.testing.assert_allclose(log_softmax(A, axis=1), special.log_softmax(A, axis=1))


def test_hardmax_marks_the_first_greatest() -> None:
    np.testing.assert_array_equal(hardmax(np.array([[1.0, 2.0, 2.0]]), 1), [[0, 1, 0]])
    assert hardmax(A, (1, 2)).sum() == 2


def test_a_layer_has_mean_0_and_variance_1() -> None:
    found, mean, factor = layer_norm(A, 2.0, 1.0, axis=1, epsilon=0.0)
    np.testing.assert_allclose(found.mean(axis=(1, 2)), 1)
    np.testing.assert_allclose(found.std(axis=(1, 2)), 2)
    np.testing.assert_allclose(mean[:, 0, 0], A.mean(axis=(1, 2)))
    np.testing.assert_allclose(factor[:, 0, 0], 1 / A.std(axis=(1, 2)))
    np.testing.assert_allclose(np.mean(rms_norm(A, 1.0, epsilon=0.0) ** 2, axis=-1), 1)
    assert layer_norm(A.astype(np.float16), np.float16(1))[0].dtype == np.float16


def test_groups_and_channels() -> None:
    scale, bias = np.array([1.0, 2.0, 3.0, 4.0]), np.arange(4.0)
    found = group_norm(A, scale, bias, 4, epsilon=0.0)
    np.testing.assert_allclose(found.std(axis=2), [scale, scale])
    np.testing.assert_allclose(found.mean(axis=2), [bias, bias], atol=1e-12)
    own, mean, var = batch_norm_in_training(A, scale, bias, bias, scale, epsilon=0.0, momentum=0.75)
    np.testing.assert_allclose(own.mean(axis=(0, 2)), bias, atol=1e-12)
    np.testing.assert_allclose(mean, 0.75 * bias + 0.25 * A.mean(axis=(0, 2)))
    np.testing.assert_allclose(var, 0.75 * scale + 0.25 * A.var(axis=(0, 2)))
    np.testing.assert_allclose(batch_norm(A, scale, bias, bias, scale, epsilon=0.0)[:, 3], (A[:, 3] - 3) / 2 * 4 + 3)


def test_neighbouring_channels() -> None:
    total = A**2 + np.pad(A**2, [(0, 0), (0, 1), (0, 0)])[:, 1:]
    np.testing.assert_allclose(local_response(A, 2, 0.5, 2.0, 3.0), A / (3 + 0.25 * total) ** 2)


def test_norms() -> None:
    np.testing.assert_allclose(np.abs(lp_norm(A, 1, 1)).sum(axis=1), 1)
    np.testing.assert_array_equal(lp_norm(np.zeros((1, 2))), [[0, 0]])
    np.testing.assert_allclose(mean_variance_norm(A, (0, 2)).std(axis=(0, 2)), 1)


def test_groups_of_no_instances_are_none() -> None:
    found = group_norm(np.zeros((0, 4, 3)), np.ones(4), np.zeros(4), 2)
    assert found.shape == (0, 4, 3)
