"""Operators of com.microsoft on arrays and packed weights are what onnxruntime's kernels compute, or NumPy's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_gradient, check_node, defined, is_float
from tests.versions import is_since

rng = np.random.default_rng(7)
draw = drawing(rng)
MS = "com.microsoft::"


def bytes_of(*shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


def node(name: str, *inputs: Any, constant: Any = (), declared: Any = None, **attributes: Any) -> Node:
    return Node(MS + name, inputs, attributes, declared=declared or {}, constant=frozenset(constant))


NBITS = {"K": 32, "N": 3, "block_size": 16}
ROWS = [
    node("Trilu", draw(2, 3, 4), upper=0, declared={0: ["B", 3, 4]}),
    node("Trilu", draw(3, 4), np.asarray(1), constant=[1]),
    node("GatherND", draw(3, 4), np.array([[0, 1], [2, 3]], np.int32)),
    *(
        [node("ExpandDims", draw(3, 4), np.asarray(1, np.int32), constant=[1], declared={0: ["N", 4]})]
        if is_since("onnxruntime", "1.31")  # before, its kernel ends the process
        else []
    ),
    node("Range", *(np.asarray(v, np.float32) for v in (1.0, 3.0, 0.5)), constant=[0, 1, 2]),
    node("Pad", draw(2, 3), np.array([0, 1, 2, 0]), np.array([0.5], np.float32), constant=[1]),
    node("Pad", draw(2, 3), np.array([[0, 1, 0, 2]]), constant=[1], mode="reflect"),
    node("GridSample", draw(1, 2, 3, 3), draw(1, 2, 2, 2) / 2, mode="bilinear", padding_mode="border"),
    node("Inverse", draw(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)),
    node("CDist", draw(3, 2), draw(4, 2), declared={0: ["N", 2], 1: ["M", 2]}),
    node("CDist", draw(3, 2), draw(4, 2), metric="euclidean"),
    node("UnfoldTensor", draw(2, 7), size=3, step=2),
    node("UnfoldTensor", draw(6, 2), size=2, dim=0),
    node("MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), constant=[1], declared={0: ["N", 32]}, **NBITS),
    node("MatMulNBits", draw(2, 3, 32), bytes_of(3, 2, 8), draw(3, 2), bytes_of(3, 1), constant=[1, 3], **NBITS),
    node("MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), None, None, draw(3), constant=[1], **NBITS),
    node("MatMulNBits", draw(2, 32), bytes_of(3, 2, 16), draw(3, 2), bytes_of(3, 2), constant=[1, 3], bits=8, **NBITS),
    node("MatMulBnb4", draw(2, 32), bytes_of(48), draw(6), constant=[1], quant_type=0, **NBITS),
    node("MatMulBnb4", draw(2, 32), bytes_of(48), draw(6), constant=[1], quant_type=1, **NBITS),
    node("GatherBlockQuantized", bytes_of(5, 16), np.array([[3, 0]]), draw(5, 2), constant=[0], block_size=16),
    node(
        "GatherBlockQuantized", bytes_of(5, 32), np.array([3, 0]), draw(5, 2), bytes_of(5, 2), constant=[0, 3], bits=8,
        block_size=16,
    ),
]  # fmt: skip


def title(row: Node) -> str:
    return f"{row.kind.removeprefix(MS)}-{len(row.inputs)}-{','.join(f'{k}={v}' for k, v in row.attributes.items())}"


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_an_operator_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    name = row.kind.removeprefix(MS)
    check_node(
        row, tmp_path, order=0 if name == "Range" else 1 if name == "GridSample" else 2, step=1e-3, tolerance=1e-4
    )


def test_the_different_elements_come_in_their_order(tmp_path: Path) -> None:
    x = np.array([2, 1, 1, 3, 4, 3], np.float32)
    check_node(Node(MS + "Unique", [x], outputs=("float32", "int64", "int64")), tmp_path, order=0)


def check(given: Node, expected: np.ndarray, folder: Path) -> None:
    np.testing.assert_allclose(defined(given, folder / "node.onnx")[0], expected, rtol=1e-5, atol=1e-5)
    check_gradient(given, folder)


def parts(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], -1)


def test_fourier_transforms_are_numpys(tmp_path: Path) -> None:
    x = draw(2, 4, 6)
    for count in (1, 2):
        axes = tuple(range(3 - count, 3))
        half = parts(np.fft.rfftn(x, axes=axes)).astype(np.float32)
        check(Node(MS + "Rfft", [x], {"signal_ndim": count}, ranks=[4]), half, tmp_path)
        free = draw(*half.shape)
        signal = np.fft.irfftn(free[..., 0] + 1j * free[..., 1], axes=axes)
        check(Node(MS + "Irfft", [free], {"signal_ndim": count}, ranks=[3]), signal, tmp_path)


def test_complex_products_are_numpys(tmp_path: Path) -> None:
    a, b = draw(2, 3, 2), draw(3, 2)
    x, y = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    check(Node(MS + "ComplexMul", [a, b], ranks=[3]), parts(x * y), tmp_path)
    check(Node(MS + "ComplexMulConj", [a, b], ranks=[3]), parts(x * y.conj()), tmp_path)


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    e = np.exp(x - x.max(axes, keepdims=True))
    return e / e.sum(axes, keepdims=True)


def test_a_softmax_of_a_sum_is_numpys(tmp_path: Path) -> None:
    x = draw(2, 3, 4, 5)
    for bias, inner, wide in [
        (draw(4, 5), 0, lambda b: b),
        (draw(2, 4, 5), 1, lambda b: b[:, None]),
        (draw(2, 1, 4, 5), 1, lambda b: b),
    ]:
        given = Node(MS + "BiasSoftmax", [x, bias], {"axis": 2, "is_inner_broadcast": inner}, ranks=[4])
        check(given, softmax(x + wide(bias), (2, 3)), tmp_path)


def test_operators_without_a_kernel_here_are_what_they_fuse(tmp_path: Path) -> None:
    x, bias, skip = draw(2, 3, 4), draw(4), draw(2, 3, 4)
    check(Node(MS + "BiasAdd", [x, bias, skip], ranks=[3]), x + bias + skip, tmp_path)
    left, right = np.split(x + bias, 2, axis=-1)
    tanh = np.tanh(0.7978845608 * (right + 0.044715 * right**3))
    made = defined(Node(MS + "BiasSplitGelu", [x, bias], ranks=[3]), tmp_path / "node.onnx")[0]
    np.testing.assert_allclose(made, left * 0.5 * right * (1 + tanh), atol=2e-3)
    w = draw(4, 5)
    tanh_of = np.tanh(x @ w)
    attributes = {"activation": "Tanh", "alpha": 1.0}
    check(Node(MS + "FusedMatMulActivation", [x, w], attributes, ranks=[3]), tanh_of, tmp_path)
    image, kernel = draw(1, 3, 5, 5), draw(2, 3, 3, 3)
    planes = Node(MS + "FusedConv", [image, kernel], {"activation": "Tanh"}, ranks=[4])
    last = Node(MS + "NhwcFusedConv", [np.moveaxis(image, 1, -1), kernel], {"activation": "Tanh"}, ranks=[4])
    check(last, np.moveaxis(defined(planes, tmp_path / "planes.onnx")[0], 1, -1), tmp_path)


def test_weights_of_few_bits_are_used_in_float16_too(tmp_path: Path) -> None:
    row = node("MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), constant=[1], **NBITS)
    inputs = [x.astype(np.float16) if is_float(x) else x for x in row.inputs]
    check_node(replace(row, inputs=inputs, outputs=["float16"]), tmp_path, tolerance=0.1, order=0)


@pytest.mark.parametrize("name", ["int4", "uint4"])
@pytest.mark.parametrize("has_zeros", [False, True])
@pytest.mark.parametrize(
    ("shape", "gathered", "scaled"), [((10, 40), 0, 1), ((10, 40), 1, 0), ((6, 32, 5), 2, 1), ((6, 5, 32), 0, -1)]
)
@pytest.mark.parametrize("indices", [np.array([[3, 0], [1, 4]]), np.array(2)])
def test_blocks_of_four_bits_are_gathered_along_any_axis(
    name: str, has_zeros: bool, shape: tuple[int, ...], gathered: int, scaled: int, indices: np.ndarray, tmp_path: Path
) -> None:
    number = onnx.TensorProto.INT4 if name == "int4" else onnx.TensorProto.UINT4
    random = np.random.default_rng(0)
    sizes = [-(-n // 16) if axis == scaled % len(shape) else n for axis, n in enumerate(shape)]
    low = -8 if name == "int4" else 0
    levels, zeros = random.integers(low, low + 16, shape), random.integers(0, 7, sizes)
    scales = random.uniform(0.1, 1.0, sizes).astype(np.float32)
    nodes = [
        helper.make_node(
            "GatherBlockQuantized", ["d", "i", "s", "z"][: 4 if has_zeros else 3], ["n"], domain="com.microsoft",
            gather_axis=gathered, quantize_axis=scaled, block_size=16,
        ),
        helper.make_node("Mul", ["n", "n"], ["y"]),
    ]  # fmt: skip
    stored = [helper.make_tensor("d", number, shape, levels.ravel()), onnx.numpy_helper.from_array(scales, "s")]
    ends = [helper.make_tensor_value_info("i", 7, indices.shape)], [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph(nodes, "g", *ends, [*stored, helper.make_tensor("z", number, sizes, zeros.ravel())])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = str(tmp_path / "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    value, slope = ps.split(ps.load(path), wrt="s", seed="ones").joint()(indices, scales)
    expected = onnxruntime.InferenceSession(path).run(None, {"i": indices})[0]
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    # Of a sum of squares, which is of the second degree in the scales.
    np.testing.assert_allclose(np.vdot(slope, scales), 2 * expected.sum(), rtol=1e-4)
    assert slope.shape == scales.shape
