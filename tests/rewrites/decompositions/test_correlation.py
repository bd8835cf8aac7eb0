"""A convolution of one image with a large kernel as one product of matrices."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir import Op, Type, Var
from primsplit.rewrites.decompositions.correlation import Places, correlate, is_correlation
from tests.rewrites.decompositions.reference import expected, numbers


@pytest.mark.parametrize(
    ("image", "kernel", "attributes"),
    [
        ((1, 2, 6, 7), (3, 2, 5, 5), {}),
        ((1, 2, 6, 6), (3, 2, 5, 4), {"pads": [1, 0, 0, 1]}),
        ((1, 2, 8, 6), (3, 2, 3, 3), {"dilations": [2, 2], "pads": [2, 0, 0, 2]}),
        ((1, 3, 9), (2, 3, 8), {}),
    ],
)
def test_it_is_the_convolution(image: tuple[int, ...], kernel: tuple[int, ...], attributes: dict[str, Any]) -> None:
    x, w, b = numbers(*image), numbers(*kernel, seed=1), numbers(kernel[0], seed=2)
    found = ps.trace(lambda x, w, b: correlate(x, w, b, **attributes), x, w, b)(x, w, b)
    (wanted,) = expected("Conv", x, w, b, **attributes)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("image", "kernel", "attributes"),
    [
        ((2, 2, 6, 6), (3, 2, 5, 5), {}),
        ((1, 2, 6, 6), (3, 2, 5, 5), {"strides": [2, 2]}),
        ((1, 4, 6, 6), (4, 2, 5, 5), {"group": 2}),
        ((1, 2, 7, 6), (3, 2, 3, 3), {"dilations": [2, 2]}),
        ((1, 2, 4, 4), (3, 2, 5, 5), {}),
        ((1, 2, 6, 6), (3, 2, 5, 5), {"auto_pad": "SAME_UPPER"}),
    ],
)
def test_what_is_no_such_convolution_has_no_places(image: Any, kernel: Any, attributes: dict[str, Any]) -> None:
    assert Places.of(image, kernel, attributes) is None


def test_it_is_used_where_the_kernel_has_more_taps_than_places() -> None:
    def conv(kernel: int) -> Op:
        x, w = Var(Type("float32", [1, 1, 8, 8])), Var(Type("float32", [1, 1, kernel, kernel]))
        return Op("Conv", (x, w), (Var(Type("float32", [1, 1, 9 - kernel, 9 - kernel])),))

    assert is_correlation(conv(6))
    assert not is_correlation(conv(4))
