"""The rule of Resize: the transposed product in every mode, and the form of its pullback."""

from typing import Any

import numpy as np
import pytest

import primsplit as ps
from primsplit.ops import op

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype(np.float32)


def nodes(*sizes: Any, **attributes: Any) -> list[str]:
    made = ps.split(lambda x: op.Resize(x, None, None, [8, 10], axes=[2, 3], **attributes), ps.spec("float64", sizes))
    return [o.kind for o in made.split.pullback.ops if o.kind in {"MatMul", "ReduceSum", "ScatterND"}]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), ("B", 3, "H", "W")], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_crop_is_differentiated_at_the_positions_that_onnxruntime_reads(
    mode: str, sizes: tuple[Any, ...], dtype: str
) -> None:
    region = np.array([0.2, 0.1, 0.9, 1.4], np.float32)

    def crop(x: Any) -> Any:
        return op.Resize(
            x, region, np.array([1.5, 0.7], np.float32), axes=[2, 3], mode=mode, extrapolation_value=9.0,
            coordinate_transformation_mode="tf_crop_and_resize",
        )  # fmt: skip

    joint = ps.split(crop, ps.spec(dtype, sizes)).joint()
    random = np.random.default_rng(1)
    x = X.astype(dtype)
    value, _ = joint(x, np.zeros((2, 3, 6, 3), dtype))
    direction, seed = (random.standard_normal(shape).astype(dtype) for shape in (x.shape, value.shape))
    moved, gradient = joint(x + direction, seed)
    np.testing.assert_array_equal(value[..., -1], 9.0)
    np.testing.assert_allclose(np.sum(gradient * direction), np.sum(seed * (moved - value)), rtol=1e-4)


def test_interpolation_is_undone_by_one_product_an_axis() -> None:
    assert nodes("B", 3, 4, 5, mode="linear") == ["MatMul", "MatMul"]
    assert nodes(2, 3, "H", "W", mode="cubic") == ["MatMul", "MatMul"]


def test_whole_repeats_are_summed_and_other_neighbours_scattered() -> None:
    assert nodes("B", 3, 4, 5, mode="nearest") == ["ReduceSum", "ReduceSum"]
    assert nodes("B", 3, 4, 5, mode="nearest", coordinate_transformation_mode="align_corners") == ["ScatterND"] * 2


def test_no_value_is_captured() -> None:
    made = ps.split(
        lambda x: op.Resize(x, None, None, [7, 9], axes=[2, 3], mode="cubic"), ps.spec("float64", list("BCHW"))
    )
    assert {made.split.kind(c) for c in made.split.captures} == {"shape"}


def test_a_bilinear_upsampling_by_two_spreads_each_cotangent_by_the_textbooks_weights() -> None:
    joint = ps.split(lambda x: op.Resize(x, None, None, [4], axes=[0], mode="linear"), ps.spec("float64", [2])).joint()
    gradients = [joint(np.zeros(2), seed)[1].tolist() for seed in np.eye(4)]
    assert gradients == [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]]


WAYS: list[dict[str, Any]] = [
    *({"mode": mode, "antialias": 1, "exclude_outside": out} for mode in ("linear", "cubic") for out in (0, 1)),
    {"mode": "linear", "antialias": 1, "coordinate_transformation_mode": "align_corners"},
    *({"mode": mode, "keep_aspect_ratio_policy": "not_larger"} for mode in ("nearest", "linear", "cubic")),
    {"mode": "linear", "keep_aspect_ratio_policy": "not_smaller", "coordinate_transformation_mode": "asymmetric"},
    *(
        {"mode": mode, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
        for mode in ("nearest", "linear", "cubic")
    ),
]


@pytest.mark.parametrize("sizes", [[3, 4], [7, 3]], ids=str)
@pytest.mark.parametrize("attributes", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_float64_is_what_the_float32_kernel_gives_in_more_digits(attributes: dict[str, Any], sizes: list[int]) -> None:
    def resized(x: Any) -> Any:
        return op.Resize(x, np.array([0.2, 0.1, 0.9, 1.4], np.float32), None, sizes, axes=[2, 3], **attributes)

    narrow, wide = (ps.trace(resized, X.astype(dtype))(X.astype(dtype)) for dtype in ("float32", "float64"))
    np.testing.assert_allclose(wide, narrow, rtol=1e-4, atol=1e-5)
