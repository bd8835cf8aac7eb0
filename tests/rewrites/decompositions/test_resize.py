"""Resize in float64, for scales and sizes that are known or not, as onnx's reference resizes."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ir.runtimes import OLDEST
from primsplit.ops import op
from primsplit.rewrites.decompositions.resize import (
    ROUNDED,
    counts_from_back,
    cubic,
    is_long,
    is_rounded,
    linear,
)
from primsplit.rewrites.decompositions.table import is_odd
from tests.recording import record
from tests.rewrites.decompositions.reference import check, expected, numbers

X = numbers(1, 2, 4, 5)
F32 = np.float32
UP, DOWN = F32([1, 1, 1.5, 2]), F32([1, 1, 0.75, 0.5])
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]


@pytest.mark.parametrize("scales", [UP, DOWN], ids=["longer", "shorter"])
@pytest.mark.parametrize("how", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_new_position_is_a_weighted_sum_of_its_neighbours(mode: str, how: str, scales: Any) -> None:
    # The reference computes cubic weights in float32.
    if mode == "linear":
        check("Resize", X, None, scales, mode=mode, coordinate_transformation_mode=how)
    else:
        found = ps.trace(lambda x, s: op.Resize(x, None, s, mode=mode, coordinate_transformation_mode=how), X, scales)
        (wanted,) = expected("Resize", X, None, scales, mode=mode, coordinate_transformation_mode=how)
        np.testing.assert_allclose(found(X, scales), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("exclude", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_a_shorter_array_is_smoothed_where_it_is_asked(mode: str, exclude: int) -> None:
    how: dict[str, Any] = {"mode": mode, "antialias": 1, "exclude_outside": exclude}
    (wanted,) = expected("Resize", X, None, DOWN, **how)
    found = ps.trace(lambda x, s: op.Resize(x, None, s, **how), X, DOWN)(X, DOWN)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rounding", NEAREST)
@pytest.mark.parametrize("scales", [UP, DOWN], ids=["longer", "shorter"])
def test_the_nearest_neighbour_is_rounded_as_it_is_asked(rounding: str, scales: Any) -> None:
    for how in ("half_pixel", "asymmetric"):
        check("Resize", X, None, scales, symbolic=True, nearest_mode=rounding, coordinate_transformation_mode=how)


@pytest.mark.parametrize("sizes", [[3, 9], [4, 5], [1, 1], [8, 10]], ids=str)
@pytest.mark.parametrize("axes", [[2, 3], [-2, -1], [3, 2]], ids=str)
def test_sizes_are_those_of_the_axes_that_are_named(sizes: list[int], axes: list[int]) -> None:
    (wanted,) = expected("Resize", X, None, None, np.array(sizes), axes=[axis % 4 for axis in axes], mode="linear")
    found = ps.trace(lambda x: op.Resize(x, None, None, sizes, axes=axes, mode="linear"), X)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_a_policy_keeps_the_ratio_of_the_sides(policy: str) -> None:
    how: dict[str, Any] = {"axes": [2, 3], "keep_aspect_ratio_policy": policy, "mode": "linear"}
    (wanted,) = expected("Resize", X, None, None, np.array([8, 8]), **how)
    found = ps.trace(lambda x: op.Resize(x, None, None, [8, 8], **how), X)(X)
    assert found.shape == wanted.shape == ((1, 2, 6, 8) if policy == "not_larger" else (1, 2, 8, 10))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_position_outside_of_a_crop_has_the_value_that_is_asked_for() -> None:
    region = F32([0, 0, 0.25, -0.5, 1, 1, 1.5, 0.75])
    how: dict[str, Any] = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
    check("Resize", X, region, F32([1, 1, 1.5, 1]), mode="linear", **how)


@pytest.mark.parametrize("t", [0.0, 0.25, 1.0])
def test_the_weights_of_neighbours_add_up_to_one_and_keep_a_line(t: float) -> None:
    for weights, places in ((linear, [0, 1]), (lambda t: cubic(t, -0.5), [-1, 0, 1, 2])):
        found = np.array(weights(t))
        np.testing.assert_allclose([found.sum(), found @ places], [1, t], atol=1e-15)
    np.testing.assert_allclose(cubic(0.5, -0.75), [-0.09375, 0.59375, 0.59375, -0.09375])


def step(scales: Any = None, sizes: Any = None, spec: str = "float32[1,2,4,5]", **attributes: Any) -> Any:
    return record(lambda x: op.Resize(x, None, scales, sizes, **attributes), spec).ops[-1]


@pytest.mark.parametrize("how", sorted(ROUNDED - {"tf_crop_and_resize"}))
def test_a_fractional_length_is_rounded_by_onnxruntime_and_a_whole_one_not(how: str) -> None:
    told = {"coordinate_transformation_mode": how, "mode": "linear"}
    assert is_rounded(step(F32([1, 1, 1.1, 1]), **told))
    assert not is_rounded(step(F32([1, 1, 1.5, 2]), **told))
    assert not is_rounded(step(None, [1, 2, 7, 7], **told))
    assert is_rounded(step(None, [7, 7], axes=[2, 3], keep_aspect_ratio_policy="not_larger", **told))
    assert not is_rounded(step(F32([1, 1, 1.1, 1]), mode="linear"))


def test_a_length_is_too_long_where_float32_rounds_it_up() -> None:
    assert is_long(step(F32([0.7]), spec="float32[100]"))
    assert not is_long(step(F32([0.7]), spec="float32[99]"))
    assert is_long(step(F32([0.7]), spec="float32[2,100]", axes=[1]))
    assert not is_long(step(F32([0.7]), spec="float32[100,2]", axes=[1]))


def test_axes_that_count_from_the_last_are_odd() -> None:
    assert counts_from_back(step(None, [7], axes=[-1]))
    assert not counts_from_back(step(None, [7], axes=[1]))
    assert not counts_from_back(step(UP))
    assert is_odd(step(None, [7], axes=[-1]), OLDEST)


@pytest.mark.parametrize("how", ["align_corners", "pytorch_half_pixel"])
def test_fractional_lengths_in_float32_are_decomposed(how: str) -> None:
    scales, told = F32([1, 1, 1.1, 0.75]), {"coordinate_transformation_mode": how, "mode": "linear"}
    x = X.astype(np.float32)
    program = ps.trace(lambda x: op.Resize(x, None, scales, **told), x)
    (wanted,) = expected("Resize", X, None, scales, **told)
    np.testing.assert_allclose(program(x), wanted, rtol=1e-5, atol=1e-6)
    assert "Resize" not in {node.op_type for node in program.to_onnx().graph.node}


def test_a_length_whose_scale_follows_from_it_is_resized_to_its_size() -> None:
    """100 times 0.7 in float32 is 70, and onnxruntime finds 0.7 again."""
    x, scales = numbers(1, 1, 100, 2), F32([1, 1, 0.7, 1])
    program = ps.trace(lambda x: op.Resize(x, None, scales, mode="linear"), x.astype(np.float32))
    (node,) = (node for node in program.to_onnx().graph.node if node.op_type == "Resize")
    assert node.input[2] == ""
    (wanted,) = expected("Resize", x, None, None, np.array([1, 1, 70, 2]), mode="linear")
    np.testing.assert_allclose(program(x.astype(np.float32)), wanted, rtol=1e-4, atol=1e-5)
