"""Normalizations in float64, written as means over axes, and those of groups in any dtype."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import BFLOAT16
from primsplit.ops import op
from tests.rewrites.decompositions.reference import check, numbers

X, SCALE, BIAS = numbers(2, 4, 3, 5) + 0.5, numbers(4, seed=1), numbers(4, seed=2)


@pytest.mark.parametrize("symbolic", [False, True])
def test_an_instance_is_normalized_by_its_channel(symbolic: bool) -> None:
    check("InstanceNormalization", X, SCALE, BIAS, symbolic=symbolic, epsilon=1 / 64)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_of_channels_are_normalized_together(groups: int) -> None:
    found = ps.trace(lambda x, s, b: op.GroupNormalization(x, s, b, num_groups=groups, epsilon=1 / 64), X, SCALE, BIAS)
    parts = X.reshape(2, groups, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1 / 64)
    wanted = normal.reshape(X.shape) * SCALE[:, None, None] + BIAS[:, None, None]
    np.testing.assert_allclose(found(X, SCALE, BIAS), wanted, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "near"), [("float32", 1e-3), ("float16", 2e-2), ("bfloat16", 2e-1)])
@pytest.mark.parametrize("sizes", [(2, 4, 3, 5), ("N", 4, "H", "W"), ("N", "C", 15)], ids=str)
def test_groups_far_from_0_keep_the_digits_of_their_deviations(dtype: str, near: float, sizes: Any) -> None:
    far = {"float32": 1e4, "float16": 64.0, "bfloat16": 4.0}[dtype]
    kind = BFLOAT16 if dtype == "bfloat16" else np.dtype(dtype)
    x = (far + numbers(2, 4, 3, 5)).astype(kind).reshape((2, 4, 3, 5) if len(sizes) == 4 else (2, 4, 15))
    given = [x, SCALE.astype(kind), BIAS.astype(kind)]

    def function(x: Any, s: Any, b: Any) -> Any:
        return op.GroupNormalization(x, s, b, num_groups=2, epsilon=1 / 64)

    found = ps.trace(function, ps.spec(dtype, sizes), *(ps.spec(dtype, [4]) for _ in given[1:]))(*given)
    parts = x.astype(np.float64).reshape(2, 2, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1 / 64)
    by_channel = normal.reshape(2, 4, -1) * given[1].astype(np.float64)[:, None] + given[2].astype(np.float64)[:, None]
    np.testing.assert_allclose(found.astype(np.float64), by_channel.reshape(x.shape), rtol=near, atol=near)


def test_groups_of_no_images_are_none() -> None:
    one = np.ones(4, np.float32)
    program = ps.trace(lambda x: op.GroupNormalization(x, one, one, num_groups=2), ps.spec("float32", ["N", 4, "L"]))
    assert program(np.zeros((0, 4, 3), np.float32)).shape == (0, 4, 3)
    assert program(np.zeros((2, 4, 0), np.float32)).shape == (2, 4, 0)


def test_mean_and_variance_are_those_of_the_axes() -> None:
    found = ps.trace(lambda x: op.MeanVarianceNormalization(x, axes=[0, 2]), X)(X)
    centred = X - X.mean((0, 2), keepdims=True)
    wanted = centred / (np.sqrt((centred**2).mean((0, 2), keepdims=True)) + 1e-9)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_response_is_divided_by_those_of_the_channels_around(size: int) -> None:
    found = ps.trace(lambda x: op.LRN(x, size=size, alpha=0.25, beta=0.75, bias=1.5), X)(X)
    before, after = (size - 1) // 2, size // 2
    squares = [(X[:, max(c - before, 0) : c + after + 1] ** 2).sum(1) for c in range(4)]
    np.testing.assert_allclose(found, X / (1.5 + 0.25 / size * np.stack(squares, 1)) ** 0.75, rtol=1e-12)


def test_a_batch_is_normalized_by_its_own_statistics_and_running_ones_are_moved() -> None:
    mean, variance = numbers(4, seed=3), np.abs(numbers(4, seed=4)) + 0.5
    program = ps.trace(
        lambda *given: op.BatchNormalization(*given, training_mode=1, epsilon=1 / 64, momentum=0.75, outputs=3),
        X, SCALE, BIAS, mean, variance,
    )  # fmt: skip
    found = program(X, SCALE, BIAS, mean, variance)
    own, spread = X.mean((0, 2, 3)), X.var((0, 2, 3))
    shape = (4, 1, 1)
    wanted = (X - own.reshape(shape)) / np.sqrt(spread.reshape(shape) + 1 / 64) * SCALE.reshape(shape)
    np.testing.assert_allclose(found[0], wanted + BIAS.reshape(shape), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1], 0.75 * mean + 0.25 * own, rtol=1e-12)
    np.testing.assert_allclose(found[2], 0.75 * variance + 0.25 * spread, rtol=1e-12)
