"""ONNX's image operators in NumPy: onnxruntime's results, and those of plain operators."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.images import IMAGES

random = np.random.default_rng(0)
IMAGE = random.standard_normal((1, 2, 5, 6)).astype(np.float32)
GRID = random.uniform(-1.4, 1.4, (1, 3, 4, 2)).astype(np.float32)


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest", "cubic"])
def test_samples_of_a_grid_are_onnxruntimes(mode: str, padding_mode: str, align_corners: int) -> None:
    options: dict[str, Any] = {"mode": mode, "padding_mode": padding_mode, "align_corners": align_corners}
    wanted = ps.trace(lambda x, g: op.GridSample(x, g, **options), IMAGE, GRID)(IMAGE, GRID)
    np.testing.assert_allclose(IMAGES["GridSample"](IMAGE, GRID, **options), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_places_of_an_affine_grid_are_onnxruntimes(align_corners: int) -> None:
    theta, size = random.standard_normal((2, 2, 3)).astype(np.float32), np.array([2, 1, 3, 4])
    wanted = ps.trace(lambda t: op.AffineGrid(t, size, align_corners=align_corners), theta)(theta)
    found = IMAGES["AffineGrid"](theta, size, align_corners=align_corners)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_convolution_without_offsets_is_the_plain_one_and_a_mask_scales_its_taps() -> None:
    w = random.standard_normal((3, 2, 3, 3)).astype(np.float32)
    offset = np.zeros((1, 18, 3, 4), np.float32)
    wanted = ps.trace(lambda x, w: op.Conv(x, w), IMAGE, w)(IMAGE, w)
    np.testing.assert_allclose(IMAGES["DeformConv"](IMAGE, w, offset), wanted, rtol=1e-4, atol=1e-5)
    mask = np.full((1, 9, 3, 4), 0.5, np.float32)
    np.testing.assert_allclose(IMAGES["DeformConv"](IMAGE, w, offset, None, mask), 0.5 * wanted, rtol=1e-4, atol=1e-5)


def test_an_offset_of_one_pixel_reads_the_next_one_and_nothing_outside() -> None:
    w, offset = np.ones((1, 2, 1, 1), np.float32), np.zeros((1, 2, 5, 6), np.float32)
    offset[:, 0] = 1.0
    moved = np.zeros((5, 6), np.float32)
    moved[:-1] = IMAGE[0].sum(axis=0)[1:]
    np.testing.assert_allclose(IMAGES["DeformConv"](IMAGE, w, offset)[0, 0], moved, atol=1e-6)


def test_the_largest_pixels_of_regions_are_onnxruntimes() -> None:
    rois = np.array([[0, 0, 0, 3, 3], [0, 1, 1, 5, 4], [0, 2, 2, 2, 2]], np.float32)
    wanted = ps.trace(lambda x: op.MaxRoiPool(x, rois, pooled_shape=[2, 2]), IMAGE)(IMAGE)
    np.testing.assert_array_equal(IMAGES["MaxRoiPool"](IMAGE, rois, pooled_shape=[2, 2]), wanted)
