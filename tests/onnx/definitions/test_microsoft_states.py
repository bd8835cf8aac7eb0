"""Layers of com.microsoft with a state from word to word are what onnxruntime's kernels compute."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.attention.nodes import title
from tests.onnx.definitions.drawing import drawing
from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(2)
draw = drawing(rng)
F = "float32"


STATES = [
    Node("com.microsoft::CausalConvWithState", [draw(2, 3, 5), draw(3, 1, 4)], {}, (F, F), {0: ["B", 3, 5]}),
    Node(
        "com.microsoft::CausalConvWithState",
        [draw(2, 3, 5), draw(3, 1, 4), draw(3), draw(2, 3, 3)],
        {"activation": "silu"},
        (F, F),
    ),
    Node(
        "com.microsoft::LinearAttention",
        [draw(2, 3, 8), draw(2, 3, 8), draw(2, 3, 8)],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"},
        (F, F),
    ),
    Node(
        "com.microsoft::LinearAttention",
        [*(draw(2, 3, 8) / 4 for _ in range(3)), draw(2, 2, 4, 4), -np.abs(draw(2, 3, 2)), np.abs(draw(2, 3, 2)) / 4],
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated_delta"},
        (F, F),
    ),
]


@pytest.mark.parametrize("row", STATES, ids=title)
def test_layers_with_a_state_are_what_their_kernels_compute(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, order=1)
