"""Gradients of convolutions and poolings where other tools are wrong without a word, and in each form of a rule."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import primsplit as ps
from primsplit.ops import op
from primsplit.testing.windows import average_pool, conv, max_pool

random = np.random.default_rng(7)


def gradients(function: Any, *arrays: Any, specs: Any = None) -> tuple[Any, list[Any], Any]:
    """The value, the cotangents for a random cotangent of the value, and that cotangent."""
    joint = ps.split(function, *(arrays if specs is None else specs), wrt=list(range(len(arrays)))).joint().session()
    shape = ps.trace(function, *arrays).block.results[0].type.shape
    dy = random.standard_normal(shape).astype(arrays[0].dtype)
    value, *found = joint(*arrays, dy)
    return value, found, dy


def assert_derivative(function: Any, arrays: Any, found: Any, dy: Any, step: float = 1e-6) -> None:
    """<dy, directional difference of the NumPy function in float64> is the pairing with the cotangents found."""
    base = [a.astype(np.float64) for a in arrays]
    for _ in range(4):
        ways = [random.standard_normal(a.shape) for a in base]
        ahead, behind = (function(*(a + t * w for a, w in zip(base, ways, strict=True))) for t in (step, -step))
        wanted = np.sum(dy * (ahead - behind)) / (2 * step)
        paired = sum(np.sum(g * w) for g, w in zip(found, ways, strict=True))
        scale = sum(np.sum(np.abs(g * w)) for g, w in zip(found, ways, strict=True))
        assert abs(paired - wanted) < (1e-7 if arrays[0].dtype == np.float64 else 1e-4) * max(1.0, scale)


def image(*shape: int, dtype: Any = np.float64) -> Any:
    """Distinct numbers, far enough apart that no maximum changes within a step."""
    return (random.permutation(int(np.prod(shape))).reshape(shape) * 0.01 - 0.3).astype(dtype)


SAME = ["SAME_UPPER", "SAME_LOWER"]


@pytest.mark.parametrize("auto_pad", SAME)
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_average_pool_with_same_padding_and_dilations(auto_pad: str, stride: int, dilation: int) -> None:
    options = {"kernel_shape": [2], "strides": [stride], "dilations": [dilation], "auto_pad": auto_pad}
    x = image(2, 2, 7)
    value, found, dy = gradients(lambda x: op.AveragePool(x, **options), x)
    np.testing.assert_allclose(value, average_pool(x, **options), rtol=1e-13)
    assert_derivative(lambda x: average_pool(x, **options), [x], found, dy)


@pytest.mark.parametrize("auto_pad", SAME)
def test_a_pool_of_a_pool_has_the_sizes_of_its_input_however_long_they_are(auto_pad: str) -> None:
    options = {"kernel_shape": [3], "strides": [2], "auto_pad": auto_pad}
    x = image(1, 2, 19)
    spec = ps.spec("float64", ["N", 2, "L"])
    value, found, dy = gradients(lambda x: op.AveragePool(op.AveragePool(x, **options), **options), x, specs=[spec])
    wanted = average_pool(average_pool(x, **options), **options)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    assert_derivative(lambda x: average_pool(average_pool(x, **options), **options), [x], found, dy)


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_pool_with_padding_dilation_and_ceil_mode(include: int, dtype: Any) -> None:
    options = {"kernel_shape": [2, 3], "strides": [2, 3], "dilations": [2, 1], "pads": [1, 0, 0, 1]}
    more = {**options, "ceil_mode": 1, "count_include_pad": include}
    x = image(2, 2, 6, 7, dtype=dtype)
    specs = [ps.spec(dtype, ["N", 2, "H", "W"])]
    for spec in (None, specs):
        value, found, dy = gradients(lambda x: op.AveragePool(x, **more), x, specs=spec)
        np.testing.assert_allclose(value, average_pool(x, **more), rtol=1e-6)
        assert_derivative(lambda x: average_pool(x, **more), [x], found, dy, 1e-3)


@pytest.mark.parametrize("auto_pad", SAME)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_convolution_with_same_padding_dilated_too(auto_pad: str, dtype: Any) -> None:
    options = {"strides": [2, 1], "dilations": [1, 2], "auto_pad": auto_pad}
    x, w = image(2, 3, 6, 5, dtype=dtype), image(2, 3, 2, 3, dtype=dtype)
    specs = [ps.spec(dtype, ["N", 3, "H", "W"]), w]
    for spec in (None, specs):
        value, found, dy = gradients(lambda x, w: op.Conv(x, w, **options), x, w, specs=spec)
        np.testing.assert_allclose(value, conv(x, w, **options), rtol=1e-4, atol=1e-4)
        assert_derivative(lambda x, w: conv(x, w, **options), [x, w], found, dy, 1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_pool_of_three_axes_with_dilations(dtype: Any) -> None:
    options = {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3], "strides": [1, 2, 1]}
    x = image(1, 2, 4, 5, 6, dtype=dtype)
    value, found, dy = gradients(lambda x: op.MaxPool(x, **options), x)
    np.testing.assert_array_equal(value, max_pool(x, **options))
    assert_derivative(lambda x: max_pool(x, **options), [x], found, dy, 1e-4)


@pytest.mark.parametrize(("kernel", "stride", "pad"), [(2, 3, 1), (1, 3, 0), (3, 2, 1), (2, 2, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_max_pool_with_ceil_mode_at_every_length(kernel: int, stride: int, pad: int, dtype: Any) -> None:
    options = {"kernel_shape": [kernel], "strides": [stride], "pads": [pad, pad], "ceil_mode": 1}
    joint = ps.split(lambda x: op.MaxPool(x, **options), ps.spec(dtype, [1, 2, "L"]), wrt=[0]).joint().session()
    for length in range(3, 9):
        x = image(1, 2, length, dtype=dtype)
        wanted = max_pool(x, **options)
        dy = random.standard_normal(wanted.shape).astype(dtype)
        value, found = joint(x, dy)
        np.testing.assert_array_equal(value, wanted)
        assert_derivative(lambda x: max_pool(x, **options), [x], [found], dy, 1e-4)


@pytest.mark.parametrize("storage_order", [0, 1])
def test_the_order_of_the_indices_does_not_touch_the_gradient(storage_order: int) -> None:
    x = np.array([[[[0.0, 3.0, 1.0], [2.0, 3.0, 0.0]]]])
    options: dict[str, Any] = {"kernel_shape": [2, 2], "storage_order": storage_order}
    made = ps.split(lambda x: op.MaxPool(x, outputs=2, **options), x, wrt=[0], of=[0])
    value, indices, found = made.joint().session()(x, np.array([[[[1.0, 10.0]]]]))
    assert value.tolist() == [[[[3.0, 3.0]]]]
    assert indices.tolist() == ([[[[2, 2]]]] if storage_order else [[[[1, 1]]]])
    assert found.tolist() == [[[[0, 11, 0], [0, 0, 0]]]]


TIES: list[dict[str, Any]] = [
    {"kernel_shape": [2, 2], "strides": [2, 2]},
    {"kernel_shape": [2, 3], "strides": [2, 3]},
    {"kernel_shape": [3, 3], "strides": [2, 2]},
    {"kernel_shape": [3, 2], "strides": [1, 2]},
    {"kernel_shape": [2, 3], "strides": [3, 2], "dilations": [2, 1]},
]


@pytest.mark.parametrize("options", TIES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("symbolic", [False, True])
def test_a_windows_cotangent_goes_to_its_first_maximum(options: dict[str, Any], dtype: Any, symbolic: bool) -> None:
    x = random.integers(0, 3, (2, 2, 6, 6)).astype(dtype)
    x[0, 0] = 0
    spec = ps.spec(dtype, ["N", 2, "H", "W"]) if symbolic else x
    (low, wide), steps = options["kernel_shape"], options["strides"]
    spread = options.get("dilations", [1, 1])
    counts = [(6 - (k - 1) * d - 1) // s + 1 for k, d, s in zip((low, wide), spread, steps, strict=True)]
    dy = random.standard_normal((2, 2, *counts)).astype(dtype)
    expected = np.zeros(x.shape)
    for n, c, i, j in np.ndindex(dy.shape):
        window = x[n, c, i * steps[0] :: spread[0], j * steps[1] :: spread[1]][:low, :wide]
        first = np.unravel_index(np.argmax(window), window.shape)
        expected[n, c, i * steps[0] + first[0] * spread[0], j * steps[1] + first[1] * spread[1]] += dy[n, c, i, j]
    joint = ps.split(lambda x: op.MaxPool(x, **options), spec, wrt=[0]).joint().session()
    np.testing.assert_allclose(joint(x, dy)[1], expected, rtol=1e-6, atol=1e-6)


def test_max_pool_asks_for_no_indices() -> None:
    made = ps.split(lambda x: op.MaxPool(x, kernel_shape=[2, 2]), ps.spec("float32", ["N", 3, "H", "W"]), wrt=[0])
    pools = [node for node in made.joint().to_onnx().graph.node if node.op_type == "MaxPool"]
    assert pools
    assert all(len(node.output) == 1 for node in pools)


FORMS = [
    ((2, 6, 5, 6), (4, 6, 3, 3), {"strides": [2, 1], "pads": [1, 1, 1, 1]}),
    ((2, 3, 5, 6), (4, 3, 3, 2), {"strides": [2, 3], "dilations": [2, 1]}),
    ((2, 6, 5, 6), (4, 3, 2, 3), {"group": 2, "strides": [2, 2], "pads": [1, 0, 0, 1]}),
    ((2, 3, 5, 6), (6, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    ((2, 3, 5, 6), (3, 1, 3, 2), {"group": 3}),
    ((2, 3, 6, 5), (3, 1, 3, 3), {"group": 3, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((2, 3, 5, 6), (4, 3, 1, 1), {}),
    ((2, 3, 16, 15), (4, 3, 1, 1), {"strides": [1, 1]}),
    ((1, 3, 4, 4), (5, 3, 1, 1), {}),
    ((2, 3, 5, 6), (4, 3, 2, 2), {"strides": [2, 1], "dilations": [1, 2], "pads": [0, 1, 1, 0]}),
    ((2, 6, 5, 6), (4, 3, 2, 2), {"group": 2, "strides": [1, 2], "dilations": [2, 2]}),
    ((2, 3, 5), (4, 3, 1), {"strides": [3]}),
    ((1, 4, 4, 3, 4), (4, 2, 2, 2, 3), {"group": 2, "strides": [2, 1, 1], "dilations": [1, 2, 1]}),
]


@pytest.mark.parametrize(("shape", "kernel", "options"), FORMS, ids=str)
def test_each_form_of_the_weights_gradient_for_numbers_and_symbols(shape: Any, kernel: Any, options: Any) -> None:
    x, w = image(*shape, dtype=np.float32), image(*kernel, dtype=np.float32)
    sizes = ["N", shape[1], *(f"S{i}" for i in range(len(shape) - 2))]
    for spec in (None, [ps.spec("float32", sizes), w]):
        _, found, dy = gradients(lambda x, w: op.Conv(x, w, **options), x, w, specs=spec)
        assert_derivative(lambda x, w: conv(x, w, **options), [x, w], found, dy, 1e-3)


def test_an_empty_batch_has_a_zero_weight_gradient() -> None:
    w = image(4, 6, 3, 3, dtype=np.float32)
    made = ps.split(lambda x, w: op.Conv(x, w), ps.spec("float32", ["N", 6, 5, 5]), w, wrt=[0, 1])
    _, dx, dw = made.joint().session()(np.zeros((0, 6, 5, 5), np.float32), w, np.zeros((0, 4, 3, 3), np.float32))
    assert dx.shape == (0, 6, 5, 5)
    assert dw.shape == w.shape
    assert not dw.any()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("shape", "corner"), [([1, 1, 5, 5], 4), ([1, 1, 3, 3], 3)])
def test_unpooling_into_a_given_shape_counts_places_over_the_shape_of_the_windows(
    shape: list[int], corner: int, dtype: str
) -> None:
    """As in the standard's node case; onnxruntime counts them over the given shape."""
    places, x = np.array([[[[5, 7], [13, 15]]]]), np.array([[[[5, 6], [7, 8]]]], dtype)
    wanted, rows = np.zeros(shape, dtype), np.zeros((4, 4), dtype)
    rows.flat[places.ravel()] = x.ravel()
    wanted[..., :corner, :corner] = rows[:corner, :corner]
    joint = ps.split(
        lambda x: op.MaxUnpool(x, places, shape, kernel_shape=[2, 2], strides=[2, 2]), ps.spec(dtype, [1, 1, "H", "W"])
    ).joint()
    seed = np.arange(np.prod(shape), dtype=dtype).reshape(shape) + 1
    value, gradient = joint(x, seed)
    np.testing.assert_array_equal(value, wanted)
    read = np.zeros((4, 4))
    read[:corner, :corner] = seed[0, 0, :corner, :corner]
    np.testing.assert_array_equal(gradient.ravel(), read.flat[places.ravel()])


