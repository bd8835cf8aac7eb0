"""Products with weights of few bits are what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import pytest
from onnx import helper

import primsplit as ps
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import MS, Node, check_node, is_float, microsoft, title

rng = np.random.default_rng(7)
draw = drawing(rng)


def bytes_of(*shape: int) -> np.ndarray:
    return rng.integers(0, 256, shape).astype(np.uint8)


NBITS = {"K": 32, "N": 3, "block_size": 16}

ROWS = [
    microsoft(
        "MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), constant=[1], declared={0: ["N", 32]}, **NBITS
    ),
    microsoft("MatMulNBits", draw(2, 3, 32), bytes_of(3, 2, 8), draw(3, 2), bytes_of(3, 1), constant=[1, 3], **NBITS),
    microsoft("MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), None, None, draw(3), constant=[1], **NBITS),
    microsoft(
        "MatMulNBits", draw(2, 32), bytes_of(3, 2, 16), draw(3, 2), bytes_of(3, 2), constant=[1, 3], bits=8, **NBITS
    ),
    microsoft("MatMulBnb4", draw(2, 32), bytes_of(48), draw(6), constant=[1], quant_type=0, **NBITS),
    microsoft("MatMulBnb4", draw(2, 32), bytes_of(48), draw(6), constant=[1], quant_type=1, **NBITS),
    microsoft("GatherBlockQuantized", bytes_of(5, 16), np.array([[3, 0]]), draw(5, 2), constant=[0], block_size=16),
    microsoft(
        "GatherBlockQuantized", bytes_of(5, 32), np.array([3, 0]), draw(5, 2), bytes_of(5, 2), constant=[0, 3], bits=8,
        block_size=16,
    ),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=title)
def test_an_operator_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    name = row.kind.removeprefix(MS)
    check_node(
        row, tmp_path, order=0 if name == "Range" else 1 if name == "GridSample" else 2, step=1e-3, tolerance=1e-4
    )


def test_weights_of_few_bits_are_used_in_float16_too(tmp_path: Path) -> None:
    row = microsoft("MatMulNBits", draw(2, 32), bytes_of(3, 2, 8), draw(3, 2), constant=[1], **NBITS)
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
