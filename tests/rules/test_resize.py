"""The rule of Resize: the transposed product in every mode, and the form of its pullback."""

from typing import Any

import numpy as np
import onnx.helper
import pytest
from onnx.reference import ReferenceEvaluator

import primsplit as ps
from primsplit.ir.errors import MissingRule
from primsplit.ops import op
from tests.rules.checks import check_derivative
from tests.rules.rows import Row, rows_of

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


def test_an_axis_whose_matrix_would_take_gigabytes_is_refused() -> None:
    def resized(mode: str) -> ps.Program:
        return ps.split(
            lambda x: op.Resize(x, None, None, [9], axes=[2], mode=mode), ps.spec("float32", [1, 1, 2**14 + 1])
        )

    with pytest.raises(MissingRule, match="an axis of 16,385 elements is interpolated"):
        resized("linear")
    assert (
        resized("nearest").joint()(np.ones((1, 1, 2**14 + 1), np.float32), np.ones((1, 1, 9), np.float32))[1].sum() == 9
    )


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


@pytest.mark.sweep(3)
@pytest.mark.parametrize("sizes", [[3, 4], [7, 3]], ids=str)
@pytest.mark.parametrize("attributes", WAYS, ids=lambda way: " ".join(map(str, way.values())))
def test_float64_is_what_the_float32_kernel_gives_in_more_digits(attributes: dict[str, Any], sizes: list[int]) -> None:
    def resized(x: Any) -> Any:
        return op.Resize(x, np.array([0.2, 0.1, 0.9, 1.4], np.float32), None, sizes, axes=[2, 3], **attributes)

    narrow, wide = (ps.trace(resized, X.astype(dtype))(X.astype(dtype)) for dtype in ("float32", "float64"))
    np.testing.assert_allclose(wide, narrow, rtol=1e-4, atol=1e-5)


FRACTIONAL: list[dict[str, Any]] = [
    {"mode": mode, "antialias": antialias, "coordinate_transformation_mode": kind}
    for kind in ("align_corners", "pytorch_half_pixel", "tf_crop_and_resize")
    for mode, antialias in (("nearest", 0), ("linear", 0), ("cubic", 0), ("linear", 1), ("cubic", 1))
]


@pytest.mark.sweep(4)
@pytest.mark.parametrize("given", [[0.6, 1.3], [0.3, 2.5], [9, 2]], ids=str)
@pytest.mark.parametrize("attributes", FRACTIONAL, ids=lambda way: " ".join(map(str, way.values())))
def test_a_length_told_by_a_scale_may_be_fractional_as_in_the_standard(
    attributes: dict[str, Any], given: list[float]
) -> None:
    """onnxruntime divides by the whole number of elements; onnx/onnx#2462 says that the standard does not."""
    told = np.array(given, np.float32 if min(given) < 1 else np.int64)
    policy = {} if min(given) < 1 else {"keep_aspect_ratio_policy": "not_smaller"}
    region = np.array([0.2, 0.1, 0.9, 1.4], np.float32) if "crop" in str(attributes) else None
    how = {"axes": [2, 3], "extrapolation_value": 9.0, **attributes, **policy}
    which = (told, None) if min(given) < 1 else (None, told)

    def resized(x: Any) -> Any:
        return op.Resize(x, region, *which, **how)

    node = onnx.helper.make_node(
        "Resize", ["x", "" if region is None else "roi", *("" if t is None else "told" for t in which)], ["y"], **how
    )
    fed = {"x": X.astype(np.float64), "told": told, **({} if region is None else {"roi": region})}
    wanted = ReferenceEvaluator(node).run(None, fed)[0]
    for dtype, sizes, tolerance in (
        ("float32", (2, 3, 4, 5), 1e-5),
        ("float64", ("B", 3, "H", "W"), 1e-5),
        ("float16", ("B", 3, 4, 5), 2e-2),
    ):
        found = ps.trace(resized, ps.spec(dtype, sizes))(X.astype(dtype))
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


def test_whole_lengths_are_left_to_onnxruntime() -> None:
    def kinds(sizes: Any, scales: list[float]) -> list[str]:
        made = ps.trace(
            lambda x: op.Resize(
                x, None, np.array([1, 1, *scales], np.float32), None, coordinate_transformation_mode="align_corners"
            ),
            ps.spec("float32", sizes),
        )
        return [node.op_type for node in made.to_onnx().graph.node]

    assert kinds((2, 3, 4, 5), [1.5, 0.6]) == ["Resize"]
    assert kinds(list("BCHW"), [2, 3]) == ["Resize"]
    assert "Resize" not in kinds(list("BCHW"), [1.5, 2])
    assert "Resize" not in kinds((2, 3, 4, 5), [0.6, 2])


def test_a_scale_that_float32_rounds_down_gives_the_whole_length_in_float64_too() -> None:
    scale = np.array([0.7], np.float32)
    assert float(scale[0]) * 10 < 7
    for dtype in ("float32", "float64"):
        x = np.arange(10, dtype=dtype)
        wanted = ps.trace(lambda x: op.Resize(x, None, scale, None, mode="nearest"), x)(x)
        assert wanted.shape == (7,)


