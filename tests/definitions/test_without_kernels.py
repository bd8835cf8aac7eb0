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
    x, w, b = (random.normal(size=s).astype(np.float32) for s in ((2, 5, 5, 3), (4, 3, 3, 3), (4,)))
    model = loaded(tmp_path, "NhwcConv", [x, w, b], 4, "float32", pads=[1, 1, 1, 1])
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    np.testing.assert_allclose(model(x), np.einsum("nhwckl,ockl->nhwo", windows, w) + b, rtol=1e-4, atol=1e-5)


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
