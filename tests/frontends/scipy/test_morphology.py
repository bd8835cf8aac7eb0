"""scipy.ndimage's grey morphology: SciPy's values on traced images, and gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(6)

IMAGE = random.standard_normal((5, 6))

CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]], bool)

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "dilations": (
        lambda x: (
            scipys.grey_dilation(x, size=(2, 3), origin=(0, 1)),
            scipys.grey_dilation(x, footprint=CROSS, structure=np.arange(9.0).reshape(3, 3) * 0.1),
        ),
        IMAGE,
    ),
    "erosions": (
        lambda x: (
            scipys.grey_erosion(x, footprint=CROSS, mode="constant", cval=0.3),
            scipys.grey_erosion(x, structure=np.arange(6.0).reshape(2, 3) * 0.1),
        ),
        IMAGE,
    ),
    "openings and closings": (lambda x: (scipys.grey_opening(x, 2), scipys.grey_closing(x, (2, 3))), IMAGE),
    "what an opening takes": (lambda x: (scipys.white_tophat(x, 3), scipys.black_tophat(x, 3)), IMAGE),
    "edges by extremes": (
        lambda x: (scipys.morphological_gradient(x, 3), scipys.morphological_laplace(x, 3)), IMAGE
    ),
}  # fmt: skip

PIXELS = np.array([[300, 200, 500, 100, 400], [500, 800, 300, 700, 100], [500, 600, 900, 300, 500]])

OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "white_tophat": lambda x: scipys.white_tophat(x, 2),
    "black_tophat of booleans": lambda x: scipys.black_tophat(x > 400, 2),
    "morphological_laplace": lambda x: scipys.morphological_laplace(x, 3),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_give_the_integers_that_scipy_gives(name: str) -> None:
    found = ps.trace(lambda x: OF_INTEGERS[name](x), PIXELS.astype(np.int32))(PIXELS.astype(np.int32))
    np.testing.assert_array_equal(found, OF_INTEGERS[name](PIXELS.astype(np.int32)), strict=True)


@pytest.mark.sweep(6)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given)
