"""Activations that operators of com.microsoft name by an attribute are what onnxruntime's kernels compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node, microsoft, title

rng = np.random.default_rng(0)
draw = drawing(rng)


GEMMS = [
    microsoft("FusedGemm", draw(2, 3), draw(3, 4), draw(4), activation=name, **parameters)
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
] + [microsoft("FusedGemm", draw(3, 2), draw(4, 3), transA=1, transB=1, activation="Tanh", declared={0: [3, "N"]})]

CONVS = [
    microsoft("FusedConv", draw(2, 3, 5, 5), draw(4, 3, 3, 3), draw(4), activation="Relu", pads=[1, 1, 1, 1]),
    microsoft("FusedConv", draw(1, 3, 5, 5), draw(4, 3, 3, 3), draw(4), draw(1, 4, 3, 3), activation="Tanh"),
    microsoft("FusedConv", draw(1, 2, 6), draw(2, 1, 3), activation="Sigmoid", group=2, strides=[2]),
    microsoft("FusedConv", draw(1, 2, 6), draw(2, 2, 3), draw(2), activation="LeakyRelu", activation_params=[0.2]),
    microsoft("FusedConv", draw(1, 2, 6), draw(2, 2, 3), activation="Clip", activation_params=[-0.5, 0.75]),
    microsoft("FusedConv", draw(1, 2, 6), draw(2, 2, 3), activation="HardSigmoid", activation_params=[0.2, 0.5]),
]


@pytest.mark.parametrize("row", GEMMS + CONVS, ids=title)
def test_a_fused_activation_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=1, step=1e-4)
