"""Quantized models: their value bit by bit, and the straight-through derivative."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import primsplit as ps
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, code, defined, kernel, ranked

rng = np.random.default_rng(3)
draw = drawing(rng)


def saved(
    folder: Path, nodes: Sequence[onnx.NodeProto], inputs: dict[str, Any], constants: dict[str, Any], rank: int
) -> str:
    graph = helper.make_graph(
        list(nodes),
        "quantized",
        [helper.make_tensor_value_info(k, code(v.dtype), ["N", *v.shape[1:]]) for k, v in inputs.items()],
        [helper.make_tensor_value_info("y", 1, [None] * rank)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = str(folder / "quantized.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    domain = "com.microsoft" if kind.startswith("QLinear") and kind not in {"QLinearConv", "QLinearMatMul"} else ""
    return helper.make_node(kind, inputs.split(), outputs.split(), domain=domain, **attributes)


def check_bits(path: str, **feeds: np.ndarray) -> Any:
    """The program's value is that of the model itself, bit by bit; the program."""
    program = ps.load(path)
    expected = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
    np.testing.assert_array_equal(program(*feeds.values()), expected)
    return program


def gradient(program: Any, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return ps.grad(lambda x: (program(x) * weights).sum())(x)


S, Z = np.float32(0.1), np.uint8(30)
PAIR = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]


def inside(x: np.ndarray, s: Any = S, z: Any = Z) -> np.ndarray:
    """Return 1 where x is not saturated, else 0."""
    rounded = np.round(x / s) + np.float32(z)
    limits = np.iinfo(np.asarray(z).dtype)
    return ((rounded >= limits.min) & (rounded <= limits.max)).astype(x.dtype)


def test_a_pair_passes_the_cotangent_where_it_does_not_saturate(tmp_path: Path) -> None:
    x = np.array([[-4.0, -3.04, -3.0, 0.03], [1.0, 22.5, 22.54, 40.0]], np.float32)
    program = check_bits(saved(tmp_path, PAIR, {"x": x}, {"s": S, "z": Z}, 2), x=x)
    w = draw(2, 4)
    np.testing.assert_array_equal(gradient(program, x, w), w * inside(x))
    assert inside(x).tolist() == [[0, 1, 1, 1], [1, 1, 1, 0]]


