"""Operators of com.microsoft on arrays and packed weights are what onnxruntime's kernels compute, or NumPy's."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import MS, Node, check_gradient, check_node, defined, microsoft, title
from tests.versions import is_since

rng = np.random.default_rng(7)
draw = drawing(rng)


ROWS = [
    microsoft("Trilu", draw(2, 3, 4), upper=0, declared={0: ["B", 3, 4]}),
    microsoft("Trilu", draw(3, 4), np.asarray(1), constant=[1]),
    microsoft("GatherND", draw(3, 4), np.array([[0, 1], [2, 3]], np.int32)),
    *(
        [microsoft("ExpandDims", draw(3, 4), np.asarray(1, np.int32), constant=[1], declared={0: ["N", 4]})]
        if is_since("onnxruntime", "1.31")  # before, its kernel ends the process
        else []
    ),
    microsoft("Range", *(np.asarray(v, np.float32) for v in (1.0, 3.0, 0.5)), constant=[0, 1, 2]),
    microsoft("Pad", draw(2, 3), np.array([0, 1, 2, 0]), np.array([0.5], np.float32), constant=[1]),
    microsoft("Pad", draw(2, 3), np.array([[0, 1, 0, 2]]), constant=[1], mode="reflect"),
    microsoft("GridSample", draw(1, 2, 3, 3), draw(1, 2, 2, 2) / 2, mode="bilinear", padding_mode="border"),
    microsoft("Inverse", draw(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)),
    microsoft("CDist", draw(3, 2), draw(4, 2), declared={0: ["N", 2], 1: ["M", 2]}),
    microsoft("CDist", draw(3, 2), draw(4, 2), metric="euclidean"),
    microsoft("UnfoldTensor", draw(2, 7), size=3, step=2),
    microsoft("UnfoldTensor", draw(6, 2), size=2, dim=0),
]  # fmt: skip


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
