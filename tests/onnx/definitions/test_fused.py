"""Fused products, convolutions and activations of com.microsoft are what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(0)
draw = drawing(rng)


def node(name: str, *inputs: np.ndarray | None, declared: dict | None = None, **attributes: object) -> Node:
    return Node(f"com.microsoft::{name}", inputs, attributes, declared=declared or {})


MATMULS = [
    node("FusedMatMul", draw(2, 3), draw(3, 4), alpha=0.5, declared={0: ["N", 3]}),
    node("FusedMatMul", draw(3, 2), draw(4, 3), transA=1, transB=1, alpha=-2.0, declared={0: [3, "N"]}),
    node("FusedMatMul", draw(2, 5, 3), draw(2, 4, 3), transB=1, declared={0: ["B", "N", 3], 1: ["B", 4, 3]}),
    node("FusedMatMul", draw(5, 2, 3), draw(2, 3, 4), transBatchA=1),
    node("FusedMatMul", draw(3, 2, 5), draw(2, 3, 4), transBatchA=1, transA=1),
    node("FusedMatMul", draw(2, 5, 3), draw(3, 2, 4), transBatchB=1),
    node("FusedMatMul", draw(2, 5, 3), draw(4, 2, 3), transBatchB=1, transB=1, declared={0: [2, "N", 3]}),
    node("FusedMatMul", draw(2, 3, 4, 5), draw(2, 3, 5, 2)),
    node("FusedMatMul", draw(3), draw(3, 4), alpha=2.0),
    node("TransposeMatMul", draw(2, 3, 4), draw(2, 3, 5), transA=1, alpha=0.25),
]
GEMMS = [
    node("FusedGemm", draw(2, 3), draw(3, 4), draw(4), activation=name, **parameters)
    for name, parameters in [
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("Softplus", {}),
        ("Softsign", {}),
        ("Elu", {"activation_alpha": 1.5}),
        ("LeakyRelu", {"activation_alpha": 0.1}),
        ("HardSigmoid", {"activation_alpha": 0.1, "activation_beta": 0.4}),
        ("Relu", {"alpha": 0.5, "beta": 2.0}),
    ]
] + [node("FusedGemm", draw(3, 2), draw(4, 3), transA=1, transB=1, activation="Tanh", declared={0: [3, "N"]})]
CONVS = [
    node("FusedConv", draw(2, 3, 5, 5), draw(4, 3, 3, 3), draw(4), activation="Relu", pads=[1, 1, 1, 1]),
    node("FusedConv", draw(1, 3, 5, 5), draw(4, 3, 3, 3), draw(4), draw(1, 4, 3, 3), activation="Tanh"),
    node("FusedConv", draw(1, 2, 6), draw(2, 1, 3), activation="Sigmoid", group=2, strides=[2]),
    node("FusedConv", draw(1, 2, 6), draw(2, 2, 3), draw(2), activation="LeakyRelu", activation_params=[0.2]),
    node("FusedConv", draw(1, 2, 6), draw(2, 2, 3), activation="Clip", activation_params=[-0.5, 0.75]),
    node("FusedConv", draw(1, 2, 6), draw(2, 2, 3), activation="HardSigmoid", activation_params=[0.2, 0.5]),
]
GELUS = [
    node("Gelu", draw(3, 4), declared={0: ["N", 4]}),
    node("FastGelu", draw(3, 4), declared={0: ["N", 4]}),
    node("FastGelu", draw(2, 3, 4), draw(4)),
    node("QuickGelu", draw(3, 4), declared={0: ["N", 4]}),
    node("QuickGelu", draw(3, 4), alpha=0.5),
    node("QuickGelu", draw(3, 4), alpha=1.0),
    node("BiasGelu", draw(2, 3, 4), draw(4), declared={0: ["B", "S", 4]}),
    node("ScaledSiLU", draw(3, 4), alpha=1.5),
    node("ScaledSiLU", draw(3, 4), np.asarray(0.5, np.float32)),
    node("GatedAdd", draw(2, 3), draw(2, 3), draw(2, 1), declared={0: ["N", 3], 1: ["N", 3], 2: ["N", 1]}),
]


def title(row: Node) -> str:
    return f"{row.kind.rpartition('::')[2]}-{','.join(f'{k}={v}' for k, v in row.attributes.items())}"


@pytest.mark.parametrize("row", MATMULS + GELUS, ids=title)
def test_a_fused_operator_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


@pytest.mark.parametrize("row", GEMMS + CONVS, ids=title)
def test_a_fused_activation_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=1, step=1e-4)


def test_a_fused_product_of_float64_is_what_its_kernel_computes(tmp_path: Path) -> None:
    row = node("FusedMatMul", draw(2, 3).astype(np.float64), draw(4, 3).astype(np.float64), alpha=0.1, transB=1)
    check_node(replace(row, outputs=["float64"]), tmp_path, tolerance=1e-7, order=0)
