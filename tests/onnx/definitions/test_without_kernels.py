"""Operators of com.microsoft that this onnxruntime has no CPU kernel for: held against what they are made of."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from primsplit.testing import check_grads


def loaded(tmp_path: Path, kind: str, arrays: list[np.ndarray], rank: int, dtype: str, **attributes) -> ps.Program:
    """A model of one node whose inputs after the first are initializers."""
    node = helper.make_node(kind, [f"x{i}" for i in range(len(arrays))], ["y"], domain="com.microsoft", **attributes)
    code = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x0", code, list(arrays[0].shape))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [None] * rank)],
        [numpy_helper.from_array(a, f"x{i}") for i, a in enumerate(arrays) if i],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return ps.load(str(path))


def test_gemm_fast_gelu_is_a_product_and_its_gelu(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x, w, b = random.normal(size=(3, 4)), random.normal(size=(4, 2)), random.normal(size=2)
    model = loaded(tmp_path, "GemmFastGelu", [x, w, b], 2, "float64")

    def expected(x):
        z = x @ w + b
        return 0.5 * z * (1 + np.tanh(0.7978845608028654 * z + 0.035677408136300125 * z**3))

    np.testing.assert_allclose(model(x), expected(x), rtol=1e-6)
    check_grads(lambda x: (model(x) ** 2).sum(), x, symbolic=False)


def test_a_convolution_with_channels_last_is_one_with_channels_first(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    x, w, b = (random.normal(size=s).astype(np.float32) for s in ((2, 5, 5, 3), (4, 3, 2, 3), (4,)))
    model = loaded(tmp_path, "NhwcConv", [x, w, b], 4, "float32", pads=[1, 1, 1, 0], kernel_shape=[3, 2])
    padded = np.pad(x, ((0, 0), (1, 1), (1, 0), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(1, 2))
    np.testing.assert_allclose(model(x), np.einsum("nhwckl,oklc->nhwo", windows, w) + b, rtol=1e-4, atol=1e-5)


SCALE, ZERO = np.float32(0.05), np.uint8(128)


def quantized(x: np.ndarray, scale: float = 0.05, zero: int = 128) -> np.ndarray:
    return np.clip(np.round(x / scale) + zero, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_a_quantized_mean_is_the_mean_of_the_numbers(tmp_path: Path, keepdims: int) -> None:
    x = quantized(np.random.default_rng(2).normal(size=(2, 3, 4)))
    arrays = [x, *map(np.asarray, (SCALE, ZERO, np.float32(0.02), np.uint8(120)))]
    model = loaded(tmp_path, "QLinearReduceMean", arrays, 2 + keepdims, "uint8", axes=[1], keepdims=keepdims)
    numbers = (x.astype(np.float32) - 128) * SCALE
    expected = quantized(numbers.mean(1, keepdims=bool(keepdims)), 0.02, 120)
    assert np.abs(model(x).astype(int) - expected.astype(int)).max() <= 1


def test_a_quantized_convolution_is_that_of_the_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x, w = quantized(random.normal(size=(1, 4, 4, 2))), quantized(random.normal(size=(3, 2, 1, 1)))
    arrays = [x, SCALE, ZERO, w, SCALE, ZERO, np.float32(0.1), ZERO]
    model = loaded(tmp_path, "QLinearConv", list(map(np.asarray, arrays)), 4, "uint8", channels_last=1)
    numbers = np.einsum("nhwc,oc->nhwo", (x.astype(float) - 128) * 0.05, (w[:, :, 0, 0].astype(float) - 128) * 0.05)
    assert np.abs(model(x).astype(int) - quantized(numbers, 0.1).astype(int)).max() <= 1


@pytest.mark.parametrize("is_bidirectional", [0, 1])
def test_the_bias_of_a_distance_is_that_of_its_bucket(is_bidirectional: int, tmp_path: Path) -> None:
    buckets, heads, length, most = 8, 3, 30, 20
    table = np.random.default_rng(0).normal(size=(heads, buckets))
    given = [np.ascontiguousarray(table).reshape(buckets, heads), np.array(length), np.array(length)]
    attributes = {"max_distance": most, "is_bidirectional": is_bidirectional}
    model = loaded(tmp_path, "RelativePositionBias", given, 4, "float64", **attributes)
    expected = np.zeros((1, heads, length, length))
    for q in range(length):
        for k in range(length):
            half = buckets // 2 if is_bidirectional else buckets
            distance = abs(k - q) if is_bidirectional else max(q - k, 0)
            exact = half // 2
            far = exact + int(np.log(max(distance, 1) / exact) / np.log(most / exact) * (half - exact))
            bucket = distance if distance < exact else min(far, half - 1)
            expected[0, :, q, k] = table[:, bucket + (half if is_bidirectional and k > q else 0)]
    np.testing.assert_array_equal(model(given[0]), expected)
    check_grads(model, given[0], order=1)


def test_a_bias_under_a_gate_is_what_its_documentation_says(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    batch, length, heads, size = 2, 5, 3, 4
    shapes = [
        (batch, length, heads * size),
        (heads * size,),
        (1, heads, length, length),
        (size, 8),
        (8,),
        (1, heads, 1, 1),
    ]
    given = [random.normal(size=s) for s in shapes]
    query, query_bias, relative, weight, bias, eco = given
    model = loaded(tmp_path, "GatedRelativePositionBias", given, 4, "float64", num_heads=heads)

    by_head = (query + query_bias).reshape(batch, length, heads, size).swapaxes(1, 2)
    both = 1 / (1 + np.exp(-(by_head @ weight + bias).reshape(batch, heads, length, 2, 4).sum(-1)))
    u, r = both[..., :1], both[..., 1:]
    np.testing.assert_allclose(model(query), (u * (r * eco - 1) + 2) * relative, rtol=1e-9)
    check_grads(model, query, order=1)


def loaded_with(tmp_path: Path, kind: str, arrays: list[np.ndarray], results: dict[str, str]) -> ps.Program:
    """A model of one node with these inputs, and outputs of these dtypes, of as many axes as the largest input."""
    code = helper.np_dtype_to_tensor_dtype
    node = helper.make_node(kind, [f"x{i}" for i in range(len(arrays))], list(results), domain="com.microsoft")
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(f"x{i}", code(a.dtype), a.shape) for i, a in enumerate(arrays)],
        [
            helper.make_tensor_value_info(k, code(np.dtype(d)), [None] * max(a.ndim for a in arrays))
            for k, d in results.items()
        ],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "model.onnx")
    return ps.load(str(tmp_path / "model.onnx"))


def test_what_gemma_turns_is_turned_by_all_heads_alike(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    angles, states = random.normal(size=(2, 3, 4)), [random.normal(size=(2, 2, 3, 4)) for _ in range(2)]
    turned = [np.concatenate([-s[..., 2:], s[..., :2]], axis=-1) for s in states]
    arrays = [angles, states[0], turned[0], states[1], turned[1]]
    model = loaded_with(tmp_path, "GemmaRotaryEmbedding", arrays, {"q": "float64", "k": "float64"})
    rotation = np.exp(1j * angles[:, None, :, :])
    for made, state, other in zip(model(*arrays), states, turned, strict=True):
        np.testing.assert_allclose(made, ((state - 1j * other) * rotation).real, rtol=1e-6)
    check_grads(model, *arrays, symbolic=False)


def test_a_dropout_between_a_bias_and_a_residual_drops_nothing_unless_it_trains(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    x, bias, residual = random.normal(size=(3, 4)), random.normal(size=4), random.normal(size=(3, 4))
    arrays = [x, bias, residual, np.array(0.5), np.array(True)]
    model = loaded_with(tmp_path, "BiasDropout", arrays, {"y": "float64", "mask": "bool"})
    made, mask = model(*arrays)
    np.testing.assert_allclose(made, mask * (x + bias) / 0.5 + residual)
    made, mask = model(*arrays[:4], np.array(False))
    np.testing.assert_allclose(made, x + bias + residual)
    assert mask.all()
    check_grads(lambda *three: model(*three, np.array(0.5), np.array(False))[0] ** 2, x, bias, residual, symbolic=False)
