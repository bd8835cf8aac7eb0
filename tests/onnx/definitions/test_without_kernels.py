"""Operators of com.microsoft that this onnxruntime has no CPU kernel for: held against what they are made of."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.testing import check_grads
from tests.onnx.definitions.kernels import loaded_with_constants


def test_a_convolution_with_channels_last_is_one_with_channels_first(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    x, w, b = (random.normal(size=s).astype(np.float32) for s in ((2, 5, 5, 3), (4, 3, 2, 3), (4,)))
    model = loaded_with_constants(tmp_path, "NhwcConv", [x, w, b], 4, "float32", pads=[1, 1, 1, 0], kernel_shape=[3, 2])
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
    model = loaded_with_constants(
        tmp_path, "QLinearReduceMean", arrays, 2 + keepdims, "uint8", axes=[1], keepdims=keepdims
    )
    numbers = (x.astype(np.float32) - 128) * SCALE
    expected = quantized(numbers.mean(1, keepdims=bool(keepdims)), 0.02, 120)
    assert np.abs(model(x).astype(int) - expected.astype(int)).max() <= 1


def test_a_quantized_convolution_is_that_of_the_numbers(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x, w = quantized(random.normal(size=(1, 4, 4, 2))), quantized(random.normal(size=(3, 2, 1, 1)))
    arrays = [x, SCALE, ZERO, w, SCALE, ZERO, np.float32(0.1), ZERO]
    model = loaded_with_constants(tmp_path, "QLinearConv", list(map(np.asarray, arrays)), 4, "uint8", channels_last=1)
    numbers = np.einsum("nhwc,oc->nhwo", (x.astype(float) - 128) * 0.05, (w[:, :, 0, 0].astype(float) - 128) * 0.05)
    assert np.abs(model(x).astype(int) - quantized(numbers, 0.1).astype(int)).max() <= 1


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
