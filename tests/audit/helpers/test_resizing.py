"""Images in other sizes."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from primsplit.audit.expressions.resizing import OPTIONS
from primsplit.audit.helpers.resizing import resize, resize_places, resize_weights

A = np.array([[1.0, 2.0], [3.0, 4.0]])


def test_nearest_elements_are_repeated() -> None:
    np.testing.assert_array_equal(resize(A, scales=[1.0, 2.0]), [[1, 1, 2, 2], [3, 3, 4, 4]])
    np.testing.assert_array_equal(resize(A, sizes=[4], axes=[0])[:, 0], [1, 1, 3, 3])


def test_linear_weights_are_between_two_elements() -> None:
    weights, _ = resize_weights(2, 4, 2.0, mode="linear")
    np.testing.assert_allclose(weights @ [1.0, 2.0], [1, 1.25, 1.75, 2])
    corners, _ = resize_weights(2, 3, 1.5, mode="linear", places="align_corners")
    np.testing.assert_allclose(corners @ [1.0, 3.0], [1, 2, 3])


def test_cubic_weights_keep_lines_and_add_up_to_1() -> None:
    weights, _ = resize_weights(8, 16, 2.0, mode="cubic", cubic=-0.5)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    np.testing.assert_allclose((weights @ np.arange(8.0))[4:12], resize_places(8, 16, 2.0, (0, 1), "half_pixel")[4:12])


def test_a_smaller_image_is_a_mean_with_antialias() -> None:
    weights, _ = resize_weights(8, 2, 0.25, mode="linear", antialias=1)
    assert np.count_nonzero(weights[0]) > 4
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_places_outside_have_the_number_for_it() -> None:
    found = resize(A, sizes=[2, 2], roi=[0, 0, 1, 2], places="tf_crop_and_resize", mode="linear", outside=-1.0)
    np.testing.assert_array_equal(found, [[1, -1], [3, -1]])


def test_the_shape_of_the_image_may_be_kept() -> None:
    assert resize(np.zeros((2, 4)), sizes=[4, 4], policy="not_larger").shape == (2, 4)
    assert resize(np.zeros((2, 4)), sizes=[4, 4], policy="not_smaller").shape == (4, 8)


@pytest.mark.parametrize("options", [
    {},
    {"exclude_outside": 1},
    {"cubic_coeff_a": -0.5},
    {"antialias": 1},
    {"coordinate_transformation_mode": "asymmetric"},
])  # fmt: skip
@pytest.mark.parametrize("size", [3, 11])
def test_cubic_weights_at_the_ends_are_those_of_the_standard(size: int, options: dict[str, Any]) -> None:
    """An option that is left out has the standard's default."""
    node = onnx.helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="cubic", **options)
    x = np.array([1.0, -2.0, 4.0, 0.5, 3.0])
    sizes = np.array([size])
    wanted = ReferenceEvaluator(node).run(None, {"x": x, "sizes": sizes})[0]
    told = {name: options[key] for name, (key, _) in OPTIONS.items() if key in options}
    np.testing.assert_allclose(resize(x, sizes=sizes, mode="cubic", **told), wanted, rtol=1e-4, atol=1e-6)
