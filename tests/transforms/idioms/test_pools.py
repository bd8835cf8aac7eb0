"""The maximum of windows side by side, written by a reshape, is a pooling with np.max's values and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.rewrites.inline import inline_calls
from primsplit.transforms.idioms.pools import recognize_pools
from tests.recording import kinds, record

Function = Callable[[Any], Any]


def pooled(x: Any, keepdims: bool = False) -> Any:
    *outer, height, width = x.shape
    axis = (len(outer) + 1, len(outer) + 3)
    return x.reshape(*outer, height // 2, 2, width // 3, 3).max(axis=axis, keepdims=keepdims)


def gradient(x: Any, dy: Any) -> Any:
    """The cotangent of each element: its window's, shared by equal maxima."""
    windows = x.reshape(*x.shape[:-2], x.shape[-2] // 2, 2, x.shape[-1] // 3, 3)
    is_best = windows == windows.max(axis=(-3, -1), keepdims=True)
    count = np.maximum(is_best.sum(axis=(-3, -1), keepdims=True), 1)
    return (
        is_best / count * dy.reshape(*dy.shape[:-1], 1, dy.shape[-1], 1)[..., None, :, :].reshape(count.shape)
    ).reshape(x.shape)


def pictures(*shape: int, ties: bool = False) -> Any:
    random = np.random.default_rng(0)
    found = random.integers(-1, 2, shape) if ties else random.permutation(np.arange(np.prod(shape)))
    return found.reshape(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (4, 6), (5, 2, 9), (0, 2, 4, 6), (1, 1, 2, 3), (2, 1, 3, 6, 3)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("is_open", [False, True])
def test_values_and_gradients_are_those_of_the_maximum(shape: tuple[int, ...], ties: bool, is_open: bool) -> None:
    spec = ps.spec("float32", ["N", *shape[1:]] if is_open and len(shape) > 2 else shape)
    x = pictures(*shape, ties=ties)
    made = ps.split(pooled, spec)
    assert "call::max_pool" in kinds(recognize_pools(record(lambda x: pooled(x), str(spec))))
    dy = np.random.default_rng(1).standard_normal(pooled(x).shape).astype(np.float32)
    y, dx = made.joint()(x, dy)
    np.testing.assert_array_equal(y, pooled(x))
    np.testing.assert_allclose(dx, gradient(x, dy), rtol=1e-6)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(6))
def test_odd_numbers_come_through_wherever_they_stand_in_a_window(odd: float, place: int) -> None:
    x = pictures(2, 1, 4, 6)
    x[0, 0].reshape(2, 2, 2, 3)[1, place // 3, 0, place % 3] = odd
    x[1, 0, :2, :3] = odd
    x[1, 0, 2, 4] = x[1, 0, 3, 5] = 1e6
    dy = np.ones((2, 1, 2, 2), np.float32)
    y, dx = ps.split(pooled, ps.spec("float32", x.shape)).joint()(x, dy)
    np.testing.assert_array_equal(y, pooled(x))
    np.testing.assert_allclose(dx, gradient(x, dy))


LEFT: dict[str, tuple[Function, str]] = {
    "float64": (pooled, "float64[2,4,6]"),
    "sizes that only the run knows": (lambda x: x.reshape(x.shape[0] // 2, 2, 2, 3).max((1, 3)), "float32[N,6]"),
    "other axes": (lambda x: x.reshape(2, 2, 2, 3).max((0, 2)), "float32[4,6]"),
    "one axis": (lambda x: x.reshape(2, 2, 2, 3).max(1), "float32[4,6]"),
    "rows of other pictures": (lambda x: x.reshape(4, 2, 3, 2).max((1, 3)), "float32[4,12]"),
    "another function": (lambda x: x.reshape(2, 2, 2, 3).min((1, 3)), "float32[4,6]"),
    "a reshape that is read elsewhere": (
        lambda x: (w := x.reshape(2, 2, 2, 3)).max((1, 3)) + w.sum((1, 3)),
        "float32[4,6]",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_such_pooling_stays(name: str) -> None:
    block = record(lambda x: LEFT[name][0](x), LEFT[name][1])
    assert recognize_pools(block) is block


@pytest.mark.parametrize(("height", "is_pooled"), [(2**13, True), (2**13 + 2, False)])
def test_pictures_of_more_elements_than_float32_counts_are_left(height: int, is_pooled: bool) -> None:
    block = record(lambda x: x.reshape(height // 2, 2, 2**10, 2).max((1, 3)), f"float32[{height},2048]")
    assert ("call::max_pool" in kinds(recognize_pools(block))) is is_pooled


@pytest.mark.parametrize("shape", [(0, 6), (4, 0)])
def test_pictures_without_elements_are_left(shape: tuple[int, int]) -> None:
    height, width = shape
    block = record(
        lambda x: x.reshape(height // 2, 2, width // 3, 3).max((1, 3), initial=0.0), f"float32[{height},{width}]"
    )
    assert recognize_pools(block) is block


def test_a_batch_of_pictures_is_pooled_too() -> None:
    block = ps.trace(ps.vmap(pooled), ps.spec("float32", ["B", 3, 4, 6])).block
    assert "call::max_pool" in kinds(recognize_pools(block))
    x = pictures(5, 3, 4, 6)
    gradients = ps.vmap(ps.grad(lambda x: np.sum(pooled(x) ** 2)))(x)
    np.testing.assert_allclose(gradients, gradient(x, 2 * pooled(x)))
    assert "MaxPool" in inline_calls(recognize_pools(block)).kinds
