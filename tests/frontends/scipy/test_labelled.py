"""scipy.ndimage's statistics of labelled pixels: SciPy's values on traced images, and gradients."""

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

LABELS = np.arange(30).reshape(5, 6) % 3

FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "labelled pixels": (
        lambda x: (
            scipys.sum_labels(x, LABELS, [0, 2]), scipys.mean(x, LABELS, [0, 1, 2]), scipys.variance(x, LABELS),
            scipys.standard_deviation(x, LABELS, 1), scipys.maximum(x, LABELS, [1, 2]), scipys.minimum(x),
        ),
        IMAGE,
    ),
    "labels that the function makes": (
        lambda x: scipys.sum(x, np.arange(30).reshape(5, 6) % 3, np.array([1, 2])), IMAGE
    ),
    "labelled centers of mass": (lambda x: np.array(scipys.center_of_mass(x**2 + 1.0, LABELS, [0, 2])), IMAGE),
    "labelled center of mass": (lambda x: np.stack(scipys.center_of_mass(x**2 + 1.0, LABELS, 1)), IMAGE),
    "center_of_mass": (lambda x: np.stack(scipys.center_of_mass(x**2 + 1.0)), VOLUME),
}  # fmt: skip

PIXELS = np.array([[300, 200, 500, 100, 400], [500, 800, 300, 700, 100], [500, 600, 900, 300, 500]])

OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "maximum": lambda x: scipys.maximum(x, LABELS[:3, :5], [0, 2, 7]),
    "minimum": lambda x: scipys.minimum(x, LABELS[:3, :5]),
}


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_integers_give_the_integers_that_scipy_gives(name: str) -> None:
    found = ps.trace(lambda x: OF_INTEGERS[name](x), PIXELS.astype(np.int32))(PIXELS.astype(np.int32))
    np.testing.assert_array_equal(found, OF_INTEGERS[name](PIXELS.astype(np.int32)), strict=True)


def test_a_deviation_of_equal_pixels_has_no_slope() -> None:
    slopes = ps.grad(lambda x: np.sum(scipys.standard_deviation(x, [1, 1, 2, 3, 3], [1, 2, 3])))
    np.testing.assert_array_equal(slopes(np.array([1.0, 4.0, 5.0, 7.0, 7.0])), [-0.5, 0.5, 0.0, 0.0, 0.0])


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_scipys_with_gradients(name: str) -> None:
    function, given = FUNCTIONS[name]
    check_grads(lambda x: function(x), given, symbolic=not name.startswith("label"))