def test_the_gradients_of_a_pair_are_those_of_torchs_fake_quantization(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    x, w = 20 * draw(3, 4), draw(3, 4)
    scales, zeros = np.array([0.1, 0.05, 0.2, 0.02], np.float32), np.array([0, 3, -5, 9], np.int8)
    path = saved(
        tmp_path,
        [node("QuantizeLinear", "x s z", "q", axis=-1), node("DequantizeLinear", "q s z", "y", axis=-1)],
        {"x": x},
        {"s": scales, "z": zeros},
        2,
    )
    program = check_bits(path, x=x)
    point, step = torch.tensor(x, requires_grad=True), torch.tensor(scales, requires_grad=True)
    made = torch._fake_quantize_learnable_per_channel_affine(
        point, step, torch.tensor(zeros.astype(np.float32)), 1, -128, 127, 1.0
    )
    (made * torch.tensor(w)).sum().backward()
    np.testing.assert_allclose(gradient(program, x, w), point.grad.numpy(), rtol=1e-5)
    _, dx, ds = ps.split(program, wrt=["x", "s"]).joint()(x, scales, w)
    np.testing.assert_allclose(dx, point.grad.numpy(), rtol=1e-5)
    np.testing.assert_allclose(ds, step.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_blocks_and_other_integers_saturate_at_their_own_bounds(tmp_path: Path) -> None:
    x, w = 20 * draw(2, 4), draw(2, 4)
    scales = np.array([[0.01, 0.2], [0.1, 0.05]], np.float32)
    zeros = np.array([[0, 3], [-5, 9]], np.int8)
    attributes = {"axis": 1, "block_size": 2}
    nodes = [node("QuantizeLinear", "x s z", "q", **attributes), node("DequantizeLinear", "q s z", "y", **attributes)]
    program = ps.load(saved(tmp_path, nodes, {"x": x}, {"s": scales, "z": zeros}, 2))
    wide = inside(x, np.repeat(scales, 2, 1), np.repeat(zeros, 2, 1))
    np.testing.assert_array_equal(gradient(program, x, w), w * wide)
    nodes = [node("QuantizeLinear", "x s", "q", output_dtype=5), node("DequantizeLinear", "q s", "y")]
    program = ps.load(saved(tmp_path, nodes, {"x": x}, {"s": np.float32(1e-3)}, 2))
    np.testing.assert_array_equal(gradient(program, x, w), w * inside(x, np.float32(1e-3), np.int16(0)))


def test_a_weight_is_trained_through_its_pair(tmp_path: Path) -> None:
    x, w, seed = draw(3, 4), 3 * draw(4, 5), draw(3, 5)
    scales = np.array([0.02, 0.01, 0.03, 0.02, 0.05], np.float32)
    nodes = [
        node("QuantizeLinear", "w s z", "q", axis=1),
        node("DequantizeLinear", "q s z", "d", axis=-1),
        node("MatMul", "x d", "y"),
    ]
    path = saved(tmp_path, nodes, {"x": x}, {"w": w, "s": scales, "z": np.zeros(5, np.int8)}, 2)
    program = check_bits(path, x=x)
    mask = inside(w, scales, np.int8(0))
    assert 0 < mask.mean() < 1
    _, dw = ps.split(program, wrt="w").joint()(x, w, seed)
    np.testing.assert_allclose(dw, (x.T @ seed) * mask, rtol=1e-4, atol=1e-5)
    _, ds = ps.split(program, wrt="s").joint()(x, scales, seed)
    ratio = w / scales
    steps = np.clip(np.round(ratio), -128, 127) - ratio * mask
    np.testing.assert_allclose(ds, np.sum((x.T @ seed) * steps, 0), rtol=1e-3, atol=1e-3)


def test_a_pair_is_differentiated_twice(tmp_path: Path) -> None:
    x = np.array([[-4.0, -3.0, 0.03, 1.0, 40.0]], np.float32)
    program = ps.load(saved(tmp_path, PAIR, {"x": x}, {"s": S, "z": Z}, 2))
    first = ps.grad(lambda x: (program(x) ** 2).sum())
    np.testing.assert_array_equal(first(x), 2 * program(x) * inside(x))
    second = ps.grad(lambda x: (first(x) * np.arange(5, dtype=np.float32)).sum())
    np.testing.assert_array_equal(second(x), 2 * inside(x) * np.arange(5, dtype=np.float32))


def test_integers_that_are_moved_between_stand_for_their_numbers(tmp_path: Path) -> None:
    x = 3 * draw(2, 3, 4, 4)
    nodes = [
        node("QuantizeLinear", "x s z", "q"),
        node("MaxPool", "q", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Transpose", "p", "t", perm=[0, 2, 3, 1]),
        node("Split", "t", "a b", axis=3, num_outputs=2),
        node("Concat", "b a", "c", axis=3),
        node("Reshape", "c shape", "r"),
        node("DequantizeLinear", "r s z", "y"),
    ]
    constants = {"s": S, "z": Z, "shape": np.array([-1, 12])}
    program = check_bits(saved(tmp_path, nodes, {"x": x}, constants, 2), x=x)
    w = draw(2, 12)
    found = gradient(program, x, w)
    placed = w.reshape(2, 2, 2, 3)[..., [1, 2, 0]].transpose(0, 3, 1, 2)
    np.testing.assert_allclose(found.reshape(2, 3, 2, 2, 2, 2).sum((3, 5)), placed * unsaturated_maximum(x), rtol=1e-6)


def unsaturated_maximum(x: np.ndarray) -> np.ndarray:
    return inside(x.reshape(2, 3, 2, 2, 2, 2).max((3, 5)))


def quantized(array: np.ndarray, dtype: str = "int8", axis: int | None = None) -> tuple[Any, Any]:
    """Integers of seven bits, and the scale: one, or one along an axis.

    Of eight, onnxruntime's products saturate on processors without VNNI.
    """
    bound = np.abs(array).max() if axis is None else np.abs(array).max(tuple(i for i in range(array.ndim) if i != axis))
    scale = (bound / (np.iinfo(dtype).max // 2)).astype(np.float32)
    wide = scale if axis is None else scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    return np.round(array / wide).astype(dtype), scale


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


def scale(x: float) -> np.ndarray:
    return np.asarray(x, np.float32)


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