@pytest.mark.parametrize(("length", "scale", "new"), [(100, 0.7, 70), (20, 1.4, 28), (100, 2.8, 280)])
def test_a_length_that_comes_to_a_whole_number_in_float32_alone_is_that_number(
    length: int, scale: float, new: int
) -> None:
    weights = np.linspace(-1, 1, new).astype(np.float32)
    scales = np.array([1, 1, scale], np.float32)

    def resized(x: Any) -> Any:
        return op.Resize(x, None, scales, mode="linear") * weights

    x = np.random.default_rng(2).standard_normal(length).astype(np.float32)
    places = (np.arange(new) + 0.5) * length / new - 0.5
    expected = np.interp(places, np.arange(length), x) * weights
    joint = ps.split(resized, ps.spec("float32", (1, 1, length))).joint()
    value, gradient = joint(x[None, None], np.ones((1, 1, new), np.float32))
    np.testing.assert_allclose(value[0, 0], expected, atol=1e-5)
    np.testing.assert_allclose(np.sum(gradient * x), np.sum(expected), rtol=1e-4)


CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
CROPPED: list[tuple[str, list[int], dict[str, Any]]] = [
    *((mode, [4, 5], {}) for mode in ("nearest", "linear", "cubic")),
    *((mode, [4, 3], {}) for mode in ("nearest", "linear", "cubic")),
    ("linear", [4, 7], {"antialias": 1}),
    *((mode, [8, 7], {"keep_aspect_ratio_policy": "not_larger"}) for mode in ("nearest", "linear", "cubic")),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("mode", "sizes", "more"), CROPPED, ids=str)
def test_an_axis_that_keeps_its_size_is_cropped_too(mode: str, sizes: Any, more: Any, dtype: str) -> None:
    """As the standard and its reference have it; onnxruntime leaves such an axis as it is."""
    region = np.array([0.2, 0.1, 0.9, 1.4], np.float32)
    how = {"mode": mode, "axes": [2, 3], "extrapolation_value": 0.0, **CROP, **more}
    told = np.array(sizes, np.int64)
    node = onnx.helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **how)
    fed = {"x": X.astype(np.float64), "roi": region, "sizes": told}
    wanted = ReferenceEvaluator(node).run(None, fed)[0]
    for shape in ((2, 3, 4, 5), ("B", 3, "H", "W")):
        spec = ps.spec(dtype, shape)
        joint = ps.split(lambda x: op.Resize(x, region, None, told, **how), spec).joint()
        value, gradient = joint(X.astype(dtype), wanted.astype(dtype))
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.sum(gradient * X), np.sum(wanted**2), rtol=1e-4)  # the operator is linear in x


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_axes_of_a_policy_may_be_told_from_the_last(dtype: str) -> None:
    """onnxruntime resizes none of them."""

    def resized(x: Any, axes: list[int]) -> Any:
        how = {"mode": "linear", "keep_aspect_ratio_policy": "not_larger"}
        return op.Resize(x, None, None, np.array([7, 7], np.int64), axes=axes, **how)

    spec, x = ps.spec(dtype, (2, 3, 4, 5)), X.astype(dtype)
    front, back = (ps.trace(lambda x, axes=axes: resized(x, axes), spec)(x) for axes in ([2, 3], [-2, -1]))
    assert back.shape == (2, 3, 6, 7)
    np.testing.assert_array_equal(back, front)
    value, gradient = ps.split(lambda x: resized(x, [-2, -1]), spec).joint()(x, np.ones_like(back))
    np.testing.assert_array_equal(value, back)
    np.testing.assert_allclose(np.sum(gradient * x), np.sum(back), rtol=1e-4)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("sizes", [(3, 4), ("H", "W")], ids=str)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_an_axis_that_keeps_its_size_at_a_scale_beyond_1_moves_with_the_others(
    mode: str, sizes: Any, is_told: bool, dtype: str
) -> None:
    """The operator is linear in x, so its gradient is told by what it makes of unit arrays."""
    for scales in ([1.4, 1.2], [1.25, 1.2], [1.2, 1.3]):
        told = np.array(scales, np.float32)
        specs = (ps.spec(dtype, sizes), *(() if is_told else (ps.spec("float32", [2]),)))
        given = () if is_told else (told,)
        joint = ps.split(
            lambda x, *s, told=told: op.Resize(x, None, s[0] if s else told, mode=mode), *specs, wrt=0
        ).joint()
        x = X[0, 0, :3, :4].astype(dtype)
        after = tuple(int(n * s) for n, s in zip(x.shape, told, strict=True))
        seed = np.random.default_rng(1).standard_normal(after).astype(dtype)
        units = np.eye(x.size, dtype=dtype).reshape(-1, *x.shape)
        wanted = [np.sum(joint(u, *given, seed)[0] * seed) for u in units]
        np.testing.assert_allclose(joint(x, *given, seed)[1], np.reshape(wanted, x.shape), rtol=1e-4, atol=1e-5)


def test_an_axis_whose_matrix_fits_in_no_memory_has_no_derivative() -> None:
    def wide(x: Any) -> Any:
        return op.Resize(x, None, np.array([1, 1, 0.5, 1], np.float32), mode="linear")

    with pytest.raises(MissingRule, match="an axis of 2,147,483,647 elements"):
        ps.split(wide, ps.spec("float32", [1, 1, 2**31 - 1, 4]))


@pytest.mark.parametrize("row", rows_of("resize"), ids=str)
def test_a_rule_gives_the_derivative_in_its_promised_form(row: Row) -> None:
    check_derivative(row)
