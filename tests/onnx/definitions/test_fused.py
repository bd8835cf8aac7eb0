"""Fused products, convolutions and activations of com.microsoft are what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, microsoft, title

rng = np.random.default_rng(0)
draw = drawing(rng)


MATMULS = [
    microsoft("FusedMatMul", draw(2, 3), draw(3, 4), alpha=0.5, declared={0: ["N", 3]}),
    microsoft("FusedMatMul", draw(3, 2), draw(4, 3), transA=1, transB=1, alpha=-2.0, declared={0: [3, "N"]}),
    microsoft("FusedMatMul", draw(2, 5, 3), draw(2, 4, 3), transB=1, declared={0: ["B", "N", 3], 1: ["B", 4, 3]}),
    microsoft("FusedMatMul", draw(5, 2, 3), draw(2, 3, 4), transBatchA=1),
    microsoft("FusedMatMul", draw(3, 2, 5), draw(2, 3, 4), transBatchA=1, transA=1),
    microsoft("FusedMatMul", draw(2, 5, 3), draw(3, 2, 4), transBatchB=1),
    microsoft("FusedMatMul", draw(2, 5, 3), draw(4, 2, 3), transBatchB=1, transB=1, declared={0: [2, "N", 3]}),
    microsoft("FusedMatMul", draw(2, 3, 4, 5), draw(2, 3, 5, 2)),
    microsoft("FusedMatMul", draw(3), draw(3, 4), alpha=2.0),
    microsoft("TransposeMatMul", draw(2, 3, 4), draw(2, 3, 5), transA=1, alpha=0.25),
]
GATES = [
    microsoft("GatedAdd", draw(2, 3), draw(2, 3), draw(2, 1), declared={0: ["N", 3], 1: ["N", 3], 2: ["N", 1]}),
]


@pytest.mark.parametrize("row", MATMULS + GATES, ids=title)
def test_a_fused_operator_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


def test_a_fused_product_of_float64_is_what_its_kernel_computes(tmp_path: Path) -> None:
    row = microsoft("FusedMatMul", draw(2, 3).astype(np.float64), draw(4, 3).astype(np.float64), alpha=0.1, transB=1)
    check_node(replace(row, outputs=["float64"]), tmp_path, tolerance=1e-7, order=0)
