"""Convolutions and poolings in NumPy: against SciPy's correlation and NumPy's own windows."""

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import correlate

from primsplit.testing.windows import WINDOWED, conv, conv_transpose, max_pool_with_places

random = np.random.default_rng(0)
LAYOUTS = [
    {}, {"strides": [2, 3]}, {"pads": [1, 0, 2, 1]}, {"dilations": [2, 1], "pads": [2, 2, 2, 2]},
    {"strides": [3, 2], "dilations": [1, 2], "pads": [1, 2, 0, 1]},
]  # fmt: skip


def correlated(x: Any, w: Any, group: int, **layout: Any) -> Any:
    """The convolution by SciPy: of the padded image with spread weights, of which every stride-th is kept."""
    steps, spread = layout.get("strides", [1, 1]), layout.get("dilations", [1, 1])
    top, left, bottom, right = layout.get("pads", [0] * 4)
    padded = np.pad(x, [(0, 0), (0, 0), (top, bottom), (left, right)])
    wide = np.zeros((*w.shape[:2], *((k - 1) * d + 1 for k, d in zip(w.shape[2:], spread, strict=True))))
    wide[..., :: spread[0], :: spread[1]] = w
    each, own = x.shape[1] // group, w.shape[0] // group
    found = [
        [correlate(image[(o // own) * each :][:each], wide[o], "valid")[0] for o in range(w.shape[0])]
        for image in padded
    ]
    return np.array(found)[..., :: steps[0], :: steps[1]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("group", [1, 2])
def test_a_convolution_is_a_correlation(layout: Any, group: int) -> None:
    x, w, b = (random.standard_normal(s) for s in ((2, 4, 7, 8), (6, 4 // group, 3, 2), (6,)))
    found = conv(x, w, b, group=group, **layout)
    np.testing.assert_allclose(found, correlated(x, w, group, **layout) + b[:, None, None], atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_transposed_convolution_is_the_adjoint(layout: Any) -> None:
    """<conv(x, w), y> = <x, conv_transpose(y, w)>."""
    w, y = random.standard_normal((4, 3, 3, 2)), random.standard_normal((2, 4, 3, 4))
    back = conv_transpose(y, w, group=2, **layout)
    x = random.standard_normal(back.shape)
    np.testing.assert_allclose(np.sum(correlated(x, w, 2, **layout) * y), np.sum(x * back))


def test_an_infinite_weight_meets_no_padding() -> None:
    found = conv(np.ones((1, 1, 3)), np.array([[[np.inf, 1.0]]]), pads=[1, 0])
    np.testing.assert_array_equal(found, [[[1.0, np.inf, np.inf]]])


@pytest.mark.parametrize(
    ("kind", "reduce"),
    [("MaxPool", np.max), ("AveragePool", np.mean), ("LpPool", lambda a, axis: np.sqrt(np.sum(a**2, axis)))],
)
def test_a_pool_reduces_windows(kind: str, reduce: Any) -> None:
    x = random.standard_normal((2, 3, 9, 8))
    windows = sliding_window_view(x, (3, 2), axis=(2, 3))[:, :, ::2, ::3]
    found = WINDOWED[kind](x, kernel_shape=[3, 2], strides=[2, 3])
    np.testing.assert_allclose(found, reduce(windows, axis=(-2, -1)))


def test_padding_is_no_element_of_a_maximum_and_counts_in_a_mean_if_told() -> None:
    x = -np.ones((1, 1, 2))
    np.testing.assert_array_equal(WINDOWED["MaxPool"](x, kernel_shape=[2], pads=[1, 1]), -np.ones((1, 1, 3)))
    for include, ends in ((0, -1.0), (1, -0.5)):
        found = WINDOWED["AveragePool"](x, kernel_shape=[2], pads=[1, 1], count_include_pad=include)
        np.testing.assert_array_equal(found, [[[ends, -1.0, ends]]])


def test_a_maximum_of_small_integers_is_found() -> None:
    x = np.array([[[-128, -127, 5]]], np.int8)
    found = WINDOWED["MaxPool"](x, kernel_shape=[2], pads=[1, 0])
    assert (found.dtype, found.tolist()) == (np.int8, [[[-128, -127, 5]]])
    values, places = max_pool_with_places(x, kernel_shape=[2])
    assert (values.tolist(), places.tolist()) == ([[[-127, 5]]], [[[1, 2]]])


@pytest.mark.parametrize("pads", [[0, 0], [1, 0], [0, 1]])
@pytest.mark.parametrize(("span", "stride"), [(2, 1), (2, 2), (3, 1), (3, 2), (2, 3)])
def test_a_last_window_in_part_outside_is_added_if_it_is_told_and_begins_inside(
    span: int, stride: int, pads: list[int]
) -> None:
    for size in range(3, 9):
        found = WINDOWED["MaxPool"](
            np.ones((1, 1, size)), kernel_shape=[span], strides=[stride], pads=pads, ceil_mode=1
        )
        count = -(-(size + sum(pads) - span) // stride) + 1
        count -= (count - 1) * stride >= size + pads[0]
        assert found.shape == (1, 1, count)
