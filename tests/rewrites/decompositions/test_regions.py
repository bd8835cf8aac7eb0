"""MaxRoiPool in float64: corners rounded to pixels, bins cut at the border, 0 for a bin without pixels."""

import math
from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.random.default_rng(0).permutation(2 * 2 * 6 * 7).reshape(2, 2, 6, 7) * 0.25 - 20.0


def pooled(x: Any, rois: Any, shape: tuple[int, int], scale: float) -> Any:
    """The maxima of the bins of Girshick (2015), one bin after the other."""
    found = np.zeros((len(rois), x.shape[1], *shape))
    for k, (image, *corners) in enumerate(rois):
        left, top, right, bottom = (math.floor(abs(c * scale) + 0.5) * math.copysign(1, c) for c in corners)
        spans = []
        for first, last, count, size in ((top, bottom, shape[0], x.shape[2]), (left, right, shape[1], x.shape[3])):
            each = max(last - first + 1, 1) / count
            ends = [(math.floor(i * each) + first, math.ceil((i + 1) * each) + first) for i in range(count)]
            spans.append([(int(min(max(a, 0), size)), int(min(max(b, 0), size))) for a, b in ends])
        for i, (top, bottom) in enumerate(spans[0]):
            for j, (left, right) in enumerate(spans[1]):
                window = x[int(image), :, top:bottom, left:right]
                found[k, :, i, j] = window.max((1, 2)) if window.size else 0.0
    return found


ROIS = np.array(
    [
        [0, 0, 0, 6, 5],  # the whole image
        [1, 2, 1, 5, 3],
        [1, 3, 4, 3, 4],  # one pixel for all bins
        [0, -4, -3, 2, 2],  # over the border, where bins are empty
        [0, 9, 9, 12, 12],  # outside of it
        [1, 5, 5, 1, 1],  # its end before its start
        [0, 0.5, 1.5, 4.49, 3.5],
    ]
)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (4, 2)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_a_bin_has_the_largest_of_its_pixels(shape: tuple[int, int], scale: float, symbolic: bool) -> None:
    specs = (ps.spec("float64", ["N", 2, "H", "W"]), ps.spec("float64", ["R", 5])) if symbolic else (X, ROIS)
    program = ps.trace(lambda x, rois: op.MaxRoiPool(x, rois, pooled_shape=shape, spatial_scale=scale), *specs)
    np.testing.assert_array_equal(program(X, ROIS), pooled(X, ROIS, shape, scale))


def test_no_regions_have_no_bins() -> None:
    program = ps.trace(lambda x, rois: op.MaxRoiPool(x, rois, pooled_shape=[2, 1]), X, ps.spec("float64", ["R", 5]))
    assert program(X, np.zeros((0, 5))).shape == (0, 2, 2, 1)
