"""Convolutions in float64, for which onnxruntime has no kernel."""

from typing import Any

import numpy as np
import pytest

from tests.rewrites.decompositions.reference import check, numbers, written

X = numbers(2, 4, 7, 6)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("weights", "attributes"),
    [
        ((3, 4, 3, 2), {}),
        ((3, 4, 3, 2), {"strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ((3, 4, 2, 2), {"dilations": [2, 3]}),
        ((6, 2, 3, 3), {"group": 2}),
        ((4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
        ((3, 4, 3, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((3, 4, 1, 1), {}),
    ],
    ids=str,
)
def test_a_convolution_is_the_references(weights: tuple[int, ...], attributes: dict[str, Any], symbolic: bool) -> None:
    check("Conv", X, numbers(*weights, seed=1), numbers(weights[0], seed=2), symbolic=symbolic, **attributes)


@pytest.mark.parametrize(
    ("weights", "attributes"),
    [
        ((4, 3, 3, 2), {}),
        ((4, 3, 3, 2), {"strides": [2, 3]}),
        ((4, 3, 3, 2), {"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 0]}),
        ((4, 3, 2, 2), {"dilations": [2, 2]}),
    ],
    ids=str,
)
def test_a_transposed_convolution_is_the_references(weights: tuple[int, ...], attributes: dict[str, Any]) -> None:
    check("ConvTranspose", X, numbers(*weights, seed=1), numbers(weights[1], seed=2), **attributes)


def test_windows_along_one_axis_and_along_three() -> None:
    check("Conv", numbers(1, 2, 9), numbers(3, 2, 4, seed=1), strides=[2])
    check("Conv", numbers(1, 2, 4, 5, 3), numbers(2, 2, 2, 3, 2, seed=1))


def test_a_transposed_convolution_of_groups_is_one_of_each_group() -> None:
    w = numbers(4, 3, 3, 2, seed=1)
    found = written("ConvTranspose", X, w, group=2)(X, w)
    each = [written("ConvTranspose", X[:, i : i + 2], w[i : i + 2])(X[:, i : i + 2], w[i : i + 2]) for i in (0, 2)]
    np.testing.assert_allclose(found, np.concatenate(each, axis=1), rtol=1e-12, atol=1e-14)
