"""Embeddings of words, positions and segments are what onnxruntime's kernel computes."""

from pathlib import Path

import numpy as np
import pytest

from tests.onnx.definitions.kernels import Node, check_node

rng = np.random.default_rng(1)


def draw(*shape: int, dtype: str = "float32") -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


F = "float32"
WORDS = rng.integers(0, 7, (2, 3)).astype(np.int32)
SEGMENTS = rng.integers(0, 2, (2, 3)).astype(np.int32)
MASK = np.array([[1, 1, 0], [1, 1, 1]], np.int32)
TABLES = [draw(7, 4), draw(6, 4), draw(2, 4), draw(4), draw(4)]

EMBEDDINGS = [
    Node(
        "com.microsoft::EmbedLayerNormalization",
        [WORDS, SEGMENTS, *TABLES, MASK],
        {"epsilon": 1e-5},
        (F, "int32", F),
        {0: ["B", "S"], 1: ["B", "S"], 7: ["B", "S"]},
    ),
    Node("com.microsoft::EmbedLayerNormalization", [WORDS, None, *TABLES[:2], None, *TABLES[3:]], {}, (F, "int32")),
    Node(
        "com.microsoft::EmbedLayerNormalization",
        [WORDS, SEGMENTS, *TABLES, None, np.array([[3, 1, 2]], np.int32)],
        {},
        (F, "int32", F),
    ),
]


@pytest.mark.parametrize("row", EMBEDDINGS, ids=["mask", "words", "positions"])
def test_embeddings_are_what_their_kernel_computes(row: Node, tmp_path: Path) -> None:
    check_node(row, tmp_path, tolerance=5e-5)
