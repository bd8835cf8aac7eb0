"""Rotary position embeddings of com.microsoft are what onnxruntime's kernels compute."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import primsplit as ps
from primsplit.testing import check_grads
from tests.onnx.definitions.attention.nodes import title
from tests.onnx.definitions.kernels import Node, check_node, is_float, microsoft


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


def test_what_gemma_turns_is_turned_by_all_heads_alike(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    angles, states = random.normal(size=(2, 3, 4)), [random.normal(size=(2, 2, 3, 4)) for _ in range(2)]
    turned = [np.concatenate([-s[..., 2:], s[..., :2]], axis=-1) for s in states]
    arrays = [angles, states[0], turned[0], states[1], turned[1]]
    model = loaded_with(tmp_path, "GemmaRotaryEmbedding", arrays, {"q": "float64", "k": "float64"})
    rotation = np.exp(1j * angles[:, None, :, :])
    for made, state, other in zip(model(*arrays), states, turned, strict=True):
        np.testing.assert_allclose(made, ((state - 1j * other) * rotation).real, rtol=1e-6)
    check_grads(model, *arrays, symbolic=False)


rng = np.random.default_rng(4)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32) * np.float32(0.7)


POSITIONS = rng.integers(0, 9, (3, 2, 5))

TURNS = {
    f"sections {section}, layout {layout}, interleaved {interleaved}": microsoft(
        "MRotaryEmbedding",
        draw(2, 3, 5, 12),
        POSITIONS,
        draw(9, 6),
        draw(9, 6),
        mrope_section=section,
        mrope_layout=layout,
        interleaved=interleaved,
    )
    for section, layout, interleaved in (([2, 3, 1], 0, 0), ([2, 2, 2], 1, 1), ([3, 2, 1], 1, 0), ([6, 0, 0], 0, 1))
} | {
    "some features of packed heads": microsoft(
        "MRotaryEmbedding",
        draw(2, 5, 36),
        POSITIONS,
        draw(9, 4),
        draw(9, 4),
        mrope_section=[2, 1, 1],
        num_heads=3,
        rotary_embedding_dim=8,
    )
}


@pytest.mark.sweep(2)
@pytest.mark.parametrize("name", TURNS)
def test_a_rotation_by_three_positions_is_the_kernels_and_the_gradient_right(name: str, tmp_path: Path) -> None:
    check_node(TURNS[name], tmp_path, order=2, step=1e-3)


COS, SIN = draw(9, 4), draw(9, 4)

PLACES = rng.integers(0, 9, (2, 3))

ROTARY = [
    Node("com.microsoft::RotaryEmbedding", [x, places, cos, sin], attributes, declared=declared)
    for x, places, cos, sin, attributes, declared in [
        (draw(2, 3, 16), PLACES, COS, SIN, {}, {0: ["B", "S", 16], 1: ["B", "S"]}),
        (draw(2, 3, 16), PLACES, COS, SIN, {}, {0: ["B", "S", "D"], 1: ["B", "S"]}),
        (draw(2, 3, 16), PLACES, COS, SIN, {"interleaved": 1}, {}),
        (draw(2, 2, 3, 8), PLACES, COS, SIN, {"interleaved": 1}, {}),
        (draw(2, 3, 16), np.array([4]), COS, SIN, {}, {0: ["B", "S", 16]}),
        (draw(2, 3, 32), PLACES, COS, SIN, {"num_heads": 2, "rotary_embedding_dim": 8}, {}),
        (draw(2, 3, 16), PLACES, COS, SIN, {"scale": 2.0}, {}),
    ]
]

D = [draw(2, 3, 6) / 2, draw(6, 24) / 2, draw(24) / 2]


@pytest.mark.parametrize("row", ROTARY, ids=title)
def test_a_rotary_embedding_is_what_its_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path)


@pytest.mark.parametrize("row", ROTARY[:2], ids=title)
def test_what_has_a_kernel_of_float16_is_that_up_to_rounding(row: Node, tmp_path: Path) -> None:
    inputs = [x.astype(np.float16) if is_float(x) else x for x in row.inputs]
    check_node(replace(row, inputs=inputs, outputs=["float16"] * len(row.outputs)), tmp_path, tolerance=5e-3, order=0)
