"""Windows of an axis as an array, and back: NumPy's indices."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.frontends.loops.lowering.windows import Windows, cut, dilated, folded, unfolded
from primsplit.tracing.asarray import as_array


def traced(function: Any, x: Any) -> Any:
    return ps.trace(lambda x: function(as_array(x)), x)(x)


@pytest.mark.parametrize(
    ("stride", "count", "dilation", "taps"), [(1, 4, 1, 3), (2, 3, 1, 2), (1, 2, 3, 3), (3, 1, 2, 1)]
)
def test_windows_are_those_of_numpys_indices_and_are_added_back_by_the_transpose(
    stride: int, count: int, dilation: int, taps: int
) -> None:
    windows = Windows(stride, count, dilation, taps)
    places = stride * np.arange(count) + dilation * np.arange(taps)[:, None]
    assert windows.length == places.max() + 1
    x = np.random.default_rng(0).standard_normal((2, places.max() + 1))
    np.testing.assert_array_equal(traced(lambda x: unfolded(x, windows), x), x[:, places])
    y = np.random.default_rng(1).standard_normal((2, taps, count))
    wanted = np.zeros((2, places.max() + 1))
    np.add.at(wanted, (slice(None), places), y)
    np.testing.assert_allclose(traced(lambda y: folded(y, windows, int(places.max()) + 1), y), wanted, rtol=1e-14)


def test_no_windows_are_none() -> None:
    windows = Windows(1, 0, 1, 3)
    assert traced(lambda x: unfolded(x, windows), np.zeros((2, windows.length))).shape == (2, 3, 0)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_zeros_stand_behind_each_element(stride: int) -> None:
    x = np.arange(1.0, 4.0)[None]
    wanted = np.zeros((1, 3 * stride))
    wanted[:, ::stride] = x
    np.testing.assert_array_equal(traced(lambda x: dilated(x, stride), x), wanted)


def test_a_cut_is_a_slice_along_any_axis() -> None:
    x = np.arange(24.0).reshape(4, 6)
    for axis, start, count, step in ((0, 1, 2, 1), (-1, 1, 3, 2), (1, 0, 6, 1), (1, 2, 0, 1)):
        wanted = np.take(x, start + step * np.arange(count), axis=axis)
        np.testing.assert_array_equal(traced(lambda x, c=(axis, start, count, step): cut(x, *c), x), wanted)
