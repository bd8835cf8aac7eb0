"""A product of sliding windows with a kernel is a convolution, with the values and gradients of the product."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.transforms.idioms.convolutions import recognize_convolutions
from tests.recording import kinds, record

Function = Callable[..., Any]
view = np.lib.stride_tricks.sliding_window_view


def by_hand(x: Any, k: Any) -> Any:
    """The product of two matrices that the windows and the kernel are made."""
    windows = view(x, (2, 3), axis=(1, 2))
    return windows.reshape(windows.shape[0] * windows.shape[1] * windows.shape[2], 6) @ k


FORMS: dict[str, tuple[Function, tuple[int, ...], tuple[int, ...]]] = {
    "images": (
        lambda x, k: np.einsum("nchwij,ocij->nohw", view(x, (2, 3), axis=(2, 3)), k), (2, 3, 5, 6), (4, 3, 2, 3)
    ),
    "channels last": (
        lambda x, k: np.einsum("nhwcij,ijco->nhwo", view(x, (2, 3), axis=(1, 2)), k), (2, 5, 6, 3), (2, 3, 3, 4)
    ),
    "axes in another order": (
        lambda x, k: np.einsum("nchwij,ojci->hnwo", view(x, (2, 3), axis=(2, 3)), k), (2, 3, 5, 6), (4, 3, 3, 2)
    ),
    "windows along the later axis first": (
        lambda x, k: np.einsum("nchwji,ocij->nohw", view(x, (3, 2), axis=(3, 2)), k), (2, 3, 5, 6), (4, 3, 2, 3)
    ),
    "two axes of channels": (
        lambda x, k: np.einsum("abhwij,oabij->hwo", view(x, (2, 3), axis=(2, 3)), k), (2, 3, 5, 6), (4, 2, 3, 2, 3)
    ),
    "one axis": (lambda x, k: np.einsum("bctk,ock->bto", view(x, 3, axis=2), k), (2, 3, 9), (4, 3, 3)),
    "one picture": (lambda x, k: np.tensordot(view(x, (2, 3)), k, 2), (5, 6), (2, 3)),
    "kernels of one picture": (lambda x, k: np.tensordot(view(x, (2, 3)), k, 2), (5, 6), (2, 3, 4)),
    "windows of one element": (
        lambda x, k: np.einsum("nchwij,ocij->nhwo", view(x, (1, 1), axis=(2, 3)), k), (2, 3, 5, 6), (4, 3, 1, 1)
    ),
    "a matrix of windows": (by_hand, (2, 5, 6), (6, 4)),
}  # fmt: skip


CLOSED = ("kernels of one picture", "one picture", "two axes of channels")
"""Forms whose first axis is summed over, or has windows along it: its size is part of the product."""


def example(x: tuple[int, ...], k: tuple[int, ...]) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    return random.standard_normal(x).astype(np.float32), random.standard_normal(k).astype(np.float32)


def slopes(f: Function, x: Any, k: Any, dy: Any) -> tuple[Any, Any]:
    """The derivatives of a function that is linear in each of its arguments, from its values at unit arrays."""
    wide = x.astype(np.float64), k.astype(np.float64)
    units = [np.eye(a.size).reshape(a.size, *a.shape) for a in wide]
    dx = [np.sum(dy * f(unit, wide[1])) for unit in units[0]]
    dk = [np.sum(dy * f(wide[0], unit)) for unit in units[1]]
    return np.reshape(dx, x.shape), np.reshape(dk, k.shape)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("is_open", [False, True])
def test_values_and_gradients_are_those_of_the_product(name: str, is_open: bool) -> None:
    f, *shapes = FORMS[name]
    x, k = example(*shapes)
    sizes = ["N", *x.shape[1:]] if is_open and name not in CLOSED else x.shape
    specs = ps.spec("float32", sizes), ps.spec("float32", k.shape)
    block = recognize_convolutions(record(lambda x, k: f(x, k), *map(str, specs)))
    assert "Conv" in kinds(block)
    assert "MatMul" not in kinds(block)
    dy = np.random.default_rng(1).standard_normal(f(x, k).shape).astype(np.float32)
    found = ps.split(f, *specs, wrt=(0, 1)).joint()(x, k, dy)
    for mine, right in zip(found, (f(x, k), *slopes(f, x, k, dy)), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_odd_numbers_reach_the_windows_that_hold_them_and_no_others(odd: float) -> None:
    f, *shapes = FORMS["images"]
    x, k = example(*shapes)
    x[1, 2, 1, 1] = odd
    with np.errstate(invalid="ignore"):
        expected = f(x, k)
    found = ps.split(f, x, k).joint()(x, k, np.zeros_like(expected))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_no_images_have_no_windows() -> None:
    f, *shapes = FORMS["images"]
    x, k = example((0, *shapes[0][1:]), shapes[1])
    made = ps.split(f, ps.spec("float32", ["N", 3, 5, 6]), ps.spec("float32", k.shape), wrt=(0, 1)).joint()
    y, dx, dk = made(x, k, np.zeros((0, 4, 4, 4), np.float32))
    assert (y.shape, dx.shape) == ((0, 4, 4, 4), x.shape)
    np.testing.assert_array_equal(dk, np.zeros_like(k))


def test_a_batch_of_convolutions_is_one_with_a_kernel_for_all() -> None:
    f, *shapes = FORMS["one picture"]
    batched = ps.vmap(f, (0, None))
    block = recognize_convolutions(
        ps.trace(batched, ps.spec("float32", ["B", *shapes[0]]), ps.spec("float32", shapes[1])).block
    )
    x, k = example((3, *shapes[0]), shapes[1])
    np.testing.assert_allclose(ps.trace(batched, x, k)(x, k), [f(e, k) for e in x], rtol=1e-4, atol=1e-5)
    assert "call::sliding_window_view" in block.kinds or "Conv" in block.kinds


LEFT: dict[str, tuple[Function, str, str]] = {
    "float64": (FORMS["images"][0], "float64[2,3,5,6]", "float64[4,3,2,3]"),
    "a kernel for each channel": (
        lambda x, k: np.einsum("nchwij,cij->nchw", view(x, (2, 3), axis=(2, 3)), k), "float32[2,3,5,6]",
        "float32[3,2,3]",
    ),
    "a sum over places": (
        lambda x, k: np.einsum("nchwij,ohcij->now", view(x, (2, 3), axis=(2, 3)), k), "float32[2,3,5,6]",
        "float32[4,4,3,2,3]",
    ),
    "windows along an open axis": (lambda x, k: np.tensordot(view(x, (2, 3)), k, 2), "float32[N,6]", "float32[2,3]"),
    "windows that are read elsewhere": (
        lambda x, k: (w := view(x, (2, 3)))[0, 0, 0, 0] + np.tensordot(w, k, 2), "float32[5,6]", "float32[2,3]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_such_convolution_stays(name: str) -> None:
    f, *types = LEFT[name]
    block = record(lambda x, k: f(x, k), *types)
    assert recognize_convolutions(block) is block