@pytest.mark.parametrize("auto_pad", SAME)
def test_a_dilated_max_pool_with_same_padding_of_a_size_that_the_run_knows(auto_pad: str) -> None:
    options = {"kernel_shape": [3], "strides": [2], "dilations": [2], "auto_pad": auto_pad}
    x = image(2, 2, 7)
    spec = ps.spec("float64", ["N", 2, "L"])
    value, found, dy = gradients(lambda x: op.MaxPool(x, **options), x, specs=[spec])
    np.testing.assert_array_equal(value, max_pool(x, **options))
    assert_derivative(lambda x: max_pool(x, **options), [x], found, dy)


@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_a_float64_convolution_of_no_images_is_empty_and_its_weights_get_zero(kind: str, group: int) -> None:
    w = np.ones((4, 4 // group if kind == "Conv" else 2, 3, 3))
    spec = ps.spec("float64", ["N", 4, 5, 5])
    joint = ps.split(lambda x, w: getattr(op, kind)(x, w, group=group), spec, w).joint()
    size, channels = (3, 4) if kind == "Conv" else (7, 2 * group)
    value, dx, dw = joint(np.zeros((0, 4, 5, 5)), w, np.zeros((0, channels, size, size)))
    assert (value.shape, dx.shape) == ((0, channels, size, size), (0, 4, 5, 5))
    np.testing.assert_array_equal(dw, np.zeros(w.shape))


@pytest.mark.parametrize("known", [True, False])
def test_dilated_windows_of_one_axis_keep_their_channels_apart(known: bool) -> None:
    """onnxruntime's float32 kernel adds to the wrong channel; each tap k of window o belongs at o + 2 k."""
    columns = np.arange(1.0, 19.0, dtype=np.float32).reshape(1, 6, 3)
    sizes = np.array([7]), np.array([3])

    def program(x: ps.Array, image: ps.Array, block: ps.Array) -> ps.Array:
        return op.Col2Im(x, *(sizes if known else (image, block)), dilations=[2])

    found = ps.trace(program, columns, *sizes)(columns, *sizes)
    wanted = np.zeros((1, 2, 7))
    for channel, tap, window in np.ndindex(2, 3, 3):
        wanted[0, channel, window + 2 * tap] += columns[0, 3 * channel + tap, window]
    np.testing.assert_array_equal(found, wanted)


UNTOLD: dict[str, tuple[str, list[int], list[int], dict[str, Any]]] = {
    "plain": ("Conv", [2, 3, 7], [4, 3, 3], {}),
    "of groups": ("Conv", [2, 4, 7, 6], [6, 2, 3, 2], {"group": 2, "strides": [2, 1], "pads": [1, 0, 2, 1]}),
    "by channels, spread": ("Conv", [1, 3, 9], [3, 1, 2], {"group": 3, "dilations": [3], "strides": [2]}),
    "of single elements": ("Conv", [2, 3, 5, 4], [2, 3, 1, 1], {}),
    "transposed": ("ConvTranspose", [2, 3, 4], [3, 2, 3], {}),
    "transposed of groups": (
        "ConvTranspose",
        [2, 4, 3, 4],
        [4, 3, 2, 3],
        {"group": 2, "strides": [3, 1], "pads": [1, 0, 0, 1], "dilations": [1, 2], "output_padding": [2, 0]},
    ),
}


@pytest.mark.parametrize("name", UNTOLD)
@pytest.mark.parametrize("batch", ["as it is", "empty"])
def test_a_convolution_of_float64_takes_kernels_whose_sizes_only_the_run_knows(name: str, batch: str) -> None:
    """It is linear in both: the transpose of each map is told by products with what the reference makes of others."""
    kind, image, kernel, attributes = UNTOLD[name]
    image = [0 if batch == "empty" else image[0], *image[1:]]
    random, count = np.random.default_rng(0), len(image) - 2
    node = onnx.helper.make_node(kind, ["x", "w"], ["y"], **{**attributes, "group": 1})

    def meant(x: Any, w: Any) -> Any:
        groups = attributes.get("group", 1)
        parts = zip(np.split(x, groups, 1), np.split(w, groups, 0), strict=True)
        return np.concatenate([ReferenceEvaluator(node).run(None, {"x": a, "w": b})[0] for a, b in parts], 1)

    x, w = random.standard_normal(image), random.standard_normal(kernel)
    specs = (
        ps.spec("float64", ["N", image[1], *["A", "B"][:count]]),
        ps.spec("float64", [*kernel[:2], *["K", "L"][:count]]),
    )
    program = ps.trace(lambda x, w: getattr(op, kind)(x, w, **attributes), *specs)
    y = program(x, w)
    if batch == "empty":
        assert y.shape == (0, *program(random.standard_normal([1, *image[1:]]), w).shape[1:])
        return
    np.testing.assert_allclose(y, meant(x, w), rtol=1e-12, atol=1e-12)
    seed, other_x, other_w = (random.standard_normal(a.shape) for a in (y, x, w))
    _, by_x, by_w = ps.split(program, wrt=[0, 1]).joint()(x, w, seed)
    np.testing.assert_allclose(np.sum(by_x * other_x), np.sum(seed * meant(other_x, w)), rtol=1e-10)
    np.testing.assert_allclose(np.sum(by_w * other_w), np.sum(seed * meant(x, other_w)), rtol=1e-10)


@pytest.mark.parametrize(("count", "is_counted"), [(2**16, True), (2**16 + 1, False)])
def test_the_taps_of_few_windows_are_counted_before_the_run(count: int, is_counted: bool) -> None:
    def f(x: Any) -> Any:
        return op.AveragePool(x, kernel_shape=[3], pads=[1, 1])

    made = ps.split(f, ps.spec("float32", [1, 1, count]))
    assert ("Range" in made.joint().block.kinds) is not is_counted
