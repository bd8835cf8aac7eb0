"""scipy.ndimage's binary morphology: SciPy's values on traced images, which pass gradients of what they select."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage as scipys

import primsplit as ps
from primsplit.testing import check_grads

random = np.random.default_rng(6)

IMAGE = random.standard_normal((5, 6))

VOLUME = random.standard_normal((3, 4, 3))

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "binary_erosion": (lambda x: x * scipys.binary_erosion(x > -1, [[1, 1, 0]], 2, border_value=1), IMAGE),
    "binary_dilation": (lambda x: x * scipys.binary_dilation(x > 1, [[1, 1], [0, 1]], origin=(0, -1)), IMAGE),
    "binary_opening": (lambda x: x * scipys.binary_opening(x > -0.5), VOLUME),
    "binary_closing": (lambda x: x * scipys.binary_closing(x > 0.5, mask=x < 1, iterations=2), IMAGE),
}  # fmt: skip

PIXELS = np.array([[300, 200, 500, 100, 400], [500, 800, 300, 700, 100], [500, 600, 900, 300, 500]])

OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "one pixel": lambda x: scipys.binary_dilation(x[0, 0]),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_give_the_integers_that_scipy_gives(name: str) -> None:
    found = ps.trace(lambda x: OF_INTEGERS[name](x), PIXELS.astype(np.int32))(PIXELS.astype(np.int32))
    np.testing.assert_array_equal(found, OF_INTEGERS[name](PIXELS.astype(np.int32)), strict=True)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given)
