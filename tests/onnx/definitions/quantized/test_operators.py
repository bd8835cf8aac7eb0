"""Quantized models: their value bit by bit, and the straight-through derivative."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, defined, kernel, ranked
from tests.onnx.definitions.quantized.models import S, Z, check_bits, gradient, inside, node, quantized, saved, scale

rng = np.random.default_rng(3)
draw = drawing(rng)


def test_a_quantized_convolution_has_the_gradient_of_its_numbers(tmp_path: Path) -> None:
    x, kernels, bias = draw(2, 3, 6, 6), draw(4, 3, 3, 3), draw(4)
    w, ws = quantized(kernels, axis=0)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearConv", "q s z w ws wz ys yz b", "c", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("DequantizeLinear", "c ys yz", "y"),
    ]
    s, ys = np.float32(0.03), np.float32(0.05)
    constants = {
        "s": s, "z": np.uint8(128), "w": w, "ws": ws, "wz": np.zeros(4, np.int8), "ys": ys, "yz": np.uint8(120),
        "b": np.round(bias / (s * ws)).astype(np.int32),
    }  # fmt: skip
    program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 4), x=x)
    seed = draw(2, 4, 3, 3)
    numbers = s * np.clip(np.round(x / s), -128, 127)
    float_nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2])]
    weights = {"w": w * ws.reshape(4, 1, 1, 1), "b": constants["b"] * (s * ws)}
    plain = ps.load(saved(tmp_path, float_nodes, {"x": x}, {k: v.astype(np.float32) for k, v in weights.items()}, 4))
    expected = gradient(plain, numbers, seed * inside(plain(numbers), ys, np.uint8(120))) * inside(x, s, np.uint8(128))
    assert not np.all(inside(plain(numbers), ys, np.uint8(120)))
    np.testing.assert_allclose(gradient(program, x, seed), expected, rtol=1e-4, atol=1e-5)


def test_quantized_products_have_the_gradient_of_their_numbers(tmp_path: Path) -> None:
    x, seed = draw(3, 4), draw(3, 5)
    w, ws = quantized(draw(4, 5), axis=1)
    s, ys = np.float32(0.03), np.float32(0.02)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearMatMul", "q s z w ws wz ys yz", "c"),
        node("DequantizeLinear", "c ys yz", "y"),
    ]
    constants = {"s": s, "z": np.int8(5), "w": w, "ws": ws, "wz": np.zeros(5, np.int8), "ys": ys, "yz": np.int8(0)}
    program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 2), x=x)
    numbers = s * (np.clip(np.round(x / s) + 5, -128, 127) - 5)
    mask = inside(numbers @ (w * ws), ys, np.int8(0))
    assert 0 < mask.mean() < 1
    expected = ((seed * mask) @ (w * ws).T) * inside(x, s, np.int8(5))
    np.testing.assert_allclose(gradient(program, x, seed), expected, rtol=1e-4, atol=1e-5)


def test_a_dynamically_quantized_product_has_the_gradient_of_its_numbers(tmp_path: Path) -> None:
    x, seed = draw(3, 4), draw(3, 5)
    w, ws = quantized(draw(4, 5))
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("MatMulInteger", "q w z wz", "c"),
        node("Cast", "c", "f", to=1),
        node("Mul", "s ws", "sw"),
        node("Mul", "f sw", "y"),
    ]
    program = check_bits(saved(tmp_path, nodes, {"x": x}, {"w": w, "ws": ws, "wz": np.int8(0)}, 2), x=x)
    np.testing.assert_allclose(gradient(program, x, seed), seed @ (w * ws).T, rtol=1e-4, atol=1e-5)


def test_a_dynamically_quantized_convolution_has_the_gradient_of_its_numbers(tmp_path: Path) -> None:
    x, seed = draw(1, 2, 6), draw(1, 3, 4)
    w, ws = quantized(draw(3, 2, 3), "int8")
    w = (w.astype(np.int32) + 128).astype(np.uint8)
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("ConvInteger", "q w z wz", "c"),
        node("Cast", "c", "f", to=1),
        node("Mul", "f ws", "g"),
        node("Mul", "g s", "y"),
    ]
    program = check_bits(saved(tmp_path, nodes, {"x": x}, {"w": w, "ws": ws, "wz": np.uint8(128)}, 3), x=x)
    filters = (w.astype(np.float32) - 128) * ws
    expected = np.zeros_like(x)
    for k in range(4):
        expected[0, :, k : k + 3] += np.einsum("o,oct->ct", seed[0, :, k], filters)
    np.testing.assert_allclose(gradient(program, x, seed), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("outside", [True, False])
def test_integers_in_a_branch_stand_for_their_numbers(outside: bool, tmp_path: Path) -> None:
    x, seed = np.array([[-4.0, -3.0, 0.03, 1.0, 40.0]], np.float32), draw(1, 5)
    first = [node("QuantizeLinear", "x s z", "q")]
    last = [node("DequantizeLinear", "q s z", "d")]
    ends = [[helper.make_tensor_value_info(name, 1, ["N", 5])] for name in ("d", "e")]
    taken = helper.make_graph(last if outside else first + last, "taken", [], ends[0])
    other = helper.make_graph([node("Mul", "x s", "e")], "other", [], ends[1])
    choice = helper.make_node("If", ["c"], ["y"], then_branch=taken, else_branch=other)
    nodes = [*(first if outside else []), choice]
    for chosen, slope in ((True, inside(x)), (False, np.full(x.shape, S))):
        constants = {"s": S, "z": Z, "c": np.asarray(chosen)}
        program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 2), x=x)
        np.testing.assert_allclose(gradient(program, x, seed), seed * slope, rtol=1e-6)


def test_a_long_chain_of_products_is_followed_in_one_walk(tmp_path: Path) -> None:
    x, count = draw(2, 3), 120
    s = np.float32(0.05)
    nodes = [node("QuantizeLinear", "x s z", "q0"), node("DequantizeLinear", f"q{count} s z", "y")]
    nodes[1:1] = [node("QLinearMatMul", f"q{i} s z w ws wz s z", f"q{i + 1}") for i in range(count)]
    weights = 127 * np.eye(3, dtype=np.int8)
    constants = {"s": s, "z": np.uint8(128), "w": weights, "ws": np.float32(1 / 127), "wz": np.int8(0)}
    program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 2), x=x)
    seed = draw(2, 3)
    np.testing.assert_allclose(gradient(program, x, seed), seed * inside(x, s, np.uint8(128)), rtol=1e-3)


def test_chains_of_quantized_operators_are_followed(tmp_path: Path) -> None:
    x, seed = draw(2, 4), draw(2, 4)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("QLinearSigmoid", "q s z u v", "g"),
        node("QLinearMul", "q s z g u v s z", "m"),
        node("QLinearAdd", "m s z q s z s z", "a"),
        node("DequantizeLinear", "a s z", "y"),
    ]
    constants = {"s": np.float32(0.02), "z": np.uint8(128), "u": np.float32(1 / 255), "v": np.uint8(0)}
    program = ps.load(saved(tmp_path, nodes, {"x": x}, constants, 2))
    bell = 1 / (1 + np.exp(-x))
    mask = inside(x, np.float32(0.02), np.uint8(128)) * inside(x * bell + x, np.float32(0.02), np.uint8(128))
    expected = seed * mask * (bell + x * bell * (1 - bell) + 1)
    np.testing.assert_allclose(gradient(program, x, seed), expected, rtol=0.05, atol=0.03)


U8, I8 = np.uint8, np.int8


def ints(dtype: Any, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max + 1, shape).astype(dtype)


def row(name: str, *inputs: Any, dtype: str = "uint8", **attributes: Any) -> Node:
    return Node(f"com.microsoft::{name}", inputs, attributes, (dtype,))


KERNELS = [
    row("QLinearAdd", ints(U8, 2, 9), scale(0.1), U8(3), ints(U8, 9), scale(0.05), U8(9), scale(0.12), U8(7)),
    row("QLinearAdd", ints(I8, 2, 9), scale(0.1), I8(0), ints(I8, 9), scale(0.05), I8(0), scale(0.12), I8(2),
        dtype="int8"),
    row("QLinearMul", ints(U8, 2, 9), scale(0.1), U8(3), ints(U8, 9), scale(0.05), U8(9), scale(0.9), U8(7)),
    row("QLinearWhere", ints(U8, 9) > 9, ints(U8, 9), scale(0.1), U8(3), ints(U8, 9), scale(0.05), U8(9), scale(0.1),
        U8(7)),
    row("QLinearLeakyRelu", ints(U8, 99), scale(0.1), U8(100), scale(0.11), U8(30), alpha=0.2),
    row("QLinearSigmoid", ints(I8, 99), scale(0.05), I8(0), scale(1 / 256), I8(-128), dtype="int8"),
    row("QLinearSoftmax", ints(U8, 3, 5), scale(0.01), U8(0), scale(1 / 256), U8(0), axis=-1, opset=13),
    row("QLinearSoftmax", ints(U8, 3, 5, 2), scale(0.01), U8(0), scale(1 / 256), U8(0), axis=1, opset=12),
    row("QLinearConcat", scale(0.1), U8(3), ints(U8, 2, 4), scale(0.1), U8(3), ints(U8, 2, 3), scale(0.3), U8(9),
        axis=1),
    row("QLinearAveragePool", ints(U8, 1, 2, 5, 5), scale(0.1), U8(3), scale(0.1), U8(5), kernel_shape=[2, 2]),
    row("QLinearAveragePool", ints(U8, 1, 5, 5, 2), scale(0.1), U8(3), scale(0.1), U8(5), kernel_shape=[3, 3],
        pads=[1, 1, 1, 1], channels_last=1, count_include_pad=1),
    row("NhwcMaxPool", ints(U8, 1, 5, 5, 2), kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1]),
    row("NhwcMaxPool", ints(I8, 2, 4, 5, 3), kernel_shape=[3, 3], dtype="int8"),
    row("QLinearGlobalAveragePool", ints(U8, 2, 3, 5, 5), scale(0.1), U8(3), scale(0.05), U8(5)),
    row("QLinearGlobalAveragePool", ints(U8, 2, 5, 5, 3), scale(0.1), U8(3), scale(0.05), U8(5), channels_last=1),
    row("MatMulInteger16", ints(np.int16, 3, 4) // 9, ints(np.int16, 4, 2) // 9, dtype="int32"),
    row("MatMulIntegerToFloat", ints(U8, 3, 4), ints(I8, 4, 2), scale(0.1), scale(0.2), U8(9), I8(3), draw(2),
        dtype="float32"),
    row("MatMulIntegerToFloat", ints(U8, 3, 4), ints(U8, 4, 2), scale(0.1), np.array([0.2, 0.3], np.float32),
        dtype="float32"),
    row("DynamicQuantizeMatMul", draw(3, 4), ints(I8, 4, 2), scale(0.2), I8(3), draw(2), dtype="float32"),
    row("QGemm", ints(U8, 3, 4), scale(0.1), U8(9), ints(I8, 4, 2), scale(0.2), I8(3),
        ints(np.int16, 2).astype(np.int32), scale(0.9), U8(99)),
    row("QGemm", ints(U8, 4, 3), scale(0.1), U8(9), ints(U8, 2, 4), scale(0.2), U8(3), transA=1, transB=1, alpha=0.5,
        dtype="float32"),
    row("QuantizeLinear", draw(3, 4), scale(0.1), U8(9)),
    row("QuantizeLinear", draw(3, 4), np.array([0.1, 0.2, 0.3, 0.4], np.float32), ints(I8, 4), axis=1, dtype="int8"),
    row("DequantizeLinear", ints(np.int16, 3, 4), scale(0.1), np.int16(9), dtype="float32"),
]  # fmt: skip


@pytest.mark.parametrize("given", KERNELS, ids=lambda r: r.kind.rpartition("::")[2])
def test_a_quantized_operator_is_what_its_kernel_computes_up_to_one_step(given: Node, tmp_path: Path) -> None:
    arrays = [None if x is None else np.asarray(x) for x in given.inputs]
    node = Node(given.kind, arrays, given.attributes, given.outputs, constant=frozenset(
        i for i, x in enumerate(arrays) if x is not None and x.size < 5 and i > 0
    ))  # fmt: skip
    (expected,) = kernel(node, tmp_path / "kernel.onnx")
    (found,) = defined(ranked(node, [expected]), tmp_path / "node.onnx")
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        assert np.max(np.abs(found.astype(int) - expected.astype(int))) <= 1
        assert np.mean(found != expected) <= 0.1


def network() -> onnx.ModelProto:
    """Convolution, pooling and a dense layer."""
    shapes = {"k": (4, 1, 3, 3), "b": (4,), "w": (36, 5), "c": (5,)}
    nodes = [
        helper.make_node("Conv", ["x", "k", "b"], ["h"], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["h"], ["r"]),
        helper.make_node("AveragePool", ["r"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["m"], ["f"]),
        helper.make_node("Gemm", ["f", "w", "c"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", 1, ["N", 1, 6, 6])],
        [helper.make_tensor_value_info("y", 1, ["N", 5])],
        [numpy_helper.from_array(draw(*shape) / 3, name) for name, shape in shapes.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Reader:
    """Calibration data, one batch: wider than what is run, that nothing saturates."""

    def __init__(self, x: np.ndarray) -> None:
        self.batches = iter([{"x": x}])

    def get_next(self) -> Any:
        return next(self.batches, None)


@pytest.mark.parametrize("form", ["pairs", "operators", "dynamic"])
def test_what_onnxruntimes_tool_quantizes_has_nearly_the_gradient_of_the_model(form: str, tmp_path: Path) -> None:
    tool = pytest.importorskip("onnxruntime.quantization")
    x, seed = draw(3, 1, 6, 6), draw(3, 5)
    plain, path = str(tmp_path / "plain.onnx"), str(tmp_path / "small.onnx")
    onnx.save(network(), plain)
    if form == "dynamic":
        tool.quantize_dynamic(plain, path, reduce_range=True)
    else:
        kind = tool.QuantFormat.QDQ if form == "pairs" else tool.QuantFormat.QOperator
        calibration = Reader(np.concatenate([2 * x, -2 * x]))
        tool.quantize_static(plain, path, calibration, quant_format=kind, per_channel=True, reduce_range=True)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(path, options).run(None, {"x": x})[0]
    program = ps.load(path)
    # Operators of com.microsoft are written with floats, and may differ by a step of the integers.
    tolerance = 0.02 if form == "operators" else 0.0
    np.testing.assert_allclose(program(x), expected, rtol=0, atol=tolerance)
    joint = ps.split(program, wrt="x").joint()
    np.testing.assert_array_equal(joint(x, seed)[0], program(x))
    wanted = gradient(ps.load(plain), x, seed)
    found = gradient(program, x, seed)
    assert np.linalg.norm(found - wanted) < 0.1 * np.linalg.norm(wanted)
