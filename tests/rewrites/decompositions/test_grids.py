"""Sampling grids in float64."""

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("sizes", [(4, 3), (1, 5), (2, 3, 4)])
def test_each_pixel_is_moved_by_the_matrix_of_its_image(sizes: tuple[int, ...], align_corners: int) -> None:
    rank = len(sizes)
    theta = np.random.default_rng(0).standard_normal((2, rank, rank + 1))
    shape = np.array([2, 1, *sizes])
    found = ps.trace(lambda t: op.AffineGrid(t, shape, align_corners=align_corners), theta)(theta)

    def middles(n: int) -> np.ndarray:
        if align_corners:
            return np.linspace(-1, 1, n) if n > 1 else np.ones(1)
        return (2 * np.arange(n) + 1) / n - 1

    places = np.meshgrid(*map(middles, sizes), indexing="ij")
    points = np.stack([*reversed(places), np.ones(sizes)], axis=-1)
    np.testing.assert_allclose(found, np.einsum("nij,...j->n...i", theta, points), rtol=1e-13, atol=1e-14)
